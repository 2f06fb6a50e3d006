"""Users of a log who wait for their jobs: closed, dependent and adjusted ones."""

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.data import TRACES, needs_compiler, needs_traces
from tests.examples import examples
from tests.reacting_logs import logs, trace_of
from tests.small_logs import first_jobs, head_of, read
from workloadkit.dependencies import TIMES, activities
from workloadkit.simulation.users.batches.closed import one_at_a_time
from workloadkit.simulation.users.batches.distribution import ShiftUser

ENGINES = ("python", "compiled")
both_engines = pytest.mark.parametrize("engine", ENGINES)
ignore_oddities = pytest.mark.filterwarnings("ignore::workloadkit.errors.WorkloadWarning")


def log(*jobs, **columns):
    """A log of one-processor jobs (user, submit, run)."""
    user, submit, run = zip(*jobs, strict=True)
    given = {"submit": submit, "run": run, "user": user, "procs": [1] * len(jobs)}
    return wk.Trace.from_columns(given | columns)


def submits(trace, users, engine, scheduler="fcfs", procs=1, **how):
    """When each job of the log is submitted, by row."""
    schedule = wk.simulate(trace, scheduler, users, procs=procs, engine=engine, **how)
    times = np.empty(trace.n_jobs, schedule.workload.submit.dtype)
    times[schedule.workload.row] = schedule.workload.submit
    return times.tolist()


@both_engines
def test_closed_users_begin_together_and_submit_one_job_after_the_other(engine):
    trace = log((1, 50, 10), (1, 53, 5), (2, 100, 7))
    # user 2's job waits until 60, as user 1's first is served first
    assert submits(trace, "closed", engine) == [50, 60, 50]


@both_engines
def test_closed_users_who_think_begin_when_they_did_and_think_as_long(engine):
    trace = log((1, 50, 10), (1, 53, 5), (2, 90, 20), (1, 100, 7), wait=[0, 7, -1, 0])
    # job 1 ends at 60, when job 2 had come; that was until 65, 35 s before job 4
    assert submits(trace, "closed:recorded", engine) == [50, 60, 90, 100]
    # twice as long: job 1 ends at 70, job 2 at 80
    assert submits(trace, "closed:recorded", engine, scale_runs=2) == [50, 70, 90, 115]


def test_closed_activities_are_batches_of_one_job_in_one_session_a_user():
    acts = activities(log((1, 0, 90), (2, 5, 1), (1, 10, 20), (1, 9000, 1), (1, 9030, 1)))
    found = one_at_a_time(acts, think=True)
    assert found.job.tolist() == acts.job.tolist() == [0, 2, 3, 4, 1]
    assert found.first_job.tolist() == [0, 1, 2, 3, 4, 5]
    assert found.first_batch.tolist() == [0, 4, 5]
    assert found.first_session.tolist() == [0, 1, 2]
    assert found.session.tolist() == [0, 0, 0, 0, 1]
    assert found.think_time.tolist() == [-1, 0, 8970, 29, -1]
    assert found.interarrival.tolist() == [-1, 10, 8990, 30, -1]
    assert found.begin.tolist() == [0, 5]
    assert found.until.tolist() == [9030, 5]
    assert found.end.tolist() == [9031, 6]
    assert {getattr(found, name).dtype.kind for name in TIMES} == {"i"}
    assert one_at_a_time(acts, think=False).think_time.tolist() == [-1, 0, 0, 0, -1]


@both_engines
def test_dependent_jobs_come_after_the_one_that_the_log_names(engine):
    trace = log(
        *((1, 0, 10), (2, 2, 30), (1, 15, 5), (1, 20, 5), (3, 25, 1)),
        preceding_job=[-1, -1, 1, 2, -1],
        think_time=[-1, -1, 5, -1, 7],
    )
    # job 2 runs from 10 to 40; job 4 comes right after it, job 5 names none
    assert submits(trace, "dependent", engine) == [0, 2, 15, 40, 25]


def test_dependent_jobs_may_come_fractions_of_a_second_later():
    trace = log((1, 0, 10), (1, 15, 5), preceding_job=[-1, 1], think_time=[-1, 0.5])
    assert submits(trace, "dependent", "python") == [0, 10.5]


@both_engines
def test_jobs_whose_preceding_job_is_of_no_use_come_at_their_times(engine):
    trace = log(
        *((1, 0, 10), (1, 1, 10), (1, 2, -1), (1, 3, 10), (1, 4, 10), (1, 5, 10)),
        preceding_job=[-1, 9, -1, 3, 6, 5],
        think_time=[-1, 5, -1, 5, 5, 5],
    )
    with pytest.warns(wk.WorkloadWarning) as told:
        schedule = wk.simulate(trace, "fcfs", "dependent", procs=9, engine=engine)
    assert schedule.workload.submit.tolist() == [0, 1, 3, 4, 5]
    assert [str(one.message) for one in told] == [
        "trace: preceding jobs that are not simulated: 2; jobs that name them arrive at their "
        "recorded times",
        "trace: jobs that would wait for themselves: 2; jobs that name them arrive at their "
        "recorded times",
    ]


def test_a_log_that_names_no_preceding_job_is_refused():
    with pytest.raises(wk.WorkloadError, match="no job names a preceding job in field 17"):
        wk.simulate(log((1, 0, 10)), "fcfs", "dependent", procs=1)


def test_dependent_users_follow_the_dependencies_of_the_log():
    trace = wk.with_dependencies(log((1, 0, 100), (1, 110, 10), (2, 5, 50), (1, 200, 1)))
    assert submits(trace, "dependent", "python") == [0, 5, 110, 240]


@both_engines
def test_adjusted_users_think_as_long_after_the_end_that_they_waited_for(engine):
    trace = log((1, 0, 100), (2, 5, 50), (1, 110, 10), (1, 9000, 1))
    assert submits(trace, "adjusted", engine) == [0, 5, 110, 9040]  # job 3 ends at 160, not at 120


@both_engines
def test_adjusted_users_come_as_long_after_the_submission_that_they_waited_for(engine):
    # sessions: 0 to 10; 4000 to 12000, of two jobs; 10700, which waits for the first one's end and
    # for the submissions of the second, 3700 after them
    trace = log((1, 0, 10), (1, 4000, 5000), (1, 7000, 5000), (1, 10700, 1))
    assert submits(trace, "adjusted", engine, procs=9) == [0, 4000, 7000, 10700]
    delayed = log((2, 0, 1000), (1, 0, 10), (1, 4000, 5000), (1, 7000, 5000), (1, 10700, 1))
    assert submits(delayed, "adjusted", engine) == [0, 0, 5000, 8000, 11700]


@both_engines
def test_an_end_and_a_submission_in_one_second(engine):
    # the session at 8000 waits for the end of job 1, at 4000 in both cases, and follows job 2
    trace = log((1, 0, 4000), (1, 4000, 9000), (1, 8000, 1))
    assert activities(trace).needs.tolist() == [0, 0, 1]
    assert submits(trace, "adjusted", engine, procs=9) == [0, 4000, 8000]
    # it ends after the submission: thinks for 4000 s; before, it came 4000 s after the submission
    late = log((2, 0, 100), (1, 0, 4000), (1, 4000, 9000), (1, 8000, 1))
    assert submits(late, "adjusted", engine)[1:] == [0, 4000, 8100]


@both_engines
def test_jobs_have_their_sessions_and_batches(engine):
    trace = log((1, 0, 10), (1, 5, 10), (1, 20, 1), (2, 30, 5), (1, 9000, 1))
    jobs = wk.simulate(trace, "fcfs", "adjusted", procs=1, engine=engine).jobs
    assert jobs["session"].tolist() == [0, 0, 0, 2, 1]
    assert jobs["batch"].tolist() == [0, 0, 1, 3, 2]


@pytest.mark.parametrize("delay", [-1, float("nan")])
def test_a_batch_cannot_arrive_before_it_is_released(delay):
    class Hasty(wk.users.BatchUser):
        def decide(self, batch, *, by_end):
            return self.now + delay

    with pytest.raises(wk.WorkloadError, match=f"Hasty decides at 10 s .* at {10 + delay} s"):
        wk.simulate(log((1, 0, 10), (1, 20, 1)), "fcfs", Hasty, procs=1)


@pytest.mark.parametrize("answer", [None, "soon"])
def test_a_batch_arrives_at_a_time(answer):
    class Vague(wk.users.BatchUser):
        def decide(self, batch, *, by_end):
            return answer

    with pytest.raises(wk.WorkloadError, match=f"Vague decides at 10 s .* at {answer} s"):
        wk.simulate(log((1, 0, 10), (1, 20, 1)), "fcfs", Vague, procs=1)


@ignore_oddities
@examples(60)
@given(logs() | logs(decimals=True), st.sampled_from(["instant", "event"]))
def test_adjusted_users_give_the_recorded_schedule_back(jobs, passes):
    trace = trace_of(jobs)
    check_given_back(trace, "python", passes)


@pytest.mark.slow
@needs_traces
@needs_compiler
@ignore_oddities
@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)
def test_the_first_jobs_of_logs_are_given_back(path):
    for engine in ENGINES:
        check_given_back(head_of(path), engine)


@pytest.mark.slow
@needs_traces
@ignore_oddities
@pytest.mark.parametrize("passes", ["instant", "event"])
@both_engines
@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)
def test_logs_are_given_back(path, engine, passes):
    trace = read(path)
    if engine == "python":  # takes ten times as long
        trace = trace.take(range(min(40_000, trace.n_jobs)))
    check_given_back(trace, engine, passes)


def check_given_back(trace, engine, passes="instant"):
    """Users who react to the recorded schedule make it once again."""
    schedule = wk.simulate(trace, "recorded", "adjusted", engine=engine, passes=passes, procs=10**6)
    given = wk.simulate(trace, "recorded", passes=passes, procs=10**6)
    rows = [np.argsort(one.workload.row) for one in (schedule, given)]
    for name in ("row", "submit", "run", "procs", "user"):
        found, expected = (
            getattr(one.workload, name)[order]
            for one, order in zip((schedule, given), rows, strict=True)
        )
        assert found.tolist() == expected.tolist()
    assert schedule.start[rows[0]].tolist() == given.start[rows[1]].tolist()
    assert schedule.workload.row.size == trace.ran.sum()


BEHAVIOURS = ("closed", "closed:recorded", "adjusted", "dependent")
fields = {"preceding_job": st.integers(-1, 9), "think_time": st.integers(-1, 3000)}


@ignore_oddities
@examples(100)
@given(
    st.sampled_from(BEHAVIOURS),
    st.sampled_from(["instant", "event"]),
    logs(**fields),
    st.sampled_from(["fcfs", "easy"]),
)
def test_both_engines_agree(users, passes, jobs, policy):
    check_engines(trace_of(jobs), policy, users, passes)


@pytest.mark.slow
@ignore_oddities
@pytest.mark.parametrize("users", BEHAVIOURS)
@pytest.mark.parametrize("passes", ["instant", "event"])
@examples(200)
@given(
    logs(**fields) | logs(decimals=True, **fields),
    st.sampled_from(["fcfs", "easy", "recorded"]),
    st.sampled_from(["raise", "kill", "late"]),
)
def test_both_engines_agree_in_all_ways(passes, users, jobs, policy, overrun):
    check_engines(trace_of(jobs), policy, users, passes, overrun=overrun)


@both_engines
@pytest.mark.parametrize("users", BEHAVIOURS)
def test_recorded_waits_may_be_fractions_where_no_other_time_is(users, engine):
    trace = log((1, 0, 10), (1, 60, 5), wait=[0.25, 3], preceding_job=[-1, 1], think_time=[-1, 2])
    schedule = wk.simulate(trace, "recorded", users, engine=engine)
    assert schedule.start[0] == schedule.workload.submit[0] + 0.25


@pytest.mark.slow
@needs_traces
@ignore_oddities
@pytest.mark.parametrize("users", BEHAVIOURS)
@pytest.mark.parametrize("policy", ["fcfs", "easy", "recorded"])
@pytest.mark.parametrize(
    "name", ["KTH-SP2-1996-2", "SDSC-SP2-1998-4.2-cln", "LANL-CM5-1994-4.1-cln"]
)
def test_both_engines_agree_on_logs(name, policy, users):
    trace = wk.with_dependencies(first_jobs(name, 8000)[1])
    check_engines(trace, policy, users, "instant")


def check_engines(trace, policy, users, passes, **how):
    if users == "dependent" and not (trace.column("preceding_job") > 0).any():
        return
    procs = None if trace.header.procs else 4
    plain, compiled = (
        wk.simulate(trace, policy, users, passes=passes, procs=procs, engine=engine, **how)
        for engine in ENGINES
    )
    assert plain.jobs.equals(compiled.jobs)
    assert plain.trace().jobs.equals(compiled.trace().jobs)
    assert plain.history == compiled.history


def test_a_break_that_ends_outside_the_hours_ends_with_the_next_ones_after_it():
    """From Monday noon to Thursday night: the user is back on Friday at 7:30, not on Tuesday."""
    hour, day = 3600, 86_400
    times = SimpleNamespace(
        counts=Counter(),
        draw=lambda *_, **__: 3 * day + 9 * hour,
        local=lambda time: time,
        seconds=lambda time: time,
    )

    class Worker(ShiftUser):
        now = 12 * hour

        def __init__(self):
            self.times, self.member, self.of_last = times, 0, True
            self.hours = (True, True, 0)  # by day, on weekdays
            self.context = SimpleNamespace(rng=SimpleNamespace(random=lambda: 1.0))

        def response(self, of_last):
            return 0.0

    assert Worker().decide(0, by_end=True) == 4 * day + 7.5 * hour
    assert times.counts == {"aborted": 1}
