"""Stack depths and the concentration of days, by hand and by their definitions."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from tests.data import needs_compiler, needs_traces, trace_path
from tests.oracles import locality as oracle
from workloadkit import Header, ParameterError, Trace, WorkloadError, analysis, read_swf
from workloadkit.analysis.locality.days import (
    concentration_curves,
    concentrations,
    daily_concentration,
    equal_weight_bins,
    mean_and_range,
    plot_daily_concentration,
    plot_log_and_shuffled,
)
from workloadkit.analysis.locality.stack import TOLERANCES, mean_depths, stack_depth, stack_depths
from workloadkit.analysis.locality.summary import section
from workloadkit.analysis.section import SEED

DAY = 86400


def test_a_run_time_of_0_is_a_value_like_any_other():
    log = Trace.from_columns({"submit": [0, 1, 2], "run": [0, 50, 0], "procs": [1, 1, 1]})
    assert mean_depths(log)["run"] == 1


def test_depths_worked_by_hand():
    for values, tolerance, expected in (
        ([7, 7, 7], 0, 0),
        ([1, 2, 1, 2], 0, 1),
        ([1, 2, 3, 1, 1, 3], 0, (2 + 0 + 1) / 3),
        ([100, 105], 0.05, 0),  # the edge is near enough
        ([100, 106, 100], 0.05, 1),
        ([95, 100], 0.05, np.nan),  # 5 is more than the stored value's share
        ([95, 100, 95], 0.05, 0),  # but no more than that of the one on top
        ([100, 105, 110], 0.05, 0),  # 110 is not near 100, which stays what is stored
        ([100, 106, 103], 0.05, 0),  # both are near; 106 is on top
        ([106, 100, 103, 106], 0.05, (0 + 1) / 2),
        ([0, 0, 1, 0], 0.05, (0 + 1) / 2),
        ([3, np.nan, 3], 0, 0),
    ):
        assert stack_depth(values, tolerance) == pytest.approx(expected, nan_ok=True), values


def test_what_is_never_found_again_has_no_depth():
    assert np.isnan(stack_depth([]))
    assert np.isnan(stack_depth([1, 2, 3]))
    assert np.isnan(stack_depth([np.nan, np.nan]))
    with pytest.raises(ParameterError, match=r"tolerance must be 0 or more, not -0\.1"):
        stack_depth([1], -0.1)
    with pytest.raises(ParameterError, match="not nan"):
        stack_depth([1], np.nan)


VALUES = st.lists(st.integers(0, 12) | st.sampled_from([100, 103, 105, 106, 110, 111.5]))


@given(VALUES, st.sampled_from([0, 0.05, 0.25, 1, 3]))
def test_depths_agree_with_the_definition(values, tolerance):
    expected = oracle.stack_depth(values, tolerance)
    assert stack_depth(values, tolerance) == pytest.approx(expected, nan_ok=True)


@given(VALUES)
def test_a_tolerance_of_almost_nothing_is_exactness(values):
    assert stack_depth(values, 1e-9) == pytest.approx(stack_depth(values), nan_ok=True)


@given(VALUES)
def test_exact_depths_know_no_numbers_only_what_is_the_same(values):
    other = [-3.5 * x for x in values]
    assert stack_depth(values) == pytest.approx(stack_depth(other), nan_ok=True)


def test_many_values_on_the_stack(rng):
    values = np.concatenate([np.arange(200.0), np.arange(200.0)])
    assert stack_depth(values) == 199
    assert stack_depth(1.2 ** np.concatenate([np.arange(200.0)] * 2), 0.05) == 199


def log(rng, n=400, **columns):
    values = {
        "submit": np.sort(rng.integers(0, 20 * DAY, n)),
        "run": rng.integers(0, 900, n),
        "procs": rng.integers(1, 9, n),
        "requested_time": rng.integers(1, 900, n),
        "user": rng.integers(1, 12, n),
    }
    return Trace.from_columns({**values, **columns})


def test_depths_of_a_log(rng):
    trace = log(rng, requested_time=[np.nan] * 400)
    found = stack_depths(trace, n_shuffles=40, rng=5)
    assert found.by_attribute.index.tolist() == ["procs", "run"]
    for name, row in found.by_attribute.iterrows():
        values = trace.column(name)
        assert row["depth"] == pytest.approx(oracle.stack_depth(values, TOLERANCES[name]))
        assert row["low"] <= row["depth"] <= row["high"]  # nothing repeats in this log
        assert row["low"] < row["shuffled"] < row["high"]
        assert row["hits"] + row["values"] == row["jobs"] == 400
        assert row["hit_share"] == row["hits"] / 400
    assert found.curves.iloc[-1].tolist() == [1] * 4
    assert (found.curves.diff().dropna() >= 0).all(axis=None)


def test_what_repeats_lies_less_deep_than_in_random_order():
    n = 300
    columns = {"submit": np.arange(n), "run": np.repeat(np.arange(30) * 100, 10), "procs": [1] * n}
    row = stack_depths(Trace.from_columns(columns), rng=1).by_attribute.loc["run"]
    assert row["depth"] == 0
    assert row["low"] > 8


def test_the_place_on_the_stack_counts_from_one():
    columns = {"submit": range(6), "run": [1] * 6, "procs": [1, 2, 1, 2, 2, 1]}
    curve = stack_depths(Trace.from_columns(columns), n_shuffles=1, rng=1).curves["processors"]
    assert curve.to_dict() == {1: 1 / 4, 2: 1}  # depths 1, 1, 0 and 1


def test_a_log_without_jobs_that_ran_has_no_depths():
    trace = Trace.from_columns({"submit": [0], "run": [-1], "procs": [1]}, name="none")
    with pytest.raises(WorkloadError, match=r"^none: no job ran"):
        stack_depths(trace)
    with pytest.raises(WorkloadError, match=r"^none: no run time is known"):
        daily_concentration(trace, "run")
    with pytest.raises(ParameterError, match="unknown attribute 'wait'"):
        daily_concentration(trace, "wait")
    with pytest.raises(ParameterError, match="n_shuffles must be 1 or more, not 0"):
        stack_depths(trace, n_shuffles=0)


def test_bins_of_equal_weight():
    edges, bins = equal_weight_bins(np.arange(1.0, 33))
    assert np.bincount(bins).tolist() == [2] * 16
    assert edges[-1] == 32
    # Of values that are several quantiles, the first bin that ends there has them all.
    edges, bins = equal_weight_bins(np.array([5.0] * 20 + [6.0]))
    assert set(bins[:20]) == {0}
    assert bins[20] == 15


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=40),
    st.data(),
)
def test_concentration_agrees_with_the_definition(runs, data):
    n = len(runs)
    day = sorted(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    trace = Trace.from_columns({"submit": np.array(day) * DAY + 7, "run": runs, "procs": [1] * n})
    found = daily_concentration(trace, "run", n_shuffles=1, rng=1).days
    expected = oracle.daily_concentration(runs, [d - day[0] for d in day])
    assert found["concentration"].to_dict() == pytest.approx(expected)
    assert found["jobs"].sum() == n
    assert (found["concentration"] >= 1 / 16).all()


def test_days_are_at_most_as_concentrated_as_the_curve_says():
    # The first day has one kind of jobs, the second two.
    columns = {"submit": [0, 1, DAY, DAY + 1], "run": [5, 5, 70, 5], "procs": [1] * 4}
    found = daily_concentration(Trace.from_columns(columns), "run", n_shuffles=2, rng=1)
    curve = concentration_curves({"": found})["log"]
    assert curve.iloc[[99, 100, 199, 200]].tolist() == [0, 0.5, 0.5, 1]
    assert curve.index[[0, 99, 100, 200]].tolist() == [0, 0.495, 0.5, 1]
    assert found.mean == 0.75
    assert sorted(found.bins[found.bins > 0].tolist()) == [0.25, 0.75]


def test_days_are_those_of_the_local_clock():
    # Second 0 is 23:30 in Stockholm.
    header = Header(("; UnixStartTime: 843427800", "; TimeZoneString: Europe/Stockholm"))
    columns = {"submit": [0, 3600], "run": [5, 900], "procs": [1, 1]}
    local = daily_concentration(Trace.from_columns(columns, header=header), "run", rng=1)
    assert local.days["jobs"].tolist() == [1, 1]
    assert daily_concentration(Trace.from_columns(columns), "run").days["jobs"].tolist() == [2]


def test_days_of_one_kind_are_distinguished_from_chance(rng):
    n, kinds = 3000, rng.integers(1, 17, 30)
    day = np.repeat(np.arange(30), n // 30)
    other = rng.integers(1, 17, n)
    run = np.where(rng.random(n) < 0.5, kinds[day], other)
    columns = {"submit": day * DAY, "run": run, "procs": [1] * n}
    found = daily_concentration(Trace.from_columns(columns), "run", rng=1)
    assert found.mean > 0.45
    assert found.low < found.shuffled < found.high < 0.25
    unordered = daily_concentration(
        Trace.from_columns({**columns, "run": rng.permutation(run)}), "run", n_shuffles=200, rng=1
    )
    assert unordered.mean == pytest.approx(unordered.shuffled, abs=0.02)


def test_the_range_is_that_of_the_middle_95_percent_of_what_is_known():
    values = np.append(np.arange(201) / 200, np.nan)
    assert mean_and_range(values) == pytest.approx((0.5, 0.025, 0.975))


def test_results_are_drawn_and_written(rng):
    trace = log(rng)
    for result in (
        stack_depths(trace, n_shuffles=3, rng=1),
        daily_concentration(trace, "run", n_shuffles=3, rng=1),
    ):
        ax = Figure().add_subplot()
        assert result.plot(ax) is ax
        assert ax.get_ylabel().startswith("share of")
        ax.figure.canvas.draw()
        json.dumps(result.to_dict(), allow_nan=False)


def test_the_section_says_what_repeats_and_what_is_unknown(rng):
    n = 400
    whole = section(log(rng, n))
    assert [figure.name for figure in whole.figures] == ["distance", "shuffled", "stack", "days"]
    assert "A run time that occurred before" in whole.finding
    assert whole.to_dict() == section(log(np.random.default_rng(20260101), n)).to_dict()
    nobody = section(log(rng, n, user=[-1] * n))
    assert "No user is known" in " ".join(nobody.notes)
    assert [figure.name for figure in nobody.figures] == ["stack", "days"]
    assert section(log(rng, n, run=[-1] * n)).notes == ("No job of this log ran.",)


def test_the_section_says_what_it_leaves_out(rng):
    n = 40
    some = log(rng, n, user=[-1] * 3 + [1] * 37, requested_time=[np.nan] * n)
    notes = section(some).notes
    assert "Left out of the comparison of users: 3 jobs of unknown users." in notes
    assert "No requested time is known." in notes


@pytest.mark.parametrize(("n_users", "stated"), [(9, False), (10, True)])
def test_of_ten_users_a_share_is_worth_a_sentence(n_users, stated):
    # Each has two jobs of 1 s in the first session, and then sessions of one job, in turn of 2 s
    # and of 1 s.
    user = np.tile(np.arange(n_users), 7)
    submit, run = (np.repeat(x, n_users) for x in ([0, 0, 1, 2, 3, 4, 5], [1, 1, 2, 1, 2, 1, 2]))
    columns = {"submit": 4000 * submit, "run": run, "procs": [1] * user.size, "user": user}
    found = section(Trace.from_columns(columns))
    assert found.values["n_users_compared"] == n_users
    said = f"of {n_users} users are more similar in run time within a session"
    assert (said in found.finding) == stated
    few = "needs 10 users with 6 sessions or more, one of them of two jobs; 9 users have them."
    assert (few in " ".join(found.notes)) != stated


def test_where_no_run_time_comes_again_no_depth_is_reported(rng):
    n = 12
    trace = log(rng, n, run=2 ** np.arange(n), requested_time=[np.nan] * n)
    nothing = section(trace)
    assert nothing.finding == ""
    assert "stack" not in [figure.name for figure in nothing.figures]
    table = {table.name: table.shown for table in nothing.tables}["stack_depths"]
    assert table.loc["run time", ["repeated", "distinct values", "mean depth"]].tolist() == [
        *("0 %", "12", "–")
    ]


@needs_traces
def test_published_depths_of_a_real_log():
    trace = read_swf(trace_path("KTH-SP2-1996-2"))
    for name, depth in {"procs": 3.83, "requested_time": 6.46, "run": 35.25}.items():
        assert (
            round(analysis.locality.stack_depth(trace.column(name), TOLERANCES[name]), 2) == depth
        )
    trace = read_swf(trace_path("CTC-SP2-1996-3.1-cln"))
    ran = {name: trace.column(name)[trace.ran] for name in ("procs", "run")}
    assert round(stack_depth(ran["procs"]), 2) == 3.44
    assert round(stack_depth(ran["run"], 0.05), 2) == 28.01


@needs_compiler
@needs_traces
def test_the_finding_of_a_real_log():
    finding = section(read_swf(trace_path("KTH-SP2-1996-2"))).finding
    assert finding.startswith(
        "Jobs of 89 % [82, 93] of 133 users are more similar in requested time "
    )
    assert "mean stack depth of 35.2, compared with 49" in finding


def test_a_run_time_of_zero_is_a_kind_of_its_own():
    columns = {"submit": [0, 1, 2, 3], "run": [0, 0, 0, 900], "procs": [1] * 4}
    trace = Trace.from_columns(columns)
    assert concentrations(trace, "run").tolist() == [0.75]
    assert concentrations(trace.with_columns(run=[0] * 4), "run").tolist() == [1]


def test_concentrations_ascend_whatever_the_order_of_the_days():
    # The first day has one kind of jobs, the second two.
    columns = {"submit": [0, 1, DAY, DAY + 1], "run": [5, 5, 70, 5], "procs": [1] * 4}
    assert concentrations(Trace.from_columns(columns), "run").tolist() == [0.5, 1]


def test_each_place_of_the_curves_of_depths_is_there_once(rng):
    curves = stack_depths(log(rng, n=40), n_shuffles=1, rng=1).curves
    assert curves.index[0] == 1
    assert (np.diff(curves.index) > 0).all()


def test_a_job_that_never_ran_does_not_keep_the_others_from_being_reported(rng):
    run = np.append(rng.integers(1, 9, 40), -1)
    assert section(log(rng, n=41, run=run)).notes[0] != "No job of this log ran."
    assert section(log(rng, n=41, run=[-1] * 41)).notes == ("No job of this log ran.",)


def test_the_tables_of_what_repeats_as_they_are_read():
    """Two days: of the first all jobs are of one size, of the second half of them."""
    day = 86_400
    columns = {"submit": [0, 1, 2, 3, day, day + 1, day + 2, day + 3], "run": [60] * 8}
    trace = Trace.from_columns(columns | {"procs": [1, 1, 1, 1, 1, 2, 1, 2]})
    tables = {table.name: table for table in section(trace).tables}
    days, depths = tables["days"], tables["stack_depths"]
    assert days.data.loc["processors", ["mean", "whole_log"]].tolist() == [0.75, 0.75]
    assert days.shown.loc["processors", ["mean of days", "whole log"]].tolist() == ["75.0 %"] * 2
    assert days.shown.loc["run time", "mean of days"] == "100.0 %"
    assert depths.shown.loc["processors"].tolist()[:3] == ["75 %", "2", "0.333"]
    assert depths.shown.loc["run time"].tolist() == ["88 %", "1", "0", "0 [0, 0]"]


def test_the_table_of_similarity_is_of_the_distances_that_it_names(rng):
    trace = log(rng, n=200, user=rng.integers(1, 4, 200))
    section_ = section(trace)
    table = next(table for table in section_.tables if table.name == "similarity").data
    users = analysis.locality.nearer_is_more_alike(trace).users
    test = analysis.locality.shuffled_similarity(trace, n_shuffles=100, rng=SEED).test
    assert section_.parameters["locality_shuffles_of_users"] == 100
    for name, title in (("run", "run time"), ("procs", "processors")):
        row = table.loc[title]
        near, far = (users.loc[(name, "average", *pair)] for pair in ((0, 1), (1, 2)))
        assert row[["users_nearer", "users_nearer_low", "users_nearer_high"]].tolist() == (
            near[["nearer_larger", "low", "high"]].tolist()
        )
        assert row[["users_next", "users_next_low", "users_next_high"]].tolist() == (
            far[["nearer_larger", "low", "high"]].tolist()
        )
        alike = test.loc[(name, "average", "mean")]
        names = ["in_session", "shuffled", "shuffled_low", "shuffled_high", "p"]
        assert row[names].tolist() == alike[["observed", "shuffled", "low", "high", "p"]].tolist()
        of_users = test.loc[(name, "average", "users"), "shuffled"]
        assert row["users_nearer_shuffled"] == of_users


def test_each_log_is_drawn_next_to_its_shuffles_in_its_colour_dashed():
    data = pd.DataFrame(
        {"one": [0.5, 1], "one, shuffled": [0.25, 1], "two": [0.75, 1], "two, shuffled": [0, 1]},
        index=[1.0, 2],
    )
    ax = plot_log_and_shuffled(data, Figure().add_subplot(), x="place", y="share of hits")
    assert [line.get_ydata().tolist() for line in ax.lines] == [
        data[name].tolist() for name in data
    ]
    assert [line.get_linestyle() for line in ax.lines] == ["-", "--", "-", "--"]
    one, one_shuffled, two, two_shuffled = (line.get_color() for line in ax.lines)
    assert one == one_shuffled != two == two_shuffled
    assert {line.get_drawstyle() for line in ax.lines} == {"steps-post"}
    assert ax.get_legend_handles_labels()[1] == ["one", "two", "shuffled"]
    assert (ax.get_xscale(), ax.get_xlabel(), ax.get_ylabel()) == ("log", "place", "share of hits")


def test_the_least_concentration_of_a_day_is_marked():
    data = pd.DataFrame({"log": [0.5, 1], "shuffled": [1.0, 1]}, index=[0.25, 1])
    ax = plot_daily_concentration(data, Figure().add_subplot())
    assert ax.lines[-1].get_xdata() == [1 / 16, 1 / 16]  # as many jobs in each of 16 bins
    assert ax.get_xscale() == "linear"
