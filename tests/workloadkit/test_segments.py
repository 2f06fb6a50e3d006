"""Stationary segments of a log."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.data import needs_traces, trace_path
from tests.small_logs import as_read
from workloadkit.analysis.memory import fractional_gaussian_noise
from workloadkit.clock import WEEK
from workloadkit.resample.segments import _partition, weeks_of


def log_of(counts, **columns):
    """A log of so many jobs each week, and one at the begin of the week after them."""
    weeks = np.append(np.repeat(np.arange(len(counts)), counts), len(counts))
    place = np.concatenate([np.arange(n) / n for n in counts] + [[0.0]])
    log = {"submit": (weeks + place) * WEEK, "run": [60] * weeks.size, "procs": [1] * weeks.size}
    return wk.Trace.from_columns({**log, **columns})


def noisy(rng, means):
    return np.rint(np.array(means) + rng.normal(0, 3, len(means))).astype(int).clip(1)


def test_a_change_is_found_where_it_is(rng):
    found = wk.stationary_segments(log_of(noisy(rng, [20] * 30 + [50] * 25)))
    assert found["week"].tolist() == [0, 30]
    assert found["weeks"].tolist() == [30, 25]
    assert found["jobs"].tolist() == pytest.approx([20, 50], abs=2)
    assert found["begin"].tolist() == [0, 30 * WEEK]
    assert found["end"].iloc[1] == 55 * WEEK
    assert np.isnan(found["gain"].iloc[0])
    assert found["gain"].iloc[1] > 1


def test_two_changes_are_found(rng):
    found = wk.stationary_segments(
        log_of(noisy(rng, [20] * 30 + [60] * 30 + [20] * 30)), of=["jobs"]
    )
    assert found["week"].tolist() == [0, 30, 60]


def test_no_change_is_found_in_none(rng):
    assert len(wk.stationary_segments(log_of(noisy(rng, [20] * 60)))) == 1
    assert len(wk.stationary_segments(log_of([5] * 60))) == 1


def test_a_single_step_is_found_though_most_weeks_are_as_the_ones_before():
    found = wk.stationary_segments(log_of([5] * 30 + [9] * 30), of=["jobs"])
    assert found["week"].tolist() == [0, 30]


def test_a_segment_without_jobs_begins_and_ends_nowhere():
    found = wk.stationary_segments(log_of([20] * 30 + [0] * 30 + [20] * 30), of=["jobs"])
    assert found["jobs"].tolist() == [20, 0, 20]
    assert found["begin"].isna().tolist() == found["end"].isna().tolist() == [False, True, False]


def test_a_change_of_users_alone_is_found(rng):
    counts = [40] * 60
    n = sum(counts)
    few, many = rng.integers(1, 6, n // 2), rng.integers(1, 30, n // 2)
    user = np.concatenate([few, many, [1]])
    found = wk.stationary_segments(log_of(counts, user=user))
    assert found["week"].tolist() == [0, 30]
    assert found["users"].tolist() == pytest.approx([5, 22], abs=3)


def test_a_change_of_the_work_alone_is_found():
    """Ten jobs a week on two processors; of 20 s at first, then of 50 or 60 s in turn."""
    week = np.append(np.repeat(np.arange(40), 10), 40)
    run = np.where(week < 20, 20, 50 + 10 * (week % 2))
    trace = log_of([10] * 40, run=run, procs=[2] * 401, user=[-1] * 401)
    found = wk.stationary_segments(trace, of=["work"], hurst=0.5)
    assert found[["week", "weeks"]].to_numpy().tolist() == [[0, 20], [20, 20]]
    assert found["work"].tolist() == [10 * 2 * 20, 10 * 2 * 55]
    assert found["jobs"].tolist() == [10, 10]
    assert found["users"].tolist() == [1, 1]  # the unknown ones count as one
    never = trace.with_columns(run=np.where(np.arange(401) % 10 == 9, -1, run))
    assert wk.stationary_segments(never, of=["work"], hurst=0.5)["jobs"].tolist() == [9, 9]


def test_segments_are_never_too_short(rng):
    trace = log_of(noisy(rng, [20] * 30 + [90] * 4 + [20] * 30))
    for least in (1, 3, 8, 20):
        table = wk.stationary_segments(trace, least=least, hurst=0.5, penalty=0.05)
        assert table["weeks"].min() >= least
    assert len(wk.stationary_segments(trace, least=40)) == 1
    assert len(wk.stationary_segments(trace, least=1000)) == 1


def test_a_larger_penalty_finds_fewer_changes(rng):
    trace = log_of(noisy(rng, rng.integers(10, 60, 20).repeat(8)))
    found = [len(wk.stationary_segments(trace, hurst=0.5, penalty=p)) for p in (0.1, 1, 10, np.inf)]
    assert found == sorted(found, reverse=True)
    assert found[0] > found[-1] == 1


@pytest.mark.parametrize("n_weeks", [1, 2, 7, 16])
def test_short_logs_are_one_segment(n_weeks):
    found = wk.stationary_segments(log_of([5, 7] * 8).take(range(6 * n_weeks + 1)), least=n_weeks)
    assert found["week"].tolist() == [0]
    assert found["weeks"].tolist() == [n_weeks]


@given(
    st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=2, max_size=11),
    st.integers(1, 4),
    st.sampled_from([0.3, 1.1, 4.2]),
)
def test_the_partition_is_the_best_of_all(values, least, charge):
    series = np.array(values, dtype=float).T
    n = series.shape[1]

    def cost(edges):
        parts = [series[:, a:b] for a, b in itertools.pairwise(edges)]
        squares = sum(((p - p.mean(axis=1, keepdims=True)) ** 2).sum() for p in parts)
        return squares + charge * (len(parts) - 1)

    ways = [
        (0, *cuts, n)
        for size in range(n)
        for cuts in itertools.combinations(range(1, n), size)
        if size == 0 or min(np.diff((0, *cuts, n))) >= least
    ]
    first, gains = _partition(series, least, charge)
    assert cost((*first, n)) == pytest.approx(min(map(cost, ways)), abs=1e-9)
    for i in range(1, first.size):
        merged = cost((*np.delete(first, i), n))
        assert gains[i] == pytest.approx((merged + charge - cost((*first, n))) / charge)


def test_segments_part_the_log():
    trace = log_of([3] * 40)
    parts = wk.segments(trace, at=[10, 25])
    assert [part.n_jobs for part in parts] == [30, 45, 46]
    jobs = np.concatenate([part.column("job") for part in parts])
    assert jobs.tolist() == trace.column("job").tolist()
    assert parts[1].column("submit")[0] == 10 * WEEK
    assert parts[1].name == "trace (weeks 10 to 24)"
    assert parts[1].header.get("Note").endswith(f"log trace ({trace.identity}), weeks 10 to 24")


def test_the_last_week_that_is_not_whole_can_be_cut_off():
    assert [part.n_jobs for part in wk.segments(log_of([3] * 40), at=[40])] == [120, 1]
    assert [part.n_jobs for part in wk.segments(log_of([3] * 40), at=[])] == [121]


def test_the_header_of_a_segment_is_true():
    header = ("; UnixStartTime: 843480031", "; TimeZoneString: Europe/Stockholm", "; MaxJobs: 121")
    dates = ("; StartTime: Mon Sep 23 14:00:31 CEST 1996", "; EndTime: never", "; MaxProcs: 4")
    trace = replace(log_of([3] * 40), header=wk.Header((*header, *dates)))
    part, later = wk.segments(trace, at=[10])
    assert later.header.get("StartTime") == part.header.get("StartTime")  # of second 0
    assert part.header.lines[2:5] == (
        *("; MaxJobs: 31", "; StartTime: Mon Sep 23 14:00:31 CEST 1996"),
        "; EndTime: Mon Dec 02 13:01:31 CET 1996",  # an hour short of ten weeks by the clock
    )
    assert part.header.procs == 4


def test_what_reading_put_right_is_of_the_whole_log():
    parts = wk.segments(as_read(log_of([3] * 40)), at=[10])
    assert [part.repairs for part in parts] == [(), ()]


def test_segments_are_those_found(rng):
    trace = log_of(noisy(rng, [20] * 30 + [50] * 25))
    table = wk.stationary_segments(trace)
    parts = wk.segments(trace)
    assert [part.column("submit")[0] for part in parts] == table["begin"].tolist()
    assert [part.column("submit")[-1] for part in parts] == table["end"].tolist()


def test_parts_without_jobs_are_left_out():
    trace = wk.Trace.from_columns({"submit": [0, 30 * WEEK], "run": [1, 1], "procs": [1, 1]})
    assert [part.n_jobs for part in wk.segments(trace, at=[5, 20])] == [1, 1]


def test_weeks_are_those_of_the_wall_clock():
    """Clocks are put back in the last week of October 1996, a month after this log begins."""
    header = wk.Header(("; UnixStartTime: 843480031", "; TimeZoneString: Europe/Stockholm"))
    summer, winter = 5 * WEEK - 1, 5 * WEEK + 3600
    trace = wk.Trace.from_columns({"submit": [0, summer, 5 * WEEK, winter]}, header=header)
    assert weeks_of(trace).tolist() == [0, 4, 4, 5]


@pytest.mark.parametrize("bad", [-1, 41, 2.5, "3", None, float("nan")])
def test_a_week_that_is_not_there_is_refused(bad):
    with pytest.raises(wk.ParameterError, match="week"):
        wk.segments(log_of([3] * 40), at=[bad])


@pytest.mark.parametrize(
    "given",
    [{"of": []}, {"of": "jobs"}, {"of": ["procs"]}, {"least": 0}, {"least": 2.5}, {"least": None}]
    + [{"hurst": h} for h in (0.4, 1, float("nan"), "0.7")]
    + [{"penalty": p} for p in (0, -1, float("nan"), None)],
)
def test_parameters_that_cannot_be_are_refused(given):
    with pytest.raises(wk.ParameterError, match=next(iter(given))):
        wk.stationary_segments(log_of([3] * 40), **given)


def test_logs_that_tell_nothing_are_refused():
    with pytest.raises(wk.WorkloadError, match="no job ran"):
        wk.stationary_segments(wk.Trace.from_columns({"submit": [0, 9e9]}))
    with pytest.raises(wk.WorkloadError, match="has 0 whole weeks"):
        wk.stationary_segments(log_of([3]).take([0, 1]))
    with pytest.raises(wk.WorkloadError, match="has no jobs"):
        wk.segments(wk.Trace.from_columns({"submit": []}), at=[0])
    with pytest.raises(wk.ParameterError, match="read it first"):
        wk.stationary_segments("log.swf")


@pytest.mark.slow
@pytest.mark.parametrize(("H", "most"), [(0.5, 0.02), (0.7, 0.06), (0.8, 0.3)])
def test_noise_of_long_memory_is_seldom_cut(rng, H, most):
    """Of a hundred weeks; 0.7 is allowed for."""
    cut = 0
    for _ in range(200):
        noise = fractional_gaussian_noise(100, H, rng)
        counts = np.rint(np.exp(4 + 0.4 * noise)).astype(int)
        cut += len(wk.stationary_segments(log_of(counts), of=["jobs"])) > 1
    assert cut / 200 <= most


@pytest.mark.slow
def test_clear_changes_in_noise_of_long_memory_are_found(rng):
    found = 0
    for _ in range(200):
        noise = fractional_gaussian_noise(100, 0.7, rng)
        noise[50:] += 2
        counts = np.rint(np.exp(4 + 0.4 * noise)).astype(int)
        weeks = wk.stationary_segments(log_of(counts), of=["jobs"])["week"]
        found += len(weeks) > 1 and (weeks - 50).abs().min() <= 3
    assert found / 200 >= 0.8


@needs_traces
@pytest.mark.slow
def test_the_change_of_a_real_log():
    trace = wk.read_swf(trace_path("LANL-CM5-1994-4.1-cln"))
    assert wk.stationary_segments(trace)["week"].tolist() == [0, 63]
    assert sum(part.n_jobs for part in wk.segments(trace)) == trace.n_jobs
