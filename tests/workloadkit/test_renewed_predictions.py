"""Predictions that are renewed while jobs wait: by a program of its own, and in both engines."""

import math

import numpy as np
import pytest

import workloadkit as wk
from tests.both_engines import ENGINES, agree, daily
from tests.data import COMPILES, TRACES, needs_compiler, needs_traces, slow_to_compile, trace_path
from tests.examples import searches
from tests.oracles import predictions as oracle
from tests.small_logs import head_of, random_log
from tests.workloadkit.test_foresight import ORDERS, POLICIES, foresees

PREDICTORS = (
    "last-two,correct=increments",
    "same-job,correct=double",
    "user-average:decay=0.5",
    "user-average:window=3",
    "quantile:q=0.5,correct=none",
)
#: A full machine, so that jobs wait while others end.
HOW = (
    {"procs": 16, "scale_arrivals": 0.3, "passes": "instant", "overrun": "kill"},
    {"procs": 16, "scale_arrivals": 0.3, "passes": "event", "overrun": "late"},
    {"procs": 16, "scale_arrivals": 0.3, "passes": "event", "overrun": "kill"},
)


def easy_plus_plus(schedule, rule, **how):
    """The starts by the program of the definition."""
    w = schedule.workload
    columns = (w.submit, w.run, w.limit, w.procs, w.user)
    jobs = list(zip(*(column.tolist() for column in columns), strict=True))
    return oracle.easy_plus_plus(jobs, schedule.machine, rule, **how)


@pytest.mark.parametrize("passes", ["instant", "event"])
def test_a_waiting_job_takes_its_place_by_what_its_user_did_meanwhile(passes):
    # the head needs all; at 50 one of two jobs fits: that of user 1 had a request of 8 s, and is
    # predicted 2 s by the jobs that this user ends at 44
    rows = [
        (0, 100, 8, 100, 3),
        (0, 50, 2, 50, 5),
        (1, 500, 12, 500, 4),
        (40, 4, 3, 4, 2),
        (41, 8, 3, 8, 1),
        (42, 3, 1, 2, 1),
        (42, 3, 1, 2, 1),
    ]
    names = ("submit", "requested_time", "procs", "run", "user")
    log = wk.Trace.from_columns(dict(zip(names, zip(*rows, strict=True), strict=True)))
    how = {"procs": 12, "overrun": "kill", "passes": passes}
    once = agree(log, "easy:backfill=sjf", predictor="last-two", **how)
    assert once.start.tolist() == [0, 0, 100, 50, 54, 42, 42]
    assert once.jobs["estimate"].tolist() == [100, 50, 500, 4, 8, 3, 3]
    renewed = agree(log, "easy:backfill=sjf", predictor="last-two,renewed=yes", **how)
    assert renewed.start.tolist() == [0, 0, 100, 58, 50, 42, 42]
    assert renewed.jobs["estimate"].tolist() == [100, 50, 500, 4, 2, 3, 3]  # at the start
    assert renewed.parameters["predictor"] == "last-two:renewed=yes"


@pytest.mark.parametrize("rule", ["requested", "increments", "double"])
@pytest.mark.parametrize("passes", ["instant", "event"])
def test_small_logs_agree_with_the_definition(passes, rule):
    for seed in range(6 if searches() else 1):
        schedule = agree(
            random_log(seed, 200),
            "easy:backfill=sjf",
            procs=16,
            scale_arrivals=0.3,
            overrun="kill",
            passes=passes,
            predictor=f"last-two,correct={rule},renewed=yes",
        )
        how = {"renewed": True, "by_event": passes == "event"}
        assert easy_plus_plus(schedule, rule, **how) == schedule.start.tolist(), seed


@needs_traces
@pytest.mark.filterwarnings("ignore::workloadkit.errors.WorkloadWarning")
@pytest.mark.parametrize("passes", ["instant", "event"])
@pytest.mark.parametrize("path", daily(TRACES, TRACES[:1]), ids=lambda path: path.name)
def test_the_first_jobs_of_real_logs_agree_with_the_definition(path, passes):
    for rule in ("requested", "increments"):
        schedule = wk.simulate(
            head_of(path),
            "easy:backfill=sjf",
            overrun="kill",
            oversize="drop",
            passes=passes,
            predictor=f"last-two,correct={rule},renewed=yes",
        )
        how = {"renewed": True, "by_event": passes == "event"}
        assert easy_plus_plus(schedule, rule, **how) == schedule.start.tolist(), rule


@pytest.mark.parametrize(
    "scheduler", daily([*POLICIES, *ORDERS], ["easy", "conservative", "easy:backfill=sjf"])
)
def test_engines_agree_under_every_policy(scheduler):
    if scheduler.startswith("genetic"):
        return  # no utility functions
    for seed, predictor in enumerate(PREDICTORS):
        how = HOW[seed % len(HOW)]
        agree(random_log(seed, 80), scheduler, predictor=f"{predictor},renewed=yes", **how)


@pytest.mark.parametrize(
    "score",
    [
        pytest.param("waiting_work", marks=COMPILES),
        pytest.param("running_work+waiting_work,backfill=waiting_work", marks=COMPILES),
        pytest.param("usage+waiting_work,backfill=sjf", marks=COMPILES),
    ],
)
def test_engines_agree_on_scores_with_several_reservations(score):
    for seed, predictor in enumerate(PREDICTORS):
        scheduler = f"order:score={score},reservations=2"
        how = HOW[seed % len(HOW)]
        agree(random_log(seed, 80), scheduler, predictor=f"{predictor},renewed=yes", **how)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("scheduler", ["easy:backfill=sjf", "conservative"])
def test_a_renewed_prediction_does_not_foresee(scheduler, engine):
    for predictor in PREDICTORS:
        how = {"predictor": f"{predictor},renewed=yes", "overrun": "raise", "engine": engine}
        assert not foresees(scheduler, exceed=True, **how), predictor


@pytest.mark.slow
def test_jobs_that_outages_stop_and_users_who_react_are_predicted_again():
    outages = wk.Outages((wk.Outage(1, 9000, 9500, 8), wk.Outage(2, 20000, 20100, 16)))
    for scheduler in ("easy:backfill=sjf", "conservative"):
        how = {"procs": 16, "predictor": "last-two,correct=increments,renewed=yes"}
        schedule = agree(random_log(4), scheduler, outages=outages, **how)
        assert schedule.columns["interruptions"].sum() > 0
        agree(random_log(5), scheduler, "closed", **how)


@slow_to_compile
def test_engines_agree_with_decimals():
    for predictor in PREDICTORS:
        log = random_log(2, times=float)
        agree(log, "easy:backfill=sjf", procs=16, predictor=f"{predictor},renewed=yes")


@pytest.mark.parametrize("scheduler", ["easy:backfill=sjf", "conservative", ORDERS[2]])
def test_the_checker_renews_predictions(scheduler):
    for seed, predictor in enumerate(PREDICTORS):
        how = {**HOW[seed % len(HOW)], "overrun": "raise", "engine": "python"}
        log = random_log(seed, 80)
        schedule = wk.simulate(log, scheduler, predictor=f"{predictor},renewed=yes", **how)
        assert wk.check_schedule(log, schedule).verdict == "proved", predictor


def test_predictions_without_a_past_stay():
    for predictor in ("exact", "factor:2", "f-model:3", "requested"):
        for engine in ENGINES:
            how = {"procs": 16, "engine": engine, "rng": 1}
            log = random_log(3)
            once = wk.simulate(log, "sjf", predictor=predictor, **how)
            renewed = wk.simulate(log, "sjf", predictor=f"{predictor},renewed=yes", **how)
            assert once.start.tolist() == renewed.start.tolist(), predictor


def test_a_custom_predictor_plans_again():
    class Counting:
        """Predicts the number of ended jobs."""

        name = "counting"
        renewed = True

        def __init__(self):
            self.ended = 0

        def plain(self):
            return type(self)()

        def compiled(self, workload):
            raise NotImplementedError

        def plan(self, job):
            return 1000 - self.ended

        def learn(self, job):
            self.ended += 1

    trace = wk.Trace.from_columns(
        {"submit": [0, 0, 1, 2], "run": [10, 20, 5, 5], "procs": [2, 2, 4, 4]}
    )
    how = {"procs": 4, "engine": "python", "predictor": Counting()}
    assert wk.simulate(trace, "fcfs", **how).jobs["estimate"].tolist() == [1000, 1000, 998, 997]


@pytest.mark.slow
@needs_traces
@needs_compiler
def test_renewal_in_kth_is_as_in_pyss():
    # pyss predicts waiting jobs again in each pass, and runs jobs of 0 s for 1 s: if it is given
    # requested processors and runs cut at the request, its starts are those found here
    trace = wk.read_swf(trace_path("KTH-SP2-1996-2.1-cln"))
    run = trace.column("run")
    trace = trace.with_columns(run=np.where(trace.ran, np.maximum(run, 1), run))
    how = {"overrun": "kill", "passes": "event"}
    once, renewed = (
        wk.simulate(trace, "easy:backfill=sjf", predictor=f"last-two{more}", **how)
        for more in ("", ",renewed=yes")
    )
    slowdown = [found.metrics["mean_bounded_slowdown"] for found in (once, renewed)]
    assert [math.floor(10 * value + 0.5) / 10 for value in slowdown] == [63.0, 64.3]
    assert (once.start != renewed.start).sum() == 8981
