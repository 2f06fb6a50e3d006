"""Parameters of a closed network: demands, populations, think times, kinds of stations."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workloadkit.queueing.arguments import Condition, Flags, Floats, count, numbers, points
from workloadkit.queueing.errors import QueueingError, quoted

#: Largest times, with products that do not overflow.
MOST_TIME = 1e100
BEARABLE = f"be from 0 to {MOST_TIME:g}"

#: Relative speeds of stations with 1, 2, ... jobs, by index of the station.
Speeds = Mapping[int, Sequence[float] | Floats]


class NetworkPoint(NamedTuple):
    """A network of K stations and R classes at one point.

    Parameters
    ----------
    demands : ndarray, shape (R, K)
    N, Z : ndarray, shape (R,)
    servers : ndarray, shape (K,)
        inf for delay stations.
    speeds : mapping of int to ndarray
        Relative speed with 1, 2, ... jobs of stations with several servers; the last applies to
        more jobs.
    """

    demands: Floats
    N: Floats
    Z: Floats
    servers: Floats
    speeds: Mapping[int, Floats]

    @property
    def delays(self) -> Flags:
        """Whether each station is a delay."""
        return np.isinf(self.servers)


class Network(NamedTuple):
    """A network as passed, with its points.

    Parameters
    ----------
    demands, visits : ndarray, shape (R, K)
    N, Z : ndarray
        Shape (R,); for a single class, shape of the points.
    servers : ndarray, shape (K,)
    speeds : mapping of int to ndarray
    single : bool
        Whether demands have shape (K,): a single class, with N and Z that may be arrays.
    """

    demands: Floats
    visits: Floats
    N: Floats
    Z: Floats
    servers: Floats
    speeds: Mapping[int, Floats]
    single: bool

    def model(self, N: ArrayLike, Z: ArrayLike) -> NetworkPoint:
        """Return the network at one point."""
        populations, think = np.atleast_1d(N), np.atleast_1d(Z)
        return NetworkPoint(self.demands, populations, think, self.servers, self.speeds)


def read_network(
    demands: ArrayLike,
    N: ArrayLike,
    Z: ArrayLike,
    servers: ArrayLike | None = None,
    speeds: Speeds | None = None,
    visits: ArrayLike | None = None,
) -> Network:
    """Check and return a network.

    Raises
    ------
    QueueingError
        If a parameter violates its condition, or shapes do not match.

    Warns
    -----
    QueueingWarning
        If N or Z violate conditions at some points of an array.
    """
    given = numbers("demands", demands)
    if given.ndim not in (1, 2) or not given.size:
        raise QueueingError(
            f"the shape of demands is {given.shape}; it must be (K,), or (R, K) for R classes"
        )
    hold("demands", given, bearable, BEARABLE)
    single = given.ndim == 1
    table = np.atleast_2d(given)
    n_stations = table.shape[1]
    population, think = (_points if single else _populations)(table, N, Z)
    c = hold(
        "servers",
        _fitted("servers", 1.0 if servers is None else servers, (n_stations,)),
        lambda v: (v >= 1) & (np.isinf(v) | (v == np.floor(v))),
        "be a whole number, 1 or more, or inf for a delay station",
    )
    seen = _fitted("visits", 1.0 if visits is None else visits, given.shape)
    hold("visits", seen, finite_not_negative, "be finite, 0 or more")
    rates = _speeds(c, speeds or {})
    return Network(table, np.atleast_2d(seen), population, think, c, rates, single)


def hold(name: str, values: Floats, holds: Callable[[Floats], Flags], condition: str) -> Floats:
    """Check a condition on all values, and return them."""
    broken = ~holds(values)
    if broken.any():
        place = np.unravel_index(int(np.argmax(broken)), values.shape)
        where = f"[{', '.join(map(str, place))}]" if values.ndim else ""
        raise QueueingError(f"{name}{where} is {values[place]:g}; it must {condition}")
    return values


def bearable(values: Floats) -> Flags:
    """Return where times can be multiplied without overflow."""
    return (values >= 0) & (values <= MOST_TIME)


def finite_not_negative(values: Floats) -> Flags:
    """Return where values are finite and 0 or more."""
    return (values >= 0) & (values < np.inf)


def think_time(demands: Floats) -> list[Condition]:
    """Return the conditions on the think time of a single class."""
    some = Condition(
        "Z",
        lambda p: (p["Z"] > 0) | (p["N"] == 0) | demands.any(),
        "be above 0 if demands are all 0",
    )
    return [Condition("Z", lambda p: bearable(p["Z"]), BEARABLE), some]


def _points(demands: Floats, N: ArrayLike, Z: ArrayLike) -> tuple[Floats, Floats]:
    held = points([count("N", 0), *think_time(demands)], N=N, Z=Z)
    return held["N"], held["Z"]


def _populations(demands: Floats, N: ArrayLike, Z: ArrayLike) -> tuple[Floats, Floats]:
    n_classes = len(demands)
    population = numbers("N", N)
    if population.shape != (n_classes,):
        raise QueueingError(
            f"the shape of N is {population.shape}; demands of {n_classes} classes need "
            f"({n_classes},)"
        )
    whole = "be a whole number, 0 or more"
    hold("N", population, lambda v: finite_not_negative(v) & (v == np.floor(v)), whole)
    think = _fitted("Z", Z, (n_classes,))
    hold("Z", think, bearable, BEARABLE)
    if ((demands.sum(axis=1) + think == 0) & (population > 0)).any():
        raise QueueingError("demands and Z of a class are all 0; one must be above 0")
    return population, think


def _fitted(name: str, value: Any, shape: tuple[int, ...]) -> Floats:
    given = numbers(name, value)
    try:
        return np.broadcast_to(given, shape).copy()
    except ValueError:
        raise QueueingError(
            f"the shape of {name} is {given.shape}; the demands need {shape}"
        ) from None


def _speeds(servers: Floats, given: Speeds) -> dict[int, Floats]:
    found: dict[int, Floats] = {}
    many: NDArray[np.intp] = np.flatnonzero((servers > 1) & np.isfinite(servers))
    for station in many:
        found[int(station)] = np.arange(1.0, servers[station] + 1)
    for station, values in given.items():
        if station not in range(servers.size):
            raise QueueingError(
                f"speeds has the station {quoted(station)}; it must be from 0 to {servers.size - 1}"
            )
        if servers[station] != 1:
            raise QueueingError(
                f"speeds and servers are both given for station {station}; only one is allowed"
            )
        name = f"speeds[{station}]"
        speeds = np.atleast_1d(numbers(name, values))
        if speeds.ndim != 1 or not speeds.size:
            raise QueueingError(f"the shape of {name} is {speeds.shape}; it must be (n,)")
        found[station] = hold(name, speeds, lambda v: (v > 0) & (v < np.inf), "be finite, above 0")
    return found
