"""The users of a site in the forms of both engines, and in plain Python."""

from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from math import floor, inf
from operator import attrgetter
from typing import Any, ClassVar

import numpy as np

from workloadkit._kernels.site_samples import Samples, draw_of, next_pool, place_of
from workloadkit.clock import WEEK
from workloadkit.errors import ParameterError
from workloadkit.fields import UNKNOWN
from workloadkit.simulation.engine import Job, User
from workloadkit.simulation.populations.population import Notes
from workloadkit.simulation.workload import Workload
from workloadkit.simulation.workload.from_log import as_log, synthetic_workload
from workloadkit.site import SiteDistributions, built_in
from workloadkit.site.samples import samples
from workloadkit.trace import Trace

# Users of a site in plain Python: random draws and batches of jobs.

_submission = attrgetter("submit")


class SiteContext:
    """The common data of a site's users.

    Parameters
    ----------
    samples : Samples
        Distributions to draw from.
    rng : Generator
    until : int
        End of submissions. [s]
    pairs : bool
        Whether size and run time are drawn as a pair.
    repeats_run : bool
        Whether a repeated job has the same run time, or only the same size.

    Attributes
    ----------
    jobs : list of Job
        All jobs submitted or planned, in the order of submission.
    counts : Counter
        Counts of "sessions" and "batches" begun, and of decisions.
    """

    def __init__(
        self,
        samples: Samples,
        rng: np.random.Generator,
        *,
        until: int,
        pairs: bool,
        repeats_run: bool,
    ) -> None:
        self.samples = samples
        self.rng = rng
        self.until = until
        self.pairs = pairs
        self.repeats_run = repeats_run
        self.jobs: list[Job] = []
        self.counts: Counter[str] = Counter()

    def draw(self, name: str, pool: int) -> int:
        """Draw a width, a gap and so on, from those of a pool."""
        values, first = getattr(self.samples, name), getattr(self.samples, f"first_{name}")
        return int(draw_of(self.rng, values, first, pool))


def overtaken(job: Job, jobs: list[Job]) -> float:
    """Return the share of the jobs submitted while a job waited that started before it.

    Parameters
    ----------
    job : Job
        A job that has started.
    jobs : list of Job
        In the order of submission.
    """
    first = bisect_right(jobs, job.submit, key=_submission)
    came = jobs[first : bisect_left(jobs, job.start, key=_submission)]
    passed = [other for other in came if other.start is not None and other.start < job.start]
    return len(passed) / len(came) if came else 0.0


class SiteUser(User):
    """A user who submits batches; `last_ended` defines what follows the end of one."""

    def __init__(self, setting: SiteContext) -> None:
        super().__init__()
        self.setting = setting
        self.pool = -1  # of the previous batch
        self.size, self.run, self.left = 0, 0, 0  # of the repeated job, and repetitions left
        self.last: Job | None = None  # of the previous batch, submitted last
        self.session = -1
        self.opens = True  # whether the next batch opens a session

    def last_ended(self, job: Job) -> None:
        """Continue after the end of the last submitted job of a batch."""
        raise NotImplementedError(f"{type(self).__name__} must define last_ended")

    def job_ended(self, job: Job) -> None:
        """Continue if the user waited for this job."""
        if job is self.last:
            self.last_ended(job)

    def wake_later(self, seconds: int) -> None:
        """Request a wake-up, unless it would come after the end of submissions."""
        if self.now + seconds < self.setting.until:
            self.sleep(seconds)

    def submit_batch(self) -> None:
        """Draw a batch and submit its first job now, the others later."""
        setting = self.setting
        counts = setting.counts
        batch = counts["batches"]
        counts["batches"] += 1
        if self.opens:
            self.session = counts["sessions"]
            counts["sessions"] += 1
            self.opens = False
        self.pool = int(next_pool(setting.rng, setting.samples, self.now, self.pool))
        width = setting.draw("width", self.pool)
        jobs = [self._draw_job() for _ in range(width)]
        gaps = [setting.draw("gap", self.pool) for _ in range(width - 1)]
        before = self.last
        first: dict[str, Any] = {"preceding_job": -1, "think_time": -1}
        if before is not None:
            first = {"preceding_job": before.number, "think_time": self.now - before.end}
        time = self.now
        for i, (size, run) in enumerate(jobs):
            time += gaps[i - 1] if i else 0
            if time >= setting.until:
                self.last = None  # nothing follows
                break
            self.last = self.submit(size, run, at=time)
            insort(setting.jobs, self.last, key=_submission)
            self.last.notes = {
                "session": self.session,
                "batch": batch,
                **(first if i == 0 else {"preceding_job": -1, "think_time": -1}),
            }

    def _draw_job(self) -> tuple[int, int]:
        """Return size and run time of the next job: a repetition, or new ones."""
        setting, s = self.setting, self.setting.samples
        if self.left == 0:
            if setting.pairs:
                place = int(place_of(setting.rng, s.first_size, self.pool))
                self.size, self.run = int(s.size[place]), int(s.run[place])
            else:
                self.size = setting.draw("size", self.pool)
                self.run = setting.draw("run", self.pool)
            self.left = setting.draw("repetition", self.pool)
        elif not setting.repeats_run:
            self.run = setting.draw("run", self.pool)
        self.left -= 1
        return self.size, self.run


#: Default number of processors of a site's machine (Shmueli 2008, appendix A.2).
PROCESSORS = 128


def check_distributions(given: Any) -> None:
    """Check the distributions of a site."""
    if given is not None and not isinstance(given, SiteDistributions):
        raise ParameterError(
            f"distributions is {given!r:.60}; use workloadkit.site.site_distributions"
        )


def simulated_site_users(site: Any, machine: int, n_users: int) -> "SimulatedSiteUsers":
    """Return the users of a site, for a machine of this size."""
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
        from workloadkit.simulation.compiled.agenda import new_agenda
        from workloadkit.simulation.compiled.mechanisms import begin_all
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
            counts=kernels.SiteUserCounts(),
        )
        begin_all(users, submit.dtype)
        return synthetic_workload(submit, run, estimate, procs, user, queue, users)

    def report(self, tables: Workload, n_jobs: int) -> tuple[Workload, Notes, dict[str, Any]]:
        """Return the jobs that compiled users submitted, notes on them, and a history."""
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
            self._history({name: getattr(counts, name) for name in _COUNTED}),
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
