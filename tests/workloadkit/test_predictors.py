"""Predictors: by their definitions, in both engines, and EASY++ by a program of its own."""

import json
import math

import numpy as np
import pytest

import workloadkit as wk
from tests.both_engines import ENGINES, agree
from tests.commands import run_command
from tests.data import TRACES, needs_compiler, needs_traces, slow_to_compile, trace_path
from tests.examples import searches
from tests.oracles import predictions as oracle
from tests.small_logs import head_of, random_log
from workloadkit.errors import ParameterError
from workloadkit.simulation.predictors.predictor import INCREMENTS

LEARNING = tuple(oracle.FROM_THE_PAST)
OTHERS = ("exact", "factor:2", "factor:0.4", "f-model:3", "requested")
RULES = ("requested", "increments", "double", "none")
EVERY_POLICY = [name for name in wk.schedulers.known() if name not in ("recorded", "genetic")]


@pytest.mark.parametrize("predictor", [*LEARNING, "exact", "factor:2", "factor:0.4"])
@pytest.mark.parametrize("overrun", ["kill", "raise", "late"])
def test_predictions_are_those_of_the_definition(predictor, overrun):
    for seed, scheduler in enumerate(("fcfs", "easy", "easy")):
        schedule = agree(
            random_log(seed), scheduler, procs=16, predictor=predictor, overrun=overrun
        )
        jobs = schedule.jobs.assign(user=schedule.workload.user).to_dict("records")
        assert schedule.jobs["estimate"].tolist() == oracle.predict(jobs, predictor)


def test_the_f_model_draws_between_the_run_time_and_its_multiple():
    schedule = agree(random_log(1, 600), "easy", procs=16, predictor="f-model:3", overrun="late")
    ratio = schedule.jobs["estimate"] / schedule.jobs["run"]
    long = schedule.jobs["run"] > 100  # rounded down to whole seconds
    assert ratio.min() >= 1 and 3.8 < ratio.max() <= 4
    assert abs(ratio[long].mean() - 2.5) < 4 * math.sqrt(9 / 12 / long.sum())
    other = wk.simulate(
        random_log(1, 600), "easy", procs=16, predictor="f-model:3", overrun="late", rng=2
    )
    assert (other.jobs["estimate"] != schedule.jobs["estimate"]).any()
    assert schedule.parameters["seed"] == 1


def test_the_request_as_a_prediction_changes_nothing():
    for overrun in ("kill", "raise", "late"):
        how = {"procs": 16, "overrun": overrun}
        schedule = agree(random_log(3), "easy", predictor="requested", **how)
        assert schedule.start.tolist() == wk.simulate(random_log(3), "easy", **how).start.tolist()


def one_user(runs, requests, gap=10_000):
    """Jobs of one user on one processor, one after the other."""
    n_jobs = len(runs)
    return wk.Trace.from_columns(
        {
            "submit": np.arange(n_jobs) * gap,
            "run": runs,
            "procs": [1] * n_jobs,
            "requested_time": requests,
            "user": [1] * n_jobs,
        }
    )


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("rule", "seen"),
    [
        ("requested", {100: 5000}),
        ("increments", {100: 160, 160: 400, 400: 1000, 1000: 1900, 1900: 3700, 3700: 5000}),
        ("double", {100: 200, 200: 400, 400: 800, 800: 1600, 1600: 3200, 3200: 5000}),
        ("none", {}),
    ],
)
def test_an_outlived_prediction_is_corrected_up_to_the_limit(engine, rule, seen):
    # The first job is planned with half its request of 200 s, and runs for 4,900 s of 5,000 s. A
    # job of the whole machine waits for it; those that could overtake it show what is planned.
    plans = [100, *seen.values()]
    for time in (plan + before for plan in plans for before in (-1, 0) if plan < 4900):
        planned = next(
            (plan for plan in plans if plan > time), plans[-1] if rule != "none" else time
        )
        for longer in (0, 1):
            columns = {
                "submit": [0, 0, 1, 100_000, 100_001, 100_000 + time],
                "run": [100, 100, 1, 4900, 10, 10],
                "procs": [1, 1, 1, 1, 4, 1],
                "requested_time": [200, 200, 200, 5000, 10, planned - time + longer],
                "user": [1, 1, 9, 1, 2, 3],
            }
            if columns["requested_time"][-1] == 0:
                continue
            trace = wk.Trace.from_columns(columns)
            start = wk.simulate(
                trace,
                "easy:spare=none",
                procs=4,
                engine=engine,
                overrun="kill",
                predictor=f"last-two,correct={rule}",
            ).start
            assert (start[5] == 100_000 + time) == (not longer), (time, planned)


def test_exact_predictions_leave_the_limits_as_they_are():
    trace = one_user([50, 300], [100, 100])
    schedule = agree(trace, "easy", procs=1, predictor="exact", overrun="kill")
    assert schedule.jobs[["run", "estimate", "limit", "killed"]].to_numpy().tolist() == [
        [50, 50, 100, False],
        [100, 100, 100, True],
    ]
    exact = wk.simulate(trace, "easy", procs=1, estimates="exact", overrun="kill")
    assert exact.jobs["run"].tolist() == [50, 300]


@pytest.mark.parametrize("scheduler", EVERY_POLICY)
@pytest.mark.parametrize("overrun", ["kill", pytest.param("late", marks=pytest.mark.slow)])
def test_engines_agree_under_every_policy(scheduler, overrun):
    for place, predictor in enumerate((*LEARNING[:3], *LEARNING[5:7], *OTHERS)):
        if not searches() and (place + EVERY_POLICY.index(scheduler)) % 3:
            continue
        rule = RULES[place % len(RULES)]
        passes = ("instant", "event")[place // len(RULES) % 2]
        how = {"procs": 16, "overrun": overrun, "passes": passes}
        agree(random_log(place), scheduler, predictor=f"{predictor},correct={rule}", **how)


@slow_to_compile
def test_engines_agree_with_decimals():
    for predictor in (*LEARNING, *OTHERS):
        agree(random_log(2, times=float), "easy:backfill=sjf", procs=16, predictor=predictor)


@pytest.mark.parametrize("users", ["closed", "fluid"])
def test_users_who_react_are_predicted(users):
    for place, predictor in enumerate((*LEARNING, *OTHERS)):
        rule = RULES[place % len(RULES)]
        predictor = f"{predictor},correct={rule}"
        schedule = agree(random_log(place), "easy", users, procs=16, predictor=predictor)
        requested = schedule.source.column("requested_time")[schedule.workload.row]
        assert (schedule.jobs["limit"] >= requested).all()  # raised to the run time


def test_a_job_that_an_outage_stops_is_predicted_as_at_its_arrival():
    outages = wk.Outages((wk.Outage(1, 9000, 9500, 8), wk.Outage(2, 20000, 20100, 16)))
    for predictor in ("last-two", "last-two,correct=increments", "user-average,correct=none"):
        schedule = agree(random_log(4), "easy", procs=16, predictor=predictor, outages=outages)
        assert schedule.columns["interruptions"].sum() > 0


@needs_traces
@pytest.mark.filterwarnings("ignore::workloadkit.errors.WorkloadWarning")
@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)
def test_engines_agree_on_real_logs(path):
    trace = head_of(path)
    for scheduler, predictor in (
        ("easy:backfill=sjf", "last-two,correct=increments"),
        ("conservative", "user-average"),
    ):
        agree(trace, scheduler, overrun="kill", oversize="drop", predictor=predictor)


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize(
    ("name", "rules"),
    [
        ("KTH-SP2-1996-2.1-cln", ("requested", "increments")),
        pytest.param("SDSC-SP2-1998-4.2-cln", ("requested",), marks=pytest.mark.slow),
        pytest.param("CTC-SP2-1996-3.1-cln", ("double",), marks=pytest.mark.slow),
    ],
)
def test_easy_plus_plus_is_that_of_a_program_of_its_own(name, rules):
    trace = wk.read_swf(trace_path(name))
    for rule in rules:
        schedule = wk.simulate(
            trace,
            "easy:backfill=sjf",
            overrun="kill",
            oversize="drop",
            predictor=f"last-two:correct={rule}",
        )
        w = schedule.workload
        columns = (w.submit, w.run, w.limit, w.procs, w.user)
        jobs = list(zip(*(column.tolist() for column in columns), strict=True))
        assert oracle.easy_plus_plus(jobs, schedule.machine, rule) == schedule.start.tolist()


def test_the_increments_are_those_of_the_source():
    assert list(INCREMENTS) == oracle.STEPS


def test_a_schedule_measures_its_predictions():
    trace = one_user([100, 300, 300, 50], [400, 400, 400, 400])
    schedule = wk.simulate(trace, "easy", procs=1, predictor="last-two")
    assert schedule.jobs["estimate"].tolist() == [400, 400, 200, 300]
    measured = schedule.predictions.classes.loc["all"]
    accuracy = (100 / 400 + 300 / 400 + 200 / 300 + 50 / 300) / 4
    assert measured["prediction_accuracy"] == pytest.approx(accuracy)
    assert measured["under_predicted"] == 0.25
    assert measured["mean_error"] == (300 + 100 - 100 + 250) / 4
    assert measured["mean_absolute_error"] == (300 + 100 + 100 + 250) / 4
    assert schedule.metrics["prediction_accuracy"] == pytest.approx(accuracy)
    assert schedule.predictions.classes["jobs"].to_dict() == {
        "all": 4,
        "long-term": 0,
        "temporary": 0,
        "truncated": 4,
    }
    without = wk.simulate(trace, "easy", procs=1)
    assert "prediction_accuracy" not in without.metrics and "limit" not in without.jobs
    assert without.predictions.summary["under_predicted"] == 0


def test_a_prediction_of_just_the_run_time_is_no_under_prediction():
    schedule = wk.simulate(one_user([100, 300], [400, 300]), "easy", procs=1, predictor="exact")
    assert schedule.predictions.summary == {"prediction_accuracy": 1, "under_predicted": 0}


def test_jobs_of_another_size_are_not_the_same():
    columns = {"submit": [0, 1000, 2000], "run": [100, 70, 10], "procs": [1, 2, 1]}
    trace = wk.Trace.from_columns({**columns, "requested_time": [400] * 3, "user": [1] * 3})
    schedule = agree(trace, "easy", procs=2, predictor="same-job")
    assert schedule.jobs["estimate"].tolist() == [400, 400, 100]


class Halved:
    """Plans with half the limit, and corrects it once, to nine tenths."""

    name = "halved"

    def plain(self):
        return self

    def compiled(self, workload):
        raise NotImplementedError

    def plan(self, job):
        return job.limit / 2

    def learn(self, job):
        """Learns nothing."""

    def correct(self, job):
        return max(job.limit * 0.9, job.estimate)


def test_a_custom_predictor_corrects_in_plain_python():
    columns = {"submit": [0, 1, 60], "run": [100, 10, 30], "procs": [1, 4, 1]}
    trace = wk.Trace.from_columns({**columns, "requested_time": [100, 10, 30]})
    how = {"procs": 4, "engine": "python", "predictor": Halved()}
    assert wk.simulate(trace, "easy:spare=none", **how).start.tolist() == [0, 100, 60]


def test_wrong_predictors_are_refused():
    for predictor, message in (
        ("last-tow", "unknown predictor 'last-tow'; did you mean last-two"),
        ("factor", "predictor factor needs times: factor:times="),
        ("factor:0", "predictor factor: times is 0"),
        ("f-model:-1", "predictor f-model: f is -1"),
        ("quantile:q=1.5", "predictor quantile: q is 1.5; it is above 0 and at most 1"),
        ("user-average:window=0", "predictor user-average: window is 0; at least 1"),
        ("last-two:correct=tripled", "predictor last-two: correct is 'tripled'"),
        (7, "predictor is 7; give a name"),
    ):
        with pytest.raises(ParameterError, match=message):
            wk.simulate(random_log(1, 5), procs=16, predictor=predictor)
    with pytest.raises(ParameterError, match="predictor and estimates are both given"):
        wk.simulate(random_log(1, 5), procs=16, predictor="exact", estimates="exact")


def test_the_command_predicts(tmp_path, capsys):
    log, result = tmp_path / "log.swf", tmp_path / "result.json"
    wk.write_swf(random_log(5), log)
    command = ("simulate", log, "--procs", 16, "--overrun", "kill", "--scheduler")
    options = ("easy:backfill=sjf", "--predict", "last-two,correct=increments", "--json", result)
    assert run_command(*command, *options) == 0
    written = json.loads(result.read_text())
    expected = wk.simulate(
        wk.read_swf(log),
        "easy:backfill=sjf",
        procs=16,
        overrun="kill",
        predictor="last-two:increments",
    )
    assert written["prediction_accuracy"] == expected.metrics["prediction_accuracy"]
    assert written["provenance"]["parameters"]["predictor"] == "last-two:correct=increments"
    assert written["predictions"]["all"]["jobs"] == 120
    assert "prediction accuracy" in capsys.readouterr().out
    for estimates in ("exact", "user"):
        both = ("easy", "--predict", "exact", "--estimates", estimates)
        assert run_command(*command, *both) == 2
        assert "--predict and --estimates are both given" in capsys.readouterr().err
    assert run_command(*command, "easy", "--predict", "nonsense") == 2
