"""Logs side by side: every measure of each, and how far their distributions are apart."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import NDArray

from analysis.distributions.marginals import cumulative_shares
from analysis.logs.distributions import (
    DISTRIBUTIONS,
    LogParts,
    kolmogorov_smirnov,
    sorted_sample,
    wasserstein,
)
from analysis.logs.plots import plot_overlaid
from analysis.section import Result
from workloadkit.errors import ParameterError, WorkloadError
from workloadkit.trace import Trace

#: The sections that are compared, number by number: the module of each, and those of its tables
#: whose rows are measures as well.
SECTIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "load": ("analysis.load.over_time", ()),
    "cycles": ("analysis.load.cycles", ("days",)),
    "marginals": ("analysis.distributions.marginals", ()),
    "fits": ("analysis.fits.summary", ("distances",)),
    "accuracy": ("analysis.distributions.accuracy", ()),
    "users": ("analysis.users.shares", ()),
    "sessions": ("analysis.sessions.description", ()),
    "session_methods": ("analysis.sessions.methods", ("ways",)),
    "reactions": ("analysis.reactions.summary", ("response_bins", "slowdown_bins", "predictors")),
    "signature": ("analysis.reactions.signature", ()),
    "correlation": ("analysis.distributions.correlation", ()),
    "site": ("analysis.site.summary", ()),
    "locality": ("analysis.locality.summary", ("similarity", "stack_depths", "days")),
    "long_memory": ("analysis.memory.summary", ("estimates",)),
}

_MOST_POINTS = 500  # as many as a curve can show
_HOURS = 168


@dataclass(frozen=True, eq=False)
class LogComparison(Result):
    """Logs side by side, as `compare` sets them.

    Parameters
    ----------
    names : tuple of str
        Of the logs; the first is the original that the others are compared with.
    table : DataFrame
        By `measure`, as in "load.utilization", a column for each log; NaN where a log lacks what
        the measure needs.
    distances : DataFrame
        One row for each distribution and log but the first: `distribution`, `log`, the numbers
        of values `n` and `n_first`, `ks` (Kolmogorov and Smirnov's distance) and `wasserstein`
        (earth mover's, in units of the standard deviation in the first log).
    curves : dict of str to DataFrame
        By distribution, a column for each log: by `user`, numbered in the order of their values,
        the value; or by `value` the share that is at most so large; or by `hour` of the week the
        share of the arrivals.
    """

    names: tuple[str, ...]
    table: pd.DataFrame
    distances: pd.DataFrame
    curves: dict[str, pd.DataFrame]

    @property
    def summary(self) -> pd.DataFrame:
        """The first log beside the range of the others.

        Returns
        -------
        DataFrame
            By `measure`: `first`; `mean`, `sd`, `min` and `max` of the others; `within`, whether
            the first lies between these two.
        """
        first, others = self.table.iloc[:, 0], self.table.iloc[:, 1:]
        low, high = others.min(axis=1), others.max(axis=1)
        return pd.DataFrame(
            {
                "first": first,
                "mean": others.mean(axis=1),
                "sd": others.std(axis=1),
                "min": low,
                "max": high,
                "within": (low <= first) & (first <= high),
            }
        )

    @property
    def farthest(self) -> pd.DataFrame:
        """Mean and largest distance of the others from the first, by `distribution`."""
        groups = self.distances.groupby("distribution", sort=False)[["ks", "wasserstein"]]
        found = groups.agg(["mean", "max"])
        found.columns = pd.Index([f"{name}_{how}" for name, how in found.columns])
        return found

    def plot(self, ax: Axes | None = None, *, distribution: str | None = None) -> Axes:
        """Draw one distribution in all logs, the first highlighted.

        Parameters
        ----------
        ax : Axes, optional
            Default: the current Axes.
        distribution : str, optional
            One of `analysis.logs.distributions.DISTRIBUTIONS`; by default the first that is known
            of a log: "jobs_by_user", if it has users.
        """
        if not self.curves:
            raise WorkloadError("these logs have no jobs, so there is nothing to draw")
        distribution = distribution or next(iter(self.curves))
        if distribution not in self.curves:
            known = ", ".join(self.curves)
            raise ParameterError(f"no distribution {distribution!r}; known: {known}")
        return plot_overlaid(self.curves[distribution], ax, distribution=distribution)


def compare(
    *logs: Trace | Mapping[str, Trace], sections: Iterable[str] = tuple(SECTIONS)
) -> LogComparison:
    """Set logs side by side on every measure, each within its window.

    As a validation of resampling does it [1]_: the original first, then those made from it.

    Parameters
    ----------
    *logs : Trace, or one mapping of str to Trace
        One log or more, the original first. Without a mapping each goes by its own name; logs of
        the same name are numbered.
    sections : iterable of str, optional
        The modules whose sections are compared, as in `SECTIONS`; fewer take less time.

    Returns
    -------
    LogComparison

    Raises
    ------
    ParameterError
        If there is no log, something is no log, or a section is not known.

    References
    ----------
    .. [1] N. Zakay, D. G. Feitelson, "Workload resampling for performance evaluation of parallel
       job schedulers", Concurrency and Computation: Practice and Experience 26, 2014, section 5.

    Examples
    --------
    >>> log = {"submit": [0, 60, 9000], "run": [90, 30, 60], "procs": [4, 1, 2], "user": [1, 2, 1]}
    >>> one = Trace.from_columns(log, name="one")
    >>> found = compare(one, one.with_columns(run=[90, 30, 600]), sections=["users"])
    >>> found.table.loc["users.gini_of_work"].round(3).to_dict()
    {'one': 0.441, 'one (2)': 0.481}
    >>> found.farthest.loc[["jobs_by_user", "run"], "ks_max"].round(3).to_dict()
    {'jobs_by_user': 0.0, 'run': 0.333}
    """
    named, sections = _named(logs), list(sections)
    if unknown := [name for name in sections if name not in SECTIONS]:
        raise ParameterError(f"no section {unknown[0]!r}; known: {', '.join(SECTIONS)}")
    return side_by_side({name: look(trace, sections) for name, trace in named.items()})


class Looked(NamedTuple):
    """What is taken from a log to be compared.

    Parameters
    ----------
    measures : mapping of str to float
        Single numbers, by name.
    samples : mapping of str to ndarray of float
        By distribution, its values in ascending order.
    """

    measures: Mapping[str, float]
    samples: Mapping[str, NDArray[np.float64]]


def look(
    trace: Trace, sections: Iterable[str] = (), distributions: Iterable[str] = tuple(DISTRIBUTIONS)
) -> Looked:
    """Take from a log what is compared, so that the log itself need not be kept.

    Parameters
    ----------
    trace : Trace
    sections : iterable of str, optional
        Some of `SECTIONS`.
    distributions : iterable of str, optional
        Some of `analysis.logs.distributions.DISTRIBUTIONS`, by default all.
    """
    parts = LogParts(trace.within_window())
    samples = {
        name: sorted_sample(DISTRIBUTIONS[name], parts) if trace.n_jobs else np.empty(0)
        for name in distributions
    }
    return Looked(measures(trace, sections), samples)


def side_by_side(looked: Mapping[str, Looked]) -> LogComparison:
    """Set logs side by side, as `look` took from each what is compared.

    Parameters
    ----------
    looked : mapping of str to Looked
        By the name of each log, the original first; of all the same distributions.
    """
    columns = {name: of_log.measures for name, of_log in looked.items()}
    order = list(dict.fromkeys(measure for column in columns.values() for measure in column))
    table = pd.DataFrame(columns, index=pd.Index(order, name="measure"), dtype=np.float64)
    samples = {name: of_log.samples for name, of_log in looked.items()}
    curves = {}
    for what in next(iter(samples.values())):
        of_logs = {name: found[what] for name, found in samples.items()}
        if any(values.size for values in of_logs.values()):
            curves[what] = _curves(DISTRIBUTIONS[what].over, of_logs)
    return LogComparison(tuple(looked), table, _distances(samples), curves)


def measures(trace: Trace, sections: Iterable[str] = tuple(SECTIONS)) -> dict[str, float]:
    """Return every single number that sections of the report tell of a log.

    Parameters
    ----------
    trace : Trace
    sections : iterable of str, optional
        Some of `SECTIONS`.

    Returns
    -------
    dict of str to float
        By section and name, joined by dots.

    Examples
    --------
    >>> trace = Trace.from_columns({"submit": [0, 60], "run": [90, 30], "procs": [4, 1]})
    >>> measures(trace, ["load"])["load.work"]
    390.0
    """
    found: dict[str, float] = {}
    inside = trace.within_window()
    for name in sections:
        if not trace.n_jobs:
            continue
        of = trace if name == "load" else inside  # which knows of the window itself
        section = import_module(SECTIONS[name][0]).section(of)
        numbers = _flat(section.values)
        for table in section.tables:
            if table.name in SECTIONS[name][1]:
                rows = table.data.T.to_dict()
                numbers += _flat({f"{table.name}.{row}": cells for row, cells in rows.items()})
        found |= {f"{name}.{key}".replace(" ", "_"): value for key, value in numbers}
    return found


def _named(logs: Sequence[Trace | Mapping[str, Trace]]) -> dict[str, Trace]:
    """Name the logs."""
    if len(logs) == 1 and isinstance(logs[0], Mapping):
        pairs = [(str(name), trace) for name, trace in logs[0].items()]
    else:
        pairs = [(getattr(trace, "name", ""), trace) for trace in logs]  # type: ignore[misc]
    if not pairs or not all(isinstance(trace, Trace) for _, trace in pairs):
        raise ParameterError("give one Trace or more, or one mapping of names to Traces")
    named: dict[str, Trace] = {}
    for name, trace in pairs:
        number, called = 1, name
        while called in named:
            number += 1
            called = f"{name} ({number})"
        named[called] = trace
    return named


def _flat(values: Mapping[str, Any], before: str = "") -> list[tuple[str, float]]:
    """List the numbers in nested mappings, their names joined by dots.

    Words are left out, and so are the limits of intervals, which are no measures of their own.
    """
    found: list[tuple[str, float]] = []
    for name, value in values.items():
        if str(name).endswith(("_low", "_high")) or name in ("low", "high"):
            continue
        if isinstance(value, Mapping):
            found += _flat(value, f"{before}{name}.")
        elif value is None:
            found.append((f"{before}{name}", np.nan))
        elif isinstance(value, int | float | np.number | np.bool_):
            found.append((f"{before}{name}", float(value)))
    return found


def _distances(samples: Mapping[str, Mapping[str, NDArray[np.float64]]]) -> pd.DataFrame:
    first, *others = samples
    rows = []
    for what in samples[first]:
        original = samples[first][what]
        unit = float(original.std()) if original.size else np.nan
        for name in others:
            values = samples[name][what]
            moved = wasserstein(original, values)
            rows.append(
                {
                    "distribution": what,
                    "log": name,
                    "n_first": original.size,
                    "n": values.size,
                    "ks": kolmogorov_smirnov(original, values),
                    "wasserstein": moved / unit if unit > 0 else (np.nan if moved else moved),
                }
            )
    columns = ["distribution", "log", "n_first", "n", "ks", "wasserstein"]
    return pd.DataFrame(rows, columns=columns)


def _curves(over: str, samples: dict[str, NDArray[np.float64]]) -> pd.DataFrame:
    """Return what is drawn of a distribution in each log."""
    if over == "week":
        shares = {
            name: np.bincount(values.astype(np.int64), minlength=_HOURS) / max(values.size, 1)
            for name, values in samples.items()
        }
        return pd.DataFrame(shares, index=pd.RangeIndex(_HOURS, name="hour"))
    if over == "users":
        most = max(values.size for values in samples.values())
        at = np.unique(np.linspace(1, most, min(most, _MOST_POINTS)).round().astype(np.int64))
        by_user = {name: np.append(values, np.nan) for name, values in samples.items()}
        return pd.DataFrame(
            {name: values[np.minimum(at - 1, values.size - 1)] for name, values in by_user.items()},
            index=pd.Index(at, name="user"),
        )
    return cumulative_shares(samples, n_points=_MOST_POINTS)
