"""The balance of the re-open model: how fast users leave, by the throughput."""

from typing import TYPE_CHECKING

import numpy as np

from queueing.errors import QueueingError
from queueing.probability import as_probability
from queueing.reopening.total_rate import Average, Station

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from queueing.reopening.result import Reopen


def plot_balance(found: "Reopen", ax: "Axes") -> None:
    """Draw X (1 - E p(R)) for jobs that come independently at the rate X, beside lam.

    Where both meet are the solutions of methods "mm1" and "mean"; the answer of another method is a
    point of its own.
    """
    at = {name: np.asarray(value) for name, value in found.parameters.items() if name != "p"}
    S, c = (float(at[name]) for name in ("S", "servers"))
    if S == 0:
        raise QueueingError("S is 0, where nothing is in balance; there is no picture")
    p = as_probability(found.parameters["p"])
    free = np.linspace(1.0, 0.0, 600)[:-1]
    station = Station(free, np.full(free.shape, S), np.full(free.shape, c))
    average: Average = "mean" if found.method == "mean" else "mm1"
    mean = station.mean_of(p) if average == "mm1" else p.at_times(station.R)
    ax.plot(station.X, station.X * (1.0 - mean), label="users who leave, jobs independent")
    ax.axhline(float(at["lam"]), color="0.5", linestyle="--", label="users who arrive, lam")
    roots = found.roots[np.isfinite(found.roots)]
    ax.plot(
        roots, np.full(roots.shape, float(at["lam"])), "o", color="C1", label=f"X ({found.method})"
    )
    ax.set_xlabel("throughput X, jobs a unit of time")
    ax.set_ylabel("users a unit of time")
    ax.legend()
