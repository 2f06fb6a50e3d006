"""The results of many simulations: means with intervals, paired comparisons, merged parts."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.display import Displayed, current_axes, unit_of
from workloadkit.errors import ParameterError, WorkloadError, among, plural, quoted
from workloadkit.experiments.grid import AXES, Cell, Grid
from workloadkit.experiments.intervals import mean_interval, ratio_interval
from workloadkit.experiments.results_file import (
    RESULTS,
    Row,
    cell_of,
    made,
    read_file,
    write_results,
)
from workloadkit.provenance import plain
from workloadkit.simulation.schedule.measures import FURTHER, METRICS, PRODUCTIVITY, PROMISES

if TYPE_CHECKING:
    from matplotlib.axes import Axes


#: Metrics that are never negative; utilities and custom metrics may be.
_POSITIVE = {*METRICS, *FURTHER, *PRODUCTIVITY, *PROMISES, "later_than_fcfs"}


@dataclass(frozen=True, eq=False)
class Results(Displayed):
    """Metrics of many simulations.

    Parameters
    ----------
    runs : DataFrame
        One row per simulation: its position on each axis, `log`, `users`, `reading`, `load`,
        `run` and `scheduler`; whether the system was `saturated` (None if the run is too short to
        decide); and a column for each metric.
    metrics : tuple of str
    confidence : float
        Level of the intervals.
    provenance : mapping of str to object
        Origin of the results.
    size : int
        Number of simulations, including those without results.
    calibration : list of dict, optional
        Whether simulations of the logs at their recorded times reproduce the recorded mean wait and
        utilization: `log`, `reading` and `scheduler`, and `Schedule.calibration`.
    of_log : list of dict, optional
        Metrics of the logs themselves, where runs draw weeks of them: the axes without the run, and
        each metric. A log is one workload, so its values can lie outside the intervals of means.
    """

    runs: pd.DataFrame
    metrics: tuple[str, ...]
    confidence: float
    provenance: Mapping[str, Any]
    size: int
    calibration: list[dict[str, Any]] = field(default_factory=list, kw_only=True)
    of_log: list[dict[str, Any]] = field(default_factory=list, kw_only=True)

    @property
    def axes(self) -> list[str]:
        """The axes by which the runs are grouped."""
        return [axis for axis in AXES if axis in self.runs and axis != "run"]

    @property
    def load_title(self) -> str:
        """What the loads are: offered loads, or factors of the number of users."""
        return self._title_of(self.provenance.get("common", {}).get("load_by"))

    @staticmethod
    def _title_of(load_by: str | None) -> str:
        return "users factor" if load_by == "users" else "offered load"

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per group of runs that differ only in their number.

        Columns: the axes; `runs`; for each metric its mean over all runs under its own name, and
        the ends of the mean's interval as `_low` and `_high`, NaN for a single run; the number of
        `saturated` runs (NaN if all are too short to decide); as `_others` the mean over the runs
        that are not saturated, with its interval; and as `_of_log` the value of the log itself,
        where runs draw weeks of it.

        Metrics of a saturated run grow with its length, so the two means are of different kinds:
        that of all runs depends on the length, that of the others is conditional.
        """
        rows = []
        for place, runs in self.runs.groupby(self.axes, sort=False, dropna=False):
            known = runs["saturated"].dropna().astype(np.float64)
            row = {**dict(zip(self.axes, place, strict=True)), "runs": len(runs)}
            row |= self._means(runs)
            row["saturated"] = known.sum() if known.size else np.nan
            others = runs[runs["saturated"] != True]  # noqa: E712  # not None
            row |= self._means(others, "_others")
            if self.of_log:
                known_of = self._values_of_log.get(_key(place), {})
                row |= {f"{name}_of_log": known_of.get(name, np.nan) for name in self.metrics}
            rows.append(row)
        return pd.DataFrame(rows)

    @cached_property
    def _values_of_log(self) -> dict[tuple[Any, ...], dict[str, Any]]:
        """The metrics of the logs themselves, by the axes."""
        return {_key([one[axis] for axis in self.axes]): one for one in self.of_log}

    def plot(self, ax: "Axes | None" = None, *, metric: str | None = None) -> "Axes":
        """Draw the means of a metric, with their intervals.

        Parameters
        ----------
        ax : Axes, optional
            By default the current ones.
        metric : str, optional
            By default the first.

        Raises
        ------
        ParameterError
            If there is no such metric.
        """
        metric = self.metrics[0] if metric is None else metric
        if metric not in self.metrics:
            raise ParameterError("metric", f"is {quoted(metric)}; {among(metric, self.metrics)}")
        ax, table = current_axes(ax), self.table
        varying = [axis for axis in self.axes if table[axis].nunique(dropna=False) > 1]
        by = [axis for axis in varying if axis != "load"] or ["scheduler"]
        unit, size = unit_of(metric), 1
        if unit == "s":  # in the largest unit that the means reach
            largest = table[metric].abs().max()
            unit, size = (
                ("h", 3600) if largest >= 3600 else ("min", 60) if largest >= 60 else ("s", 1)
            )
        for place, rows in table.groupby(by, sort=False, dropna=False):
            name = ", ".join(map(str, place))
            low, mean, high = (rows[f"{metric}{end}"] / size for end in ("_low", "", "_high"))
            x = rows["load"] if "load" in varying else [name] * len(rows)
            ax.errorbar(x, mean, [mean - low, high - mean], marker="o", capsize=3, label=name)
        ax.set_xlabel(self.load_title if "load" in varying else ", ".join(by))
        ax.set_ylabel(metric.replace("_", " ") + (f" [{unit}]" if unit else ""))
        if "load" in varying:
            ax.legend()
        return ax

    def _summary(self) -> str:
        axes = ", ".join(f"{axis}: {self.runs[axis].nunique(dropna=False)}" for axis in self.axes)
        metrics = plural(len(self.metrics), "metric")
        return f"{axes}; {len(self.runs):,} of {plural(self.size, 'run')}, {metrics}"

    def _table(self) -> pd.DataFrame:
        return self.table

    def _means(self, runs: pd.DataFrame, suffix: str = "") -> dict[str, float]:
        """Return the means of some runs, with intervals."""
        found: dict[str, float] = {}
        for name in self.metrics:
            positive = name in _POSITIVE
            interval = mean_interval(runs[name], confidence=self.confidence, positive=positive)
            ends = (f"{name}{suffix}{end}" for end in ("", "_low", "_high"))
            found |= zip(ends, interval, strict=True)
        return found

    @np.errstate(invalid="ignore", over="ignore")  # of infinite values
    def compare(self, metric: str, baseline: str, *, axis: str = "scheduler") -> pd.DataFrame:
        """Compare each name on an axis with a baseline, run by run.

        Run i uses the same random numbers in all simulations, so runs are paired and their common
        variation cancels.

        Parameters
        ----------
        metric : str
        baseline : str
            The name with which the others are compared.
        axis : {"scheduler", "reading", "users"}

        Returns
        -------
        DataFrame
            One row per group and name other than the baseline: the axes; `runs`, the number of
            pairs; the mean `difference` from the baseline; the `ratio` to it, the geometric mean
            over the pairs, if all values are positive; each with the ends of its interval as `_low`
            and `_high`, NaN for a single pair; the number of `saturated` pairs, in which a run of
            either saturates; as `_others` the same of the pairs in which neither does; and as
            `_of_log` difference and ratio in the log itself, where runs draw weeks of it.

        Raises
        ------
        ParameterError
            If the metric, axis or name is unknown.

        Examples
        --------
        >>> runs = {"load": 1.0, "run": [0, 1, 2] * 2, "scheduler": ["fcfs"] * 3 + ["easy"] * 3}
        >>> waits = {"saturated": False, "mean_wait": [10.0, 20.0, 30.0, 5.0, 10.0, 15.0]}
        >>> results = Results(pd.DataFrame(runs | waits), ("mean_wait",), 0.95, {}, 6)
        >>> results.compare("mean_wait", "fcfs")[["scheduler", "difference", "ratio"]]
          scheduler  difference  ratio
        0      easy       -10.0    0.5
        """
        if metric not in self.metrics:
            raise ParameterError("metric", f"is {quoted(metric)}; {among(metric, self.metrics)}")
        if axis not in self.axes or axis in ("log", "load"):
            raise ParameterError(f"axis is {quoted(axis)}; known: scheduler, reading, users")
        names = list(dict.fromkeys(self.runs[axis]))
        if baseline not in names:
            raise ParameterError("baseline", f"is {quoted(baseline)}; {among(baseline, names)}")
        keys = [key for key in AXES if key in self.runs and key != axis]
        values = [*keys, metric, "saturated"]
        against = self.runs.loc[self.runs[axis] == baseline, values]
        others = self.runs.loc[self.runs[axis] != baseline, [*values, axis]]
        pairs = others.merge(against, on=keys, suffixes=("", "_baseline"))
        rows = []
        for place, pair in pairs.groupby(self.axes, sort=False, dropna=False):
            ours, its = (
                pair[column].to_numpy(np.float64) for column in (metric, f"{metric}_baseline")
            )
            saturated = (pair[["saturated", "saturated_baseline"]] == True).any(axis=1).to_numpy()  # noqa: E712
            row = {**dict(zip(self.axes, place, strict=True)), "runs": len(pair)}
            row |= self._differences(ours, its)
            row["saturated"] = int(saturated.sum())
            row |= self._differences(ours[~saturated], its[~saturated], "_others")
            if self.of_log:
                against_at = [baseline if a == axis else row[a] for a in self.axes]
                one, other = (
                    self._values_of_log.get(_key(at), {}).get(metric, np.nan)
                    for at in (place, against_at)
                )
                row["difference_of_log"] = one - other
                row["ratio_of_log"] = one / other if one > 0 and other > 0 else np.nan
            rows.append(row)
        return pd.DataFrame(rows)

    def _differences(self, ours: NDArray, its: NDArray, suffix: str = "") -> dict[str, float]:
        """Return the mean difference and the ratio of some pairs, with intervals."""
        found: dict[str, float] = {}
        for name, interval in (
            ("difference", mean_interval(ours - its, confidence=self.confidence)),
            ("ratio", ratio_interval(ours, its, confidence=self.confidence)),
        ):
            ends = (f"{name}{suffix}{end}" for end in ("", "_low", "_high"))
            found |= zip(ends, interval, strict=True)
        return found

    def to_csv(self) -> str:
        """Return the table as CSV, with full precision."""
        return self.table.to_csv(index=False, lineterminator="\n")

    def to_dict(self) -> dict[str, Any]:
        """Return the table, the runs and the provenance for JSON; the calibration, if known."""
        tables = {"table": self.table.to_dict("records"), "runs": self.runs.to_dict("records")}
        known = {"calibration": self.calibration} if self.calibration else {}
        return plain({**known, **tables, "provenance": self.provenance})


def _key(place: Sequence[Any]) -> tuple[Any, ...]:
    """Return a place on the axes that can be looked up: no load is None, not NaN."""
    return tuple(None if value != value else value for value in place)


# Combine stored results.


def results_of(grid: Grid, rows: Mapping[Cell, Row], confidence: float) -> Results:
    """Return results in the order of the grid."""
    metrics = tuple(grid.common["metrics"])
    ordered = [rows[cell] for cell in grid.cells if cell in rows]
    table = pd.DataFrame(ordered, columns=[*AXES, "saturated", *metrics])
    places = ("log", "reading", "scheduler")
    known = [
        {name: row[name] for name in places} | row["calibration"]
        for row in ordered
        if row["calibration"]
    ]
    of_log = [
        {name: row[name] for name in AXES if name != "run"} | row["of_log"]
        for row in ordered
        if row["of_log"]
    ]
    return Results(
        *(table, metrics, confidence, json.loads(grid.to_json()), grid.size),
        calibration=known,
        of_log=of_log,
    )


def merge_results(
    folders: Sequence[str | os.PathLike[str]],
    into: str | os.PathLike[str] | None = None,
    *,
    confidence: float = 0.95,
) -> Results:
    """Combine the results of `Experiment.run` in several folders, such as those of shards.

    Parameters
    ----------
    folders : sequence of path
        At least one.
    into : path, optional
        A folder for the combined results; created if necessary.
    confidence : float, default 0.95
        Level of the intervals.

    Raises
    ------
    ParameterError
        If the folders have results of different experiments.
    WorkloadError
        If a file cannot be read or written.

    Examples
    --------
    >>> import tempfile
    >>> import workloadkit as wk
    >>> log = wk.load_sample().take(range(50))
    >>> settings = wk.settings.ExperimentSettings(rng=1)
    >>> experiment = wk.Experiment({"sample": log}, ["easy", "fcfs"], settings=settings)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for k in (1, 2):
    ...         _ = experiment.run(f"{folder}/{k}", shard=(k, 2))
    ...     merged = merge_results([f"{folder}/1", f"{folder}/2"])
    >>> merged.table["scheduler"].tolist()
    ['easy', 'fcfs']
    """
    rows: dict[Cell, Row] = {}
    files = [Path(folder) / RESULTS for folder in folders]
    parts = [read_file(file) for file in files]
    if not parts:
        raise ParameterError("no folder given")
    grid = parts[0][0]
    for file, (other, found) in zip(files, parts, strict=True):
        grid.check_contains(other, file)
        other.check_contains(grid, files[0])
        for row in found:
            known = rows.setdefault(cell_of(row), row)
            if not _same(known, row):
                place = ", ".join(
                    f"{name} {value}" for name, value in cell_of(row)._asdict().items()
                )
                raise WorkloadError(f"{file}: results differ from those in another folder: {place}")
    if into is not None:
        with made(Path(into)) as output:
            write_results(output / RESULTS, grid, rows)
    return results_of(grid, rows, confidence)


def _same(row: Row, other: Row) -> bool:
    """Whether two rows of files are equal, with NaN equal to NaN."""
    return repr(row) == repr(other)
