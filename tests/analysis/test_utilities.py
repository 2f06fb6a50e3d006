"""What jobs are worth and what schedules earn of it: numbers, figures, and the report's section."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import workloadkit as wk
from workloadkit import analysis
from workloadkit.analysis import utilities
from workloadkit.errors import ParameterError, WorkloadError


@pytest.fixture
def log():
    """Four jobs: falling, a step, worth nothing, without a function."""
    columns = {"submit": [0, 0, 5, 9], "run": [10, 10, 10, 10], "procs": [1, 1, 1, 1]}
    points = {
        0: [(0, 100), (40, 0)],
        1: [(0, 50), (10, 50), (10.001, 20), (20, 20)],
        2: [(0, 0), (10, 0)],
    }
    rows = [(row, *point) for row, of_job in points.items() for point in of_job]
    utility = pd.DataFrame(rows, columns=["row", "time", "value"])
    trace = wk.Trace.from_columns(columns | {"job": [11, 12, 13, 14]}, name="a.swf")
    return replace(trace, utility=utility.astype({"time": float, "value": float}))


def test_shapes_are_relative_to_deadline_and_start_value(log):
    shapes = analysis.utilities.utility_shapes(log)
    assert list(shapes) == ["mean of all jobs", "job 12", "job 11"]
    assert shapes.loc[0.25].tolist() == [0.875, 1, 0.75]
    assert shapes.loc[1.0].tolist() == pytest.approx([0.2, 0.4, 0])
    assert list(analysis.utilities.utility_shapes(log, [11])) == ["mean of all jobs", "job 11"]
    assert (np.diff(shapes, axis=0) <= 1e-12).all()


def test_four_jobs_are_drawn_evenly_from_the_shortest_deadline_to_the_longest():
    deadline = [50, 20, 70, 10, 60, 30, 40]
    points = {"row": np.repeat(np.arange(7), 2), "value": [5.0, 0.0] * 7}
    points["time"] = [float(x) for last in deadline for x in (0, last)]
    trace = wk.Trace.from_columns({"submit": [0] * 7, "job": deadline})
    shapes = analysis.utilities.utility_shapes(replace(trace, utility=pd.DataFrame(points)))
    assert list(shapes)[1:] == ["job 10", "job 30", "job 50", "job 70"]


def test_job_numbers_that_repeat_are_drawn_once(log):
    """A line that a log repeats gave two columns of one name; found by the fuzzer."""
    twice = replace(log, jobs=log.jobs.assign(job=[11, 11, 11, 11]))
    assert list(analysis.utilities.utility_shapes(twice)) == ["mean of all jobs", "job 11"]
    assert list(analysis.utilities.utility_shapes(log, [12, 11, 12])) == [
        *("mean of all jobs", "job 12", "job 11")
    ]


def test_jobs_that_cannot_be_drawn(log):
    for job in (13, 14, 99):
        with pytest.raises(ParameterError, match=f"job {job} has no utility function to draw"):
            analysis.utilities.utility_shapes(log, [11, job])
    with pytest.raises(WorkloadError, match="no job has a utility function to draw"):
        analysis.utilities.utility_shapes(replace(log, utility=log.utility.iloc[:0]))


def test_what_was_earned_from_the_best(log):
    schedule = wk.simulate(log, "fcfs", procs=1)
    data = analysis.utilities.earned_shares(schedule)
    assert data.to_numpy().tolist() == [[0.75, 0.5], [0.4, 1]]
    # job 12 ends after 20 s, at its deadline
    assert schedule.describe()["earned_p100"] == 40
    bare = wk.simulate(replace(log, utility=log.utility.iloc[:0]), "fcfs", procs=1)
    with pytest.raises(WorkloadError, match="no counted job has a start value above 0"):
        analysis.utilities.earned_shares(bare)


def test_figures(log):
    schedule = wk.simulate(log, "fcfs", procs=1)
    axes = plt.figure().subplots(1, 3)
    analysis.utilities.plot_utilities(analysis.utilities.utility_shapes(log), axes[0])
    analysis.utilities.plot_earned(schedule, axes[1])
    ax = analysis.utilities.plot_earned({"one": schedule, "other": schedule}, axes[2])
    assert ax is axes[2]
    labels = [ax.get_legend_handles_labels()[1] for ax in axes]
    assert labels == [["mean of all jobs", "job 12", "job 11"], ["fcfs"], ["one", "other"]]
    plt.close()


def test_the_section_is_there_where_jobs_have_utility_functions(log):
    section = utilities.section(log)
    assert section.finding == ("3 jobs (75 %) have utility functions; the median deadline is 20 s.")
    assert section.values["start_value"] == 150
    names = [section.name for section in analysis.characterize(log).sections]
    assert "utilities" in names
    bare = replace(log, utility=log.utility.iloc[:0])
    assert utilities.section(bare) is None
    assert "utilities" not in [section.name for section in analysis.characterize(bare).sections]
    nothing = replace(log, utility=log.utility.assign(value=0.0))
    assert utilities.section(nothing).figures == ()
    at_once = log.utility[log.utility["time"] == 0]  # of no length
    assert utilities.section(replace(log, utility=at_once)).figures == ()
    assert "Utility functions" in analysis.characterize(log).to_html()


def test_the_numbers_of_the_section_by_hand(log):
    # Start values 100, 50 and 0; deadlines 40, 20 and 10 s; the last job has no function.
    section = utilities.section(log)
    (table,) = section.tables
    assert table.data["value"].tolist() == [3, 1, 1, 150, 50, 100, 100, 10, 20, 40, 40]
    assert table.shown[""]["deadline, median"] == "20 s"
    assert section.values["n_jobs"] == 3
    assert (section.values["median_start_value"], section.values["median_deadline"]) == (50, 20)


@pytest.mark.filterwarnings("ignore:trace. all waits are unknown, so deadlines")
def test_schedules_are_compared_by_what_they_earn(rng):
    n_jobs = 400
    submit = np.sort(rng.integers(0, 4 * 604800, n_jobs))
    columns = {"submit": submit, "run": rng.integers(1, 9000, n_jobs), "queue": np.zeros(n_jobs)}
    log = wk.Trace.from_columns(columns | {"procs": np.ones(n_jobs)})
    log = wk.add_utility(log, priority={0: 0}, deadline="wait+run", rng=1)
    names = ("aggregate_utility", "utility_per_proc_hour", "earned_p25", "earned_p100")
    found = analysis.compare_schedules(
        *(wk.simulate(log, name, procs=1) for name in ("fcfs", "sjf")), metrics=names
    )
    rows = found.differences.set_index("metric")
    assert (rows.loc[list(names[:3]), "low"] <= rows.loc[list(names[:3]), "difference"]).all()
    assert np.isnan(rows.loc["earned_p100", "low"])
    # a total and the same total by hour, which is the same under both, vary alike
    width = rows["high"] - rows["low"]
    hours = found.table.loc["aggregate_utility"] / found.table.loc["utility_per_proc_hour"]
    assert hours.iloc[0] == pytest.approx(hours.iloc[1])
    assert width["aggregate_utility"] > 0


def test_only_what_is_worth_0_from_the_start_is_worth_nothing():
    points = [
        (0, 0.0, 1.0),
        (0, 9.0, 0.0),
        (1, 0.0, 0.0),
        (1, 9.0, 0.0),
        (2, 0.0, 0.5),
        (2, 4.0, 0.0),
    ]
    frame = pd.DataFrame(points, columns=["row", "time", "value"])
    trace = replace(wk.Trace.from_columns({"submit": range(4)}), utility=frame)
    section = utilities.section(trace)
    values = section.tables[0].data["value"]
    assert values["jobs with a start value of 0"] == 1
    assert (values["jobs with a utility function"], values["jobs without one"]) == (3, 1)
    assert values["sum of the start values"] == section.values["start_value"] == 1.5
    assert section.finding.startswith("3 jobs (75 %) have utility functions; the median")


def test_what_was_earned_is_drawn_as_steps_over_the_jobs_from_the_best(log):
    schedule = wk.simulate(log, "fcfs", procs=1)
    axes = plt.figure().subplots(1, 2)
    drawn = analysis.utilities.plot_earned(schedule, axes[0]).patches[0].get_data()
    assert drawn.values.tolist() == [0.75, 0.4]
    assert drawn.edges.tolist() == [0, 0.5, 1]
    shapes = analysis.utilities.utility_shapes(log)
    lines = {
        line.get_label(): line for line in analysis.utilities.plot_utilities(shapes, axes[1]).lines
    }
    for name, line in lines.items():
        assert line.get_ydata().tolist() == shapes[name].tolist()
    assert list(lines) == ["job 12", "job 11"]
    ends = axes[1].collections[0].get_paths()[0].get_extents()
    assert ends.ymax == shapes["mean of all jobs"].max()
    plt.close()
