"""Operational analysis of the mixed model: full and partial utilization."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workloadkit.queueing.arguments import Value, not_negative, plain, points, positive
from workloadkit.queueing.display import DisplayedResult
from workloadkit.queueing.one_server import idle_share, stable

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Phases(DisplayedResult):
    """Results of operational laws alone for closed users and open jobs.

    Parameters
    ----------
    full : bool or ndarray of bool
        Whether the point is in the phase of full utilization, where closed users need all capacity
        left by the open jobs: N ≥ N_star.
    N_star : float or ndarray
        Number of users where the phases meet; R_full there is the response time of a single user
        with the open jobs.
    R_full : float or ndarray
        Response time of closed users under full utilization, N / (1/S − lam) − Z. Below N_star it
        is only a lower bound on the response time, possibly negative.
    lam, N, Z : float or ndarray
        As passed.
    """

    full: bool | NDArray[np.bool_]
    N_star: Value
    R_full: Value
    lam: Value
    N: Value
    Z: Value

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the response time under full utilization over the number of users."""
        from matplotlib import pyplot as plt

        ax = plt.gca() if ax is None else ax
        table = self.to_frame().sort_values("N")
        ax.plot(table["N"], table["R_full"], marker="o")
        ax.set_xlabel("number of users N")
        ax.set_ylabel("R_full, in the unit of S")
        return ax

    def response(self, X: ArrayLike) -> Value:
        """Return the response time of closed users for a throughput of all jobs.

        The relation holds in both phases; under partial utilization, the laws determine neither R
        nor X.

        Parameters
        ----------
        X : array_like
            Open and closed jobs per unit of time; above lam.
        """
        at = points([positive("X - lam")], **{"X - lam": np.asarray(X) - self.lam})
        return plain(np.asarray(self.N / at["X - lam"] - self.Z))


def operational_phases(lam: ArrayLike, N: ArrayLike, Z: ArrayLike, S: ArrayLike) -> Phases:
    """Distinguish full from partial utilization, without assumptions on distributions [1]_.

    The throughput is the sum of the open jobs' lam and the closed users' N / (R + Z), by the
    interactive response time law. If the server is always busy, it is 1/S, hence
    R = N / (1/S − lam) − Z: additional users only queue. Otherwise, R is larger.

    Parameters
    ----------
    lam : array_like
        Rate of open jobs, below 1/S.
    N : array_like
        Number of closed users.
    Z : array_like
        Mean think time.
    S : array_like
        Mean service time, above 0.

    Raises
    ------
    QueueingError
        If a parameter violates its condition, or is not a number.

    Warns
    -----
    QueueingWarning
        If points of an array violate a condition; they are NaN, and not full.

    References
    ----------
    .. [1] N. Zakay, PhD thesis, The Hebrew University of Jerusalem, 2018, chapter 6, section III.C;
       N* is that of asymptotic bounds: R. R. Muntz, J. Wong, "Asymptotic properties of closed
       queueing network models", 8th Princeton Conference on Information Sciences and Systems, 1974.

    Examples
    --------
    >>> found = operational_phases(lam=0.5, N=[4, 8, 16], Z=8, S=1)
    >>> found.full.tolist(), found.N_star.tolist(), found.R_full.tolist()
    ([False, True, True], [5.0, 5.0, 5.0], [0.0, 8.0, 24.0])
    >>> found.response(0.8).round(6).tolist()
    [5.333333, 18.666667, 45.333333]
    """
    rules = [not_negative("lam"), not_negative("N"), not_negative("Z"), positive("S")]
    at = points([*rules, stable()], lam=lam, N=N, Z=Z, S=S, servers=1)
    with np.errstate(over="ignore"):  # inf: no number of users is enough
        left = idle_share(at["lam"], at["S"]) / at["S"]
        N_star = 1 + at["Z"] * left
    full = at["N"] >= N_star
    return Phases(
        full=full if full.ndim else bool(full),
        N_star=plain(N_star),
        R_full=plain(at["N"] / left - at["Z"]),
        **{name: plain(at[name]) for name in ("lam", "N", "Z")},
    )
