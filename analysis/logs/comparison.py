"""Comparison of logs: measures of each, and distances between their distributions."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.analysis.distributions.marginals import cumulative_shares
from workloadkit.analysis.logs.distributions import (
    DISTRIBUTIONS,
    LogParts,
    kolmogorov_smirnov,
    plot_overlaid,
    sorted_sample,
    wasserstein,
)
from workloadkit.analysis.section import AnalysisResult, Section
from workloadkit.distinct import distinct
from workloadkit.errors import ParameterError, WorkloadError, quoted
from workloadkit.trace import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The compared sections: module of each in `analysis`; tables with rows that are measures, too.
SECTIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "load": ("load.summary", ()),
    "cycles": ("load.cycles", ("days",)),
    "marginals": ("distributions.marginals", ()),
    "fits": ("fits.summary", ("distances",)),
    "accuracy": ("distributions.accuracy", ()),
    "users": ("users", ()),
    "sessions": ("sessions.description", ()),
    "session_methods": ("sessions.methods", ("ways",)),
    "reactions": (
        "reactions.summary",
        ("response_bins", "slowdown_bins", "predictors"),
    ),
    "signature": ("reactions.signature", ()),
    "correlation": ("distributions.correlation", ()),
    "site": ("site", ()),
    "locality": ("locality.summary", ("similarity", "stack_depths", "days")),
    "long_memory": ("memory.summary", ("estimates",)),
}

_MOST_POINTS = 500  # of a drawn curve
_HOURS = 168


@dataclass(frozen=True, eq=False)
class LogComparison(AnalysisResult):
    """Comparison of logs, as returned by `compare`.

    Parameters
    ----------
    names : tuple of str
        Names of the logs; the first is the original that the others are compared with.
    table : DataFrame
        By `measure`, such as "load.utilization", one column per log; NaN if a log lacks the data
        for the measure.
    distances : DataFrame
        One row per distribution and log except the first: `distribution`, `log`, the sample sizes
        `n` and `n_first`, `ks` (Kolmogorov-Smirnov distance) and `wasserstein` (earth mover's
        distance, in standard deviations of the first log).
    curves : dict of str to DataFrame
        By distribution, one column per log: the sorted values by `user`; the cumulative share by
        `value`; or the share of the arrivals by `hour` of the week.
    """

    names: tuple[str, ...]
    table: pd.DataFrame
    distances: pd.DataFrame
    curves: dict[str, pd.DataFrame]

    @property
    def summary(self) -> pd.DataFrame:
        """The first log compared with the range of the others.

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
        """Mean and largest distance of the others from the first log, by `distribution`."""
        groups = self.distances.groupby("distribution", sort=False)[["ks", "wasserstein"]]
        found = groups.agg(["mean", "max"])
        found.columns = pd.Index([f"{name}_{how}" for name, how in found.columns])
        return found

    def plot(self, ax: "Axes | None" = None, *, distribution: str | None = None) -> "Axes":
        """Draw one distribution in all logs, with the first highlighted.

        Parameters
        ----------
        distribution : str, optional
            One of `analysis.logs.distributions.DISTRIBUTIONS`; by default the first with data
            ("jobs_by_user" if the log has users).
        """
        if not self.curves:
            raise WorkloadError("these logs have no jobs, so there are no distributions to draw")
        distribution = distribution or next(iter(self.curves))
        if distribution not in self.curves:
            known = ", ".join(self.curves)
            raise ParameterError(f"unknown distribution {quoted(distribution)}; known: {known}")
        return plot_overlaid(self.curves[distribution], ax, distribution=distribution)


def compare(
    *logs: Trace | Mapping[str, Trace], sections: Iterable[str] = tuple(SECTIONS)
) -> LogComparison:
    """Compare logs on every measure, each within its window.

    For example, the original log and logs resampled from it, as in the validation of resampling
    [1]_.

    Parameters
    ----------
    *logs : Trace, or one mapping of str to Trace
        One log or more, the original first. Without a mapping, logs are called by their own names;
        equal names are numbered.
    sections : iterable of str, optional
        Compared sections, some of `SECTIONS`; fewer take less time.

    Raises
    ------
    ParameterError
        If there is no log, an item is not a Trace, or a section is unknown.

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
        raise ParameterError(f"unknown section {quoted(unknown[0])}; known: {', '.join(SECTIONS)}")
    return combine({name: extract(trace, sections) for name, trace in named.items()})


class ComparedLog(NamedTuple):
    """Measures and distributions of a log, for a comparison.

    Parameters
    ----------
    measures : mapping of str to float
        Numbers by name.
    samples : mapping of str to ndarray of float
        Sorted values by distribution.
    """

    measures: Mapping[str, float]
    samples: Mapping[str, NDArray[np.float64]]


def extract(
    trace: Trace, sections: Iterable[str] = (), distributions: Iterable[str] = tuple(DISTRIBUTIONS)
) -> ComparedLog:
    """Extract what a comparison needs of a log, so that the log itself need not be kept."""
    parts = LogParts(trace.within_window())
    samples = {
        name: sorted_sample(DISTRIBUTIONS[name], parts) if trace.n_jobs else np.empty(0)
        for name in distributions
    }
    return ComparedLog(measures(trace, sections), samples)


def combine(extracted: Mapping[str, ComparedLog]) -> LogComparison:
    """Compare logs from their extracts, by name, the original first."""
    columns = {name: of_log.measures for name, of_log in extracted.items()}
    order = list(dict.fromkeys(measure for column in columns.values() for measure in column))
    table = pd.DataFrame(columns, index=pd.Index(order, name="measure"), dtype=np.float64)
    samples = {name: of_log.samples for name, of_log in extracted.items()}
    curves = {}
    for what in next(iter(samples.values())):
        of_logs = {name: found[what] for name, found in samples.items()}
        if any(values.size for values in of_logs.values()):
            curves[what] = _curves(DISTRIBUTIONS[what].over, of_logs)
    return LogComparison(tuple(extracted), table, _distances(samples), curves)


def measures(trace: Trace, sections: Iterable[str] = tuple(SECTIONS)) -> dict[str, float]:
    """Return every number in the given sections of a report, by name.

    Parameters
    ----------
    sections : iterable of str, optional
        Some of `SECTIONS`.

    Returns
    -------
    dict of str to float
        By section and name, joined with dots.

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
        of = trace if name == "load" else inside  # the section of load treats the window itself
        section = import_module(f"workloadkit.analysis.{SECTIONS[name][0]}").section(of)
        found |= numbers_of(name, section)
    return found


def numbers_of(name: str, section: Section) -> dict[str, float]:
    """Return every number in a section of a report, by name, as `measures` does."""
    numbers = _flat(section.values)
    for table in section.tables:
        if table.name in SECTIONS[name][1]:
            rows = table.data.T.to_dict()
            numbers += _flat({f"{table.name}.{row}": cells for row, cells in rows.items()})
    return {f"{name}.{key}".replace(" ", "_"): value for key, value in numbers}


def _named(logs: Sequence[Trace | Mapping[str, Trace]]) -> dict[str, Trace]:
    """Name the logs."""
    if len(logs) == 1 and isinstance(logs[0], Mapping):
        pairs = [(str(name), trace) for name, trace in logs[0].items()]
    else:
        pairs = [(getattr(trace, "name", ""), trace) for trace in logs]  # type: ignore[misc]
    if not pairs or not all(isinstance(trace, Trace) for _, trace in pairs):
        raise ParameterError("give one Trace or more, or one mapping of names to Traces")
    unique = _numbered([name for name, _ in pairs])
    return dict(zip(unique, (trace for _, trace in pairs), strict=True))


def numbered_names(logs: Sequence[Trace]) -> list[str]:
    """Return the names of logs; equal names are numbered."""
    return _numbered([log.name for log in logs])


def _numbered(names: Sequence[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        number, unique = 1, name
        while unique in found:
            number += 1
            unique = f"{name} ({number})"
        found.append(unique)
    return found


def _flat(values: Mapping[str, Any], before: str = "") -> list[tuple[str, float]]:
    """List the numbers in nested mappings, without interval limits; names are joined with dots."""
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
    """Return the plotted curves of a distribution in each log."""
    if over == "week":
        shares = {
            name: np.bincount(values.astype(np.int64), minlength=_HOURS) / max(values.size, 1)
            for name, values in samples.items()
        }
        return pd.DataFrame(shares, index=pd.RangeIndex(_HOURS, name="hour"))
    if over == "users":
        most = max(values.size for values in samples.values())
        at = distinct(np.linspace(1, most, min(most, _MOST_POINTS)).round().astype(np.int64))
        by_user = {name: np.append(values, np.nan) for name, values in samples.items()}
        return pd.DataFrame(
            {name: values[np.minimum(at - 1, values.size - 1)] for name, values in by_user.items()},
            index=pd.Index(at, name="user"),
        )
    return cumulative_shares(samples, n_points=_MOST_POINTS)
