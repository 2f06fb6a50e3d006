"""Closed and mixed models: values by hand, laws that hold everywhere, edges, wrong arguments."""

import warnings
from fractions import Fraction
from math import factorial

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from matplotlib import pyplot as plt

from tests.examples import examples
from workloadkit.queueing import QueueingError, QueueingWarning, _kernels, closed, mixed, networks
from workloadkit.queueing.product_form import mean_values

MEASURES = ("Xc", "Rc", "Qc", "Uc", "Ro", "Qo", "Uo")

users = st.one_of(st.integers(1, 40), st.integers(1, 10**6), st.floats(0.01, 1e4))
ratios = st.one_of(st.just(0.0), st.floats(1e-3, 1e3), st.floats(1e-3, 1e9))
loads = st.one_of(st.just(0.0), st.floats(1e-9, 0.99), st.floats(0.99, 0.999999))
services = st.floats(1e-3, 1e3)


@st.composite
def loaded(draw):
    """Parameters of `mixed` from all over."""
    S, load, N, ratio = draw(services), draw(loads), draw(users), draw(ratios)
    return load / S, float(N), ratio * S, S


def test_two_users_and_one_server_by_hand():
    # With Z = S both think, one or both are at the server with weights 1/2, 1, 1
    result = closed(2, 1, 1)
    assert result.X == pytest.approx(0.8, rel=1e-15)
    assert result.U == pytest.approx(0.8, rel=1e-15)
    assert result.Q == pytest.approx(1.2, rel=1e-15)
    assert result.R == pytest.approx(1.5, rel=1e-15)
    assert result.X_per_user == pytest.approx(0.4, rel=1e-15)
    # the other thinks with chance 1/2: one service or two
    t = np.array([0.0, 0.5, 1, 3])
    np.testing.assert_allclose(result.sf(t), np.exp(-t) * (1 + t / 2), rtol=1e-14)
    assert result.moment(2) == pytest.approx((2 + 6) / 2, rel=1e-13)
    assert result.exactness == "exact, product form"


def test_open_jobs_stretch_the_service_of_closed_users():
    # 1 / (1 − 0.25) = 4/3, Z / (4/3) = 3
    alone = closed(7, 3, 1)
    together = mixed(0.25, 7, 4, 1)
    assert together.Rc == pytest.approx(4 / 3 * alone.R, rel=1e-14)
    assert together.Qc == pytest.approx(alone.Q, rel=1e-14)
    assert together.Ro == pytest.approx(4 / 3 * (1 + alone.Q), rel=1e-14)
    assert together.Qo == pytest.approx(together.Ro / 4, rel=1e-14)


def test_the_example_of_reiser_and_lavenbergs_recursion():
    # Lazowska et al. 1984, chapter 6: one centre of demand 2 and Z = 15, by their recursion
    X, R, Q = mean_values(3, Z=15, S=2)
    result = closed(3, 15, 2)
    assert (result.X, result.R, result.Q) == pytest.approx((X, R, Q), rel=1e-14)


@examples(40)
@given(loaded())
def test_operational_laws_hold_everywhere(point):
    result = mixed(*point)
    assert result.check() < 1e-14
    assert result.Xo == point[0]
    assert result.X == pytest.approx(result.Xc + point[0], rel=1e-15)


@examples(40)
@given(loaded())
def test_no_figure_is_impossible(point):
    lam, N, Z, S = point
    result = mixed(*point)
    capacity = (1 - lam * S) / S
    assert all(getattr(result, name) >= 0 for name in MEASURES)
    assert result.Uc <= 1 and result.U <= 1 and result.Qc <= N * (1 + 1e-14)
    s = 1 / capacity
    if N >= 1:  # asymptotic bounds
        assert result.Xc <= min(N / (Z + s), capacity) * (1 + 1e-9)
        assert result.Xc >= N / (Z + N * s) * (1 - 1e-9)
        assert result.Rc >= max(s, N * s - Z) * (1 - 1e-9)
        assert result.Rc <= N * s * (1 + 1e-9)


@examples(40)
@given(loaded())
def test_open_jobs_respond_later_than_closed_ones(point):
    result = mixed(*point)
    assert result.Ro > result.Rc
    t = result.Rc * np.array([0.01, 0.3, 1, 2, 5])
    assert (result.sf(t, "open") >= result.sf(t, "closed") * (1 - 1e-12)).all()


@examples(40)
@given(loaded(), st.floats(1.001, 2))
def test_measures_rise_and_fall_with_each_parameter(point, factor):
    lam, N, Z, S = point
    assume(N >= 1)
    base = mixed(*point)
    slack = 1 + 1e-12

    def rises(name, result):
        assert getattr(result, name) * slack >= getattr(base, name), name

    more = mixed(lam, N * factor, Z, S)
    for name in ("Xc", "Rc", "Qc", "Ro", "Qo"):
        rises(name, more)
    calmer = mixed(lam, N, Z * factor, S)
    for name in ("Xc", "Rc", "Qc", "Ro"):
        assert getattr(calmer, name) <= getattr(base, name) * slack, name
    assume(lam * S * factor < 1)
    for other in (mixed(lam * factor, N, Z, S), mixed(lam, N, Z, S * factor)):
        assert other.Xc <= base.Xc * slack
        for name in ("Rc", "Qc", "Ro", "Qo"):
            rises(name, other)


@examples(40)
@given(loaded(), st.floats(-30, 30))
def test_the_unit_of_time_does_not_matter(point, scale):
    lam, N, Z, S = point
    unit = 2.0 ** round(scale)
    result, scaled = mixed(*point), mixed(lam / unit, N, Z * unit, S * unit)
    for name in MEASURES:
        by = {"X": 1 / unit, "R": unit}.get(name[0], 1.0)
        assert getattr(scaled, name) == getattr(result, name) * by


@examples(15)
@given(st.integers(1, 100), ratios, loads)
def test_the_recursion_is_the_formula(N, ratio, load):
    formula, recursion = mixed(load, N, ratio, 1), mixed(load, N, ratio, 1, method="mva")
    for name in MEASURES:
        assert getattr(recursion, name) == pytest.approx(getattr(formula, name), rel=1e-12)


@examples(15)
@given(st.integers(1, 50), st.floats(0, 1e3))
def test_the_recursion_can_be_read(N, Z):
    assert mean_values(N, Z, 1.0) == pytest.approx(
        [getattr(closed(N, Z, 1.0, method="mva"), name) for name in "XRQ"], rel=1e-12
    )


def test_the_open_jobs_alone_are_those_of_one_server():
    result = mixed(0.75, 0, 5, 1)
    assert (result.Xc, result.Qc, result.Uc) == (0, 0, 0)
    assert np.isnan(result.Rc) and np.isnan(result.X_per_user)
    assert (result.Ro, result.Qo, result.Uo, result.R) == (4, 3, 0.75, 4)
    assert result.sf(4, "open") == pytest.approx(np.exp(-1), rel=1e-14)
    assert np.isnan(result.sf(4, "closed")) and np.isnan(result.ppf(0.5, "closed"))
    assert result.check() == 0


def test_users_who_never_think():
    result = mixed(0.5, 6, 0, 1)
    assert (result.Xc, result.Rc, result.Ro, result.Qc, result.U) == (0.5, 12, 14, 6, 1)
    assert result.moment(2, "closed") == pytest.approx(4 * 6 * 7, rel=1e-12)


def test_several_servers_next_to_one():
    result = mixed(0.5, [4, 4, 4, 0], [0, 2, 2, 2], 1, servers=[2, 1, 2, 2])
    assert result.Xc[0] == pytest.approx(mixed(0.5, 4, 0, 1, servers=2).Xc, rel=1e-13)
    assert result.Ro[1] == mixed(0.5, 4, 2, 1).Ro
    assert result.check().max() < 1e-12
    assert result.Xc[2] > result.Xc[1] and result.Rc[2] < result.Rc[1]
    assert result.ppf(0.9, "open")[1] == pytest.approx(mixed(0.5, 4, 2, 1).ppf(0.9, "open"))
    mean = result.moments("closed")["mean"]
    np.testing.assert_allclose(mean, result.Rc, rtol=1e-12)
    for wrt, h in (("lam", 1e-6), ("S", 1e-6), ("Z", 1e-6)):
        point = {"lam": 0.5, "N": 4, "Z": 2.0, "S": 1.0, "servers": [1, 2, 3]}
        up, down = (mixed(**point | {wrt: point[wrt] + d}) for d in (h, -h))
        for of in (*MEASURES, "X", "R", "Q", "U", "X_per_user"):
            numeric = (getattr(up, of) - getattr(down, of)) / (2 * h)
            found = mixed(**point).derivative(of, wrt)
            np.testing.assert_allclose(found, numeric, rtol=1e-7, atol=1e-8, err_msg=of)


def test_jobs_that_take_no_time():
    result = mixed(3, 6, 2, 0)
    assert (result.Xc, result.Rc, result.Ro, result.Q, result.U) == (3, 0, 0, 0, 0)
    assert result.ppf([0, 0.5, 1], "open").tolist() == [0, 0, 0]
    assert (result.sf(0, "closed"), result.cdf(0, "closed")) == (0, 1)
    assert closed(0, 0, 0).X == 0


def test_a_probe_among_closed_users_alone():
    result = mixed(0, 5, 3, 1)
    assert (result.Qo, result.Uo) == (0, 0)
    assert result.Ro == 1 + closed(5, 3, 1).Q == pytest.approx(closed(6, 3, 1).R, rel=1e-14)


def test_few_users_who_think_long():
    result = closed(10, 1e6, 1)
    # to the first orders in 1/a: R = 1 + 9/a
    assert result.R == pytest.approx(1 + 9e-6, rel=1e-10)
    assert result.X == pytest.approx(10 / (1e6 + result.R), rel=1e-15)


def test_very_many_users_saturate_the_server():
    assert closed(10**9, 10, 1).X == 1
    assert closed(10**9, 10, 1).R == 10**9 - 10
    assert mixed(0.5, 1e15, 10, 1).Rc == pytest.approx(2e15, rel=1e-14)


def test_the_spread_of_long_responses_keeps_its_digits():
    # of N never thinking users, Erlang(N): variance N, skewness 2 / √N
    moments = closed(10**8, 0, 1).moments()
    assert moments["variance"] == pytest.approx(1e8, rel=1e-11)
    assert moments["skewness"] == pytest.approx(2e-4, rel=1e-11)
    assert moments["scv"] == pytest.approx(1e-8, rel=1e-11)


def anywhere(rng, size):
    """As `loaded`, many at once."""
    S = 10 ** rng.uniform(-3, 3, size)
    N = np.where(
        rng.random(size) < 0.7, np.floor(10 ** rng.uniform(0, 6, size)), 1e3 * rng.random(size)
    )
    load = rng.choice([0.0, 1.0], size) * (1 - 10 ** -rng.uniform(0, 6, size))
    spread = 1 + rng.normal(size=size) / np.sqrt(N)
    ratio = np.where(
        rng.random(size) < 0.5, 10 ** rng.uniform(-3, 9, size), N * np.maximum(spread, 0)
    )
    return load / S, N, ratio * S, S


@pytest.mark.parametrize("job", ["closed", "open"])
def test_percentiles_turn_the_distribution_round(job, rng):
    result = mixed(*anywhere(rng, 80))
    for q in (1e-9, 0.01, 0.5, 0.7, 0.999, 1 - 1e-12):
        t = result.ppf(q, job)
        np.testing.assert_allclose(result.cdf(t, job), q, rtol=1e-9)
        np.testing.assert_allclose(result.sf(t, job), 1 - q, rtol=1e-9)
    assert (result.cdf(-1, job) == 0).all() and (result.sf(-1, job) == 1).all()
    assert (result.cdf(np.inf, job) == 1).all() and (result.sf(np.inf, job) == 0).all()


def test_the_ends_of_the_distribution():
    result = closed([1, 5, 500], [3, 3, 800], 1)
    tiny = result.ppf(1e-12)
    np.testing.assert_allclose(result.cdf(tiny), 1e-12, rtol=1e-12)
    assert result.ppf(0).tolist() == [0, 0, 0] and np.isinf(result.ppf(1)).all()
    # a single user always responds after one service
    assert tiny[0] == pytest.approx(1e-12, rel=1e-11)
    assert result.sf(500.0)[0] == pytest.approx(np.exp(-500), rel=1e-12)
    # both chances of the ratio are below the smallest float
    terms = [sum(Fraction(a) ** k / factorial(k) for k in range(10)) for a in (10**5, 10**5 + 1)]
    expected = np.exp(-1) * float(terms[1] / terms[0])
    assert closed(10, 1e5, 1).sf(1) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("job", ["closed", "open"])
def test_moments_are_the_distributions(job, rng):
    lam, N, Z, S = anywhere(rng, 50)
    N = np.maximum(N, 1)
    result = mixed(lam, N, Z, S)
    mean = result.Rc if job == "closed" else result.Ro
    np.testing.assert_allclose(result.moment(1, job), mean, rtol=1e-12)
    assert (result.moments(job)["variance"] > 0).all()
    # E T^k is the integral of k t^(k − 1) P(T > t)
    x, weight = np.polynomial.legendre.leggauss(200)
    end = result.ppf(1 - 1e-15, job)
    t = (x[:, None] + 1) / 2 * end
    for k in (2, 3):
        area = (weight[:, None] * k * t ** (k - 1) * result.sf(t, job)).sum(axis=0) * end / 2
        np.testing.assert_allclose(result.moment(k, job), area, rtol=1e-6)


@pytest.mark.parametrize("wrt", ["lam", "N", "Z", "S"])
def test_derivatives_are_limits_of_differences(wrt, rng):
    lam, N, Z, S = anywhere(rng, 200)
    given = {"lam": np.minimum(lam, 0.99 / S), "N": np.maximum(N, 1), "Z": Z, "S": S}
    value = given[wrt]
    h = 1e-4 * value / np.sqrt(given["N"]) * (1 - given["lam"] * S)
    base, up, down = (mixed(**given | {wrt: value + d}) for d in (0, h, -h))
    for of in (*MEASURES, "X", "R", "Q", "U", "X_per_user"):
        lower, middle, upper = (getattr(result, of) for result in (down, base, up))
        h_safe = np.where(h > 0, h, 1)
        numeric, curve = (upper - lower) / (2 * h_safe), (upper - 2 * middle + lower) / h_safe
        allowed = 1e-5 * np.abs(numeric) + 1e-3 * np.abs(curve) + 1e-11 * middle / h_safe
        assert (np.abs(base.derivative(of, wrt) - numeric) <= allowed)[h > 0].all(), of


def test_derivatives_at_the_edges():
    result = closed(2, 0, 1)
    # X = a (1 + a ...) near Z = 0: X = (1 + a) / (1 + a + a²/2), flat there
    assert result.derivative("X", "Z") == 0
    assert closed(1, 0, 1).derivative("X", "Z") == -1
    assert closed(3, 2, 0).derivative("X", "S") == pytest.approx(-3 / 4, rel=1e-12)
    assert closed(3, 2, 0).derivative("Q", "S") == pytest.approx(3 / 2, rel=1e-12)
    assert closed(3, 2, 0).derivative("R", "N") == 0
    nobody = closed(0, 1, 1)
    assert nobody.derivative("X", "Z") == 0 and np.isnan(nobody.derivative("R", "Z"))


def test_arguments_broadcast():
    result = mixed(np.array([0.1, 0.5])[:, None], [1, 2, 3], 4, 1)
    assert result.shape == (2, 3)
    assert result.Ro[1, 2] == mixed(0.5, 3, 4, 1).Ro
    assert result.ppf(0.9, "open").shape == (2, 3)
    assert result.derivative("Ro", "lam")[1, 2] == mixed(0.5, 3, 4, 1).derivative("Ro", "lam")
    assert result.to_frame().shape == (6, 12)
    assert isinstance(mixed(0.5, 3, 4, 1).Ro, float)
    assert closed([], 1, 1).X.shape == (0,) and closed([], 1, 1).ppf(0.5).shape == (0,)


def test_the_model_is_solved_again_for_what_changes():
    result = mixed(0.5, [1, 2], 4, 1)
    assert result.solve(N=2).Ro == result.Ro[1]
    assert result.solve(lam=0).Qo.tolist() == [0, 0]


def test_wrong_arguments():
    for changed, message in (
        ({"lam": 1.0}, "lam is 1; it must be below servers / S"),
        ({"lam": 1.5}, "lam is 1.5; it must be below servers / S"),
        ({"lam": -0.1}, "lam is -0.1; it must be finite, 0 or more"),
        ({"N": -1}, "N is -1; it must be finite, 0 or more"),
        ({"N": np.nan}, "N is nan; it must be finite"),
        ({"N": "ten"}, "N is 'ten'; it must be a number"),
        ({"N": True}, "N is True; it must be a number"),
        ({"Z": np.inf}, "Z is inf; it must be finite"),
        ({"S": -1}, "S is -1; it must be finite"),
        ({"Z": 0, "S": 0}, "Z is 0; it must be above 0 if S is 0"),
        ({"servers": 0}, "servers is 0; it must be a whole number, 1 or more"),
        ({"servers": 2, "N": 2.5}, "N is 2.5; it must be a whole number for several"),
        ({"method": "mva", "N": 2.5}, "N is 2.5; it must be a whole number"),
        ({"method": "mva", "servers": 2}, "servers is 2; it must be 1 for method 'mva'"),
        ({"method": "sums"}, "method is 'sums'; it must be formula or mva"),
    ):
        with pytest.raises(QueueingError, match=message):
            mixed(**{"lam": 0.5, "N": 3, "Z": 2, "S": 1} | changed)


def test_wrong_points_of_an_array_are_nan():
    with pytest.warns(QueueingWarning, match="2 of 4 points have no solution") as reported:
        result = mixed([0.5, 1, 0.2, -1], 3, 2, 1)
    assert len(reported) == 1
    assert np.isnan(result.Xc).tolist() == [False, True, False, True]
    assert result.Xc[2] == mixed(0.2, 3, 2, 1).Xc
    for value in (result.R, result.U, result.ppf(0.5, "open"), result.derivative("Ro", "Z")):
        assert np.isnan(value).tolist() == [False, True, False, True]


def test_wrong_questions():
    result = mixed(0.5, 3, 2, 1)
    with pytest.raises(QueueingError, match="job is missing; it must be closed or open"):
        result.ppf(0.5)
    with pytest.raises(QueueingError, match="q is 1\\.5; it must be from 0 to 1"):
        result.ppf(1.5, "open")
    with pytest.raises(QueueingError, match="of is 'Y'"):
        result.derivative("Y", "Z")
    with pytest.raises(QueueingError, match="wrt is 'servers', a whole number"):
        result.derivative("Ro", "servers")
    with pytest.raises(QueueingError, match="wrt is 'N', a whole number for several"):
        closed([3, 3], 2, 1, servers=[1, 2]).derivative("X", "N")


def test_nothing_warns_at_the_ends_of_floats():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for point in [
            (0, 1e-300, 1, 1), (0, 3, 1e-300, 1), (0, 3, 1, 1e-300), (0, 3, 1e300, 1e-300),
            (0, 3, 1e300, 1), (0.9e300, 3, 1, 1e-300), (0.9e-300, 3, 1, 1e300), (0, 1e300, 1, 1),
            (0, 0.5, 0, 1), (0, 1e-3, 1e-9, 1),
        ]:  # fmt: skip
            result = mixed(*point)
            values = [getattr(result, name) for name in MEASURES]
            assert np.isfinite(values).all(), point
            result.ppf([0, 1e-9, 0.5, 1 - 1e-9, 1], "open")
            result.moments("closed")
            for wrt in ("lam", "N", "Z", "S"):
                result.derivative("Ro", wrt)


def test_a_plot_over_users_shows_bounds_and_where_they_meet():
    _, ax = plt.subplots()
    assert closed(np.arange(1, 21), 5, 1).plot(ax) is ax
    assert ax.get_legend_handles_labels()[1] == ["R", "bound of R", "N* = 6"]
    bound = ax.lines[1].get_ydata()
    assert (bound[:6] == 1).all() and bound[-1] == 15
    assert ax.get_xlabel() == "number of users N"
    _, ax = plt.subplots()
    mixed(0.5, np.arange(1, 21), 5, 1).plot(ax, measures=("X", "Xc"))
    assert ax.get_legend_handles_labels()[1] == ["X", "Xc", "bound of Xc", "N* = 3.5"]
    plt.close("all")


def test_a_plot_with_several_servers_shows_what_these_can_do():
    _, ax = plt.subplots()
    closed(np.arange(1, 21), 5, 1, servers=2).plot(ax)
    assert ax.get_legend_handles_labels()[1] == ["R", "bound of R", "N* = 12"]
    bound = ax.lines[1].get_ydata()
    assert (bound[:12] == 1).all() and bound[-1] == 20 / 2 - 5


@pytest.mark.parametrize(("most", "shown"), [(5, []), (6, ["N* = 6"])])
def test_a_plot_shows_where_the_bounds_meet_if_they_do(most, shown):
    _, ax = plt.subplots()
    closed(np.arange(1, most + 1), 5, 1).plot(ax)
    assert ax.get_legend_handles_labels()[1] == ["R", "bound of R", *shown]


def test_a_plot_leaves_out_points_without_an_answer():
    with pytest.warns(QueueingWarning, match="1 of 4 points"):
        result = closed([1, 2, -1, 30], 5, 1)
    _, ax = plt.subplots()
    result.plot(ax)
    assert ax.get_legend_handles_labels()[1] == ["R", "bound of R", "N* = 6"]
    assert np.isnan(ax.lines[0].get_ydata()).tolist() == [False, False, True, False]


def test_plots_of_one_point_and_over_other_parameters():
    _, (left, right) = plt.subplots(1, 2)
    mixed(0.5, 3, 5, 1).plot(left)
    assert left.get_legend_handles_labels()[1] == ["closed jobs", "open jobs"]
    mixed(np.linspace(0, 0.9, 5), 3, 5, 1).plot(right)
    assert right.get_legend_handles_labels()[1] == ["Rc", "Ro"]
    with pytest.raises(QueueingError, match="measures is 'Y'; it must be one of Xc"):
        mixed([0.1, 0.2], 3, 5, 1).plot(right, measures=("Y",))
    with pytest.raises(QueueingError, match="exactly one varying parameter; here lam and N vary"):
        mixed([0.1, 0.2], [1, 2], 5, 1).plot(right)
    plt.close("all")


@pytest.mark.parametrize("steps", [1, 3, 7])
def test_recursions_pause_for_signals_without_a_difference(steps, monkeypatch):
    def play():
        one = closed([0, 1, 7, 30], Z=10, S=1, method="mva")
        several = networks.mva([1, 2, 0.5], [0, 1, 7, 30], Z=3)
        return [one.X, one.R, several.X, several.R]

    whole = play()
    monkeypatch.setattr(_kernels, "SLICE", steps)
    np.testing.assert_array_equal(play(), whole)
