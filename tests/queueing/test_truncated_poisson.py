"""Users of whom all but some think, against many digits, in all regions and at their borders."""

import mpmath
import numpy as np
import pytest

from workloadkit.queueing import response_law
from workloadkit.queueing.truncated_poisson import (
    all_think,
    at_most,
    heavy,
    light,
    number_at_server,
)

DIGITS = 60


def points():
    """Points (n, a), many where the regions meet."""
    rng = np.random.default_rng(3)
    found = [(0.0, 0.0), (3.0, 0.0), (-0.5, 4.0), (0.3, 1e-9), (1.0, 1e-300), (20.0, 20.0)]
    for n in (0, 1, 7, 20, 21, 60, 199, 201, 901, 1500):
        for z in (-15, -9, -3, -0.5, 0, 0.5, 1.5, 2.9, 3.1, 6.9, 7.1, 19, 21, 300):
            root = (z + np.sqrt(z * z + 4 * n)) / 2  # a − n = z √a
            found.append((float(n), root**2))
    found += [(n, float(10 ** rng.uniform(-2, 3))) for n in rng.uniform(-0.9, 50, 30)]
    return [(n, a) for n, a in found if a > 0 or n >= 0]


def upper(s, x):
    """Γ(s, x); sums where s is whole."""
    if s == int(s) and s > 0:
        total = term = mpmath.mpf(1)
        for k in range(1, int(s)):
            term *= x / k
            total += term
        return mpmath.exp(-x) * total * mpmath.factorial(s - 1)
    return mpmath.gammainc(s, x)


def exact(n, a):
    """B, Q and P."""
    with mpmath.workdps(DIGITS + int(2 * abs(a - n) ** 0.5)):
        n, a = mpmath.mpf(n), mpmath.mpf(a)
        whole = upper(n + 1, a)
        a_B = a ** (n + 1) * mpmath.exp(-a) / whole
        B = mpmath.mpf(n == 0) if a == 0 else a_B / a
        return B, n - a + a_B, whole / mpmath.gamma(n + 1)


def test_the_three_functions():
    for n, a in points():
        B, Q, P = exact(n, a)
        one = np.array([n]), np.array([a])
        # what a relative change of n and a of 1e-16 does, and then some
        room = 1e-13 + 1e-15 * abs(float(Q))
        if B > 1e-290 and n >= 0:
            assert all_think(*one)[0] == pytest.approx(float(B), rel=room), (n, a)
        if P > 1e-290:
            assert at_most(*one)[0] == pytest.approx(float(P), rel=1e-12), (n, a)
        assert 1 + number_at_server(*one)[0] == pytest.approx(float(1 + Q), rel=1e-13), (n, a)
        if n >= 1:
            assert number_at_server(*one)[0] == pytest.approx(float(Q), rel=1e-13), (n, a)


def test_the_regions_do_not_overlap():
    n, a = (np.array(column) for column in zip(*points(), strict=True))
    assert not (light(n, a) & heavy(n, a)).any()
    assert light(n, a).any() and heavy(n, a).any() and not (light(n, a) | heavy(n, a)).all()


@pytest.mark.slow
def test_slopes_against_differences_with_many_digits():
    for n, a in points()[::11]:
        if a == 0:
            continue
        h = mpmath.mpf(10) ** -20
        with mpmath.workdps(DIGITS):
            in_a = (exact(n, a * (1 + h))[1] - exact(n, a * (1 - h))[1]) / (2 * h * a)
            rise = upper_slope(n, a, h)
        one = np.array([n]), np.array([a])
        assert response_law.slope_in_think_time(*one)[0] == pytest.approx(
            float(in_a), rel=1e-11, abs=1e-14
        ), (n, a)
        assert response_law.slope_in_users(*one)[0] == pytest.approx(float(rise), rel=1e-11), (n, a)


def upper_slope(n, a, h):
    """dQ/dn by a difference."""
    return (exact(n + h, a)[1] - exact(n - h, a)[1]) / (2 * h)
