"""The compiled User Priority Scheduler for long queues, by classes of equal user and size."""

import sys
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import inline, kernel
from workloadkit.simulation.compiled.parts import register_functions
from workloadkit.simulation.compiled.queue import (
    Classes,
    margin,
    next_leaf,
    set_leaf,
    sort_into_classes,
)
from workloadkit.simulation.compiled.state import State, jobs_there
from workloadkit.simulation.machine.ledger import FREE, ends_in_time, has_room, is_spare
from workloadkit.simulation.policies import dynamic
from workloadkit.simulation.policies.compiled import given_values
from workloadkit.simulation.policies.dynamic import LongQueuePolicy, Queue
from workloadkit.simulation.policies.user_priority import kernel as rings
from workloadkit.simulation.policies.user_priority.kernel import (
    Rings,
    RingsAt,
    UserRanking,
    new_ranking,
)
from workloadkit.simulation.workload import Rules, Workload


class UserTrees(NamedTuple):
    """A part of the state: the waiting jobs of each user, in a ring and by classes.

    Parameters
    ----------
    queue : Queue
    ranking : UserRanking
    classes : Classes
        Of each user's jobs.
    shortest : ndarray, shape (n_users,)
        Lower bound of the estimates of each user's waiting jobs. [s]
    smallest : ndarray of int64, shape (n_users,)
        The class of each user's smallest waiting jobs, -1 for none.
    longest : scalar
        The largest of all estimates. [s]
    slack : scalar
        More than the rounding error of a sum of times. [s]
    """

    queue: Queue
    ranking: UserRanking
    classes: Classes
    shortest: NDArray
    smallest: NDArray[np.int64]
    longest: Any
    slack: Any


def as_trees(state: State, classes: Classes) -> UserTrees:
    """Return the trees for the waiting jobs of a state with `Rings`."""
    jobs, n_users = state.jobs, state.policy.ranking.key.size
    trees = UserTrees(
        queue=state.policy.queue,
        ranking=state.policy.ranking,
        classes=classes,
        shortest=np.full(n_users, state.never),
        smallest=np.full(n_users, -1),
        longest=jobs.estimate.max(),
        slack=margin(jobs),
    )
    _fill(trees, jobs.estimate, state.never)
    return trees


def as_rings(state: State) -> Rings:
    """Return the rings of a state with `UserTrees`, which are emptied."""
    trees = state.policy
    _fill(trees, np.full(state.start.size, state.never), state.never)
    return Rings(trees.queue, trees.ranking)


@kernel
def _fill(trees, estimate, never):
    after, n_jobs = trees.queue.after, estimate.size
    for user in range(trees.shortest.size):
        job = after[n_jobs + user]
        while job < n_jobs:
            _set(trees.classes, job, estimate[job])
            job = after[job]
        _look_at_user(trees, user, never)


@inline
def _set(classes, job, estimate):
    set_leaf(classes.tree, classes.root[classes.job_class[job]], classes.node[job], estimate)


@inline
def _look_at_user(trees, user, never):
    """Find the smallest estimate and the smallest size of a user's waiting jobs."""
    tree, root, first = trees.classes.tree, trees.classes.root, trees.classes.group_first
    shortest, smallest = never, -1
    for c in range(first[user + 1] - 1, first[user] - 1, -1):
        top = tree[root[c] + 1]
        if top < never:
            smallest = c
            shortest = min(shortest, top)
    trees.shortest[user], trees.smallest[user] = shortest, smallest


allocate, must_return, plans_void = dynamic.allocate, dynamic.trees_must_return, dynamic.plans_void
job_arrived, job_ended = rings.job_arrived, dynamic.job_ended
job_returned, job_left = dynamic.job_returned, dynamic.job_left
rank, first_in_order, backfill_new = rings.rank, rings.first_in_order, rings.backfill_new


@inline
def join(state, job, now):
    """Add a job to the queue."""
    rings.join(state, job, now)
    trees, estimate = state.policy, state.jobs.estimate[job]
    user, c = trees.ranking.user[job], trees.classes.job_class[job]
    _set(trees.classes, job, estimate)
    trees.shortest[user] = min(trees.shortest[user], estimate)
    if trees.smallest[user] < 0 or c < trees.smallest[user]:
        trees.smallest[user] = c


@inline
def leave(state, job, now):
    """Remove a job from the queue."""
    rings.leave(state, job, now)
    _set(state.policy.classes, job, state.never)
    _look_at_user(state.policy, state.policy.ranking.user[job], state.never)


@inline
def backfill_all(state, what, now):
    """Return the first job, by user and arrival, that may pass the head."""
    trees, at, classes = state.policy, state.policy.queue.at, state.policy.classes
    size, limit = classes.size, state.machine.shadow[0] - now + trees.slack
    if not at.again:
        at.place, at.least = 0, at.head
    while at.place < at.n_listed:
        user = trees.ranking.order[at.place]
        c = trees.smallest[user]
        if c >= 0:
            if has_room(state, FREE, size[c]) and (
                is_spare(state, size[c]) or trees.shortest[user] <= limit
            ):
                job = _first_of_user(state, user, now)
                if job < state.start.size:
                    return job
            if size[c] < state.jobs.procs[at.least]:
                at.least = classes.member[classes.first[c]]
        at.place += 1
    at.smallest = at.least
    return -1


@inline
def _first_of_user(state, user, now):
    """Return the first job of a user to arrive that may pass the head; n_jobs for none."""
    trees, classes = state.policy, state.policy.classes
    tree, member, best = classes.tree, classes.member, state.start.size
    limit = state.machine.shadow[0] - now + trees.slack
    for c in range(classes.group_first[user], classes.group_first[user + 1]):
        if not has_room(state, FREE, classes.size[c]):
            break
        root, width, first = classes.root[c], classes.width[c], classes.first[c]
        always = is_spare(state, classes.size[c])
        most = trees.longest if always else limit
        place = next_leaf(tree, root, width, 0, most)
        while place >= 0 and not (always or ends_in_time(state, member[first + place], now)):
            place = next_leaf(tree, root, width, place + 1, most)
        if place >= 0:
            best = min(best, member[first + place])
    return best


register_functions(UserTrees, sys.modules[__name__])


# The User Priority Scheduler in the compiled engine.


class CompiledUserPriority(LongQueuePolicy):
    """EASY in the order of users and waits.

    Parameters
    ----------
    workload : Workload
    rules : Rules
    alpha_user : float
        Weight of the users' priorities.
    by_load : bool
        Whether the user with the least waiting work comes first, not the last one to submit.
    **how
        Of `LongQueuePolicy`.
    """

    trees: ClassVar[Any] = sys.modules[__name__]
    tree_part: ClassVar[type] = UserTrees

    def __init__(
        self, workload: Workload, rules: Rules, alpha_user: float, by_load: bool, **how: Any
    ) -> None:
        super().__init__(workload, rules, **how)
        self.alpha_user, self.by_load = float(alpha_user), by_load

    def begin(self, state: State) -> State:
        """Return the state with an empty queue."""
        users = self.workload.users
        if users is None:
            numbers, user = np.unique(state.jobs.user, return_inverse=True)
            n_users = numbers.size
        else:  # numbered already; the agenda has room for one plan of each
            user, n_users = state.jobs.user, users.agenda.time.size
        ranking = new_ranking(
            user,
            n_users,
            alpha=self.alpha_user,
            by_load=self.by_load,
            whole_seconds=state.jobs.submit.dtype.kind == "i",
        )
        return self.with_queue(state, Rings(self.empty_queue(state, RingsAt(), n_users), ranking))

    def continue_from(self, state: State, other: State, low: int) -> State:
        """Return the state with the latest submissions of users in another one."""
        state = self.take_over(state, other, low)
        if not self.by_load:
            n_there, mine, theirs = state.at.arrived, state.policy.ranking, other.policy.ranking
            mine.key[mine.user[:n_there]] = theirs.key[theirs.user[low : low + n_there]]
        return state

    def remember(self, state: State) -> dict[str, Any]:
        """Return the latest submission of the user of each job."""
        ranking = state.policy.ranking
        latest = -ranking.key[ranking.user[jobs_there(state)]]
        return {"jobs": {"user_submitted": latest.tolist()}}

    def recall(self, state: State, memory: Mapping[str, Any]) -> State:
        """Return the state with the latest submissions."""
        if not self.by_load:
            ranking, jobs, latest = state.policy.ranking, jobs_there(state), memory["jobs"]
            known = given_values(latest["user_submitted"], jobs, 0)
            ranking.key[ranking.user[jobs]] = -np.array(known, np.float64)
        return state

    def classify(self, state: State) -> Classes:
        """Return the classes of the jobs: those of equal user and size."""
        ranking, jobs = state.policy.ranking, state.jobs
        return sort_into_classes(jobs.procs, ranking.user, ranking.key.size, jobs.submit.dtype)
