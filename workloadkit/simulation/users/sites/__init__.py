"""Users of a site, whose jobs are drawn from empirical distributions."""

from dataclasses import dataclass
from typing import ClassVar

from workloadkit import settings
from workloadkit._kernels.local_time import draw_shift, is_active, next_beginning
from workloadkit._kernels.site_samples import continues, draw
from workloadkit.settings.setting import explains
from workloadkit.simulation.engine import Job, User
from workloadkit.simulation.users.sites.simulated_users import (
    PROCESSORS,
    SimulatedSiteUsers,
    SiteContext,
    SiteUser,
    check_distributions,
    overtaken,
    simulated_site_users,
)

# A site with a constant number of sessions, which never end.


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


# A site with changing activity: sessions by day and night that end after slow responses.


@explains(settings.Site)
@dataclass(frozen=True)
class DynamicSite(settings.Site):
    """Users who work in sessions, continue while service is good, and sleep [1]_.

    Of the users, 70 % work from 7:30 to 17:30, the others by night, and 80 % on weekdays, the
    others at weekends; each user's hours are moved by up to an hour. A user begins with the first
    working hours at or after second 0 (a Monday, 0:00), and submits a batch of jobs like those of
    `StaticSite`. At the end of its last submitted job, a user whose hours are over sleeps until
    they begin again. Within them, the session continues with probability 0.8 / (0.05 r + 1), where
    r is the response time of that job in minutes: the next batch follows after a think time.
    Otherwise it follows after a break. A user who is about to submit outside the hours also sleeps.

    The source leaves two extensions to future work, in its chapter 6; `classes`, `going_on` and
    `fairness` provide them. Classes of jobs: all that is drawn, and 0.8 and 0.05 above, may depend
    on the class of the batch. Sensitivity to fairness, defined in its section 5.4 as the order of
    arrival: among the jobs submitted after a user's job and before its start, a share started
    before it; the probability is multiplied by 1 − `fairness` × this share. Under FCFS no job is
    overtaken.

    Parameters
    ----------
    {settings}

    References
    ----------
    .. [1] E. Shmueli, "Using site-level modeling to evaluate the performance of parallel system
       schedulers", PhD thesis, 2008, section 5.3.2.

    Examples
    --------
    >>> import workloadkit as wk
    >>> site = wk.users.DynamicSite(users=20, weeks=1)
    >>> schedule = wk.simulate(None, "easy", site, procs=128, rng=1)
    >>> bool((schedule.jobs["submit"] < 7 * 86400).all())
    True
    """

    name: ClassVar[str] = "site"
    processors: ClassVar[int] = PROCESSORS
    draws: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_distributions(self.distributions)

    def simulated_users(self, machine: int) -> SimulatedSiteUsers:
        """Return the users, for a machine of this size."""
        return simulated_site_users(self, machine, self.users)

    def users_in_python(self, setting: SiteContext) -> list[User]:
        """Return the users, for one simulation."""
        return [
            _Worker(setting, self.patience, self.leave, self.fairness) for _ in range(self.users)
        ]


class _Worker(SiteUser):
    """A user with working hours and limited patience."""

    def __init__(
        self, setting: SiteContext, patience: float, leave: float, fairness: float
    ) -> None:
        super().__init__(setting)
        self.patience, self.leave, self.fairness = patience, leave, fairness

    def begin(self) -> None:
        """Begin work with the first hours."""
        self.hours = draw_shift(self.setting.rng)
        self.wake_later(0 if is_active(0, *self.hours) else self._until_work(0))

    def last_ended(self, job: Job) -> None:
        """Continue, take a break, sleep or leave."""
        setting, counts = self.setting, self.setting.counts
        response = job.end - job.submit
        if response > self.leave:
            counts["left"] += 1
        elif not is_active(self.now, *self.hours):
            self._sleep()
        elif response <= self.patience and setting.rng.random() < self._chance(job):
            counts["continued"] += 1
            self.wake_later(setting.draw("think", self.pool))
        else:
            counts["aborted"] += 1
            self.opens = True
            self.wake_later(setting.draw("pause", self.pool))

    def _chance(self, job: Job) -> float:
        """Return the probability that the session continues after a job."""
        chance = float(continues(self.setting.samples, self.pool, job.end - job.submit))
        if self.fairness > 0:
            chance *= 1 - self.fairness * overtaken(job, self.setting.jobs)
        return chance

    def wake_up(self) -> None:
        """Submit the next batch, unless it is time to sleep."""
        if is_active(self.now, *self.hours):
            self.submit_batch()
        else:
            self._sleep()

    def _sleep(self) -> None:
        self.setting.counts["slept"] += 1
        self.opens = True
        self.wake_later(self._until_work(self.now))

    def _until_work(self, time: int) -> int:
        return int(next_beginning(time, *self.hours)) - time
