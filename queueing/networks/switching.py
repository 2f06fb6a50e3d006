"""Closed networks in which jobs change their class as they move."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workloadkit.queueing.arguments import Floats, numbers
from workloadkit.queueing.display import DisplayedResult
from workloadkit.queueing.errors import QueueingError
from workloadkit.queueing.networks.mean_values import mva
from workloadkit.queueing.networks.model import (
    BEARABLE,
    NetworkResult,
    bearable,
    finite_not_negative,
    hold,
)
from workloadkit.queueing.result import Exactness

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class SwitchingResult(DisplayedResult):
    """Measures of a closed network with class switching, by class and station.

    Parameters
    ----------
    X, Q, U : ndarray, shape (R, K)
        Completed visits per unit of time, mean number, and utilization per server (mean number in
        service for a delay station).
    visits : ndarray, shape (R, K)
        Visits per visit to the first station that the chain visits, of any of its classes.
    chain : ndarray of int, shape (R,)
        Chain of each class: classes between which jobs change.
    chains : NetworkResult
        The network of chains; its throughput counts visits to the first station.
    """

    X: Floats
    Q: Floats
    U: Floats
    visits: Floats
    chain: NDArray[np.intp]
    chains: NetworkResult = field(repr=False)

    @property
    def R(self) -> Floats:
        """Mean response time of a visit, by class and station; nan where no jobs come."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.Q / self.X, dtype=np.float64)

    @property
    def exactness(self) -> Exactness:
        """That of the network of chains."""
        return self.chains.exactness

    def to_frame(self) -> "pd.DataFrame":
        """Return a table with one row per class and station."""
        import pandas as pd

        classes, stations = np.indices(self.X.shape)
        columns = {"class": classes, "station": stations, "chain": self.chain[classes]}
        shown = {name: getattr(self, name) for name in ("visits", "X", "R", "Q", "U")}
        return pd.DataFrame({name: v.ravel() for name, v in {**columns, **shown}.items()})

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the mean numbers at the stations, by chain."""
        return self.chains.plot(ax)


def class_switching(
    routing: ArrayLike, S: ArrayLike, N: ArrayLike, *, servers: ArrayLike | None = None
) -> SwitchingResult:
    """Solve a closed network of product form with class switching exactly [1]_.

    Classes between which jobs change form a chain, with a constant number of jobs. The chains'
    network has the demands Σ visits S; at a station, a class has the share of its demand in that of
    its chain. Think times are delay stations (servers inf).

    Parameters
    ----------
    routing : array_like, shape (R, K, R, K)
        Probability that a job of a class at a station becomes one of a class at a station; sums to
        1 over the last two axes where jobs of the class come.
    S : array_like, shape (R, K)
        Mean service time of a visit. First come, first served stations need exponential service of
        the same mean for all classes.
    N : array_like, shape (R,)
        Jobs that begin in each class; only the sums over chains matter.
    servers : array_like, shape (K,), optional
        Servers of each station, inf for a delay station; by default 1.

    Raises
    ------
    QueueingError
        If a parameter violates its condition, or jobs of a chain do not all return to all of its
        classes.

    References
    ----------
    .. [1] F. Baskett, K. M. Chandy, R. R. Muntz, F. G. Palacios, "Open, closed, and mixed networks
       of queues with different classes of customers", Journal of the ACM 22(2), 1975; G. Bolch et
       al., "Queueing Networks and Markov Chains", 2006, section 7.3.6.

    Examples
    --------
    Jobs alternate between a class that thinks (station 1, a delay) for 5 and one for 1:

    >>> routing = np.zeros((2, 2, 2, 2))
    >>> routing[0, 0, 1, 1] = routing[1, 1, 1, 0] = 1  # class 0 is served, becomes 1, thinks
    >>> routing[1, 0, 0, 1] = routing[0, 1, 0, 0] = 1
    >>> found = class_switching(routing, [[1, 5], [1, 1]], [3, 0], servers=[1, np.inf])
    >>> found.X.round(4).tolist(), found.chain.tolist()
    ([[0.3269, 0.3269], [0.3269, 0.3269]], [0, 0])
    """
    service = numbers("S", S)
    if service.ndim != 2 or not service.size:
        raise QueueingError(f"the shape of S is {service.shape}; it must be (R, K)")
    hold("S", service, bearable, BEARABLE)
    R, K = service.shape
    moves = numbers("routing", routing)
    if moves.shape != (R, K, R, K):
        raise QueueingError(f"the shape of routing is {moves.shape}; S needs {(R, K, R, K)}")
    hold("routing", moves, lambda v: (v >= 0) & (v <= 1), "be from 0 to 1")
    jobs = numbers("N", N)
    if jobs.shape != (R,):
        raise QueueingError(f"the shape of N is {jobs.shape}; S needs ({R},)")
    hold("N", jobs, finite_not_negative, "be finite, 0 or more")
    flat = moves.reshape(R * K, R * K)
    used = np.asarray(flat.any(axis=0) | flat.any(axis=1))
    if not np.allclose(flat[used].sum(axis=1), 1, atol=1e-9):
        place = np.flatnonzero(used & (np.abs(flat.sum(axis=1) - 1) > 1e-9))[0]
        raise QueueingError(
            f"routing of class {place // K} at station {place % K} sums to "
            f"{flat[place].sum():g}; it must be 1 in a closed network"
        )
    chain = _chains(flat, used, R, K)
    visits = _visits(flat, used, chain, R, K)
    n_chains = int(chain.max()) + 1
    member = np.arange(n_chains)[:, None] == chain
    demand = visits * service
    demands = member @ demand
    found = mva(demands, member @ jobs, servers=servers, visits=member @ visits)
    rates = np.asarray(found.X)[chain][:, None]
    with np.errstate(invalid="ignore"):
        share = np.where(demand > 0, demand / demands[chain], 0.0)
    return SwitchingResult(
        X=rates * visits,
        Q=share * found.Q[chain],
        U=share * found.U[chain],
        visits=visits,
        chain=chain,
        chains=found,
    )


def _chains(flat: Floats, used: NDArray[np.bool_], R: int, K: int) -> NDArray[np.intp]:
    """Return the chain of each class: connected classes."""
    from scipy.sparse.csgraph import connected_components

    between = flat.reshape(R, K, R, K).sum(axis=(1, 3)) > 0
    if not used.reshape(R, K).any(axis=1).all():
        unused = int(np.argmin(used.reshape(R, K).any(axis=1)))
        raise QueueingError(f"routing has no moves of class {unused}")
    return connected_components(between, directed=False)[1].astype(np.intp)


def _visits(
    flat: Floats, used: NDArray[np.bool_], chain: NDArray[np.intp], R: int, K: int
) -> Floats:
    """Return visits relative to those of the first station of each chain."""
    found = np.zeros(R * K)
    for number in range(int(chain.max()) + 1):
        here = np.flatnonzero(used & np.repeat(chain == number, K))
        part = flat[np.ix_(here, here)]
        # balance of all but one, and the sum
        balance = np.vstack([(np.eye(here.size) - part.T)[1:], np.ones(here.size)])
        right = np.append(np.zeros(here.size - 1), 1.0)
        try:
            share = np.linalg.solve(balance, right)
        except np.linalg.LinAlgError:
            share = np.zeros(here.size)
        if not (share > 1e-12).all():
            place = here[int(np.argmin(share))]
            raise QueueingError(
                f"routing: jobs do not return to class {place // K} at station {place % K}"
            )
        first = share[here % K == np.min(here % K)].sum()
        found[here] = share / first
    return found.reshape(R, K)
