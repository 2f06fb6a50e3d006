"""The first submission of users who react."""

from workloadkit._kernels.compile import kernel
from workloadkit._kernels.reference import by_reference
from workloadkit.simulation.agenda import SIZE, is_wake_up, take_due, take_first
from workloadkit.simulation.mechanisms import WAKE_UP, perform_action


@kernel
def wait_for_first(users, jobs, by_event):
    """Wake users until one is about to submit a job; return whether any event is left."""
    users, jobs = by_reference(users), by_reference(jobs)
    agenda = users.agenda
    while agenda.at[SIZE] > 0 and is_wake_up(agenda):
        now, n_due = agenda.time[0], 1
        if by_event:
            agenda.due[0] = take_first(agenda)
        else:
            n_due = take_due(agenda, now)
        for i in range(n_due):
            perform_action(users, jobs, WAKE_UP, -1 - agenda.due[i], 0, now)
    return agenda.at[SIZE] > 0
