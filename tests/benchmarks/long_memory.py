"""How well and how fast Hurst parameters are estimated, next to other packages."""

import importlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tests.benchmarks.measure import Row, best_of
from workloadkit.analysis.memory import fractional_gaussian_noise, hurst
from workloadkit.analysis.memory.estimators.methods import METHODS
from workloadkit.analysis.memory.estimators.time_domain import sizes

PARAMETERS = (0.5, 0.6, 0.7, 0.8, 0.9)
N_SERIES, N_OF_PEERS = 120, 5
SEED = 65

#: Largest mean error and standard deviation on 2^14 values; none where the bias is known.
GOALS = {
    "local_whittle": (0.01, 0.026),
    "periodogram": (0.015, 0.035),
    "gph": (0.015, 0.035),
    "wavelet": (0.012, 0.016),
    "dfa": (0.012, 0.03),
}
COVERED = (0.92, 0.98)


def rows() -> Iterator[Row]:
    """Errors and intervals on series of 2^14, times on 2^16, and the same of other packages."""
    rng = np.random.default_rng(SEED)
    noise = {
        H: [fractional_gaussian_noise(2**14, H, rng) for _ in range(N_SERIES)] for H in PARAMETERS
    }
    for method, title in ((name, method.title) for name, method in METHODS.items()):
        yield _errors(method, title, noise)
    long = fractional_gaussian_noise(2**16, 0.8, rng)
    for method in METHODS:
        limit = 300 if method == "whittle" else 100
        time, _ = best_of(5, lambda method=method: hurst(long, method))
        yield Row(
            f"H by {METHODS[method].title}", "2^16 values", f"{1e3 * time:.0f} ms", "",
            f"≤ {limit} ms", time <= limit / 1e3,
        )  # fmt: skip
    few = {H: series[:N_OF_PEERS] for H, series in noise.items()}
    for package, name, ours, estimate in PEERS:
        yield _peer(package, name, ours, estimate, few)


def errors(estimates: dict[float, list[float]]) -> tuple[list[float], list[float]]:
    """Return the mean errors and the standard deviations of estimates, by H."""
    bias = [float(np.mean(found)) - H for H, found in estimates.items()]
    return bias, [float(np.std(found, ddof=1)) for found in estimates.values()]


def _errors(method: str, title: str, noise: dict[float, list[Any]]) -> Row:
    found = {H: [hurst(x, method) for x in series] for H, series in noise.items()}
    bias, sd = errors({H: [h.estimate for h in results] for H, results in found.items()})
    within = [h.interval[0] <= H <= h.interval[1] for H, all_ in found.items() for h in all_]
    covered = float(np.mean(within))
    met = COVERED[0] <= covered <= COVERED[1]
    goal = f"covers {COVERED[0]:g} to {COVERED[1]:g}"
    if method in GOALS:
        largest, widest = GOALS[method]
        goal = f"bias within ±{largest:g}, sd ≤ {widest:g}; {goal}"
        met &= max(np.abs(bias)) <= largest and max(sd) <= widest
    return Row(
        f"H by {title}, {N_SERIES} series each of H {PARAMETERS[0]} to {PARAMETERS[-1]}",
        "2^14 values",
        f"bias {' '.join(f'{b:+.3f}' for b in bias)}; sd {' '.join(f'{s:.3f}' for s in sd)}",
        f"95 % intervals cover {covered:.3f}",
        goal,
        bool(met),
    )


def _peer(
    package: str, name: str, ours: str, estimate: Callable[[Any, Any], float], noise: dict
) -> Row:
    what = f"H by {name} of {package}, {N_OF_PEERS} series each"
    try:
        module = importlib.import_module(package)
    except Exception as error:  # whatever keeps it from being imported here
        return Row(what, "2^14 values", f"absent: {error}")
    series = noise[PARAMETERS[0]][0]
    estimate(module, series)  # some compile
    time, _ = best_of(1, lambda: estimate(module, series))
    time_of_ours, _ = best_of(3, lambda: hurst(series, ours))
    bias, sd = errors({H: [estimate(module, x) for x in all_] for H, all_ in noise.items()})
    bias_of_ours, sd_of_ours = errors(
        {H: [hurst(x, ours).estimate for x in all_] for H, all_ in noise.items()}
    )
    return Row(
        what,
        "2^14 values",
        f"bias {' '.join(f'{b:+.3f}' for b in bias)}; sd {' '.join(f'{s:.3f}' for s in sd)}",
        f"{METHODS[ours].title} here: bias {' '.join(f'{b:+.3f}' for b in bias_of_ours)}; "
        f"sd {' '.join(f'{s:.3f}' for s in sd_of_ours)}; in {time_of_ours / time:.2g} × the time",
    )


def _mfdfa(module: Any, series: Any) -> float:
    lag, fluctuation = module.MFDFA(series, lag=sizes(10, series.size / 10), q=2, order=1)
    return float(np.polyfit(np.log(lag), np.log(fluctuation[:, 0]), 1)[0])


def _nolds(module: Any, series: Any) -> float:
    boxes = sizes(10, series.size / 10)
    return float(module.dfa(series, nvals=boxes, overlap=False, fit_exp="poly"))


PEERS: tuple[tuple[str, str, str, Callable[[Any, Any], float]], ...] = (
    ("hurst", "R/S", "rs", lambda m, x: m.compute_Hc(x, kind="change", simplified=False)[0]),
    ("nolds", "R/S", "rs", lambda m, x: m.hurst_rs(x, fit="poly")),
    ("nolds", "DFA", "dfa", _nolds),
    ("antropy", "DFA", "dfa", lambda m, x: m.detrended_fluctuation(x)),
    ("MFDFA", "DFA", "dfa", _mfdfa),
)
