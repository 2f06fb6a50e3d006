"""Mean value analysis of networks that open jobs pass while closed ones stay."""

import numpy as np
from numpy.typing import ArrayLike

from queueing.arguments import Floats, numbers, plain
from queueing.errors import QueueingError
from queueing.networks.mean_values import classes
from queueing.networks.model import BEARABLE, bearable, hold, read_network
from queueing.networks.result import NetworkResult, collect
from queueing.result import Exactness


def mixed_mva(
    demands: ArrayLike,
    N: ArrayLike,
    Z: ArrayLike,
    open_demands: ArrayLike,
    lam: ArrayLike,
    *,
    servers: ArrayLike | None = None,
) -> NetworkResult:
    """Solve a network with closed and open classes of product form exactly.

    Open jobs take their share of each server; the closed ones see a server that is so much slower,
    D/(1 - U_open), and open jobs meet them as they are on average [1]_.

    Parameters
    ----------
    demands, N, Z
        Of the closed classes, as of `mva`; N must be one point.
    open_demands : array_like, shape (K,) or (P, K)
        Service that an open job asks of each station, by class.
    lam : array_like
        Arrival rates of the open classes, shape (P,), or a number.
    servers : array_like, shape (K,), optional
        1, or inf where a station only delays.

    Returns
    -------
    NetworkResult
        Of the closed classes; ``open`` is that of the open ones.

    Raises
    ------
    QueueingError
        If a parameter breaks its condition; if open jobs alone fill a server.

    References
    ----------
    .. [1] E. D. Lazowska, J. Zahorjan, G. S. Graham, K. C. Sevcik, "Quantitative System
       Performance", 1984, section 7.4.

    Examples
    --------
    Requests from outside beside 5 users, at one server:

    >>> system = mixed_mva([1.0], N=5, Z=8, open_demands=[1.0], lam=0.3)
    >>> round(system.X, 4), round(system.R, 4), round(system.open.R, 4)
    (0.4679, 2.6858, 3.2239)
    """
    network = read_network(demands, N, Z, servers)
    if network.speeds:
        raise QueueingError("servers must all be 1, or inf for a station that only delays")
    if network.single and network.N.ndim:
        raise QueueingError(f"the shape of N is {network.N.shape}; it must be one number")
    asked, rates, single = _open_classes(open_demands, lam, network.servers.size)
    waits = ~np.isinf(network.servers)
    busy = rates @ asked
    if (busy[waits] >= 1).any():
        station = int(np.argmax(busy * waits))
        raise QueueingError(
            f"lam makes open jobs use {busy[station]:g} of station {station}; it must be below 1"
        )
    left = np.where(waits, 1 - busy, 1.0)
    model = network.model(network.N, network.Z)
    X, residence = classes(model._replace(demands=model.demands / left))
    words = Exactness("exact, product form")
    if network.single:
        X, residence = X[0], residence[0]
    closed = collect(network, np.asarray(X), residence, words)
    met = np.atleast_2d(closed.Q).sum(axis=0) * waits
    times = asked * (1 + met) / left
    shown = slice(None) if not single else 0
    passing = NetworkResult(
        X=plain(rates[shown]),
        R=plain(times.sum(axis=1)[shown]),
        Q=(rates[:, None] * times)[shown],
        U=(rates[:, None] * asked)[shown],
        residence=times[shown],
        station_X=np.broadcast_to(rates[:, None], asked.shape)[shown],
        exactness=words,
        parameters={
            "demands": asked[shown],
            "lam": np.asarray(rates[shown]),
            "servers": network.servers,
        },
    )
    return NetworkResult(**{**vars(closed), "open": passing})


def _open_classes(
    demands: ArrayLike, lam: ArrayLike, n_stations: int
) -> tuple[Floats, Floats, bool]:
    """Return demands and rates of open classes, and whether there is one given without a class."""
    asked, rates = numbers("open_demands", demands), numbers("lam", lam)
    if asked.ndim not in (1, 2) or asked.shape[-1] != n_stations:
        raise QueueingError(
            f"the shape of open_demands is {asked.shape}; {n_stations} stations need "
            f"({n_stations},) or (P, {n_stations})"
        )
    if rates.shape != asked.shape[:-1]:
        raise QueueingError(
            f"the shape of lam is {rates.shape}; open_demands need {asked.shape[:-1]}"
        )
    hold("open_demands", asked, bearable, BEARABLE)
    hold("lam", rates, bearable, BEARABLE)
    return np.atleast_2d(asked), np.atleast_1d(rates), asked.ndim == 1
