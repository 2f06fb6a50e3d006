"""Outages of numbered processors: the functions of `changes`."""

from workloadkit._kernels.compile import inline
from workloadkit.simulation.machine.changes import stop
from workloadkit.simulation.machine.claims import add_claim, remove_claim
from workloadkit.simulation.machine.ledger import FREE
from workloadkit.simulation.machine.numbered import LOWEST, N_ENDING, N_RUNS
from workloadkit.simulation.machine.words import WORD_BITS, clear, place_of_lowest
from workloadkit.simulation.queue import insert_waiting
from workloadkit.simulation.state import N_RUNNING


@inline
def announce(state, outage, now):
    """Claim the processors of an outage."""
    machine, claim = state.machine, state.start.size + outage
    add_claim(state, claim)
    if machine.claims.end[claim] < state.never:
        machine.at[N_ENDING] += 1
    else:
        latest = machine.timetable.latest
        latest[0] = max(latest[0], machine.claims.begin[claim])


@inline
def shut(state, outage, now):
    """Begin an outage, and stop the jobs on its processors; return how many."""
    machine, struck = state.machine, state.machine.scratch.taken
    n_struck = _strike(state, outage, machine.timetable.surprise[outage])
    n_hit = _find_hit(state, struck)
    for place in range(n_hit):
        stop(state, machine.hit[place], now)
        machine.history.stopped[machine.at[N_RUNS] - 1] = True
    for word in range(struck.size):
        machine.free[word] &= ~struck[word]
    machine.level[FREE] -= n_struck
    return n_hit


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
    n_hit = 0
    for place in range(state.at[N_RUNNING]):
        job = state.end_jobs[place]
        if _runs_on(machine, job, struck):
            insert_waiting(machine.hit, 0, n_hit, machine.first, job)
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
def reopen(state, outage, now):
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
    if not surprise:
        remove_claim(state, claim)
        at[N_ENDING] -= 1
