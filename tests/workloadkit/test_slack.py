"""Slack-based backfilling: against a program from its words alone, and in both engines."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.both_engines import ENGINES, agree
from tests.data import COMPILES, TRACES, needs_compiler, needs_traces, slow_to_compile
from tests.oracles import slack as oracle
from tests.small_logs import head_of, random_log
from tests.workloadkit.test_check import SLACKS_KEPT
from workloadkit.errors import ParameterError

COLUMNS = ("start", "promised_start", "slack")

# many submissions in a short time: jobs wait, and have slack
job = st.tuples(
    st.integers(0, 30), st.integers(1, 20), st.integers(0, 3), st.integers(1, 8), st.integers(0, 3)
)


def as_log(jobs):
    columns = ("submit", "run", "requested_time", "procs", "queue")
    jobs = [(submit, run, run + more, *rest) for submit, run, more, *rest in sorted(jobs)]
    return wk.Trace.from_columns(dict(zip(columns, zip(*jobs, strict=True), strict=True)))


def expected(schedule, policy):
    """What the oracle gives for the jobs of a schedule, a list for each of `COLUMNS`."""
    w = schedule.workload
    columns = (w.submit, w.run, w.estimate, w.procs, w.queue)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    return oracle.simulate(
        rows, schedule.machine, policy.factor, policy.cost, policy.urgent_queues, policy.depth
    )


def claim(schedule, **how):
    report = wk.check_schedule(schedule.source, schedule, **how)
    return next(claim for claim in report.claims if claim.text == SLACKS_KEPT)


@given(
    st.lists(job, min_size=1, max_size=20),
    st.sampled_from([0, 0.5, 1, 2, 5, 50]),
    st.sampled_from(["wait", "slowdown"]),
    st.sampled_from(["", "1", "2/0"]),
    st.sampled_from([1, 2, 50]),
)
@pytest.mark.filterwarnings("ignore::workloadkit.errors.WorkloadWarning")
def test_schedules_are_those_of_the_rule(jobs, factor, cost, queues, depth):
    policy = wk.schedulers.Slack(factor, cost, queues, depth)
    found = agree(as_log(jobs), policy, procs=8)
    assert [found.jobs[column].tolist() for column in COLUMNS] == list(expected(found, policy))
    assert claim(found).verdict == "proved"


@pytest.mark.parametrize(
    ("scheduler", "expected"),
    [
        ("conservative", [0, 100, 200, 300]),
        ("slack:0.7", [0, 100, 200, 300]),
        ("slack:0.8", [0, 100, 220, 200]),
        ("slack:0.8,queues=7", [0, 100, 220, 200]),  # other queues than the named ones are equal
        ("slack:9,queues=1", [0, 100, 200, 300]),  # the first of them has no slack
        ("slack:0.8,queues=7/1", [0, 100, 200, 300]),  # the second of two, a half
        ("slack:1.6,queues=7/1", [0, 100, 220, 200]),
    ],
)
@pytest.mark.filterwarnings("ignore::workloadkit.errors.WorkloadWarning")
def test_a_new_job_delays_another_by_its_slack_at_most(scheduler, expected):
    # Until 200, one of 4 processors is free. The third job is promised 200, with a slack of
    # factor * 50 s (two jobs waited 0 and 100 s) * 1/2 (of the machine): the fourth takes 20 s.
    jobs = {"submit": [0, 0, 110, 130], "run": [100, 100, 100, 20], "procs": [3, 3, 2, 3]}
    jobs |= {"requested_time": jobs["run"], "queue": [0, 0, 1, 0]}
    trace = wk.Trace.from_columns(jobs)
    for engine in ENGINES:
        assert wk.simulate(trace, scheduler, procs=4, engine=engine).start.tolist() == expected


def test_of_equal_plans_the_one_that_takes_out_the_fewest_jobs_is_chosen():
    # At 30, the fourth job moves the third from 50 to 60, and starts at 50. The last could take 60,
    # and move the third to 70, or take 50, and move both by 10 s: either way 10 s less in all.
    jobs = {"submit": [0, 10, 30, 30, 30], "run": [20, 30, 20, 10, 10], "procs": [3, 4, 3, 3, 4]}
    trace = wk.Trace.from_columns({**jobs, "requested_time": jobs["run"]})
    for engine in ENGINES:
        starts = wk.simulate(trace, "slack:50", procs=4, engine=engine).start
        assert starts.tolist() == [0, 20, 70, 50, 60]


def test_a_broken_promise_is_refuted():
    found = wk.simulate(random_log(4), "slack", procs=16, overrun="kill")
    assert claim(found).verdict == "proved"
    last = found.start.argmax()
    promised = found.jobs["promised_start"].to_numpy().copy()
    promised[last] = found.start[last] - found.jobs["slack"][last] - 1
    broken = claim(replace(found, columns={**found.columns, "promised_start": promised}))
    begin = found.start[last]
    assert (broken.verdict, broken.why) == (
        "refuted",
        f"job {found.jobs['job'][last]} starts at {begin} s, not by {begin - 1} s",
    )
    late = wk.simulate(random_log(4), "slack", procs=16, overrun="late")
    assert claim(late).verdict == "not applicable"


@slow_to_compile
def test_engines_agree_on_decimals():
    agree(random_log(8, times=float), "slack:3,cost=slowdown", procs=16, overrun="late")


@pytest.mark.parametrize("engine", ["python", pytest.param("compiled", marks=COMPILES)])
def test_outages_are_reserved_around(engine):
    outages = wk.Outages((wk.Outage(1, 9000, 9500, 8), wk.Outage(2, 20000, 20100, 16)))
    found = wk.simulate(random_log(4), "slack", procs=16, outages=outages, engine=engine)
    assert wk.check_schedule(found.source, found).ok
    assert claim(found).verdict == "not applicable"


@pytest.mark.slow
def test_candidates_of_another_policy_continue_with_its_promises():
    candidates = (wk.schedulers.Slack(3), wk.schedulers.Easy(), wk.schedulers.Slack(1))
    policy = wk.schedulers.SelfAdaptive(threshold=1.0, candidates=candidates)
    trace = random_log(8, n_jobs=400)
    stretched = trace.with_columns(submit=trace.column("submit") * 60)
    starts = [wk.simulate(stretched, policy, procs=13, engine=engine).start for engine in ENGINES]
    assert starts[0].tolist() == starts[1].tolist()


@pytest.mark.slow
@needs_traces
@needs_compiler
@pytest.mark.filterwarnings("ignore::workloadkit.errors.WorkloadWarning")
@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)
def test_schedules_of_real_logs_are_those_of_the_rule(path):
    policy = wk.schedulers.Slack(2)
    found = agree(head_of(path, 300), policy, oversize="drop", overrun="kill")
    assert [found.jobs[column].tolist() for column in COLUMNS] == list(expected(found, policy))
    assert claim(found).verdict == "proved"


def test_queues_without_jobs_are_warned_of():
    for engine in ENGINES:
        with pytest.warns(wk.WorkloadWarning, match="slack: no job is of queues 7"):
            wk.simulate(random_log(1), "slack:queues=7", procs=16, engine=engine)


def test_what_it_does_not_support_is_refused():
    for text, why in (
        ("slack:-1", "factor is -1; a finite number, at least 0"),
        ("slack:nan", "factor is 'nan'"),
        ("slack:cost=money", "cost is 'money'; known: wait, slowdown"),
        ("slack:queues=1/1", "give different numbers"),
        ("slack:depth=0", "depth is 0; at least 1"),
    ):
        with pytest.raises(ParameterError, match=why):
            wk.schedulers.parse(text)
