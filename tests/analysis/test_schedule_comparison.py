"""Schedules side by side: pairs, differences with intervals, the objective, the slowdown ratio."""

import json
import math
import statistics
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import Phase, given
from hypothesis import strategies as st
from matplotlib.figure import Figure

import workloadkit as wk
from tests.examples import examples
from workloadkit import analysis
from workloadkit.analysis.schedules.comparison import _contributions
from workloadkit.analysis.schedules.relative_slowdown import (
    jackknifed,
    means_without_each,
    percentiles_without_each,
)
from workloadkit.clock import WEEK
from workloadkit.custom import source_digest
from workloadkit.errors import ParameterError, WorkloadError, WorkloadWarning
from workloadkit.experiments.intervals import student_t
from workloadkit.experiments.sweep import SweepResults
from workloadkit.metrics import percentile

pytestmark = pytest.mark.compiled

DAY = 86400


@pytest.fixture(scope="module")
def sample():
    log = wk.load_sample()
    return {name: wk.simulate(log, name) for name in ("fcfs", "easy", "sjf")}


@pytest.fixture(scope="module")
def comparison(sample):
    weights = {"mean_wait": 1, "mean_bounded_slowdown": 2, "utilization": 1}
    return analysis.compare_schedules(sample, weights=weights)


@pytest.fixture
def ax():
    return Figure().add_subplot()


def schedules(jobs, *names, machine=4, **options):
    columns = ("submit", "run", "requested_time", "procs", "user")
    trace = wk.Trace.from_columns(dict(zip(columns, zip(*jobs, strict=True), strict=True)))
    return [wk.simulate(trace, name, procs=machine, **options) for name in names]


# A job each week: FCFS lets the one-processor job wait, EASY does not.
THREE_WEEKS = [
    job
    for week, run in enumerate((100, 200, 600))
    for job in (
        (week * WEEK, run, run, 3, 1),
        (week * WEEK + 1, 50, 50, 4, 2),
        (week * WEEK + 2, 20, 20, 1, 3),
    )
]


# Differences and their intervals


def test_differences_worked_out_by_hand():
    fcfs, easy = schedules(THREE_WEEKS, "fcfs", "easy")
    found = analysis.compare_schedules(fcfs, easy, metrics=["mean_wait", "wait_p100"])
    # FCFS: 0, run - 1, run + 48; EASY: 0, run - 1, 0
    gains = [148, 248, 648]
    assert found.table.loc["mean_wait"].tolist() == pytest.approx(
        [(2 * 900 + 3 * 47) / 9, (900 - 3) / 9]
    )
    row, largest = found.differences.to_dict("records")
    assert row["difference"] == pytest.approx(-sum(gains) / 9)
    # without a week: the mean of the other six jobs; deviations of these from their mean
    rest = [-(sum(gains) - gain) / 6 for gain in gains]
    error = math.sqrt(2 / 3 * sum((x - statistics.fmean(rest)) ** 2 for x in rest))
    assert row["high"] - row["difference"] == pytest.approx(4.302653 * error)
    assert row["difference"] - row["low"] == pytest.approx(4.302653 * error)
    # weeks of equal size: the same as Student's t of the weekly means
    weekly = [gain / 3 for gain in gains]
    assert error == pytest.approx(statistics.stdev(weekly) / math.sqrt(3))
    assert largest["difference"] == 599 - 648
    assert math.isnan(largest["low"])


def definition(jobs, metric, later):
    """Metrics of a table of jobs, by their definitions."""
    wait, run = jobs["wait"], jobs["run"]
    if metric == "mean_wait":
        return wait.mean()
    if metric == "median_wait":
        return wait.median()
    if metric == "mean_bounded_slowdown_short":
        short = jobs[run <= 60]
        return short["bounded_slowdown"].mean()
    if metric == "later_than_fcfs":
        return later.loc[jobs.index].mean()
    if metric == "jain_fairness":
        mean = jobs.groupby("user")["slowdown"].mean()
        return mean.sum() ** 2 / len(mean) / (mean**2).sum()
    quantity, percent = metric.split("_p")
    ascending = sorted(jobs[quantity])
    return ascending[math.ceil(len(ascending) * int(percent) / 100) - 1]


METRICS = (
    *("mean_wait", "median_wait", "mean_bounded_slowdown_short", "later_than_fcfs"),
    *("jain_fairness", "wait_p25", "wait_p75", "bounded_slowdown_p98"),
)

jobs = st.lists(
    st.tuples(
        *(st.integers(0, 4), st.integers(0, 40), st.integers(0, 99), st.integers(0, 90)),
        *(st.integers(1, 4), st.integers(1, 3)),
    ),
    min_size=2,
    max_size=25,
).map(lambda jobs: [(week * WEEK + at, *rest) for week, at, *rest in sorted(jobs)])


# A case that fails is not made smaller, which would take minutes without a word.
UNSHRUNK = (Phase.explicit, Phase.reuse, Phase.generate)


@pytest.mark.slow
@examples(25, phases=UNSHRUNK)
@given(jobs, st.sampled_from(["sjf", "easy"]), st.sampled_from([WEEK, 2 * WEEK]))
def test_intervals_are_those_of_leaving_out_each_week(jobs, policy, block):
    fcfs, other = schedules(jobs, "fcfs", policy, overrun="late")
    found = analysis.compare_schedules({"a": fcfs, "b": other}, metrics=METRICS, block=block)
    tables = [s.jobs.assign(user=s.workload.user) for s in (fcfs, other)]
    later = [pd.Series(s.start > fcfs.start) for s in (fcfs, other)]
    weeks = (tables[0]["submit"] - tables[0]["submit"].min()) // block
    for row in found.differences.to_dict("records"):
        metric = row["metric"]

        def difference(kept, metric=metric):
            a, b = (definition(t[kept], metric, x) for t, x in zip(tables, later, strict=True))
            return b - a

        def share(kept, metric=metric):
            base = definition(tables[0][kept], metric, later[0])
            return difference(kept) / base if base else math.nan

        assert row["difference"] == pytest.approx(difference(weeks >= 0), nan_ok=True)
        n = weeks.nunique()
        if n < 2:
            assert math.isnan(row["low"])
            continue
        rest = [difference(weeks != week) for week in weeks.unique()]
        error = math.sqrt((n - 1) / n * sum((x - np.mean(rest)) ** 2 for x in rest))
        half = student_t(0.95, n - 1) * error
        assert row["high"] - row["difference"] == pytest.approx(half, nan_ok=True)
        assert row["relative"] == pytest.approx(share(weeks >= 0), nan_ok=True)
        rest = [share(weeks != week) for week in weeks.unique()]
        error = math.sqrt((n - 1) / n * sum((x - np.mean(rest)) ** 2 for x in rest))
        half = student_t(0.95, n - 1) * error
        found_half = row["relative_high"] - row["relative"]
        if row["reference"] != 0:
            assert found_half == pytest.approx(half, nan_ok=True)
        else:
            assert math.isnan(found_half)


def test_intervals_are_of_the_confidence_requested():
    fcfs, easy = schedules(THREE_WEEKS, "fcfs", "easy", engine="python")
    halves = []
    for confidence in (0.5, 0.95):
        found = analysis.compare_schedules(
            fcfs, easy, metrics=["mean_wait"], confidence=confidence
        ).differences.iloc[0]
        ratio = analysis.schedules.slowdown_ratio(fcfs, easy, confidence=confidence)
        ends = (found["high"], found["relative_high"], ratio.high)
        means = (found["difference"], found["relative"], ratio.mean)
        halves.append([end - mean for end, mean in zip(ends, means, strict=True)])
    narrower = student_t(0.5, 2) / student_t(0.95, 2)
    assert halves[0] == pytest.approx([narrower * half for half in halves[1]])


def test_starts_later_than_under_fcfs_are_those_of_the_jobs_that_count():
    # By EASY a job that runs longer than it asked for holds up the second of its week, but not in
    # the last week, which has no such job; the first week is warm-up.
    week = [(0, 10, 10, 3, 1), (1, 10, 10, 4, 1), (2, 99, 5, 1, 1)]
    jobs = [(k * WEEK + at, *rest) for k in range(3) for at, *rest in week][:-1]
    both = schedules(jobs, "fcfs", "easy", overrun="late", warmup=DAY, engine="python")
    found = analysis.compare_schedules(*both, metrics=["later_than_fcfs"]).differences.iloc[0]
    assert found["difference"] == pytest.approx(1 / 5)
    # without the one week 0 of 2, without the other 1 of 3
    assert found["high"] - found["difference"] == pytest.approx(student_t(0.95, 1) / 6)


def test_jobs_without_utility_functions_do_not_widen_the_interval_of_what_is_earned():
    """Jobs beside THREE_WEEKS that nobody waits for change nothing."""
    quiet = [(week * WEEK + DAY, 1, 1, 1, 4) for week in range(3) for _ in range(5)]
    found = []
    for jobs in (THREE_WEEKS, sorted(THREE_WEEKS + quiet)):
        trace = schedules(jobs, "fcfs")[0].source
        rows = np.flatnonzero(trace.column("user") != 4)
        points = pd.DataFrame({"row": np.repeat(rows, 2), "time": [0.0, 1000.0] * rows.size})
        trace = replace(trace, utility=points.assign(value=[100.0, 0.0] * rows.size))
        both = [wk.simulate(trace, name, procs=4) for name in ("fcfs", "easy")]
        one = analysis.compare_schedules(*both, metrics=["aggregate_utility"]).differences
        found.append(one[["difference", "low", "high"]].to_numpy())
    assert np.isfinite(found[0]).all()
    assert found[0] == pytest.approx(found[1])


def test_two_blocks_leave_one_degree_of_freedom():
    """The standard error of 0 and 2 is 1, and Student's t of one degree 12.706."""
    assert jackknifed(np.array([0.0, 2.0]), 0.95) == pytest.approx(12.7062, abs=1e-4)
    assert np.isnan(jackknifed(np.array([1.0]), 0.95))


def test_intervals_hold_as_often_as_they_say(rng):
    # Jobs of a week have something in common, and weeks are of different sizes.
    held = []
    for _ in range(600):
        size = rng.integers(1, 12, 25)
        block = np.repeat(np.arange(25), size)
        values = rng.normal(0, 1, 25)[block] + rng.normal(0, 1, block.size)
        half = jackknifed(means_without_each(values, block), 0.9)
        held.append(abs(values.mean()) <= half)
    assert np.mean(held) == pytest.approx(0.9, abs=0.04)


def test_what_is_of_the_whole_schedule_has_no_interval(comparison):
    whole = comparison.differences.query("metric in ('utilization', 'makespan')")
    assert whole[["low", "high"]].isna().all(axis=None)
    others = comparison.differences.query("metric not in ('utilization', 'makespan')")
    assert (others["low"] < others["high"]).all()


def test_values_are_those_of_the_schedules(comparison, sample):
    for name, schedule in sample.items():
        expected = schedule.describe()
        for metric, value in comparison.table[name].items():
            assert value == expected[metric]
    assert list(comparison.table) == ["fcfs", "easy", "sjf"]
    assert comparison.reference == "fcfs"


def test_another_reference(sample):
    found = analysis.compare_schedules(sample, metrics=["mean_wait"], reference="sjf")
    assert found.differences["schedule"].tolist() == ["fcfs", "easy"]
    assert (found.differences["difference"] > 0).all()


# Pairs


def test_jobs_are_paired_whatever_their_order():
    # By event, jobs of one second stay in the order of the log; by instant they go by number.
    columns = {
        "job": [9, 4, 4, 7],
        "submit": [0, 0, 0, 5],
        "run": [10, 20, 30, 5],
        "procs": [4] * 4,
    }
    trace = wk.Trace.from_columns(columns)
    instant, event = (wk.simulate(trace, "fcfs", procs=4, passes=p) for p in ("instant", "event"))
    assert instant.jobs["job"].tolist() == [4, 4, 9, 7]
    assert event.jobs["job"].tolist() == [9, 4, 4, 7]
    found = analysis.compare_schedules(instant, event, metrics=["mean_wait"])
    assert list(found.schedules) == ["fcfs", "fcfs, passes event"]
    pairs = found.pair("start")
    assert pairs.index.tolist() == [4, 4, 9, 7]
    assert pairs.to_numpy().tolist() == [[0, 10], [20, 30], [50, 0], [60, 60]]


def test_what_counts_is_compared_and_must_be_the_same():
    options = {"warmup": DAY}
    cut = schedules(THREE_WEEKS, "fcfs", "easy", **options)
    found = analysis.compare_schedules(*cut, metrics=["jobs", "mean_wait"])
    assert found.table.loc["jobs"].tolist() == [6, 6]
    assert found.differences["difference"].tolist()[1] == pytest.approx(-(248 + 648) / 6)
    (whole,) = schedules(THREE_WEEKS, "easy")
    with pytest.raises(WorkloadError, match="fcfs and easy count different jobs: warm-up"):
        analysis.compare_schedules(cut[0], whole)


def test_schedules_of_other_jobs_are_refused():
    fcfs, easy = schedules(THREE_WEEKS, "fcfs", "easy")
    (fewer,) = schedules(THREE_WEEKS[:-1], "easy")
    (later,) = schedules([*THREE_WEEKS[:-1], (3 * WEEK, 20, 20, 1, 3)], "easy")
    (larger,) = schedules([*THREE_WEEKS[:-1], (2 * WEEK + 2, 20, 20, 2, 3)], "easy")
    for other, message in (
        (fewer, "fcfs and easy have different jobs: 9 and 8"),
        (later, "have different jobs: submit 1209602 s and 1814400 s, of job 9"),
        (larger, "have different jobs: procs 1 and 2, of job 9"),
    ):
        with pytest.raises(WorkloadError, match=message):
            analysis.compare_schedules(fcfs, other)
        with pytest.raises(WorkloadError, match="have different jobs"):
            analysis.schedules.slowdown_ratio(fcfs, other)
    with pytest.raises(WorkloadError, match="have different jobs"):
        half = wk.simulate(easy.source, "easy", procs=4, offered_load=0.5)
        analysis.compare_schedules(fcfs, half)


def test_every_schedule_is_held_against_the_first():
    fcfs, easy = schedules(THREE_WEEKS, "fcfs", "easy", engine="python")
    (fewer,) = schedules(THREE_WEEKS[:-1], "sjf", engine="python")
    with pytest.raises(WorkloadError, match="fcfs and sjf have different jobs: 9 and 8"):
        analysis.compare_schedules(fcfs, easy, fewer)
    renamed = fcfs.source.with_columns(job=[*range(1, 9), 77])
    other = wk.simulate(renamed, "easy", procs=4, engine="python")
    with pytest.raises(WorkloadError, match=r"have different jobs: job 9 and 77$"):
        analysis.compare_schedules(fcfs, other)


def test_schedules_are_called_by_what_they_differ_in():
    raised, late = (schedules(THREE_WEEKS, "easy", overrun=x)[0] for x in ("raise", "late"))
    (fcfs,) = schedules(THREE_WEEKS, "fcfs")
    message = "different overrun modes: .*, easy, overrun late with ov"
    with pytest.warns(WorkloadWarning, match=message):
        found = analysis.compare_schedules(raised, late, fcfs)
    assert list(found.schedules) == [
        "easy, overrun raise",
        "easy, overrun late",
        "fcfs, overrun raise",
    ]
    with pytest.raises(ParameterError, match="equal names: fcfs, fcfs; pass a mapping"):
        analysis.compare_schedules(fcfs, fcfs)
    assert list(analysis.compare_schedules({"x": fcfs, "y": fcfs}).schedules) == ["x", "y"]


def test_what_cannot_be_is_refused():
    for arguments, message in (
        ({"metrics": []}, "metrics: at least one is required"),
        ({"metrics": ["speed"]}, "unknown metric 'speed'"),
        ({"reference": "best"}, "reference is 'best'; known: fcfs, easy"),
        ({"confidence": 0}, "confidence is 0; it must lie between 0 and 1"),
        ({"confidence": 1}, "confidence is 1; it must lie between 0 and 1"),
        ({"block": 0}, "block is 0 s; it must be positive"),
        ({"weights": {"mean_wait": -1}}, "weight of mean_wait is -1; it must be 0 or more"),
        ({"weights": {"mean_wait": 0}}, "weights: at least one must be larger than 0"),
        ({"weights": {"wait_p25": 1}}, "wait_p25 is 0, 0; it has no finite ratio to the reference"),
    ):
        with pytest.raises(ParameterError, match=message):
            analysis.compare_schedules(*schedules(THREE_WEEKS, "fcfs", "easy"), **arguments)


def test_one_schedule_is_not_enough():
    (one,) = schedules(THREE_WEEKS, "fcfs")
    for given_ in ((one,), ({"a": one},), (one, "easy")):
        with pytest.raises(ParameterError, match="give two Schedules or more"):
            analysis.compare_schedules(*given_)


# The objective


def test_the_objective_worked_out_by_hand():
    fcfs, easy = schedules(THREE_WEEKS, "fcfs", "easy")
    weights = {"mean_wait": 3, "throughput_per_hour": 1}
    found = analysis.compare_schedules(fcfs, easy, metrics=["makespan"], weights=weights)
    assert found.table.index.tolist() == ["makespan", "mean_wait", "throughput_per_hour"]
    waits = found.table.loc["mean_wait"]
    # of the throughput more is better: the reference's over the other's
    ratio = fcfs.metrics["throughput_per_hour"] / easy.metrics["throughput_per_hour"]
    expected = 0.75 * waits["easy"] / waits["fcfs"] + 0.25 * ratio
    assert found.objective.to_dict() == pytest.approx({"fcfs": 1, "easy": expected})
    assert found.contributions.loc["mean_wait"].tolist() == pytest.approx(
        [0.75, 0.75 * waits["easy"] / waits["fcfs"]]
    )


def test_the_better_schedule_has_the_smaller_objective():
    for metric in (
        *("mean_wait", "wait_p100", "mean_slowdown", "makespan"),
        *("utilization", "throughput_per_hour", "jain_fairness"),
        *("aggregate_utility", "utility_per_proc_hour", "earned_p25", "earned_p100"),
    ):
        # EASY lets the third job run at once, before the last is submitted; no job waits for it.
        columns = {
            "submit": [0, 1, 2, 12],
            "run": [10, 10, 5, 4],
            "procs": [3, 4, 1, 1],
            "user": [1, 2, 3, 1],
        }
        points = {
            "row": np.repeat([0, 1, 2], 2),
            "time": [0.0, 100.0] * 3,
            "value": [100.0, 0.0] * 3,
        }
        log = replace(wk.Trace.from_columns(columns), utility=pd.DataFrame(points))
        both = [wk.simulate(log, name, procs=4, engine="python") for name in ("fcfs", "easy")]
        found = analysis.compare_schedules(*both, weights={metric: 2})
        fcfs, easy = found.table.loc[metric]
        assert found.objective.tolist() == pytest.approx([1, min(easy / fcfs, fcfs / easy)])
        assert found.objective["easy"] < 1


def test_without_weights_there_is_no_objective():
    found = analysis.compare_schedules(*schedules(THREE_WEEKS, "fcfs", "easy"))
    assert found.objective is None
    with pytest.raises(ParameterError, match="the comparison has no weights"):
        _ = found.contributions


def test_the_result_records_what_made_it_and_is_ready_for_json(comparison, sample):
    result = comparison.to_dict()
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    names = ["metrics", "differences", "saturated", "objective", "calibration", "provenance"]
    assert list(result) == names
    assert result["saturated"] == {name: schedule.saturated for name, schedule in sample.items()}
    assert result["calibration"]["easy"] == sample["easy"].calibration
    made = result["provenance"]
    assert made["parameters"]["weights"]["mean_bounded_slowdown"] == 2
    assert made["parameters"]["reference"] == "fcfs"
    assert made["schedules"]["easy"] == sample["easy"].provenance


def test_a_schedule_that_saturates_is_marked():
    day = [(86400 * i, 172800, 172800, 1, 1) for i in range(28)]
    found = analysis.compare_schedules(*schedules(day, "fcfs", "easy", machine=1))
    assert found.saturated == {"fcfs": True, "easy": True}
    assert "fcfs (saturated), easy (saturated)" in repr(found)
    assert found.table.loc["mean_wait", "fcfs"] == 86400 * 13.5


# Lawson and Smirni's slowdown ratio


def test_the_slowdown_ratio_worked_out_by_hand():
    # Waits under FCFS and EASY of the third job of each week: run + 48 and 0; it runs for 20 s.
    fcfs, easy = schedules(THREE_WEEKS, "fcfs", "easy")
    found = analysis.schedules.slowdown_ratio(fcfs, easy)
    ratios = [wait / 20 for wait in (148, 248, 648)]  # (s1 - s) / min(s1, s), with s = 1
    assert found.mean == pytest.approx(sum(ratios) / 9)
    assert found.weeks["mean"].tolist() == pytest.approx([ratio / 3 for ratio in ratios])
    assert found.weeks["jobs"].tolist() == [3, 3, 3]
    assert found.weeks["begin"].tolist() == [0, WEEK, 2 * WEEK]
    half = 4.302653 * statistics.stdev(ratio / 3 for ratio in ratios) / math.sqrt(3)
    assert (found.high - found.mean, found.mean - found.low) == pytest.approx((half, half))
    back = analysis.schedules.slowdown_ratio(easy, fcfs)
    assert (back.mean, back.low) == pytest.approx((-found.mean, -found.high))


def test_short_jobs_of_long_requests_are_left_out():
    # Of the last four only the second is short and of a long request.
    jobs = [(0, 100, 100, 3, 1), (1, 100, 100, 4, 1)]
    jobs += [(2, run, asked, 1, 1) for run, asked in ((10, 61), (9, 61), (9, 60), (9, -1))]
    fcfs, easy = schedules(jobs, "fcfs", "easy")
    found = analysis.schedules.slowdown_ratio(fcfs, easy)
    assert found.left_out == 1
    assert found.weeks["jobs"].tolist() == [5]


def test_weeks_are_counted_from_the_first_submission_of_all():
    # The first job is left out; the other comes a week later to the second.
    jobs = [(1000, 5, 61, 1, 1), (1000 + WEEK, 20, 20, 1, 1)]
    found = analysis.schedules.slowdown_ratio(*schedules(jobs, "fcfs", "easy", engine="python"))
    assert found.weeks["begin"].tolist() == [1000, 1000 + WEEK]
    assert found.weeks["jobs"].tolist() == [0, 1]


def test_without_a_job_that_counts_there_is_no_slowdown_ratio():
    jobs = [(0, 5, 61, 1, 1), (9, 5, 61, 1, 1)]
    found = analysis.schedules.slowdown_ratio(*schedules(jobs, "fcfs", "easy", engine="python"))
    assert found.left_out == 2
    assert np.isnan([found.mean, found.low, found.high]).all()
    assert found.weeks["jobs"].tolist() == [0]


def test_weeks_without_jobs_have_no_mean():
    jobs = [(0, 5, 5, 1, 1), (2 * WEEK, 5, 5, 1, 1)]
    found = analysis.schedules.slowdown_ratio(*schedules(jobs, "fcfs", "easy"))
    assert found.weeks["jobs"].tolist() == [1, 0, 1]
    assert math.isnan(found.weeks["mean"][1])
    assert (found.mean, found.low, found.high) == (0, 0, 0)
    single = analysis.schedules.slowdown_ratio(*schedules(jobs[:1], "fcfs", "easy"))
    assert single.mean == 0
    assert math.isnan(single.low)


# Figures


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_distributions_are_drawn_for_each_schedule(comparison, ax):
    assert analysis.schedules.plot_distributions(comparison, "bounded_slowdown", ax) is ax
    assert (ax.get_xlabel(), legend(ax)) == ("bounded slowdown", ["fcfs", "easy", "sjf"])
    with pytest.raises(ParameterError, match="quantity is 'speed'; known: wait, response"):
        analysis.schedules.plot_distributions(comparison, "speed", ax)


def test_queues_are_drawn_over_each_other(comparison, ax):
    assert analysis.schedules.plot_queue_lengths(comparison, ax) is ax
    assert (ax.get_ylabel(), legend(ax)) == ("waiting jobs", ["fcfs", "easy", "sjf"])


def test_gantt_charts_stand_side_by_side(comparison, ax):
    panels = analysis.schedules.plot_gantts(comparison, ax)
    assert [panel.get_title(loc="right") for panel in panels] == ["fcfs", "easy", "sjf"]
    assert len({panel.get_xlim() for panel in panels}) == 1
    assert len({panel.get_ylim() for panel in panels}) == 1
    places = [panel.get_position() for panel in panels]
    assert places[0].x1 <= places[1].x0 <= places[1].x1 <= places[2].x0


def test_gantt_charts_look_between_the_instants_given(ax):
    both = schedules([(50, 20, 20, 4, 1), (60, 20, 20, 4, 1)], "fcfs", "easy", engine="python")
    found = analysis.compare_schedules(*both)
    limits = {
        panel.get_xlim() for panel in analysis.schedules.plot_gantts(found, ax, begin=0, until=200)
    }
    alone = Figure().add_subplot()
    analysis.schedules.plot_gantt(both[0], alone, begin=0, until=200)
    assert limits == {alone.get_xlim()}


def test_gantt_charts_take_the_place_of_a_subplot_only(comparison):
    alone = Figure().add_axes((0, 0, 1, 1))
    with pytest.raises(ParameterError, match="only Axes of a grid"):
        analysis.schedules.plot_gantts(comparison, alone)


def test_differences_are_drawn_in_percent_of_the_reference(sample, ax):
    found = analysis.compare_schedules(sample, metrics=["mean_wait", "later_than_fcfs"])
    assert analysis.schedules.plot_differences(found, ax) is ax
    assert ax.get_xlabel() == "difference from fcfs"
    assert [label.get_text() for label in ax.get_yticklabels()] == ["mean wait"]  # not later: 0
    assert legend(ax) == ["easy", "sjf"]


def test_differences_are_drawn_with_their_intervals(ax):
    both = schedules(THREE_WEEKS, "fcfs", "easy", engine="python")
    found = analysis.compare_schedules(*both, metrics=["mean_wait", "mean_slowdown"])
    analysis.schedules.plot_differences(found, ax)
    points, _, (bars,) = ax.containers[0]
    assert points.get_xdata().tolist() == found.differences["relative"].tolist()
    ends = [segment[:, 0] for segment in bars.get_segments()]
    assert np.array(ends) == pytest.approx(
        found.differences[["relative_low", "relative_high"]].to_numpy()
    )


def test_queues_are_drawn_as_their_means_over_time(ax):
    found = analysis.compare_schedules(*schedules(THREE_WEEKS, "fcfs", "easy", engine="python"))
    analysis.schedules.plot_queue_lengths(found, ax)
    waited = []
    for line in ax.patches:
        mean, edges, _ = line.get_data()
        waited.append((mean * np.diff(edges)).sum() / np.ptp(edges))
    submit = found.schedules["fcfs"].workload.submit
    for schedule, mean in zip(found.schedules.values(), waited, strict=True):
        last = max(s.end.max() for s in found.schedules.values())
        assert mean == pytest.approx((schedule.start - submit).sum() / (last - submit[0]))


def test_the_objective_is_drawn_by_what_adds_to_it(comparison, ax):
    assert analysis.schedules.plot_objective(comparison, ax) is ax
    assert legend(ax) == ["mean wait", "mean bounded slowdown", "utilization"]
    widths = np.array([[bar.get_width() for bar in bars] for bars in ax.containers])
    assert widths.sum(axis=0).tolist() == pytest.approx(comparison.objective.tolist())


def test_the_slowdown_ratio_is_drawn_by_week(sample, ax):
    ratio = analysis.schedules.slowdown_ratio(sample["fcfs"], sample["easy"])
    assert analysis.schedules.plot_slowdown_ratio(ratio, ax) is ax
    assert ax.get_xlabel() == "week of submission"
    assert ax.lines[1].get_xdata().tolist() == [*range(1, len(ratio.weeks) + 1)]


def test_machines_of_different_sizes_are_worth_a_line():
    four, eight = (schedules(THREE_WEEKS, "easy", machine=size)[0] for size in (4, 8))
    message = "have machines of different sizes: four with procs 4, eight with procs 8"
    with pytest.warns(WorkloadWarning, match=message):
        analysis.compare_schedules({"four": four, "eight": eight})


def test_metrics_that_differ_much_are_drawn_on_a_logarithmic_axis(ax):
    table = pd.DataFrame(
        {
            "load": [0.5, 0.9] * 2,
            "scheduler": ["fcfs", "fcfs", "easy", "easy"],
            "run": 0,
            "saturated": False,
            "mean_wait": [360.0, 7200, 60, 1801],
            "mean_slowdown": [30.0, 2, 3, 1],
            "wait_p50": [0.0, 7200, 60, 1801],
        }
    )
    swept = SweepResults(table, ("mean_wait", "mean_slowdown", "wait_p50"), 0.95, {}, size=4)
    wait, slowdown, median = analysis.schedules.plot_sweeps(swept, ax)
    assert [panel.get_yscale() for panel in (wait, slowdown, median)] == ["log", "linear", "linear"]
    low, high = wait.get_ylim()
    assert 0 < low < 60 / 3600
    assert high > 2
    wait.figure.canvas.draw()
    labels = [label.get_text() for label in wait.get_yticklabels()]
    assert "0.1" in labels
    assert "1" in labels


def test_loads_by_users_are_drawn_as_factors_with_intervals_in_hours(ax):
    runs = {"load": [0.5, 0.5, 1.5, 1.5], "mean_wait": [3600.0, 7200, 7200, 10_800]}
    runs = pd.DataFrame(runs).assign(scheduler="easy", run=[0, 1] * 2, saturated=False)
    swept = SweepResults(runs, ("mean_wait",), 0.95, {}, size=4, load_by="users")
    analysis.schedules.plot_sweep(swept, ax=ax)
    assert ax.get_xlabel() == "users factor"
    assert ax.xaxis.get_major_formatter()(1.5) == "1.5"
    band, _ = ax.collections  # and that of the legend
    assert legend(ax) == ["easy", "95 % interval, 2 runs"]
    ends = band.get_paths()[0].get_extents().intervaly
    table = swept.table
    assert ends * 3600 == pytest.approx(
        [table["mean_wait_low"].min(), table["mean_wait_high"].max()]
    )


def test_sweeps_are_drawn_with_a_line_for_each_scheduler(ax):
    swept = wk.sweep(wk.load_sample(), loads=[0.5, 0.7], runs=2, rng=1)
    panels = analysis.schedules.plot_sweeps(swept, ax)
    assert [panel.get_ylabel() for panel in panels] == [
        "mean wait [h]",
        "mean bounded slowdown",
        "utilization",
    ]
    assert legend(panels[0]) == ["fcfs", "easy", "95 % interval, 2 runs"]
    fcfs, easy = panels[0].lines
    assert fcfs.get_ydata() == pytest.approx(
        swept.table.query("scheduler == 'fcfs'")["mean_wait"] / 3600
    )
    assert easy.get_xdata().tolist() == [0.5, 0.7]
    assert len(panels[0].collections) == 3  # the intervals, and that of the legend
    message = "the sweep has no metric 'jobs'; known: mean_wait, mean_b"
    with pytest.raises(ParameterError, match=message):
        analysis.schedules.plot_sweep(swept, "jobs", panels[0])


def test_without_the_only_block_of_known_values_there_is_no_mean():
    means = means_without_each(np.array([1, 3, np.nan]), np.array([0, 0, 1]))
    assert means.tolist() == pytest.approx([np.nan, 2], nan_ok=True)


@pytest.mark.parametrize("percent", [1, 50, 90, 99])
def test_percentiles_without_each_block_are_those_of_the_values_that_are_left(percent, rng):
    values, block = rng.integers(0, 60, 200).astype(float), rng.integers(0, 4, 200)
    found = percentiles_without_each(values, block, percent)
    left = [values[block != one] for one in range(4)]
    assert found.tolist() == [percentile(rest, percent) for rest in left]


def test_a_schedule_that_uses_nothing_cannot_be_weighed():
    table = pd.DataFrame({"fcfs": [0.5], "idle": [0.0]}, index=["utilization"])
    with pytest.raises(ParameterError, match=r"utilization is 0\.5, 0; it has no finite ratio"):
        _contributions(table, {"utilization": 1}, "fcfs")


@pytest.mark.parametrize("metric", ["jobs", "jobs_per_session", "jain_fairness"])
def test_more_jobs_are_better(metric):
    table = pd.DataFrame({"fcfs": [2.0], "easy": [4.0]}, index=[metric])
    added = _contributions(table, {metric: 3}, "fcfs")
    assert added.loc[metric].tolist() == [1, 0.5]


def test_what_is_measured_by_default():
    found = analysis.compare_schedules(*schedules(THREE_WEEKS, "fcfs", "easy", engine="python"))
    assert found.table.index.tolist() == [
        *("mean_wait", "wait_p50", "wait_p98", "mean_slowdown", "mean_bounded_slowdown"),
        *("utilization", "makespan"),
    ]
    assert (found.parameters["confidence"], found.parameters["block"]) == (0.95, WEEK)
    assert set(found.differences["metric"]) == set(found.table.index)


def test_each_schedule_s_waits_are_drawn_as_times(ax):
    # By FCFS the first job of each week does not wait, by EASY neither does the last.
    both = schedules(THREE_WEEKS, "fcfs", "easy", engine="python")
    analysis.schedules.plot_distributions(analysis.compare_schedules(*both), ax=ax)
    assert ax.get_xlabel() == "wait"
    assert [line.get_ydata()[0] for line in ax.lines] == pytest.approx([3 / 9, 6 / 9])
    assert [line.get_ydata()[-1] for line in ax.lines] == [1, 1]
    assert ax.lines[0].get_xdata()[-1] == 648


def test_the_slowdown_ratio_that_is_drawn_is_the_mean_of_each_week_next_to_that_of_all_jobs(ax):
    weeks = pd.DataFrame({"mean": [0.5, -0.25], "jobs": [3, 1]}, index=[0, 2])
    ratio = analysis.schedules.SlowdownRatio(0.3125, 0.25, 0.375, weeks, 0)
    analysis.schedules.plot_slowdown_ratio(ratio, ax)
    zero, each, mean = ax.lines
    assert zero.get_ydata() == [0, 0]
    assert each.get_xydata().tolist() == [[1, 0.5], [3, -0.25]]
    assert mean.get_ydata() == [0.3125, 0.3125]
    assert (each.get_label(), mean.get_label()) == ("weekly mean", "mean over all jobs")


def test_metrics_may_be_functions_of_a_schedule():
    log = wk.Trace.from_columns({"submit": [0, 1, 2], "run": [10, 10, 5], "procs": [3, 4, 1]})
    both = [wk.simulate(log, name, procs=4) for name in ("fcfs", "easy")]
    custom = {"longest": lambda schedule: schedule.wait.max(), "mean": "mean_wait"}
    found = analysis.compare_schedules(*both, metrics=custom, weights={"longest": 1})
    assert found.table.loc["longest"].to_dict() == {"fcfs": 18, "easy": 9}
    assert found.table.loc["mean"].tolist() == [s.metrics["mean_wait"] for s in both]
    assert found.objective["easy"] == 0.5
    described = found.parameters["metrics"]
    assert described["mean"] == "mean_wait"
    assert described["longest"].endswith(f"(source {source_digest(custom['longest'])})")
    with pytest.raises(ParameterError, match="metric 'a' is 3; give a name, or a mapping"):
        analysis.compare_schedules(*both, metrics={"a": 3})
    with pytest.raises(ParameterError, match="metric 'a' is None; it is a number"):
        analysis.compare_schedules(*both, metrics={"a": lambda schedule: None})
