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
from workloadkit.header import Header
from workloadkit.metasystem.jobs import Prepared, PreparedSite
from workloadkit.metasystem.plain import Served
from workloadkit.metasystem.policies import MetaPolicy
from workloadkit.parameters import describe
from workloadkit.provenance import plain
from workloadkit.simulation.engine import Scheduler
from workloadkit.simulation.engines import play_log_compiled, play_plain
from workloadkit.simulation.users.open import OpenUsers
from workloadkit.trace import Trace

if TYPE_CHECKING:
    import pandas as pd

_HOUR = 3600
#: Partitions in the logs of sites.
_LOCAL, _META = 1, 2


@dataclass(frozen=True, eq=False)
class MetaSchedule(Displayed):
    """Where and when the jobs of a metasystem ran.

    Parameters
    ----------
    prepared : Prepared
        The metasystem with all of its jobs.
    policies : sequence of MetaPolicy
        One for each meta-scheduler.
    served : Served
    """

    prepared: Prepared
    policies: Sequence[MetaPolicy]
    served: Served

    def _summary(self) -> str:
        n_local = sum(start.size for start in self.served.local_starts)
        n_sites, n_meta = len(self.prepared.sites), self.served.site.size
        return f"{plural(n_sites, 'site')}, {n_local:,} local and {plural(n_meta, 'meta job')}"

    def _table(self) -> "pd.DataFrame":
        return self.jobs

    @cached_property
    def jobs(self) -> "pd.DataFrame":
        """The meta jobs, one row each, in the order of (submit, meta-scheduler, job number).

        Columns: `meta_scheduler job part user submit home site arrival start end wait run procs
        estimate killed response bounded_slowdown cost cancelled held`. Each `part` of a
        co-allocated job, counted from 0, has a row. `arrival` is when a job can start at its site
        at the earliest; its `wait` is counted from its submission; `cost` is the price of the
        processors for its run time; `cancelled` is the number of requests that were cancelled;
        `held` is how long its processors were held, idle, for other parts. Times in seconds.
        """
        import pandas as pd

        jobs, served, sites = self.prepared.jobs, self.served, self.prepared.sites
        names = np.array([each.site.name for each in sites] + [""], dtype=object)
        which = served.site, np.arange(served.site.size)
        run, wait = jobs.run[which], served.start - jobs.submit
        schedulers = np.array([s.name for s in self.prepared.system.meta_schedulers], dtype=object)
        price = np.array([each.site.price for each in sites], np.float64)
        return pd.DataFrame(
            {
                "meta_scheduler": schedulers[jobs.scheduler] if schedulers.size else [],
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

    def local_jobs(self, site: str) -> "pd.DataFrame":
        """Return the local jobs of a site, one row each, in the order of (submit, job number).

        Columns: `job user submit start end wait run procs estimate killed response
        bounded_slowdown`, and `wait_alone`, the wait without any meta job. Times in seconds.
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
                "wait_alone": self._alone[place] - w.submit,
            }
        )

    @cached_property
    def _alone(self) -> list[NDArray]:
        """Starts of the local jobs of each site without meta jobs."""
        return [*map(_starts_alone, self.prepared.sites)]

    @cached_property
    def metrics(self) -> dict[str, Any]:
        """Aggregates of meta jobs by meta-scheduler, and of sites.

        Under ``meta_schedulers`` and the name of each: `jobs mean_wait median_wait mean_response
        mean_bounded_slowdown throughput_per_hour cost cancelled`; `held`, the processors × seconds
        that parts of jobs held, idle; and `sites`, the number of its jobs, or parts of them, that
        each site ran. Under ``sites`` and the name of each: `local_jobs meta_jobs
        utilization revenue`, the price of all meta jobs; and of its local jobs `mean_wait
        mean_response mean_bounded_slowdown`, the same without meta jobs as `mean_wait_alone` and so
        on, and `added_wait`, the difference of the mean waits: what meta jobs cost local ones.
        Times in seconds; NaN without jobs.
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
                for scheduler in self.prepared.system.meta_schedulers
            },
            "sites": {each.site.name: self._of_site(each) for each in self.prepared.sites},
        }

    def _of_site(self, each: PreparedSite) -> dict[str, Any]:
        """Return the aggregates of a site."""
        local, meta = self.local_jobs(each.site.name), self.jobs
        meta = meta[meta["site"] == each.site.name]
        columns = ("submit", "start", "end", "procs")
        submit, start, end, procs = (np.concatenate([local[c], meta[c]]) for c in columns)
        busy = np.nan
        if submit.size and end.max() > submit.min():
            machine, period = each.rules.machine, (float(submit.min()), float(end.max()))
            busy = metrics.utilization(start, end, procs, machine, *period)
        alone = local["wait_alone"].to_numpy()
        response_alone = alone + local["run"].to_numpy()
        slowdown_alone = metrics.bounded_slowdown(alone, local["run"])
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
        import pandas as pd

        meta = self.jobs.assign(kind="meta")
        tables = [meta] + [
            self.local_jobs(each.site.name).assign(
                site=each.site.name, meta_scheduler="", kind="local"
            )
            for each in self.prepared.sites
        ]
        every = pd.concat([table for table in tables if len(table)] or tables, ignore_index=True)
        if share < 1:
            every = every[np.random.default_rng(rng).random(len(every)) < share]
        columns = {"ended": "end", "submitted": "submit", "arrived": "arrival", "started": "start"}
        parts = []
        for event, column in columns.items():
            of = every if event != "arrived" else every[every["kind"] == "meta"]
            part = of[["job", "meta_scheduler", "site"]].copy()
            if event == "submitted":
                part["site"] = part["site"].where(of["kind"] == "local", "")
            part.insert(0, "time", of[column].astype(self.served.start.dtype))
            part.insert(1, "event", pd.Categorical([event] * len(of), columns, ordered=True))
            parts.append(part)
        events = pd.concat(parts).sort_values(["time", "event"], kind="stable", ignore_index=True)
        return events.assign(event=events["event"].astype(str))

    def trace(self, site: str) -> Trace:
        """Return the schedule of a site as a log: its local jobs and the meta jobs that it ran.

        Jobs are numbered 1, 2, … by arrival at the site; partition 1 has the local jobs, partition
        2 the meta jobs, and the wait of these is counted from their arrival.
        """
        local, meta = self.local_jobs(site), self.jobs
        meta = meta[meta["site"] == site]
        submit = np.concatenate([local["submit"], meta["arrival"]])
        columns = {
            "submit": submit,
            "wait": np.concatenate([local["start"], meta["start"]]) - submit,
            "status": np.where(np.concatenate([local["killed"], meta["killed"]]), 5, 1),
            "partition": np.repeat([_LOCAL, _META], [len(local), len(meta)]),
        }
        for name in ("run", "procs", "estimate", "user"):
            to = "requested_time" if name == "estimate" else name
            columns[to] = np.concatenate([local[name], meta[name]])
        columns["requested_procs"] = columns["procs"]
        place = self.prepared.system.place(site)
        machine = self.prepared.sites[place].rules.machine
        notes = (
            f"; MaxProcs: {machine}",
            f"; Partition: {_LOCAL} local jobs",
            f"; Partition: {_META} meta jobs",
            f"; Note: metasystem: workloadkit {__version__}, site {site}",
        )
        return Trace.from_columns(columns, header=Header(notes), name=f"{site}.swf")

    def to_dict(self) -> dict[str, Any]:
        """Return the metrics and the provenance, for JSON."""
        system = self.prepared.system
        sites = [
            {
                "site": each.site.name,
                "procs": each.rules.machine,
                "scheduler": describe(each.policy)
                if not isinstance(each.policy, Scheduler)
                else each.policy.name,
                "log": None if each.trace is None else each.trace.name,
                "sha256": (each.trace.digest or None) if each.trace is not None else None,
            }
            for each in self.prepared.sites
        ]
        schedulers = [
            {"meta_scheduler": scheduler.name, "policy": describe(policy)}
            for scheduler, policy in zip(system.meta_schedulers, self.policies, strict=True)
        ]
        result: dict[str, Any] = plain(
            {
                "jobs": int((self.prepared.jobs.part == 0).sum()),
                "left_out": self.prepared.jobs.left_out,
                **self.metrics,
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


def _served(frame: "pd.DataFrame") -> dict[str, Any]:
    """Return the aggregates of meta jobs; a co-allocated one ends with its last part."""
    cost, cancelled = float(frame["cost"].sum()), int(frame["cancelled"].sum())
    held = float((frame["held"] * frame["procs"]).sum())
    names = ("submit", "end", "wait", "run", "response", "bounded_slowdown")
    frame = frame.groupby((frame["part"] == 0).cumsum())[[*names]].max()
    n_jobs = len(frame)
    makespan = float(frame["end"].max() - frame["submit"].min()) if n_jobs else 0.0
    return {
        "jobs": n_jobs,
        "mean_wait": _mean(frame["wait"]),
        "median_wait": float(frame["wait"].median()) if n_jobs else np.nan,
        "mean_response": _mean(frame["response"]),
        "mean_bounded_slowdown": _mean(frame["bounded_slowdown"]),
        "throughput_per_hour": n_jobs / makespan * _HOUR if makespan else np.nan,
        "cost": cost,
        "cancelled": cancelled,
        "held": held,
    }


def _mean(values: Any) -> float:
    return float(np.mean(values)) if len(values) else np.nan


def _starts_alone(each: PreparedSite) -> NDArray:
    """Return the starts of the local jobs of a site without meta jobs."""
    if not each.workload.job.size:
        return each.workload.submit
    if isinstance(each.policy, Scheduler):
        users = OpenUsers().plain(each.workload)
        return play_plain(each.policy, each.policy.name, each.rules, users)[1].start
    return play_log_compiled(each.policy, each.policy.name, each.workload, each.rules).outcome.start
