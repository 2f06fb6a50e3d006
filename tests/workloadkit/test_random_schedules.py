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
)

cases = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**32),
        "policy": st.sampled_from(POLICIES),
        "predictor": st.sampled_from(PREDICTORS),
        "overrun": st.sampled_from(["raise", "kill", "late"]),
        "passes": st.sampled_from(["instant", "event"]),
        "unit": st.sampled_from([1, 60, 0.25, 15.25]),
    }
)


def random_jobs(seed, unit):
    """Jobs that often tie and outlive their requests, some of 0 s; of three users and queues."""
    rng = np.random.default_rng(seed)
    n_jobs, least = 30, rng.integers(0, 2)
    return {
        "submit": np.sort(rng.integers(0, rng.choice([5, 40, 200]), n_jobs)) * unit,
        "run": rng.integers(least, 40, n_jobs) * unit,
        "requested_time": rng.integers(least, 40, n_jobs) * unit,
        "procs": rng.integers(1, MACHINE + 1, n_jobs),
        "user": rng.integers(0, 3, n_jobs),
        "queue": rng.integers(0, 3, n_jobs),
    }


def disagreement(seed, policy, predictor, overrun, passes, unit, engines=ENGINES):
    """Return the engines that differ from the program, with the first job."""
    jobs = random_jobs(seed, unit)
    submit, run, request, procs, user, queue = (column.tolist() for column in jobs.values())
    how = {"overrun": overrun, "passes": passes}
    expected = schedule(
        submit, run, request, procs, MACHINE,
        policy=policy, users=user, queues=queue, predictor=predictor, **how,
    )  # fmt: skip
    if predictor is not None:
        how["predictor"] = predictor
    different = {}
    for engine in engines:
        log = wk.Trace.from_columns(jobs)
        table = wk.simulate(log, policy, procs=MACHINE, engine=engine, **how).jobs
        found = table[["start", "end", "killed"]].itertuples(index=False, name=None)
        for job, (one, other) in enumerate(zip(found, expected, strict=True)):
            if one != other:
                different[engine] = job, one, other
                break
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
@pytest.mark.parametrize("overrun", ["raise", "kill", "late"])
@given(cases)
@examples(80)
def test_both_engines_give_the_schedules_of_the_words_under_every_policy(policy, overrun, case):
    assert disagreement(**case | {"policy": policy, "overrun": overrun}) == {}
