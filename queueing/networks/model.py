"""Parameters and results of models of closed networks."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workloadkit.queueing.arguments import (
    Condition,
    Flags,
    Floats,
    Value,
    count,
    missing,
    numbers,
    plain,
    points,
)
from workloadkit.queueing.display import DisplayedResult
from workloadkit.queueing.errors import QueueingError, quoted
from workloadkit.queueing.result import Exactness

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


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


# Results of models of closed networks.


@dataclass(frozen=True, eq=False)
class NetworkResult(DisplayedResult):
    """Throughput, response time and numbers of jobs in a network, by class and station.

    Measures of classes have shape (R,), or the shape of the points N and Z for a single class with
    demands of shape (K,); floats for numbers. Measures of stations have a further, last dimension
    K. Times have the unit of the demands.

    Parameters
    ----------
    X : float or ndarray
        Throughput: completed jobs of the class per unit of time.
    R : float or ndarray
        Response time, from the end of thinking to the end of the last service; nan for a class
        without jobs.
    Q : ndarray
        Mean number at a station.
    U : ndarray
        Utilization by the class, per server; mean number in service for a delay station; per unit
        of the last speed if speed depends on the number of jobs.
    residence : ndarray
        Time of a job at a station over all visits; sums to R.
    station_X : ndarray
        Completed visits of a station per unit of time.
    exactness : Exactness
    parameters : mapping of str to ndarray
    open : NetworkResult or None
        Result of the open classes of a mixed network.
    """

    X: Value
    R: Value
    Q: Floats
    U: Floats
    residence: Floats
    station_X: Floats  # noqa: N815 - the field's symbol
    exactness: Exactness
    parameters: Mapping[str, Any] = field(repr=False)
    open: "NetworkResult | None" = None

    def check(self) -> Value:
        """Return the largest relative violation of Little's law for the whole network.

        Jobs of a class think or are at a station: N = X Z + ΣQ, and X R = ΣQ for open classes.
        """
        X, R, at = np.asarray(self.X), np.asarray(self.R), self.Q.sum(axis=-1)
        N, Z = self.parameters.get("N"), self.parameters.get("Z")
        expected = X * np.nan_to_num(R) if N is None or Z is None else N - X * Z
        scale = np.maximum(np.abs(X * np.nan_to_num(R)) if N is None else N, 1e-300)
        return plain(np.abs(expected - at) / scale)

    def to_frame(self) -> "pd.DataFrame":
        """Return a table with one row per class (or point) and station."""
        import pandas as pd

        shape = self.Q.shape
        places = np.indices(shape).reshape(len(shape), -1)
        single = self.parameters["demands"].ndim == 1
        columns: dict[str, Any] = {}
        if not single:
            columns["class"] = places[0]
        for name in ("N", "Z", "lam"):
            if name in self.parameters:
                columns[name] = np.broadcast_to(self.parameters[name][..., None], shape).ravel()
        columns["station"] = places[-1]
        for name in ("X", "R"):
            value = np.asarray(getattr(self, name))
            columns[name] = np.broadcast_to(value[..., None], shape).ravel()
        for name in ("Q", "U", "residence", "station_X"):
            columns[name] = getattr(self, name).ravel()
        return pd.DataFrame(columns)

    def plot(self, ax: "Axes | None" = None, measure: str = "Q") -> "Axes":
        """Draw a measure of stations: stacked bars by class, or lines over a varying N or Z.

        Parameters
        ----------
        measure : {"Q", "U", "residence"}
        """
        from matplotlib import pyplot as plt

        labels = {
            "Q": "mean number of jobs",
            "U": "utilization",
            "residence": "time at the station per job",
        }
        if measure not in labels:
            raise QueueingError(
                f"measure is {quoted(measure)}; it must be one of {', '.join(labels)}"
            )
        ax = plt.gca() if ax is None else ax
        values = getattr(self, measure)
        if self.parameters["demands"].ndim == 1 and values.ndim > 1:
            self._plot_points(ax, values)
        else:
            _plot_bars(ax, np.atleast_2d(np.nan_to_num(values)))
        ax.set_ylabel(labels[measure])
        return ax

    def _plot_points(self, ax: "Axes", values: Floats) -> None:
        varying = [name for name in ("N", "Z") if np.unique(self.parameters[name]).size > 1]
        if len(varying) != 1 or values.ndim != 2:
            raise QueueingError(
                "plot needs exactly one varying parameter; here "
                f"{' and '.join(varying) or 'none'} vary"
            )
        for station in range(values.shape[-1]):
            ax.plot(self.parameters[varying[0]], values[:, station], label=f"station {station}")
        ax.set_xlabel(varying[0])
        ax.legend()


def solved(
    network: Network, solve: Callable[[NetworkPoint], tuple[Floats, Floats]], words: Exactness
) -> NetworkResult:
    """Solve a network at all points with a function that returns X (R,) and residence (R, K)."""
    if not network.single:
        return collect(network, *solve(network.model(network.N, network.Z)), words)
    X = np.full(network.N.shape, np.nan)
    residence = np.full((*X.shape, network.servers.size), np.nan)
    failures: dict[int, str] = {}
    for number, place in enumerate(np.ndindex(X.shape)):
        if np.isnan(network.N[place]):
            continue
        try:
            rate, time = solve(network.model(network.N[place], network.Z[place]))
        except QueueingError as error:
            failures[number] = str(error)
        else:
            X[place], residence[place] = rate[0], time[0]
    missing(failures, X.shape)
    return collect(network, X, residence, words)


def collect(network: Network, X: Floats, residence: Floats, exactness: Exactness) -> NetworkResult:
    """Return the result of a network from throughputs and residence times."""
    demands = network.demands[0] if network.single else network.demands
    visits = network.visits[0] if network.single else network.visits
    present = (network.N > 0) | np.isnan(network.N)
    each = X[..., None]
    speed = np.where(np.isinf(network.servers), 1.0, network.servers)
    for station, speeds in network.speeds.items():
        speed[station] = speeds[-1]
    parameters = {
        "demands": demands,
        "N": network.N,
        "Z": network.Z,
        "servers": network.servers,
        "speeds": network.speeds,
        "visits": visits,
    }
    residence = np.where(present[..., None], residence, np.nan)
    return NetworkResult(
        X=plain(X),
        R=plain(residence.sum(axis=-1)),
        Q=np.where(present[..., None], each * residence, 0.0),
        U=each * demands / speed,
        residence=residence,
        station_X=each * visits,
        exactness=exactness,
        parameters=parameters,
    )


def _plot_bars(ax: "Axes", values: Floats) -> None:
    stations = np.arange(values.shape[1])
    below = np.zeros(values.shape[1])
    for number, row in enumerate(values):
        ax.bar(stations, row, bottom=below, label=f"class {number}")
        below += row
    ax.set_xticks(stations)
    ax.set_xlabel("station")
    if len(values) > 1:
        ax.legend()
