"""What came out of a simulation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit import metrics
from workloadkit.errors import WorkloadError
from workloadkit.fields import CANCELLED, FAILED
from workloadkit.provenance import as_note, provenance
from workloadkit.simulate.machine import Run
from workloadkit.simulate.workload import Workload
from workloadkit.trace import Header, Trace


@dataclass(frozen=True, eq=False)
class Schedule:
    """When each job of a simulation started and ended, and what made it so.

    Parameters
    ----------
    source : Trace
        The log whose jobs were simulated.
    workload : Workload
        Its jobs as the simulation saw them.
    start : ndarray, shape (n_jobs,)
        Start of each job of `workload`. [s]
    machine : int
        Processors of the machine.
    parameters : mapping of str to object
        What was asked for: scheduler, users, and whatever differs from the defaults.
    columns : mapping of str to array_like of shape (n_jobs,)
        What else the scheduler told of each job, such as its partition.
    history : mapping of str to object
        What the scheduler decided over time.
    warmup, cooldown : float
        Jobs submitted in the first and last such time are left out of the metrics. [s]
    runs : sequence of Run
        With outages: which processors ran which job and when, also in vain, in the order of the
        ends.
    """

    source: Trace
    workload: Workload
    start: NDArray
    machine: int
    parameters: Mapping[str, Any]
    columns: Mapping[str, Any] = field(default_factory=dict)
    history: Mapping[str, Any] = field(default_factory=dict)
    warmup: float = 0.0
    cooldown: float = 0.0
    runs: Sequence[Run] = ()

    @property
    def end(self) -> NDArray:
        """End of each job. [s]."""
        return self.start + self.workload.run

    @property
    def wait(self) -> NDArray:
        """Time that each job waited. [s]."""
        return self.start - self.workload.submit

    @cached_property
    def jobs(self) -> pd.DataFrame:
        """One row a job, in the order of (submit, job number).

        Columns: `job submit start end wait run procs estimate killed response
        bounded_slowdown`; times in seconds, whole numbers where all given times were.
        """
        w = self.workload
        wait, end = self.wait, self.end
        columns = {
            "job": w.job,
            "submit": w.submit,
            "start": self.start,
            "end": end,
            "wait": wait,
            "run": w.run,
            "procs": w.procs,
            "estimate": w.estimate,
            "killed": w.killed,
            "response": end - w.submit,
            "bounded_slowdown": metrics.bounded_slowdown(wait, w.run),
        }
        return pd.DataFrame(columns | dict(self.columns))

    @cached_property
    def counted(self) -> NDArray[np.bool_]:
        """Whether the metrics count a job, shape (n_jobs,): neither warm-up nor cool-down.

        Raises
        ------
        WorkloadError
            If none is counted.
        """
        submit = self.workload.submit
        counted = np.ones(submit.size, dtype=bool)
        if self.warmup > 0:
            counted &= submit >= submit[0] + self.warmup
        if self.cooldown > 0:
            counted &= submit <= submit[-1] - self.cooldown
        if not counted.any():
            raise WorkloadError(
                f"a warm-up of {self.warmup:g} s and a cool-down of {self.cooldown:g} s leave no "
                f"job of {submit[-1] - submit[0]:g} s of submissions"
            )
        return counted

    @cached_property
    def metrics(self) -> dict[str, float]:
        """Aggregates over the jobs that count.

        `jobs left_out killed makespan utilization throughput_per_hour mean_wait median_wait
        mean_response mean_slowdown mean_bounded_slowdown`. Times in seconds. The makespan goes
        from the first submission to the last end of a job that counts; the utilization is that of
        the machine between these two instants, by whichever jobs.

        With outages, also `interrupted`, how often they stopped a job; `lost`, the jobs that ended
        so; and `lost_work`, the processors × seconds of runs that were stopped. The utilization
        counts the last run of each job, and all processors, those that are down, too.
        """
        w, counted = self.workload, self.counted
        submit, run = w.submit[counted], w.run[counted]
        wait, end = self.wait[counted], self.end
        last = float(end[counted].max())
        makespan = metrics.makespan(submit, end[counted])
        busy = metrics.utilization(self.start, end, w.procs, self.machine, float(submit[0]), last)
        return {
            "jobs": int(submit.size),
            "left_out": w.left_out,
            "killed": int(w.killed[counted].sum()),
            "makespan": makespan,
            "utilization": busy,
            "throughput_per_hour": submit.size / makespan * 3600 if makespan > 0 else np.nan,
            "mean_wait": float(wait.mean()),
            "median_wait": float(np.median(wait)),
            "mean_response": float((wait + run).mean()),
            "mean_slowdown": float(metrics.slowdown(wait, run).mean()),
            "mean_bounded_slowdown": float(metrics.bounded_slowdown(wait, run).mean()),
            **self._interruptions,
        }

    @property
    def _interruptions(self) -> dict[str, float]:
        """What outages did to the jobs that count, if there were any."""
        if "interruptions" not in self.columns:
            return {}
        columns = {"interrupted": "interruptions", "lost": "lost", "lost_work": "lost_work"}
        return {k: self.columns[name][self.counted].sum().item() for k, name in columns.items()}

    @property
    def provenance(self) -> dict[str, Any]:
        """What made the schedule."""
        return provenance(self.source, **self.parameters)

    def to_dict(self) -> dict[str, Any]:
        """Return the metrics and the provenance, ready for JSON: None for what is undefined."""
        values = {k: None if v != v else v for k, v in self.metrics.items()}
        return values | {"provenance": self.provenance}

    def trace(self) -> Trace:
        """Return the simulated jobs as a log.

        Submit, wait and run are as simulated, the status of killed jobs and the header's EndTime,
        too; the rest is as it was. Bursts of checkpointed jobs, which tell of the recorded
        execution, are left out. A note in the header says what made the log and what was left out.
        """
        w = self.workload
        taken = self.source.take(w.row)
        status = np.where(w.killed, CANCELLED, taken.column("status"))
        status = np.where(self.columns.get("lost", False), FAILED, status)
        times = {"submit": w.submit, "wait": self.wait, "run": w.run}
        header = self.source.header
        for label in ("MaxJobs", "MaxRecords"):
            if header.get(label) is not None:
                header = header.replaced(label, str(w.row.size))
        if header.get("EndTime") is not None and (end := _date(header, float(self.end.max()))):
            header = header.replaced("EndTime", end)
        header = header.appended(("Note", f"simulated: {as_note(self.provenance)}"))
        if w.left_out:
            header = header.appended(
                ("Note", f"jobs left out of the simulation: {w.left_out} of {self.source.n_jobs}")
            )
        simulated = taken.with_columns(**times, status=status)
        return replace(
            simulated, header=header, bursts=taken.bursts.iloc[:0], digest="", repairs=()
        )


def _date(header: Header, second: float) -> str | None:
    """Write a second of a log as its header does, in local time; None if that is unknown."""
    if not header.start or header.time_zone is None:
        return None
    try:
        date = datetime.fromtimestamp(header.start + second, header.time_zone)
    except (ValueError, OverflowError, OSError):  # beyond all calendars
        return None
    return date.strftime("%a %b %d %H:%M:%S %Z %Y")
