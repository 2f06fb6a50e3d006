"""What a meta-scheduler sees: its jobs without their run times, and sites as they published.

It sees what a site published, and the jobs that it sent there itself and that arrive at or after
the publication. It sees nothing else of a site.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from workloadkit.errors import ParameterError, WorkloadError
from workloadkit.metasystem.plan import Plan

if TYPE_CHECKING:
    from workloadkit.metasystem.description import Site


class MetaJob(NamedTuple):
    """A job as its meta-scheduler sees it.

    Parameters
    ----------
    place : int
        Its place among all meta jobs.
    number, user, group, procs : int
    submit : int or float
        When it was submitted to the meta-scheduler. [s]
    home : int
        Place of its home among the sites, -1 for none.
    estimates, delays : tuple
        Estimate on each site; time until it arrives there. [s]
    """

    place: int
    number: int
    user: int
    group: int
    procs: int
    submit: Any
    home: int
    estimates: tuple[Any, ...]
    delays: tuple[Any, ...]


class Published(NamedTuple):
    """The state of a site just before a time, as it publishes it.

    Parameters
    ----------
    time : int or float
        [s]
    free : int
        Free processors.
    queue : int
        Waiting jobs.
    work : int or float
        Remaining work by the estimates of the waiting and running jobs. [processor-seconds]
    plan : callable
        Makes the plan of free processors; of a site of modelled waits, returns the predicted ones.
    """

    time: Any
    free: int
    queue: int
    work: Any
    plan: Callable[[], Any]


class Sent(NamedTuple):
    """A job that a meta-scheduler has sent to a site."""

    arrival: Any
    job: MetaJob


@dataclass(eq=False)
class SiteView:
    """A site as one meta-scheduler sees it.

    Parameters
    ----------
    place : int
        Its place among the sites.
    site : Site
        Its description.
    procs : int
        Processors.
    now : int or float
        The time at which the meta-scheduler decides. [s]
    """

    place: int
    site: "Site"
    procs: int
    now: Any = 0
    _published: Published | None = None
    _sent: list[Sent] = field(default_factory=list)
    _plan: Plan | None = None

    @property
    def name(self) -> str:
        """Name of the site."""
        return self.site.name

    @property
    def speed(self) -> float:
        """Relative speed of its processors."""
        return self.site.speed

    @property
    def price(self) -> float:
        """Price of a processor for an hour."""
        return self.site.price

    def receive(self, published: Published) -> None:
        """Take over a publication, which contains the jobs that arrived before it."""
        left = [sent for sent in self._sent if sent.arrival >= published.time]
        self._sent = sorted(left, key=lambda sent: (sent.arrival, sent.job.number))
        self._published, self._plan = published, None

    def send(self, job: MetaJob) -> None:
        """Note that a job is sent to the site now."""
        self._sent.append(Sent(self.arrival(job), job))
        if self._plan is not None:
            self._take(self._sent[-1])

    def withdraw(self, place: int) -> None:
        """Note that the job of this place, which was sent to the site, has been cancelled."""
        self._sent = [sent for sent in self._sent if sent.job.place != place]
        self._plan = None

    def _of(self, what: str) -> Any:
        if what not in self.site.published:
            raise ParameterError(
                f"site {self.name} does not publish {what!r}, which a meta-scheduler requires"
            )
        if self._published is None:
            raise WorkloadError(f"site {self.name} has published nothing yet")
        return getattr(self._published, what)

    @property
    def free(self) -> int:
        """Free processors, as published."""
        return int(self._of("free"))

    @property
    def queue(self) -> int:
        """Waiting jobs, as published."""
        return int(self._of("queue"))

    @property
    def work(self) -> Any:
        """Remaining work by the estimates: as published, and that of the jobs sent since.

        [processor-seconds].
        """
        return self._of("work") + sum(
            sent.job.procs * sent.job.estimates[self.place] for sent in self._sent
        )

    @property
    def load(self) -> float:
        """The remaining work per processor. [s]."""
        return float(self.work / self.procs)

    def arrival(self, job: MetaJob) -> Any:
        """Return when a job arrives if it is sent now. [s]."""
        return self.now + job.delays[self.place]

    def estimate(self, job: MetaJob) -> Any:
        """Return the estimate of a job on this site. [s]."""
        return job.estimates[self.place]

    def cost(self, job: MetaJob) -> float:
        """Return the price of a job on this site, by its estimate."""
        return float(self.price * job.procs * self.estimate(job) / 3600)

    def start(self, job: MetaJob) -> Any:
        """Predict when a job starts if it is sent now: its earliest slot in the plan. [s]."""
        if self.site.waits is not None:
            return self.arrival(job) + self._of("plan")()[job.place].item()
        plan = self._current_plan()
        return plan.earliest(job.procs, self.estimate(job), self.arrival(job))

    def _current_plan(self) -> Plan:
        """Return the plan as published, with the jobs sent since."""
        if self._plan is None:
            self._plan = self._of("plan")()
            for sent in self._sent:
                self._take(sent)
        assert self._plan is not None
        return self._plan

    def _take(self, sent: Sent) -> None:
        plan, job = self._plan, sent.job
        assert plan is not None
        estimate = self.estimate(job)
        plan.take(plan.earliest(job.procs, estimate, sent.arrival), job.procs, estimate)
