"""Closed users whose mean think time depends on their last response time.

With Z(r) the mean think time after a response r, the product form needs the mean of Z(R), and R
depends on that mean: a fixed point Z = E Z(R). If Z(r) never falls, a longer think time makes
responses shorter, so E Z(R) falls, and there is exactly one solution. Otherwise there may be
several, and the model then has no answer. The product form neglects that the think time of a user
and the queue at the user's next job are correlated.
"""

import warnings
from collections.abc import Callable, Mapping
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from workloadkit.queueing.arguments import (
    Condition,
    Floats,
    count,
    missing,
    not_negative,
    plain,
    points,
    positive,
)
from workloadkit.queueing.closed_users import ClosedResult, MixedResult
from workloadkit.queueing.errors import QueueingWarning
from workloadkit.queueing.probability import Breaks
from workloadkit.queueing.response_function import Form
from workloadkit.queueing.result import Exactness
from workloadkit.queueing.users_at_servers import WHOLE_USERS, stable

#: Largest relative errors in simulations with `breaks`: 1 to 20 users, 1 and 3 servers, with and
#: without open jobs, short times from 0 to 5 S and long ones from 5 to 50 S. Most are far smaller;
#: the largest have short 0 and long 50. Checked by tests/queueing/test_think_times.py.
FIXED_POINT = Exactness(
    "approximation: fixed point of the think time",
    X=0.2, R=0.4, Q=0.4, U=0.2, Xc=0.2, Rc=0.4, Qc=0.4, Uc=0.2, Ro=0.15, Qo=0.15,
)  # fmt: skip

_SCANNED = 33  # think times at which solutions are counted
_PANELS = 2000  # of the mean over response times, up to _LONGEST of the largest mean
_LONGEST = 60.0

Solved = TypeVar("Solved", ClosedResult, MixedResult)


def with_think_time(solve: Callable[..., Solved], think: Form, **given: ArrayLike) -> Solved:
    """Solve the closed or mixed model with a think time that depends on the response.

    Parameters
    ----------
    solve : callable
        `closed`, or `mixed` without p.
    think : Form
    **given : array_like
        Parameters of the model except Z.

    Raises
    ------
    QueueingError
        If a parameter violates its condition, or several mean think times agree with the response
        times that they lead to.
    """
    open_rules: list[Condition] = [not_negative("lam"), stable()] if "lam" in given else []
    rules: list[Condition] = [
        positive("N"),
        positive("S"),
        count("servers"),
        WHOLE_USERS,
        *open_rules,
    ]
    at = points([*rules, *think.rules], **given, **think.values)
    own = {name: at[name] for name in given}
    Z = _mean_think_time(solve, own, think.with_values(at))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QueueingWarning)  # points without a solution are reported
        return solve(Z=plain(Z), **{name: plain(value) for name, value in own.items()})


def _mean_think_time(
    solve: Callable[..., Solved], given: Mapping[str, Floats], think: Form
) -> Floats:
    """Return the mean think time that agrees with the response times it leads to."""
    from scipy.optimize.elementwise import find_root

    shape = next(iter(given.values())).shape
    flat = {name: value.ravel() for name, value in given.items()}
    places = np.flatnonzero(~np.isnan(next(iter(flat.values()))))
    found = np.full(shape, np.nan)
    if not places.size:
        return found
    at = {name: value[places] for name, value in flat.items()}
    values = {k: np.broadcast_to(v, shape).ravel()[places] for k, v in think.values.items()}

    def excess(Z: Floats, point: Floats) -> Floats:
        here = point.astype(np.intp)
        of_points = {name: value[here] for name, value in at.items()}
        form = think.with_values({name: value[here] for name, value in values.items()})
        return _mean(solve(Z=Z, **of_points), form) - Z

    points_here = np.arange(float(places.size))
    low, high = _range(solve, at, think.with_values(values))
    steps = np.linspace(0, 1, _SCANNED)
    sign = np.array([excess(low + step * (high - low), points_here) > 0 for step in steps])
    changes = (np.diff(sign.astype(int), axis=0) != 0).sum(axis=0)
    several = np.flatnonzero(changes > 1)
    root = find_root(excess, (low, high), args=(points_here,))
    value = np.where(root.success, root.x, np.where(sign[0], high, low))
    value[several] = np.nan
    found.ravel()[places] = value
    why = "Z falls with r, and several mean think times agree with their responses"
    missing({int(places[i]): why for i in several}, shape)
    return found


def _range(
    solve: Callable[..., Solved], at: Mapping[str, Floats], think: Form
) -> tuple[Floats, Floats]:
    """Return bounds of the mean think time, from the longest response times: without thinking."""
    shortest = solve(Z=np.full(next(iter(at.values())).shape, 1e-9) * at["S"], **at)
    edges = np.linspace(0, _LONGEST, 200)[:, None] * _mean_response(shortest)
    values = think.at_times(edges)
    return values.min(axis=0) * (1 - 1e-9), values.max(axis=0) * (1 + 1e-9) + 1e-300


def _mean(found: ClosedResult | MixedResult, think: Form) -> Floats:
    """Return E Z(R) over the closed users' response times."""
    if isinstance(think, Breaks):
        late = np.asarray(found.sf(think.limit, "closed"))
        return think.short + (think.long - think.short) * late
    edges = np.linspace(0, _LONGEST, _PANELS + 1)[:, None] * _mean_response(found)
    share = np.diff(np.asarray(found.cdf(edges, "closed")), axis=0)
    share[-1] += 1 - share.sum(axis=0)
    return (share * think.at_times((edges[1:] + edges[:-1]) / 2)).sum(axis=0)


def _mean_response(found: ClosedResult | MixedResult) -> Floats:
    return np.asarray(found.R if isinstance(found, ClosedResult) else found.Rc)
