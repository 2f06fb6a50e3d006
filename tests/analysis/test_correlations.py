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
from workloadkit import Trace
from workloadkit.analysis.distributions import correlations
from workloadkit.analysis.distributions.correlation import (
    _finding,
    plot_correlations,
    plot_sizes,
    section,
)
from workloadkit.analysis.distributions.rank_correlation import (
    class_tables,
    table_kendall,
    table_spearman,
)

TABLES = st.lists(
    st.lists(st.integers(0, 6), min_size=4, max_size=4), min_size=2, max_size=5
).filter(lambda rows: sum(map(sum, rows)) > 1)


def log(rng, n=400, **columns):
    user = rng.integers(1, 15, n)
    values = {
        "submit": np.sort(rng.integers(0, 10**6, n)),
        "wait": rng.integers(0, 900, n),
        "run": rng.integers(0, 9000, n),
        "procs": rng.integers(1, 65, n),
        "requested_time": rng.integers(1, 9000, n),
        "memory": rng.integers(1, 500, n),
        "user": user,
    }
    return Trace.from_columns({**values, **columns})


@given(TABLES)
def test_correlations_of_tables_agree_with_those_of_their_jobs(rows):
    table = np.array(rows)
    x, y = np.nonzero(table)
    counts = table[x, y]
    x, y = np.repeat(x, counts), np.repeat(y, counts)
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        assert np.isnan([table_spearman([table])[0], table_kendall([table])[0]]).all()
        return
    assert table_spearman([table])[0] == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-9)
    assert table_kendall([table])[0] == pytest.approx(stats.kendalltau(x, y).statistic, abs=1e-9)


def test_classes_are_of_equal_size_and_draws_count_jobs_by_their_users():
    rank, user = np.arange(1.0, 65), np.repeat([0, 1], 32)
    weights = np.array([[1.0, 1.0], [3.0, 0.0]])
    both, first = class_tables(rank, rank, user, weights)
    assert np.diag(both).tolist() == [2] * 32
    assert np.diag(first).tolist() == [6] * 16 + [0] * 16
    assert (both.sum(), first.sum()) == (64, 96)


def test_each_pair_agrees_with_scipy_where_both_are_known(rng):
    memory = rng.integers(1, 500, 400).astype(float)
    memory[:100] = np.nan
    wait = np.where(np.arange(400) % 3, rng.integers(0, 99, 400), -1)
    trace = log(rng, memory=memory, wait=wait)
    found = correlations(trace, rng=1)
    assert len(found.table) == 15
    columns = {
        "procs": trace.column("procs"),
        "run": trace.column("run"),
        "estimate": trace.column("requested_time"),
        "wait": trace.column("wait"),
        "memory": memory,
        "inter_arrival": np.append(np.nan, np.diff(trace.column("submit"))),
    }
    for row in found.table.to_dict("records"):
        x, y = columns[row["first"]], columns[row["second"]]
        both = np.isfinite(x) & np.isfinite(y)
        x, y = x[both], y[both]
        assert row["n"] == both.sum()
        assert row["spearman"] == pytest.approx(stats.spearmanr(x, y).statistic)
        assert row["kendall"] == pytest.approx(stats.kendalltau(x, y).statistic)
        above = (x > 0) & (y > 0)
        expected = stats.pearsonr(np.log(x[above]), np.log(y[above])).statistic
        assert row["n_log"] == above.sum()
        assert row["pearson_log"] == pytest.approx(expected)
        for kind in ("spearman", "kendall", "pearson_log"):
            assert row[f"{kind}_low"] <= row[f"{kind}_high"]


@pytest.mark.slow
def test_intervals_cover_what_users_differ_in():
    # The jobs of a user are alike: 20 users tell as much as 20 jobs do, not as 2,000.
    covered, widths = 0, []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=20)
        y = 0.6 * x + 0.8 * rng.normal(size=20)
        user = np.repeat(np.arange(20), 100)
        run, procs = np.exp(3 + x[user]), np.exp(9 + y[user])
        noise = np.exp(rng.normal(0, 0.05, 2000))
        trace = Trace.from_columns(
            {"submit": np.arange(2000), "run": run, "procs": procs * noise, "user": user}
        )
        row = correlations(trace, rng=seed).table.iloc[0]
        covered += row["pearson_log_low"] <= 0.6 <= row["pearson_log_high"]
        widths.append(row["pearson_log_high"] - row["pearson_log_low"])
    assert covered >= 23  # the percentile interval of 20 is known to cover somewhat less than 95 %
    assert 0.4 < np.mean(widths) < 0.9


def test_rank_intervals_lie_about_the_exact_correlation(rng):
    n = 2000
    run = rng.lognormal(5, 2, n)
    wait = run**0.5 * rng.lognormal(1, 1, n)
    user = rng.integers(0, 200, n)
    columns = {"submit": np.arange(n), "run": run, "procs": [1] * n, "wait": wait, "user": user}
    found = correlations(Trace.from_columns(columns), rng=2)
    assert found.left_out["procs"] == "it is the same for all jobs"
    row = found.table.iloc[0]
    for kind in ("spearman", "kendall"):
        middle = (row[f"{kind}_low"] + row[f"{kind}_high"]) / 2
        assert middle == pytest.approx(row[kind], abs=0.01)
        assert 0.02 < row[f"{kind}_high"] - row[f"{kind}_low"] < 0.08


def test_order_is_all_that_counts_for_ranks(rng):
    trace = log(rng)
    stretched = trace.with_columns(run=trace.column("run") ** 3)
    one, other = (
        correlations(t, rng=1).table.set_index(["first", "second"]) for t in (trace, stretched)
    )
    columns = ["spearman", "spearman_low", "kendall", "kendall_high"]
    np.testing.assert_allclose(one[columns], other[columns], atol=1e-12)


def test_run_times_by_size():
    log = {"procs": [1, 3, 4, 3, 16], "run": [10, 1, 2, 6, 8], "user": [1, 1, 2, 3, 3]}
    sizes = correlations(Trace.from_columns({"submit": range(5), **log}), rng=1).sizes
    assert sizes[["low", "high", "jobs", "mean", "median"]].to_numpy().tolist() == [
        [1, 1, 1, 10, 10],
        [3, 4, 3, 3, 2],
        [9, 16, 1, 8, 8],
    ]


def test_without_users_there_are_no_intervals(rng):
    found = correlations(log(rng, user=[-1] * 400), rng=1)
    assert found.table["spearman"].notna().all()
    assert found.table["spearman_low"].isna().all()
    assert found.sizes["mean_low"].isna().all()
    shown = section(log(rng, user=[-1] * 400))
    assert "No user is known" in " ".join(shown.notes)
    assert "interval" not in shown.finding


def test_the_map_is_symmetric(rng):
    square = correlations(log(rng), rng=1).matrix("kendall")
    assert (square.to_numpy() == square.to_numpy().T).all()
    assert (np.diag(square) == 1).all()


def test_the_section_says_what_correlates(rng):
    procs = rng.integers(1, 65, 400)
    shown = section(log(rng, procs=procs, run=procs * 100 + rng.integers(0, 99, 400)))
    assert shown.finding.startswith("Larger jobs run longer: rank correlation 1.00")
    assert [table.name for table in shown.tables] == ["pairs", "sizes"]
    assert shown.values["procs_run"]["n"] == 400
    for figure in shown.figures:
        ax = Figure().add_subplot()
        assert figure.plot(figure.data, ax=ax) is ax
        assert ax.get_ylabel()
    assert json.dumps(shown.to_dict(), allow_nan=False)


def test_a_section_is_the_same_again(rng):
    trace = log(rng, n=60)
    assert section(trace).values == section(trace).values


@pytest.mark.parametrize("n", [1, 9])
def test_few_jobs_show_nothing(rng, n):
    assert "too few for correlations" in section(log(rng, n=n)).notes[0]


def test_jobs_all_alike_show_nothing():
    columns = {"submit": [7] * 20, "run": [5] * 20, "procs": [2] * 20, "user": [1] * 20}
    shown = section(Trace.from_columns(columns))
    assert len(shown.notes) == 6
    assert [table.name for table in shown.tables] == ["sizes"]
    assert not shown.finding


def test_results_are_plain_and_draw_themselves(rng):
    found = correlations(log(rng), rng=1)
    ax = Figure().add_subplot()
    assert found.plot(ax) is ax
    assert json.dumps(found.to_dict(), allow_nan=False)


@needs_traces
def test_a_real_log():
    found = correlations(wk.read_swf(trace_path("KTH-SP2-1996-2")), rng=1)
    assert found.left_out == {"memory": "it is unknown"}
    rows = found.table.set_index(["first", "second"])
    assert rows.loc[("run", "estimate"), "spearman"] > 0.5


def test_ten_jobs_are_enough_and_nine_values_too_few(rng):
    shown = section(log(rng, n=10, memory=[-1] * 10, wait=[-1] * 10))
    assert np.isfinite(shown.values["procs_run"]["spearman"])
    assert list(shown.values) == ["procs_run", "procs_estimate", "run_estimate"]
    assert shown.notes[-1] == (
        "No correlation with inter-arrival time: it is known for too few jobs."
    )


def test_jobs_of_unknown_user_have_a_part_in_means_but_none_in_intervals():
    # Of two users each is drawn alone in a quarter of the draws.
    log = {"submit": range(3), "run": [10, 30, 500], "procs": [1] * 3, "user": [1, 2, -1]}
    sizes = correlations(Trace.from_columns(log), rng=1).sizes
    assert sizes.loc[0, ["mean", "mean_low", "mean_high"]].tolist() == [180, 10, 30]


def test_some_unknown_users_are_no_reason_to_lack_intervals(rng):
    unknown = [-1] * 40
    trace = log(rng, n=40, memory=unknown, wait=unknown, user=[-1] * 10 + [1, 2, 3] * 10)
    shown = section(trace)
    assert not any("No user is known" in note for note in shown.notes)
    assert np.isfinite(shown.values["procs_run"]["spearman_low"])


def test_what_goes_apart_is_reported(rng):
    procs, estimate = rng.integers(1, 65, 400), rng.integers(1, 9000, 400)
    shown = section(
        log(
            rng,
            submit=[0] * 400,
            memory=[-1] * 400,
            procs=procs,
            run=9000 - 100 * procs + rng.integers(0, 99, 400),
            requested_time=estimate,
            wait=9000 - estimate,
        )
    )
    assert shown.finding.startswith("Larger jobs run shorter: rank correlation −1.00")
    assert (
        "The strongest other correlation is negative, between estimate and wait: "
        "rank correlation −1.00" in shown.finding
    )


def test_the_map_is_of_the_kind_requested(rng):
    found = correlations(log(rng, n=40, memory=[-1] * 40, wait=[-1] * 40), rng=1)
    row = found.table.iloc[1]
    for kind in ("spearman", "kendall", "pearson_log"):
        assert found.matrix(kind).loc[row["first"], row["second"]] == row[kind]


def test_processors_and_estimates_are_one_of_the_other_pairs(rng):
    procs, unknown = rng.integers(1, 65, 400), [-1] * 400
    shown = section(
        log(rng, submit=[0] * 400, memory=unknown, wait=unknown, procs=procs, requested_time=procs)
    )
    assert (
        "The strongest other correlation is positive, between processors and estimate: "
        "rank correlation 1.00" in shown.finding
    )


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [(0.1, 0.9, True), (-0.1, 0.9, False), (0.0, 0.9, False), (np.nan, np.nan, True)],
)
def test_a_correlation_is_reported_if_its_interval_leaves_no_doubt(low, high, said):
    row = {"first": "run", "second": "estimate", "spearman": 0.6}
    table = pd.DataFrame([row | {"spearman_low": low, "spearman_high": high}])
    assert ("positive, between run time and estimate" in _finding(table)) == said


def test_the_tables_of_correlations_as_they_are_read():
    columns = {"submit": range(12), "run": [60] * 6 + [120] * 5 + [240], "procs": [1] * 6 + [4] * 6}
    pairs, sizes = section(Trace.from_columns(columns)).tables
    assert sizes.shown.reset_index().to_numpy().tolist() == [
        ["1", "6", "1 min", "1 min"],
        ["4", "6", "2 min", "2 min 20 s"],
    ]
    assert sizes.shown.columns.tolist() == ["jobs", "median run time", "mean run time"]
    (row,) = pairs.shown.reset_index().to_numpy().tolist()
    assert row == ["processors, run time", "12", "0.97", "0.94", "0.91"]
    assert pairs.shown.columns.tolist() == ["jobs", "Spearman", "Kendall", "Pearson, of logarithms"]


def test_what_is_reported_of_size_and_run_time_leaves_no_doubt():
    for value, low, high, said in (
        (0.6, 0.1, 0.9, "Larger jobs run longer"),
        (0.6, 0.0, 0.9, "No significant correlation between size and run time"),
        (-0.6, -0.9, 0.0, "No significant correlation between size and run time"),
        (-0.6, -0.9, -0.1, "Larger jobs run shorter"),
        (0.1, np.nan, np.nan, "No significant correlation between size and run time"),
        (0.11, np.nan, np.nan, "Larger jobs run longer"),
        (-0.1, np.nan, np.nan, "No significant correlation between size and run time"),
        (-0.11, np.nan, np.nan, "Larger jobs run shorter"),
    ):
        row = {"first": "procs", "second": "run", "spearman": value}
        table = pd.DataFrame([row | {"spearman_low": low, "spearman_high": high}])
        assert _finding(table).startswith(f"{said}: rank correlation ")


@pytest.mark.parametrize(("value", "said"), [(0.1, False), (-0.1, False), (-0.11, True)])
def test_without_intervals_a_correlation_of_a_tenth_is_chance(value, said):
    row = {"first": "run", "second": "estimate", "spearman": value}
    table = pd.DataFrame([row | {"spearman_low": np.nan, "spearman_high": np.nan}])
    assert bool(_finding(table)) == said


def test_the_strongest_correlation_is_chosen_among_the_significant_ones():
    rows = [
        ("run", "estimate", 0.9, -0.1, 0.99),
        ("run", "wait", -0.4, -0.5, -0.3),
        ("wait", "memory", 0.3, 0.2, 0.5),
    ]
    columns = ["first", "second", "spearman", "spearman_low", "spearman_high"]
    found = _finding(pd.DataFrame(rows, columns=columns))
    assert found.startswith("The strongest correlation is negative, between run time and wait")


# Figures


def test_each_pair_has_a_circle_as_large_as_its_correlation_is_strong():
    names = ["procs", "run", "wait"]
    data = pd.DataFrame(np.eye(3), index=names, columns=names)
    for first, second, value in (("procs", "run", 0.5), ("run", "wait", -0.25)):
        data.loc[first, second] = data.loc[second, first] = value
    data.loc["procs", "wait"] = data.loc["wait", "procs"] = np.nan
    ax = plot_correlations(data, Figure().add_subplot())
    drawn = {
        circles.get_label(): (circles.get_offsets().tolist(), circles.get_sizes().tolist())
        for circles in ax.collections
    }
    assert drawn == {"positive": ([[0, 1]], [210]), "negative": ([[1, 2]], [105])}
    assert [(text.xy, text.get_text()) for text in ax.texts] == [
        ((0, 1), "0.50"),
        ((1, 2), "−0.25"),
    ]
    across, down = (
        [label.get_text() for label in labels]
        for labels in (ax.get_xticklabels(), ax.get_yticklabels())
    )
    assert (across[0], across[1:]) == ("processors", down[:1])
    assert down == ["run time", "wait"]


def test_run_times_are_drawn_by_the_most_processors_of_each_class():
    data = pd.DataFrame(
        {
            "high": [1, 2, 2048],
            "mean": [100.0, 0.0, 400.0],
            "median": [50.0, 0.0, 200.0],
            "mean_low": [80.0, np.nan, 300.0],
            "mean_high": [120.0, np.nan, 500.0],
        }
    )
    ax = plot_sizes(data, Figure().add_subplot())
    drawn = {line.get_label(): line.get_xydata().tolist() for line in ax.lines}
    assert drawn == {
        "mean run time": [[0, 100], [2, 400]],  # what is 0 has no place on the axis
        "median run time": [[0, 50], [2, 200]],
    }
    (intervals,) = ax.collections
    assert [segment.tolist() for segment in intervals.get_segments()] == [
        [[0, 80], [0, 120]],
        [[2, 300], [2, 500]],
    ]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "2", "2,048"]
