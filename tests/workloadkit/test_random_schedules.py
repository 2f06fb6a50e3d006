"""Random logs: both engines against a program of its own, from the words of the pages."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.both_engines import ENGINES
from tests.data import COMPILES
from tests.examples import examples
from tests.oracles.scheduling import schedule

MACHINE = 6

POLICIES = (
    "fcfs",
    "easy",
    "easy:backfill=sjf",
    "easy:backfill=smallest,spare=none",
    "easy:strict=yes",
    "conservative",
    "conservative:compression=start",
    "conservative:compression=none",
    "reservations:depth=2",
    "reservations:depth=100",
    "lookahead",
    "lookahead:depth=3",
    "selective",
    "selective:threshold=1.25",
    "sjf",
    "ljf:backfill=sjf",
    "smallest",
    "largest",
    "wfp3",
    "unicef",
    "f1",
    "priority-fifo:queues=1/0",
    "creasy:alpha=6000",
    "user-priority:alpha_user=0.5,by=load",
    "user-priority:alpha_user=1,by=recency",
)

PREDICTORS = (
    None,
    "requested",
    "exact",
    "factor:2",
    *(
        f"{name},correct={rule}"
        for name in ("factor:0.5", "last-two", "user-average", "quantile:q=0.5,window=4")
        for rule in ("requested", "increments", "double", "none")
    ),
    *(
        f"{name},correct={rule},renewed=yes"
        for name in ("last-two", "user-average:decay=0.5")
        for rule in ("requested", "increments")
    ),
    "same-job,correct=double",
    "same-job,correct=increments",
    "same-job,correct=increments,renewed=yes",
)

cases = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**32),
        "policy": st.sampled_from(POLICIES),
        "predictor": st.sampled_from(PREDICTORS),
        "overrun": st.sampled_from(["raise", "kill", "late"]),
        "passes": st.sampled_from(["instant", "event"]),
        "cancelled": st.sampled_from([None, "leave-out", "keep"]),
        "unit": st.sampled_from([1, 60, 0.25, 15.25]),
    }
)


def random_jobs(seed, unit):
    """Jobs that often tie and outlive their requests, some of 0 s; of three users and queues.

    Some are `cancelled` after their `wait`, others when they are submitted.
    """
    rng = np.random.default_rng(seed)
    n_jobs, least = 30, rng.integers(0, 2)
    jobs = {
        "submit": np.sort(rng.integers(0, rng.choice([5, 40, 200]), n_jobs)) * unit,
        "run": rng.integers(least, 40, n_jobs) * unit,
        "requested_time": rng.integers(least, 40, n_jobs) * unit,
        "procs": rng.integers(1, MACHINE + 1, n_jobs),
        "user": rng.integers(0, 3, n_jobs),
        "queue": rng.integers(0, 3, n_jobs),
    }
    wait, cancelled = rng.integers(0, 60, n_jobs) * unit, rng.random(n_jobs) < 0.3
    cancelled[0] = False
    return jobs | {"wait": wait, "cancelled": cancelled}


def log_of(jobs):
    """Return a log; of cancelled jobs neither run time nor used processors are known."""
    cancelled = jobs["cancelled"]
    columns = {name: column for name, column in jobs.items() if name != "cancelled"}
    return wk.Trace.from_columns(
        columns
        | {
            "run": np.where(cancelled, -1, jobs["run"]),
            "procs": np.where(cancelled, -1, jobs["procs"]),
            "requested_procs": jobs["procs"],
            "status": np.where(cancelled, 5, 1),
        }
    )


def by_the_words(jobs, cancelled, **how):
    """Return start, end, and whether killed, of each job, or whether it left the queue."""
    gone = jobs["cancelled"]
    if cancelled != "keep":
        jobs = {name: column[~gone] for name, column in jobs.items()}
    submit, run, request, procs, user, queue, wait, gone = (c.tolist() for c in jobs.values())
    run = [0 if gone[job] else run[job] for job in range(len(run))]
    leaves = [submit[job] + wait[job] if gone[job] else None for job in range(len(run))]
    found = schedule(
        submit, run, request, procs, MACHINE, users=user, queues=queue, leaves=leaves, **how
    )
    ran = [row for row, time in zip(found, leaves, strict=True) if time is None]
    left = [
        (until if start is None else start, start is not None)
        for (start, until, _), time in zip(found, leaves, strict=True)
        if time is not None
    ]
    return ran, left


def disagreement(seed, policy, predictor, unit, cancelled=None, engines=ENGINES, **how):
    """Return the engines that differ from the program, with the first job."""
    jobs = random_jobs(seed, unit)
    if cancelled is None:
        jobs["cancelled"][:] = False
    expected = by_the_words(jobs, cancelled, policy=policy, predictor=predictor, **how)
    if predictor is not None:
        how["predictor"] = predictor
    if cancelled is not None:
        how["cancelled"] = cancelled
    different = {}
    for engine in engines:
        found = wk.simulate(log_of(jobs), policy, procs=MACHINE, engine=engine, **how)
        ran = found.jobs[["start", "end", "killed"]]
        left = found.cancelled_jobs.assign(until=lambda table: table["submit"] + table["wait"])
        tables = ran, left[["until", "started"]]
        for name, table, rows in zip(("ran", "left"), tables, expected, strict=True):
            pairs = zip(table.itertuples(index=False, name=None), rows, strict=True)
            differ = [(job, *pair) for job, pair in enumerate(pairs) if pair[0] != pair[1]]
            if differ:
                different.setdefault(engine, (name, *differ[0]))
    return different


LATE_WITH_DECIMALS = {"overrun": "late", "passes": "instant", "unit": 15.25}
KILLED_BY_EVENT = {"predictor": None, "overrun": "kill", "passes": "event", "unit": 0.25}

#: Jobs that are planned with 0 s: one with a reservation is not backfilled; a reservation of 0 s is
#: passed while others have its processors, and its place in the plan is then used again; one that
#: starts between two ends of a second counts as ended in the next pass.
OF_NO_TIME = (
    *(
        {"seed": seed, "policy": policy, "predictor": predictor, **LATE_WITH_DECIMALS}
        for seed, policy, predictor in (
            (669066660, "selective:threshold=1.25", "factor:0.5,correct=double"),
            (2449336412, "conservative", "quantile:q=0.5,window=4,correct=none"),
        )
    ),
    {"seed": 286, "policy": "conservative", **KILLED_BY_EVENT},
    {"seed": 3986, "policy": "creasy:alpha=6000", **KILLED_BY_EVENT},
)


@pytest.mark.parametrize(
    ("case", "engine"),
    [
        pytest.param(case, engine, marks=COMPILES if engine == "compiled" else ())
        for case in OF_NO_TIME
        for engine in ENGINES
    ],
)
def test_jobs_of_0_s_take_nothing_of_the_slots_of_others(case, engine):
    assert disagreement(**case, engines=[engine]) == {}


@given(cases)
@examples(100)
def test_the_plain_engine_gives_the_schedules_of_the_words(case):
    assert disagreement(**case, engines=["python"]) == {}


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
@given(cases)
@examples(40)
def test_both_engines_give_the_schedules_of_the_words_under_every_policy(policy, case):
    assert disagreement(**case | {"policy": policy}) == {}
