"""Results of models of closed networks."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from workloadkit.queueing.arguments import Floats, Value, missing, plain
from workloadkit.queueing.display import DisplayedResult
from workloadkit.queueing.errors import QueueingError, quoted
from workloadkit.queueing.networks.model import Network, NetworkPoint
from workloadkit.queueing.result import Exactness

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


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
        ax : Axes, optional
            Default: the current Axes.
        measure : {"Q", "U", "residence"}

        Returns
        -------
        Axes
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
