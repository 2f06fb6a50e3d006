"""Networks of product form with open classes, alone or with closed ones.

At a station where open jobs need the time u per unit of time, P(m open and n closed jobs there) is
proportional to C(n + m, m) u^m F(n + m) times the closed jobs' terms, F(i) = 1 / (s(1) ... s(i))
for the speed s(i) with i jobs [1]_. Summed over m, this is a closed network in which the station
has the speeds W(n - 1) / W(n), W(n) = Σ_m C(n + m, m) u^m F(n + m); all terms are positive. Open
jobs of demand D stay D (n + 1) W(n + 1) / W(n), averaged over the n closed jobs there.

.. [1] S. C. Bruell, G. Balbo, P. V. Afshari, "Mean value analysis of mixed, multiple class BCMP
   networks with load dependent service stations", Performance Evaluation 4(4), 1984.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from workloadkit.queueing.arguments import Floats, numbers, plain
from workloadkit.queueing.errors import QueueingError
from workloadkit.queueing.networks.convolving import convolved, total_at
from workloadkit.queueing.networks.mean_values import classes
from workloadkit.queueing.networks.model import (
    BEARABLE,
    Network,
    NetworkPoint,
    NetworkResult,
    bearable,
    collect,
    hold,
    read_network,
)
from workloadkit.queueing.open_share import log_sums
from workloadkit.queueing.result import Exactness

_EXACT = Exactness("exact, product form")


def mixed_mva(
    demands: ArrayLike,
    N: ArrayLike,
    Z: ArrayLike,
    open_demands: ArrayLike,
    lam: ArrayLike,
    *,
    servers: ArrayLike | None = None,
) -> NetworkResult:
    """Solve a network of product form with closed and open classes exactly.

    Open jobs take their share of each station. At a single server, closed jobs have the demand
    D/(1 - U_open), and open jobs meet the mean number of closed jobs [1]_. Stations with several
    servers are solved by `convolution`, with speeds that the open jobs leave [2]_.

    Parameters
    ----------
    demands, N, Z
        Parameters of the closed classes, see `mva`; N must be one point.
    open_demands : array_like, shape (K,) or (P, K)
        Service demand of an open job at each station, by class.
    lam : array_like
        Arrival rates of the open classes, shape (P,), or a number.
    servers : array_like, shape (K,), optional
        Servers of each station, inf for a delay station; by default 1.

    Returns
    -------
    NetworkResult
        Result of the closed classes; ``open`` is the result of the open ones. `sojourn` has the
        distribution of either's R.

    Raises
    ------
    QueueingError
        If a parameter violates its condition, or open jobs alone saturate a station.

    References
    ----------
    .. [1] E. D. Lazowska, J. Zahorjan, G. S. Graham, K. C. Sevcik, "Quantitative System
       Performance", 1984, section 7.4.
    .. [2] S. C. Bruell, G. Balbo, P. V. Afshari, "Mean value analysis of mixed, multiple class BCMP
       networks with load dependent service stations", Performance Evaluation 4(4), 1984.

    Examples
    --------
    Open requests and 5 users at one server, and at two:

    >>> one = mixed_mva([1.0], N=5, Z=8, open_demands=[1.0], lam=0.3)
    >>> round(one.X, 4), round(one.R, 4), round(one.open.R, 4)
    (0.4679, 2.6858, 3.2239)
    >>> two = mixed_mva([1.0], N=5, Z=8, open_demands=[1.0], lam=0.3, servers=[2])
    >>> round(two.X, 4), round(two.R, 4), round(two.open.R, 4)
    (0.5472, 1.1366, 1.186)
    """
    network = read_network(demands, N, Z, servers)
    if network.single and network.N.ndim:
        raise QueueingError(f"the shape of N is {network.N.shape}; it must be one number")
    demand, rates, single = _open_classes(open_demands, lam, network.servers.size)
    busy = _within_capacity(network, rates @ demand)
    model = network.model(network.N, network.Z)
    X, residence, stretch = (_servers_solved if network.speeds else _mva_solved)(model, busy)
    if network.single:
        X, residence = X[0], residence[0]
    closed = collect(network, np.asarray(X), residence, _EXACT)
    passing = _passing(demand, rates, single, network.servers, stretch)
    if network.N.any():
        passing = replace(passing, parameters={**passing.parameters, "closed": closed})
    return replace(closed, open=passing)


def open_network(
    demands: ArrayLike, lam: ArrayLike, *, servers: ArrayLike | None = None
) -> NetworkResult:
    """Solve an open network of product form exactly (Jackson [1]_).

    Every station is an M/M/c queue with its share of the arrivals.

    Parameters
    ----------
    demands : array_like, shape (K,) or (P, K)
        Service demand of a job at each station over all visits, by class.
    lam : array_like
        Arrival rates of the classes, shape (P,), or a number.
    servers : array_like, shape (K,), optional
        Servers of each station, inf for a delay station; by default 1.

    Returns
    -------
    NetworkResult

    Raises
    ------
    QueueingError
        If a parameter violates its condition, or a station is saturated.

    See Also
    --------
    jackson : From service times and the routing of jobs, with sojourn times.

    References
    ----------
    .. [1] J. R. Jackson, "Networks of waiting lines", Operations Research 5(4), 1957.

    Examples
    --------
    Two servers, then one; a quarter more visits than jobs:

    >>> round(open_network([0.75, 0.25], lam=2.0, servers=[2, 1]).R, 4)
    2.2143
    """
    shape = numbers("demands", demands).shape
    none = np.zeros(shape[-1:] or 1)
    found = mixed_mva(none, 0, 1.0, demands, lam, servers=servers).open
    assert found is not None
    return found


def shared_speeds(speeds: Floats, busy: float) -> Floats:
    """Return the speeds that closed jobs find where open jobs need `busy` of a station."""
    return np.exp(-np.diff(log_sums(speeds, busy, speeds.size)[0]))


def speeds_of(servers: float) -> Floats:
    """Return the speeds of a station with 1, 2, ... jobs."""
    return np.arange(1.0, servers + 1)


def _mva_solved(model: NetworkPoint, busy: Floats) -> tuple[Floats, Floats, Floats]:
    """Return X and residence times of closed classes, and residence of open jobs per demand."""
    left = np.where(model.delays, 1.0, 1 - busy)
    X, residence = classes(model._replace(demands=model.demands / left))
    met = (X[:, None] * np.nan_to_num(residence)).sum(axis=0) * ~model.delays
    return X, residence, (1 + met) / left


def _servers_solved(model: NetworkPoint, busy: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the same for stations with several servers."""
    queues = np.flatnonzero(~model.delays).tolist()
    speeds = {k: shared_speeds(speeds_of(model.servers[k]), busy[k]) for k in queues}
    seen = model._replace(speeds=speeds)
    X, residence = convolved(seen)
    stretch = np.ones(busy.size)
    for k in queues:
        share = total_at(seen, k)
        n = np.arange(1.0, share.size + 1)
        stretch[k] = share @ (n / speeds[k][np.minimum(n.astype(int), speeds[k].size) - 1])
    return X, residence, stretch


def _within_capacity(network: Network, busy: Floats) -> Floats:
    over = np.flatnonzero(busy >= network.servers)
    if over.size:
        worst = over[np.argmax((busy / network.servers)[over])]
        raise QueueingError(
            f"lam: open jobs use {busy[worst]:g} of station {worst}; it must be below "
            f"{network.servers[worst]:g}"
        )
    return busy


def _passing(
    demand: Floats, rates: Floats, single: bool, servers: Floats, stretch: Floats
) -> NetworkResult:
    """Return the result of the open classes."""
    times = demand * stretch
    shown = 0 if single else slice(None)
    return NetworkResult(
        X=plain(rates[shown]),
        R=plain(times.sum(axis=1)[shown]),
        Q=(rates[:, None] * times)[shown],
        U=(rates[:, None] * demand / np.where(np.isinf(servers), 1.0, servers))[shown],
        residence=times[shown],
        station_X=np.broadcast_to(rates[:, None], demand.shape)[shown],
        exactness=_EXACT,
        parameters={
            "demands": demand[shown],
            "lam": np.asarray(rates[shown]),
            "servers": servers,
        },
    )


def _open_classes(
    demands: ArrayLike, lam: ArrayLike, n_stations: int
) -> tuple[Floats, Floats, bool]:
    """Return demands and rates of open classes, and whether one has no class axis."""
    demand, rates = numbers("open_demands", demands), numbers("lam", lam)
    if demand.ndim not in (1, 2) or demand.shape[-1] != n_stations:
        raise QueueingError(
            f"the shape of open_demands is {demand.shape}; it must have one number for each of the "
            f"{n_stations} stations, in a row for each class if there are several"
        )
    if rates.shape != demand.shape[:-1]:
        raise QueueingError(
            f"the shape of lam is {rates.shape}; it must have one number for each open class: "
            f"{demand.shape[0] if demand.ndim > 1 else 1}"
        )
    hold("open_demands", demand, bearable, BEARABLE)
    hold("lam", rates, bearable, BEARABLE)
    return np.atleast_2d(demand), np.atleast_1d(rates), demand.ndim == 1
