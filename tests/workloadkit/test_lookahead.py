"""Backfilling with lookahead: by trying all sets, and in both engines."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.both_engines import agree, starts
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
    assert starts(trace, "lookahead:2", procs=10) == [0, 100, 1, 150, 150]  # 4 and 3 are tried
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


def test_a_large_machine_is_no_obstacle():
    starts(random_log(1), "lookahead", procs=100_000)


def test_the_set_fits_before_and_beside_announced_outages():
    # processors 1 and 2 run job 1 until 100, and the others go down at 30 until 60. The jobs that
    # end by then may use all 4, those that end later none; the largest set is that of 3 and 1
    outage = wk.Outages((wk.Outage(1, 30, 60, 4, (3, 4, 5, 6), announced=0),))
    columns = {"submit": [0, 1, 1, 1, 1], "run": [100, 50, 40, 20, 28], "procs": [2, 6, 4, 3, 1]}
    trace = wk.Trace.from_columns({**columns, "requested_time": columns["run"]})
    assert starts(trace, "lookahead", procs=6, outages=outage) == [0, 100, 60, 1, 1]
    # 3 processors before the outage are filled better by 3 than by the first job, of 2
    outage = wk.Outages((wk.Outage(1, 30, 60, 1, (4,), announced=0),))
    columns = {"submit": [0, 1, 1, 1, 1], "run": [100, 50, 20, 20, 90], "procs": [2, 5, 2, 3, 2]}
    trace = wk.Trace.from_columns({**columns, "requested_time": columns["run"]})
    assert starts(trace, "lookahead", procs=5, outages=outage) == [0, 100, 21, 1, 150]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_engines_agree_with_outages(seed):
    rng = np.random.default_rng(seed)
    trace = random_log(seed, 150)
    first, last = trace.jobs["submit"].iloc[[0, -1]]
    begin = np.sort(rng.integers(first, last, 12))
    outages = wk.Outages(
        tuple(
            wk.Outage(
                i + 1,
                int(at),
                int(at) + int(rng.integers(10, 20_000)),
                components=tuple((1 + rng.permutation(16)[: rng.integers(1, 17)]).tolist()),
                announced=-1 if i % 3 == 0 else max(0, int(at) - int(rng.integers(0, 30_000))),
            )
            for i, at in enumerate(begin)
        )
    )
    for how in (
        {"interrupted": "requeue"},
        {"interrupted": "lose"},
        {"overrun": "late"},
        {"passes": "event"},
    ):
        found = agree(trace, "lookahead:4", procs=16, outages=outages, **how)
        rules = {name: value for name, value in how.items() if name != "interrupted"}
        verdict = wk.check_schedule(trace, found, procs=16, outages=outages, **rules).verdict
        assert verdict != "refuted"
