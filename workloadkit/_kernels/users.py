"""How the event loops meet users who react.

A *mechanism* is a NamedTuple of arrays and scalars that says who the users are and how they act.
Whatever they plan stands in its `agenda`; jobs are written into tables as they arrive. Three
helpers, in the mechanism's file, act for its users:

- ``submit(users, jobs, place, item)`` fills in the job that an item stands for;
- ``job_ended(users, jobs, place, now)`` tells the user of a job that it has ended;
- ``wake_up(users, jobs, who, now)`` wakes a user.

No users at all, ``None``, means that the jobs of the tables arrive at their submit times, whatever
happens; the compiler leaves out what is not for them.
"""

from types import ModuleType
from typing import Any

from numba.extending import overload

from workloadkit._kernels import batch_users, dependent_users, queue_users, site_users
from workloadkit._kernels.agenda import ARRIVED, OVERFLOWS, SIZE, is_wake_up, take_due, take_first
from workloadkit._kernels.compile import BARE, bare
from workloadkit._kernels.known_types import know_types

_MECHANISMS: dict[type, ModuleType] = {
    batch_users.BatchUsers: batch_users,
    dependent_users.DependentUsers: dependent_users,
    queue_users.QueueUsers: queue_users,
    site_users.SiteUsers: site_users,
}
know_types(_MECHANISMS)


def submit(users: Any, jobs: Any, place: int, item: int) -> None:
    """Fill in the job that an item stands for."""
    _MECHANISMS[type(users)].submit(users, jobs, place, item)


def job_ended(users: Any, jobs: Any, place: int, now: Any) -> None:
    """Tell the user of a job that it has ended."""
    _MECHANISMS[type(users)].job_ended(users, jobs, place, now)


def wake_up(users: Any, jobs: Any, who: int, now: Any) -> None:
    """Wake a user."""
    _MECHANISMS[type(users)].wake_up(users, jobs, who, now)


@overload(submit, jit_options=BARE)
def _submit(users, jobs, place, item):
    act = _MECHANISMS[users.instance_class].submit
    return lambda users, jobs, place, item: act(users, jobs, place, item)


@overload(job_ended, jit_options=BARE)
def _job_ended(users, jobs, place, now):
    act = _MECHANISMS[users.instance_class].job_ended
    return lambda users, jobs, place, now: act(users, jobs, place, now)


@overload(wake_up, jit_options=BARE)
def _wake_up(users, jobs, who, now):
    act = _MECHANISMS[users.instance_class].wake_up
    return lambda users, jobs, who, now: act(users, jobs, who, now)


@bare
def some_to_come(users, submit, arrived):
    """Whether anything will happen that is not the end of a job that runs."""
    if users is None:
        return arrived < submit.size
    return users.agenda.at[SIZE] > 0


@bare
def next_instant(users, submit, arrived, ends, n_running):
    """When something happens next; something is left to happen."""
    if users is None:
        if n_running == 0:
            return submit[arrived]
        if arrived == submit.size:
            return ends[n_running - 1]
        return min(ends[n_running - 1], submit[arrived])
    if n_running == 0:
        return users.agenda.time[0]
    if users.agenda.at[SIZE] == 0:
        return ends[n_running - 1]
    return min(ends[n_running - 1], users.agenda.time[0])


@bare
def keep_running(users, submit, arrived, n_running, now, by_event):
    """How many of the running jobs stay, even if more end now.

    With a pass after each event, submissions come before terminations, which come one by one.
    """
    if not by_event:
        return 0
    if users is None:
        submitted = arrived < submit.size and submit[arrived] <= now
    else:
        submitted = submission_due(users.agenda, now)
    return n_running if submitted else max(n_running - 1, 0)


@bare
def take_arrivals(users, jobs, arrived, end_jobs, n_before, n_running, now, by_event):
    """Let all users act on what happens now; return the number of jobs that have arrived by then.

    Those that were running and have ended are ``end_jobs[n_running:n_before]``, the first to end
    last.
    """
    if users is None:
        n_jobs = jobs.submit.size
        while arrived < n_jobs and jobs.submit[arrived] <= now:
            arrived += 1
            if by_event:
                break
        return arrived
    agenda = users.agenda
    if by_event:
        if n_running < n_before:
            job_ended(users, jobs, end_jobs[n_running], now)
            return arrived
        if agenda.at[SIZE] == 0 or agenda.time[0] > now:
            return arrived
        agenda.due[0] = take_first(agenda)
        return _act(users, jobs, arrived, 1, now)
    n_due = take_due(agenda, now)
    for place in range(n_before - 1, n_running - 1, -1):
        job_ended(users, jobs, end_jobs[place], now)
    arrived = _act(users, jobs, arrived, n_due, now)
    n_due = take_due(agenda, now)
    while n_due > 0:  # what these have planned for this very second
        arrived = _act(users, jobs, arrived, n_due, now)
        n_due = take_due(agenda, now)
    return arrived


@bare
def submission_due(agenda, now):
    """Whether a job is to be submitted now."""
    return agenda.at[SIZE] > 0 and agenda.time[0] <= now and not is_wake_up(agenda)


@bare
def _act(users, jobs, arrived, n_due, now):
    """Let happen what was taken from the agenda; return the number of jobs that have arrived."""
    due = users.agenda.due
    for i in range(n_due):
        item = due[i]
        if item < 0:
            wake_up(users, jobs, -1 - item, now)
        elif arrived == jobs.submit.size:  # there is no room: this run is for nothing
            users.agenda.at[OVERFLOWS] = 1
        else:
            jobs.submit[arrived] = now
            submit(users, jobs, arrived, item)
            arrived += 1
    users.agenda.at[ARRIVED] = arrived
    if users.agenda.at[OVERFLOWS]:
        users.agenda.at[SIZE] = 0
    return arrived
