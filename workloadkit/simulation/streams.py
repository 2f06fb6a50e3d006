"""Who submits jobs: the table of a log, or users who react.

Users who react are a NamedTuple, a part of the state: a *mechanism*, with an `agenda` in which
stands whatever they plan; jobs are written into the tables as they arrive. Its functions take the
users and the jobs, not the state, so that they are compiled once for all policies:

- ``submit(users, jobs, place, item)`` fills in the job that an item of the agenda stands for;
- ``job_ended(users, jobs, place, now)`` lets the user of a job know that it has ended;
- ``wake_up(users, jobs, who, now)`` wakes a user.

Without users, ``None``, the jobs of the tables arrive at their submit times.
"""

from numba.extending import overload

from workloadkit._kernels.agenda import ARRIVED as ARRIVED_BY_AGENDA
from workloadkit._kernels.agenda import OVERFLOWS, SIZE, is_wake_up, take_due, take_first
from workloadkit._kernels.compile import BARE, inline
from workloadkit.simulation.events import arrive
from workloadkit.simulation.parts import acting, by_part, kind_of
from workloadkit.simulation.state import ARRIVED, N_DONE, N_TAKEN


def submit(users, jobs, place, item):
    """Fill in the job that an item stands for."""
    acting(type(users)).submit(users, jobs, place, item)


def job_ended(users, jobs, place, now):
    """Let the user of a job know that it has ended."""
    acting(type(users)).job_ended(users, jobs, place, now)


def wake_up(users, jobs, who, now):
    """Wake a user."""
    acting(type(users)).wake_up(users, jobs, who, now)


@overload(submit, jit_options=BARE)
def _submit(users, jobs, place, item):
    act = acting(kind_of(users)).submit
    return lambda users, jobs, place, item: act(users, jobs, place, item)


@overload(job_ended, jit_options=BARE)
def _job_ended(users, jobs, place, now):
    act = acting(kind_of(users)).job_ended
    return lambda users, jobs, place, now: act(users, jobs, place, now)


@overload(wake_up, jit_options=BARE)
def _wake_up(users, jobs, who, now):
    act = acting(kind_of(users)).wake_up
    return lambda users, jobs, who, now: act(users, jobs, who, now)


@inline
def _next_entry(state, what, now):
    agenda = state.users.agenda
    return agenda.time[0] if agenda.at[SIZE] > 0 else state.never


@inline
def _entry_is_submission(state, what, now):
    agenda = state.users.agenda
    return agenda.at[SIZE] > 0 and agenda.time[0] <= now and not is_wake_up(agenda)


@inline
def _take_one(state, what, now):
    """Let happen what comes first in the agenda."""
    agenda = state.users.agenda
    agenda.due[0] = take_first(agenda)
    state.at[N_TAKEN], state.at[N_DONE] = 1, 0
    _act(state, False, now)


@inline
def _look_ahead(state, what, now):
    """Take what is due, unless some of what was taken is left."""
    if state.at[N_TAKEN] == state.at[N_DONE]:
        state.at[N_TAKEN], state.at[N_DONE] = take_due(state.users.agenda, now), 0


@inline
def _act_on_all(state, what, now):
    """Let happen what was taken, then what these have planned for this very second."""
    _act(state, False, now)
    _look_ahead(state, what, now)
    while state.at[N_TAKEN] > 0:
        _act(state, False, now)
        _look_ahead(state, what, now)


@inline
def _act_on_submissions(state, what, now):
    """Let happen the submissions that were taken: they come before wake-ups."""
    _act(state, True, now)


@inline
def _act(state, only_submissions, now):
    agenda, at = state.users.agenda, state.at
    while at[N_DONE] < at[N_TAKEN]:
        item = agenda.due[at[N_DONE]]
        if item < 0:
            if only_submissions:
                break
            wake_up(state.users, state.jobs, -1 - item, now)
        elif at[ARRIVED] == state.jobs.submit.size:  # no room: this run is for nothing
            agenda.at[OVERFLOWS] = 1
        else:
            state.jobs.submit[at[ARRIVED]] = now
            submit(state.users, state.jobs, at[ARRIVED], item)
            arrive(state, now)
        at[N_DONE] += 1
    agenda.at[ARRIVED_BY_AGENDA] = at[ARRIVED]
    if agenda.at[OVERFLOWS]:
        agenda.at[SIZE] = 0


@inline
def _tell_user(state, job, now):
    job_ended(state.users, state.jobs, job, now)


#: (state, -, -): when something comes next; a time after all times if nothing does.
next_coming = by_part("users", "next_coming", _next_entry)

#: (state, -, now): whether that is a submission, now.
submission_is_due = by_part("users", "submission_is_due", _entry_is_submission)

#: (state, -, now): let what comes next happen.
take_one = by_part("users", "take_one", _take_one)

#: (state, -, now): take what is due, before ends of jobs lead to more.
look_ahead = by_part("users", "look_ahead", _look_ahead)

#: (state, -, now): let it happen, and whatever that leads to in this very second.
act_on_all = by_part("users", "act_on_all", _act_on_all)

#: (state, -, now): let the submissions of it happen.
act_on_submissions = by_part("users", "act_on_submissions", _act_on_submissions)

#: (state, job, now): the user of a job learns that it has ended.
tell_user = by_part("users", "tell_user", _tell_user)
