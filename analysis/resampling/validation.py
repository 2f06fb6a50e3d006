"""Validation of resampled logs against their original: distributions, locality, memory, load."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from workloadkit.analysis.logs.comparison import LogComparison, combine, extract
from workloadkit.analysis.logs.distributions import plot_overlaid
from workloadkit.analysis.resampling.measures import (
    FIGURE_4,
    FIGURE_5,
    comparable,
    measure_log,
    pox_line,
    published,
)
from workloadkit.analysis.section import AnalysisResult
from workloadkit.errors import ParameterError, check_count, quoted
from workloadkit.provenance import seed_of
from workloadkit.resample.runs import Resampling, own_seed, prepare
from workloadkit.trace import Trace, check_trace
from workloadkit.units import counted_log

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from workloadkit.analysis.resampling.page import ValidationReport

_POINTS = 50  # of a line


@dataclass(frozen=True, eq=False)
class ResamplingValidation(AnalysisResult):
    """Comparison of a log with logs resampled from it, as returned by `validate_resampling`.

    Parameters
    ----------
    source : Trace
        The original, restricted to jobs that can be resampled.
    left_out : int
        Number of other jobs: they never ran, or their user is unknown.
    count : int
        Number of resampled logs.
    seed : int
    how : mapping of str to object
        Parameters of `workloadkit.resample`.
    table : DataFrame
        By `measure` of `analysis.resampling.measures.MEASURES`: the value in the `original`;
        `mean`, `sd`, `low` and `high` (minimum and maximum) over the resampled logs; whether the
        original lies `within` this range; and `published_original`, `published` and `published_sd`
        of the source's eight resampled logs, NaN if not published.
    runs : DataFrame
        By `run`: its `seed`, and one column per measure.
    distributions : LogComparison
        The original, named "original", and the runs "1", "2", …: the distributions of users, of
        the week, and of the daily concentration.
    pox : DataFrame
        By window `size` [s], one column per log: the fitted line of the R/S pox plot.
    version : str
        Version of the log in the source; empty for other logs.
    """

    source: Trace
    left_out: int
    count: int
    seed: int
    how: Mapping[str, Any]
    table: pd.DataFrame
    runs: pd.DataFrame
    distributions: LogComparison
    pox: pd.DataFrame
    version: str

    def plot(self, ax: "Axes | None" = None, *, distribution: str = "jobs_by_user") -> "Axes":
        """Draw a distribution in all logs, with the original highlighted.

        Parameters
        ----------
        distribution : str, default "jobs_by_user"
            One of those in `distributions`.
        """
        curves = self.distributions.curves
        if distribution not in curves:
            raise ParameterError(
                f"unknown distribution {quoted(distribution)}; known: {', '.join(curves)}"
            )
        return plot_overlaid(
            curves[distribution], ax, distribution=distribution, others="resampled"
        )

    def report(self) -> "ValidationReport":
        """Return the report, which has `to_html` and `to_dict`."""
        from workloadkit.analysis.resampling.page import report

        return report(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain Python values."""
        return self.report().to_dict()


def validate_resampling(
    trace: Trace,
    count: int = 8,
    rng: np.random.Generator | int | None = None,
    **how: Any,
) -> ResamplingValidation:
    """Compare a log with logs resampled from it [1]_.

    The original has no jobs that cannot be resampled: jobs that never ran, and jobs of unknown
    users. It keeps the users that the pools omit at the ends of the log.

    Parameters
    ----------
    trace : Trace
    count : int, default 8
        Number of resampled logs, at least 1.
    rng : Generator or int, optional
        Run i is equal to run i of ``workloadkit.resamples(trace, count, rng=rng, **how)``.
    **how
        Parameters of `workloadkit.resample`.

    Raises
    ------
    ParameterError
        See `workloadkit.resample`.
    WorkloadError
        See `workloadkit.resample`.

    Warns
    -----
    WorkloadWarning
        See `workloadkit.resample`.

    References
    ----------
    .. [1] N. Zakay, D. G. Feitelson, "Workload resampling for performance evaluation of parallel
       job schedulers", Concurrency and Computation: Practice and Experience 26, 2014, section 5.

    Examples
    --------
    >>> import workloadkit as wk
    >>> log = wk.load_sample()
    >>> found = validate_resampling(log.select(log.ran), 3, rng=1)
    >>> row = found.table.loc["stack_depth_run"]
    >>> float(round(row["original"], 2)), bool(row["within"])
    (44.36, True)
    """
    check_trace(trace)
    n_runs = check_count("count", count, least=1)
    return validate(trace, prepare(trace, **how), n_runs, seed_of(rng))


def validate(trace: Trace, resampling: Resampling, count: int, seed: int) -> ResamplingValidation:
    """Compare a log with the first runs of a prepared resampling, see `validate_resampling`."""
    original = comparable(counted := counted_log(trace, resampling.settings))
    extracts, rows, lines = {}, {}, {}

    def logs() -> Iterator[tuple[str, Trace]]:
        yield "original", original
        for i in range(count):
            yield str(i + 1), resampling.run_of(i, seed)

    for name, log in logs():
        extracts[name] = extract(log, distributions=(*FIGURE_4, *FIGURE_5))
        rows[name] = measure_log(log)
        lines[name] = pox_line(log)
    table = pd.DataFrame.from_dict(rows, orient="index")
    runs = table.iloc[1:].rename_axis("run")
    runs.insert(0, "seed", [own_seed(seed, i) for i in range(count)])
    version, figures = published(trace.name) if counted.counting is None else ("", {})
    return ResamplingValidation(
        original,
        counted.n_jobs - original.n_jobs,
        count,
        seed,
        resampling.parameters,
        compare_measures(table, figures),
        runs,
        combine(extracts),
        _on_one_scale(lines),
        version,
    )


def compare_measures(
    measures: pd.DataFrame, figures: Mapping[str, Mapping[str, float]] | None = None
) -> pd.DataFrame:
    """Compare the measures of the original (first row) with those of the other logs.

    `figures` are published values by measure; see `ResamplingValidation.table`.

    Examples
    --------
    >>> found = compare_measures(pd.DataFrame({"jobs": [10, 8, 12]}))
    >>> found.loc["jobs", ["original", "mean", "low", "high"]].astype(float).to_list()
    [10.0, 10.0, 8.0, 12.0]
    """
    measures = measures.astype(np.float64)
    original, others = measures.iloc[0], measures.iloc[1:]
    low, high = others.min(), others.max()
    table = pd.DataFrame(
        {
            "original": original,
            "mean": others.mean(),
            "sd": others.std(),
            "low": low,
            "high": high,
            "within": (low <= original) & (original <= high),
        }
    )
    columns = ["published_original", "published", "published_sd"]
    known = pd.DataFrame.from_dict(figures or {}, orient="index", columns=columns)
    return table.join(known.astype(np.float64)).rename_axis("measure")


def _on_one_scale(lines: Mapping[str, pd.Series | None]) -> pd.DataFrame:
    """Evaluate straight lines in logarithmic coordinates at common points."""
    known = {name: line for name, line in lines.items() if line is not None}
    if not known:
        return pd.DataFrame(index=pd.Index([], name="size", dtype=np.float64))
    ends = [(line.index[0], line.index[-1]) for line in known.values()]
    size = np.geomspace(min(low for low, _ in ends), max(high for _, high in ends), _POINTS)
    columns = {}
    for name, line in known.items():
        x, y = np.log(line.index.to_numpy()[[0, -1]]), np.log(line.to_numpy()[[0, -1]])
        height = np.exp(y[0] + (np.log(size) - x[0]) * (y[1] - y[0]) / (x[1] - x[0]))
        columns[name] = np.where((size >= line.index[0]) & (size <= line.index[-1]), height, np.nan)
    return pd.DataFrame(columns, pd.Index(size, name="size"))
