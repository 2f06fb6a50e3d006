"""No decision depends on what only the future knows: other run times change no earlier start."""

import re
from typing import NamedTuple

import numpy as np
import pytest

import workloadkit as wk
from tests.both_engines import ENGINES, agree, daily
from tests.small_logs import valued
from workloadkit.simulation.policies.policy import BACKFILLS

QUICK = {
    "genetic": "genetic:window=6,individuals=5,generations=2",
    "lookahead": "lookahead:depth=5",
    "multi-queue": "multi-queue:3",
    "order": "order:score=estimate*procs",
    "reservations": "reservations:3",
    "selective": "selective:2",
    "slack": "slack:factor=1",
}
POLICIES = [QUICK.get(name, name) for name in wk.schedulers.known() if name != "recorded"]
SCORES = ("-(wait+limit)/limit", "usage", "running_work+waiting_work,backfill=estimate")
ORDERS = [f"order:score={score}" for score in SCORES]
ORDERS += [f"easy:backfill={order}" for order in BACKFILLS[1:]]

#: Settings under which a plan contains requests and past run times only; whether jobs may exceed
#: their requests.
HONEST = (
    ({"overrun": "raise"}, False),
    ({"overrun": "late"}, True),
    ({"overrun": "kill", "passes": "event"}, True),
    ({"overrun": "raise", "predictor": "last-two"}, True),
    ({"overrun": "raise", "predictor": "same-job,correct=increments", "passes": "event"}, True),
    ({"overrun": "raise", "predictor": "quantile:q=0.5,correct=double"}, True),
    ({"overrun": "raise", "predictor": "user-average,correct=none"}, True),
    ({"overrun": "raise", "predictor": "factor:0.5"}, True),
)


def busy_log(seed, exceed):
    """Jobs of four users on 16 processors, recorded with the same ends whatever their run times."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 4, 60)
    request = np.array([2000, 1500, 900, 3000])[kind]
    run = rng.integers(1, 4000, 60) // (1 + 2 * kind) + 1
    columns = {
        "submit": np.sort(rng.integers(0, 20000, 60)),
        "run": run if exceed else np.minimum(run, request),
        "wait": 6000 - (run if exceed else np.minimum(run, request)),
        "procs": np.array([1, 3, 8, 13])[kind],
        "requested_time": request,
        "user": rng.integers(1, 5, 60),
        "queue": rng.integers(0, 3, 60),
    }
    return valued(wk.Trace.from_columns(columns), seed)


def with_another_future(log, jobs, instant, rng, exceed):
    """The log with other run times of the jobs that have not ended at an instant."""
    run = log.column("run").copy()
    most = np.full(run.size, 4500) if exceed else log.column("requested_time")
    for row, start, end in jobs:
        least = max(instant - start + 1, 1)
        if end > instant and least <= most[row]:
            run[row] = rng.integers(least, most[row], endpoint=True)
    return log.with_columns(run=run, wait=6000 - run)


def decided_by(schedule, instant, predicted):
    """The starts until an instant, and the predictions at the submissions until then."""
    jobs = schedule.jobs.set_index("job").sort_index()
    started = jobs["start"][jobs["start"] <= instant].to_dict()
    planned = jobs["estimate"][jobs["submit"] <= instant].to_dict() if predicted else None
    return started, planned


def foresees(scheduler, users="open", seeds=(1,), **how):
    """Whether any decision differs in another future, which changes nothing before an instant."""
    exceed = how.pop("exceed")
    for seed in seeds:
        log, rng = busy_log(seed, exceed), np.random.default_rng(seed)
        found = wk.simulate(log, scheduler, users, procs=16, rng=1, **how)
        rows = found.jobs["job"].to_numpy() - 1
        jobs = list(zip(rows, found.jobs["start"], found.jobs["end"], strict=True))
        for instant in np.quantile(found.start, [0.3, 0.7]).astype(int).tolist():
            other = with_another_future(log, jobs, instant, rng, exceed)
            then = wk.simulate(other, scheduler, users, procs=16, rng=1, **how)
            predicted = "predictor" in how
            if decided_by(found, instant, predicted) != decided_by(then, instant, predicted):
                return True
    return False


@pytest.mark.parametrize("engine", daily(ENGINES, ["python"]))
@pytest.mark.parametrize("scheduler", daily(POLICIES + ORDERS, (POLICIES + ORDERS)[::3]))
def test_no_policy_foresees(scheduler, engine):
    for how, exceed in HONEST:
        assert not foresees(scheduler, engine=engine, exceed=exceed, **how), how


def test_the_test_finds_foresight():
    for how in ({"predictor": "exact"}, {"predictor": "f-model:2"}, {"estimates": "exact"}):
        assert foresees("easy:backfill=sjf", exceed=True, seeds=range(60), **how), how


@pytest.mark.parametrize("engine", daily(ENGINES, ["python"]))
@pytest.mark.parametrize("users", ["closed", "fluid", "adjusted"])
def test_no_users_foresee(users, engine):
    for how, exceed in HONEST:
        assert not foresees("easy", users, engine=engine, exceed=exceed, **how), how


def test_the_run_time_of_a_job_like_this_one_is_predicted_not_its_own():
    trace = wk.Trace.from_columns(
        {
            "submit": [0, 100, 500],
            "run": [40, 300, 40],
            "procs": [1, 1, 1],
            "requested_time": [100, 100, 100],
            "user": [1, 1, 1],
        }
    )
    jobs = agree(trace, "easy", procs=2, predictor="same-job", overrun="raise").jobs
    assert jobs["estimate"].tolist() == [100, 40, 100]
    assert jobs["limit"].tolist() == [100, 100, 100]
    assert jobs["run"].tolist() == [40, 300, 40] and not jobs["killed"].any()


@pytest.mark.parametrize("predictor", ["last-two", "quantile", "user-average", "factor:1"])
def test_no_predictor_sees_a_raised_estimate(predictor):
    trace = wk.Trace.from_columns(
        {
            "submit": [0, 100, 1000, 2000],
            "run": [90, 95, 300, 10],
            "procs": [1, 1, 1, 1],
            "requested_time": [80, 80, 80, 80],
            "user": [1, 1, 1, 1],
        }
    )
    jobs = agree(trace, "easy", procs=2, predictor=predictor, overrun="raise").jobs
    assert jobs["estimate"].tolist() == [80, 80, 80, 80]


class Shortest(wk.predictors.LastTwo):
    """Overrides the plain form only."""

    def plain(self, *_):
        return wk.predictors.SameJob().plain()


class ShortestExact(wk.predictors.Exact):
    """The same, where predictions of all jobs may be made in advance."""

    def plain(self, *_):
        return wk.predictors.SameJob().plain()


class Foreign(NamedTuple):
    """A tuple without functions."""

    number: int


class Given:
    """A predictor whose compiled form is given."""

    name = "given"

    def __init__(self, part):
        self.part = part

    def plain(self):
        return wk.predictors.SameJob().plain()

    def compiled(self, workload):
        if self.part is NotImplementedError:
            raise NotImplementedError
        return self.part


def test_a_wrong_compiled_part_is_refused_and_the_plain_form_plays():
    wrong = (
        (Foreign(1), "Foreign has no compiled functions; see parts.register_functions"),
        (None, "predictor given: compiled returns no NamedTuple; take engine='python'"),
        (NotImplementedError, "predictor given: compiled returns no NamedTuple"),
    )
    refused = [(Given(part), message) for part, message in wrong]
    refused += [(kind(), "overrides the plain form") for kind in (Shortest, ShortestExact)]
    for predictor, message in refused:
        with pytest.raises(wk.WorkloadError, match=re.escape(message)):
            wk.simulate(busy_log(1, exceed=True), procs=16, predictor=predictor)
        how = {"procs": 16, "predictor": predictor, "engine": "python"}
        assert wk.simulate(busy_log(1, exceed=True), **how).start.size == 60
