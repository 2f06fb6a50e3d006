"""Exact mean value analysis of closed networks."""

import numpy as np
from numpy.typing import ArrayLike

from workloadkit.queueing._kernels import kernel, run_in_slices
from workloadkit.queueing.arguments import Floats
from workloadkit.queueing.errors import QueueingError
from workloadkit.queueing.networks.convolving import convolution
from workloadkit.queueing.networks.model import (
    Network,
    NetworkPoint,
    NetworkResult,
    Speeds,
    collect,
    read_network,
)
from workloadkit.queueing.result import Exactness

#: Largest number of values of one kind in a recursion over several classes (160 MB).
MOST_HELD = 20_000_000
#: Largest number of jobs in a recursion over one class.
MOST_JOBS = 1e9


def mva(
    demands: ArrayLike,
    N: ArrayLike,
    Z: ArrayLike = 0.0,
    *,
    servers: ArrayLike | None = None,
    speeds: Speeds | None = None,
    visits: ArrayLike | None = None,
) -> NetworkResult:
    """Solve a closed network of product form exactly.

    An arriving job sees the mean state of the network without itself [1]_ [2]_: residence times
    follow from the numbers with one job less. The recursion covers the product of the classes'
    populations; memory holds one layer, all populations with the same total. Stations with several
    servers, or with speeds that depend on the number of jobs, are solved by `convolution`: the
    recursion over their marginal probabilities subtracts, and can return negative numbers [3]_.

    Parameters
    ----------
    demands : array_like, shape (K,) or (R, K)
        Service demand of a job at each station over all visits, by class. A first come, first
        served station needs exponential service with the same mean per visit for all classes.
    N : array_like
        Jobs of each class, shape (R,). For a single class, demands (K,), a number or an array of
        points.
    Z : array_like, default 0
        Think time; as N.
    servers : array_like, shape (K,), optional
        Servers of each station, inf for a delay station; by default 1.
    speeds : mapping of int to sequence, optional
        Relative speeds of stations (by index) with 1, 2, ... jobs; demands refer to speed 1, and
        the last speed applies to more jobs.
    visits : array_like, shape (K,) or (R, K), optional
        Visits of a job to each station, for `station_X`; by default 1.

    Raises
    ------
    QueueingError
        If a parameter violates its condition, or there are too many populations.

    See Also
    --------
    linearizer, bard_schweitzer : Approximations for larger populations.
    bounds : Bounds without a solution.

    References
    ----------
    .. [1] M. Reiser, S. S. Lavenberg, "Mean-value analysis of closed multichain queuing
       networks", J. ACM 27(2), 1980.
    .. [2] K. C. Sevcik, I. Mitrani, "The distribution of queuing network states at input and
       output instants", J. ACM 28(2), 1981.
    .. [3] M. Reiser, "Mean-value analysis and convolution method for queue-dependent servers in
       closed queueing networks", Performance Evaluation 1(1), 1981.

    Examples
    --------
    A processor and two discs, 3 users with think times of 15 seconds (demands as in Lazowska et al.
    1984):

    >>> system = mva([0.605, 2.1, 1.35], N=3, Z=15)
    >>> round(system.X, 3), round(system.R, 2), system.Q.round(3)
    (0.152, 4.8, array([0.098, 0.395, 0.235]))
    """
    network = read_network(demands, N, Z, servers, speeds, visits)
    if network.speeds:
        return convolution(demands, N, Z, servers=servers, speeds=speeds, visits=visits)
    words = Exactness("exact, product form")
    if network.single:
        return collect(network, *_single_class(network), words)
    return collect(network, *classes(network.model(network.N, network.Z)), words)


def classes(model: NetworkPoint) -> tuple[Floats, Floats]:
    """Return X, shape (R,), and residence times, shape (R, K), of single servers and delays."""
    X = np.zeros(model.N.size)
    residence = np.full(model.demands.shape, np.nan)
    # The population of the first class follows from the total and the others.
    present = np.flatnonzero(model.N > 0)
    order = present[np.argsort(-model.N[present], kind="stable")]
    if not order.size:
        return X, residence
    rest = model.N[order[1:]].astype(int)
    held = float(np.prod(rest + 2.0)) * model.servers.size
    if held > MOST_HELD:
        raise QueueingError(
            f"N makes {np.prod(model.N + 1):.3g} populations and {held:.3g} numbers in memory at "
            f"once; the maximum is {MOST_HELD:.3g} (linearizer needs far fewer)"
        )
    dims = rest.size
    others = [
        np.arange(n + 1.0).reshape([-1 if d == axis else 1 for d in range(dims)])
        for axis, n in enumerate(rest)
    ]
    total = sum(others, np.zeros(tuple(rest + 1)))
    waits = (~model.delays).astype(np.float64)
    inner = (slice(1, None),) * dims
    # Index 0 of each axis is -1 jobs, so that "one job less" is a view.
    met = np.zeros((*(rest + 2), waits.size))
    for level in range(1, int(model.N.sum()) + 1):
        first = level - total
        inside = (first >= 0) & (first <= model.N[order[0]])
        reached = np.zeros_like(met)
        for place, number in enumerate([first, *others]):
            r = order[place]
            less = list(inner)
            if place:
                less[place - 1] = slice(0, -1)
            time = model.demands[r] * (1 + waits * met[tuple(less)])
            rate = np.where(inside, number, 0.0) / (model.Z[r] + time.sum(axis=-1))
            reached[inner] += rate[..., None] * time
            X[r], residence[r] = rate[(-1,) * dims], time[(-1,) * dims]
        met = reached
    return X, residence


def _single_class(network: Network) -> tuple[Floats, Floats]:
    """Return X and residence times of a single class at all points."""
    shape, demand = network.N.shape, network.demands[0]
    known = ~np.isnan(network.N)
    N, Z = network.N[known], network.Z[known]
    if (N > MOST_JOBS).any():
        raise QueueingError(
            f"N is {N.max():g}; the recursion counts to {MOST_JOBS:g} at most (linearizer needs no "
            "counting)"
        )
    X, residence = np.zeros(N.size), np.full((N.size, demand.size), np.nan)
    waits = (~np.isinf(network.servers)).astype(np.float64)
    run_in_slices(times_at_stations, N, Z, demand, waits, X, residence, np.empty(demand.size))
    all_X, all_residence = np.full(shape, np.nan), np.full((*shape, demand.size), np.nan)
    all_X[known], all_residence[known] = X, residence
    return all_X, all_residence


# Mean value analysis of one class of jobs at several stations.


@kernel
def times_at_stations(N, Z, demand, waits, X, residence, met, at, n_steps):
    """Write throughputs into `X` and residence times into `residence`, by point.

    `waits` is 1 for queueing stations and 0 for delay stations. `met` are the mean numbers of jobs
    at the stations with at[1] jobs at point at[0], where a call goes on; it returns after `n_steps`
    jobs, with false, or at the end.
    """
    for i in range(at[0], N.size):
        if at[1] == 0:
            met[:] = 0.0
        last = min(int(N[i]), at[1] + n_steps)
        for n in range(at[1] + 1, last + 1):
            total = Z[i]
            for k in range(demand.size):
                residence[i, k] = demand[k] * (1.0 + waits[k] * met[k])
                total += residence[i, k]
            X[i] = n / total
            for k in range(demand.size):
                met[k] = X[i] * residence[i, k]
        n_steps -= last - at[1]
        at[:] = i, last
        if last < int(N[i]):
            return False
        at[:] = i + 1, 0
    return True
