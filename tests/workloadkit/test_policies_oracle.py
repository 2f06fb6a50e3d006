"""Both engines against the oracles of all policies, job by job."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.examples import examples
from tests.oracles import scheduling as oracle
from workloadkit.errors import WorkloadWarning

ENGINES = ("python", "compiled")
MACHINE = 8

#: What is compared of each family, as written on the command line.
POLICIES = {
    "arrival": (
        "fcfs",
        "easy",
        "easy:backfill=sjf",
        "easy:backfill=ljf",
        "easy:backfill=smallest",
        "easy:backfill=largest",
        "easy:backfill=none",
    ),
    "fixed orders": (
        "sjf",
        "ljf",
        "smallest",
        "largest",
        "f1",
        "sjf:backfill=largest",
        "smallest:backfill=none",
    ),
    "orders by wait": ("wfp3", "unicef", "wfp3:backfill=sjf", "unicef:backfill=arrival"),
    "priority-fifo": (
        "priority-fifo:queues=5/2/1",
        "priority-fifo:queues=2",
        "priority-fifo:queues=1/3/-1,backfill=sjf",
    ),
    "creasy": ("creasy:alpha=0", "creasy:alpha=1500", "creasy:alpha=6000", "creasy:alpha=1e6"),
    "user-priority by load": (
        "user-priority:alpha_user=0,by=load",
        "user-priority:alpha_user=0.5,by=load",
        "user-priority:alpha_user=1,by=load",
    ),
    "user-priority by recency": (
        "user-priority:alpha_user=0,by=recency",
        "user-priority:alpha_user=0.2,by=recency",
        "user-priority:alpha_user=1,by=recency",
    ),
    "reservations": (
        "reservations:depth=1",
        "reservations:depth=2",
        "reservations:depth=100",
        "easy:reservations=2,backfill=smallest",
        "sjf:reservations=3",
    ),
    "overtaking": (
        "easy:spare=none",
        "easy:strict=yes",
        "easy:spare=none,strict=yes,backfill=sjf",
        "ljf:strict=yes,backfill=arrival",
        "wfp3:spare=none",
        "unicef:strict=yes,backfill=sjf",
        "priority-fifo:queues=5/2/1,spare=none,strict=yes",
        "creasy:alpha=1500,spare=none",
        "creasy:alpha=6000,strict=yes",
        "user-priority:alpha_user=0.5,by=load,strict=yes",
        "user-priority:alpha_user=1,by=recency,spare=none,strict=yes",
    ),
    "conservative": (
        "conservative",
        "conservative:compression=start",
        "conservative:compression=none",
    ),
    "multi-queue": tuple(f"multi-queue:partitions={p}" for p in (1, 2, 3, 4)),
    "recorded": ("recorded",),
}

#: Seconds of one unit of time: the priorities of some count in hours, partitions in weeks.
UNITS = (1, 3600, 60_480)

rules = st.fixed_dictionaries(
    {
        "overrun": st.sampled_from(["kill", "raise", "late"]),
        "estimates": st.sampled_from(["user", "exact"]),
        "passes": st.sampled_from(["instant", "event"]),
    }
)


def whole(most):
    return st.integers(0, most)


def decimal(most):
    """Tenths are no sums of powers of two: what depends on the order of additions comes out."""
    return st.integers(0, 10 * most).map(lambda tenths: tenths / 10)


def logs(time):
    """Jobs as (number, submit, run, requested time, processors, user, queue, recorded wait)."""
    job = st.tuples(
        st.integers(0, 6),  # few numbers for many jobs: repeated, and not in order
        time(30),
        st.one_of(st.just(0), time(20)),
        st.one_of(st.none(), time(25)),
        st.integers(1, MACHINE),
        st.integers(-1, 3),
        st.sampled_from([-1, 1, 2, 3, 5]),
        st.one_of(st.none(), time(20)),
    )
    return st.lists(job, min_size=1, max_size=12)


#: Kernels for times with decimals are others: they take a while to compile.
times = pytest.mark.parametrize("time", [whole, pytest.param(decimal, marks=pytest.mark.slow)])


def in_seconds(jobs, unit):
    """Turn units of time into seconds; jobs in the order of (submit, place), as in a log."""
    scaled = [
        (number, submit * unit, run * unit, in_unit(asked, unit), *rest, in_unit(wait, unit))
        for number, submit, run, asked, *rest, wait in jobs
    ]
    return sorted(scaled, key=lambda job: job[1])


def in_unit(time, unit):
    return None if time is None else time * unit


def agree(jobs, machine, policy, rules):
    """Assert that both engines make the schedule of the oracle."""
    jobs = [(*job[:4], min(job[4], machine), *job[5:]) for job in jobs]
    number, submit, run, asked, procs, user, queue, wait = zip(*jobs, strict=True)
    expected = oracle.schedule(
        submit,
        run,
        asked,
        procs,
        machine,
        policy=policy,
        job_numbers=number,
        users=user,
        queues=queue,
        waits=wait,
        **rules,
    )
    columns = {
        "job": number,
        "submit": submit,
        "run": run,
        "requested_time": [-1 if time is None else time for time in asked],
        "procs": procs,
        "user": user,
        "queue": queue,
        "wait": [-1 if time is None else time for time in wait],
    }
    trace = wk.Trace.from_columns(columns)
    order = range(len(jobs))
    if rules["passes"] == "instant":
        order = sorted(order, key=lambda job: (submit[job], number[job]))
    for engine in ENGINES:
        with warnings.catch_warnings():  # a recorded schedule may need more than the machine
            warnings.simplefilter("ignore", WorkloadWarning)
            schedule = wk.simulate(trace, policy, procs=machine, engine=engine, **rules)
        table = schedule.jobs[["start", "end", "killed"]]
        assert [tuple(row) for row in table.itertuples(index=False)] == [
            expected[job] for job in order
        ], engine


@times
@pytest.mark.parametrize("family", POLICIES)
@examples(32)
@given(data=st.data())
def test_both_engines_are_the_oracle(family, time, data):
    policy = data.draw(st.sampled_from(POLICIES[family]))
    least = int(policy[-1]) if family == "multi-queue" else 1  # a processor for each partition
    machine = data.draw(st.integers(least, MACHINE))
    jobs = in_seconds(data.draw(logs(time)), data.draw(st.sampled_from(UNITS)))
    agree(jobs, machine, policy, data.draw(rules))


@times
@pytest.mark.parametrize("family", POLICIES)
@examples(12)
@given(data=st.data())
def test_both_engines_are_the_oracle_on_a_crowded_machine(family, time, data):
    # Long queues, and many jobs that outlive their estimates at the same time.
    policy, rule = data.draw(st.sampled_from(POLICIES[family])), data.draw(rules)
    unit, tenths = data.draw(st.sampled_from(UNITS)), time is decimal
    rng, n_jobs = np.random.default_rng(data.draw(st.integers(0, 2**32))), 40
    most = (40, 40, 25, 20)  # submit, run, requested time, recorded wait
    times = [
        rng.integers(0, 10 * m, n_jobs) / 10 if tenths else rng.integers(0, m, n_jobs) for m in most
    ]
    submit, run, asked, wait = (column.tolist() for column in times)
    number, procs, user, queue = (
        rng.integers(least, most, n_jobs).tolist()
        for least, most in ((0, 30), (1, 6), (1, 5), (1, 6))
    )
    jobs = zip(number, submit, run, asked, procs, user, queue, wait, strict=True)
    agree(in_seconds(jobs, unit), MACHINE, policy, rule)
