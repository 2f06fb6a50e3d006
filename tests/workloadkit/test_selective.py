"""Selective backfilling: against a program from its words alone, and in both engines."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.both_engines import starts
from tests.data import COMPILES
from tests.oracles import selective as oracle
from tests.small_logs import random_log
from tests.workloadkit.test_lookahead import as_log, job
from workloadkit.errors import ParameterError


@given(st.lists(job, min_size=1, max_size=14), st.sampled_from([1, 1.25, 1.5, 2, 5, math.inf]))
def test_schedules_are_those_of_the_rule(jobs, threshold):
    trace = as_log(jobs)
    w = wk.simulate(trace, "fcfs", procs=8).workload
    columns = (w.submit, w.run, w.estimate, w.procs)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    expected = oracle.simulate(rows, 8, threshold)
    assert starts(trace, f"selective:{threshold}", procs=8) == expected


@pytest.mark.parametrize(
    ("threshold", "expected"),
    [
        (2, [0, 100, 150, 150]),  # just when the third arrives, which would run until 110
        (2.02, [0, 110, 50, 160]),  # a second later: before the fourth, which would run until 130
        (4, [0, 130, 50, 100]),  # after all others
    ],
)
def test_a_job_has_a_reservation_from_the_threshold_on(threshold, expected):
    # 3 of 4 processors are busy until 100; the second job needs all, for 50 s
    jobs = {"submit": [0, 0, 50, 90], "run": [100, 50, 60, 30], "procs": [3, 4, 1, 1]}
    trace = wk.Trace.from_columns({**jobs, "requested_time": jobs["run"]})
    assert starts(trace, f"selective:{threshold}", procs=4) == expected


@pytest.mark.parametrize("engine", ["python", pytest.param("compiled", marks=COMPILES)])
def test_outages_are_reserved_around(engine):
    outages = wk.Outages((wk.Outage(1, 9000, 9500, 8), wk.Outage(2, 20000, 20100, 16)))
    found = wk.simulate(random_log(4), "selective:1.5", procs=16, outages=outages, engine=engine)
    assert wk.check_schedule(found.source, found).ok


def test_at_1_all_jobs_have_reservations_and_at_infinity_none():
    trace = random_log(8)
    assert starts(trace, "selective:1", procs=16) == starts(trace, "reservations:9999", procs=16)
    order = "order:reservations=9999"
    assert starts(trace, "selective:1", procs=16) == starts(trace, order, procs=16)


def test_what_it_does_not_support_is_refused():
    with pytest.raises(ParameterError, match=r"threshold is 0\.5; at least 1"):
        wk.schedulers.parse("selective:0.5")
    with pytest.raises(ParameterError, match=r"threshold is .nan.; it is a number"):
        wk.schedulers.parse("selective:nan")
