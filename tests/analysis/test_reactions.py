import json
import math
from functools import partial

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from tests.data import needs_traces, trace_path
from workloadkit import Trace, read_swf
from workloadkit.analysis import style
from workloadkit.analysis.reactions import (
    fit_continuation,
    followed_jobs,
    measure_reactions,
    plot_think_time_bins,
)
from workloadkit.analysis.reactions import summary as reactions
from workloadkit.analysis.reactions.continuation import plot_continuation
from workloadkit.analysis.reactions.followed import (
    RESPONSE_BINS,
    SLOWDOWN_BINS,
    answered,
    draw_users,
)
from workloadkit.analysis.reactions.predictors import Predictors, plot_predictors
from workloadkit.analysis.reactions.service_bins import (
    plot_expectations,
    plot_medians,
    reactions_of,
)
from workloadkit.analysis.section import SEED


def a_log(think_times, *, wait=0, run=60, user=7):
    """A log of one user who submits again so long after each job."""
    n = len(think_times) + 1
    wait, run = (np.broadcast_to(x, n) for x in (wait, run))
    submit = np.append(0, np.cumsum(wait[:-1] + run[:-1] + np.array(think_times)))
    columns = {"submit": submit, "wait": wait, "run": run, "procs": [1] * n, "user": [user] * n}
    return Trace.from_columns(columns)


def many_users(rng, n_users=25, n_jobs=30):
    """A log of users who go on less often after long responses."""
    tables = []
    for user in range(n_users):
        wait = rng.choice([0, 200, 2000, 5000], n_jobs)
        run = rng.choice([0, 30, 700, 9000], n_jobs)
        stays = rng.random(n_jobs - 1) < 0.8 / (0.05 * (wait + run)[:-1] / 60 + 1)
        think = np.where(stays, rng.integers(0, 1201, n_jobs - 1), 9000)
        think[rng.random(n_jobs - 1) < 0.1] = -1
        tables.append(a_log(think, wait=wait, run=run, user=user).jobs)
    columns = pd.concat(tables)[["submit", "wait", "run", "procs", "user"]]
    columns["submit"] += 10  # some are a second before the first
    return Trace.from_columns({name: columns[name].to_numpy() for name in columns})


def test_an_edge_of_response_times_ends_the_lower_bin():
    for response, bin_ in (
        (0, 0),
        (300, 0),
        (300.5, 1),
        (900, 1),
        (901, 2),
        (2700, 2),
        (8100, 3),
        (8101, 4),
    ):
        assert followed_jobs(a_log([5], run=response))["response_bin"].tolist() == [bin_], response


def test_slowdowns_and_their_bins():
    for wait, run, slowdown, bin_ in (
        (0, 100, 1, 0),
        (41, 100, 1.41, 0),
        (42, 100, 1.42, 1),
        (100, 100, 2, 1),
        (300, 100, 4, 2),
        (1500, 100, 16, 3),
        (1501, 100, 16.01, 4),
        (3, 0, 3, 2),
        (0, 0, 0, 0),
    ):
        (job,) = followed_jobs(a_log([5], wait=wait, run=run)).itertuples()
        assert job.slowdown == pytest.approx(slowdown)
        assert job.slowdown_bin == bin_


@pytest.mark.parametrize(("think", "stays"), [(0, True), (1200, True), (1201, False), (-1, False)])
def test_the_threshold_itself_continues_and_a_negative_think_time_does_not(think, stays):
    jobs = followed_jobs(a_log([think]))
    assert jobs["continued"].tolist() == [stays]
    assert len(answered(jobs)) == (think >= 0)


def test_what_is_unknown_is_left_out_where_it_matters():
    columns = {
        "submit": [0, 10, 100, 200, 300, 400],
        "wait": [0, 0, -1, 0, 0, 0],
        "run": [50, -1, 20, 20, 20, 20],
        "procs": [1] * 6,
        "user": [1, 1, 1, 1, -1, -1],
    }
    jobs = followed_jobs(Trace.from_columns(columns))
    # The job that never ran is no next job; the one of unknown wait is, but has no response time.
    assert jobs["think_time"].tolist() == [50]


def test_neither_names_of_users_nor_the_time_matter(rng):
    trace = many_users(rng)
    other = trace.with_columns(
        user=1000 - trace.column("user"), submit=trace.column("submit") + 86_400
    )
    pd.testing.assert_frame_equal(followed_jobs(trace), followed_jobs(other))


def test_users_of_different_logs_are_different_users():
    jobs = followed_jobs([a_log([5, 5]), a_log([7], user=7), a_log([])])
    assert jobs["user"].tolist() == [0, 0, 1]
    assert jobs["log"].tolist() == [0, 0, 1]
    assert jobs["think_time"].tolist() == [5, 5, 7]


def test_each_log_draws_its_own_users(rng):
    logs = [many_users(rng, n, 4) for n in (3, 5)]
    weights = draw_users(followed_jobs(logs), 50, rng=1)
    assert weights[:, :3].sum(axis=1).tolist() == [3] * 50
    assert weights[:, 3:].sum(axis=1).tolist() == [5] * 50


def by_hand(trace):
    """Bins by plain pandas."""
    jobs = trace.jobs[trace.ran & (trace.jobs["user"] != -1)].copy()
    jobs["end"] = jobs["submit"] + jobs["wait"].fillna(0) + jobs["run"]
    jobs["think"] = jobs.groupby("user")["submit"].shift(-1) - jobs["end"]
    jobs = jobs.dropna(subset=["think", "wait"])
    negative = (jobs["think"] < 0).mean()
    jobs = jobs[jobs["think"] >= 0]
    jobs["response"] = jobs["wait"] + jobs["run"]
    slowdown = jobs["response"] / jobs["run"].replace(0, 1)
    minutes, root = jobs["response"] / 60, math.sqrt(2)
    jobs["r"] = pd.cut(minutes, [-np.inf, 5, 15, 45, 135, np.inf], labels=RESPONSE_BINS)
    jobs["s"] = pd.cut(slowdown, [-np.inf, root, 2, 4, 16, np.inf], labels=SLOWDOWN_BINS)
    jobs["stays"] = jobs["think"] <= 1200
    return jobs, negative


def agrees_with_pandas(trace):
    jobs, negative = by_hand(trace)
    found = measure_reactions(trace, n_resamples=2, rng=0)
    assert found.negative == pytest.approx(negative)
    for table, name in ((found.by_response, "r"), (found.by_slowdown, "s")):
        groups = jobs.groupby(name, observed=False)
        assert table["jobs"].tolist() == groups.size().tolist()
        np.testing.assert_array_equal(table["median_think_time"], groups["think"].median())
        np.testing.assert_array_equal(table["median_response"], groups["response"].median())
        np.testing.assert_allclose(table["probability"], groups["stays"].mean())
        for bin_, its in groups:
            curve = found.think_times[bin_]
            assert curve[1200.0] == pytest.approx(its["stays"].mean())
            assert curve.iloc[40] == pytest.approx((its["think"] <= curve.index[40]).mean())
    both = jobs.groupby(["r", "s"], observed=False)
    np.testing.assert_array_equal(found.by_both["median_think_time"], both["think"].median())
    for kind, quantity in (("W", "wait"), ("E", "run")):
        ours = found.expectations[found.expectations["kind"] == kind]
        stays = jobs[jobs[quantity] <= 300].groupby("r", observed=False)["stays"]
        assert ours["jobs"].tolist() == stays.size().tolist()
        assert ours["probability"].tolist() == pytest.approx(stays.mean().tolist(), nan_ok=True)


def test_bins_agree_with_plain_pandas(rng):
    agrees_with_pandas(many_users(rng))


@needs_traces
def test_bins_of_a_real_log_agree_with_plain_pandas():
    agrees_with_pandas(read_swf(trace_path("KTH-SP2-1996-2")))


@needs_traces
def test_bins_of_several_logs_are_those_of_their_jobs_together():
    names = ("KTH-SP2-1996-2", "NASA-iPSC-1993-3.1-cln", "SDSC-Par-1996-3.1-cln")
    traces = [read_swf(trace_path(name)) for name in names]
    jobs = pd.concat([by_hand(trace)[0] for trace in traces])
    found = measure_reactions(traces, n_resamples=2, rng=0)
    both = jobs.groupby(["r", "s"], observed=False)["think"].median()
    np.testing.assert_array_equal(found.by_both["median_think_time"], both)


def test_limits_are_those_of_users_drawn_and_measured_again(rng):
    jobs = followed_jobs(many_users(rng, 12, 20))
    weights = draw_users(jobs, 40, rng=3)
    found = reactions_of(jobs, weights)
    anew = {"probability": [], "median_think_time": [], "negative": [], "curve": []}
    for weight in weights:
        rows = jobs.loc[np.repeat(jobs.index, weight[jobs["user"]].astype(int))]
        anew["negative"].append((rows["think_time"] < 0).mean())
        its = rows[(rows["think_time"] >= 0) & (rows["response_bin"] == 0)]
        anew["probability"].append(its["continued"].mean())
        anew["median_think_time"].append(its["think_time"].median())
        anew["curve"].append((its["think_time"] <= 512).mean())
    limits = {name: np.quantile(values, [0.025, 0.975]).tolist() for name, values in anew.items()}
    row = found.by_response.loc["R1"]
    curves = found.think_times.loc[512.0]
    assert [row["probability_low"], row["probability_high"]] == pytest.approx(limits["probability"])
    ours = [row["think_time_low"], row["think_time_high"]]
    assert ours == pytest.approx(limits["median_think_time"])
    assert list(found.negative_interval) == pytest.approx(limits["negative"])
    assert [curves["R1_low"], curves["R1_high"]] == pytest.approx(limits["curve"])


@pytest.mark.slow
def test_the_section_reports_numbers_with_their_intervals(rng):
    section = reactions.section(many_users(rng))
    found = measure_reactions(many_users(np.random.default_rng(20260101)), rng=SEED)
    assert section.values["negative"] == found.negative
    assert section.values["negative_low"] == found.negative_interval[0]
    for name in ("negative", "fit_a", "fit_b", "all_explained"):
        assert section.values[f"{name}_low"] < section.values[f"{name}_high"]
    assert section.finding.startswith("Users submit the next job within 20 min ")
    assert section.finding.count("[") == 4
    assert json.dumps(section.to_dict(), allow_nan=False)
    assert section.figures[0].name == "continuation"
    for figure in section.figures:
        assert style.draw(figure.plot, figure.data, name="x")
    assert (
        section.to_dict()
        == reactions.section(many_users(np.random.default_rng(20260101))).to_dict()
    )


def test_the_section_by_hand():
    # Two of three go on after a minute, none after three hours; one does not await the end.
    trace = a_log([5, 1200, 1201, 9000, 9001, -1], run=[60, 60, 60, 10800, 10800, 60, 1])
    section = reactions.section(trace)
    names = ("jobs", "answered_jobs", "users", "negative")
    assert [section.values[name] for name in names] == [6, 5, 1, pytest.approx(1 / 6)]
    assert section.finding == (
        "Users submit the next job within 20 min after 67 % of the jobs with a response time of "
        "up to 5 min and after 0 % of the jobs with a response time of over 2 h 15."
    )
    assert section.notes[0].startswith("5 jobs count: the user submitted the next job")
    assert "17 % of the next jobs came earlier" in section.notes[0]
    tables = {table.name: table.shown for table in section.tables}
    row = tables["response_bins"].loc["R1: up to 5 min"]
    assert row.tolist() == ["3", "1 min", "20 min", "67 %"]
    assert tables["sub_bins"].loc["R5: over 2 h 15", "S1: up to 1.41"] == "2 h 30 min"


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"run": -1}, "No job of this log ran"),
        ({"user": -1}, "No user is known"),
        ({"wait": -1}, "No wait time is known"),
        ({"submit": 0}, "No user waited for the end"),
    ],
)
def test_what_a_log_lacks_is_reported(columns, said):
    """Of five jobs alike, and of a sixth by another user that never ran."""
    full = {"submit": 0, "wait": 3, "run": 9, "procs": 1, "user": 4} | columns
    jobs = {name: [x] * 5 for name, x in full.items()}
    never = {"submit": 9000, "wait": -1, "run": -1, "procs": 1, "user": 8}
    section = reactions.section(
        Trace.from_columns({name: [*values, never[name]] for name, values in jobs.items()})
    )
    assert said in section.notes[0]
    assert not section.figures


def test_results_draw_themselves(rng):
    trace = many_users(rng)
    curves = measure_reactions(trace, rng=1).think_times
    svg = style.draw(partial(plot_think_time_bins, bins=SLOWDOWN_BINS), curves, name="x")
    assert "≤1.41" in svg
    for result in (measure_reactions(trace, rng=1), fit_continuation(trace, rng=1)):
        assert style.draw(lambda _, ax, of=result: of.plot(ax), pd.DataFrame(), name="x")
        assert json.dumps(result.to_dict(), allow_nan=False)


def test_of_bins_without_jobs_nothing_is_reported():
    section = reactions.section(a_log([5, 1201], run=600))
    assert section.finding == (
        "Users submit the next job within 20 min after 50 % of the jobs with a response time of "
        "5 to 15 min."
    )


def test_nothing_is_explained_by_slowdowns_that_are_all_the_same(rng):
    trace = a_log(rng.choice([5, 5000], 60), run=rng.integers(60, 9000, 61))
    found = reactions.section(trace)
    assert "deviance" not in found.finding


def test_five_minutes_are_a_short_wait_and_a_short_run():
    # One job waits, the other runs, for five minutes; then both for a second more.
    wait, run = [300, 5, 301, 5], [5, 300, 5, 301]
    trace = a_log([5] * 4, wait=[*wait, 0], run=[*run, 1])
    found = measure_reactions(trace, n_resamples=2, rng=0).expectations
    jobs = found.groupby("kind", sort=False)["jobs"].sum()
    assert jobs.to_dict() == {"W": 3, "E": 3}


def test_the_table_of_expectations_sets_waits_next_to_runs():
    bins = pd.DataFrame({"probability": [0.9, 0.8, 0.7, 0.6, np.nan]}, RESPONSE_BINS)
    bins = bins.assign(
        jobs=9, probability_low=[0.85, *[np.nan] * 4], probability_high=[0.95, *[np.nan] * 4]
    )
    bins.index.name = "bin"
    data = pd.concat({"W": bins, "E": bins.assign(probability=0.1)}, names=["kind"])
    shown = reactions._expectation_table(data.reset_index()).shown
    assert shown["waited up to 5 min"].tolist() == ["90 % [85, 95]", "80 %", "70 %", "60 %", "–"]
    assert shown["ran up to 5 min"].tolist()[1:] == ["10 %"] * 4
    assert shown.index[0] == "R1: up to 5 min"


def test_the_table_of_predictors_has_each_number_under_its_title():
    names = ["response", "slowdown", "run", "wait"]
    first = {
        "correlation": 0.5, "explained": 0.25, "odds_ratio": 0.75, "beside_response": 0.125,
        "beyond_it": -0.0625,
    }  # fmt: skip
    columns = {name: [value, *[np.nan] * 3] for name, value in first.items()}
    columns |= {f"{name}_{end}": [np.nan] * 4 for name in first for end in ("low", "high")}
    table = pd.DataFrame(columns, pd.Index(["slowdown", "response", "run", "wait"]))
    found = Predictors(table.loc[names], 0.4, (0.3, 0.5), 99, 9)
    table = reactions._predictor_table(found)
    assert table.shown.loc["slowdown"].to_dict() == {
        "rank correlation": "0.5",
        "deviance explained": "25 %",
        "odds ratio, tenfold": "0.75",
        "in addition to response time": "12.5 %",
        "response time in addition": "-6.2 %",
    }
    assert set(table.shown.loc["response time"]) == {"–"}
    assert "All quantities together explain 40 % [30, 50]." in table.caption


def points_of(ax):
    """What each set of points with intervals shows: its places, its values and its intervals."""
    drawn = []
    for container in ax.containers:
        line, _, (bars,) = container.lines
        ends = [segment[:, 1].tolist() for segment in bars.get_segments()]
        drawn.append((line.get_xdata().tolist(), line.get_ydata().tolist(), ends))
    return drawn


def test_median_think_times_are_drawn_with_their_intervals_those_of_0_as_1_s():
    index = pd.MultiIndex.from_product([["response", "slowdown"], range(5)], names=["metric", "n"])
    median = [0.0, 60, 120, 240, 480, 30, 60, 90, 120, 150]
    data = pd.DataFrame({"median_think_time": median}, index=index)
    data["think_time_low"] = data["median_think_time"] / 2
    data["think_time_high"] = data["median_think_time"] * 2
    response, slowdown = points_of(plot_medians(data, Figure().add_subplot()))
    assert response[0] == pytest.approx([0.95, 1.95, 2.95, 3.95, 4.95])
    assert response[1:] == (
        [1, 60, 120, 240, 480],
        [[1, 1], [30, 120], [60, 240], [120, 480], [240, 960]],
    )
    assert slowdown[0] == pytest.approx([1.05, 2.05, 3.05, 4.05, 5.05])
    assert slowdown[1] == [30, 60, 90, 120, 150]


def test_what_is_expected_is_drawn_by_what_was_short():
    data = pd.DataFrame(
        {
            "kind": ["W", "E", "W", "E"],
            "median_response": [60.0, 0, 600, 1200],
            "probability": [0.75, 0.5, 0.25, 0.125],
            "probability_low": [0.5, 0.25, 0.125, 0.25],  # the last above its probability
            "probability_high": [1, 0.75, 0.5, 0.5],
        }
    )
    ax = plot_expectations(data, Figure().add_subplot())
    assert points_of(ax) == [
        ([60, 600], [0.75, 0.25], [[0.5, 1], [0.125, 0.5]]),
        ([1, 1200], [0.5, 0.125], [[0.25, 0.75], [0.125, 0.5]]),
    ]
    curves = [line for line in ax.lines if not line.get_label().startswith("_")]
    drawn = {line.get_label(): line.get_ydata().tolist() for line in curves}
    assert drawn == {"waited up to 5 min": [0.75, 0.25], "ran up to 5 min": [0.5, 0.125]}


def test_effects_on_think_times_are_drawn_from_the_top_each_in_two_bars():
    data = pd.DataFrame(
        {
            "explained": [0.5, 0.25],
            "explained_low": [0.25, 0.125],
            "explained_high": [0.75, 0.5],
            "beside_response": [np.nan, 0.125],
            "beside_response_low": [np.nan, 0.0625],
            "beside_response_high": [np.nan, 0.25],
        },
        index=pd.Index(["response", "wait"], name="quantity"),
    )
    ax = plot_predictors(data, Figure().add_subplot())
    bars = [c for c in ax.containers if c.get_label() in ("alone", "in addition to response time")]
    drawn = {c.get_label(): [bar.get_width() for bar in c] for c in bars}
    assert drawn == {"alone": [0.5, 0.25], "in addition to response time": [0, 0.125]}
    ends = [s[:, 0].tolist() for s in bars[0].errorbar.lines[2][0].get_segments()]
    assert ends == [[0.25, 0.75], [0.125, 0.5]]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["response time", "wait"]
    assert ax.get_yticks().tolist() == [1, 0]


def test_the_fitted_and_the_published_curve_are_drawn_over_half_to_twice_the_response_times():
    data = pd.DataFrame(
        {
            "log": [0, 0],
            "median_response": [120.0, 1200],
            "probability": [0.5, 0.25],
            "probability_low": [0.25, 0.125],
            "probability_high": [0.75, 0.5],
        }
    )
    ax = plot_continuation(data, Figure().add_subplot(), a=0.9, b=0.1)
    curves = {line.get_label(): line for line in ax.lines if not line.get_label().startswith("_")}
    assert list(curves) == ["0.90 / (0.100 r + 1)", "published: 0.8 / (0.05 r + 1)"]
    fitted, published = curves.values()
    # From 1 min to 40 min.
    assert fitted.get_xdata()[[0, -1]] == pytest.approx([60, 2400])
    assert fitted.get_ydata()[[0, -1]] == pytest.approx([0.9 / 1.1, 0.9 / 5])
    assert published.get_ydata()[[0, -1]] == pytest.approx([0.8 / 1.05, 0.8 / 3])
    ax = plot_continuation(data, Figure().add_subplot(), a=np.nan, b=np.nan)
    labels = ax.get_legend_handles_labels()[1]
    assert labels == ["published: 0.8 / (0.05 r + 1)"]
