"""Users who submit their jobs one at a time."""

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from workloadkit.dependencies import NONE, Activities
from workloadkit.errors import check_choice
from workloadkit.simulation.engine import User
from workloadkit.simulation.populations.present import Present
from workloadkit.simulation.users.batches.adjusted import Adjusted

Think = Literal["none", "recorded"]


@dataclass(frozen=True)
class Closed:
    """Each user's next job arrives after the end of the previous one, whatever its submit time.

    The jobs keep their order.

    Parameters
    ----------
    think : {"none", "recorded"}, default "none"
        Time before the next job. "none": no time, and all users begin with their first jobs at
        once, except those of a resampled population, who begin on arrival. "recorded": the time
        from the end of the previous job in the log, 0 if the next one did not wait for it; each
        user begins with the recorded first job.
    """

    name: ClassVar[str] = "closed"

    think: Think = "none"

    def __post_init__(self) -> None:
        check_choice("think", self.think, Think)

    def adapted(self, present: Present) -> Present:
        """Return users whose batches are single jobs that depend on the previous one."""
        acts = one_at_a_time(present.activities, think=self.think == "recorded")
        users = present.users
        if self.think == "none" and present.numbered and users.begin.size:
            users = users._replace(begin=np.full_like(users.begin, users.begin.min()))
        return replace(present, activities=acts, users=users)

    def plain(self, present: Present, rng: np.random.Generator) -> list[User]:
        """Return users in plain Python, for one simulation."""
        return Adjusted().plain(present, rng)


def one_at_a_time(acts: Activities, *, think: bool) -> Activities:
    """Return activities with each job as one batch, and one session per user.

    With `think`, users think for the time from the end of the previous job, 0 s if the next one did
    not wait for it; otherwise for no time. The jobs keep their order.
    """
    n_users, n_jobs = acts.user.size, acts.job.size
    first = acts.first_job[acts.first_batch]  # job of each user
    opens, last = first[:-1], first[1:] - 1
    submit = np.repeat(acts.arrival, np.diff(acts.first_job)) + acts.gap
    interarrival = np.diff(submit, prepend=0)
    think_time = np.zeros_like(submit)
    if think:
        think_time[1:] = np.maximum(submit[1:] - acts.ended[:-1], 0)
    interarrival[opens] = think_time[opens] = NONE
    return Activities(
        user=acts.user,
        first_batch=first,
        first_session=np.arange(n_users + 1),
        first_job=np.arange(n_jobs + 1),
        job=acts.job,
        gap=np.zeros_like(submit),
        session=np.repeat(np.arange(n_users), np.diff(first)),
        arrival=submit,
        think_time=think_time,
        interarrival=interarrival,
        needs=np.zeros(n_jobs, np.int64),
        place=np.zeros(n_users, np.int64),
        begin=submit[opens],
        until=submit[last],
        end=np.maximum.reduceat(acts.ended, opens) if n_users else acts.ended,
        ended=acts.ended,
    )
