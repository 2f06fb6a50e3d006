"""The result of a simulation of a metasystem: jobs, metrics, events."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workloadkit import __version__, metrics
from workloadkit.display import Displayed
from workloadkit.errors import plural
from workloadkit.metasystem.policies import MetaPolicy
from workloadkit.metasystem.prepared import MetaOutcome, Prepared, PreparedSite
from workloadkit.metasystem.sources import JobSource
from workloadkit.parameters import describe
from workloadkit.provenance import plain
from workloadkit.simulation.engine import Scheduler
from workloadkit.simulation.schedule.notes import identity_of
from workloadkit.simulation.workload import Workload
from workloadkit.trace import Trace

if TYPE_CHECKING:
    import pandas as pd

_HOUR = 3600
_APPLICATIONS = (
    *("meta_scheduler", "application", "submit", "end", "makespan", "critical_path"),
    *("schedule_length_ratio", "moved", "cost"),
)


@dataclass(frozen=True, eq=False)
class MetaSchedule(Displayed):
    """Where and when the jobs of a metasystem ran.

    Parameters
    ----------
    policies : sequence of MetaPolicy
        One for each meta-scheduler.
    served : MetaOutcome
    """

    policies: Sequence[MetaPolicy]
    served: MetaOutcome

    @property
    def prepared(self) -> Prepared:
        """The metasystem with all jobs as they were submitted."""
        return self.served.prepared

    def _summary(self) -> str:
        n_local = sum(start.size for start in self.served.local_starts)
        n_sites, n_meta = len(self.prepared.sites), self.served.site.size
        return f"{plural(n_sites, 'site')}, {n_local:,} local and {plural(n_meta, 'meta job')}"

    def _table(self) -> "pd.DataFrame":
        return self.jobs

    @cached_property
    def jobs(self) -> "pd.DataFrame":
        """The meta jobs, one row each, in the order of (submit, meta-scheduler, job number).

        Columns: `meta_scheduler application task job part user submit home site arrival start end
        wait run procs estimate killed response bounded_slowdown cost cancelled held`. A `task` of
        an application graph has the number of its application, from 1; other jobs have -1. Each
        `part` of a co-allocated job, counted from 0, has a row. `arrival` is when a job can start
        at its site at the earliest; its `wait` is counted from its submission; `cost` is the price
        of the processors for its run time; `cancelled` is the number of requests that were
        cancelled; `held` is how long its processors were held, idle, for other parts. Times in
        seconds.
        """
        import pandas as pd

        jobs, served, sites = self.prepared.jobs, self.served, self.prepared.sites
        names = np.array([each.site.name for each in sites] + [""], dtype=object)
        which = served.site, np.arange(served.site.size)
        run, wait = jobs.run[which], served.start - jobs.submit
        schedulers = np.array([s.name for s in self.prepared.system.meta_schedulers], dtype=object)
        price = np.array([each.site.price for each in sites], np.float64)
        application, task = self.prepared.tasks()
        return pd.DataFrame(
            {
                "meta_scheduler": schedulers[jobs.scheduler] if schedulers.size else [],
                "application": application,
                "task": task,
                "job": jobs.number,
                "part": jobs.part,
                "user": jobs.user,
                "submit": jobs.submit,
                "home": names[jobs.home],
                "site": names[served.site],
                "arrival": jobs.submit + jobs.delay[which],
                "start": served.start,
                "end": served.start + run,
                "wait": wait,
                "run": run,
                "procs": jobs.procs,
                "estimate": jobs.estimate[which],
                "killed": jobs.killed,
                "response": wait + run,
                "bounded_slowdown": metrics.bounded_slowdown(wait, run),
                "cost": price[served.site] * jobs.procs * run / _HOUR,
                "cancelled": served.cancelled,
                "held": served.held,
            }
        )

    @cached_property
    def applications(self) -> "pd.DataFrame":
        """The applications of graphs, one row each, by meta-scheduler and number.

        Columns: `meta_scheduler application submit end makespan critical_path
        schedule_length_ratio moved cost`. The `makespan` is the time from the submission to the
        last end; the `critical_path` is the longest sum of run times along a path of tasks, each on
        the site that runs it fastest, with no waits and nothing to move; the ratio of both is the
        schedule length ratio [1]_. `moved` is the volume that tasks passed to another site. Times
        in seconds, volumes in bytes.

        References
        ----------
        .. [1] H. Topcuoglu, S. Hariri, M.-Y. Wu, "Performance-effective and low-complexity task
           scheduling for heterogeneous computing", IEEE Transactions on Parallel and Distributed
           Systems 13(3), 2002.
        """
        import pandas as pd

        frame, jobs, rows = self.jobs, self.prepared.jobs, []
        at, run = self.served.site, jobs.run
        fastest = np.where(jobs.admitted, run, run.max(initial=0)).min(axis=0)
        for n, each in enumerate(self.prepared.sources):
            graph = each.source.graph
            own = np.flatnonzero(jobs.source == n)
            if graph is None or not own.size:
                continue
            for tasks in own[np.argsort(jobs.place[own])].reshape(-1, len(graph.tasks)):
                of = frame.iloc[tasks]
                submit, end = of["submit"].min(), of["end"].max()
                shortest = graph.critical_path(fastest[tasks])
                moved = sum(
                    volume
                    for i, before in enumerate(graph.before)
                    for j, volume in before
                    if at[tasks[i]] != at[tasks[j]]
                )
                rows.append(
                    {
                        "meta_scheduler": of["meta_scheduler"].iloc[0],
                        "application": of["application"].iloc[0],
                        "submit": submit,
                        "end": end,
                        "makespan": end - submit,
                        "critical_path": shortest,
                        "schedule_length_ratio": (end - submit) / shortest if shortest else np.nan,
                        "moved": moved,
                        "cost": of["cost"].sum(),
                    }
                )
        return pd.DataFrame(rows, columns=_APPLICATIONS)

    def local_jobs(self, site: str) -> "pd.DataFrame":
        """Return the local jobs of a site, one row each, in the order of (submit, job number).

        Columns: `job user submit start end wait run procs estimate killed response
        bounded_slowdown`, and `wait_alone`, the wait without any meta job; NaN for a job that the
        users do not submit then. Times in seconds.
        """
        import pandas as pd

        place = self.prepared.system.place(site)
        each, start = self.prepared.sites[place], self.served.local_starts[place]
        w, wait = each.workload, start - each.workload.submit
        return pd.DataFrame(
            {
                "job": w.job,
                "user": w.user,
                "submit": w.submit,
                "start": start,
                "end": start + w.run,
                "wait": wait,
                "run": w.run,
                "procs": w.procs,
                "estimate": w.estimate,
                "killed": w.killed,
                "response": wait + w.run,
                "bounded_slowdown": metrics.bounded_slowdown(wait, w.run),
                "wait_alone": each.waits_alone(*self._alone[place]),
            }
        )

    @cached_property
    def _alone(self) -> list[tuple[Workload, NDArray]]:
        """Local jobs of each site, and their starts, without meta jobs."""
        return [each.served_alone() for each in self.prepared.sites]

    @cached_property
    def metrics(self) -> dict[str, Any]:
        """Aggregates of meta jobs by meta-scheduler, and of sites.

        Under ``meta_schedulers`` and the name of each: `jobs mean_wait median_wait mean_response
        mean_bounded_slowdown throughput_per_hour cost cancelled`; `held`, the processors × seconds
        that parts of jobs held, idle; and `sites`, the number of its jobs, or parts of them, that
        each site ran. For application graphs there are also `applications`, their number, and
        `mean_makespan mean_critical_path mean_schedule_length_ratio moved`, see `applications`.
        Under ``sites`` and the name of each: `local_jobs meta_jobs
        utilization revenue`, the price of all meta jobs; and of its local jobs `mean_wait
        mean_response mean_bounded_slowdown`, the same without meta jobs as `mean_wait_alone` and so
        on, and `added_wait`, the difference of the mean waits: what meta jobs cost local ones.
        Throughput and utilization are those of the window of the submissions, of a meta-scheduler
        or to a site. Times in seconds; NaN without jobs.
        """
        frame = self.jobs
        return {
            "meta_schedulers": {
                scheduler.name: _served(frame[frame["meta_scheduler"] == scheduler.name])
                | {
                    "sites": {
                        each.site.name: int(
                            (
                                (frame["meta_scheduler"] == scheduler.name)
                                & (frame["site"] == each.site.name)
                            ).sum()
                        )
                        for each in self.prepared.sites
                    }
                }
                | self._of_applications(scheduler.name)
                for scheduler in self.prepared.system.meta_schedulers
            },
            "sites": {each.site.name: self._of_site(each) for each in self.prepared.sites},
        }

    @property
    def calibration(self) -> dict[str, dict[str, Any]]:
        """Whether the sites, simulated on their own, reproduce what their logs record, by site.

        See `Schedule.calibration`, of all jobs of the log at the site. Sites without recorded
        waits, and with users who react, are left out.
        """
        return self.prepared.calibration

    def _of_applications(self, scheduler: str) -> dict[str, Any]:
        """Return the aggregates of the applications of a meta-scheduler; nothing without any."""
        frame = self.applications[self.applications["meta_scheduler"] == scheduler]
        if frame.empty:
            return {}
        names = ("makespan", "critical_path", "schedule_length_ratio")
        means = {f"mean_{name}": _mean(frame[name]) for name in names}
        return {"applications": len(frame), **means, "moved": float(frame["moved"].sum())}

    def _of_site(self, each: PreparedSite) -> dict[str, Any]:
        """Return the aggregates of a site."""
        local, meta = self.local_jobs(each.site.name), self.jobs
        meta = meta[meta["site"] == each.site.name]
        columns = ("submit", "start", "end", "procs")
        submit, start, end, procs = (np.concatenate([local[c], meta[c]]) for c in columns)
        busy = np.nan
        if submit.size:
            window = metrics.submission_window(submit, end)
            busy = metrics.utilization(start, end, procs, each.rules.machine, *window)
        jobs_alone, start_alone = self._alone[self.prepared.system.place(each.site.name)]
        alone = start_alone - jobs_alone.submit
        response_alone = alone + jobs_alone.run
        slowdown_alone = metrics.bounded_slowdown(alone, jobs_alone.run)
        wait, wait_alone = _mean(local["wait"]), _mean(alone)
        return {
            "local_jobs": len(local),
            "meta_jobs": len(meta),
            "utilization": busy,
            "revenue": float(meta["cost"].sum()),
            "mean_wait": wait,
            "mean_response": _mean(local["response"]),
            "mean_bounded_slowdown": _mean(local["bounded_slowdown"]),
            "mean_wait_alone": wait_alone,
            "mean_response_alone": _mean(response_alone),
            "mean_bounded_slowdown_alone": _mean(slowdown_alone),
            "added_wait": wait - wait_alone,
        }

    def events(self, *, share: float = 1.0, rng: Any = 0) -> "pd.DataFrame":
        """Return what happened to jobs, in the order of time; perhaps only to a share of them.

        Columns: `time event job meta_scheduler site`. Events are "submitted" (to a meta-scheduler,
        or of a local job to its site), "arrived" of a meta job at its site, "started" and "ended".
        At equal times ends come first, then submissions, arrivals and starts. Sampling jobs keeps
        a record small that would else be too large [1]_.

        Parameters
        ----------
        share : float, default 1
            Share of the jobs, drawn by `rng`; all events of a drawn job are returned.
        rng : Generator or int, default 0

        References
        ----------
        .. [1] S. J. Chapin et al., JSSPP 1999, sections 3.3 and 3.4.
        """
        from workloadkit.metasystem.site_logs import events_of

        return events_of(self, share, np.random.default_rng(rng))

    def trace(self, site: str) -> Trace:
        """Return the schedule of a site as a log: its local jobs and the meta jobs that it ran.

        Jobs are numbered 1, 2, … by arrival at the site, in one second by their own numbers;
        partition 1 has the local jobs, partition 2 the meta jobs, and the wait of these is counted
        from their arrival.
        """
        from workloadkit.metasystem.site_logs import log_of_site

        return log_of_site(self, site)

    def to_dict(self) -> dict[str, Any]:
        """Return the metrics, the calibration if it is known, and the provenance, for JSON."""
        system = self.prepared.system
        sites = [
            {
                "site": each.site.name,
                "procs": each.rules.machine,
                "machine": None
                if each.machine is None
                else f"{each.machine.name} (sha256 {each.machine.digest})",
                "scheduler": describe(each.policy)
                if not isinstance(each.policy, Scheduler)
                else each.policy.name,
                "log": None if each.trace is None else each.trace.name,
                "sha256": (each.trace.digest or None) if each.trace is not None else None,
                "users": None if each.site.jobs is None else _who(each.site.jobs),
            }
            for each in self.prepared.sites
        ]
        schedulers = [
            {
                "meta_scheduler": scheduler.name,
                "policy": describe(policy),
                "users": [_who(source) for source in scheduler.jobs],
            }
            for scheduler, policy in zip(system.meta_schedulers, self.policies, strict=True)
        ]
        result: dict[str, Any] = plain(
            {
                "jobs": int((self.prepared.jobs.part == 0).sum()),
                "left_out": self.prepared.jobs.left_out,
                **self.metrics,
                **({"calibration": self.calibration} if self.calibration else {}),
                "provenance": {
                    "workloadkit": __version__,
                    "parameters": {
                        "estimates": system.estimates,
                        "overrun": system.overrun,
                        "oversize": system.oversize,
                        "seed": system.seed,
                    },
                    "sites": sites,
                    "meta_schedulers": schedulers,
                },
            }
        )
        return result


def _who(source: JobSource) -> str | None:
    """Return the users of a source, as in a provenance; None for submissions by timestamps."""
    if source.graph is not None:
        return f"graph (sha256 {source.graph.digest})"
    return None if source.behaviour is None else identity_of(source.behaviour)


def _served(frame: "pd.DataFrame") -> dict[str, Any]:
    """Return the aggregates of meta jobs; a co-allocated one ends with its last part."""
    cost, cancelled = float(frame["cost"].sum()), int(frame["cancelled"].sum())
    held = float((frame["held"] * frame["procs"]).sum())
    names = ("submit", "end", "wait", "run", "response", "bounded_slowdown")
    frame = frame.groupby((frame["part"] == 0).cumsum())[[*names]].max()
    n_jobs = len(frame)
    end = frame["end"]
    return {
        "jobs": n_jobs,
        "mean_wait": _mean(frame["wait"]),
        "median_wait": float(frame["wait"].median()) if n_jobs else np.nan,
        "mean_response": _mean(frame["response"]),
        "mean_bounded_slowdown": _mean(frame["bounded_slowdown"]),
        "throughput_per_hour": metrics.throughput_per_hour(
            end, *metrics.submission_window(frame["submit"], end)
        )
        if n_jobs
        else np.nan,
        "cost": cost,
        "cancelled": cancelled,
        "held": held,
    }


def _mean(values: Any) -> float:
    return float(np.mean(values)) if len(values) else np.nan
