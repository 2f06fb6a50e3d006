"""Means, medians and shares of independent runs, with confidence intervals."""

import math
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from workloadkit import __version__
from workloadkit.display import Displayed
from workloadkit.errors import ParameterError, WorkloadError, WorkloadWarning, plural
from workloadkit.provenance import operations, plain
from workloadkit.simulation.schedule.calibration import measured
from workloadkit.simulation.schedule.notes import scheduler_of
from workloadkit.trace import Trace, check_trace

if TYPE_CHECKING:
    import pandas as pd


@np.errstate(over="ignore", invalid="ignore")  # an infinite value gives an infinite mean
def mean_interval(
    values: ArrayLike, *, confidence: float = 0.95, positive: bool = False
) -> tuple[float, float, float]:
    """Mean of independent values with its interval by Student's t.

    All means over runs in the toolkit have this interval.

    Parameters
    ----------
    values : array_like, shape (n,)
        One value per run, or differences of paired runs.
    confidence : float, default 0.95
        Probability with which such intervals contain the mean.
    positive : bool, default False
        Whether the quantity is never negative, such as a wait. The interval is then that of the
        logarithm of the mean, the standard error of which is that of the mean divided by the mean:
        it is positive, and longer above the mean, where such quantities have their tails. For mean
        waits in resampled weeks of two logs, such 95 % intervals contained the mean in 87 to 94 %
        of all cases with 3 to 20 runs (82 to 92 % without).

    Returns
    -------
    mean, low, high : float
        NaN without values; no interval (NaN) for fewer than two.

    Raises
    ------
    ParameterError
        If the confidence is not between 0 and 1.

    Examples
    --------
    >>> [round(x, 3) for x in mean_interval([1, 2, 3, 4])]
    [2.5, 0.446, 4.554]
    >>> [round(x, 3) for x in mean_interval([1, 2, 3, 4], positive=True)]
    [2.5, 1.099, 5.686]
    """
    values = np.asarray(values, dtype=np.float64)
    mean = float(values.mean()) if values.size else np.nan
    if values.size < 2:
        return mean, np.nan, np.nan
    error = float(values.std(ddof=1)) / math.sqrt(values.size)
    half = student_t(confidence, values.size - 1) * error
    if positive and mean > 0:
        factor = math.exp(half / mean)
        return mean, mean / factor, mean * factor
    return mean, mean - half, mean + half


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def ratio_interval(
    values: ArrayLike, others: ArrayLike, *, confidence: float = 0.95
) -> tuple[float, float, float]:
    """Geometric mean of the ratios of pairs, with its interval by Student's t on the logarithms.

    Parameters
    ----------
    values, others : array_like, shape (n,)
        The pairs are independent.
    confidence : float, default 0.95
        As in `mean_interval`.

    Returns
    -------
    ratio, low, high : float
        NaN if a value is not positive; no interval for fewer than two pairs.

    Examples
    --------
    >>> [round(x, 3) for x in ratio_interval([1, 2, 3], [2, 4, 12])]
    [0.397, 0.147, 1.072]
    """
    values, others = np.asarray(values, np.float64), np.asarray(others, np.float64)
    if not ((values > 0) & (others > 0)).all():
        return np.nan, np.nan, np.nan
    ratio, low, high = np.exp(mean_interval(np.log(values / others), confidence=confidence))
    return float(ratio), float(low), float(high)


def median_interval(values: ArrayLike) -> tuple[float, float, float]:
    """Median of independent values with its 95 % interval by order statistics, for six or more.

    Parameters
    ----------
    values : array_like, shape (n,)

    Returns
    -------
    median, low, high : float
        The innermost values between which the median lies with a probability of at least 95 %.

    Examples
    --------
    >>> median_interval([3, 1, 2, 5, 4, 6])
    (3.5, 1.0, 6.0)
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    n = ordered.size
    outside = np.cumsum(
        [math.comb(n, i) / 2**n for i in range(n // 2)]
    )  # probabilities on one side
    place = int((outside <= 0.025).sum()) - 1
    median = float(np.median(ordered)) if n else np.nan
    if place < 0:
        return median, np.nan, np.nan
    return median, float(ordered[place]), float(ordered[n - 1 - place])


def share_interval(n: int, of: int) -> tuple[float, float, float]:
    """Share of successes in independent trials, with its 95 % interval by Wilson [1]_.

    Parameters
    ----------
    n, of : int
        Number of successes, and of trials.

    Returns
    -------
    share, low, high : float
        NaN without trials.

    References
    ----------
    .. [1] E. B. Wilson, "Probable inference, the law of succession, and statistical inference",
       Journal of the American Statistical Association 22, 1927.

    Examples
    --------
    >>> [round(x, 3) for x in share_interval(9, 10)]
    [0.9, 0.596, 0.982]
    """
    if not of:
        return np.nan, np.nan, np.nan
    z, p = 1.959963984540054, n / of
    centre, width = p + z * z / (2 * of), z * math.sqrt(p * (1 - p) / of + (z / (2 * of)) ** 2)
    low, high = (centre - width) / (1 + z * z / of), (centre + width) / (1 + z * z / of)
    return p, low, high


def student_t(confidence: float, freedom: int) -> float:
    """Return the two-sided quantile of Student's t: P(|T| > t) = 1 − confidence.

    Parameters
    ----------
    confidence : float
        Between 0 and 1.
    freedom : int
        Degrees of freedom, 1 or more.

    Examples
    --------
    >>> [round(student_t(0.95, n), 3) for n in (1, 2, 9, 10, 1000)]
    [12.706, 4.303, 2.262, 2.228, 1.962]
    """
    from scipy.special import stdtrit

    if not (0 < confidence < 1 and freedom >= 1):
        raise ParameterError(
            f"confidence is {confidence} with {freedom} degrees of freedom; it must be from 0 "
            "to 1, with at least 1 degree"
        )
    return float(stdtrit(freedom, (1 + confidence) / 2))


# The same metrics of several logs, such as resampled ones: mean, interval and spread.


@dataclass(frozen=True, eq=False)
class LogMetrics(Displayed):
    """The metrics of several logs.

    Parameters
    ----------
    logs : DataFrame
        A row for each log: its name and identity, the `scheduler` that its header records (empty
        if none), its jobs, and its metrics by the names of `Schedule.describe`, NaN where they are
        unknown. Times in seconds.
    copied_waits : int
        Number of logs that were resampled, but not simulated: their waits are those of the record.
    """

    logs: "pd.DataFrame"
    copied_waits: int = 0

    @property
    def summary(self) -> "pd.DataFrame":
        """A row for each metric that some logs have.

        Columns: `metric`; `logs`, of which it is known; `mean` with its 95 % interval, `low` and
        `high`, see `mean_interval`; standard deviation `sd`, `min` and `max` over the logs.
        """
        import pandas as pd

        rows = []
        for name in self.logs.columns.drop(["log", "identity", "scheduler"]):
            values = self.logs[name].to_numpy(np.float64)
            values = values[np.isfinite(values)]
            if values.size:
                interval = mean_interval(values, positive=bool((values >= 0).all()))
                spread = float(values.std(ddof=1)) if values.size > 1 else np.nan
                rows.append((name, values.size, *interval, spread, values.min(), values.max()))
        columns = ["metric", "logs", "mean", "low", "high", "sd", "min", "max"]
        return pd.DataFrame(rows, columns=columns)

    def by_scheduler(self) -> dict[str, "LogMetrics"]:
        """Return the logs of each recorded scheduler, as a sample of their own."""
        groups = self.logs.groupby("scheduler", sort=False)
        return {str(name): replace(self, logs=logs) for name, logs in groups}

    def differences_from(self, baseline: "LogMetrics") -> "pd.DataFrame":
        """Compare with another sample, such as the same logs under another scheduler.

        Parameters
        ----------
        baseline : LogMetrics
            Its logs and these are paired by name.

        Returns
        -------
        DataFrame
            A row for each metric that both have of some pair: `metric`; `pairs`; the mean
            `difference` with its 95 % interval, `low` and `high`. Without pairs, no rows.

        Examples
        --------
        >>> import pandas as pd
        >>> logs = {"log": ["1.swf", "2.swf"], "identity": "", "scheduler": "easy"}
        >>> easy = LogMetrics(pd.DataFrame(logs | {"mean_wait": [50.0, 90.0]}))
        >>> fcfs = LogMetrics(pd.DataFrame(logs | {"mean_wait": [70.0, 112.0]}))
        >>> fcfs.differences_from(easy)[["metric", "pairs", "difference"]]
              metric  pairs  difference
        0  mean_wait      2        21.0
        """
        import pandas as pd

        pairs = self.logs.merge(baseline.logs, on="log", suffixes=("", " of the baseline"))
        rows = []
        for name in self.logs.columns.drop(["log", "identity", "scheduler"]):
            if name in baseline.logs:
                values = (pairs[name] - pairs[f"{name} of the baseline"]).to_numpy(np.float64)
                values = values[np.isfinite(values)]
                if values.size:
                    rows.append((name, values.size, *mean_interval(values)))
        return pd.DataFrame(rows, columns=["metric", "pairs", "difference", "low", "high"])

    def _table(self) -> "pd.DataFrame":
        return self.summary

    def to_dict(self) -> dict[str, Any]:
        """Return both tables as values for JSON; unknown numbers are None."""
        tables = {"summary": self.summary, "logs": self.logs}
        written: dict[str, Any] = plain(
            {k: table.to_dict("records") for k, table in tables.items()}
        )
        made = {"provenance": {"workloadkit": __version__}, "copied_waits": self.copied_waits}
        return made | written


def metrics_of_logs(logs: Iterable[Trace], *, procs: int | None = None) -> LogMetrics:
    """Measure how the jobs of several logs were served, by their waits.

    Parameters
    ----------
    logs : iterable of Trace
        Read one after the other: simulated, resampled or recorded ones. Jobs that never ran and
        those of unknown wait are left out.
    procs : int, optional
        Processors of the machine; by default those of each log's header.

    Raises
    ------
    WorkloadError
        If there is no log, or the size of the machine of one is unknown.

    Examples
    --------
    >>> import workloadkit as wk
    >>> log = wk.load_sample()
    >>> schedules = (wk.simulate(log, scheduler) for scheduler in ("fcfs", "easy"))
    >>> found = metrics_of_logs(schedule.trace() for schedule in schedules)
    >>> found.logs["mean_wait"].round().tolist()
    [51585.0, 16883.0]
    """
    import pandas as pd

    from workloadkit.simulation.schedule.saturation import saturation

    rows: list[dict[str, Any]] = []
    copied = 0
    saturated: Counter[str] = Counter()
    for log in logs:
        check_trace(log)
        machine = procs if procs is not None else log.header.procs
        if machine is None:
            raise ParameterError(
                f"{log.name}: the size of the machine is unknown: give it with", "procs"
            )
        about = {"log": log.name, "identity": log.identity, "scheduler": scheduler_of(log)}
        rows.append({**about, **measured(log, np.flatnonzero(log.ran), machine)})
        made = operations(log.header)
        if is_simulated := made[-1:] == ["simulated"]:
            ran = log.take(np.flatnonzero(log.ran))
            submit, wait, run = (ran.column(name) for name in ("submit", "wait", "run"))
            found = saturation(submit, submit + wait, run, ran.used_procs, machine)
            saturated[about["scheduler"]] += bool(found.saturated)
        copied += "resampled" in made and not is_simulated
    if not rows:
        raise WorkloadError("there is no log to measure")
    if copied:
        warnings.warn(
            f"{plural(copied, 'log')} of {len(rows):,} are resampled and not simulated: their "
            "waits are copies of the record, so waits, responses, slowdowns and utilization are "
            "not those of the new logs; simulate them first",
            WorkloadWarning,
            stacklevel=2,
        )
    where = {f" under {scheduler}": n for scheduler, n in saturated.items() if n}
    warn_of_saturation(where, len(rows), stacklevel=3)
    return LogMetrics(pd.DataFrame(rows), copied)


def warn_of_saturation(where: Mapping[str, int], n_runs: int, stacklevel: int) -> None:
    """Warn of saturated simulations, given the numbers of them by load and scheduler."""
    if where:
        warnings.warn(
            f"{sum(where.values()):,} of {plural(n_runs, 'simulation')} saturate; their metrics "
            f"grow with the length of the run: {', '.join(f'{n}{x}' for x, n in where.items())}",
            WorkloadWarning,
            stacklevel=stacklevel + 1,
        )
