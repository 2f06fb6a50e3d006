"""Closed users beside users who come and may go on."""

import numpy as np
import pytest
from scipy.integrate import quad

from workloadkit.queueing import (
    QueueingError,
    QueueingWarning,
    closed,
    exponential,
    hyperbolic,
    mixed,
    reopen,
)


def test_constant_p_is_so_many_open_jobs():
    result, alike = mixed(0.3, 5, 10, 1, p=0.25), mixed(0.4, 5, 10, 1)
    for name in ("Xc", "Rc", "Qc", "Uc", "Xo", "Ro", "Qo", "Uo", "X", "R", "Q", "U"):
        assert getattr(result, name) == pytest.approx(getattr(alike, name), rel=1e-14), name
    assert result.exactness == "exact, product form"
    assert result.jobs_per_user == pytest.approx(4 / 3, rel=1e-15)
    assert result.thinking == pytest.approx(1, rel=1e-15)  # 10 · 0.4 · 0.25
    assert result.Ro_first == result.Ro
    assert result.ppf(0.9, "first") == result.ppf(0.9, "open")
    for job in ("closed", "open"):
        assert result.ppf(0.9, job) == pytest.approx(alike.ppf(0.9, job), rel=1e-13)
    assert result.check() < 1e-14
    # lam counts users, of 4/3 jobs each
    slope = alike.derivative("Xc", "lam") * 4 / 3
    assert result.derivative("Xc", "lam") == pytest.approx(slope, rel=1e-8)


def test_the_chain_knows_constant_p():
    # p that hardly falls
    result, exact = mixed(0.3, 3, 4, 1, p=hyperbolic(0.25, 1e-9)), mixed(0.3, 3, 4, 1, p=0.25)
    assert result.exactness.startswith("approximation: chain")
    for name in result.measures:
        assert getattr(result, name) == pytest.approx(getattr(exact, name), rel=1e-6), name
    assert result.ppf(0.95, "closed") == pytest.approx(exact.ppf(0.95, "closed"), rel=1e-6)


@pytest.mark.parametrize("servers", [1, 2])
def test_without_closed_users_it_is_the_reopen_model(servers):
    result, alone = (
        mixed(0.5, 0, 5, 1, servers, p=exponential(1)),
        reopen(0.5, exponential(1), 5, 1, servers),
    )
    assert (result.Xc, result.Qc) == (0, 0) and np.isnan(result.Rc)
    for name, other in (("Xo", "X"), ("Ro", "R"), ("Ro_first", "R_first"), ("Uo", "U")):
        assert getattr(result, name) == pytest.approx(getattr(alone, other), rel=1e-8), name
    assert result.thinking == pytest.approx(alone.thinking, rel=1e-8)
    assert result.ppf(0.9, "open") == pytest.approx(alone.ppf(0.9, "any"), rel=1e-8)
    assert np.isnan(result.sf(1, "closed"))


def test_closed_users_drive_the_others_away():
    result = mixed(0.3, [0, 2, 5], 5, 1, p=exponential(1))
    assert (np.diff(result.jobs_per_user) < 0).all() and (result.jobs_per_user > 1).all()
    assert (np.diff(result.Xc) > 0).all()
    assert (np.diff(result.Ro) > 0).all()
    # users who go on after short responses: first jobs respond later
    assert (result.Ro_first > result.Ro).all()
    # between nobody going on, and all as after no time at all
    assert (result.Xc[1:] < mixed(0.3, [2, 5], 5, 1).Xc).all()
    assert result.check().max() < 1e-9
    for job, mean in (("closed", result.Rc[1:]), ("open", result.Ro[1:])):
        np.testing.assert_allclose(result.moment(1, job)[1:], mean, rtol=1e-6)


@pytest.mark.parametrize("p", [0.3, exponential(1)])
def test_moments_are_integrals_of_the_distribution(p):
    result = mixed(0.3, 2, 4, 1.2, p=p)
    for job in result.jobs:
        for k in (1, 2):
            known = quad(lambda t, j=job, k=k: k * t ** (k - 1) * result.sf(t, j), 0, 150)[0]
            assert result.moment(k, job) == pytest.approx(known, rel=1e-7), (job, k)


def test_jobs_that_take_no_time():
    result = mixed([0.3, 0.3], 4, 2, [0, 1], p=hyperbolic(0.5, 1))
    assert (result.Xc[0], result.Xo[0], result.Ro[0], result.Qo[0]) == (2, 0.6, 0, 0)
    assert result.ppf(0.5, "open")[0] == 0 and result.thinking[0] == pytest.approx(0.6)
    assert result.Xo[1] == mixed(0.3, 4, 2, 1, p=hyperbolic(0.5, 1)).Xo


def test_it_is_solved_again_for_what_changes():
    result = mixed(0.3, 2, 2, 1, p=exponential(1))
    assert result.solve(theta=2).Xo == mixed(0.3, 2, 2, 1, p=exponential(2)).Xo
    assert result.solve(p=0).Xc == mixed(0.3, 2, 2, 1).Xc
    assert result.derivative("Xo", "theta") < 0
    assert result.to_frame()["p"].tolist() == ["exponential(theta)"]
    with pytest.raises(QueueingError, match="speed is not a parameter"):
        result.solve(speed=1)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"lam": 1.5}, "lam is 1.5; it must be below servers"),
        ({"N": 2.5}, "N is 2.5; it must be a whole number"),
        ({"p": 1.5}, "p is 1.5; it must be from 0 to 1"),
        ({"p": 0.9}, "lam is 0.3; it must be below servers"),
        ({"p": exponential(-1)}, "theta is -1"),
        ({"method": "mva"}, "method is 'mva'; with p it must be 'formula'"),
        ({"Z": 0, "S": 0}, "it must be above 0 if"),
    ],
)
def test_wrong_arguments(changed, message):
    with pytest.raises(QueueingError, match=message):
        mixed(**{"lam": 0.3, "N": 2, "Z": 2, "S": 1, "p": exponential(1)} | changed)


def test_wrong_points_are_nan():
    with pytest.warns(QueueingWarning, match="1 of 2 points") as reported:
        result = mixed([0.3, 2], 2, 2, 1, p=exponential(1))
    assert len(reported) == 1 and reported[0].filename == __file__
    assert np.isnan(result.Xo).tolist() == [False, True]
    assert np.isnan(result.ppf(0.5, "open")).tolist() == [False, True]
    with pytest.warns(QueueingWarning, match="1 of 2 points") as reported:
        result = mixed([0.3, 2], 2, 2, 1, p=0.1)
    assert len(reported) == 1
    assert np.isnan(result.Xo).tolist() == [False, True]


def test_whole_numbers_have_no_slope():
    result = mixed(0.3, 2, 2, 1, p=exponential(1))
    with pytest.raises(QueueingError, match="wrt is 'N', a whole number"):
        result.derivative("Xo", "N")


def test_closed_users_alone_do_not_care():
    result = mixed(0.0, 4, 3, 1, p=0.5)
    assert result.Xc == closed(4, 3, 1).X and result.Xo == 0
