"""The users of a site in the forms of both engines."""

from collections.abc import Callable
from dataclasses import dataclass
from math import floor, inf
from typing import Any, ClassVar

import numpy as np

from workloadkit._kernels.site_samples import Samples
from workloadkit.clock import WEEK
from workloadkit.errors import ParameterError
from workloadkit.fields import UNKNOWN
from workloadkit.simulation.engine import User
from workloadkit.simulation.populations.present import Notes
from workloadkit.simulation.synthetic import as_log, synthetic_workload
from workloadkit.simulation.users.sites.plain import SiteContext
from workloadkit.simulation.workload import Workload
from workloadkit.site import SiteDistributions, built_in
from workloadkit.site.samples import samples
from workloadkit.trace import Trace

#: Default number of processors of a site's machine (Shmueli 2008, appendix A.2).
PROCESSORS = 128


def check_distributions(given: Any) -> None:
    """Check the distributions of a site.

    Raises
    ------
    ParameterError
    """
    if given is not None and not isinstance(given, SiteDistributions):
        raise ParameterError(
            f"distributions is {given!r:.60}; use workloadkit.site.site_distributions"
        )


def simulated_site_users(site: Any, machine: int, n_users: int) -> "SimulatedSiteUsers":
    """Return the users of a site, for a machine of this size.

    Parameters
    ----------
    site : StaticSite or DynamicSite
    machine : int
    n_users : int
    """
    dynamic = hasattr(site, "patience")
    return SimulatedSiteUsers(
        drawn=samples(
            site.distributions or built_in(),
            machine,
            workpool=site.workpool,
            pools=site.pools,
            classes=site.classes,
            going_on=getattr(site, "going_on", "published"),
            longest=site.longest,
            breaks=dynamic,
        ),
        n_users=n_users,
        until=floor(site.weeks * WEEK),
        pairs=site.workpool == "joint",
        repeats_run=site.repeat == "job" or site.workpool == "joint",
        patience=getattr(site, "patience", inf),
        leave=getattr(site, "leave", inf),
        fairness=getattr(site, "fairness", 0.0),
        dynamic=dynamic,
        users_in_python=site.users_in_python,
    )


@dataclass(frozen=True, eq=False)
class SimulatedSiteUsers:
    """Users whose jobs are drawn from distributions.

    Parameters
    ----------
    drawn : Samples
    n_users : int
    until : int
        [s]
    pairs, repeats_run : bool
        See `SiteContext`.
    dynamic : bool
        Whether sessions begin and end.
    patience, leave : float
        [s]
    fairness : float
        From 0 to 1.
    users_in_python : callable
        Creates them, for a `SiteContext`.
    """

    drawn: Samples
    n_users: int
    until: int
    pairs: bool
    repeats_run: bool
    dynamic: bool
    patience: float
    leave: float
    fairness: float
    users_in_python: Callable[[SiteContext], list[User]]

    of_log: ClassVar[None] = None

    @property
    def n_jobs(self) -> int:
        """Expected number of jobs: as without waiting, with a margin."""
        s = self.drawn
        width, think = float(s.width.mean()), float(s.think.mean())
        run = float(np.minimum(s.run, WEEK / 7).mean())
        share, pause = 1.0, think  # share of the time at work; pause between batches
        if self.dynamic:
            share, pause = 0.35, (think + float(s.pause.mean())) / 2
        cycles = share * self.until / (pause + run + 1)
        return int(1.3 * self.n_users * cycles * width) + 100

    def plain(self, rng: np.random.Generator) -> list[User]:
        """Return the users in plain Python."""
        setting = SiteContext(
            self.drawn,
            rng,
            until=self.until,
            pairs=self.pairs,
            repeats_run=self.repeats_run,
        )
        return self.users_in_python(setting)

    def compiled(self, rng: np.random.Generator, room: int, *, by_event: bool) -> Workload:
        """Return tables with room for so many jobs, and the users who fill them in."""
        from workloadkit.simulation.agenda import new_agenda
        from workloadkit.simulation.mechanisms import begin_all
        from workloadkit.simulation.users.sites import kernel as kernels

        n = self.n_users
        submit, run, estimate, procs, user, item = (np.empty(room, np.int64) for _ in range(6))
        queue = np.full(room, UNKNOWN)
        users = kernels.SiteUsers(
            agenda=new_agenda(room + n, np.dtype(np.int64)),
            planned=kernels.Planned(*(np.empty(room, np.int64) for _ in range(7))),
            tables=kernels.SiteTables(item, user, queue),
            rng=rng,
            by_event=by_event,
            samples=self.drawn,
            behaviour=kernels.SiteBehaviour(
                dynamic=self.dynamic,
                pairs=self.pairs,
                repeats_run=self.repeats_run,
                patience=float(self.patience),
                leave=float(self.leave),
                fairness=float(self.fairness),
                until=self.until,
            ),
            user_table=kernels.SiteUserTable(
                by_day=np.zeros(n, np.bool_),
                on_weekdays=np.zeros(n, np.bool_),
                moved=np.zeros(n, np.int64),
                pool=np.full(n, -1),
                size=np.zeros(n, np.int64),
                run=np.zeros(n, np.int64),
                left=np.zeros(n, np.int64),
                waits_for=np.full(n, -1),
                last=np.full(n, -1),
                last_end=np.zeros(n, np.int64),
                session=np.zeros(n, np.int64),
                opens=np.ones(n, np.bool_),
            ),
            counts=np.zeros(7, np.int64),
        )
        begin_all(users, submit.dtype)
        return synthetic_workload(submit, run, estimate, procs, user, queue, users)

    def report(self, tables: Workload, n_jobs: int) -> tuple[Workload, Notes, dict[str, Any]]:
        """Return the jobs that compiled users submitted, notes on them, and a history."""
        from workloadkit.simulation.users.sites import kernel as kernels

        made, counts = tables.users.planned, tables.users.counts
        item = tables.users.tables.item[:n_jobs]
        workload = synthetic_workload(
            tables.submit[:n_jobs],
            tables.run[:n_jobs],
            tables.estimate[:n_jobs],
            tables.procs[:n_jobs],
            tables.user[:n_jobs],
            tables.queue[:n_jobs],
        )
        notes = {
            "session": made.session[item],
            "batch": made.batch[item],
            "preceding_job": made.preceding[item],
            "think_time": made.think_time[item],
        }
        return (
            workload,
            notes,
            self._history({name: int(counts[getattr(kernels, name.upper())]) for name in _COUNTED}),
        )

    def report_plain(self, users: list[User]) -> dict[str, Any]:
        """Return the history of users in plain Python."""
        counts = users[0].setting.counts  # type: ignore[attr-defined]
        return self._history({name: counts[name] for name in _COUNTED})

    def result(
        self, workload: Workload, notes: Notes, machine: int
    ) -> tuple[Trace, Workload, Notes]:
        """Return the log of the jobs, and the jobs as a workload of that log."""
        trace, workload = as_log(
            workload,
            machine,
            preceding_job=notes["preceding_job"],
            think_time=notes["think_time"],
        )
        return trace, workload, {name: notes[name] for name in ("session", "batch")}

    def _history(self, counts: dict[str, int]) -> dict[str, int]:
        names = _COUNTED if self.dynamic else _COUNTED[:2]
        return {"until": self.until, **{name: counts[name] for name in names}}


#: Names of the counts; the first two for sessions that never end.
_COUNTED = ("sessions", "batches", "continued", "aborted", "slept", "left")
