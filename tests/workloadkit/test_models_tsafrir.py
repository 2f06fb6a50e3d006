"""Users' estimates: the distribution, and how it is laid over jobs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from workloadkit.models import add_estimates, lublin, tsafrir
from workloadkit.models.tsafrir import (
    HOUR,
    MINUTE,
    _popularity,
    _whole_shares,
    estimate_distribution,
    head_percent,
    popular_estimates,
)

HOURS_18 = 18 * HOUR


def test_popular_estimates_of_18_hours():
    minutes = [18 * 60, 5, 10, 15, 20, 30, 60, 120, 180, 240, 300, 360, 480, 600, 720]
    # completed by multiples of 5 h and of 2 h that are not there, from the largest, then of 1 h
    minutes += [15 * 60, 16 * 60, 14 * 60, 17 * 60, 13 * 60]
    found = popular_estimates(HOURS_18)
    assert found[0] == HOURS_18
    assert found[1:].tolist() == sorted(m * MINUTE for m in minutes[1:])


@given(st.integers(60, 20_000))
def test_popular_estimates_are_different_and_allowed(minutes):
    found = popular_estimates(minutes * 60.0)
    assert found[0] == found.max() == minutes * 60
    assert found.size == np.unique(found).size
    assert found.min() > 0
    assert found.size == 20 or minutes < 100


def test_the_head_has_89_percent_and_falls():
    percent = head_percent()
    assert percent.sum() == pytest.approx(89)
    assert (np.diff(percent) < 0).all()
    assert percent[1] == pytest.approx(14.0491 * np.exp(-0.177531 * 2) + 0.462513)


@given(st.integers(0, 10_000), st.integers(2, 20))
def test_ranks_of_popularity_are_each_taken_once(seed, n):
    ranks = _popularity(n, np.random.default_rng(seed))
    assert sorted(ranks.tolist()) == list(range(n))
    assert ranks[0] == 0  # the longest allowed


def test_ranks_stay_near_their_places_in_the_four_logs():
    ranks = np.array([_popularity(20, np.random.default_rng(i)) for i in range(300)])
    # in all four logs the second most popular of all is one of the first nine by time
    assert (np.argmax(ranks == 1, axis=1) <= 8).all()
    assert len({tuple(row) for row in ranks.tolist()}) > 250


@pytest.mark.slow
def test_of_two_ranks_drawn_the_more_popular_is_taken():
    # second by time: the ranks 3 (twice), 4 and 6 of the logs are there, so 3 is not taken only
    # if both draws are of the other two
    second = np.array([_popularity(20, np.random.default_rng(i))[1] for i in range(1000)]) + 1
    shares = [(second == rank).mean() for rank in (3, 4, 6)]
    assert shares == pytest.approx([0.75, 0.1875, 0.0625], abs=0.045)


def test_estimates_in_the_tail_are_mostly_short():
    time, percent = estimate_distribution(70_000, 100.0 * HOUR, 1)
    tail = ~np.isin(time, popular_estimates(100.0 * HOUR))
    a = 1 + 12.1039 * 340**-0.6026
    for x in (0.25, 0.5, 0.75):
        expected = (a - 1) * x / (a - x) * 100 * HOUR
        assert np.quantile(time[tail], x) == pytest.approx(expected, rel=0.02)
    assert np.abs(np.corrcoef(time[tail], percent[tail])[0, 1]) < 0.3  # of no order


@given(st.integers(0, 5000), st.integers(20, 10**6), st.integers(60, 9000))
def test_a_distribution_is_one(seed, jobs, minutes):
    time, percent = estimate_distribution(jobs, minutes * 60.0, seed)
    assert percent.sum() == pytest.approx(100)
    assert (np.diff(time) > 0).all()
    assert 0 < time[0] <= time[-1] == minutes * 60
    assert percent[-1] == percent.max()
    assert (time % 10 == 0).all()
    head = np.isin(time, popular_estimates(minutes * 60.0))
    if not head.all():
        assert percent[head].sum() == pytest.approx(89)


@pytest.mark.parametrize(
    ("jobs", "number"), [(20, 10), (780, 31), (1000, 35), (10_000, 90), (40_000, 215), (10**6, 565)]
)
def test_the_number_of_estimates_grows_with_the_jobs(jobs, number):
    time, _ = estimate_distribution(jobs, 48.0 * HOUR, 1)
    assert time.size == max(number, 20)


def test_tail_sizes_fall_as_a_power():
    time, percent = estimate_distribution(70_000, 48.0 * HOUR, 1)
    tail = np.sort(percent[~np.isin(time, popular_estimates(48.0 * HOUR))])[::-1]
    ratio = ((21 + 99) / 21) ** -2.267
    assert tail[99] / tail[0] == pytest.approx(ratio)


def log_of(run, procs=1):
    n = len(run)
    return wk.Trace.from_columns({"submit": range(n), "run": run, "procs": [procs] * n})


@given(st.lists(st.integers(0, 90_000), min_size=1, max_size=60), st.integers(0, 99))
@pytest.mark.filterwarnings("ignore:.*raised to the longest")
def test_no_job_outlives_its_estimate(run, seed):
    estimate = add_estimates(log_of(run), seed).column("requested_time")
    assert (estimate >= run).all()
    assert estimate.max() <= max(HOUR, np.ceil(max(run) / HOUR) * HOUR)


def test_the_shares_of_the_model_are_met_by_whole_jobs():
    log = log_of([0] * 9999)
    found = add_estimates(log, 3, max_estimate=HOURS_18).column("requested_time")
    stream = np.random.default_rng(np.random.SeedSequence(3, spawn_key=(1,)))
    time, percent = estimate_distribution(9999, HOURS_18, stream)
    count = {t: (found == t).sum() for t in time}
    assert sum(count.values()) == 9999
    assert [count[t] for t in time] == pytest.approx(percent * 99.99, abs=1)


@pytest.mark.parametrize(
    ("percent", "n", "shares"),
    [([34, 33, 33], 10, [4, 3, 3]), ([10, 45, 45], 5, [1, 2, 2]), ([26, 37, 37], 2, [0, 1, 1])],
)
def test_the_largest_remainders_are_rounded_up(percent, n, shares):
    """Of 2 jobs, for example, 0.52, 0.74 and 0.74."""
    assert _whole_shares(np.array(percent, float), n).tolist() == shares


def test_estimates_are_independent_of_runs_that_allow_them_all():
    rng = np.random.default_rng(4)
    run = rng.integers(0, 300, 20_000)  # all below the shortest popular estimate
    found = add_estimates(log_of(run), 4, max_estimate=HOURS_18).column("requested_time")
    allowed = found >= 300
    assert abs(np.corrcoef(run[allowed], found[allowed])[0, 1]) < 0.03


def test_jobs_longer_than_allowed_get_the_longest():
    log = log_of([10, 20_000, 30] * 10)
    with pytest.warns(wk.WorkloadWarning) as caught:
        laid = add_estimates(log, 1, max_estimate=7200)
    messages = [str(w.message) for w in caught]
    assert "10 jobs run longer than the longest estimate, 7200 s" in messages[0]
    found = laid.column("requested_time")
    assert (found[1::3] == 7200).all()
    assert (laid.column("run") == log.column("run")).all()


@pytest.mark.parametrize("how", [{}, {"max_estimate": 7200}])
def test_a_job_as_long_as_the_longest_estimate_is_not_too_long(how):
    """By default that is the longest run time, if it is of whole hours."""
    found = add_estimates(log_of([7200] + [60] * 99), 1, **how).column("requested_time")
    assert found[0] == found.max() == 7200


def test_run_times_that_no_share_covers_raise_estimates():
    log = log_of([7000] * 50 + [1] * 50)
    with pytest.warns(wk.WorkloadWarning, match="raised to the longest, 7200 s"):
        found = add_estimates(log, 1, max_estimate=7200).column("requested_time")
    assert (found[:50] == 7200).all()


def test_only_the_estimates_change_and_the_header_says_so():
    log = wk.load_sample()
    laid = add_estimates(log, 5)
    assert laid.jobs.drop(columns="requested_time").equals(log.jobs.drop(columns="requested_time"))
    assert laid.header.lines[:-1] == log.header.lines
    assert "estimates of a model" in laid.header.lines[-1]
    assert "seed 5" in laid.header.lines[-1]
    assert laid.name == log.name
    assert laid.digest == ""
    assert laid.jobs.equals(add_estimates(log, 5).jobs)
    assert "n_estimates" not in laid.header.lines[-1]
    assert "n_estimates 20" in add_estimates(log, 5, estimates=20).header.lines[-1]


def test_jobs_of_unknown_run_time_may_have_any_estimate():
    log = wk.Trace.from_columns({"submit": range(40), "procs": [1] * 40})
    assert (add_estimates(log, 1).column("requested_time") > 0).all()


def test_the_model_is_lublin_with_estimates():
    made, jobs = tsafrir(3000, 64, rng=6), lublin(3000, 64, rng=6)
    assert made.jobs.drop(columns="requested_time").equals(jobs.jobs.drop(columns="requested_time"))
    assert made.column("requested_time").max() == 48 * HOUR
    assert (made.column("requested_time") == 48 * HOUR).mean() == pytest.approx(0.217, abs=0.002)


@pytest.mark.parametrize(
    "how",
    [
        {"max_estimate": 3599},
        {"max_estimate": "1h"},
        {"max_estimate": float("nan")},
        {"estimates": 19},
        {"estimates": 25.5},
        {"estimates": 10**6},
    ],
)
def test_wrong_parameters(how):
    for call in (lambda: add_estimates(log_of([1] * 100), 1, **how), lambda: tsafrir(100, **how)):
        with pytest.raises(wk.ParameterError, match=next(iter(how))):
            call()


def test_logs_that_have_no_jobs_or_are_none():
    with pytest.raises(wk.WorkloadError, match="has no jobs"):
        add_estimates(wk.Trace.from_columns({"submit": []}))
    with pytest.raises(wk.ParameterError):
        add_estimates(None)
