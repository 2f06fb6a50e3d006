"""What a meta-scheduler sees: its jobs without their run times, and sites as they published.

It sees what a site published, and the jobs that it sent there itself and that arrive at or after
the publication. It sees nothing else of a site.
"""

from bisect import insort
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from workloadkit.errors import ParameterError, WorkloadError, quoted
from workloadkit.metasystem.plan import Coming, Forecast

if TYPE_CHECKING:
    from workloadkit.metasystem.sites import Site


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
        Makes the forecast of starts.
    """

    time: Any
    free: int
    queue: int
    work: Any
    plan: Callable[[], Forecast]


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
    now: float = 0
    _published: Published | None = None
    _sent: list[Coming] = field(default_factory=list)
    _forecast: Forecast | None = None

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
        self._sent = [sent for sent in self._sent if sent.arrival >= published.time]
        self._published, self._forecast = published, None

    def send(self, job: MetaJob) -> None:
        """Note that a job is sent to the site now."""
        insort(self._sent, self._coming(job))

    def withdraw(self, place: int) -> None:
        """Note that the job of this place, which was sent to the site, has been cancelled."""
        self._sent = [sent for sent in self._sent if sent.place != place]

    def _coming(self, job: MetaJob) -> Coming:
        what = job.number, job.place, job.user, job.group, job.procs
        return Coming(self.arrival(job), *what, self.estimate(job))

    def _of(self, what: str) -> Any:
        if what not in self.site.published:
            raise ParameterError(
                f"site {self.name} does not publish {quoted(what)}, which a meta-scheduler requires"
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
        return self._of("work") + sum(sent.procs * sent.estimate for sent in self._sent)

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
        """Predict when a job starts if it is sent now. [s].

        All jobs run for their estimates, and none arrives but those that were sent from here.
        """
        if self._forecast is None:
            self._forecast = self._of("plan")()
        coming = self._sent.copy()
        insort(coming, this := self._coming(job))
        return self._forecast.start(coming, coming.index(this))
