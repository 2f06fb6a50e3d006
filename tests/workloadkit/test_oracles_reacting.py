"""Users of a log who react: both engines against an oracle."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.data import ODD, TRACES, needs_traces
from tests.examples import examples
from tests.oracles import reacting as oracle
from tests.reacting_logs import ZONES, busy_logs, jobs_of, logs, real, trace_of, wall_of

pytestmark = [
    pytest.mark.filterwarnings("ignore::workloadkit.errors.WorkloadWarning"),
]

SEED = 5
ENGINES = ("python", "compiled")
BEHAVIOURS = (
    "adjusted",
    "adjusted:threshold=20000",
    "closed",
    "closed:think=recorded",
    "distribution",
    "distribution:response=end",
    "fluid",
    "fluid:end=submit",
    "fluid:end=end",
    "fluid:end=threshold,skipped=reinsert",
    "fluid:end=submit,skipped=reinsert",
    "fluid:end=end,skipped=reinsert,patience=3600",
    "fluid:end=end,patience=1800,leave=20000",
    "fluid:end=submit,overtime=yes",
    "fluid:end=end,skipped=reinsert,patience=9000,overtime=yes",
)

any_log = busy_logs() | busy_logs(decimals=True) | logs() | logs(decimals=True)


def expected(trace, machine, policy, users, overrun="raise"):
    """Job number, user, submission and start of each job, by the oracle; and its world."""
    name, _, text = users.partition(":")
    given = dict(part.split("=") for part in text.split(",")) if text else {}
    for limit in {"patience", "leave", "threshold"} & given.keys():
        given[limit] = float(given[limit])
    if "overtime" in given:
        given["overtime"] = given["overtime"] == "yes"
    rng = np.random.default_rng(SEED).spawn(1)[0]
    jobs = jobs_of(trace)
    done, world = oracle.simulate(
        jobs, machine, policy, name, rng, wall_of(trace), overrun, **given
    )
    rows = [(job.number, jobs[job.place]["user"], job.submit, job.start, job.end) for job in done]
    return rows, world


def rows_of(schedule):
    jobs = schedule.jobs
    columns = [
        jobs["job"],
        schedule.trace().jobs["user"],
        jobs["submit"],
        jobs["start"],
        jobs["end"],
    ]
    return list(zip(*(column.tolist() for column in columns), strict=True))


def check(trace, users, policy, engine, *, machine=4, overrun="raise"):
    rows, world = expected(trace, machine, policy, users, overrun)
    schedule = wk.simulate(
        trace, policy, users, procs=machine, overrun=overrun, rng=SEED, engine=engine
    )
    assert rows_of(schedule) == rows
    return schedule, world


zones = st.sampled_from(ZONES)


@examples(100)
@given(st.sampled_from(BEHAVIOURS), any_log, zones, st.sampled_from(["easy", "fcfs", "recorded"]))
def test_the_plain_engine_follows_the_definition(users, jobs, zone, policy):
    overrun = "late" if policy == "recorded" else "raise"
    check(trace_of(jobs, zone), users, policy, "python", overrun=overrun)


@examples(100)
@given(st.sampled_from(BEHAVIOURS), busy_logs(), zones)
def test_the_compiled_engine_follows_the_definition(users, jobs, zone):
    check(trace_of(jobs, zone), users, "easy", "compiled")


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("users", BEHAVIOURS)
@examples(24)
@given(
    any_log,
    zones,
    st.sampled_from(["easy", "fcfs", "recorded", "creasy:alpha=6000", "conservative", "sjf"]),
    st.sampled_from(["raise", "kill", "late"]),
)
def test_both_engines_follow_it_with_many_schedulers(users, engine, jobs, zone, policy, overrun):
    overrun = "late" if policy == "recorded" else overrun
    check(trace_of(jobs, zone), users, policy, engine, overrun=overrun)


@pytest.mark.slow
@needs_traces
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("users", BEHAVIOURS)
@pytest.mark.parametrize(
    ("name", "policy", "overrun"),
    [
        ("KTH-SP2-1996-2.1-cln", "easy", "raise"),
        ("LANL-CM5-1994-4.1-cln", "fcfs", "kill"),
        ("SDSC-DS-2004-2.1-cln", "creasy:alpha=6000", "late"),
    ],
)
def test_jobs_of_real_logs(name, policy, overrun, users, engine):
    trace = real(name, 250, 1000)
    check(trace, users, policy, engine, machine=trace.header.procs, overrun=overrun)


@pytest.mark.slow
@needs_traces
@pytest.mark.parametrize("path", TRACES + ODD, ids=lambda path: path.name)
def test_adjusted_users_give_recorded_logs_back(path):
    try:
        trace = wk.read_swf(path)
    except wk.WorkloadError:
        assert path in ODD  # some of which are broken on purpose
        pytest.skip("no log to simulate")
    jobs = wk.simulate(trace, "recorded", "adjusted").jobs
    ran = trace.jobs[trace.ran].sort_values(["submit", "job"], kind="stable")
    assert jobs["job"].tolist() == ran["job"].tolist()
    assert jobs["submit"].tolist() == ran["submit"].tolist()
    waits = ran["wait"].where(ran["wait"] >= 0, 0)
    assert jobs["start"].tolist() == (ran["submit"] + waits).tolist()


def with_fields(decimals):
    """Logs with any values of fields 17 and 18: later jobs, circles, unknown and repeated jobs."""
    return busy_logs(
        decimals,
        preceding_job=lambda rnd: rnd.choice([-1, *range(1, 12), 3, 77]),
        think_time=lambda rnd: rnd.choice([None, 0, 60, 4000]),
    )


@examples(25)
@given(
    (with_fields(False) | with_fields(True)).filter(
        lambda jobs: any(job["preceding_job"] >= 0 for job in jobs)
    ),
    st.sampled_from(["easy", "fcfs"]),
    st.sampled_from(ENGINES),
)
def test_jobs_wait_for_those_that_the_log_names(jobs, policy, engine):
    check(trace_of(jobs), "dependent", policy, engine)
