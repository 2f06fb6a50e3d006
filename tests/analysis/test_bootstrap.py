import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from workloadkit import WorkloadError
from workloadkit.analysis.bootstrap import (
    interval,
    resample_users,
    resampled_medians,
    resampled_rank_correlation,
    resampled_ratios,
    totals_by_user,
)

N_USERS = 4
samples = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, N_USERS - 1)), min_size=1, max_size=30
)
draws = st.lists(
    st.lists(st.integers(0, 3), min_size=N_USERS, max_size=N_USERS), min_size=1, max_size=5
)


def repeated(sample, weights):
    """The values of a draw, each written out as often as its user was drawn."""
    return [value for value, user in sample for _ in range(weights[user])]


@given(samples, draws)
def test_medians_and_means_are_those_of_the_values_written_out(sample, weights):
    value, user = map(np.array, zip(*sample, strict=True))
    w = np.array(weights, dtype=float)
    medians = resampled_medians(value, user, w)
    sums, counts = (totals_by_user(x, user, N_USERS) for x in (value, np.ones(value.size)))
    means = resampled_ratios(sums, counts, w)
    for row, median, mean in zip(weights, medians, means, strict=True):
        drawn = repeated(sample, row)
        if drawn:
            assert median == np.median(drawn)
            assert mean == pytest.approx(np.mean(drawn))
        else:
            assert np.isnan(median)
            assert np.isnan(mean)


def test_draws_take_as_many_users_as_there_are_and_repeat_with_the_seed():
    weights = resample_users(50, 2000, rng=3)
    assert (weights.sum(axis=1) == 50).all()
    assert weights.mean(axis=0) == pytest.approx(np.ones(50), abs=0.15)
    assert weights.var() == pytest.approx(1 - 1 / 50, abs=0.03)
    assert (weights == resample_users(50, 2000, rng=3)).all()


def test_a_single_user_has_no_interval():
    weights = resample_users(1)
    user = np.zeros(3, dtype=int)
    assert np.isnan(interval(resampled_medians([1, 2, 3], user, weights))).all()
    assert np.isnan(interval(resampled_ratios(np.ones(1), np.ones(1), weights))).all()


def test_what_only_two_of_many_users_have_has_no_interval():
    weights = resample_users(100, rng=0)
    both = resampled_medians([1, 2], np.array([4, 7]), weights)
    many = resampled_medians(np.arange(6), np.arange(6), weights)
    assert np.isnan(interval(both)).all()
    assert np.isfinite(interval(many)).all()


def test_intervals_take_each_column_by_itself():
    columns = np.arange(101.0), np.full(101, np.nan), np.arange(101.0), np.full(101, 7.0)
    table = np.column_stack(columns)
    table[91:, 2] = np.nan
    low, high = interval(table, level=0.9)
    assert low.tolist() == pytest.approx([5, np.nan, 4.5, np.nan], nan_ok=True)
    assert high.tolist() == pytest.approx([95, np.nan, 85.5, np.nan], nan_ok=True)
    assert np.isnan(interval(table[:90])[:, 2:].sum(axis=0)).tolist() == [False, True]


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, N_USERS - 1)), min_size=3
    )
)
def test_rank_correlations_are_those_of_scipy(sample):
    x, y, user = map(np.array, zip(*sample, strict=True))
    correlation, draws = resampled_rank_correlation(x, y, user, np.ones((1, N_USERS)))
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        assert np.isnan([correlation, *draws]).all()
    else:
        assert correlation == pytest.approx(spearmanr(x, y).statistic)
        assert draws == pytest.approx(correlation, abs=1e-6)


def test_drawn_rank_correlations_are_near_those_ranked_again(rng):
    n_users, each = 60, 20
    user = np.repeat(np.arange(n_users), each)
    level = rng.normal(size=n_users)[user]
    x = level + rng.normal(size=user.size)
    y = np.round(level - 0.5 * x + rng.normal(size=user.size), 1)
    weights = resample_users(n_users, 300, rng=rng)
    _, draws = resampled_rank_correlation(x, y, user, weights)
    anew = []
    for weight in weights:
        rows = np.repeat(np.arange(user.size), weight[user].astype(int))
        anew.append(spearmanr(x[rows], y[rows]).statistic)
    assert np.corrcoef(draws, anew)[0, 1] > 0.98
    assert interval(draws) == pytest.approx(interval(anew), abs=0.02)


def test_intervals_of_a_mean_hold_it_about_as_often_as_they_say(rng):
    # 40 users whose means differ far more than their jobs do: drawing jobs would miss that.
    held = 0
    user = np.repeat(np.arange(40), 25)
    for _ in range(200):
        value = rng.normal(size=40)[user] + 0.1 * rng.normal(size=user.size)
        sums = totals_by_user(value, user, 40)
        means = resampled_ratios(sums, np.full(40, 25.0), resample_users(40, 300, rng=rng))
        low, high = interval(means)
        held += low <= 0 <= high
    assert 0.89 <= held / 200 <= 0.99


@pytest.mark.parametrize("numbers", [(0, 10), (5, 0)])
def test_there_is_something_to_draw(numbers):
    with pytest.raises(WorkloadError, match="cannot draw"):
        resample_users(*numbers)


@pytest.mark.parametrize(("unknown", "known"), [(1, True), (2, False)])
@pytest.mark.parametrize("nothing", [np.nan, np.inf, -np.inf])
def test_a_tenth_of_the_draws_may_give_nothing_and_no_more(unknown, known, nothing):
    values = np.arange(10.0)
    values[:unknown] = nothing
    assert np.isfinite(interval(values)).all() == known


@pytest.mark.parametrize("sign", [1, -1])
def test_a_rank_correlation_of_1_is_so_in_each_draw(sign):
    x, weights = np.arange(6.0), np.array([[1.0, 1.0], [2.0, 0.0], [0.0, 2.0]])
    correlation, draws = resampled_rank_correlation(x, sign * x, np.arange(6) % 2, weights)
    assert correlation == pytest.approx(sign)
    assert draws == pytest.approx([sign] * 3, abs=1e-6)
    assert np.abs(draws).max() <= 1
