"""Mean value analysis of networks with open and closed classes."""

import numpy as np
from numpy.typing import ArrayLike

from workloadkit.queueing.arguments import Floats, numbers, plain
from workloadkit.queueing.errors import QueueingError
from workloadkit.queueing.networks.mean_values import classes
from workloadkit.queueing.networks.model import BEARABLE, bearable, hold, read_network
from workloadkit.queueing.networks.result import NetworkResult, collect
from workloadkit.queueing.result import Exactness


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

    Open jobs take their share of each server. Closed jobs see a correspondingly slower server, with
    demand D/(1 - U_open), and open jobs see the mean number of closed jobs [1]_.

    Parameters
    ----------
    demands, N, Z
        Parameters of the closed classes, see `mva`; N must be one point.
    open_demands : array_like, shape (K,) or (P, K)
        Service demand of an open job at each station, by class.
    lam : array_like
        Arrival rates of the open classes, shape (P,), or a number.
    servers : array_like, shape (K,), optional
        1, or inf for a delay station.

    Returns
    -------
    NetworkResult
        Result of the closed classes; ``open`` is the result of the open ones.

    Raises
    ------
    QueueingError
        If a parameter violates its condition, or open jobs alone saturate a server.

    References
    ----------
    .. [1] E. D. Lazowska, J. Zahorjan, G. S. Graham, K. C. Sevcik, "Quantitative System
       Performance", 1984, section 7.4.

    Examples
    --------
    Open requests and 5 users at one server:

    >>> system = mixed_mva([1.0], N=5, Z=8, open_demands=[1.0], lam=0.3)
    >>> round(system.X, 4), round(system.R, 4), round(system.open.R, 4)
    (0.4679, 2.6858, 3.2239)
    """
    network = read_network(demands, N, Z, servers)
    if network.speeds:
        raise QueueingError("servers must be 1, or inf for a delay station")
    if network.single and network.N.ndim:
        raise QueueingError(f"the shape of N is {network.N.shape}; it must be one number")
    demand, rates, single = _open_classes(open_demands, lam, network.servers.size)
    waits = ~np.isinf(network.servers)
    busy = rates @ demand
    if (busy[waits] >= 1).any():
        station = int(np.argmax(busy * waits))
        raise QueueingError(
            f"lam: open jobs use {busy[station]:g} of station {station}; it must be below 1"
        )
    left = np.where(waits, 1 - busy, 1.0)
    model = network.model(network.N, network.Z)
    X, residence = classes(model._replace(demands=model.demands / left))
    words = Exactness("exact, product form")
    if network.single:
        X, residence = X[0], residence[0]
    closed = collect(network, np.asarray(X), residence, words)
    met = np.atleast_2d(closed.Q).sum(axis=0) * waits
    times = demand * (1 + met) / left
    shown = slice(None) if not single else 0
    passing = NetworkResult(
        X=plain(rates[shown]),
        R=plain(times.sum(axis=1)[shown]),
        Q=(rates[:, None] * times)[shown],
        U=(rates[:, None] * demand)[shown],
        residence=times[shown],
        station_X=np.broadcast_to(rates[:, None], demand.shape)[shown],
        exactness=words,
        parameters={
            "demands": demand[shown],
            "lam": np.asarray(rates[shown]),
            "servers": network.servers,
        },
    )
    return NetworkResult(**{**vars(closed), "open": passing})


def _open_classes(
    demands: ArrayLike, lam: ArrayLike, n_stations: int
) -> tuple[Floats, Floats, bool]:
    """Return demands and rates of open classes, and whether one has no class axis."""
    demand, rates = numbers("open_demands", demands), numbers("lam", lam)
    if demand.ndim not in (1, 2) or demand.shape[-1] != n_stations:
        raise QueueingError(
            f"the shape of open_demands is {demand.shape}; {n_stations} stations need "
            f"({n_stations},) or (P, {n_stations})"
        )
    if rates.shape != demand.shape[:-1]:
        raise QueueingError(
            f"the shape of lam is {rates.shape}; open_demands need {demand.shape[:-1]}"
        )
    hold("open_demands", demand, bearable, BEARABLE)
    hold("lam", rates, bearable, BEARABLE)
    return np.atleast_2d(demand), np.atleast_1d(rates), demand.ndim == 1
