"""Operational analysis of the mixed model: full and partial utilisation."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from queueing.arguments import Value, not_negative, plain, points, positive
from queueing.display import Displayed
from queueing.spare_capacity import idle_share, stable

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Phases(Displayed):
    """What operational laws alone tell of closed users beside open jobs.

    Parameters
    ----------
    full : bool or ndarray of bool
        Whether the point is in the phase of full utilisation, where the closed users ask for all
        that the open jobs leave: N ≥ N_star.
    N_star : float or ndarray
        Number of users where the phases meet: there R_full is the response of a user who is alone
        with the open jobs.
    R_full : float or ndarray
        Response time of closed users under full utilisation, N / (1/S − lam) − Z; below N_star only
        a bound, which may be negative: the response is longer than that at any utilisation.
    lam, N, Z : float or ndarray
        As given.
    """

    full: bool | NDArray[np.bool_]
    N_star: Value
    R_full: Value
    lam: Value
    N: Value
    Z: Value

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the response time under full utilisation over the number of users."""
        from matplotlib import pyplot as plt

        ax = plt.gca() if ax is None else ax
        table = self.to_frame().sort_values("N")
        ax.plot(table["N"], table["R_full"], marker="o")
        ax.set_xlabel("number of users N")
        ax.set_ylabel("R_full, in the unit of S")
        return ax

    def response(self, X: ArrayLike) -> Value:
        """Return the response time of closed users that goes with a throughput of all jobs.

        The relation holds in both phases; under partial utilisation it is all that the laws tell,
        with R and X unknown.

        Parameters
        ----------
        X : array_like
            Jobs a unit of time, open and closed; above lam.
        """
        at = points([positive("X - lam")], **{"X - lam": np.asarray(X) - self.lam})
        return plain(np.asarray(self.N / at["X - lam"] - self.Z))


def operational_phases(lam: ArrayLike, N: ArrayLike, Z: ArrayLike, S: ArrayLike) -> Phases:
    """Tell full from partial utilisation, without assuming any distribution [1]_.

    The throughput is that of the open jobs, lam, and that of the closed users, N / (R + Z) by the
    interactive response time law. If the server always works it is 1/S, hence
    R = N / (1/S − lam) − Z: further users only queue. If it does not, R is longer than that.

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

    Returns
    -------
    Phases

    Raises
    ------
    QueueingError
        If a parameter breaks its condition, or is no number.

    Warns
    -----
    QueueingWarning
        If points of an array break a condition; they are NaN, and not called full.

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
    with np.errstate(over="ignore"):  # then any number of users is too few
        left = idle_share(at["lam"], at["S"]) / at["S"]
        N_star = 1 + at["Z"] * left
    full = at["N"] >= N_star
    return Phases(
        full=full if full.ndim else bool(full),
        N_star=plain(N_star),
        R_full=plain(at["N"] / left - at["Z"]),
        **{name: plain(at[name]) for name in ("lam", "N", "Z")},
    )
