"""The source of submissions: the table of a log, or users who react.

Users who react, see `mechanisms`, have an agenda; jobs are written into the tables as they arrive.
Without users, ``None``, the jobs of the tables arrive at their submit times.
"""

from workloadkit._kernels.compile import bare
from workloadkit.simulation.compiled.agenda import is_wake_up, take_due, take_first
from workloadkit.simulation.compiled.events import arrive
from workloadkit.simulation.compiled.mechanisms import JOB_ENDED, SUBMIT, WAKE_UP, perform_action
from workloadkit.simulation.compiled.parts import by_part

# Selections of due entries.
ALL, SUBMISSIONS = range(2)


@bare
def _next_entry(state, what, now):
    agenda = state.users.agenda
    return agenda.time[0] if agenda.at.size > 0 else state.never


@bare
def _entry_is_submission(state, what, now):
    agenda = state.users.agenda
    return agenda.at.size > 0 and agenda.time[0] <= now and not is_wake_up(agenda)


@bare
def _take_one(state, what, now):
    """Process the first entry of the agenda."""
    agenda = state.users.agenda
    agenda.due[0] = take_first(agenda)
    state.at.n_taken, state.at.n_done = 1, 0
    _act(state, ALL, now)


@bare
def _look_ahead(state, what, now):
    """Take the due entries, unless some of the last ones are left."""
    if state.at.n_taken == state.at.n_done:
        state.at.n_taken, state.at.n_done = take_due(state.users.agenda, now), 0


@bare
def _act_on_all(state, what, now):
    """Process the taken entries, then those that they create for this second."""
    _act(state, ALL, now)
    _look_ahead(state, what, now)
    while state.at.n_taken > 0:
        _act(state, ALL, now)
        _look_ahead(state, what, now)


@bare
def _act_on_submissions(state, what, now):
    """Process the taken submissions, which come before wake-ups."""
    _act(state, SUBMISSIONS, now)


@bare
def _act(state, which, now):
    agenda, at = state.users.agenda, state.at
    while at.n_done < at.n_taken:
        item = agenda.due[at.n_done]
        if item < 0:
            if which == SUBMISSIONS:
                break
            perform_action(state.users, state.jobs, WAKE_UP, -1 - item, 0, now)
        elif at.arrived == state.jobs.submit.size:  # no room: the run will be repeated
            agenda.at.overflows = 1
        else:
            state.jobs.submit[at.arrived] = now
            perform_action(state.users, state.jobs, SUBMIT, at.arrived, item, now)
            arrive(state, now)
        at.n_done += 1
    agenda.at.arrived = at.arrived
    if agenda.at.overflows:
        agenda.at.size = 0


@bare
def _notify_user(state, job, now):
    perform_action(state.users, state.jobs, JOB_ENDED, job, 0, now)


#: (state, -, -): the time of the next entry; a time after all times if there is none.
next_coming = by_part("users", "next_coming", _next_entry, "bare")

#: (state, -, now): whether that is a submission, now.
submission_is_due = by_part("users", "submission_is_due", _entry_is_submission, "bare")

#: (state, -, now): process the next entry.
take_one = by_part("users", "take_one", _take_one, "bare")

#: (state, -, now): take the due entries, before ends of jobs create more.
look_ahead = by_part("users", "look_ahead", _look_ahead, "bare")

#: (state, -, now): process them, and all that they create for this second.
act_on_all = by_part("users", "act_on_all", _act_on_all, "bare")

#: (state, -, now): process the submissions among them.
act_on_submissions = by_part("users", "act_on_submissions", _act_on_submissions, "bare")

#: (state, job, now): notify the user of a job of its end.
notify_user = by_part("users", "notify_user", _notify_user, "bare")
