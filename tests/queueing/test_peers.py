"""Models next to Ciw 3.2.7, an independent simulator (MIT licence).

Means of 8 runs with seeds 0 to 7, without the first 200 units of time, with half-widths of 95 %
intervals. Runs last 4,000 units (network), 20,000 (one server) or 6,000 (the others). Measures are
those of jobs by node and customer class: `waiting_time`, and `exit_date - arrival_date`; with
preemption, Ciw's waits are those before the last start, and only responses are compared.
"""

import pytest

from workloadkit.queueing import impatient, networks, priorities

PRIORITY = {"lam": [0.5, 0.7], "S": 1, "servers": 2}
UNEQUAL = {"lam": [0.3, 0.2], "S": [0.5, 1.5]}


def cases():
    system = networks.jackson([2, 0], [0.6, 0.2], [[0, 1], [0.2, 0]], servers=[2, 1])
    a_visit = system.residence / system.parameters["visits"]
    yield "network, station 0", a_visit[0], 1.3988, 0.0433
    yield "network, station 1", a_visit[1], 0.3978, 0.0084
    held = priorities(**PRIORITY)
    yield "non-preemptive, first", held.W[0], 0.2934, 0.0052
    yield "non-preemptive, second", held.W[1], 0.7384, 0.0346
    resumed = priorities(**PRIORITY, order="preemptive")
    yield "preemptive, first", resumed.R[0], 1.0668, 0.0123
    yield "preemptive, second", resumed.R[1], 1.8982, 0.0554
    unequal = priorities(**UNEQUAL)
    yield "one server, first", unequal.W[0], 0.6185, 0.0156
    yield "one server, second", unequal.W[1], 1.1514, 0.0468
    yield "abandoning", impatient(2, 1, 2, 3).p_abandon, 0.2049, 0.0029


def test_means_lie_in_intervals_of_an_independent_simulator():
    outside = 0
    for name, value, mean, width in cases():
        assert abs(value - mean) < 2 * width, name  # about 4 standard errors
        outside += abs(value - mean) > width
    assert outside <= 2


def test_intervals_are_narrow_enough_to_show_an_error():
    assert sorted(width / mean for _, _, mean, width in cases())[4] == pytest.approx(
        0.025, abs=0.01
    )
