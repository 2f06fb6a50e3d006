"""Networks given by service times and routing: Jackson's, with sojourn times, and QNA."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workloadkit.queueing.arguments import Flags, Floats, numbers
from workloadkit.queueing.errors import QueueingError
from workloadkit.queueing.networks.in_states import response_at
from workloadkit.queueing.networks.model import (
    BEARABLE,
    NetworkResult,
    bearable,
    finite_not_negative,
    hold,
)
from workloadkit.queueing.networks.open_classes import open_network
from workloadkit.queueing.phase_type import PhaseType, chained
from workloadkit.queueing.result import Exactness
from workloadkit.queueing.users_at_servers import idle_share
from workloadkit.queueing.waits import erlang_c, general_wait

#: Largest relative errors in simulations of networks of 2 and 3 stations with feedback, service of
#: scv 0 to 4, and loads from 0.3 to 0.9; half of that in tandems. Checked by
#: tests/queueing/test_networks_routing.py.
_QNA = Exactness("approximation: QNA", R=0.4, Q=0.4)

#: Most closed jobs for which distributions of response times are computed.
_MOST_USERS = 300


class _Routed(NamedTuple):
    lam: Floats
    S: Floats
    servers: Floats
    routing: Floats
    arrivals: Floats  # at each station, jobs from outside and from other stations


def jackson(
    lam: ArrayLike, S: ArrayLike, routing: ArrayLike, *, servers: ArrayLike | None = None
) -> NetworkResult:
    """Solve an open network with exponential service and random routing exactly [1]_.

    Parameters
    ----------
    lam : array_like, shape (K,)
        Arrivals from outside at each station per unit of time.
    S : array_like, shape (K,)
        Mean service time of a visit.
    routing : array_like, shape (K, K)
        Probability that a job goes from one station (row) to another; it leaves with the rest.
    servers : array_like, shape (K,), optional
        Servers of each station, inf for a delay station; by default 1.

    Returns
    -------
    NetworkResult
        Residence times are over all visits. `sojourn` has the distribution of R.

    Raises
    ------
    QueueingError
        If a parameter violates its condition, some jobs never leave, or a station is saturated.

    References
    ----------
    .. [1] J. R. Jackson, "Networks of waiting lines", Operations Research 5(4), 1957.

    Examples
    --------
    A fifth of the jobs returns from the second station:

    >>> system = jackson([2, 0], S=[0.6, 0.2], routing=[[0, 1], [0.2, 0]], servers=[2, 1])
    >>> round(system.R, 4), system.station_X.round(4).tolist()
    (2.2143, [2.5, 2.5])
    """
    given = _routed(lam, S, routing, servers)
    total = given.lam.sum()
    visits = given.arrivals / total
    found = open_network(visits * given.S, total, servers=given.servers)
    more = {"S": given.S, "visits": visits, "routing": given.routing, "entry": given.lam / total}
    changed = {"station_X": given.arrivals, "parameters": {**found.parameters, **more}}
    return NetworkResult(**{**vars(found), **changed})


def sojourn(network: NetworkResult) -> PhaseType:
    """Return the distribution of the time from a job's arrival to its departure.

    Jobs visit each station once, and are served first come, first served. The times at the stations
    of an open job's path are taken as independent. This is exact if jobs cannot overtake each
    other: single servers, each visited at most once, and no two paths between the same stations
    [1]_ [2]_; a first or last station may have several servers. Otherwise it is an approximation,
    as ``exactness`` says: the mean is exact, and long times are underestimated, since a job that
    returns to a long queue finds it again. The 99 % quantile is 9 % too small if a fifth of the
    jobs return over two stations, and 28 % if half of them return to a server at a load of 0.8.

    An open job meets the closed jobs of a mixed network as they are at any time, a closed job those
    of a network without itself [3]_. The numbers of closed jobs at several stations depend on each
    other: no formula is known for a path with two stations where closed jobs queue.

    Parameters
    ----------
    network : NetworkResult
        Result of `jackson`, or with a single class of `open_network`, `mva`, `convolution` or
        `mixed_mva`: of the closed class, with ``open`` of the open one. Each station is then
        visited once.

    Raises
    ------
    QueueingError
        For several classes, for closed jobs at several stations of the path, and if classes have
        different demands at a station (they visit it more than once).

    References
    ----------
    .. [1] E. Reich, "Note on queues in tandem", Annals of Mathematical Statistics 34(1), 1963.
    .. [2] J. Walrand, P. Varaiya, "Sojourn times and the overtaking condition in Jacksonian
       networks", Advances in Applied Probability 12(4), 1980.
    .. [3] K. C. Sevcik, I. Mitrani, "The distribution of queuing network states at input and
       output instants", J. ACM 28(2), 1981.

    Examples
    --------
    Nine of ten jobs pass two stations in 7.78 services:

    >>> tandem = open_network([1.0, 1.0], lam=0.5)
    >>> time = sojourn(tandem)
    >>> round(time.mean, 6), round(time.ppf(0.9), 4)
    (4.0, 7.7794)
    """
    known = network.parameters
    if known["demands"].ndim > 1:
        raise QueueingError(
            "no formula is known for the distribution of response times of several classes"
        )
    S = known.get("S", known["demands"])
    visits = known.get("visits", np.ones(S.size))
    routing = known.get("routing", np.eye(S.size, k=1))
    entry = known.get("entry", np.eye(S.size)[0])
    servers, used = known["servers"], S > 0
    if not used.any():
        return PhaseType(np.zeros(1), -np.eye(1))
    routing, entry = _without_empty(routing, entry, used)
    met = _met(network)
    shared = [] if met is None else _shared(met, S, of_closed="N" in known).tolist()
    times = [
        response_at(met, k, S[k])
        if met is not None and k in shared
        else _station_time(known["lam"] * visits[k] if "lam" in known else 0.0, S[k], servers[k])
        for k in np.flatnonzero(used).tolist()
    ]
    overtaken = "N" not in known and _overtaken(routing, servers[used])
    words = "approximation: jobs overtake each other" if overtaken else "exact"
    return replace(chained(times, entry, routing), exactness=Exactness(words))


def _met(network: NetworkResult) -> NetworkResult | None:
    """Return the network with closed jobs that a job meets; None without closed jobs."""
    known = network.parameters
    if "closed" in known:
        return replace(known["closed"], open=network)
    if "N" not in known:
        return None
    N = known["N"]
    if np.ndim(N) or not 1 <= N <= _MOST_USERS:
        given = f"{np.size(N)} numbers" if np.ndim(N) else f"{N:g}"
        raise QueueingError(
            f"N is {given}; the distribution of response times needs one number from 1 to "
            f"{_MOST_USERS}"
        )
    return replace(network, parameters={**known, "N": N - 1})


def _shared(met: NetworkResult, S: Floats, *, of_closed: bool) -> NDArray[np.intp]:
    """Return the station of the path where a job may wait for closed jobs, if there is one."""
    known = met.parameters
    closed = np.atleast_2d(known["demands"])[np.atleast_1d(known["N"]) + of_closed > 0]
    queues = (S > 0) & np.isfinite(known["servers"])
    found: NDArray[np.intp] = np.flatnonzero(queues & closed.any(axis=0))
    if found.size > 1:
        raise QueueingError(
            "no formula is known for the distribution of response times if closed jobs queue at "
            f"several stations of the path ({', '.join(map(str, found))}): their numbers there "
            "depend on each other"
        )
    passing = closed[:0] if met.open is None else np.atleast_2d(met.open.parameters["demands"])
    for k in found.tolist():
        visits = np.atleast_2d(known["visits"])[:, k]
        demands = [row[k] for row in (*closed, *passing) if row[k]]
        own_speeds = known["servers"][k] == 1 and k in known["speeds"]
        if own_speeds or (visits != 1).any() or not np.allclose(demands, S[k], rtol=1e-9):
            raise QueueingError(
                f"no formula is known for the distribution of response times if station {k} is "
                "visited more than once (demands of classes differ), or its speed varies"
            )
    if np.atleast_1d(known["N"]).sum() > _MOST_USERS:
        raise QueueingError(
            f"N is above {_MOST_USERS}; the distribution of response times needs fewer closed jobs"
        )
    return found


def _overtaken(routing: Floats, servers: Floats) -> bool:
    """Return whether jobs can overtake each other inside the network."""
    size = servers.size
    moves = (routing > 1e-12).astype(np.float64)
    paths = moves
    for _ in range(size):
        paths = moves + paths @ moves
        if (paths > 1).any() or paths.diagonal().any():
            return True
    inside = moves.any(axis=0) & moves.any(axis=1)
    return bool((inside & (servers > 1)).any())


def qna(
    lam: ArrayLike,
    S: ArrayLike,
    routing: ArrayLike,
    *,
    scv: ArrayLike,
    scv_arrivals: ArrayLike = 1.0,
    servers: ArrayLike | None = None,
) -> NetworkResult:
    """Solve an open network with general service and arrivals approximately [1]_.

    Each station is a GI/G/c queue with an arrival process of two parameters, its rate and scv,
    which follow from linear equations for splitting, superposition and departures. With scv 1
    everywhere the result is exact. Immediate feedback is not removed.

    Parameters
    ----------
    lam, S, routing, servers
        See `jackson`; no delay stations.
    scv : array_like, shape (K,)
        Squared coefficient of variation of service times.
    scv_arrivals : array_like, shape (K,), default 1
        That of inter-arrival times from outside.

    Returns
    -------
    NetworkResult
        ``parameters["scv_inside"]`` is the scv of inter-arrival times at each station.

    Raises
    ------
    QueueingError
        If a parameter violates its condition, some jobs never leave, or a station is saturated.

    References
    ----------
    .. [1] W. Whitt, "The queueing network analyzer", Bell System Technical Journal 62(9), 1983,
       equations 24 to 30 and 45.

    Examples
    --------
    >>> one = qna([0.8], [1.0], [[0]], scv=[0.0])
    >>> two = qna([0.8, 0], [1.0, 1.0], [[0, 1], [0, 0]], scv=[0.0, 0.0])
    >>> round(one.R, 6), two.parameters["scv_inside"].round(6).tolist()
    (3.0, [1.0, 0.488])
    """
    given = _routed(lam, S, routing, servers)
    if np.isinf(given.servers).any():
        raise QueueingError("servers must be finite for qna")
    shape = given.S.shape
    service = _vector("scv", scv, shape)
    outside = _vector("scv_arrivals", scv_arrivals, shape)
    exact = jackson(lam, S, routing, servers=servers)
    inside = _scv_inside(given, service, outside)
    waits = general_wait(given.arrivals, given.S, given.servers, inside, service)
    residence = exact.parameters["visits"] * (given.S + waits)
    return NetworkResult(
        **{
            **vars(exact),
            "R": float(residence.sum()),
            "residence": residence,
            "Q": residence * float(exact.X),
            "exactness": _QNA,
            "parameters": {**exact.parameters, "scv": service, "scv_inside": inside},
        }
    )


def _scv_inside(given: _Routed, service: Floats, outside: Floats) -> Floats:
    """Return the scv of the inter-arrival times at each station."""
    lam, S, servers, routing, arrivals = given
    load = arrivals * S / servers
    seen = np.where(arrivals > 0, arrivals, 1.0)
    share = arrivals[:, None] * routing / seen  # of a station's arrivals, by origin
    first = lam / seen
    with np.errstate(divide="ignore"):
        streams = 1 / (first**2 + (share**2).sum(axis=0))
    weight = 1 / (1 + 4 * (1 - load) ** 2 * (streams - 1))
    departing = 1 + (np.maximum(service, 0.2) - 1) / np.sqrt(servers)
    split = share * (1 - routing + routing * (load**2 * departing)[:, None])
    constant = 1 + weight * (first * outside - 1 + split.sum(axis=0))
    slope = weight * share * routing * (1 - load**2)[:, None]
    return np.linalg.solve(np.eye(lam.size) - slope.T, constant)


def _station_time(arrivals: float, S: float, servers: float) -> PhaseType:
    """Return the response time of M/M/c as phases: waiting, service."""
    if np.isinf(servers):
        return PhaseType(np.ones(1), np.array([[-1 / S]]))
    load, count = np.array([arrivals * S]), np.array([servers])
    idle = idle_share(np.array([arrivals]), np.array([S]), count)
    leaving = float(servers * idle[0] / S)
    if servers == 1:
        return PhaseType(np.ones(1), np.array([[-leaving]]))
    wait = float(erlang_c(load, count, idle)[0])
    return PhaseType(np.array([wait, 1 - wait]), np.array([[-leaving, leaving], [0.0, -1 / S]]))


def _without_empty(routing: Floats, entry: Floats, used: Flags) -> tuple[Floats, Floats]:
    """Return routing and first stations without stations that take no time."""
    empty = ~used
    through = np.linalg.inv(np.eye(int(empty.sum())) - routing[np.ix_(empty, empty)])
    from_empty = through @ routing[np.ix_(empty, used)]
    return (
        routing[np.ix_(used, used)] + routing[np.ix_(used, empty)] @ from_empty,
        entry[used] + entry[empty] @ from_empty,
    )


def _routed(lam: ArrayLike, S: ArrayLike, routing: ArrayLike, servers: ArrayLike | None) -> _Routed:
    """Check parameters and solve the traffic equations."""
    service = np.atleast_1d(numbers("S", S))
    shape = service.shape
    hold("S", service, bearable, BEARABLE)
    rates = _vector("lam", lam, shape)
    if not rates.any():
        raise QueueingError("lam is 0 at all stations; it must be above 0 at one")
    moves = numbers("routing", routing)
    if moves.shape != (service.size, service.size):
        raise QueueingError(
            f"the shape of routing is {moves.shape}; S needs {(service.size, service.size)}"
        )
    hold("routing", moves, lambda v: (v >= 0) & (v <= 1), "be from 0 to 1")
    hold("sum of routing", moves.sum(axis=1), lambda v: v <= 1 + 1e-12, "be at most 1")
    count = _vector("servers", 1.0 if servers is None else servers, shape, inf=True)
    return _Routed(rates, service, count, moves, rates @ _visits(moves))


def _visits(routing: Floats) -> Floats:
    """Return the mean number of visits to each station (column) by the first one."""
    size = len(routing)
    leaves = 1 - routing.sum(axis=1) > 1e-12
    for _ in range(size):  # stations from which jobs can leave
        leaves = leaves | (routing[:, leaves] > 0).any(axis=1)
    if not leaves.all():
        raise QueueingError(f"routing: jobs at station {int(np.argmin(leaves))} never leave")
    return np.maximum(np.linalg.inv(np.eye(size) - routing), 0.0)


def _vector(name: str, value: ArrayLike, shape: tuple[int, ...], *, inf: bool = False) -> Floats:
    given = numbers(name, value)
    try:
        found = np.broadcast_to(given, shape).copy()
    except ValueError:
        raise QueueingError(f"the shape of {name} is {given.shape}; S needs {shape}") from None
    if inf:
        whole = "be a whole number, 1 or more, or inf for a delay station"
        return hold(name, found, lambda v: (v >= 1) & (np.isinf(v) | (v == np.floor(v))), whole)
    return hold(name, found, finite_not_negative, "be finite, 0 or more")
