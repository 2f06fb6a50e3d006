"""Models next to independent programs: exact solvers of LINE, and simulations by Ciw.

LINE is line-solver 3.0.8 (BSD licence): its exact mean value analysis, Markov chains of all states,
and for two classes that share a server by weights, a chain cut at 14 jobs of each.

Ciw is version 3.2.7 (MIT licence).
Means of 8 runs with seeds 0 to 7, without the first 200 units of time, with half-widths of 95 %
intervals. Runs last 4,000 units (network), 20,000 (one server) or 6,000 (the others). Measures are
those of jobs by node and customer class: `waiting_time`, and `exit_date - arrival_date`; with
preemption, Ciw's waits are those before the last start, and only responses are compared.
"""

import numpy as np
import pytest

from workloadkit.queueing import closed_priorities, dps, impatient, mixed, networks, priorities

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


def solved():
    """Yield what two programs solve exactly: a result, and the measures of LINE by name."""
    yield (
        networks.mva([[0.6, 0.3], [1, 2]], N=[3, 2], Z=[4, 9]),
        {
            "X": [0.557296988, 0.149029147],
            "Q": [[0.507433500, 0.263378547], [0.237034118, 0.421703557]],
            "U": [[0.334378193, 0.167189096], [0.149029147, 0.298058295]],
            "residence": [[0.910526184, 0.472599983], [1.590521868, 2.829671674]],
        },
    )
    yield (
        networks.convolution([1.5, 0.7], N=6, Z=5, servers=[2, 1]),
        {
            "X": 0.751629967,
            "Q": [1.358718795, 0.883131369],
            "U": [0.563722476, 0.526140977],
            "residence": [1.807696411, 1.174954974],
        },
    )
    users = {"N": [3, 4], "Z": [4, 6], "S": [0.5, 1]}
    yield (
        closed_priorities(**users),
        {
            "X": [0.577111865, 0.478741778],
            "Q": [0.691552539, 1.127549330],
            "R": [1.198298944, 2.355234869],
            "U": [0.288555933, 0.478741778],
        },
    )
    yield (
        closed_priorities(**users, order="preemptive"),
        {
            "X": [0.649076517, 0.448003909],
            "Q": [0.403693931, 1.311976548],
            "R": [0.621951220, 2.928493529],
            "U": [0.324538259, 0.448003909],
        },
    )
    yield (
        dps([0.15, 0.1], [1, 1.5], [3, 1]),
        {"Q": [0.193659282, 0.228036669], "R": [1.291061879, 2.280366690]},
    )
    yield networks.open_network([0.75, 0.25], 2, servers=[2, 1]), {"Q": [3.428571429, 1]}
    yield (
        mixed(0.3, 4, 5, 1),
        {
            "Xc": 0.517810298,
            "Rc": 2.724836711,
            "Qc": 1.410948509,
            "Ro": 3.444212156,
            "Qo": 1.033263647,
        },
    )


def test_exact_values_are_those_of_another_solver():
    for found, known in solved():
        for name, value in known.items():
            assert getattr(found, name) == pytest.approx(np.array(value), rel=4e-9), name
