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
    """Each user's next job comes when the last has ended, whatever the log's submit times.

    The jobs keep their order.

    Parameters
    ----------
    think : {"none", "recorded"}, default "none"
        How long a user thinks before the next job: not at all, and all users begin with the first
        of them, but those of a resampled population when they come; or as long as in the log from
        the end of the job before, not at all where the next one did not wait for it, and each
        begins with the own first job.
    """

    name: ClassVar[str] = "closed"

    think: Think = "none"

    def __post_init__(self) -> None:
        check_choice("think", self.think, Think)

    def adapted(self, present: Present) -> Present:
        """Return users whose batches are of one job and depend on the one before."""
        acts = one_at_a_time(present.activities, think=self.think == "recorded")
        users = present.users
        if self.think == "none" and present.numbered and users.begin.size:
            users = users._replace(begin=np.full_like(users.begin, users.begin.min()))
        return replace(present, activities=acts, users=users)

    def plain(self, present: Present, rng: np.random.Generator) -> list[User]:
        """Return users in plain Python, fresh for one simulation."""
        return Adjusted().plain(present, rng)


def one_at_a_time(acts: Activities, *, think: bool) -> Activities:
    """Let each job be a batch of its own, and all of a user one session.

    Parameters
    ----------
    acts : Activities
    think : bool
        Whether users think, as long as from the end of the job before, 0 s where the next one did
        not wait for it; else not at all.

    Returns
    -------
    Activities
        Their jobs are in the same order.
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
