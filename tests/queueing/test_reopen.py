"""The re-open model: product form, exact identities, methods beside each other, bad input."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import floats, integers
from matplotlib.figure import Figure

from tests.data import needs_compiler
from tests.examples import examples
from tests.oracles import queues
from workloadkit.queueing import (
    QueueingError,
    QueueingWarning,
    breaks,
    exponential,
    hyperbolic,
    mm1,
    reopen,
    table,
)

METHODS = ["chain", "mm1", "mean", "exact"]


@examples(40)
@given(floats(0.01, 0.99), floats(0, 0.95), floats(0.01, 100), floats(0, 50), integers(1, 6))
def test_constant_p_is_mmc(load, p, S, Z, c):
    lam = load * c * (1 - p) / S
    found = reopen(lam, p, Z, S, c)
    expected = queues.reopen_constant(lam, p, S, c)
    assert found.exactness == "exact, product form"
    assert found.X == pytest.approx(lam / (1 - p), rel=1e-12)
    assert found.R == pytest.approx(expected["R"], rel=1e-10)
    assert found.sf(2 * found.R) == pytest.approx(
        queues.mmc_slower_than(2 * found.R, lam / (1 - p), S, c), rel=1e-7
    )
    assert found.check() < 1e-12


@pytest.mark.parametrize("method", ["chain", "mm1", "mean", "fluid", "exact"])
def test_every_method_gives_the_product_form_of_constant_p(method):
    found = reopen([0.2, 0.4], [[0.1], [0.5]], 3, 1, 2, method)
    assert found.X.shape == (2, 2)
    assert found.R == pytest.approx(reopen([0.2, 0.4], [[0.1], [0.5]], 0, 1, 2).R)
    assert found.exactness == "exact, product form"


@given(floats(0.01, 0.99), floats(0.01, 100), floats(0.01, 10), floats(0, 50))
def test_total_rate_of_the_exponential_in_closed_form(load, theta, S, Z):
    lam, mu = load / S, 1 / S
    found = reopen(lam, exponential(theta), Z, S, method="mm1")
    assert found.X == pytest.approx(lam * (mu + theta) / (theta + lam), rel=1e-12)
    assert found.R == pytest.approx((theta + lam) / (theta * (mu - lam)), rel=1e-12)


@examples(12)
@given(floats(0.01, 0.99), integers(1, 4), floats(0.01, 10), floats(0.05, 1), floats(0.01, 10))
def test_the_total_rate_solves_its_equation(load, c, S, a, b):
    lam, p = load * c / S, hyperbolic(a, b)
    for method in ("mm1", "mean"):
        found = reopen(lam, p, 1, S, c, method)
        assert found.check() < 1e-10
        assert found.X * S < c
        assert found.R >= S * (1 - 1e-12)
        assert found.roots.tolist() == [found.X]


def test_custom_functions_are_solved_as_forms_are():
    own = reopen(0.6, lambda r: math.exp(-r), 1, 1, method="mm1")
    assert own.R == pytest.approx(reopen(0.6, exponential(1), 1, 1, method="mm1").R, rel=1e-9)
    smooth = reopen(0.6, lambda r: 0.8 / (0.5 * r + 1), 1, 1)
    assert smooth.R == pytest.approx(reopen(0.6, hyperbolic(0.8, 0.5), 1, 1).R, rel=1e-6)


def test_more_load_is_more_of_everything_but_jobs_per_user():
    lam = np.linspace(0.05, 0.95, 10)
    for method in ("mm1", "mean", "chain"):
        found = reopen(lam, hyperbolic(0.8, 0.5), 1, 1, method=method)
        assert (np.diff(found.X) > 0).all()
        assert (np.diff(found.R) > 0).all()
        assert (np.diff(found.jobs_per_user) < 0).all()
        assert (np.diff(found.X_per_user) < 0).all()


def test_first_jobs_meet_what_time_shows():
    found = reopen([0.3, 0.6, 0.9], exponential(1), [[0], [1], [20]], 1)
    assert found.R_first == pytest.approx(1 + found.Q)
    assert (found.R < found.R_first).all()
    assert found.moment(1, "first") == pytest.approx(found.R_first)
    assert found.check().max() < 1e-9


def test_at_no_think_time_the_exponential_is_eulers_law():
    rho, i = 0.6, np.arange(400)
    q = 1 / 1.5
    found = reopen(rho, exponential(0.5), 0, 1)
    assert found.X == pytest.approx(1 - np.prod(1 - rho * q**i), rel=1e-9)
    assert found.Q == pytest.approx((rho * q**i / (1 - rho * q**i)).sum(), rel=1e-9)


def test_a_rising_p_may_have_several_solutions():
    p = table([0, 2, 3, 20, 30], [0.1, 0.1, 0.85, 0.85, 0])
    with pytest.warns(QueueingWarning, match="several solutions: 0.22"):
        found = reopen(0.2, p, 1, 1, method="mean")
    assert found.roots == pytest.approx([0.2222222, 0.6407844, 0.9517086], rel=1e-6)
    assert found.X == found.roots[0]
    with pytest.warns(QueueingWarning, match="at 1 of 2 points"):
        both = reopen([0.01, 0.2], p, 1, 1, method="mean")
    assert np.isnan(both.roots[0, 1:]).all()


@pytest.mark.parametrize(("lam", "R"), [(0.5, 13.48), (0.7, 36.37), (0.9, 149.75), (0.95, 319.0)])
def test_under_heavy_load_the_queue_holds_its_length(lam, R):
    # R by simulation of many million jobs, Z = 1, with times in minutes
    found = reopen(lam, hyperbolic(0.8, 0.05), 1, 1, method="fluid")
    assert found.R == pytest.approx(R, rel=0.01)
    assert found.X == 1
    assert found.moments()["variance"] < found.R**2
    assert np.isnan(found.moments()["skewness"])
    with pytest.raises(QueueingError, match="only gives mean and variance"):
        found.sf(1)
    assert found.check() < 1e-12


def test_fluid_gives_no_response_shorter_than_its_service():
    lam = np.linspace(0.05, 0.95, 19)
    for c in (1, 4, 16):
        with pytest.warns(QueueingWarning, match="'fluid'"):
            found = reopen(c * lam, exponential(0.3), 1, 1, c, "fluid")
        assert (found.R[np.isfinite(found.R)] > 1).all()


def test_a_jump_of_p_may_leave_no_solution():
    def jump(r):
        return 0.9 if r < 2 else 0.1

    with pytest.raises(QueueingError, match="no X balances departures"):
        reopen(0.3, jump, 1, 1, method="mean")
    with pytest.warns(QueueingWarning, match="p jumps there"):
        both = reopen([0.03, 0.3], jump, 1, 1, method="mean")
    assert both.X == pytest.approx([0.3, np.nan], nan_ok=True)
    assert reopen(0.3, jump, 1, 1, method="mm1").check() < 1e-9
    at_once = reopen(0.5, table([0, 1, 5], [0.4, 0.3, 0.95]), 5, 0, method="mm1")
    assert at_once.X == pytest.approx(0.5 / 0.6)


def test_stability_is_that_of_long_responses():
    assert reopen(0.2, hyperbolic(0.8, 0.5), 1, 2, 3).stable_below == 1.5
    assert reopen(0.2, 0.6, 1, 1).stable_below == 0.4
    with pytest.raises(QueueingError, match=r"lam is 0\.6; it must be below servers"):
        reopen(0.6, table([0, 5], [0.9, 0.5]), 1, 1)
    assert reopen(0.49, table([0, 5], [0.9, 0.5]), 1, 1, method="mm1").X < 1
    with pytest.raises(QueueingError, match="p is 1; it must be such that p is below 1"):
        reopen(0.1, 1, 1, 1)
    with pytest.raises(QueueingError, match="theta is 0"):
        reopen(0.1, exponential(0), 1, 1)
    with pytest.raises(QueueingError, match="b is 0"):
        reopen(0.1, hyperbolic(1, 0), 1, 1)
    with pytest.raises(QueueingError, match="tends to 1"):
        reopen(0.1, lambda r: 1 - np.exp(-r), 1, 1)
    with pytest.raises(QueueingError, match="S is 0"):
        reopen(0.1, exponential(1), 1, 0)


def test_bad_input_is_named():
    for change, message in (
        ({"lam": -1}, "lam is -1"),
        ({"lam": np.nan}, "lam is nan"),
        ({"lam": 1}, "lam is 1; it must be below servers"),
        ({"Z": -1}, "Z is -1"),
        ({"Z": np.inf}, "Z is inf"),
        ({"S": True}, "S is True"),
        ({"servers": 1.5}, "servers is 1.5"),
        ({"p": exponential(-1)}, "theta is -1"),
        ({"p": hyperbolic(2, 1)}, "a is 2"),
        ({"p": "exp:1"}, "p is 'exp:1'"),
        ({"p": 1.2}, "p is 1.2"),
        ({"p": lambda r: 1 + r}, "at response time"),
        ({"method": "best"}, "method is 'best'"),
        ({"method": "mm1", "Z": breaks(1, 2, 3)}, "Z is a breaks"),
        ({"Z": lambda r: r - 3}, "Z is -3"),
        ({"lam": [0.1, 0.2], "S": [1, 2, 3]}, r"cannot broadcast parameters: lam \(2,\), S \(3,\)"),
        ({"p": hyperbolic(0.8, 0.5), "method": "exact"}, "method 'exact' is for exponential"),
        ({"lam": 0.9, "method": "exact"}, "for light load"),
        ({"method": "fluid"}, "'fluid'"),
    ):
        with pytest.raises(QueueingError, match=message):
            reopen(**{"lam": 0.2, "p": exponential(1), "Z": 1, "S": 1} | change)


def test_points_without_an_answer_are_nan():
    with pytest.warns(
        QueueingWarning, match="2 of 4 points have no solution and are nan: lam is -1 at"
    ):
        found = reopen([0.5, 1, -1, 0], hyperbolic(0.8, 0.5), 1, 1, method="mm1")
    assert np.isnan(found.X).tolist() == [False, True, True, False]
    assert np.isnan(found.ppf(0.5)).tolist() == [False, True, True, False]
    with pytest.warns(QueueingWarning, match=r"1 of 2 points .* at \[0\], lam is 0.1"):
        found = reopen([0.1, 0.9], hyperbolic(0.8, 0.5), 1, 1, method="fluid")
    assert np.isnan(found.R).tolist() == [True, False]


@pytest.mark.parametrize("method", ["chain", "mm1", "mean"])
def test_edges(method):
    nobody = reopen(0, exponential(2), 3, 1, method=method)
    assert (nobody.X, nobody.Q, nobody.R) == (0, 0, pytest.approx(1))
    if method != "mean":
        assert nobody.jobs_per_user == pytest.approx(1.5)
        assert nobody.time_per_user == pytest.approx(1.5 + 0.5 * 3)
    at_once = reopen(2, hyperbolic(0.75, 1), 3, 0, method=method)
    assert (at_once.X, at_once.R, at_once.U, at_once.thinking) == (8, 0, 0, 18)
    assert at_once.ppf(0.9) == 0
    assert reopen([], exponential(1), 1, 1, method=method).X.shape == (0,)
    tiny = reopen(1e-300, exponential(1), 1, 1, method=method)
    assert tiny.R == pytest.approx(1)


def test_users_who_neither_wait_nor_think_are_gone_at_once():
    found = reopen(2, 0.5, [0, 3], 0)
    assert found.X.tolist() == [4, 4]
    assert found.time_per_user.tolist() == [0, 3]  # every other job is followed, after 3
    assert found.X_per_user == pytest.approx([np.inf, 2 / 3])
    assert found.stable_below.tolist() == [np.inf, np.inf]


def test_answers_do_not_depend_on_the_unit_of_time():
    for method in ("mm1", "mean", "chain"):
        one = reopen(0.7, hyperbolic(0.8, 0.5), 2, 1, 2, method)
        ten = reopen(0.07, hyperbolic(0.8, 0.05), 20, 10, 2, method)
        assert ten.R == pytest.approx(10 * one.R)
        assert ten.ppf(0.9) == pytest.approx(10 * one.ppf(0.9))


def test_derivatives_in_every_parameter():
    found = reopen(0.5, exponential(1), 1, 1, method="mm1")
    assert found.derivative("X", "lam") == pytest.approx(2 / 2.25, rel=1e-6)
    assert found.derivative("X", "theta") == pytest.approx(-0.5 * 0.5 / 2.25, rel=1e-6)
    assert found.derivative("X", "Z") == pytest.approx(0, abs=1e-9)
    for wrt, expected in [("lam", 40), ("p", 30), ("Z", 0), ("S", 16)]:
        at = reopen(0.3, 0.6, 1, 1)
        assert at.derivative("R", wrt) == pytest.approx(expected, rel=1e-7, abs=1e-8)
    near = reopen([0, 0.999999], exponential(1), [0, 1], 1, method="mm1")
    assert near.derivative("R", "lam") == pytest.approx([2, 2e12], rel=1e-5)
    assert reopen(0.5, hyperbolic(1, 1), 0, 1).derivative("X", "a") > 0
    with pytest.raises(QueueingError, match="a whole number"):
        found.derivative("X", "servers")
    again = found.solve(theta=2, lam=[0.1, 0.2])
    assert again.X == pytest.approx(reopen([0.1, 0.2], exponential(2), 1, 1, method="mm1").X)
    with pytest.raises(QueueingError, match="q is not a parameter"):
        found.solve(q=1)


def test_think_times_may_depend_on_the_response():
    found = reopen([0, 0.5, 0.5], exponential(1), breaks(1, [20, 1, 20], 3), 1)
    # alone: a response of 3 at most is followed by 1, a longer one by 20
    short = (1 - math.exp(-6)) / 2
    assert found.time_per_user[0] == pytest.approx(2 * (1 + short + 20 * (0.5 - short)))
    assert found.R[1] == pytest.approx(reopen(0.5, exponential(1), 1, 1).R, rel=1e-6)
    assert found.thinking[2] > found.thinking[1]
    assert found.check().max() < 1e-9
    assert found.to_frame()["long"].tolist() == [20, 1, 20]


def test_survival_at_the_ends_of_time():
    for method in ("chain", "mm1"):
        found = reopen([0.5, 0.6], exponential(1), 1, 1, method=method)
        ends = found.sf([[-1], [0], [np.inf]])
        assert ends == pytest.approx(np.array([[1, 1], [1, 1], [0, 0]]))
        assert np.isnan(found.sf([np.nan, np.nan])).all()
        assert found.ppf([[0], [1]]).tolist() == [[0, 0], [np.inf, np.inf]]


def test_the_frame_shows_functions_and_their_parameters():
    frame = reopen([0.1, 0.2], hyperbolic(0.8, [0.5, 1]), 1, 1).to_frame()
    assert frame["p"].tolist() == ["hyperbolic(a, b)"] * 2
    assert frame["b"].tolist() == [0.5, 1]


def test_the_picture_shows_where_arrivals_and_departures_meet():
    with pytest.warns(QueueingWarning, match="several"):
        found = reopen(0.2, table([0, 2, 3, 20, 30], [0.1, 0.1, 0.85, 0.85, 0]), 1, 1, 1, "mean")
    ax = found.plot(Figure().subplots())
    assert ax.lines[-1].get_xdata() == pytest.approx(found.roots)
    assert np.interp(found.roots, *ax.lines[0].get_data()) == pytest.approx(0.2, abs=0.02)
    assert ax.get_xlabel()
    assert len(ax.get_legend().get_texts()) == 3
    ax = reopen([0.1, 0.2], exponential(1), 1, 1).plot(Figure().subplots())
    assert "lam" in ax.get_xlabel()


def test_the_fluid_method_takes_smooth_custom_functions():
    own = reopen(0.9, lambda r: 0.8 / (0.05 * r + 1), 1, 1, method="fluid")
    form = reopen(0.9, hyperbolic(0.8, 0.05), 1, 1, method="fluid")
    assert own.R == pytest.approx(form.R, rel=1e-4)
    with pytest.raises(QueueingError, match="table of 2 points, which has no derivative"):
        reopen(0.9, table([0, 100], [0.8, 0]), 1, 1, method="fluid")
    with pytest.raises(QueueingError, match="p increases with r; method 'fluid'"):
        reopen(0.1, lambda r: 0.8 - 0.5 / (1 + r), 1, 1, method="fluid")


@needs_compiler
@pytest.mark.parametrize(("Z", "c"), [(0, 1), (1, 1), (1, 2)])
def test_the_chain_is_near_the_exact_answer(Z, c):
    exact = reopen(0.2 * c, exponential(1), Z, 1, c, "exact")
    chain = reopen(0.2 * c, exponential(1), Z, 1, c)
    assert exact.check() < 1e-5
    assert chain.X == pytest.approx(exact.X, rel=0.012)
    assert chain.R == pytest.approx(exact.R, rel=0.023)
    assert exact.R < exact.R_first


def test_users_who_never_go_on_are_those_of_the_open_queue():
    never, once = reopen(0.5, 0.0, 3, 1), mm1(0.5, 1)
    assert (never.X, never.R, never.Q) == pytest.approx((once.X, once.R, once.Q))
    assert (never.jobs_per_user, never.thinking) == (1, 0)
    with pytest.raises(QueueingError, match="p is 1; it must be such that p is below 1"):
        reopen(0.0, 1.0, 3, 1)


def test_with_several_servers_the_chain_states_larger_errors():
    one, several = (reopen(0.5, exponential(1), 1, 1, servers=n).exactness for n in (1, [1, 2]))
    names = ("X", "R", "Q", "R_first")
    assert [one.error[name] for name in names] == [0.012, 0.023, 0.02, 0.02]
    assert [several.error[name] for name in names] == [0.012, 0.035, 0.03, 0.03]
    assert str(one) == str(several) == "approximation: chain"
