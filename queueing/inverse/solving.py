"""Response times relative to a limit, and root finding for a parameter."""

from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np

from workloadkit.queueing.arguments import Floats, Value, plain
from workloadkit.queueing.closed_users import MixedResult
from workloadkit.queueing.product_form import mixed

Job = Literal["closed", "open"]
Parameters = Mapping[str, Floats]


def response(p: Parameters, job: Job) -> Floats:
    """Return the response time that should be R: the mean, or the quantile at q."""
    model = _model(p)
    if "q" in p:
        return np.asarray(model.ppf(p["q"], job))
    return np.asarray(model.Rc if job == "closed" else model.Ro)


def excess(p: Parameters, job: Job) -> Floats:
    """Return a measure with the sign of response time minus R."""
    if "q" in p:
        return np.asarray(_model(p).sf(p["R"], job)) / (1 - p["q"]) - 1
    return response(p, job) / p["R"] - 1


def _model(p: Parameters) -> MixedResult:
    return mixed(p["lam"], p["N"], p["Z"], p["S"], p["servers"])


def where_known(p: Parameters, solve: Callable[[Parameters], Floats]) -> Value:
    """Solve the points that satisfy all conditions, as flat arrays."""
    here = ~np.isnan(p["R"])
    found = np.full(here.shape, np.nan)
    if here.any():
        found[here] = solve({name: value[here] for name, value in p.items()})
    return plain(found)


def root(p: Parameters, job: Job, name: str, low: Floats, high: Floats) -> Floats:
    """Return the value of a parameter for which response times are R, or the nearest end."""
    from scipy.optimize.elementwise import find_root

    others = {key: value for key, value in p.items() if key != name}

    def function(x: Floats, *values: Floats) -> Floats:
        return excess({**dict(zip(others, values, strict=True)), name: x}, job)

    args = tuple(others.values())
    at_low, at_high = function(low, *args), function(high, *args)
    found = np.where(at_low >= 0, low, high)
    inside = (at_low < 0) & (at_high > 0)
    if inside.any():
        found[inside] = find_root(
            function,
            (low[inside], high[inside]),
            args=tuple(value[inside] for value in args),
            tolerances={"xrtol": 1e-14, "xatol": 0},
        ).x
    return found
