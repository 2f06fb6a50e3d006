"""The re-open model against whole chains, roots with many digits, and special cases."""

import mpmath
import numpy as np
import pytest

from tests.oracles import queueing_chains as chains
from tests.oracles import queueing_reopen as oracle
from tests.oracles.queueing_accuracy import worst
from tests.oracles.queues import mmc_slower_than
from workloadkit.queueing import breaks, exponential, hyperbolic, reopen, table


def falling(r):
    """The thesis's e^(-r)."""
    return np.exp(-r)


def shmueli(r):
    """Shmueli's hyperbola, S standing for ten minutes."""
    return 0.8 / (0.5 * r + 1)


SHAPES = {
    "exponential": (exponential(1.0), falling),
    "hyperbola": (hyperbolic(0.8, 0.5), shmueli),
    "own": (lambda r: 0.5 / (1 + np.asarray(r) ** 2), lambda r: 0.5 / (1 + r**2)),
    "table": (
        table([0, 1, 4], [0.7, 0.4, 0.05]),
        lambda r: np.interp(r, [0, 1, 4], [0.7, 0.4, 0.05]),
    ),
}


def held(result, law, lam, Z, S, c):
    """Compare all measures with those of the law of (at the servers, thinking)."""
    known = chains.server_measures(law, S, c)
    X, Q = known["X"], known["Q"]
    known["jobs_per_user"] = X / lam
    known["p_mean"] = 1 - lam / X
    known["R_first"] = chains.mean(law, lambda s: S + S * max(0, s[0] - c + 1) / c)
    known["thinking"] = chains.mean(law, lambda s: s[1]) if Z else 0.0
    known["time_per_user"] = (Q + known["thinking"]) / lam
    known["X_per_user"] = known["jobs_per_user"] / known["time_per_user"]
    for name, value in known.items():
        assert getattr(result, name) == pytest.approx(value, rel=1e-9, abs=1e-12), name


def responses_held(result, law, S, c):
    """Compare the laws of responses with phases behind what first jobs meet, and others leave."""
    left = chains.tilted(law, lambda s: min(s[0], c), lambda s: s[0] - 1)
    met = chains.tilted(law, lambda s: 1.0, lambda s: s[0])
    for job, others in {"any": left, "first": met}.items():
        for t in (0.0, 0.5, 2.0, 8.0):
            known = chains.response_survival(t, others, S, c)
            assert result.sf(t, job=job) == pytest.approx(known, rel=1e-8, abs=1e-11), (job, t)
        t = result.ppf(0.9, job=job)
        assert chains.response_survival(t, others, S, c) == pytest.approx(0.1, rel=1e-7)
    assert result.moment(1, job="any") == pytest.approx(result.R, rel=1e-9)
    assert result.moment(1, job="first") == pytest.approx(result.R_first, rel=1e-9)


@pytest.mark.parametrize(
    ("lam", "Z", "S", "c", "shape"),
    [
        *((0.3, 1.0, 1.0, 1, shape) for shape in SHAPES),
        *((0.9, 2.0, 1.0, 3, shape) for shape in SHAPES),
        (0.4, 0.0, 1.0, 1, "own"),
        (0.3, 8.0, 1.3, 1, "hyperbola"),
    ],
)
def test_chain_against_the_whole_chain(shape, lam, Z, S, c):
    p, plain = SHAPES[shape]
    go_on = oracle.chances_behind(plain, S, c, most=60, kinks=(1, 4))
    law = chains.reopen(lam, go_on, Z, S, c, most=60, thinking=34)
    result = reopen(lam, p, Z, S, servers=c)
    held(result, law, lam, Z, S, c)
    responses_held(result, law, S, c)


def test_chances_behind_agree_with_many_digits():
    for c in (1, 3):
        floats = oracle.chances_behind(shmueli, 0.7, c, most=12)
        for m in (0, 11):
            exact = oracle.mean_behind(oracle.hyperbolic(0.8, 0.5), m, 0.7, c)
            assert abs(exact - floats[m]) < 1e-14


@pytest.mark.parametrize("lam", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("theta", [0.2, 1.0, 5.0])
def test_total_rate_in_closed_form(lam, theta):
    known = oracle.exponential_total_rate(lam, theta, 1.0)
    assert worst(reopen(lam, exponential(theta), 3.0, 1.0, method="mm1"), known)[0] < 1e-11


@pytest.mark.slow
@pytest.mark.parametrize(("lam", "c"), [(0.5, 1), (0.95, 1), (2.0, 3)])
@pytest.mark.parametrize("shape", ["exponential", "hyperbola"])
def test_roots_of_total_rate_and_of_the_mean(shape, lam, c):
    form = {"exponential": oracle.exponential(1.0), "hyperbola": oracle.hyperbolic(0.8, 0.5)}[shape]
    with mpmath.workdps(16):
        X = oracle.throughput_total_rate(lam, form, 1.0, c)
        known = {"X": X, "R": oracle.mmc_response(X, 1.0, c)}
        found = worst(reopen(lam, SHAPES[shape][0], 1.0, 1.0, servers=c, method="mm1"), known)
        assert found[0] < 1e-8, found
        X = oracle.throughput_at_mean(lam, form, 1.0, c)
        known = {"X": X, "R": oracle.mmc_response(X, 1.0, c)}
        found = worst(reopen(lam, SHAPES[shape][0], 1.0, 1.0, servers=c, method="mean"), known)
        assert found[0] < 1e-8, found


@pytest.mark.parametrize("theta", [0.5, 1.0])
@pytest.mark.parametrize("lam", [0.2, 0.5, 0.9, 0.99])
def test_back_at_once_is_the_law_of_euler(lam, theta):
    with mpmath.workdps(30):
        known = oracle.exponential_back_at_once(lam, theta, 1.0)
    result = reopen(lam, exponential(theta), 0.0, 1.0)
    assert worst(result, known)[0] < 1e-9
    assert result.thinking == 0


@pytest.mark.parametrize("method", ["chain", "mm1", "mean"])
@pytest.mark.parametrize(
    ("lam", "p", "Z", "c"), [(0.5, 0.36, 0, 1), (0.5, 0.47, 5, 1), (1.8, 0.2, 100, 3)]
)
def test_constant_chances_have_product_form(method, lam, p, Z, c):
    known = oracle.mmc_response(lam / (1 - p), 1.0, c)
    result = reopen(lam, p, Z, 1.0, servers=c, method=method)
    assert result.exactness == "exact, product form"
    X = lam / (1 - p)
    assert worst(result, {"X": X, "R": known, "Q": X * known, "thinking": Z * X * p})[0] < 1e-10
    assert result.R_first == pytest.approx(float(known), rel=1e-10)
    for job in ("any", "first"):
        slower = mmc_slower_than(2.0, X, 1.0, c)
        assert result.sf(2.0, job=job) == pytest.approx(slower, rel=1e-10)


@pytest.mark.parametrize(("Z", "c"), [(0.0, 1), (0.7, 1), (4.0, 2)])
def test_the_chain_of_constant_chances_has_product_form(Z, c):
    """The oracle's own: the marginal law at the servers is that of M/M/c for any Z."""
    law = chains.reopen(0.5, [0.3] * 90, Z, 1.0, c, most=90, thinking=30)
    known = oracle.mmc_response(0.5 / 0.7, 1.0, c)
    assert chains.server_measures(law, 1.0, c)["R"] == pytest.approx(float(known), rel=1e-9)


@pytest.mark.parametrize(
    ("lam", "Z", "c"), [(0.1, 1.0, 1), (0.1, 0.0, 1), (0.05, 10.0, 1), (0.15, 1.0, 2)]
)
def test_exact_against_the_line_with_its_marks(lam, Z, c):
    law = chains.reopen_marks(lam, 1.0, Z, 1.0, c, most=7, thinking=6)
    known = chains.server_measures(law, 1.0, c, at=lambda state: len(state[0]))
    result = reopen(lam, exponential(1.0), Z, 1.0, servers=c, method="exact")
    for name, value in known.items():
        assert getattr(result, name) == pytest.approx(value, rel=1e-5), name


def test_exact_differs_from_the_chain_by_what_is_stated():
    for lam in (0.05, 0.1):
        law = chains.reopen_marks(lam, 1.0, 1.0, 1.0, most=7, thinking=6)
        true = chains.server_measures(law, 1.0, at=lambda state: len(state[0]))
        result = reopen(lam, exponential(1.0), 1.0, 1.0)
        assert abs(result.X / true["X"] - 1) <= result.exactness.error["X"]
        assert abs(result.R / true["R"] - 1) <= result.exactness.error["R"]


@pytest.mark.parametrize("lam", [0.5, 0.9, 0.95])
def test_fluid_solves_its_equation(lam):
    """Second order, the variance taken where the mean is."""
    with mpmath.workdps(20):
        known = oracle.fluid_response(lam, oracle.hyperbolic(0.8, 0.05), 1.0, 16 / (1 - lam) - 20)
    result = reopen(lam, hyperbolic(0.8, 0.05), 1.0, 1.0, method="fluid")
    assert worst(result, {"R": known})[0] < 1e-8


@pytest.mark.parametrize(
    ("lam", "short", "long", "limit", "size"),
    [
        (0.1, 0.5, 3.0, 1.0, (12, 7)),
        pytest.param(0.3, 1.0, 6.0, 1.5, (24, 13), marks=pytest.mark.slow),
        pytest.param(0.2, 0.5, 20.0, 3.0, (24, 13), marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("shape", ["exponential", "hyperbola"])
def test_short_and_long_think_times_against_the_whole_chain(shape, lam, short, long, limit, size):
    p, plain = SHAPES[shape]
    most, thinking = size
    shorts = oracle.chances_behind(plain, 1.0, most=most, high=limit)
    longs = oracle.chances_behind(plain, 1.0, most=most, low=limit)
    law = chains.reopen_breaks(lam, shorts, longs, short, long, 1.0, most, thinking)
    result = reopen(lam, p, breaks(short, long, limit), 1.0)
    known = chains.server_measures(law, 1.0)
    for name, value in known.items():
        assert getattr(result, name) == pytest.approx(value, rel=2e-6), name
    thinking = chains.mean(law, lambda s: s[1] + s[2])
    assert result.thinking == pytest.approx(thinking, rel=2e-6)


@pytest.mark.parametrize(("of", "wrt"), [("X", "lam"), ("R", "S"), ("Q", "Z")])
def test_derivatives_of_the_chain_are_differences_of_whole_chains(of, wrt):
    at = {"lam": 0.4, "Z": 2.0, "S": 1.0}
    step = 1e-3 * at[wrt]
    values = {}
    for move in (-2, -1, 1, 2):
        moved = at | {wrt: at[wrt] + move * step}
        go_on = oracle.chances_behind(falling, moved["S"], most=60)
        law = chains.reopen(go_on=go_on, **moved, most=60, thinking=24)
        values[move] = chains.server_measures(law, moved["S"])[of]
    slope = (8 * (values[1] - values[-1]) - (values[2] - values[-2])) / (12 * step)
    result = reopen(0.4, exponential(1.0), 2.0, 1.0)
    assert result.derivative(of, wrt) == pytest.approx(slope, rel=1e-7)
