"""A site with a constant number of sessions, which never end."""

from dataclasses import dataclass
from typing import ClassVar

from workloadkit import settings
from workloadkit._kernels.site_samples import draw
from workloadkit.settings.setting import explains
from workloadkit.simulation.engine import Job, User
from workloadkit.simulation.users.sites.plain import SiteContext, SiteUser
from workloadkit.simulation.users.sites.simulated_users import (
    PROCESSORS,
    SimulatedSiteUsers,
    check_distributions,
    simulated_site_users,
)


@explains(settings.StaticSiteSettings)
@dataclass(frozen=True)
class StaticSite(settings.StaticSiteSettings):
    """Endless sessions, each a series of batches [1]_.

    Each session repeats: a think time; a batch of jobs, the first at once, the others each a gap
    after the previous one; the end of the job submitted last. All values are drawn from empirical
    distributions. A size and a run time are repeated as often as the repetition that is drawn with
    them, and estimates are exact.

    Parameters
    ----------
    {settings}

    References
    ----------
    .. [1] E. Shmueli, "Using site-level modeling to evaluate the performance of parallel system
       schedulers", PhD thesis, 2008, section 3.3.
    """

    name: ClassVar[str] = "static-site"
    processors: ClassVar[int] = PROCESSORS
    draws: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_distributions(self.distributions)

    def simulated_users(self, machine: int) -> SimulatedSiteUsers:
        """Return the users, for a machine of this size."""
        return simulated_site_users(self, machine, self.sessions)

    def users_in_python(self, setting: SiteContext) -> list[User]:
        """Return the users, for one simulation."""
        return [_Session(setting) for _ in range(self.sessions)]


class _Session(SiteUser):
    """A session that never ends."""

    def begin(self) -> None:
        """Think first, as after a batch of any class."""
        setting = self.setting
        self.wake_later(int(draw(setting.rng, setting.samples.think)))

    def last_ended(self, job: Job) -> None:
        """Think about the next batch."""
        self.wake_later(self.setting.draw("think", self.pool))

    def wake_up(self) -> None:
        """Submit the batch."""
        self.submit_batch()
