"""The same metrics of several logs, such as resampled ones: mean, interval and spread."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from workloadkit import __version__
from workloadkit.display import Displayed
from workloadkit.errors import ParameterError, WorkloadError
from workloadkit.experiments.intervals import mean_interval
from workloadkit.provenance import plain
from workloadkit.simulation.schedule.calibration import measured
from workloadkit.trace import Trace, check_trace

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class LogMetrics(Displayed):
    """The metrics of several logs.

    Parameters
    ----------
    logs : DataFrame
        A row for each log: its name and identity, its jobs, and its metrics by the names of
        `Schedule.describe`, NaN where they are unknown. Times in seconds.
    """

    logs: "pd.DataFrame"

    @property
    def summary(self) -> "pd.DataFrame":
        """A row for each metric that some logs have.

        Columns: `metric`; `logs`, of which it is known; `mean` with its 95 % interval, `low` and
        `high`, see `mean_interval`; standard deviation `sd`, `min` and `max` over the logs.
        """
        import pandas as pd

        rows = []
        for name in self.logs.columns.drop(["log", "identity"]):
            values = self.logs[name].to_numpy(np.float64)
            values = values[np.isfinite(values)]
            if values.size:
                interval = mean_interval(values, positive=bool((values >= 0).all()))
                spread = float(values.std(ddof=1)) if values.size > 1 else np.nan
                rows.append((name, values.size, *interval, spread, values.min(), values.max()))
        columns = ["metric", "logs", "mean", "low", "high", "sd", "min", "max"]
        return pd.DataFrame(rows, columns=columns)

    def _table(self) -> "pd.DataFrame":
        return self.summary

    def to_dict(self) -> dict[str, Any]:
        """Return both tables as values for JSON; unknown numbers are None."""
        tables = {"summary": self.summary, "logs": self.logs}
        written: dict[str, Any] = plain(
            {k: table.to_dict("records") for k, table in tables.items()}
        )
        return {"provenance": {"workloadkit": __version__}} | written


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

    rows: list[dict[str, Any]] = []
    for log in logs:
        check_trace(log)
        machine = procs if procs is not None else log.header.procs
        if machine is None:
            raise ParameterError(
                f"{log.name}: the size of the machine is unknown: give it with", "procs"
            )
        about = {"log": log.name, "identity": log.identity}
        rows.append({**about, **measured(log, np.flatnonzero(log.ran), machine)})
    if not rows:
        raise WorkloadError("there is no log to measure")
    return LogMetrics(pd.DataFrame(rows))
