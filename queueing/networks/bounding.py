"""Bounds of closed networks with one class, without a solution."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from workloadkit.queueing.arguments import Condition, Floats, Value, count, numbers, plain, points
from workloadkit.queueing.display import DisplayedResult
from workloadkit.queueing.errors import QueueingError, quoted
from workloadkit.queueing.networks.mean_values import mva
from workloadkit.queueing.networks.model import BEARABLE, MOST_TIME, bearable, hold, think_time

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class Interval(DisplayedResult):
    """Bounds of throughput and response time.

    Parameters
    ----------
    X_lower, X_upper : float or ndarray
    R_lower, R_upper : float or ndarray
        nan for N = 0.
    """

    X_lower: Value
    X_upper: Value
    R_lower: Value
    R_upper: Value


@dataclass(frozen=True, eq=False)
class Bounds(DisplayedResult):
    """Bounds of a closed network of stations with one server each.

    Parameters
    ----------
    demands : ndarray, shape (K,)
    N, Z : ndarray
        Points of the parameters.
    D_max : float
        Demand of the bottleneck; its inverse bounds the throughput.
    bottleneck : int
        Index of the station with the largest demand; the first if several.
    N_star : float or ndarray
        Population at which the asymptotes meet, (ΣD + Z)/D_max; above it, jobs must queue.
    asymptotic, balanced_job, geometric : Interval
    """

    demands: Floats = field(repr=False)
    N: Floats = field(repr=False)
    Z: Floats = field(repr=False)
    D_max: float
    bottleneck: int
    N_star: Value
    asymptotic: Interval
    balanced_job: Interval
    geometric: Interval

    def to_frame(self) -> "pd.DataFrame":
        """Return a table with one row per point."""
        import pandas as pd

        columns = {"N": self.N.ravel(), "Z": self.Z.ravel(), "N_star": np.ravel(self.N_star)}
        for name, interval in self._intervals():
            for side in ("X_lower", "X_upper", "R_lower", "R_upper"):
                columns[f"{name}_{side}"] = np.ravel(getattr(interval, side))
        return pd.DataFrame(columns)

    def plot(self, ax: "Axes | None" = None, measure: str = "X") -> "Axes":
        """Draw the bounds and the exact curve over N.

        Parameters
        ----------
        measure : {"X", "R"}
        """
        from matplotlib import pyplot as plt

        if measure not in ("X", "R"):
            raise QueueingError(f"measure is {quoted(measure)}; it must be X or R")
        if self.N.ndim != 1 or np.unique(self.Z).size > 1:
            raise QueueingError("plot needs varying N and a single Z")
        ax = plt.gca() if ax is None else ax
        exact = mva(self.demands, self.N, self.Z)
        for number, (name, interval) in enumerate(self._intervals()):
            ax.fill_between(
                self.N,
                getattr(interval, f"{measure}_lower"),
                getattr(interval, f"{measure}_upper"),
                color=f"C{number}",
                alpha=0.25,
                linewidth=0,
                label=name.replace("_", " "),
            )
        ax.plot(self.N, getattr(exact, measure), color="C3", label="exact")
        star = float(np.ravel(self.N_star)[0])
        if self.N.min() <= star <= self.N.max():
            ax.axvline(star, color="0.5", linestyle=":", label="N*")
        ax.set_xlabel("number of jobs N")
        ax.set_ylabel("throughput X" if measure == "X" else "response time R")
        ax.legend()
        return ax

    def _intervals(self) -> Iterator[tuple[str, Interval]]:
        for name in ("asymptotic", "balanced_job", "geometric"):
            yield name, getattr(self, name)


def bounds(demands: ArrayLike, N: ArrayLike, Z: ArrayLike = 0.0) -> Bounds:
    """Return bounds of throughput and response time of a closed network.

    Asymptotic bounds [1]_ hold for any network with one server per station. Balanced job bounds
    [2]_ and geometric bounds [3]_ hold for networks of product form; they are limited by the
    asymptotic bounds if these are tighter. Add delay stations to Z; open jobs that use a share u of
    a station increase its demand to D/(1 - u).

    Parameters
    ----------
    demands : array_like, shape (K,)
        Service demand of a job at each station, over all visits.
    N : array_like
        Number of jobs.
    Z : array_like, default 0
        Think time.

    Raises
    ------
    QueueingError
        If demands, N or Z violate their conditions.

    References
    ----------
    .. [1] R. R. Muntz, J. W. Wong, "Asymptotic properties of closed queueing network models",
       Princeton Conf. Information Sciences and Systems, 1974; E. D. Lazowska et al.,
       "Quantitative System Performance", 1984, chapter 5.
    .. [2] J. Zahorjan, K. C. Sevcik, D. L. Eager, B. Galler, "Balanced job bound analysis of
       queueing networks", Comm. ACM 25(2), 1982.
    .. [3] G. Casale, R. R. Muntz, G. Serazzi, "Geometric bounds: a noniterative analysis
       technique for closed queueing networks", IEEE Trans. Computers 57(6), 2008.

    Examples
    --------
    >>> system = bounds([0.1, 0.1, 0.09, 0.08], N=10, Z=1)
    >>> round(system.geometric.X_lower, 4), round(system.geometric.X_upper, 4)
    (5.7569, 6.141)
    >>> round(system.N_star, 2), system.bottleneck
    (13.7, 0)
    """
    demand = numbers("demands", demands)
    if demand.ndim != 1 or not demand.size:
        raise QueueingError(f"the shape of demands is {demand.shape}; it must be (K,)")
    hold("demands", demand, bearable, BEARABLE)
    if not demand.any():
        raise QueueingError("demands are all 0; the largest must be above 0")
    top = float(demand.max())
    range_ = Condition(
        "Z",
        lambda p: p["Z"] / MOST_TIME <= top,
        f"be at most {MOST_TIME:g} times the largest demand",
    )
    at = points([count("N", 0), *think_time(demand), range_], N=N, Z=Z)
    given = at["N"], at["Z"] / top, demand / top  # scaled so that squares do not overflow
    return Bounds(
        demands=demand,
        N=at["N"],
        Z=at["Z"],
        D_max=top,
        bottleneck=int(np.argmax(demand)),
        N_star=plain((demand.sum() + at["Z"]) / top),
        asymptotic=_interval(*given[:2], *_asymptotic(*given), top),
        balanced_job=_interval(*given[:2], *_balanced(*given), top),
        geometric=_interval(*given[:2], *_geometric(*given), top),
    )


def _interval(N: Floats, Z: Floats, fastest: Floats, slowest: Floats, unit: float) -> Interval:
    """Return bounds of throughput and response time: X = N/(R + Z)."""
    some = N > 0
    least, most = (np.where(some, R, np.nan) for R in (fastest, slowest))
    X_lower, X_upper = (np.where(some | np.isnan(N), N / (R + Z), 0.0) for R in (slowest, fastest))
    values = X_lower / unit, X_upper / unit, least * unit, most * unit
    return Interval(*(plain(value) for value in values))


def _asymptotic(N: Floats, Z: Floats, demand: Floats) -> tuple[Floats, Floats]:
    some = np.maximum(N, 1)
    return np.maximum(demand.sum(), some * demand.max() - Z), some * demand.sum()


def _balanced(N: Floats, Z: Floats, demand: Floats) -> tuple[Floats, Floats]:
    some, total = np.maximum(N, 1), demand.sum()
    others = some - 1
    fastest = total + others * demand.mean() / (1 + Z / total)
    slowest = total + others * demand.max() / (1 + Z / (some * total))
    return np.maximum(fastest, some * demand.max() - Z), slowest


def _geometric(N: Floats, Z: Floats, demand: Floats) -> tuple[Floats, Floats]:
    """Casale et al., equations 8 and 13 and the square-root bounds, with numbers at N - 1 jobs.

    R(N) = ΣD + D_max ΣQ(N-1) - Σ (D_max - D_k) Q_k(N-1), where ΣQ(N-1) = N - 1 - Z X(N-1). One side
    uses X(N-1) ≤ X(N), the other X(N-1) ≥ (N-1)/N X(N). Q_k(N-1) is at most the geometric sum with
    ratio D_k X(N-1), with an upper bound of X(N-1).
    """
    top, total = demand.max(), demand.sum()
    others = np.maximum(N, 1) - 1
    slack, load = (top - demand)[demand < top], demand[demand < top]
    X_before = others / (Z + _proportional(others, Z, demand))
    y = load * (others / (Z + total + top * others))[..., None]
    Y = load * X_before[..., None]
    few, many = ((_geometric_sum(r, others[..., None]) * slack).sum(axis=-1) for r in (y, Y))
    fastest = _square_root(total + top * others - many, Z, top * (others + 1))
    slowest = _square_root(total + top * others - few, Z, top * others)
    asymptotic = _asymptotic(N, Z, demand)
    return np.fmax(fastest, asymptotic[0]), np.fmin(slowest, asymptotic[1])


def _proportional(N: Floats, Z: Floats, demand: Floats) -> Floats:
    """Return a lower bound of R: the N - 1 others are distributed over stations like a single job.

    With more jobs, they only move towards larger demands (Eager & Sevcik 1983, first level).
    """
    total, top = demand.sum(), demand.max()
    others = np.maximum(N, 1) - 1
    queued = others - Z * np.minimum(1 / top, others / (total + Z))
    each = demand @ (demand / total)
    return np.maximum(total + each * queued, N * top - Z)


def _square_root(least: Floats, Z: Floats, top: Floats) -> Floats:
    """Return the solution of R = least - Z top/(Z + R) without cancellation; nan if none."""
    inside = (Z + least) ** 2 - 4 * Z * top
    root = np.sqrt(np.where(inside >= 0, inside, np.nan))
    root_less_Z = (least**2 + 2 * Z * (least - 2 * top)) / (root + Z)
    return (least + root_less_Z) / 2


def _geometric_sum(y: Floats, n: Floats) -> Floats:
    """Return y + y² + ... + y^n for 0 ≤ y < 1."""
    return y * (1 - y**n) / (1 - y)
