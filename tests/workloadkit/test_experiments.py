"""Sweeps over load: what is simulated, what is drawn, and the intervals."""

import io
import json
import math
from concurrent.futures import Executor, Future
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.examples import examples
from tests.small_logs import valued
from workloadkit.clock import WEEK
from workloadkit.errors import ParameterError, WorkloadError
from workloadkit.experiments.intervals import (
    mean_interval,
    median_interval,
    share_interval,
    student_t,
)
from workloadkit.experiments.measuring import later_than_fcfs, measure
from workloadkit.experiments.sweep import SweepResults, sweep
from workloadkit.experiments.workloads import draw_weeks, resample_weeks


@pytest.fixture(scope="module")
def log():
    """Four whole weeks and a bit, 20 jobs a day, on 8 processors."""
    rng = np.random.default_rng(5)
    submit = np.sort(rng.integers(0, 4 * WEEK + 50_000, 580))
    submit[0], submit[-1] = 0, 4 * WEEK + 50_000
    run = np.rint(rng.lognormal(7, 1.5, submit.size))
    columns = {
        "submit": submit,
        "run": run,
        "procs": rng.integers(1, 9, submit.size),
        "requested_time": run * rng.integers(1, 6, submit.size),
        "user": rng.integers(1, 7, submit.size),
    }
    header = wk.Header(("; MaxProcs: 8",))
    return wk.Trace.from_columns(columns, header=header, name="four weeks")


# Intervals


def probability(t, freedom, steps=20_000):
    """P(|T| <= t) by Simpson's rule over Student's density."""
    x = np.linspace(0, t, 2 * steps + 1)
    log_constant = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)
    density = (1 + x**2 / freedom) ** (-(freedom + 1) / 2)
    density *= math.exp(log_constant) / math.sqrt(freedom * math.pi)
    weights = np.tile([2.0, 4.0], steps)
    weights = np.append(weights, 1.0)
    weights[0] = 1.0
    return 2 * float(density @ weights) * (t / steps / 2) / 3


@examples(60)
@given(st.floats(0.01, 0.99), st.integers(2, 400))
def test_student_t_is_the_inverse_of_its_distribution(confidence, freedom):
    assert probability(student_t(confidence, freedom), freedom) == pytest.approx(confidence)


def test_student_t_agrees_with_published_tables():
    for confidence, freedom, expected in (
        (0.95, 1, 12.7062),
        (0.99, 4, 4.6041),
        (0.9, 5, 2.0150),
        (0.95, 30, 2.0423),
        (0.5, 3, 0.7649),
    ):
        assert student_t(confidence, freedom) == pytest.approx(expected, abs=6e-5)


def test_an_interval_worked_out_by_hand():
    # mean 4, variance 4, standard error 2 / sqrt(3)
    mean, low, high = mean_interval([2, 4, 6], confidence=0.9)
    assert (mean, high - mean) == pytest.approx((4, 2.919986 * 2 / math.sqrt(3)))
    assert mean - low == pytest.approx(high - mean)


def test_one_value_has_no_interval_and_none_has_no_mean():
    mean, low, high = mean_interval([3.0])
    assert mean == 3
    assert math.isnan(low)
    assert math.isnan(high)
    assert all(math.isnan(x) for x in mean_interval([]))


def test_intervals_contain_the_mean_as_often_as_their_confidence(rng):
    samples = rng.normal(3, 2, (2000, 5))
    intervals = [mean_interval(sample, confidence=0.8) for sample in samples]
    held = np.mean([low <= 3 <= high for _, low, high in intervals])
    assert held == pytest.approx(0.8, abs=0.03)


@pytest.mark.parametrize("n", [3, 5, 10, 20])
def test_intervals_of_positive_quantities_are_positive_and_hold_the_mean_more_often(rng, n):
    """Of a quantity with a long tail, such as the mean wait of a run."""
    samples = rng.lognormal(0, 1, (2000, n))
    held = {}
    for positive in (True, False):
        found = [mean_interval(sample, positive=positive) for sample in samples]
        held[positive] = np.mean([low <= math.exp(0.5) <= high for _, low, high in found])
        assert any(low < 0 for _, low, _ in found) is not positive or n > 10
    assert held[True] > held[False]
    assert 0.87 < held[True] < 0.95


def test_a_quantity_that_is_always_0_has_an_interval_of_0():
    assert mean_interval([0, 0, 0], positive=True) == (0, 0, 0)


def test_the_median_lies_between_two_values_with_95_percent():
    for n, low, high in (
        (5, math.nan, math.nan),
        (6, 1, 6),
        (8, 1, 8),
        (9, 2, 8),
        (16, 4, 13),
        (17, 5, 13),
    ):
        # of 8 tosses 1 head or none comes in 9 of 256 cases, which are too many; of 9 in 10 of 512
        found = median_interval(np.arange(n, 0, -1))
        assert found == pytest.approx(((n + 1) / 2, low, high), nan_ok=True)


def test_a_share_of_none_or_of_all_has_an_interval_and_one_of_nothing_has_none():
    """Wilson's ends are 0 and z² / (n + z²) where nothing is so."""
    z = 1.959963984540054
    assert share_interval(0, 10) == pytest.approx((0, 0, z**2 / (10 + z**2)))
    assert share_interval(10, 10) == pytest.approx((1, 10 / (10 + z**2), 1))
    assert all(math.isnan(x) for x in share_interval(0, 0))


@pytest.mark.parametrize(("confidence", "freedom"), [(0, 3), (1, 3), (math.nan, 3), (0.95, 0)])
def test_student_t_is_of_some_confidence_and_freedom(confidence, freedom):
    with pytest.raises(ParameterError, match=f"with {freedom} degrees of freedom"):
        student_t(confidence, freedom)


# Weeks drawn anew


def test_weeks_begin_with_the_first_submission():
    submit = [500, 500 + WEEK - 1, 500 + WEEK, 500 + 2 * WEEK]
    trace = wk.Trace.from_columns({"submit": submit, "user": [1, 2, 3, 4]})
    found = resample_weeks(trace, [1, 0])
    assert found.column("submit").tolist() == [500, 500 + WEEK, 500 + 2 * WEEK - 1]
    assert found.column("user").tolist() == [3, 1, 2]


@pytest.mark.parametrize(("length", "whole"), [(2 * WEEK, 2), (3 * WEEK - 1, 2), (3 * WEEK, 3)])
def test_as_many_weeks_are_drawn_as_are_whole(rng, length, whole):
    trace = wk.Trace.from_columns({"submit": [9 * WEEK, 9 * WEEK + length]})
    drawn = np.concatenate([draw_weeks(trace, rng) for _ in range(30)])
    assert drawn.size == 30 * whole
    assert set(drawn.tolist()) == set(range(whole))


def test_weeks_are_those_of_the_window(rng):
    """One job long before it, and one long after; the window is three weeks long."""
    submit = [0, 5 * WEEK, 6 * WEEK + 9, 8 * WEEK, 20 * WEEK]
    header = wk.Header((f"; Window: {5 * WEEK} {8 * WEEK}",))
    trace = wk.Trace.from_columns({"submit": submit, "user": range(1, 6)}, header=header)
    assert set(np.concatenate([draw_weeks(trace, rng) for _ in range(30)])) == {0, 1, 2}
    found = resample_weeks(trace, [1, 0])
    assert found.column("submit").tolist() == [5 * WEEK + 9, 6 * WEEK]
    assert found.column("user").tolist() == [3, 2]


@given(st.lists(st.integers(0, 3), min_size=1, max_size=6))
def test_each_week_brings_its_jobs_at_their_times_within_it(log, weeks):
    found = resample_weeks(log, weeks)
    submit, user = log.column("submit"), log.column("user")
    expected = [
        (i * WEEK + time - week * WEEK, who)
        for i, week in enumerate(weeks)
        for time, who in zip(submit, user, strict=True)
        if week * WEEK <= time < (week + 1) * WEEK
    ]
    assert list(zip(found.column("submit"), found.column("user"), strict=True)) == expected
    assert found.column("job").tolist() == list(range(1, len(expected) + 1))


def test_utility_functions_come_along_and_dependencies_do_not():
    columns = {"submit": [3, 9, WEEK + 4], "preceding_job": [-1, 1, 2], "think_time": [-1, 5, 5]}
    utility = pd.DataFrame({"row": [1, 1, 2], "time": [0.0, 9.0, 0.0], "value": [4.0, 0.0, 7.0]})
    trace = replace(wk.Trace.from_columns(columns), utility=utility)
    found = resample_weeks(trace, [1, 0, 0])
    assert found.utilities == {
        0: [(0, 7)],
        2: [(0, 4), (9, 0)],
        4: [(0, 4), (9, 0)],
    }
    assert set(found.column("preceding_job")) == {-1}
    assert found.jobs["think_time"].isna().all()


@pytest.mark.parametrize("weeks", [[], [-1]])
def test_weeks_that_cannot_be_are_refused(log, weeks):
    with pytest.raises(ParameterError, match="weeks must be at least 0"):
        resample_weeks(log, weeks)


def test_weeks_without_jobs_are_an_error(log):
    with pytest.raises(WorkloadError, match="four weeks: the selected weeks have no jobs"):
        resample_weeks(log, [9])


# Sweeps


def test_a_single_run_simulates_the_log_itself(log):
    found = sweep(log, ["fcfs", "easy"], [0.3, 0.4], metrics=["mean_wait", "wait_p98"])
    rows = found.runs.to_dict("records")
    keys = [(load, scheduler) for load in (0.3, 0.4) for scheduler in ("fcfs", "easy")]
    assert [(row["load"], row["scheduler"]) for row in rows] == keys
    for (load, scheduler), row in zip(keys, rows, strict=True):
        schedule = wk.simulate(log, scheduler, offered_load=load)
        assert row["mean_wait"] == schedule.metrics["mean_wait"]
        assert row["wait_p98"] == schedule.measure("wait_p98")
    assert found.table["mean_wait"].tolist() == found.runs["mean_wait"].tolist()
    assert found.table[["mean_wait_low", "wait_p98_high"]].isna().all(axis=None)


def test_several_runs_draw_whole_weeks_the_same_for_all(log):
    found = sweep(log, ["fcfs", "easy"], [0.5, 0.6], runs=3, rng=4, metrics=["jobs", "mean_wait"])
    assert len(found.runs) == 12
    jobs = found.runs.pivot_table(index="run", columns=["load", "scheduler"], values="jobs")
    assert (jobs.nunique(axis=1) == 1).all()
    for run, stream in enumerate(np.random.default_rng(4).spawn(3)):
        drawn = resample_weeks(log, stream.integers(4, size=4))
        schedule = wk.simulate(drawn, "easy", offered_load=0.6)
        row = found.runs.query("load == 0.6 and scheduler == 'easy'").iloc[run]
        assert (row["run"], row["mean_wait"]) == (run, schedule.metrics["mean_wait"])


def test_the_table_has_the_mean_of_the_runs_and_its_interval(log):
    found = sweep(log, ["easy"], [0.6], runs=4, rng=1, confidence=0.9, metrics=["mean_wait"])
    (row,) = found.table.to_dict("records")
    expected = mean_interval(found.runs["mean_wait"], confidence=0.9, positive=True)
    assert tuple(row[f"mean_wait{end}"] for end in ("", "_low", "_high")) == expected
    assert row["runs"] == 4


def test_a_run_is_the_same_whatever_other_runs_loads_and_schedulers_there_are(log):
    few = sweep(log, ["easy"], [0.6], runs=2, rng=9)
    many = sweep(log, ["fcfs", "easy"], [0.4, 0.6], runs=3, rng=9)
    again = many.runs.query("run < 2 and load == 0.6 and scheduler == 'easy'")
    pd.testing.assert_frame_equal(few.runs, again.reset_index(drop=True))


class Backwards(Executor):
    """Does the last task first."""

    def map(self, function, *iterables, timeout=None, chunksize=1):
        tasks = list(zip(*iterables, strict=True))
        done = [function(*task) for task in reversed(tasks)]
        return reversed(done)

    def submit(self, function, /, *arguments):
        future = Future()
        future.set_result(function(*arguments))
        return future


def test_results_do_not_depend_on_the_executor(log):
    arguments = (["fcfs", "easy"], [0.3, 0.4])
    one = sweep(log, *arguments, runs=3, rng=2)
    other = sweep(log, *arguments, runs=3, rng=2, executor=Backwards())
    assert one.to_csv() == other.to_csv()
    assert one.to_dict() == other.to_dict()


def test_the_result_records_its_origin_and_is_ready_for_json(log):
    found = sweep(log, ["easy"], [0.5], overrun="kill", metrics=["mean_wait"])
    result = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert result["provenance"] == {
        "workloadkit": wk.__version__,
        "log": "four weeks",
        "sha256": None,
        "content_sha256": log.content_digest,
        "parameters": {
            "schedulers": {"easy": "easy"},
            "loads": [0.5],
            "runs": 1,
            "procs": 8,
            "confidence": 0.95,
            "overrun": "kill",
            "oversize": "error",
            "estimates": "user",
        },
    }
    assert result["table"][0]["mean_wait_low"] is None
    assert pd.read_csv(io.StringIO(found.to_csv())).shape == (1, 10)
    drawn = sweep(log, ["easy"], [0.5], runs=2, rng=np.random.default_rng(8))
    again = sweep(log, ["easy"], [0.5], runs=2, rng=drawn.provenance["parameters"]["seed"])
    assert again.to_dict() == drawn.to_dict()


def test_a_mapping_names_schedulers_that_are_called_the_same(log):
    two = [wk.schedulers.Easy(), wk.schedulers.Easy()]
    with pytest.raises(ParameterError, match="two schedulers have the name easy"):
        sweep(log, two, [0.5])
    found = sweep(log, dict(zip("ab", two, strict=True)), [0.5])
    assert found.table["scheduler"].tolist() == ["a", "b"]


def test_a_single_scheduler_needs_no_list_and_a_metric_is_measured_once(log):
    found = sweep(log, "easy", [0.4], metrics=["mean_wait", "jobs", "mean_wait"])
    assert found.metrics == ("mean_wait", "jobs")
    assert found.table["scheduler"].tolist() == ["easy"]
    assert found.table.columns.is_unique


def test_what_jobs_earn_may_be_below_0_and_has_its_interval_by_students_t(log):
    worth = valued(log, 1)
    found = sweep(worth, "fcfs", [0.5], runs=3, rng=1, metrics=["aggregate_utility", "mean_wait"])
    row = found.table.iloc[0]
    for name, positive in (("aggregate_utility", False), ("mean_wait", True)):
        expected = mean_interval(found.runs[name], positive=positive)
        assert [row[f"{name}{end}"] for end in ("", "_low", "_high")] == pytest.approx(expected)


def test_all_simulations_of_a_run_draw_by_its_seed(log, monkeypatch):
    """Of two runs and the log itself: whatever the load and the scheduler."""
    seeds = {}

    def simulate(trace, scheduler, **how):
        seeds.setdefault((how["offered_load"], scheduler), []).append(how["rng"])
        return wk.simulate(trace, scheduler, **how)

    monkeypatch.setattr("workloadkit.experiments.measuring.simulate", simulate)
    sweep(log, ["fcfs", "easy"], [0.5, 0.6], runs=2, rng=1, metrics=["mean_wait"])
    first, *others = seeds.values()
    assert len(others) == 3
    assert others == [first] * 3
    assert len(set(first)) == 3


def test_the_rule_of_the_header_for_overruns_is_recorded(log):
    header = log.header.appended(("AllowOveruse", "No"))
    found = sweep(replace(log, header=header), "fcfs", [0.5], overrun="header")
    assert found.provenance["parameters"]["overrun"] == "kill"


def test_one_run_that_saturates_is_counted_in_one_mean_and_not_in_the_other():
    """Whether the second run saturates is not known."""
    runs = pd.DataFrame(
        {
            "load": [0.5] * 6,
            "scheduler": ["fcfs"] * 3 + ["easy"] * 3,
            "run": [0, 1, 2] * 2,
            "saturated": [True, None, False, False, None, False],
            "mean_wait": [90.0, 4.0, 8.0, 1.0, 2.0, 3.0],
        }
    )
    fcfs, easy = SweepResults(runs, ("mean_wait",), 0.95, {}, size=6).table.to_dict("records")
    assert (fcfs["saturated"], fcfs["mean_wait"], fcfs["mean_wait_others"]) == (1, 34, 6)
    assert (easy["saturated"], easy["mean_wait"], easy["mean_wait_others"]) == (0, 2, 2)


def test_intervals_have_the_requested_confidence():
    runs = pd.DataFrame({"load": [1] * 2, "scheduler": ["fcfs"] * 2, "run": [0, 1]})
    runs = runs.assign(saturated=False, mean_wait=[1.0, 3.0])
    for confidence in (0.5, 0.95):
        (row,) = SweepResults(runs, ("mean_wait",), confidence, {}, size=2).table.to_dict("records")
        expected = mean_interval([1, 3], confidence=confidence, positive=True)
        found = tuple(row[f"mean_wait{end}"] for end in ("", "_low", "_high"))
        assert found == pytest.approx(expected)


def test_custom_schedulers_can_be_swept(log):
    class ShortestFirst(wk.schedulers.Scheduler):
        def allocate(self):
            for job in sorted(self.queue, key=lambda job: (job.estimate, job.number)):
                if job.procs <= self.free:
                    self.start(job)

    found = sweep(log, ["fcfs", ShortestFirst()], [0.4], metrics=["mean_wait"], rng=7)
    assert found.table["scheduler"].tolist() == ["fcfs", "ShortestFirst"]
    assert found.table["mean_wait"].is_monotonic_decreasing
    assert found.provenance["parameters"]["seed"] == 7  # who knows whether it draws


def test_a_machine_is_scaled_once(log):
    found = sweep(log, "fcfs", [0.4], metrics=["mean_wait"], scale_machine=2)
    schedule = wk.simulate(log, "fcfs", offered_load=0.4, scale_machine=2)
    assert found.runs["mean_wait"].tolist() == [schedule.metrics["mean_wait"]]
    assert found.provenance["parameters"]["procs"] == schedule.machine == 16


def test_whether_a_short_log_saturates_is_not_known(log):
    short = log.select(log.column("submit") < 1.5 * WEEK)
    tables = [sweep(trace, "fcfs", [0.3], metrics=["jobs"]).table for trace in (short, log)]
    assert np.isnan(tables[0]["saturated"][0])
    assert tables[1]["saturated"][0] == 0


def test_a_seed_is_that_of_schedulers_that_draw_too(log):
    class Lottery(wk.schedulers.Scheduler):
        def allocate(self):
            waiting = self.queue.copy()
            for place in self.rng.permutation(len(waiting)):
                if self.fits(waiting[place]):
                    self.start(waiting[place])

    first, again, other = (
        sweep(log, [Lottery()], [0.6], metrics=["mean_wait"], rng=seed).runs for seed in (7, 7, 8)
    )
    assert first.equals(again)
    assert not first.equals(other)


def test_rare_behaviours_are_not_measured():
    """A user who comes each week, one for two weeks, and a flurry of a third."""
    weeks = [*range(41), 10.5, 11.5, *np.full(5, 20.25)]
    user = np.array([1] * 41 + [2] * 2 + [3] * 5)
    order = np.argsort(weeks, kind="stable")
    columns = {"submit": np.array(weeks)[order] * WEEK, "user": user[order]}
    trace = wk.Trace.from_columns(columns | {"run": [60] * 48, "procs": [1] * 48})
    how = {"rare": [(3, 0, 40 * WEEK)], "rare_per_week": 0.3, "arrivals": 0.5}
    found = sweep(
        trace, "fcfs", [1.0], load_by="users", resampling=how, metrics=["jobs"], procs=9, rng=1
    )
    (new,) = wk.resamples(trace, 1, rng=1, **how)
    rare = np.isin(new.column("user"), wk.rare_users(new))
    assert 0 < rare.sum() < new.n_jobs
    assert found.runs["jobs"].tolist() == [(~rare).sum()]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"schedulers": []}, "no schedulers given"),
        ({"loads": []}, "no loads given"),
        ({"metrics": []}, "no metrics given"),
        ({"schedulers": ["best"]}, "unknown scheduler 'best'"),
        ({"loads": [0.5, 0]}, "loads: 0; a load must be positive"),
        ({"loads": [0.5, 0.5]}, "loads: a value is repeated"),
        ({"metrics": ["speed"]}, "unknown metric 'speed'; known: jobs, "),
        ({"runs": 0}, "runs is 0; it is a whole number, 1 or more"),
        ({"confidence": 1.0}, "confidence is 1; it lies between 0 and 1"),
        ({"rng": -1}, "rng is -1"),
        ({"overrun": "ignore"}, "overrun is 'ignore'"),
        ({"offered_load": 0.5}, "unknown setting 'offered_load'; known: procs, "),
        ({"scale_arrivals": 2}, "unknown setting 'scale_arrivals'"),
        ({"outages": "a.outages"}, "unknown setting 'outages'"),
        ({"population": "resampled"}, "unknown setting 'population'"),
        ({"users": "poisson:rate=1"}, "an experiment requires users of a log"),
        ({"users": "closed"}, "the load of users closed follows from their behaviour"),
        (
            {"users": "closed", "load_by": "users", "resampling": {"rare": []}},
            "resampling does not accept rare: all users who react count",
        ),
        (
            {"users": "closed", "load_by": "users", "resampling": {"load": 2}},
            "resampling does not accept load: it is set by the loads",
        ),
        ({"loads": [np.inf]}, "loads: inf; a load must be positive"),
    ],
)
def test_wrong_parameters_are_refused(log, arguments, message):
    with pytest.raises(ParameterError, match=message):
        sweep(log, **arguments)


def test_metrics_are_looked_at_before_anything_is_simulated(log, monkeypatch):
    monkeypatch.setattr("workloadkit.experiments.measuring.simulate", None)
    with pytest.raises(ParameterError, match=r"unknown metric 'speed'; known: jobs, .* in all"):
        sweep(log, metrics=["mean_wait", "speed"])


def test_several_runs_need_two_whole_weeks(log):
    short = log.select(log.column("submit") < 2 * WEEK)
    with pytest.raises(
        WorkloadError,
        match="draw weeks of the log, which requires at least two whole weeks; the log has 1",
    ):
        sweep(short, runs=2)
    assert len(sweep(short, ["easy"], [0.5]).runs) == 1


# Fairness


jobs = st.lists(
    st.tuples(
        *(st.integers(0, 60), st.integers(0, 40), st.integers(1, 60), st.integers(1, 4)),
    ),
    min_size=1,
    max_size=20,
)


@examples(50)
@given(jobs, st.sampled_from(["kill", "raise", "late"]), st.sampled_from(["instant", "event"]))
def test_later_than_fcfs_is_by_the_same_jobs_and_rules(jobs, overrun, passes):
    columns = ("submit", "run", "requested_time", "procs")
    trace = wk.Trace.from_columns(dict(zip(columns, zip(*jobs, strict=True), strict=True)))
    rules = {"procs": 4, "overrun": overrun, "passes": passes}
    easy, fcfs = (wk.simulate(trace, name, **rules) for name in ("easy", "fcfs"))
    assert later_than_fcfs(easy) == np.mean(easy.start > fcfs.start)
    assert later_than_fcfs(fcfs) == 0


def test_only_the_jobs_that_count_are_later_than_fcfs():
    """The third job overtakes and outlives its estimate, so the second starts late; it counts."""
    log = {"submit": [0, 1, 2], "run": [10, 10, 99], "procs": [3, 4, 1]}
    trace = wk.Trace.from_columns(log | {"requested_time": [10, 10, 5]})
    how = {"procs": 4, "overrun": "late", "engine": "python"}
    shares = [later_than_fcfs(wk.simulate(trace, warmup=warmup, **how)) for warmup in (0, 1, 2)]
    assert shares == pytest.approx([1 / 3, 1 / 2, 0])


def test_jobs_larger_than_the_machine_have_no_fcfs():
    columns = {"submit": [0], "wait": [0], "run": [5], "procs": [8]}
    trace = wk.Trace.from_columns(columns, header=wk.Header(("; MaxProcs: 4",)))
    with pytest.warns(
        wk.WorkloadWarning, match="up to 8 processors of 4: more than the machine has"
    ):
        schedule = wk.simulate(trace, "recorded")
    with pytest.raises(WorkloadError, match="the schedule has jobs larger"):
        later_than_fcfs(schedule)
    assert measure(schedule, "mean_wait") == 0


def test_with_outages_fcfs_is_not_known(log):
    outages = wk.Outages((wk.Outage(1, 5, 90, procs=2),))
    schedule = wk.simulate(log, "fcfs", procs=10, outages=outages)
    with pytest.raises(WorkloadError, match="the schedule has outages"):
        later_than_fcfs(schedule)
