"""What came out of a simulation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit import metrics
from workloadkit.clock import DAY, Clock
from workloadkit.display import Displayed, current_axes
from workloadkit.errors import ParameterError, WorkloadError
from workloadkit.fields import CANCELLED, FAILED
from workloadkit.provenance import as_note, plain, provenance
from workloadkit.simulation.as_recorded import as_recorded
from workloadkit.simulation.machine.plain import Run
from workloadkit.simulation.measures import OF_JOBS, OF_UTILITIES, ServedJobs
from workloadkit.simulation.names import FURTHER, MEASURED, METRICS, PRODUCTIVITY, UTILITY
from workloadkit.simulation.productivity import (
    NAMES,
    Productivity,
    arrival_sessions,
    measure_productivity,
)
from workloadkit.simulation.saturation import Saturation, saturation
from workloadkit.simulation.workload import Workload
from workloadkit.trace import Trace
from workloadkit.utility import start_value, value

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STEPS = 500  # of a figure


@dataclass(frozen=True, eq=False)
class Schedule(Displayed):
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
        What else the scheduler reported of each job, such as its partition.
    history : mapping of str to object
        What the scheduler decided over time, and what users who react tell: `until` is the end of
        the time that they submit jobs in, where there is one.
    warmup, cooldown : float
        Where either is positive, jobs submitted outside the log's window, or so soon after the
        first submission in it, or before the last, are left out of the metrics. [s]
    runs : sequence of Run
        With outages: which processors ran which job and when, also in vain, in the order of the
        ends. Without, what a custom scheduler stopped.
    uncounted : sequence of int
        Users whose jobs are left out of the metrics.
    unscaled : Trace, optional
        The log before its run times and sizes were scaled, where they were.
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
    uncounted: Sequence[int] = ()
    unscaled: Trace | None = None

    @property
    def end(self) -> NDArray:
        """End of each job. [s]."""
        return self.start + self.workload.run

    @property
    def wait(self) -> NDArray:
        """Time that each job waited. [s]."""
        return self.start - self.workload.submit

    @cached_property
    def utility(self) -> NDArray[np.float64] | None:
        """What each job earned, shape (n_jobs,); None where no job has a utility function.

        The value of its function at its turnaround time, or at its wait where `utility_at` is
        "start"; nothing for a job that was stopped, killed at its estimate or lost to an outage:
        it was not completed. NaN for a job without a utility function.
        """
        w = self.workload
        if w.utilities is None:
            return None
        earned = value(w.utilities, self.wait + (w.run if w.utility_at == "turnaround" else 0))
        stopped = w.killed | np.asarray(self.columns.get("lost", False), dtype=bool)
        return np.where(stopped & w.utilities.known, 0.0, earned)

    @cached_property
    def jobs(self) -> pd.DataFrame:
        """One row a job, in the order of (submit, job number).

        Columns: `job submit start end wait run procs estimate killed response slowdown
        bounded_slowdown`; where jobs have utility functions, the `utility` that each earned; and
        what the scheduler reported of each job. With outages also `interruptions`, whether it was
        `lost`, and `lost_work`, the processors × seconds that it ran in vain; `start` is the last
        one then. Times in seconds, whole numbers where all given times were.
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
            "slowdown": metrics.slowdown(wait, w.run),
            "bounded_slowdown": metrics.bounded_slowdown(wait, w.run),
        }
        if self.utility is not None:
            columns["utility"] = self.utility
        return pd.DataFrame(columns | dict(self.columns))

    @cached_property
    def counted(self) -> NDArray[np.bool_]:
        """Whether the metrics count a job, shape (n_jobs,).

        They leave out warm-up, cool-down and the jobs of `uncounted` users.

        Raises
        ------
        WorkloadError
            If none is counted.
        """
        submit = self.workload.submit
        counted = np.ones(submit.size, dtype=bool)
        if self.warmup > 0 or self.cooldown > 0:
            recorded = self.source.column("submit")[self.workload.row]
            inside = submit[self.source.window.contains(recorded)]
            begin, until = inside.min() + self.warmup, inside.max() - self.cooldown
            counted = (submit >= begin) & (submit <= until)
            if not counted.any():
                raise WorkloadError(
                    f"a warm-up of {self.warmup:g} s and a cool-down of {self.cooldown:g} s leave "
                    f"no job of {np.ptp(inside):g} s of submissions"
                )
        if len(self.uncounted):
            counted &= ~np.isin(self.workload.user, self.uncounted)
            if not counted.any():
                raise WorkloadError(
                    f"{self.source.name}: all jobs that would count are of the "
                    f"{len(self.uncounted):,} uncounted users"
                )
        return counted

    @cached_property
    def served(self) -> ServedJobs:
        """The jobs that the metrics count, and how they were served."""
        w, counted = self.workload, self.counted
        requested = self.source.column("requested_time")[w.row]
        requested = np.where(requested >= 0, requested, w.run)  # NaN is not
        nothing = np.broadcast_to(np.nan, w.submit.size)
        jobs = ServedJobs(
            w.submit,
            self.wait,
            w.run,
            requested,
            w.user,
            w.procs,
            utility=nothing if self.utility is None else self.utility,
            start_value=nothing if w.utilities is None else start_value(w.utilities),
        )
        return jobs if counted.all() else jobs.take(counted)

    @cached_property
    def saturation(self) -> Saturation:
        """What became of the work that waited, of all jobs that ran."""
        w = self.workload
        return saturation(w.submit, self.start, w.run, w.procs, self.machine)

    @property
    def saturated(self) -> bool | None:
        """Whether the system saturated, see `saturation`; None if that cannot be determined."""
        return self.saturation.saturated

    @property
    def window(self) -> tuple[float, float]:
        """First submission and last end of the jobs that count. [s]."""
        jobs = self.served
        return float(jobs.submit[0]), float((jobs.submit + jobs.wait + jobs.run).max())

    @property
    def reacting(self) -> bool:
        """Whether users react to what they get, rather than submit jobs at recorded times."""
        return str(self.parameters.get("users", "open")).partition(":")[0] != "open"

    @property
    def period(self) -> tuple[float, float]:
        """Begin and end of the time in which jobs that end count for throughput. [s].

        It is the `window`; where users submit jobs up to the end of a simulated period, it ends
        there, less the cool-down, since then what is left is only worked off.
        """
        begin, last = self.window
        until = self.history.get("until")
        return begin, last if until is None else float(until) - self.cooldown

    @cached_property
    def productivity(self) -> Productivity:
        """What the users got done with the jobs that count.

        Sessions are those that the users themselves tell of, where it is theirs to begin and to
        end one (`site`); else those of `workloadkit.delimit_sessions` on the jobs as simulated,
        by arrival.
        """
        w, counted, jobs = self.workload, self.counted, self.served
        if "sessions" in self.history:
            session = np.asarray(self.columns["session"])
        else:
            session = arrival_sessions(w.submit, w.user)
        clock = Clock.between(self.source.header, float(w.submit[0]), float(self.end.max()))
        return measure_productivity(
            jobs.submit,
            jobs.submit + jobs.wait + jobs.run,
            jobs.user,
            session=session[counted],
            period=self.period,
            clock=clock,
        )

    @property
    def aborted_share(self) -> float:
        """Share of all sessions that users aborted after a response; NaN if none are theirs to.

        Only users of a `site` tell which their sessions are. What others decided is in `history`.
        """
        n_sessions = self.history.get("sessions", 0)
        return self.history.get("aborted", np.nan) / n_sessions if n_sessions else np.nan

    @cached_property
    def metrics(self) -> dict[str, float]:
        """Aggregates over the jobs that count.

        `jobs left_out killed makespan utilization throughput_per_hour mean_wait median_wait
        mean_response mean_slowdown mean_bounded_slowdown`. Times in seconds. The makespan goes
        from the first submission to the last end of a job that counts; the utilization is that of
        the machine between these two instants, by whichever jobs. The throughput counts the jobs
        that ended within the `period`, which is the same time, but ends with a simulated period
        where there is one.

        With outages, also `interrupted`, how often they stopped a job; `lost`, the jobs that ended
        so; and `lost_work`, the processors × seconds of runs that were stopped. The utilization
        counts the last run of each job, and all processors, those that are down, too.

        Where jobs have utility functions, also `aggregate_utility`, the sum of what they earned.
        """
        w, counted, jobs = self.workload, self.counted, self.served
        begin, until = self.window
        n_jobs, makespan = jobs.submit.size, until - begin
        busy = metrics.utilization(self.start, self.end, w.procs, self.machine, begin, until)
        return {
            "jobs": n_jobs,
            "left_out": w.left_out,
            "killed": int(w.killed[counted].sum()),
            "makespan": makespan,
            "utilization": busy,
            "throughput_per_hour": self._throughput,
            **{name: OF_JOBS[name](jobs) for name in MEASURED},
            **self._interruptions,
            **({} if w.utilities is None else {n: OF_UTILITIES[n](jobs) for n in UTILITY}),
        }

    @cached_property
    def recorded(self) -> dict[str, float]:
        """How the site served the jobs that count, by names of `describe`; empty if unknown."""
        if "population" in self.parameters or self.parameters.get("scheduler") == "recorded":
            return {}
        rows = self.workload.row[self.counted]
        return as_recorded(self.unscaled or self.source, rows, self.machine)

    @property
    def _throughput(self) -> float:
        jobs, (begin, until) = self.served, self.period
        ended = int((jobs.submit + jobs.wait + jobs.run <= until).sum())
        return ended / (until - begin) * 3600 if until > begin else np.nan

    @property
    def _interruptions(self) -> dict[str, float]:
        """What outages did to the jobs that count, if there were any."""
        if "interruptions" not in self.columns:
            return {}
        columns = {"interrupted": "interruptions", "lost": "lost", "lost_work": "lost_work"}
        return {k: self.columns[name][self.counted].sum().item() for k, name in columns.items()}

    def measure(self, name: str) -> float:
        """Return one of the aggregates that `describe` lists.

        Raises
        ------
        ParameterError
            If it is not known.
        """
        if name in OF_JOBS:
            return OF_JOBS[name](self.served)
        if name in OF_UTILITIES:
            if self.workload.utilities is None:
                raise WorkloadError(
                    f"{self.source.name}: {name} is of jobs with utility functions, and there are "
                    "none"
                )
            return OF_UTILITIES[name](self.served)
        if name in self.metrics:
            return self.metrics[name]
        if name == "mean_queue_length":
            submit = self.workload.submit
            return metrics.utilization(submit, self.start, np.ones(submit.size), 1, *self.window)
        if name == "backlog_growth":
            return self.saturation.growth
        if name in NAMES:
            return self.productivity.summary[name]
        if name == "aborted_share":
            return self.aborted_share
        known = ", ".join((*METRICS, *FURTHER, *PRODUCTIVITY, *OF_UTILITIES))
        raise ParameterError(f"unknown metric {name!r}; known: {known}")

    def describe(self) -> dict[str, float]:
        """Return all aggregates over the jobs that count: the metrics, and what takes longer.

        The 25th, 50th, 75th, 98th and 100th percentiles of `wait`, `expansion_factor` and
        `bounded_slowdown`, as `wait_p25`: the smallest value that so many percent of the jobs do
        not exceed. Means of jobs that ran a minute at most (`mean_wait_short`), longer but ten at
        most (`_medium`), and longer (`_long`). `mean_expansion_factor`; `mean_queue_length`, the
        mean over the makespan; `backlog_growth`, by what share of what the machine can serve the
        waiting work grows for good, NaN in less than three weeks; `lee_bounded_slowdown`, the mean
        without the jobs that `metrics.lee_jobs` leaves out; `jain_fairness`, Jain's index of the
        users' mean slowdowns.

        Where users react: `users`; `sessions`; `jobs_per_session`; `sessions_per_user`;
        `mean_session_length`; `mean_activity_length` and `median_activity_length`, the time from a
        user's first submission to the last, see `productivity`; and for `site` the
        `aborted_share` of all sessions.

        Where jobs have utility functions: `utility_per_proc_hour`, the aggregate utility by the
        processors × hours of all jobs that count; and what they earned in percent of their start
        values, the 25th, 50th, 75th, 98th and 100th percentile from the best, as `earned_p25`: what
        the best quarter earned at least; jobs of start value 0 are left out.
        """
        names = [*FURTHER]
        if self.workload.utilities is not None:
            names += OF_UTILITIES
        if self.reacting:
            names += NAMES if np.isnan(self.aborted_share) else PRODUCTIVITY
        return self.metrics | {name: self.measure(name) for name in names}

    @property
    def provenance(self) -> dict[str, Any]:
        """What made the schedule."""
        return provenance(self.source, **self.parameters)

    def to_dict(self) -> dict[str, Any]:
        """Return what `describe` does, `recorded` and `history` if there are, and the provenance.

        It is ready for JSON: None stands for what is undefined.
        """
        more = {"recorded": self.recorded, "history": self.history}
        result = self.describe() | {name: what for name, what in more.items() if what}
        return plain(result) | {"provenance": self.provenance}

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the utilization of the machine over time.

        Parameters
        ----------
        ax : Axes, optional
            By default the current ones.
        """
        ax = current_axes(ax)
        time, in_use = metrics.use_over_time(self.start, self.end, self.workload.procs)
        begin, until = float(self.workload.submit[0]), float(self.end.max())
        edges = np.linspace(begin, max(until, begin + 1), _STEPS + 1)
        work = np.concatenate([[0.0], np.cumsum(np.diff(time) * in_use[:-1])])
        share = np.diff(np.interp(edges, time, work)) / np.diff(edges) / self.machine
        ax.stairs(share, edges / DAY, baseline=None)
        ax.set_xlabel("time since the log's begin [d]")
        ax.set_ylabel("utilization")
        ax.set_ylim(bottom=0)
        return ax

    def _summary(self) -> str:
        parameters = self.parameters
        users = f", users={str(parameters['users'])!r}" if self.reacting else ""
        return (
            f"{self.source.name!r}, scheduler={str(parameters.get('scheduler'))!r}{users}, "
            f"{self.workload.submit.size:,} jobs, {self.machine:,} processors"
        )

    def _table(self) -> pd.DataFrame:
        return self.jobs

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
        header = self.source.header.with_jobs(w.row.size, EndTime=float(self.end.max()))
        if "procs" in self.parameters:
            header = header.with_procs(self.machine)
        header = header.appended(("Note", f"simulated: {as_note(self.provenance)}"))
        if w.left_out:
            header = header.appended(
                ("Note", f"jobs left out of the simulation: {w.left_out} of {self.source.n_jobs}")
            )
        simulated = taken.with_columns(**times, status=status)
        return replace(simulated, header=header, bursts=taken.bursts.iloc[:0], repairs=())
