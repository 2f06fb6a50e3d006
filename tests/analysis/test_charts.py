"""Figures of pages: their description, what matplotlib makes of it, and its forms."""

import json
import re
from functools import partial
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from workloadkit.analysis import style
from workloadkit.analysis.chart import MOST_POINTS, Chart, Marks, Scale
from workloadkit.analysis.chart_axes import charts_of
from workloadkit.analysis.chart_forms import data_of, svg_of
from workloadkit.analysis.schedules import plot_gantt
from workloadkit.simulation import simulate
from workloadkit.trace import Trace


def one(draw):
    """The chart of a figure with one panel."""

    def plot(data, ax):
        draw(ax)
        return ax

    [[chart]] = charts_of(plot, None)
    return chart


def test_each_kind_of_mark_keeps_its_values():
    def draw(ax):
        ax.plot([1, 2, 4], [5, np.nan, 7], color=style.ORANGE, linestyle="--", label="line")
        ax.plot([1, 2], [3, 4], "o", label="points")
        ax.stairs([3, 1], [0, 1, 2], label="stairs")
        ax.stairs([3, 1], [0, 1, 2], baseline=[1, 0], fill=True, label="filled")
        ax.bar([1, 2], [6, 7], 0.5, label="bars")
        ax.vlines([1, 3], 0, [2, 4], label="segments")
        ax.axhline(2.5)
        ax.fill_between([0, 1], [0, 0], [2, 3], label="area")

    by_name = {marks.name: marks for marks in one(draw).marks}
    line = by_name["line"]
    assert (line.kind, line.dash, line.colours) == ("line", "--", (style.ORANGE,))
    np.testing.assert_equal(line.y, [5, np.nan, 7])
    assert (by_name["points"].kind, by_name["points"].y.tolist()) == ("points", [3, 4])
    assert (by_name["stairs"].kind, by_name["stairs"].y.tolist()) == ("steps", [3, 1, 1])
    filled = by_name["filled"]
    assert [getattr(filled, n).tolist() for n in ("x", "y", "x_to", "y_to")] == [
        *([0, 1], [1, 0], [1, 2], [3, 1]),
    ]
    assert (by_name["bars"].x.tolist(), by_name["bars"].y_to.tolist()) == ([0.75, 1.75], [6, 7])
    assert by_name["segments"].y_to.tolist() == [2, 4]
    across = by_name[""]
    assert (across.x[0], across.x_to[0], across.y[0]) == (-np.inf, np.inf, 2.5)
    assert by_name["area"].kind == "polygon"


def test_bars_of_several_colours_are_marks_of_one():
    chart = one(lambda ax: ax.barh([0, 1, 2], [3, 4, 5], color=[style.BLUE, style.BLUE, style.INK]))
    assert [marks.colours for marks in chart.marks] == [(style.BLUE,), (style.INK,)]
    assert [marks.x_to.tolist() for marks in chart.marks] == [[3, 4], [5]]


def test_axes_keep_their_form_scale_and_labels():
    def draw(ax):
        ax.plot([1, 3600], [0.1, 0.5], label="a")
        ax.plot([1, 3600], [0.2, 0.6], "o", label="b")
        ax.set_xlabel("wait")
        style.time_axis(ax.xaxis)
        style.share_axis(ax.yaxis)
        style.legend_above(ax)

    chart = one(draw)
    assert (chart.x.form, chart.x.log, chart.x.label) == ("time", True, "wait")
    assert chart.x.ticks[0] == (1.0, "1 s")
    assert (chart.y.form, chart.y.log) == ("share", False)
    legend = [(entry.name, entry.kind, entry.dash) for entry in chart.legend]
    assert legend == [("a", "line", "-"), ("b", "points", "-")]


def values_with_intervals(ax):
    ax.errorbar([1, 2], [5, 6], yerr=[[1, 2], [3, 4]], fmt="o", label="interval")
    ax.axvline(9)


def bars_of_texts(ax):
    ax.barh(["b", "a"], [3, 4], xerr=[1, 2], label="bars")
    ax.barh(["b", "c"], [1, 2], left=3, label="more")
    ax.invert_yaxis()


def areas_and_a_text(ax):
    ax.fill_between([1, 3, 5], [1, np.nan, 2], [3, 4, 5], step="post", label="area")
    ax.axvspan(0, 2, label="span")
    ax.scatter([1, 2], [3, -4], [30, 40], label="dots")
    ax.annotate("here", (2, 3), (19, 0), textcoords="offset points")
    ax.set_ylim(bottom=-9)


def logarithms(ax):
    ax.plot(pd.Series([3.0, 40.0, 0.0], [2, 30, 700]), "--", label="line")
    ax.hlines([5, 6], [3, np.nan], 900, label="segments")
    style.log_axis(ax.xaxis)
    ax.set_yscale("symlog", linthresh=1)


def stairs_over_dates(ax):
    ax.stairs([3, np.nan, 5], pd.date_range("2020-01-01", periods=4).to_numpy(), fill=True)
    style.calendar_axis(ax.xaxis)
    ax.margins(x=0)


def no_known_point(ax):
    ax.plot([np.nan, np.nan], [np.nan, np.nan])
    style.time_axis(ax.yaxis)
    ax.margins(x=0.02)
    style.calendar_axis(ax.xaxis)


def bars_with_names(ax):
    ax.bar([1, 2], [4, 1], -0.3, align="edge", label="bars")
    ax.step([0, 3], [1, 2], where="post", label="steps")
    ax.set_xticks([0, 1, 5], ["none", "one", "five"])
    ax.set_xticks([2], ["two"], minor=True)


@pytest.mark.parametrize(
    "draw",
    [
        values_with_intervals,
        bars_of_texts,
        areas_and_a_text,
        logarithms,
        stairs_over_dates,
        no_known_point,
        bars_with_names,
        lambda ax: ax.plot([], []),
        lambda ax: ax.set_yticks([5, 9]),
    ],
)
def test_limits_ticks_and_entries_are_those_of_matplotlib(draw):
    with style.theme(salt=""):
        figure = Figure(figsize=style.SIZE, layout="none")
        drawn = figure.add_subplot()
        draw(drawn)
        style.legend_above(drawn)

    def draw_with_legend(ax):
        draw(ax)
        style.legend_above(ax)

    chart = one(draw_with_legend)
    for scale, axis in ((chart.x, drawn.xaxis), (chart.y, drawn.yaxis)):
        low, high = axis.get_view_interval()
        assert (scale.low, scale.high) == pytest.approx((low, high))
        ticks = zip(axis.get_majorticklocs(), axis.get_ticklabels(), strict=True)
        inside = [(x, t.get_text()) for x, t in ticks if min(low, high) <= x <= max(low, high)]
        assert [(pytest.approx(x), text) for x, text in scale.ticks] == inside
    assert {text for _, text in chart.x.between} <= {"two"}
    legend = drawn.get_legend()
    names = [text.get_text() for text in legend.get_texts()] if legend else []
    assert [entry.name for entry in chart.legend] == names
    places = [(x, y) for x, y, _ in chart.texts]
    to_shares = drawn.transData + drawn.transAxes.inverted()
    offset = 19 / (72 * figure.get_figwidth() * drawn.get_position().width)
    expected = [np.add(to_shares.transform(text.xy), (offset, 0)) for text in drawn.texts]
    np.testing.assert_allclose(places, np.reshape(expected, (-1, 2)).tolist() or places)


def test_panels_that_share_an_axis_have_its_limits():
    def plot(data, ax):
        first, second = style.panels(ax, 2, share_y=True)
        first.plot([1, 2], [0, 10])
        second.plot([1, 2], [5, 30])
        return ax

    [[first, second]] = charts_of(plot, None)
    assert (first.y.low, first.y.high) == (second.y.low, second.y.high) == (-1.5, 31.5)
    assert (first.y.labelled, second.y.labelled) == (True, False)


def test_panels_are_in_rows():
    def plot(data, ax):
        for i, panel in enumerate(style.panels(ax, 4, rows=2)):
            panel.set_xlabel(str(i))
        return ax

    labels = [[chart.x.label for chart in row] for row in charts_of(plot, None)]
    assert labels == [["0", "1"], ["2", "3"]]


@pytest.mark.parametrize("kind", ["line", "points", "bars"])
def test_a_long_series_is_reduced_and_keeps_its_extremes(kind):
    x, y = np.arange(123_456.0), np.sin(np.arange(123_456.0))
    y[[77, 70_000]] = [9, -9]
    ends = {"x_to": x + 1, "y_to": y} if kind == "bars" else {}
    marks = Marks(kind, x, y, **ends).reduced()
    assert marks.x.size <= MOST_POINTS
    assert (np.diff(marks.x) > 0).all()
    if kind == "line":
        assert (marks.y.min(), marks.y.max()) == (-9, 9)
    if kind == "bars":  # side by side: no gaps, as far as before, and as high
        assert (marks.x[1:] == marks.x_to[:-1]).all()
        assert (marks.x[0], marks.x_to[-1]) == (0, 123_456)
        assert (marks.y.min(), marks.y_to.max()) == (-9, 9)


def test_of_bars_with_gaps_the_largest_are_kept():
    x, size = np.arange(9000.0), np.ones(9000)
    size[[5, 8000]] = 3
    marks = Marks("bars", x, 0 * x, x_to=x + size / 4, y_to=size).reduced()
    assert marks.x.size == MOST_POINTS
    assert {5.0, 8000.0} <= {*marks.x}


def test_jobs_of_a_gantt_chart_are_bars_with_labels():
    log = Trace.from_columns({"submit": [0, 1], "run": [60, 10], "procs": [3, 4]})
    schedule = simulate(log, "fcfs", procs=4)
    chart = one(lambda ax: plot_gantt(schedule, ax))
    first, second = (marks for marks in chart.marks if marks.labels)
    assert [first.name, second.name] == ["started immediately", "waited"]
    assert first.labels == ("job 1, 3 processors, did not wait, ran 1 min",)
    assert second.labels == ("job 2, 4 processors, waited 59 s, ran 10 s",)
    ends = [(m.x[0], m.y[0], m.x_to[0], m.y_to[0]) for m in (first, second)]
    assert ends == [(0, 0, 60, 3), (60, 0, 70, 4)]
    assert {entry.name for entry in chart.legend} == {first.name, second.name}


def test_a_job_in_two_parts_names_both():
    columns = {"submit": [0, 0, 0, 5], "run": [9, 5, 9, 4], "procs": [1, 1, 1, 2]}
    schedule = simulate(Trace.from_columns(columns), "fcfs", procs=4)
    chart = one(lambda ax: plot_gantt(schedule, ax))
    labels = [label for marks in chart.marks for label in marks.labels]
    part = "job 4, 2 processors (1 here), did not wait, ran 4 s"
    assert labels.count(part) == 2


def test_densities_of_a_gantt_chart_keep_the_work():
    n = 2500
    columns = {"submit": np.arange(n), "run": np.full(n, 7), "procs": np.full(n, 2)}
    schedule = simulate(Trace.from_columns(columns), "fcfs", procs=16)
    chart = one(lambda ax: plot_gantt(schedule, ax))
    [cells] = [marks for marks in chart.marks if marks.kind == "cells"]
    area = (cells.x_to[0] - cells.x[0]) * (cells.y_to[0] - cells.y[0])
    unit = (schedule.end.max() - schedule.start.min()) / (cells.x_to[0] - cells.x[0])
    assert cells.shares.mean() * area * unit == pytest.approx(n * 14)
    [[panel]] = json.loads(data_of([[chart]]))
    rows = next(marks["shares"] for marks in panel["marks"] if "shares" in marks)
    shown = np.array([[int(row[i : i + 2]) for i in range(0, len(row), 2)] for row in rows])
    np.testing.assert_allclose(shown / 99, cells.shares, atol=0.006)
    assert "data:image/png;base64," in svg_of([[chart]], label="x", name="x")


def test_the_forms_are_well_formed_whatever_the_names():
    hostile = '</script><script>alert("x")</script> & \u2028'
    marks = Marks("line", np.array([0.0, 1.0]), np.array([1.0, np.inf]), name=hostile)
    scale = Scale(hostile, 0, 1, ticks=((0.0, hostile),))
    panels = [[Chart((marks,), scale, scale, (marks,))]]
    ElementTree.fromstring(svg_of(panels, label=hostile, name="x"))
    text = data_of(panels)
    assert "<" not in text
    assert "\u2028" not in text
    assert json.loads(text)[0][0]["marks"][0]["name"] == hostile
    assert json.loads(text)[0][0]["marks"][0]["y"] == [1, None]


def test_infinite_ends_lie_on_the_edge_of_a_logarithmic_axis():
    def draw(ax):
        ax.plot([1, 100], [1, 100])
        ax.axvline(10)
        style.log_axis(ax.xaxis)
        style.log_axis(ax.yaxis)

    assert "nan" not in svg_of([[one(draw)]], label="x", name="x")


def test_symmetric_logarithms_are_even_in_what_they_show():
    def draw(ax):
        ax.plot([-90, 0, 3, 90], [1, 2, 3, 4], "o")
        ax.set_xscale("symlog", linthresh=1)
        ax.set_xlim(-100, 100)

    chart = one(draw)
    assert (chart.x.linear, chart.x.log) == (1, False)
    left, middle, near, right = map(
        float, re.findall(r'<circle cx="([\d.]+)"', svg_of([[chart]], label="x", name="x"))
    )
    assert left + right == pytest.approx(2 * middle, abs=0.2)
    part = np.arcsinh(3) / np.arcsinh(90)
    assert (near - middle) / (right - middle) == pytest.approx(part, abs=0.01)


def test_dates_differ_in_the_data_of_a_page():
    days = pd.Series(pd.date_range("2020-01-01", periods=400, freq="h"))
    plot = partial(lambda data, ax: ax.plot(days, np.arange(400.0)))
    [[chart]] = charts_of(plot, None)
    [[panel]] = json.loads(data_of([[chart]]))
    assert len(set(panel["marks"][0]["x"])) == 400
