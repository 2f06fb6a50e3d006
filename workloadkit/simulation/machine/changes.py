"""Compiled outages: parts of the machine go down and come up, and running jobs are stopped.

A machine with outages has a `numbered.Timetable`, `requeues`, columns of its jobs, and functions,
see below.
"""

from workloadkit._kernels.compile import bare, inline
from workloadkit.simulation.compiled.cancellations import waits_again
from workloadkit.simulation.compiled.events import job_returned, lose, plans_void
from workloadkit.simulation.compiled.parts import by_part
from workloadkit.simulation.compiled.queue import remove_end
from workloadkit.simulation.compiled.streams import notify_user
from workloadkit.simulation.machine.ledger import end_job
from workloadkit.simulation.machine.numbered import ANNOUNCED, DOWN

#: (state, outage, now): begin an outage, and `stop` jobs; return how many. The first of
#: `machine.hit` are these jobs, in the order of their starts.
_shut = by_part("machine", "shut")

#: (state, outage, now): an outage ends; it is announced.
_reopen = by_part("machine", "reopen")
_announce = by_part("machine", "announce")


@inline
def next_change(state, what, now):
    """Return the time of the next change."""
    time, place = state.machine.timetable.time, state.machine.at.n_changes
    return time[place] if place < time.size else state.never


@inline
def change(state, one, now):
    """Apply the changes that are due; only the first one, if `one`."""
    while next_change(state, 0, now) <= now:
        _change_first(state, now)
        if one:
            break


@bare
def _change_first(state, now):
    table, at = state.machine.timetable, state.machine.at
    kind, outage = table.kind[at.n_changes], table.outage[at.n_changes]
    at.n_changes += 1
    if kind == DOWN:
        _go_down(state, outage, now)
    elif kind == ANNOUNCED:
        _announce(state, outage, now)
        plans_void(state, 0, now)
    else:
        _reopen(state, outage, now)
        if table.surprise[outage]:
            plans_void(state, 0, now)


@inline
def _go_down(state, outage, now):
    """Begin an outage; the jobs that it stops return to the queue, or are lost."""
    machine = state.machine
    n_hit, hit = _shut(state, outage, now), machine.hit
    if machine.timetable.surprise[outage] or n_hit > 0:
        plans_void(state, 0, now)
    for place in range(n_hit):
        if machine.requeues:
            state.at.n_waiting += 1
            job_returned(state, hit[place], now)
            waits_again(state, 0, now)
        else:
            lose(state, hit[place], now)
            notify_user(state, hit[place], now)


@inline
def stop(state, job, now):
    """Stop a job on what goes down: it is to return to the queue, or is lost."""
    machine, start, run = state.machine, state.start, state.jobs.run
    remove_end(state.ends, state.end_jobs, state.at.n_running, start[job] + run[job], job)
    end_job(state, job, now)
    machine.interruptions[job] += 1
    machine.lost_work[job] += state.jobs.procs[job] * (now - start[job])
    if machine.requeues:
        start[job] = state.never
        state.jobs.estimate[job] = state.jobs.prediction[job]
        state.at.stale, state.at.oldest = True, min(state.at.oldest, job)
    else:
        machine.lost[job] = True
        run[job] = now - start[job]
