"""A site with so many sessions, which never end."""

from dataclasses import dataclass
from math import inf
from typing import ClassVar

from workloadkit.errors import check_count
from workloadkit.parameters import Duration
from workloadkit.simulation.engine import Job, User
from workloadkit.simulation.users.sites.crowd import (
    PROCESSORS,
    Repeat,
    SiteCrowd,
    check_site,
    site_crowd,
)
from workloadkit.simulation.users.sites.plain import Setting, SiteUser
from workloadkit.site import SiteDistributions
from workloadkit.site.samples import Joint, Pools


@dataclass(frozen=True)
class StaticSite:
    """Sessions that go on for ever, each a batch after the other [1]_.

    In each session, and from its beginning on: a think time; a batch of jobs, the first at once,
    the others each a gap after the one before; the end of the job submitted last. All is drawn
    from empirical distributions. A size and a run time come as often in a row as the repetition
    says that is drawn with them, and estimates are exact.

    Parameters
    ----------
    sessions : int, default 10
    weeks : float, default 26
        From then on nothing is submitted.
    workpool : {"independent", "joint"}
        Draw size and run time each by itself, or as a pair.
    pools : {"one", "three"}
        Draw from the same jobs at all hours, or by day, by night and at weekends from jobs that
        were submitted then.
    repeat : {"job", "size"}, optional
        Whether a job that comes again has the same run time, too, or only the same size. By default
        the size, as [1]_ has it; the job, where size and run time are drawn as a pair.
    longest : float, optional
        Run times above it are never drawn. [s]
    distributions : SiteDistributions, optional
        What is drawn from; by default `workloadkit.site.built_in`.

    References
    ----------
    .. [1] E. Shmueli, "Using site-level modeling to evaluate the performance of parallel system
       schedulers", PhD thesis, 2008, section 3.3.
    """

    name: ClassVar[str] = "static-site"
    processors: ClassVar[int] = PROCESSORS
    draws: ClassVar[bool] = True

    sessions: int = 10
    weeks: float = 26.0
    workpool: Joint = "independent"
    pools: Pools = "one"
    repeat: Repeat | None = None
    longest: Duration = inf
    distributions: SiteDistributions | None = None

    def __post_init__(self) -> None:
        check_site(self)
        check_count("sessions", self.sessions, least=1)

    def crowd(self, machine: int) -> SiteCrowd:
        """Return the users, for a machine of so many processors."""
        return site_crowd(self, machine, self.sessions)

    def users_in_python(self, setting: Setting) -> list[User]:
        """Return the users, fresh for one simulation."""
        return [_Session(setting) for _ in range(self.sessions)]


class _Session(SiteUser):
    """A session that never ends."""

    def begin(self) -> None:
        """Think first."""
        self.wake_later(self.setting.draw(self.setting.samples.think))

    def last_ended(self, job: Job) -> None:
        """Think about the next batch."""
        self.wake_later(self.setting.draw(self.setting.samples.think))

    def wake_up(self) -> None:
        """Submit it."""
        self.submit_batch()
