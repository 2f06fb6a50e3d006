import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from tests.oracles import waiting
from workloadkit import Trace
from workloadkit.analysis.distributions import accuracy, marginals

VALUES = st.lists(st.floats(0, 1e9), min_size=1)


@given(VALUES)
def test_percentiles_agree_with_their_definition(values):
    numbers = marginals.describe(values)
    for p in marginals.PERCENTILES:
        assert numbers[f"p{p}"] == pytest.approx(waiting.percentile(values, p))


@given(VALUES)
def test_moments_agree_with_their_definition(values):
    numbers = marginals.describe([*values, np.nan])
    n = len(values)
    mean = math.fsum(values) / n
    assert (numbers["count"], numbers["known"]) == (n, n / (n + 1))
    assert numbers["mean"] == pytest.approx(mean)
    assert (numbers["min"], numbers["max"]) == (min(values), max(values))
    if n > 1:
        sd = math.sqrt(math.fsum((x - mean) ** 2 for x in values) / (n - 1))
        assert numbers["sd"] == pytest.approx(sd, abs=1e-6)


def test_nothing_known_gives_a_count_of_0_and_else_nan():
    numbers = marginals.describe([np.nan, np.nan])
    assert (numbers["count"], numbers["known"]) == (0, 0)
    assert np.isnan(numbers["mean"])
    assert np.isnan(numbers["p50"])


@given(VALUES)
def test_cumulative_shares_agree_with_counting(values):
    shares = marginals.cumulative_shares({"run": values}, n_points=20)
    for value, share in shares["run"].items():
        assert share == sum(x <= value for x in values) / len(values)
    assert shares["run"].iloc[-1] == 1


@given(st.lists(st.tuples(st.integers(1, 300), st.integers(0, 100)), min_size=1))
def test_size_classes_agree_with_counting(jobs):
    procs, run = (np.array(column) for column in zip(*jobs, strict=True))
    work = procs * run
    classes = marginals.size_classes(procs, work)
    assert classes["low"].tolist()[1:] == (classes["high"] + 1).tolist()[:-1]
    for row in classes.itertuples():
        inside = (procs >= row.low) & (procs <= row.high)
        assert row.power_of_two == pytest.approx(np.mean(procs == row.high))
        assert row.other == pytest.approx(np.mean(inside & (procs != row.high)))
        assert row.work * max(work.sum(), 1) == pytest.approx(work[inside].sum())


def test_only_jobs_that_ran_are_measured():
    log = {"submit": [0, 1, 2], "run": [5, np.nan, 7], "procs": [2, 2, 0], "wait": [95, 1, 1]}
    samples = marginals.quantities(Trace.from_columns(log))
    assert samples["run"].tolist() == [5]
    assert samples["bounded_slowdown"].tolist() == [10]


@given(st.lists(st.floats(0, 3), min_size=1))
def test_the_histogram_of_accuracy_agrees_with_counting(ratio):
    bins = accuracy.accuracy_histogram(np.array(ratio), n_bins=4)
    for i, row in enumerate(bins.itertuples()):
        n = sum(row.above < x <= row.to or (i == 0 and x == 0) for x in ratio)
        assert row.share == n / len(ratio)


def test_what_ends_at_an_edge_belongs_to_the_bin_that_ends_there():
    bins = accuracy.accuracy_histogram(np.arange(21) / 20)  # 0 belongs to the first
    assert bins["share"].mul(21).round(9).tolist() == [2, *[1] * 19, 0]
    bins = accuracy.accuracy_histogram(np.array([0.25, 0.5, 0.5, 1.0, 1.25]), n_bins=4)
    assert bins["share"].tolist() == [0.2, 0.4, 0, 0.2, 0.2]


def test_accuracy_counts_what_it_says():
    log = {"submit": range(6), "run": [100, 95, 120, 5, 50, 1], "procs": [1] * 6}
    log["requested_time"] = [100, 100, 100, 100, 100, np.nan]
    section = accuracy.section(Trace.from_columns(log))
    assert section.values["n_jobs"] == 5
    assert section.values["above_estimate"] == 0.2
    assert section.values["within_10_percent"] == 0.4
    assert section.values["below_10_percent"] == 0.2
    assert section.values["n_estimates"] == 1
    assert section.notes == ("Left out: 1 job that ran without an estimate.",)


def test_exactly_a_tenth_more_or_less_is_within_it():
    log = {"submit": [0, 1], "run": [90, 110], "procs": [1, 1], "requested_time": [100, 100]}
    assert accuracy.section(Trace.from_columns(log)).values["within_10_percent"] == 1


def test_an_estimate_of_zero_is_none():
    log = {"submit": [0, 1], "run": [100, 50], "procs": [1, 1], "requested_time": [0, 100]}
    assert accuracy.run_over_estimate(Trace.from_columns(log)).tolist() == [0.5]


def test_what_uses_just_a_tenth_of_its_estimate_does_not_use_less():
    log = {"submit": range(5), "run": [10, 9, 50, 100, 101], "procs": [1] * 5}
    values = accuracy.section(Trace.from_columns(log | {"requested_time": [100] * 5})).values
    assert values["below_10_percent"] == values["above_estimate"] == 0.2
    assert (values["mean"], values["median"]) == (pytest.approx(0.54), 0.5)


def test_popular_estimates_are_those_of_jobs_that_ran_equally_popular_ones_by_length():
    log = {"submit": range(8), "run": [9] * 7 + [-1], "procs": [1] * 8}
    log["requested_time"] = [90, 60, 60, 90, 30, 0, -1, 60]
    popular = accuracy.popular_estimates(Trace.from_columns(log), n=2)
    assert popular["estimate"].tolist() == [60, 90]
    assert popular["jobs"].tolist() == [2, 2]
    assert popular["share"].tolist() == [0.4, 0.4]


def test_the_ten_most_popular_estimates_need_not_cover_all_jobs():
    log = {"submit": range(12), "run": [9] * 12, "procs": [1] * 12}
    log["requested_time"] = [60, *range(60, 71)]
    section = accuracy.section(Trace.from_columns(log))
    assert section.values["n_estimates"] == 11
    assert section.values["popular_share"] == pytest.approx(11 / 12)
    assert "The most popular 10 estimates cover 92 % of the jobs." in section.finding


@pytest.mark.parametrize(
    ("values", "first", "last"),
    [
        ([5, 200], 1, 200),
        ([1], 1, 10),
        ([0.25, 0.5], 0.25, 0.5),
        ([0.5], 0.5, 5),
        ([0, 0], 1, 1),
        ([0.5, 10, 10], 1, 10),
        ([1e-6, 0.5], 1e-3, 0.5),
    ],
)
def test_cumulative_shares_span_the_values(values, first, last):
    shares = marginals.cumulative_shares({"run": values}, n_points=5)
    assert shares.index[[0, -1]].tolist() == [first, last]


def test_one_value_does_not_vary_and_zeros_have_no_coefficient_of_variation():
    one, zeros = marginals.describe([7]), marginals.describe([0, 0])
    assert (one["count"], one["mean"], one["p50"]) == (1, 7, 7)
    assert np.isnan([one["sd"], one["cv"], zeros["cv"]]).all()
    assert zeros["sd"] == 0


def test_the_section_says_what_jobs_are_like():
    log = {"submit": range(4), "run": [10, 20, 30, 40], "procs": [1, 1, 2, 3]}
    section = marginals.section(Trace.from_columns(log))
    assert (section.values["serial_share"], section.values["power_of_two_share"]) == (0.5, 0.75)
    assert section.finding == (
        "The median job ran 25 s on 1.5 processors; 50 % of the jobs are serial and 75 % use a "
        "power of two."
    )
    assert section.notes[:2] == ("No estimate is known.", "No wait is known.")
    assert [figure.name for figure in section.figures] == ["processors", "times"]
    shown = section.tables[0].shown
    assert shown.loc["mean", ["processors", "run time", "wait"]].tolist() == ["1.75", "25 s", "–"]
    assert shown.loc["coefficient of variation", "run time"] == "0.516"
    assert shown.loc["share of the jobs that ran", ["run time", "wait"]].tolist() == [
        "100 %",
        "0 %",
    ]


def test_the_section_says_who_waited():
    log = {"submit": range(4), "run": [10, 20, 30, 40], "procs": [1] * 4, "wait": [0, 0, 0, 120]}
    assert marginals.section(Trace.from_columns(log)).finding.endswith(
        "Half of the jobs did not wait (median wait 0 s); 5 % of the jobs waited 2 min or "
        "more. The mean bounded slowdown is 1.75."
    )


def test_words_are_listed_as_in_a_sentence():
    assert marginals.listed(["waits"]) == "waits"
    assert marginals.listed(["run times", "waits"]) == "run times and waits"


def test_many_equally_popular_estimates_are_in_the_order_of_their_lengths():
    estimates = np.repeat(np.arange(60, 100), np.tile([1, 2], 20))  # each odd one twice
    log = {"submit": range(60), "run": [9] * 60, "procs": [1] * 60, "requested_time": estimates}
    popular = accuracy.popular_estimates(Trace.from_columns(log), n=40)
    assert popular["estimate"].tolist() == [*range(61, 100, 2), *range(60, 100, 2)]


def test_estimates_are_judged_if_any_job_ran():
    log = {"submit": [0, 1], "run": [50, -1], "procs": [1, 1], "requested_time": [100, 100]}
    section = accuracy.section(Trace.from_columns(log))
    assert (section.values["n_jobs"], section.values["median"]) == (1, 0.5)
    assert section.notes == ()


def test_sizes_and_times_are_those_of_the_jobs_that_ran():
    log = {"submit": [0, 1], "run": [50, -1], "procs": [2, 64]}
    section = marginals.section(Trace.from_columns(log))
    assert (section.values["run"]["count"], section.values["procs"]["max"]) == (1, 2)


def test_jobs_without_processors_have_no_accuracy():
    log = {"submit": [0, 1, 2], "run": [50, 20, 0], "procs": [1, -1, 0]}
    trace = Trace.from_columns(log | {"requested_time": [100, 100, 100]})
    assert accuracy.run_over_estimate(trace).tolist() == [0.5]


def test_the_tables_of_accuracy_as_they_are_read():
    run = [100, 95, 120, 130, 145, 5, 50, 60, 75, 20]
    log = {"submit": range(10), "run": run, "procs": [1] * 10}
    section = accuracy.section(Trace.from_columns(log | {"requested_time": [100] * 9 + [40]}))
    summary, popular = section.tables
    assert summary.shown[""].tolist() == ["10", "83 %", "85 %", "30 %", "20 %", "10 %"]
    assert list(summary.shown.index[3:]) == [
        "ran longer than estimated",
        "within 10 % of the estimate",
        "used less than 10 % of the estimate",
    ]
    assert popular.shown.reset_index().to_numpy().tolist() == [
        [1, "1 min 40 s", "9", "90 %"],
        [2, "40 s", "1", "10 %"],
    ]
    assert section.finding == (
        "The median job uses 85 % of its estimate; 30 % run longer than estimated. The most "
        "popular 2 estimates cover 100 % of the jobs."
    )


def test_what_a_slowdown_is_bounded_by_and_where_shares_are_reported_is_the_same_each_time():
    log = {"submit": [0, 1], "run": [5, 100], "procs": [1, 1], "wait": [0, 50]}
    section = marginals.section(Trace.from_columns(log))
    assert section.parameters == {"slowdown_bound": 10}
    assert [len(figure.data) for figure in section.figures] == [1, 300, 300]


def test_sizes_are_drawn_as_bars_of_jobs_and_of_work_side_by_side():
    data = pd.DataFrame(
        {
            "low": [1, 2, 3],
            "high": [1, 2, 4],
            "power_of_two": [0.25, 0.125, 0.25],
            "other": [0, 0, 0.375],
            "work": [0.0625, 0.1875, 0.75],
        }
    )
    ax = marginals.plot_size_classes(data, Figure().add_subplot())
    exact, other, work = (
        [(bar.get_y(), bar.get_height()) for bar in bars] for bars in ax.containers
    )
    assert exact == [(0, 0.25), (0, 0.125), (0, 0.25)]
    assert other == [(0.25, 0), (0.125, 0), (0.25, 0.375)]
    assert work == [(0, 0.0625), (0, 0.1875), (0, 0.75)]
    names = [bars.get_label() for bars in ax.containers]
    assert names == ["jobs, 2ⁿ", "jobs, other sizes", "work"]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "2", "4"]
    # Bars of jobs end, and those of work begin, at the middle of their class.
    assert [bar.get_x() for bar in ax.containers[2]] == [0, 1, 2]
    assert [max(bar.get_x(), bar.get_x() + bar.get_width()) for bar in ax.containers[0]] == [
        0,
        1,
        2,
    ]
    assert ax.get_ylim()[1] == pytest.approx(1.05 * 0.75)


def test_a_share_at_or_below_stays_until_the_next_value():
    data = pd.DataFrame({"run": [0.25, 1], "wait": [0.5, 0.75]}, index=[60.0, 3600])
    ax = marginals.plot_cumulative(data, Figure().add_subplot(), label="time")
    assert [line.get_label() for line in ax.lines] == ["run", "wait"]
    assert [line.get_ydata().tolist() for line in ax.lines] == [[0.25, 1], [0.5, 0.75]]
    assert [line.get_xdata().tolist() for line in ax.lines] == [[60, 3600]] * 2
    assert {line.get_drawstyle() for line in ax.lines} == {"steps-post"}


def test_how_much_of_an_estimate_is_used_is_drawn_by_bins_and_beyond_it_apart():
    data = pd.DataFrame(
        {"above": [0, 0.25, 0.5, 0.75, 1], "share": [0.125, 0.25, 0.125, 0.375, 0.0625]}
    )
    ax = accuracy.plot_accuracy(data, Figure().add_subplot())
    within, beyond = ([(bar.get_x(), bar.get_height()) for bar in c] for c in ax.containers)
    assert within == [(0, 0.125), (0.25, 0.25), (0.5, 0.125), (0.75, 0.375)]
    assert beyond == [(1.5, 0.0625)]
    assert ax.get_xticklabels()[-1].get_text() == "more"
    assert [label.get_text() for label in ax.get_xticklabels()][1:3] == ["20 %", "40 %"]
