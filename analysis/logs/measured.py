"""The measures that a comparison of two logs reports, by day and by job."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from workloadkit import metrics
from workloadkit.analysis.formats import duration, number, share
from workloadkit.analysis.operations.accounting import accounted_jobs, hours_unit
from workloadkit.analysis.operations.groups import PERCENTILES, everyone, waits_of
from workloadkit.analysis.operations.machine import full_days
from workloadkit.analysis.operations.parts import hours
from workloadkit.analysis.operations.tables import efficiency_of
from workloadkit.clock import DAY
from workloadkit.fields import UNKNOWN as NO_USER
from workloadkit.outcomes import WITHOUT_RESULT
from workloadkit.record_fields import PROMISED_START
from workloadkit.trace import Trace

Form = Callable[[float], str]


class Changing(NamedTuple):
    """A measure of both logs: its title, how it is written, and whether it is a share."""

    title: str  # with {hours} for core-hours or CPU-hours
    form: Form
    is_share: bool = False


#: Measures of full days; their mean is compared.
BY_DAY = {
    "jobs": Changing("jobs per day", number),
    "users": Changing("active users per day", number),
    "core_hours": Changing("{hours} per day", hours),
    "gpu_hours": Changing("GPU-hours per day", hours),
    "energy_kwh": Changing("energy per day, kWh", hours),
    "utilization": Changing("utilization", share, is_share=True),
}

#: Measures of jobs.
BY_JOB = {
    "mean": Changing("wait, mean", duration),
    **{
        f"p{p}": Changing(f"wait, {'median' if p == 50 else f'{p}th percentile'}", duration)
        for p in PERCENTILES
    },
    "run": Changing("run time, median", duration),
    "procs": Changing("processors of a job, mean", number),
    "hours_of_job": Changing("{hours} of a job, mean", hours),
    "failed": Changing("jobs without a result", share, is_share=True),
    "lost": Changing("{hours} without a result", share, is_share=True),
    "cpu": Changing("CPU efficiency", share, is_share=True),
    "limit": Changing("used part of the requested time", share, is_share=True),
    "promise_error": Changing("promise error, mean", duration),
    "late": Changing("jobs that start later than promised", share, is_share=True),
}


class MeasuredLog:
    """A log with the measures that are compared: its full days, and the jobs in its window."""

    def __init__(self, trace: Trace) -> None:
        self.trace, self.inside = trace, trace.within_window()
        self.days, self.unit = full_days(trace), hours_unit(trace)
        submit, user = self.inside.column("submit"), self.inside.column("user")
        place = np.searchsorted(self.days["begin"].to_numpy(), submit, side="right") - 1
        known = (place >= 0) & (user != NO_USER)
        if len(self.days):
            known &= submit < self.days["end"].iloc[-1]
        each = pd.DataFrame({"day": place[known], "user": user[known]}).drop_duplicates()
        users = np.bincount(each["day"], minlength=len(self.days)).astype(np.float64)
        self.days["users"] = users if known.any() else np.nan

    @property
    def length(self) -> float:
        """Length of the window. [days]."""
        return self.trace.window.length / DAY

    def of_jobs(self) -> dict[str, tuple[float, int]]:
        """Return the measures `BY_JOB`, each with the number of jobs."""
        jobs = accounted_jobs(self.inside)
        every = everyone(len(jobs))
        waits = {k: v[0] for k, v in waits_of(every, jobs["wait"].to_numpy()).items()}
        used = efficiency_of(every, jobs).iloc[0]
        without = jobs["outcome"].isin(WITHOUT_RESULT).to_numpy()
        n_ended = int((jobs["outcome"] != "unknown").sum())
        work = jobs["core_hours"]
        total = float(work.sum())
        started = int(jobs["started"].sum())
        return {
            **{name: (waits[name], int(waits["waits"])) for name in BY_JOB if name in waits},
            "run": (metrics.percentile(jobs["run"].dropna(), 50), started),
            "procs": (float(jobs.loc[jobs["started"], "procs"].mean()), started),
            "hours_of_job": (float(work.mean()), int(work.notna().sum())),
            "failed": (float(without.mean()) if n_ended else np.nan, n_ended),
            "lost": (
                float(jobs["lost_hours"].sum()) / total if n_ended and total else np.nan,
                n_ended,
            ),
            "cpu": (used["cpu_efficiency"], int(used["cpu_jobs"])),
            "limit": (used["limit_use"], int(used["limit_jobs"])),
            **self._promises(),
        }

    def _promises(self) -> dict[str, tuple[float, int]]:
        """Return the measures of promised against actual starts; NaN without promises."""
        log, error = self.inside, np.empty(0)
        if log.sidecar is not None and PROMISED_START in log.sidecar:
            start = log.column("submit") + log.column("wait")
            error = metrics.promise_error(start, log.column(PROMISED_START))
            error = error[log.ran & ~np.isnan(error)]
        mean, late = (x.mean() if x.size else np.nan for x in (np.abs(error), error > 0))
        return {"promise_error": (float(mean), error.size), "late": (float(late), error.size)}


def unit_of(logs: list[MeasuredLog]) -> str:
    """Return the unit of the hours of both logs; processor-hours if they differ."""
    units = {log.unit for log in logs}
    return units.pop() if len(units) == 1 else "processor-hours"


def without_days(names: list[str], logs: list[MeasuredLog]) -> str:
    """Return which logs have no full day, as a sentence; empty if all have one."""
    short = [name for name, log in zip(names, logs, strict=True) if not len(log.days)]
    if not short:
        return ""
    have = "has" if len(short) == 1 else "have"
    return (
        f"{' and '.join(short)} {have} no full day from midnight to midnight, so hours and jobs "
        "per day are not compared."
    )


def change_of(first: Any, second: Any, *, is_share: bool) -> Any:
    """Return the difference of shares, or the relative change of other measures."""
    if is_share:
        return second - first
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(first == 0, np.nan, np.divide(second - first, first))[()]
