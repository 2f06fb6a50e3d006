import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from scipy import stats

import workloadkit as wk
from tests.data import needs_traces, trace_path
from tests.examples import examples
from workloadkit import Header, ParameterError, Trace
from workloadkit.analysis import compare, report
from workloadkit.analysis.locality import stack_depth
from workloadkit.analysis.logs import comparison as log_comparison
from workloadkit.analysis.logs.comparison import SECTIONS, measures
from workloadkit.analysis.logs.distributions import (
    DISTRIBUTIONS,
    LogParts,
    kolmogorov_smirnov,
    plot_measures,
    plot_overlaid,
    wasserstein,
)

SAMPLES = st.lists(st.integers(0, 30), min_size=1, max_size=40)
FIGURE_4 = (
    *("jobs_by_user", "sessions_by_user", "session_length_by_user", "work_by_user"),
    *("first_arrivals", "final_departures", "activity", "week"),
)
DAY, WEEK = 86400, 7 * 86400


def log(rng, n=300, **columns):
    values = {
        "submit": np.sort(rng.integers(0, 100 * DAY, n)),
        "wait": rng.integers(0, 900, n),
        "run": rng.integers(1, 9000, n),
        "procs": rng.integers(1, 9, n),
        "requested_time": rng.integers(1, 9000, n),
        "user": rng.integers(1, 20, n),
    }
    header = Header(("; MaxProcs: 8", "; UnixStartTime: 843480031", "; TimeZone: 3600"))
    return Trace.from_columns({**values, **columns}, header=header, name="log")


@examples(50)
@given(SAMPLES, SAMPLES)
def test_distances_agree_with_their_definitions(a, b):
    gaps = [sum(x <= at for x in a) / len(a) - sum(x <= at for x in b) / len(b) for at in range(31)]
    a, b = np.sort(a).astype(float), np.sort(b).astype(float)
    assert kolmogorov_smirnov(a, b) == pytest.approx(max(map(abs, gaps)), abs=1e-12)
    assert wasserstein(a, b) == pytest.approx(stats.wasserstein_distance(a, b), abs=1e-9)
    assert kolmogorov_smirnov(a, b) == kolmogorov_smirnov(b, a)
    assert kolmogorov_smirnov(a, a) == wasserstein(a, a) == 0


def test_a_log_is_no_distance_from_itself(rng):
    trace = log(rng)
    found = compare(trace, trace, sections=["load", "users"])
    assert found.names == ("log", "log (2)")
    assert (found.distances["ks"] == 0).all()
    assert (found.distances["wasserstein"] == 0).all()
    assert (found.table["log"].dropna() == found.table["log (2)"].dropna()).all()
    assert found.summary["within"][found.table["log"].notna()].all()
    assert list(found.farthest.index) == list(DISTRIBUTIONS)
    assert found.farthest.to_numpy().max() == 0


def test_what_differs_is_reported(rng):
    trace = log(rng)
    slower = trace.with_columns(run=2 * trace.column("run"))
    found = compare({"original": trace, "slower": slower}, sections=["load", "marginals"])
    assert found.table.loc["load.work", "slower"] == 2 * found.table.loc["load.work", "original"]
    far = found.distances.set_index("distribution")
    assert far.loc["run", "wasserstein"] == pytest.approx(
        trace.column("run").mean() / trace.column("run").std()
    )
    assert far.loc[["jobs_by_user", "first_arrivals", "week", "procs"], "ks"].tolist() == [0] * 4
    assert far.loc["work_by_user", "ks"] > 0
    assert not found.summary.loc["load.work", "within"]


def test_the_users_of_a_log_worked_by_hand():
    submit = np.array([0, 1800, 3600, WEEK, WEEK + 60, 2 * WEEK])
    columns = {"submit": submit, "run": [10, 20, 30, 40, 50, 60], "procs": [2] * 6}
    parts = LogParts(Trace.from_columns({**columns, "user": [1, 1, 2, 2, 2, 1]}))
    by_user = {what: DISTRIBUTIONS[what].sample(parts).tolist() for what in FIGURE_4}
    assert by_user == {
        "jobs_by_user": [3, 3],
        "sessions_by_user": [2, 2],
        "session_length_by_user": [900, 30],
        "work_by_user": [180, 240],
        "first_arrivals": [0, 3600 / DAY],
        "final_departures": [14, (WEEK + 60) / DAY],
        "activity": [14, (WEEK + 60 - 3600) / DAY],
        "week": [0, 0.5, 1, 0, 60 / 3600, 0],
    }


def test_curves_are_what_is_drawn(rng):
    trace = log(rng)
    found = compare(trace, log(rng, n=200), sections=["load"])
    assert list(found.curves) == list(DISTRIBUTIONS)
    jobs = np.sort(np.unique(trace.column("user"), return_counts=True)[1])
    assert found.curves["jobs_by_user"]["log"].dropna().tolist() == jobs.tolist()
    assert found.curves["week"].shape == (168, 2)
    assert found.curves["week"].sum().tolist() == pytest.approx([1, 1])
    assert found.curves["run"].iloc[-1].tolist() == [1, 1]


@pytest.mark.parametrize("others", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in (2, 8))])
def test_distributions_are_overlaid(rng, others):
    found = compare({str(i): log(rng, n=40 + i) for i in range(1 + others)}, sections=[])
    assert list(found.curves) == list(DISTRIBUTIONS)
    for what, data in found.curves.items():
        ax = Figure().add_subplot()
        assert found.plot(ax, distribution=what) is ax
        assert len([line for line in ax.lines if line.get_xdata().size]) == 1 + others
        assert ax.get_ylabel()
        if others:
            assert ax.get_legend().get_texts()[0].get_text() == "0"
        other = Figure().add_subplot()
        assert plot_overlaid(data, other, distribution=what) is other


def test_measures_are_drawn_relative_to_the_first(rng):
    found = compare(log(rng), log(rng), sections=["load"])
    ax = Figure().add_subplot()
    assert plot_measures(found.table, ax) is ax
    relative = [line.get_xdata()[0] for line in ax.lines[1:]]
    assert relative == [pytest.approx(found.table.iloc[0, 1] / found.table.iloc[0, 0])]


@pytest.mark.slow
def test_every_section_has_measures(rng):
    found = measures(log(rng))
    for name in SECTIONS:
        assert any(key.startswith(f"{name}.") for key in found), name
    assert not any(key.endswith(("_low", "_high")) for key in found)


@pytest.mark.slow
def test_every_section_of_the_report_that_measures_is_compared(rng):
    modules = [section.__module__ for section in report.SECTIONS.values()]
    of_report = {module.removeprefix("workloadkit.analysis.") for module in modules}
    # the file; what was added to it; what the site wrote next to it; who is in the log
    not_measured = {"load.overview", "utilities", "waits.summary", "operations.requesting"}
    not_measured |= {"automatic", "operations.gpus"}
    assert {module for module, _ in SECTIONS.values()} == of_report - not_measured
    assert measures(log(rng), ["fits"])["fits.distances.gamma.run"] < 0.5


@pytest.mark.slow
def test_poor_logs_have_gaps_and_no_errors(rng):
    n = 60
    poor = {
        "no users": log(rng, n=n, user=[-1] * n),
        "no waits": log(rng, n=n, wait=[-1] * n),
        "none ran": log(rng, n=n, run=[-1] * n),
        "one job": log(rng, n=1),
        "no jobs": Trace.from_columns({"submit": []}),
    }
    found = compare({"rich": log(rng), **poor}, sections=["load", "users", "sessions"])
    assert found.table["rich"].notna().sum() > 30
    assert found.table.loc["users.n_users", ["no users", "none ran", "no jobs"]].isna().all()
    assert json.dumps(found.to_dict(), allow_nan=False)
    assert set(found.curves) == set(DISTRIBUTIONS)  # what one log knows is drawn
    for what in found.curves:
        assert found.plot(Figure().add_subplot(), distribution=what)


def test_what_cannot_be_compared_is_refused(rng):
    with pytest.raises(ParameterError, match="give one Trace or more"):
        compare()
    with pytest.raises(ParameterError, match="give one Trace or more"):
        compare(log(rng), "KTH")
    with pytest.raises(ParameterError, match="unknown section 'weather'; known: load"):
        compare(log(rng), sections=["weather"])
    with pytest.raises(ParameterError, match="unknown distribution 'weather'"):
        compare(log(rng), sections=[]).plot(Figure().add_subplot(), distribution="weather")


def test_rows_of_tables_are_measures_too(rng):
    trace = log(rng)
    found = measures(trace, ["locality", "cycles"])
    assert found["locality.stack_depths.procs.depth"] == stack_depth(trace.column("procs"))
    assert found["cycles.days.Monday.jobs"] >= 0
    assert not any(" " in name for name in found)


def test_numbers_are_found_in_nested_values():
    values = {"a": 1, "b": {"c": 2.5, "d": None, "word": "x", "c_low": 1, "low": 1}, "list": [1, 2]}
    assert str(log_comparison._flat(values)) == "[('a', 1.0), ('b.c', 2.5), ('b.d', nan)]"


@pytest.mark.slow
@needs_traces
def test_halves_of_the_users_of_a_real_log():
    trace = wk.read_swf(trace_path("KTH-SP2-1996-2"))
    even = trace.column("user") % 2 == 0
    found = compare({"all": trace, "even": trace.select(even), "odd": trace.select(~even)})
    assert found.table.loc["users.n_users", "all"] == 214
    assert found.farthest.loc["week", "ks_max"] < 0.05
    # days of half as many jobs are more of one kind
    of_days = found.farthest.index.str.startswith("concentration")
    assert found.farthest.loc[~of_days, "ks_max"].max() < 0.3
    assert found.farthest.loc[of_days, "ks_max"].max() < 0.5


def of_work(*runs):
    """Logs of one job each, by run time."""
    return {
        str(place): Trace.from_columns({"submit": [0], "run": [run], "procs": [1]})
        for place, run in enumerate(runs)
    }


def test_the_first_log_is_compared_with_the_range_of_the_others():
    row = compare(of_work(10, 20, 40), sections=["load"]).summary.loc["load.work"]
    assert row[["first", "mean", "min", "max"]].tolist() == [10, 30, 20, 40]
    assert row["sd"] == pytest.approx(200**0.5)
    assert not row["within"]


@pytest.mark.parametrize("runs", [(20, 10, 20), (20, 20, 30), (20, 10, 30)])
def test_the_ends_of_a_range_lie_within_it(runs):
    assert compare(of_work(*runs), sections=["load"]).summary.loc["load.work", "within"]


def of_runs(*logs):
    """Logs of some jobs each, by their run times."""
    return {
        str(place): Trace.from_columns(
            {"submit": [0] * len(runs), "run": runs, "procs": [1] * len(runs)}
        )
        for place, runs in enumerate(logs)
    }


def test_the_farthest_worked_by_hand():
    found = compare(of_runs([1, 2], [1, 2], [1, 4]), sections=[])
    # moved by 1 in the mean; the standard deviation of 1 and 2 is 1/2
    far = found.farthest.loc["run"]
    assert far[["ks_mean", "ks_max"]].tolist() == [0.25, 0.5]
    assert far[["wasserstein_mean", "wasserstein_max"]].tolist() == pytest.approx([1, 2])


def test_where_values_are_alike_there_is_no_unit_for_what_moved():
    found = compare(of_runs([5, 5], [5, 5], [5, 7]), sections=[]).distances
    moved = found[found["distribution"] == "run"]["wasserstein"].tolist()
    assert moved == pytest.approx([0, np.nan], nan_ok=True)


def test_logs_are_compared_within_their_windows(rng):
    submit = np.append(np.arange(0, 60) * DAY, [0, 60 * DAY])
    header = Header(("; MaxProcs: 8", f"; Window: {10 * DAY} {40 * DAY}"))
    n = submit.size
    columns = {"submit": submit, "run": rng.integers(1, 9000, n), "procs": rng.integers(1, 9, n)}
    trace = Trace.from_columns(columns | {"user": rng.integers(1, 5, n)}, header=header)
    inside = trace.within_window()
    assert inside.n_jobs == 31
    found = compare({"all": trace, "in": inside}, sections=["load", "marginals", "users"])
    assert (found.distances["n"] == found.distances["n_first"]).all()
    assert found.distances["ks"].max() == 0
    same = found.table.index[~found.table.index.str.startswith("load")]
    assert found.table.loc[same, "all"].equals(found.table.loc[same, "in"].rename("all"))
    assert found.table.loc["load.work", "all"] > found.table.loc["load.work", "in"]


def test_arrivals_are_those_of_jobs_that_ran_and_days_count_from_the_first_of_all():
    log = {"submit": [0, DAY, 3 * DAY, 6 * DAY], "run": [1, -1, 1, 1], "procs": [1] * 4}
    parts = LogParts(Trace.from_columns(log | {"user": [-1, 3, 2, 3]}))
    assert DISTRIBUTIONS["inter_arrival"].sample(parts).tolist() == [3 * DAY, 3 * DAY]
    assert DISTRIBUTIONS["first_arrivals"].sample(parts).tolist() == [3, 6]
    assert DISTRIBUTIONS["activity"].sample(parts).tolist() == [0, 0]


def test_curves_of_few_users_worked_by_hand():
    users = {"a": [7, 8, 8, 8], "b": [1, 2, 3, 3]}
    submit = [0, 1800, 5 * 3600, 5 * 3600 + 1]
    logs = {
        name: Trace.from_columns({"submit": submit, "user": user, "run": [1] * 4, "procs": [1] * 4})
        for name, user in users.items()
    }
    curves = compare(logs, sections=[]).curves
    jobs = curves["jobs_by_user"]
    assert jobs.index.tolist() == [1, 2, 3]
    assert jobs["a"].tolist() == pytest.approx([1, 3, np.nan], nan_ok=True)
    assert jobs["b"].tolist() == [1, 1, 2]
    week = curves["week"]["a"]
    assert week[week > 0].to_dict() == {0: 0.5, 5: 0.5}


def test_logs_of_one_name_are_numbered():
    logs = of_work(1, 2, 3).values()
    assert compare(*logs, sections=[]).names == ("trace", "trace (2)", "trace (3)")


@pytest.mark.parametrize(
    ("others", "legend"), [(3, ["0", "1", "2", "3"]), (4, ["0", "4 versions"])]
)
def test_more_than_three_others_go_by_one_name(others, legend):
    data = pd.DataFrame(np.ones((2, 1 + others)), columns=[str(i) for i in range(1 + others)])
    ax = plot_overlaid(data, Figure().add_subplot(), others="versions")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == legend


def test_measures_that_the_first_log_lacks_are_not_drawn():
    index = ["load.work", "users.none", "load.unknown", "load.makespan"]
    data = pd.DataFrame({"a": [2, 0, np.nan, 4], "b": [1, 3, 3, 8]}, index)
    ax = plot_measures(data, Figure().add_subplot())
    assert ax.lines[1].get_xdata().tolist() == [0.5, 2]
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == ["load: work", "load: makespan"]


def test_users_beyond_those_of_a_log_are_unknown_and_curves_have_500_points_at_most():
    samples = {"few": np.array([9.0, 5, 2]), "more": np.arange(500.0, 0, -1)}
    curves = log_comparison._curves("users", samples)
    assert curves.index.tolist() == list(range(1, 501))
    assert curves["few"].iloc[:3].tolist() == [9, 5, 2]
    assert curves["few"].iloc[3:].isna().all()
    assert curves["more"].tolist() == samples["more"].tolist()
    samples["more"] = np.arange(1001.0, 0, -1)
    curves = log_comparison._curves("users", samples)
    assert len(curves) == 500
    assert (curves.index[0], curves.index[-1]) == (1, 1001)
    assert (curves["more"] == 1002 - curves.index).all()


def test_arrivals_of_each_hour_of_the_week_are_shares_of_all():
    samples = {"log": np.array([0.0, 0.99, 1, 167.99]), "none": np.empty(0)}
    curves = log_comparison._curves("week", samples)
    assert curves.loc[[0, 1, 167], "log"].tolist() == [0.5, 0.25, 0.25]
    assert curves["log"].sum() == 1
    assert len(curves) == 168
    assert (curves["none"] == 0).all()
