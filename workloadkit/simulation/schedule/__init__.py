"""The result of a simulation."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workloadkit.clock import DAY
from workloadkit.display import Displayed, current_axes
from workloadkit.errors import plural
from workloadkit.provenance import plain, provenance
from workloadkit.record_fields import PROMISED_START
from workloadkit.settings.common import JobUnit
from workloadkit.simulation.machine.plain import Run
from workloadkit.simulation.workload import Workload
from workloadkit.trace import Trace
from workloadkit.units import amounts_of, described_amount, words_of
from workloadkit.utility import value

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from workloadkit.simulation.schedule.measures import Predictions, ServedJobs
    from workloadkit.simulation.schedule.productivity import Productivity
    from workloadkit.simulation.schedule.saturation import Saturation
    from workloadkit.simulation.workload import CancelledJobs


@dataclass(frozen=True, eq=False)
class Schedule(Displayed):
    """Starts and ends of the jobs of a simulation, with its metrics and provenance.

    Parameters
    ----------
    source : Trace
        The log whose jobs were simulated.
    workload : Workload
        Its jobs as simulated.
    start : ndarray, shape (n_jobs,)
        Start of each job of `workload`. [s]
    machine : int
        Processors of the machine.
    parameters : mapping of str to object
        The settings: scheduler, users, and all that differ from the defaults.
    columns : mapping of str to array_like of shape (n_jobs,)
        Further results of the scheduler for each job, such as its partition.
    history : mapping of str to object
        Decisions of the scheduler over time, and counts of users who react; `until` is the end of
        the period in which users submit jobs, if there is one. On a described machine `requests`
        counts the requests of jobs that were assumed, such as unknown memory, or not modelled.
    warmup, cooldown : float
        If either is positive, the metrics exclude jobs submitted outside the log's window, or
        within this time after its first or before its last submission. [s]
    runs : sequence of Run
        With outages: which processors ran which job and when, including stopped runs, in the order
        of the ends. On a machine of nodes: the nodes of each job, and the processors on each, in
        the order of the ends. Without: the runs that a custom scheduler stopped.
    uncounted : sequence of int
        Users whose jobs the metrics exclude.
    unscaled : Trace, optional
        The log before its run times and sizes were scaled, if they were.
    described : object, optional
        The machine, if it has a description.
    cancelled : CancelledJobs, optional
        The jobs that were cancelled while they waited, if they were kept.
    remembered : callable, optional
        Returns what the scheduler remembers before a time [s], if that is more than the running and
        waiting jobs, see `state_at`.
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
    described: Any = None
    cancelled: "CancelledJobs | None" = None
    remembered: Callable[[float], dict[str, Any]] | None = None

    @property
    def unit(self) -> JobUnit:
        """What load and utilization are counted in."""
        unit: JobUnit = self.parameters.get("unit", "procs")
        return unit

    @cached_property
    def held(self) -> NDArray:
        """What each job holds of the `unit`, shape (n_jobs,).

        On a machine of nodes, jobs are placed by their processors whatever the unit; an unknown
        amount counts as 0.
        """
        return self.workload.procs if self.counts_sizes else self._amounts[self.workload.row]

    @property
    def counts_sizes(self) -> bool:
        """Whether the `unit` is that of the sizes by which jobs are placed."""
        return self.unit == self.source.unit

    @property
    def _amounts(self) -> NDArray:
        return np.nan_to_num(amounts_of(self.source, self.unit))

    @property
    def capacity(self) -> int:
        """What the machine has of the `unit`."""
        if self.counts_sizes:
            return self.machine
        return described_amount(self.described.description, self.unit)

    @property
    def end(self) -> NDArray[Any]:
        """End of each job. [s]."""
        return self.start + self.workload.run

    @property
    def wait(self) -> NDArray[Any]:
        """Wait time of each job. [s]."""
        return self.start - self.workload.submit

    @property
    def promised(self) -> NDArray[np.float64] | None:
        """Promised start of each job, shape (n_jobs,); None if the scheduler promises none. [s].

        NaN for a job without a promise; infinite for one that was to start never. Conservative and
        slack-based backfilling promise each job its first reservation. With several reservations,
        a job has a promise if it starts, or is reserved, in the pass of its submission, and no
        outages are ahead then. Jobs inside reservations of a log are promised their begin. The
        schedule `recorded` has the promises in the side-car of its log.
        """
        promised = self.columns.get(PROMISED_START)
        return None if promised is None else np.asarray(promised, np.float64)

    @cached_property
    def utility(self) -> NDArray[np.float64] | None:
        """Earned utility of each job, shape (n_jobs,); None if no job has a utility function.

        The value of its function at its turnaround time, or at its wait if `utility_at` is
        "start"; 0 for a job that was not completed: stopped, killed at its estimate, or lost to an
        outage. NaN for a job without a utility function.
        """
        w = self.workload
        if w.utilities is None:
            return None
        earned = value(w.utilities, self.wait + (w.run if w.utility_at == "turnaround" else 0))
        stopped = w.killed | np.asarray(self.columns.get("lost", False), dtype=bool)
        return np.where(stopped & w.utilities.known, 0.0, earned)

    @cached_property
    def jobs(self) -> "pd.DataFrame":
        """One row per job, in the order of (submit, job number).

        Columns: `job submit start end wait run procs estimate killed response slowdown
        bounded_slowdown`; with a predictor the `limit`, while the estimate is the prediction at the
        arrival, or as renewed until the start; if jobs have utility functions, the earned
        `utility`; and further results of the scheduler. With outages also `interruptions`, whether
        the job was `lost`, and `lost_work`, the processors × seconds of its stopped runs; `start`
        is then the last start. Times in seconds; whole numbers if all given times are whole.
        """
        from workloadkit.simulation.schedule.tables import jobs_table

        return jobs_table(self)

    @cached_property
    def cancelled_jobs(self) -> "pd.DataFrame":
        """One row per job that was cancelled while it waited, if such jobs were kept.

        Columns: `job submit wait procs estimate started`. The wait lasts until the job left the
        queue, or until its start if the scheduler `started` it before.
        """
        from workloadkit.simulation.schedule.tables import cancelled_table

        return cancelled_table(self)

    @cached_property
    def counted(self) -> NDArray[np.bool_]:
        """Whether the metrics include a job, shape (n_jobs,).

        They exclude warm-up, cool-down, the jobs of `uncounted` users, and those that ran already
        in the state with which the simulation began.

        Raises
        ------
        WorkloadError
            If no job is included.
        """
        from workloadkit.simulation.schedule.aggregates import counted_jobs

        return counted_jobs(self)

    @cached_property
    def served(self) -> "ServedJobs":
        """The jobs that the metrics include, with their service."""
        from workloadkit.simulation.schedule.aggregates import served_jobs

        return served_jobs(self)

    @cached_property
    def saturation(self) -> "Saturation":
        """Growth of the waiting work, over all jobs that ran."""
        from workloadkit.simulation.schedule.saturation import saturation

        w = self.workload
        return saturation(w.submit, self.start, w.run, self.held, self.capacity)

    @property
    def offered_load(self) -> float:
        """Work of the jobs / (processors × span of their submissions); NaN without a span."""
        w = self.workload
        span = float(np.ptp(w.submit))
        return float((w.run * self.held).sum()) / (self.capacity * span) if span else np.nan

    @property
    def saturated(self) -> bool | None:
        """Whether the system saturated, see `saturation`; None if that cannot be determined."""
        return self.saturation.saturated

    @property
    def begin(self) -> float | None:
        """The instant of the state with which the simulation began; None without one. [s]."""
        return None if self.workload.begun is None else self.source.header.state_time

    @property
    def span(self) -> tuple[float, float]:
        """First submission, or the `begin`, and last end of the included jobs. [s]."""
        jobs = self.served
        begin = float(jobs.submit[0]) if self.begin is None else self.begin
        return begin, float((jobs.submit + jobs.wait + jobs.run).max())

    @cached_property
    def window(self) -> tuple[float, float]:
        """Begin and end of the window of utilization and throughput. [s].

        It is that of the submissions, see `workloadkit.metrics.submission_window`, of the included
        jobs that were recorded in the log's window. If users submit jobs up to the end of a
        simulated period, it ends there, less the cool-down. It begins with the `begin`, if there is
        one, and ends with the last end then if no job arrives later.
        """
        from workloadkit.simulation.schedule.aggregates import window_of

        return window_of(self)

    @property
    def period(self) -> tuple[float, float]:
        """The `window`, which is the period of `productivity`. [s]."""
        return self.window

    @property
    def predicted(self) -> bool:
        """Whether a predictor planned the jobs."""
        return "predictor" in self.parameters

    @cached_property
    def predictions(self) -> "Predictions":
        """How well the included jobs were predicted, also by user class."""
        from workloadkit.simulation.schedule.measures import measure_predictions

        w, source = self.workload, self.source
        return measure_predictions(w.estimate, w.run, w.user, self.counted, source)

    @property
    def reacting(self) -> bool:
        """Whether users react to the service, instead of submitting at recorded times."""
        return str(self.parameters.get("users", "open")).partition(":")[0] != "open"

    @cached_property
    def productivity(self) -> "Productivity":
        """Productivity of the users, from the included jobs.

        Users of a `site` define their sessions themselves. For all others, sessions are those of
        `workloadkit.delimit_sessions` on the simulated jobs, by arrival.
        """
        from workloadkit.simulation.schedule.aggregates import productivity_of

        return productivity_of(self)

    @property
    def aborted_share(self) -> float:
        """Share of all sessions that users aborted after a response; NaN if not known.

        Only users of a `site` record it. The decisions of other users are in `history`.
        """
        n_sessions = self.history.get("sessions", 0)
        return self.history.get("aborted", np.nan) / n_sessions if n_sessions else np.nan

    @cached_property
    def metrics(self) -> dict[str, float]:
        """Aggregates over the included jobs.

        `jobs left_out killed makespan utilization throughput_per_hour mean_wait median_wait
        mean_response mean_slowdown mean_bounded_slowdown`. Times in seconds. The makespan lasts
        from the first submission to the last end of an included job. Utilization and throughput
        are those of the `window`, which ends with the last submission: the utilization by all jobs,
        the throughput of the included jobs that ended in it.

        With outages also `interrupted`, the number of interruptions; `lost`, the number of lost
        jobs; and `lost_work`, the processors × seconds of stopped runs. The utilization includes
        the last run of each job, relative to all processors, also those that are down.

        If jobs that were cancelled while they waited are kept, also their number `cancelled`. The
        other metrics are those of jobs that ran.

        With a predictor also `prediction_accuracy` and `under_predicted`, see `predictions`.

        If jobs have utility functions, also `aggregate_utility`, the sum of the earned utility.

        If starts are `promised`, also `promised_share`, the share of the jobs with a promise; and
        of these `mean_promise_error`, the mean distance of the start from it; `late_share`, the
        share that started later than promised; `mean_lateness`, the mean time by which they were
        late, 0 for the others.
        """
        from workloadkit.simulation.schedule.aggregates import metrics_of

        return metrics_of(self)

    @cached_property
    def recorded(self) -> dict[str, float]:
        """Recorded service of the included jobs, by names of `describe`; empty if unknown."""
        of_log = not {"population", "state"} & self.parameters.keys()
        if not of_log or self.parameters.get("scheduler") == "recorded":
            return {}
        from workloadkit.simulation.schedule.calibration import as_recorded

        rows = self.workload.row[self.counted]
        held = None if self.counts_sizes else self._amounts
        return as_recorded(self.unscaled or self.source, rows, self.capacity, held)

    @cached_property
    def calibration(self) -> dict[str, Any]:
        """Whether the simulation reproduces the recorded mean wait and utilization of its jobs.

        See `workloadkit.simulation.schedule.calibration`. Empty if nothing is recorded, if users
        react, and if the load, times, sizes or the machine were scaled.
        """
        from workloadkit.simulation.schedule.aggregates import calibration_of

        return calibration_of(self)

    def measure(self, name: str) -> float:
        """Return one of the aggregates of `describe`.

        Raises
        ------
        ParameterError
            If the name is unknown.
        """
        from workloadkit.simulation.schedule.aggregates import measure

        return measure(self, name)

    def describe(self) -> dict[str, float]:
        """Return all aggregates over the included jobs: the metrics, and further ones.

        The 25th, 50th, 75th, 98th and 100th percentiles of `wait`, `expansion_factor` and
        `bounded_slowdown`, as `wait_p25`: the smallest value that at least this percentage of the
        jobs does not exceed. Means of jobs with run times up to one minute (`mean_wait_short`), up
        to ten minutes (`_medium`), and longer (`_long`). `mean_expansion_factor`;
        `mean_queue_length`, the mean over the makespan, which includes kept jobs that were
        cancelled; the `tail`, the time from the end of the window to the last end, and `tail_work`,
        the processors × seconds that all jobs use in it; `makespan_utilization` and
        `makespan_throughput_per_hour`, over the whole makespan, for comparisons with sources that
        define them so (the throughput of users who submit up to the end of a simulated period is
        that of this period); `backlog_growth`, the lasting growth of the waiting work as a share of
        what the machine can serve, NaN in less than three weeks;
        `lee_bounded_slowdown`, the mean without the jobs that `metrics.lee_jobs` excludes;
        `jain_fairness`, Jain's index of the users' mean slowdowns.

        If users react: `users`; `sessions`; `jobs_per_session`; `sessions_per_user`;
        `mean_session_length`; `mean_activity_length` and `median_activity_length`, the time from a
        user's first submission to the last, see `productivity`; and for `site` the
        `aborted_share` of all sessions.

        If jobs have utility functions: `utility_per_proc_hour`, the aggregate utility divided by
        the processors × hours of all included jobs; and earned percentages of the start values, at
        the 25th, 50th, 75th, 98th and 100th percentile from the best, as `earned_p25`: the minimum
        that the best quarter earned; jobs of start value 0 are excluded.
        """
        from workloadkit.simulation.schedule.aggregates import describe

        return describe(self)

    @property
    def provenance(self) -> dict[str, Any]:
        """Version, settings, seed and inputs that made the schedule."""
        return provenance(self.source, **self.parameters)

    def to_dict(self) -> dict[str, Any]:
        """Return all of `describe`, and what else is known of the schedule.

        That is `recorded`, `calibration`, `history`, `predictions` and the provenance, where they
        apply. The result is ready for JSON: None stands for undefined values.
        """
        more: dict[str, Any] = {"recorded": self.recorded, "calibration": self.calibration}
        more["history"] = self.history
        if self.predicted:
            more["predictions"] = self.predictions.classes.to_dict("index")
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
        from workloadkit.simulation.schedule.tables import use_table

        edges, share = use_table(self)
        ax.stairs(share, edges / DAY, baseline=None)
        ax.set_xlabel("time since the log's begin [d]")
        ax.set_ylabel("utilization")
        ax.set_ylim(bottom=0)
        return ax

    def _summary(self) -> str:
        parameters = self.parameters
        users = f", users={str(parameters['users'])!r}" if self.reacting else ""
        machine = plural(self.machine, words_of(self.source).one)
        return (
            f"{self.source.name!r}, scheduler={str(parameters.get('scheduler'))!r}{users}, "
            f"{plural(self.workload.submit.size, 'job')}, {machine}"
        )

    def _table(self) -> "pd.DataFrame":
        return self.jobs

    def trace(self) -> Trace:
        """Return the simulated jobs as a log.

        Submit, wait and run are as simulated, as are the status of killed jobs and the header's
        EndTime. The CPU time follows the run time, as do the columns of the side-car; all other
        fields are unchanged. Bursts of checkpointed jobs and columns of the side-car that describe
        the recorded execution are left out. A note in the header describes the simulation and the
        jobs that were left out. Kept jobs that were cancelled while they waited keep their recorded
        wait and status, so that the result can be simulated again. The side-car contains the
        promised starts, NaN without a finite promise.
        """
        from workloadkit.simulation.schedule.tables import simulated_log

        return simulated_log(self)
