"""Arguments of all models and of what they return: what counts as a number, and what is known."""

import pickle

import numpy as np
import pandas as pd
import pytest

from workloadkit.queueing import (
    QueueingError,
    QueueingWarning,
    closed,
    exponential,
    md1,
    mixed,
    mm1,
    mmc,
    operational_phases,
    reopen,
    users_for_response,
)


@pytest.mark.parametrize(
    "N",
    [[1, 2], (1, 2), np.array([1, 2], np.uint8), np.array([1, 2], np.float16), pd.Series([1, 2])],
)
def test_whatever_holds_numbers_will_do(N):
    assert closed(N, Z=1, S=1).X.tolist() == [0.5, 0.8]


def test_what_a_masked_array_hides_is_no_number():
    hidden = np.ma.array([1.0, 2.0], mask=[False, True])
    with pytest.warns(QueueingWarning, match="1 of 2 points"):
        found = closed(hidden, Z=1, S=1).X
    assert found[0] == 0.5
    assert np.isnan(found[1])


def test_points_without_any_are_empty():
    for empty in ([], np.zeros((0, 3))):
        found = mixed(0.1, empty, Z=1, S=1)
        assert found.Rc.shape == found.ppf(0.5, "open").shape == np.shape(empty)
        assert found.to_frame().empty


def test_what_is_no_number_is_named():
    solvers = (
        lambda S: mm1(0.1, S),
        lambda S: closed(2, 1, S),
        lambda S: reopen(0.1, 0.5, 1, S),
        lambda S: reopen(0.1, exponential(1), 1, S),
    )
    for bad in (True, "1", None, 1j, {}, 10**400, np.datetime64("2020-01-01")):
        for solve in solvers:
            with pytest.raises(QueueingError, match=r"^S is .*; it must be a number"):
                solve(bad)


def test_all_models_agree_on_what_is_left():
    # 3 times the float next to 1/3 is below 1, and rounds to it
    left = 2.0**-54
    assert mm1(3.0, 1 / 3).R == md1(3.0, 1 / 3).W * 2 + 1 / 3 == pytest.approx(1 / 3 / left)
    assert mixed(3.0, 0, 1, 1 / 3).Ro == reopen(3.0, 0.0, 1, 1 / 3).R == mm1(3.0, 1 / 3).R
    assert operational_phases(3.0, 1, 0, 1 / 3).R_full == pytest.approx(1 / 3 / left)
    for servers, solve in (
        (1, lambda lam: mixed(lam, 2, 1, 1)),
        (1, lambda lam: operational_phases(lam, 2, 1, 1)),
        (1, lambda lam: users_for_response(5, 1, 1, lam)),
        (4, lambda lam: mmc(lam, 1, 4)),
        (4, lambda lam: mixed(lam, 2, 1, 1, 4)),
    ):
        for lam in (servers, 1e308):
            with pytest.raises(QueueingError, match=r"^lam is .*; it must be below servers / S"):
                solve(lam)


def test_results_know_what_they_are_asked():
    for model in (
        closed(3, 1, 1),
        mixed(0.3, 3, 1, 1, 2),
        mixed(0.3, 3, 1, 1, p=exponential(1)),
        reopen([0.3, 0.4], exponential(1), 1, 1),
        reopen(0.3, 0.5, 1, 1),
        mm1(0.3, 1),
        mmc(0.3, 1, 2),
        md1(0.3, 1),
    ):
        job = model.jobs[0]
        for order in (0, 2.5, 21, "a", None, True, np.nan, np.inf, [1, 2]):
            with pytest.raises(QueueingError, match=r"^order is "):
                model.moment(order, job)
        assert np.isfinite(model.moment(20, job)).all()
        assert np.all(model.sf(np.inf, job) == 0)
        assert np.all(model.cdf(np.inf, job) == 1)
        with pytest.raises(QueueingError, match="foo is not a parameter; known: "):
            model.solve(foo=1)
        again = pickle.loads(pickle.dumps(model)).solve()
        assert np.array_equal(again.ppf(0.9, job), model.ppf(0.9, job))


def test_a_warning_names_the_line_that_asked():
    with pytest.warns(QueueingWarning, match="1 of 2 points have no solution") as reported:
        mixed([0.5, 1], 3, 1, 1)
    assert reported[0].filename == __file__
