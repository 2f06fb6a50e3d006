"""Balance of the re-open model: the rate of leaving users over throughput."""

from typing import TYPE_CHECKING

import numpy as np

from workloadkit.queueing.errors import QueueingError
from workloadkit.queueing.probability import as_probability
from workloadkit.queueing.reopening.total_rate import Average, RateStation

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from workloadkit.queueing.reopening.result import ReopenResult


def plot_balance(found: "ReopenResult", ax: "Axes") -> None:
    """Draw X (1 - E p(R)) for independent jobs at rate X, and lam.

    Intersections are the solutions of methods "mm1" and "mean"; the solution of another method is
    drawn as a separate point.
    """
    at = {name: np.asarray(value) for name, value in found.parameters.items() if name != "p"}
    S, c = (float(at[name]) for name in ("S", "servers"))
    if S == 0:
        raise QueueingError("S is 0, so there is no balance to plot")
    p = as_probability(found.parameters["p"])
    free = np.linspace(1.0, 0.0, 600)[:-1]
    station = RateStation(free, np.full(free.shape, S), np.full(free.shape, c))
    average: Average = "mean" if found.method == "mean" else "mm1"
    mean = station.mean_of(p) if average == "mm1" else p.at_times(station.R)
    ax.plot(station.X, station.X * (1.0 - mean), label="leaving users (independent jobs)")
    ax.axhline(float(at["lam"]), color="0.5", linestyle="--", label="arriving users, lam")
    roots = found.roots[np.isfinite(found.roots)]
    ax.plot(
        roots, np.full(roots.shape, float(at["lam"])), "o", color="C1", label=f"X ({found.method})"
    )
    ax.set_xlabel("throughput X, jobs per unit of time")
    ax.set_ylabel("users per unit of time")
    ax.legend()
