"""Compiled outages: processors go down and come up, and running jobs are stopped."""

from workloadkit._kernels.compile import bare, inline
from workloadkit.simulation.events import job_returned, lose, plans_void
from workloadkit.simulation.machine.claims import add_claim, remove_claim
from workloadkit.simulation.machine.ledger import FREE, end_job
from workloadkit.simulation.machine.numbered import (
    ANNOUNCED,
    DOWN,
    LOWEST,
    N_CHANGES,
    N_ENDING,
    N_RUNS,
)
from workloadkit.simulation.machine.words import WORD_BITS, clear, place_of_lowest
from workloadkit.simulation.running import remove_end
from workloadkit.simulation.state import N_RUNNING, N_WAITING
from workloadkit.simulation.streams import notify_user


@inline
def next_change(state, what, now):
    """Return the time of the next change."""
    time, place = state.machine.timetable.time, state.machine.at[N_CHANGES]
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
    kind, outage = table.kind[at[N_CHANGES]], table.outage[at[N_CHANGES]]
    at[N_CHANGES] += 1
    if kind == DOWN:
        _go_down(state, outage, now)
    elif kind == ANNOUNCED:
        _announce(state, outage, now)
    else:
        _come_up(state, outage, now)


@inline
def _announce(state, outage, now):
    """Announce an outage."""
    machine, claim = state.machine, state.start.size + outage
    add_claim(state, claim)
    if machine.claims.end[claim] < state.never:
        machine.at[N_ENDING] += 1
    else:
        latest = machine.timetable.latest
        latest[0] = max(latest[0], machine.claims.begin[claim])
    plans_void(state, 0, now)


@inline
def _go_down(state, outage, now):
    """Begin an outage, and stop the jobs on its processors."""
    machine, surprise = state.machine, state.machine.timetable.surprise[outage]
    struck = machine.scratch.taken
    n_struck = _strike(state, outage, surprise)
    n_hit = _find_hit(state, struck)
    hit = machine.scratch.hit
    for place in range(n_hit):
        _stop(state, hit[place], now)
    for word in range(struck.size):
        machine.free[word] &= ~struck[word]
    machine.level[FREE] -= n_struck
    if surprise or n_hit > 0:
        plans_void(state, 0, now)
    for place in range(n_hit):
        if machine.requeues:
            state.at[N_WAITING] += 1
            job_returned(state, hit[place], now)
        else:
            lose(state, hit[place], now)
            notify_user(state, hit[place], now)


@inline
def _strike(state, outage, surprise):
    """Count an outage on its processors; collect those that worked, return their number."""
    machine, claims = state.machine, state.machine.claims
    n_down, struck, n_struck = machine.n_down, machine.scratch.taken, 0
    clear(struck)
    claim = state.start.size + outage
    for part in range(claims.first[claim], claims.last[claim]):
        word, rest = claims.word[part], claims.mask[part]
        while rest != 0:
            number = (word << WORD_BITS) + place_of_lowest(rest)
            bit = rest & -rest
            if n_down[number] == 0:
                struck[word] |= bit
                n_struck += 1
            n_down[number] += 1
            machine.n_surprises[number] += surprise
            _note_whether_away(machine, number, word, bit)
            rest ^= bit
    return n_struck


@inline
def _note_whether_away(machine, number, word, bit):
    if machine.n_down[number] > 0 and machine.n_surprises[number] == 0:
        machine.away[word] |= bit
    else:
        machine.away[word] &= ~bit


@inline
def _find_hit(state, struck):
    """Collect the jobs that run on some processors, in the order of their starts."""
    machine, busy = state.machine, False
    for word in range(struck.size):
        busy |= struck[word] & ~machine.free[word] != 0
    if not busy:
        return 0
    hit, first, n_hit = machine.scratch.hit, machine.first, 0
    for place in range(state.at[N_RUNNING]):
        job = state.end_jobs[place]
        if _runs_on(machine, job, struck):
            other = n_hit
            while other > 0 and first[hit[other - 1]] > first[job]:
                hit[other] = hit[other - 1]
                other -= 1
            hit[other] = job
            n_hit += 1
    return n_hit


@inline
def _runs_on(machine, job, words):
    word, mask = machine.history.word, machine.history.mask
    for part in range(machine.first[job], machine.last[job]):
        if mask[part] & words[word[part]] != 0:
            return True
    return False


@inline
def _stop(state, job, now):
    """Stop a job on processors that go down: it returns to the queue, or is lost."""
    machine, start, run = state.machine, state.start, state.jobs.run
    remove_end(state.ends, state.end_jobs, state.at[N_RUNNING], start[job] + run[job], job)
    end_job(state, job, now)
    machine.history.stopped[machine.at[N_RUNS] - 1] = True
    machine.interruptions[job] += 1
    machine.lost_work[job] += state.jobs.procs[job] * (now - start[job])
    if machine.requeues:
        start[job] = state.never
        state.jobs.estimate[job] = state.jobs.prediction[job]
    else:
        machine.lost[job] = True
        run[job] = now - start[job]


@inline
def _come_up(state, outage, now):
    """End an outage."""
    machine, claims, at = state.machine, state.machine.claims, state.machine.at
    surprise, claim = machine.timetable.surprise[outage], state.start.size + outage
    for part in range(claims.first[claim], claims.last[claim]):
        word, rest = claims.word[part], claims.mask[part]
        at[LOWEST] = min(at[LOWEST], word)
        while rest != 0:
            number = (word << WORD_BITS) + place_of_lowest(rest)
            bit = rest & -rest
            machine.n_down[number] -= 1
            machine.n_surprises[number] -= surprise
            if machine.n_down[number] == 0:
                machine.free[word] |= bit
                machine.level[FREE] += 1
            _note_whether_away(machine, number, word, bit)
            rest ^= bit
    if surprise:
        plans_void(state, 0, now)
    else:
        remove_claim(state, claim)
        at[N_ENDING] -= 1
