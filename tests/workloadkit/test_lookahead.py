"""Backfilling with lookahead: by trying all sets, and in both engines."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.both_engines import starts
from tests.oracles import lookahead as oracle
from tests.small_logs import random_log
from workloadkit.errors import ParameterError

job = st.tuples(st.integers(0, 60), st.integers(1, 40), st.integers(0, 30), st.integers(1, 8))


def as_log(jobs, unit=1):
    submit, run, longer, procs = zip(*sorted(jobs), strict=True)
    return wk.Trace.from_columns(
        {
            "submit": submit,
            "run": run,
            "procs": np.array(procs) * unit,
            "requested_time": np.add(run, longer),
        }
    )


@given(st.lists(job, min_size=1, max_size=14), st.integers(1, 8), st.sampled_from([1, 4]))
def test_the_set_is_the_best_of_all(jobs, depth, unit):
    trace = as_log(jobs, unit)
    w = wk.simulate(trace, "fcfs", procs=8 * unit).workload
    columns = (w.submit, w.run, w.estimate, w.procs)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    expected = oracle.simulate(rows, 8 * unit, depth)
    assert starts(trace, f"lookahead:{depth}", procs=8 * unit) == expected


def test_two_jobs_that_fill_the_machine_overtake_one_that_does_not():
    # 4 of 10 processors are busy until 100; the first waiting job needs all
    jobs = {"submit": [0, 1, 1, 1, 1], "run": [100, 50, 50, 50, 50], "procs": [4, 10, 4, 3, 3]}
    trace = wk.Trace.from_columns({**jobs, "requested_time": jobs["run"]})
    assert starts(trace, "lookahead", procs=10) == [0, 100, 150, 1, 1]
    assert starts(trace, "easy", procs=10) == [0, 100, 1, 150, 150]


@pytest.mark.parametrize(
    ("head", "others", "expected"),  # 4 of 10 processors are busy until 100
    [
        (10, [(50, 3)] * 3, [1, 1, 150]),  # of equal sets the earliest
        (10, [(99, 3)], [1]),  # what ends at the shadow time does not delay
        (10, [(100, 3)], [150]),
        (8, [(200, 2)] * 2, [1, 150]),  # late jobs share the spare processors
    ],
)
def test_sets_at_the_shadow_time(head, others, expected):
    run, procs = zip((100, 4), (50, head), *others, strict=True)
    columns = {"submit": [0, *[1] * (len(run) - 1)], "run": run, "procs": procs}
    trace = wk.Trace.from_columns({**columns, "requested_time": run})
    assert starts(trace, "lookahead", procs=10) == [0, 100, *expected]


def test_as_many_jobs_are_considered_as_the_depth_says():
    columns = {"submit": [0, *[1] * 901], "run": [900, *[9] * 901], "procs": [2, 3, *[1] * 900]}
    trace = wk.Trace.from_columns({**columns, "requested_time": columns["run"]})
    assert starts(trace, "lookahead:1000", procs=3)[:4] == [0, 900, 1, 10]


def test_what_it_does_not_support_is_refused():
    with pytest.raises(ParameterError, match="depth is 0; at least 1"):
        wk.schedulers.parse("lookahead:0")
    with pytest.raises(ParameterError, match="does not support outages"):
        wk.simulate(
            random_log(1), "lookahead", procs=16, outages=wk.Outages((wk.Outage(1, 1, 2, 3),))
        )
    with pytest.raises(ParameterError, match="too large for a machine of 100,000 processors"):
        wk.simulate(random_log(1), "lookahead", procs=100_000, engine="compiled")
