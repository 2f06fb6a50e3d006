"""Ways to delimit sessions: lengths, jumps, think times after batches, and which way is best."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

import workloadkit as wk
from tests.analysis.test_report import HEADER, ODD, log
from tests.data import needs_traces, trace_path
from tests.examples import examples
from workloadkit import analysis
from workloadkit.analysis.sessions import methods as session_methods
from workloadkit.analysis.sessions.batches import (
    compare_batches,
    distance,
    plot_batch_agreement,
    plot_session_lengths,
    plot_session_survival,
)
from workloadkit.analysis.sessions.choice import (
    PEAK_EDGES,
    STEP_EDGES,
    WAYS,
    Way,
    count_about,
    drop,
    judge,
    jump_at_limit,
    peak,
    reasons,
    recommend,
)
from workloadkit.analysis.sessions.methods import compare_session_methods
from workloadkit.analysis.sessions.threshold import (
    LEVEL,
    plot_inter_arrival_slope,
    plot_inter_arrivals,
    suggest_threshold,
)

DAY = 86400
MIN = 60

times = st.integers(0, 60)
jobs_in_order = st.lists(
    st.tuples(times, times, times, st.integers(1, 3)), min_size=1, max_size=30
).map(sorted)


def trace_of(jobs):
    """A trace of jobs (submit, wait, run, user)."""
    submit, wait, run, user = zip(*jobs, strict=True)
    columns = {"submit": submit, "wait": wait, "run": run, "user": user}
    return wk.Trace.from_columns({**columns, "procs": np.ones(len(jobs))})


def lengths_by_definition(jobs, labels, method, cut):
    lengths = []
    for rows in labels.groupby("session").indices.values():
        submit = [jobs[row][0] for row in rows]
        end = [sum(jobs[row][:3]) for row in rows]
        if cut is not None:
            end = [min(e, s + cut) for s, e in zip(submit, end, strict=True)]
        until = {"arrival": submit[-1], "last": end[-1], "max": max(end)}[method]
        lengths.append(until - submit[0])
    return lengths


# Session lengths


@examples(40)
@given(
    jobs_in_order,
    st.integers(0, 60),
    st.none() | st.integers(0, 90),
    st.sampled_from(["arrival", "last", "max"]),
)
def test_lengths_agree_with_the_definition(jobs, threshold, cut, method):
    trace = trace_of(jobs)
    how = {"method": method, "cut": None if method == "arrival" else cut}
    labels = wk.delimit_sessions(trace, threshold=threshold, **how)
    ours = analysis.sessions.session_lengths(trace, threshold=threshold, **how)
    assert ours.tolist() == lengths_by_definition(jobs, labels, **how)
    assert ours.index.tolist() == [*range(len(ours))]


@examples(40)
@given(jobs_in_order, st.integers(0, 60))
def test_a_cut_of_0_gives_the_lengths_of_arrival(jobs, threshold):
    trace = trace_of(jobs)
    arrival = analysis.sessions.session_lengths(trace, threshold=threshold)
    for method in ("last", "max"):
        cut = analysis.sessions.session_lengths(trace, method=method, threshold=threshold, cut=0)
        assert cut.equals(arrival)


@examples(40)
@given(jobs_in_order, st.integers(0, 60), st.integers(0, 90))
def test_a_cut_only_shortens_what_is_one_session_anyway(jobs, threshold, cut):
    trace = trace_of(jobs)
    how = {"method": "max", "threshold": threshold}
    whole, short = (
        analysis.sessions.session_lengths(trace, **how),
        analysis.sessions.session_lengths(trace, **how, cut=cut),
    )
    assert len(short) >= len(whole)
    assert short.max() <= whole.max()


def test_a_session_of_one_job_that_outlasts_the_cut_is_as_long_as_the_cut():
    trace = trace_of([(0, 5, 5000, 1), (0, 0, 5, 2)])
    for method in ("last", "max"):
        assert analysis.sessions.session_lengths(trace, method=method, cut=1800).tolist() == [
            1800,
            5,
        ]


def test_a_log_without_jobs_has_no_lengths():
    lengths = analysis.sessions.session_lengths(wk.Trace.from_columns({"submit": []}), method="max")
    assert lengths.empty
    assert lengths.dtype == np.float64


# Marks that a limit leaves


def test_a_drop_is_relative_to_the_trend():
    assert drop(np.array([1600.0, 800, 400, 200])) == pytest.approx(1)
    assert drop(np.array([1600.0, 800, 200, 100])) == pytest.approx(2)
    assert drop(np.array([100.0, 200, 400, 800])) == pytest.approx(1)


def test_a_peak_is_relative_to_its_neighbours():
    assert peak(np.array([7.0, 8, 30, 12, 13])) == 3
    assert peak(np.array([6.0, 8, 10, 12, 14])) == 1


def test_few_sessions_show_nothing():
    assert math.isnan(drop(np.array([5.0, 5, 5, 4])))
    assert not math.isnan(drop(np.array([5.0, 5, 5, 5])))
    assert math.isnan(drop(np.array([100.0, 100, 0, 100])))
    assert math.isnan(peak(np.array([0.0, 0, 50, 0, 0])))
    assert peak(np.array([25.0, 25, 0, 25, 25])) == 0


def test_a_length_of_the_limit_is_below_a_threshold_and_in_the_middle_of_a_cut():
    at = np.array([3600.0])
    user = np.array([0])
    assert count_about(at, user, 1, 3600 * STEP_EDGES).tolist() == [[0, 1, 0, 0]]
    assert count_about(at, user, 1, 3600 * PEAK_EDGES).tolist() == [[0, 0, 1, 0, 0]]
    assert count_about(at + 1, user, 1, 3600 * STEP_EDGES).tolist() == [[0, 0, 1, 0]]


def test_the_jump_of_a_threshold_and_of_a_cut_by_hand():
    user, weights = np.zeros(60, int), np.ones((1, 1))
    # below 1 h, at 1 h, and above, all in the bins next to the limit, and in the outer ones
    length = np.repeat([2500.0, 3600, 3601, 5000], [15, 30, 5, 10])
    found = jump_at_limit(Way("arrival", 3600.0), length, user, weights)
    assert (found["limit"], found["at"], found["nearby"]) == (3600, 30, 5)
    assert found["jump"] == pytest.approx(30 / 5 / math.sqrt(15 / 30 * 5 / 10))
    length = np.repeat([3100.0, 3300, 3600, 3900, 4300], [4, 8, 36, 8, 4])
    found = jump_at_limit(Way("last", 1200.0, 3600.0), length, user, weights)
    assert (found["limit"], found["at"], found["nearby"], found["jump"]) == (3600, 36, 6, 6)


def test_jumps_of_known_size_are_found_with_intervals():
    rng = np.random.default_rng(3)
    # Lengths without any mark, spread evenly over the logarithms, and 30 times the cut's share.
    length = 3600 * 2 ** rng.uniform(-2, 2, 40_000)
    bare = count_about(length, np.zeros(length.size, int), 1, 3600 * STEP_EDGES)[0]
    assert drop(bare) == pytest.approx(1, abs=0.1)
    peaked = np.append(length, np.full(29 * length.size // 32, 3600.0))
    counts = count_about(peaked, np.zeros(peaked.size, int), 1, 3600 * PEAK_EDGES)[0]
    assert peak(counts) == pytest.approx(30, rel=0.1)


# Common and unique batches


def test_common_and_unique_batches_by_hand():
    # User 1: a long job holds two others (one batch by max, two by last), then a common one; user
    # 2: one common batch.
    jobs = [(0, 0, 100, 1), (10, 0, 20, 1), (50, 0, 10, 1), (130, 0, 5, 1), (140, 0, 5, 2)]
    found = compare_batches(trace_of(jobs), rng=1)
    assert found.batches[["batches", "common", "unique"]].to_numpy().tolist() == [
        [4, 2, 2],
        [3, 2, 1],
    ]
    # After the unique ones: by last 50 - 30 and 130 - 60, by max 130 - 100.
    assert found.batches["unique_median"].tolist() == [45, 30]
    assert found.batches["common_median"].isna().all()
    assert set(found.curves) == {"Last", "Max", "Last, unique", "Max, unique"}
    assert found.curves["Last"].equals(found.curves["Last, unique"].rename("Last"))
    assert math.isnan(found.difference)
    assert found.closer == ""


def test_after_common_batches_think_times_differ_by_the_ends_they_begin_with():
    # One batch of two jobs by both, of which the first ends last; then another batch.
    found = compare_batches(trace_of([(0, 0, 100, 1), (10, 0, 20, 1), (130, 0, 5, 1)]), rng=1)
    assert found.batches["common"].tolist() == [2, 2]
    assert found.batches["common_median"].to_dict() == {"last": 100, "max": 30}
    assert found.common_distance == 1
    alike = compare_batches(trace_of([(0, 0, 20, 1), (130, 0, 5, 1)]), rng=1)
    assert alike.common_distance == 0


def test_batches_of_unknown_users_are_left_out():
    jobs = [(0, 0, 100, 1), (10, 0, 20, 1), (50, 0, 10, 1), (130, 0, 5, 1)]
    more = sorted([*jobs, (20, 0, 5, -1), (40, 0, 5, -1)])
    one, other = (compare_batches(trace_of(x), rng=1).to_dict() for x in (jobs, more))
    assert json.dumps(one) == json.dumps(other)


def test_think_times_of_up_to_a_day_count():
    after = [
        compare_batches(trace_of([(0, 0, 5, 1), (5 + pause, 0, 5, 1)]), rng=1).batches
        for pause in (DAY, DAY + 1)
    ]
    assert after[0]["common_median"].tolist() == [DAY, DAY]
    assert after[1]["common_median"].isna().all()


@examples(40)
@given(jobs_in_order)
def test_common_batches_are_those_of_both(jobs):
    trace = trace_of(jobs)
    sets = {}
    for method in ("last", "max"):
        found = wk.delimit_sessions(trace, method=method, threshold=20)
        sets[method] = {frozenset(rows) for rows in found.groupby("batch").indices.values()}
    found = compare_batches(trace, rng=1).batches
    common = sets["last"] & sets["max"]
    for method in ("last", "max"):
        assert found.loc[method, "common"] == len(common)
        assert found.loc[method, "unique"] == len(sets[method] - common)


def test_the_distance_is_that_of_kolmogorov_and_smirnov(rng):
    from scipy.stats import ks_2samp

    one, other = np.sort(rng.integers(0, 50, 200)), np.sort(rng.integers(5, 70, 90))
    assert distance(one, other) == pytest.approx(ks_2samp(one, other).statistic)


# Where inter-arrivals level off


def knee_log(rng, *, n, often, soon):
    """Inter-arrivals of 200 users: a share `often` about `soon`, the others all over a day."""
    gaps = np.where(rng.random(n) < often, rng.exponential(soon, n), rng.uniform(0, DAY, n))
    user = np.repeat(np.arange(200), n // 200)
    submit = pd.Series(gaps[: user.size]).groupby(user).cumsum().to_numpy()
    order = np.argsort(submit, kind="stable")
    ones = np.ones(user.size)
    columns = {"submit": submit[order], "user": user[order], "run": ones, "procs": ones}
    return wk.Trace.from_columns(columns)


@pytest.mark.parametrize(("often", "soon"), [(0.8, 10 * MIN), (0.6, 30 * MIN), (0.9, 5 * MIN)])
def test_the_knee_of_a_known_distribution_is_found(rng, often, soon):
    # The density often/soon exp(-t/soon) + (1 - often)/day falls to LEVEL/day at
    knee = soon * math.log(often * DAY / soon / (LEVEL - 1 + often))
    found = suggest_threshold(knee_log(rng, n=100_000, often=often, soon=soon), rng=1)
    assert found.threshold == pytest.approx(knee, rel=0.1)
    low, high = found.interval
    assert low < 1.03 * knee
    assert high > 0.97 * knee
    assert high < 1.4 * low
    assert found.between[0] < found.threshold < found.between[1]


@examples(50)
@given(st.lists(st.integers(0, 2 * DAY), min_size=1, max_size=40))
def test_from_the_suggestion_on_the_share_rises_slowly(gaps):
    trace = trace_of([(submit, 0, 1, 1) for submit in np.cumsum([0, *gaps])])
    found = suggest_threshold(trace, rng=1)
    near = np.sort([gap for gap in gaps if gap <= DAY])
    assert (found.n, found.beyond) == (near.size, len(gaps) - near.size)
    if not near.size:
        assert math.isnan(found.threshold)
        return
    share = np.searchsorted(near, [found.threshold, *near], side="right") / near.size
    later = near > found.threshold
    rise = share[1:][later] - share[0]
    assert (rise <= LEVEL * (near[later] - found.threshold) / DAY + 1e-12).all()


def test_inter_arrivals_of_a_day_count_and_longer_ones_are_beyond():
    found = suggest_threshold(trace_of([(x, 0, 1, 1) for x in (0, 1, 1 + DAY, 2 + 2 * DAY)]), rng=1)
    assert (found.n, found.beyond) == (2, 1)
    assert found.fixed == 60 * MIN
    assert found.curve["share"].iloc[[0, -1]].tolist() == [0.5, 1]  # at most 1 s, at most a day


def test_the_slopes_of_the_curve_count_every_time():
    """They are multiples of the mean slope: over the day, their mean is 1."""
    log = {"submit": [0, 0, 0, 1, 61, 5000], "run": [1] * 6, "procs": [1] * 6, "user": [1] * 6}
    curve = suggest_threshold(wk.Trace.from_columns(log), rng=1).curve
    value = curve.index.to_numpy()
    edges = np.concatenate([[0], np.sqrt(value[1:] * value[:-1]), [DAY]])
    assert np.average(curve["slope"], weights=np.diff(edges)) == pytest.approx(1)


def test_inter_arrivals_are_of_each_user_alone_and_of_jobs_that_ran():
    trace = trace_of([(0, 0, 1, 1), (5, 0, 1, 2), (7, 0, -1, 1), (9, 0, 1, 1), (20, 0, 1, -1)])
    assert analysis.sessions.inter_arrivals(trace).to_dict() == {3: 9.0}


# Which way is best


def test_sessions_are_cut_after_half_an_hour_an_hour_and_two():
    cuts = [f"{way}+Cut {cut}" for way in ("Last", "Max") for cut in ("30 min", "1 h", "2 h")]
    assert [way.name for way in WAYS] == ["Last", "Max", "Arrival", *cuts]


def ways(of=WAYS[:4], **columns):
    names = [way.name for way in of]
    defaults = {
        "sessions": 500,
        "cut": np.nan,
        "over_16h": 0.0,
        "over_16h_low": 0.0,
        "over_16h_high": 0.0,
        "jump": 1.1,
        "jump_low": 1.0,
        "jump_high": 1.2,
        "zero_length": 0.0,
        "longest": 3600.0,
    }
    return judge(pd.DataFrame({**defaults, **columns}, index=names))


def test_long_sessions_speak_against_last_and_max_and_a_peak_against_a_cut():
    table = ways(
        over_16h=[0.14, 0.15, 0, 0],
        over_16h_low=[0.12, 0.13, 0, 0],
        jump=[1.0, 1.0, 1.4, 18],
        jump_low=[0.9, 0.9, 1.2, 16],
        jump_high=[1.1, 1.1, 1.6, 20],
        cut=[np.nan, np.nan, np.nan, 1800],
    )
    assert table["overlong"].tolist() == [True, True, False, False]
    assert table["jumps"].tolist() == [False, False, False, True]
    assert recommend(table) == "Arrival"


def test_where_no_session_is_overlong_last_may_be_the_better():
    table = ways(jump=[1.02, 1.2, 1.5, 1.5])
    assert recommend(table) == "Last"


def test_a_jump_downwards_is_a_jump_too():
    table = ways(jump=[0.5, 1.5, 0.6, np.nan])
    assert recommend(table) == "Max"


def test_at_the_limit_itself_there_is_no_fault():
    table = ways(over_16h_low=[0.01, 0.011, 0, 0], jump_low=[1, 1, 2, 2.01])
    assert table["overlong"].tolist() == [False, True, False, False]
    assert table["jumps"].tolist() == [False, False, False, True]
    assert recommend(ways(sessions=100)) == "Last"


def test_reasons_speak_of_each_kind_and_at_last_for_the_one_recommended():
    cut = [way.cut is not None for way in WAYS]
    table = ways(
        WAYS,
        cut=[way.cut for way in WAYS],
        over_16h=[0.14, 0.15, 0.002, *[0] * 6],
        over_16h_low=[0.12, 0.13, 0, *[0] * 6],
        over_16h_high=[0.16, 0.17, 0.004, *[0] * 6],
        longest=[2 * DAY, 3 * DAY, 3600, *[7200] * 6],
        jump=[1.2, 1.2, 1.5, 18, 16, 14, 9, 8, 7],
        jump_low=np.where(cut, 6, 1.0),
        zero_length=[0, 0, 0.53, *[0] * 6],
    )
    assert recommend(table) == "Arrival"
    by_last, by_max, *cuts, best = reasons(table, "Arrival")
    assert by_last.startswith("Last: 14 % [12, 16] of the sessions are longer than 16 h, the long")
    assert "the longest 2 d, because long jobs" in by_last
    assert by_max.startswith("Max: 15 % [13, 17] of the sessions are longer than 16 h")
    for sentence, (kind, times) in zip(
        cuts, (("Last+Cut", "14 to 18"), ("Max+Cut", "7 to 9")), strict=True
    ):
        text = f"{kind}: sessions as long as the cut are {times} times as frequent"
        assert sentence.startswith(text)
    assert best.startswith("Arrival has no fault: 0.2 % of the sessions are longer than 16 h")
    assert best.endswith("Drawback: 53 % of the sessions have length 0.")
    assert "the jump at its threshold is 1.5" in best


def test_few_sessions_choose_nothing():
    table = ways(sessions=[500, 99, 500, 500])
    assert recommend(table) == ""
    assert [*reasons(table, "")] == ["With fewer than 100 sessions no method is recommended."]


def test_a_fault_must_be_more_than_chance():
    table = ways(over_16h=[0.02] * 4, over_16h_low=[0.005, 0.02, np.nan, 0])
    assert table["overlong"].tolist() == [False, True, True, False]


# All of it


def test_intervals_are_the_same_for_the_same_seed_and_hold_the_value(rng):
    columns = log(rng, user=rng.integers(1, 30, 60), run=rng.integers(0, 2 * DAY, 60))
    trace = wk.Trace.from_columns(columns)
    first, second = (compare_session_methods(trace, rng=4) for _ in range(2))
    assert first.to_dict() == second.to_dict()
    found = first.ways.dropna(subset="over_16h_low")
    assert len(found)
    assert (found["over_16h_low"] <= found["over_16h"]).all()
    assert (found["over_16h"] <= found["over_16h_high"]).all()


def test_long_sessions_are_longer_than_the_limits_by_hand():
    # Sessions of one job each: of 1,000 min, of 16 h, a second longer than each, and of 20 h.
    run = [60_000, 57_600, 60_001, 57_601, 72_000]
    last = compare_session_methods(trace_of([(0, 0, x, i) for i, x in enumerate(run)]), rng=1)
    row = last.ways.loc["Last"]
    assert (row["over_16h"], row["over_1000min"]) == (4 / 5, 2 / 5)
    assert row["overlong_median"] == 60_000.5
    assert (row["median_length"], row["longest"]) == (60_000, 72_000)
    arrival = last.ways.loc["Arrival"]
    assert (arrival["zero_length"], arrival["over_16h"]) == (1, 0)
    assert np.isnan(arrival["overlong_median"])


def test_it_does_not_matter_how_users_are_called(rng):
    user = rng.integers(1, 5, 60)
    columns = log(rng, user=user)
    names = np.array([0, 44, 7, 3, 12])
    one, other = (
        compare_session_methods(wk.Trace.from_columns({**columns, "user": ids}), rng=4).to_dict()
        for ids in (user, names[user])
    )
    assert one == other


def test_jobs_of_unknown_users_are_left_out(rng):
    columns = log(rng, user=rng.integers(1, 5, 60))
    known = wk.Trace.from_columns(columns)
    among = {name: np.append(values, values[-1]) for name, values in columns.items()}
    among["user"][-1] = -1
    found = compare_session_methods(wk.Trace.from_columns(among), rng=4)
    assert found.to_dict() == compare_session_methods(known, rng=4).to_dict()


@pytest.mark.parametrize(
    "kind", ["ordinary", "no time at all", "one instant", "negative waits", "a job of ages"]
)
def test_odd_logs_have_the_section_and_its_figures(kind, rng):
    trace = wk.Trace.from_columns(log(rng, **ODD[kind]), header=HEADER, name=kind)
    section = session_methods.section(trace)
    assert section.notes
    assert json.dumps(section.to_dict(), allow_nan=False)
    for figure in section.figures:
        ax = Figure().add_subplot()
        assert figure.plot(figure.data, ax=ax) is ax
        ax.figure.draw_without_rendering()
        assert ax.get_xlabel()
        assert ax.get_ylabel()


def test_what_the_log_lacks_is_reported(rng):
    no_users = session_methods.section(wk.Trace.from_columns(log(rng, user=[-1] * 60)))
    assert no_users.notes == ("No user is known, so there are no sessions to compare.",)
    no_waits = session_methods.section(wk.Trace.from_columns(log(rng, wait=[np.nan] * 60)))
    assert any("No wait time is known" in note for note in no_waits.notes)


def test_results_draw_themselves(rng):
    found = compare_session_methods(wk.Trace.from_columns(log(rng)), rng=1)
    for result in (found, found.batches, found.threshold):
        ax = Figure().add_subplot()
        assert result.plot(ax) is ax


@needs_traces
def test_kth_sp2_as_published():
    trace = wk.read_swf(trace_path("KTH-SP2-1996-2"))
    found = compare_session_methods(trace, rng=1)
    table = found.ways
    assert table.loc["Arrival", ["sessions", "batches"]].tolist() == [10_303, 16_488]
    assert table["zero_length"]["Arrival"] == pytest.approx(0.529, abs=0.0005)
    assert table["single_job_sessions"]["Arrival"] > 0.5
    assert table["overlong"].tolist() == [True, True] + [False] * 7
    assert table["jumps"].tolist() == [False] * 3 + [True] * 6
    assert found.recommended == "Arrival"
    assert found.batches.closer == "last"
    assert 40 * MIN < found.threshold.threshold < 100 * MIN
    by_arrival = found.jumps[found.jumps["way"] == "Arrival"].set_index("threshold")["jump"]
    assert by_arrival[600] > by_arrival[1200] > by_arrival[3600] > 1


@pytest.mark.slow
@needs_traces
def test_sdsc_blue_as_published():
    found = compare_session_methods(wk.read_swf(trace_path("SDSC-BLUE-2000-4.2-cln")), rng=1)
    over = found.ways["over_1000min"]
    assert over[["Last", "Max"]].round(3).tolist() == [0.135, 0.151]
    cuts = [f"Last+Cut {cut}" for cut in ("2 h", "1 h", "30 min")]
    assert np.log10(over[cuts]).round(1).tolist() == [-2.9, -3.9, -4.0]
    assert found.batches.closer == "last"


def test_the_largest_difference_counts_in_both_directions():
    table = pd.DataFrame({"Last+Cut 1 h": [5.0, 1.0], "Max+Cut 1 h": [2.0, 3.0], "Max": [99.0, 0]})
    assert session_methods._largest_difference(table) == 3


def test_the_curve_of_inter_arrivals_does_not_depend_on_their_order():
    log = {"submit": [0, 600, 660, 720], "run": [0] * 4, "procs": [1] * 4, "user": [1] * 4}
    share = suggest_threshold(wk.Trace.from_columns(log), rng=1).curve["share"]
    between = share[(share.index >= 60) & (share.index < 600)]
    assert set(share[share.index < 60]) == {0}
    assert between.tolist() == pytest.approx([2 / 3] * len(between))
    assert set(share[share.index >= 600]) == {1}


def test_a_jump_without_an_interval_is_judged_by_its_value():
    assert ways(jump=[5, 1, 5, 1], jump_low=np.nan, jump_high=np.nan)["jumps"].tolist() == [
        *(True, False) * 2
    ]


@pytest.mark.parametrize(("share", "said"), [(0.1, False), (0.101, True)])
def test_more_than_a_tenth_of_sessions_without_length_is_a_drawback(share, said):
    *_, best = reasons(ways(WAYS, zero_length=share), "Arrival")
    assert ("Drawback: " in best) == said


@pytest.mark.parametrize(
    ("fault", "verdict"),
    [(None, "no fault"), ("overlong", "the fewest faults"), ("jumps", "the fewest faults")],
)
def test_a_method_with_either_fault_is_reported_with_it(fault, verdict):
    table = ways(WAYS)
    if fault:
        table[fault] = True  # of all ways
    *_, best = reasons(table, "Arrival")
    assert best.startswith(f"Arrival has {verdict}: ")


def drawn(ax):
    """What the lines of a figure show, by their names in the legend."""
    return {
        line.get_label(): line.get_xydata().tolist()
        for line in ax.lines
        if not line.get_label().startswith("_")
    }


def test_lengths_of_sessions_are_drawn_where_there_are_any():
    data = pd.DataFrame(
        {
            "Last": [1.0, 0.5],
            "Max": [0.75, 0],
            "Max+Cut 1 h": [0.5, 0.5],
            "Last+Cut 1 h": [0.25, 0.125],
            "Arrival": [0.5, 0.25],
        },
        index=pd.Index([60.0, 3600], name="value"),
    )
    lines = {"Last": [[60, 1], [3600, 0.5]], "Arrival": [[60, 0.5], [3600, 0.25]]}
    lines["Cut 1 h"] = [[60, 0.25], [3600, 0.125]]
    ax = plot_session_survival(data, Figure().add_subplot())
    assert drawn(ax) == lines | {"Max": [[60, 0.75]]}
    assert ax.lines[-1].get_xdata() == [57_600, 57_600]  # 16 h: a session that is too long
    ax = plot_session_lengths(data, Figure().add_subplot())
    assert drawn(ax) == lines
    assert ax.lines[-1].get_xdata() == [3600, 3600]


def test_times_between_arrivals_are_drawn_with_the_thresholds():
    data = pd.DataFrame({"share": [0.25, 1], "slope": [2.0, 0]}, index=[60.0, 3600])
    ax = plot_inter_arrivals(data, Figure().add_subplot(), suggestion=1800.0)
    assert ax.lines[0].get_xydata().tolist() == [[60, 0.25], [3600, 1]]
    marks = {name: points[0][0] for name, points in drawn(ax).items()}
    assert marks == {"levels off": 1800, "threshold in use": 3600}
    ax = plot_inter_arrival_slope(data, Figure().add_subplot(), fixed=1200.0)
    assert ax.lines[0].get_xydata().tolist() == [[60, 2]]  # 0 has no place on the axis
    assert ax.lines[1].get_ydata() == [LEVEL, LEVEL]
    assert {name: points[0][0] for name, points in drawn(ax).items()} == {"threshold in use": 1200}


def test_think_times_after_batches_are_drawn_by_common_and_unique():
    data = pd.DataFrame(
        {
            "all": [0.25, 1],
            "Last, common": [0.5, 1],
            "Last, unique": [0.125, 1],
            "Max, common": [0.625, 1],
            "Max, unique": [0.75, 1],
        },
        index=[60.0, 3600],
    )
    ax = plot_batch_agreement(data, Figure().add_subplot())
    shown = {name: [y for _, y in points] for name, points in drawn(ax).items()}
    assert shown == {name: data[name].tolist() for name in data if name != "all"}
