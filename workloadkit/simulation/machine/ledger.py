"""The free resources of a machine, now and as planned: the functions for event loop and policies.

A machine is a NamedTuple, a part of the simulation's state, see `simulation.parts`. It has rows,
each a level: the free resources at some time. Row `FREE` is the present one, `SPARE` is the level
that the first reservation leaves, and rows from `PLANNED` on belong to the profile of a policy.

A machine must define:

- ``need_of(state, job, now)``: the needs of a job, a number or a tuple of numbers;
- ``has_room(state, row, need)``: whether a level has so much left;
- ``occupy(state, row, need)`` and ``vacate(state, row, need)``, which change a level;
- ``copy_row(state, row, other)``, which copies the level of another row;
- ``same_rows(state, row, other)``: whether two levels are equal.

The others have defaults for machines that never change. All starts and ends of jobs pass through
`start_job` and `end_job`.
"""

from workloadkit._kernels.compile import bare, inline
from workloadkit.simulation.compiled.parts import by_part
from workloadkit.simulation.compiled.queue import insert_end, insert_end_in_order, remove_end
from workloadkit.simulation.rules import counted_end, is_in_time, is_overdue

# Rows.
FREE, SPARE, PLANNED = range(3)

ANY_ROOM = 1 << 62  # more than any job needs

need_of = by_part("machine", "need_of")
has_room = by_part("machine", "has_room")
occupy = by_part("machine", "occupy")
vacate = by_part("machine", "vacate")
copy_row = by_part("machine", "copy_row")
same_rows = by_part("machine", "same_rows")


@inline
def _nothing(state, what, now):
    pass


@inline
def _no(state, what, now):
    return False


@inline
def _never(state, what, now):
    return state.never


@inline
def _none(state, what, now):
    return 0


@inline
def _any_room(state, row, now):
    return ANY_ROOM


@inline
def _moves(state, what, now):
    return changes_ahead(state, 0, now)


@inline
def _fits(state, job, now):
    return has_room(state, FREE, need_of(state, job, now))


@inline
def last_counts(state, place, now):
    """Return the shadow time, if the running jobs behind `place` by planned ends must end first."""
    if place + 1 == state.at.n_running:
        return now
    return counted_end(state.planned_ends[place + 1], now)


@inline
def ends_by(state, place, time):
    """Whether there is a running job at a place by planned ends, and it ends by a time."""
    return place >= 0 and state.planned_ends[place] <= time


@bare
def find_shadow(state, job, now):
    """Return the shadow time of a job that does not fit, `never` for none; row SPARE is the level.

    All planned ends at that time count.
    """
    need, jobs, place = need_of(state, job, now), state.planned_jobs, state.at.n_running - 1
    copy_row(state, SPARE, FREE)
    while not has_room(state, SPARE, need):
        if place < 0:
            return state.never
        vacate(state, SPARE, need_of(state, jobs[place], now))
        place -= 1
    shadow = last_counts(state, place, now)
    while ends_by(state, place, shadow):
        vacate(state, SPARE, need_of(state, jobs[place], now))
        place -= 1
    return shadow


@inline
def reserve_spare(state, job, now):
    """Reserve for a job at its shadow time; return that."""
    shadow = find_shadow(state, job, now)
    if shadow < state.never:
        occupy(state, SPARE, need_of(state, job, now))
    state.machine.shadow[0] = shadow
    return shadow


@inline
def some_overdue(state, now):
    """Whether a running job is overdue."""
    count = state.at.n_running
    return count > 0 and is_overdue(state.planned_ends[count - 1], now)


@inline
def some_due(state, now):
    """Whether a running job has reached its planned end."""
    return ends_by(state, state.at.n_running - 1, now)


@inline
def ends_in_time(state, job, now):
    """Whether a job that starts now ends by the shadow time (if strict, before it)."""
    end = now + state.jobs.estimate[job]
    return is_in_time(end, state.machine.shadow[0], state.strict)


@inline
def is_spare(state, need):
    """Whether a need fits into the spare resources, and backfilled jobs may use these."""
    return state.spares and has_room(state, SPARE, need)


@inline
def _may_pass(state, job, now):
    need = need_of(state, job, now)
    return has_room(state, FREE, need) and (ends_in_time(state, job, now) or is_spare(state, need))


@inline
def _passes(state, job, now):
    if not ends_in_time(state, job, now):
        occupy(state, SPARE, need_of(state, job, now))


@inline
def _move_rows(state, rows, by):
    low, high = rows
    if by > 0:
        for row in range(high - 1, low - 1, -1):
            copy_row(state, row + by, row)
    else:
        for row in range(low, high):
            copy_row(state, row + by, row)


#: (state, job, now): whether a job can start now.
fits = by_part("machine", "fits", _fits)

#: (state, job, now): reserve for a waiting job that does not fit; returns the earliest start by the
#: planned ends. Late jobs count as ending now.
reserve = by_part("machine", "reserve", reserve_spare)

#: (state, job, now): whether a job can start now without delaying the one with the reservation.
may_pass = by_part("machine", "may_pass", _may_pass)

#: (state, job, now): a job that may pass starts: the spare resources shrink.
passes = by_part("machine", "passes", _passes)

#: (state, row, -): the processors of the largest job for which a level has room, at most; a machine
#: that cannot state it returns `ANY_ROOM`.
room = by_part("machine", "room", _any_room)

#: (state, end, now): the processors of the largest job that can start now and end then, of a pool
#: of which changes are ahead.
room_until = by_part("machine", "room_until", _any_room)

#: (state, rows, by): copy the levels of rows, from the first up to the second (not included), by
#: `by` rows.
move_rows = by_part("machine", "move_rows", _move_rows)

#: (state, -, now): number of processors that are down.
n_down = by_part("machine", "n_down", _none)

#: (state, -, now): whether nothing is free.
is_full = by_part("machine", "is_full", _no)

#: (state, -, now): whether plans know of future changes of the machine. Then reservations are of
#: certain parts of it, and a refused job may fit though no job has ended.
changes_ahead = by_part("machine", "changes_ahead", _no)

_may_have_moved = by_part("machine", "may_have_moved", _moves)


@inline
def may_have_moved(state, what, now):
    """Whether a job that may not pass now may do so in the next pass, though no job has ended.

    The machine may have another place for the reservation; and under the strict rule, jobs that end
    at the shadow time use spare processors only in the pass in which they start.
    """
    return state.strict or _may_have_moved(state, what, now)


#: (state, -, now): whether a job may get another place next to a reservation than without one.
places_matter = by_part("machine", "places_matter", _no)

#: (state, -, now): give up all reservations.
release_all = by_part("machine", "release_all", _nothing)

#: (state, job, now): give up what is reserved for a job.
release = by_part("machine", "release", _nothing)

#: (state, job, now): a job receives its place; a job leaves it.
move_in = by_part("machine", "move_in", _nothing)
move_out = by_part("machine", "move_out", _nothing)

#: (state, -, -): the next time at which the machine changes.
next_change = by_part("machine", "next_change", _never)

#: (state, one, now): apply the changes that are due; only the first one, if `one`.
change = by_part("machine", "change", _nothing)

#: (state, -, now): whether the loop must return, as the machine needs larger arrays.
must_return = by_part("machine", "must_return", _no)


@inline
def start_job(state, job, now):
    """Start a waiting job."""
    state.start[job] = now
    state.at.n_waiting -= 1
    hold(state, job, now)


@inline
def hold(state, job, now):
    """Take the resources of a job that has its start."""
    jobs, count, start = state.jobs, state.at.n_running, state.start[job]
    insert_end_in_order(state.ends, state.end_jobs, count, start + jobs.run[job], job)
    insert_end(state.planned_ends, state.planned_jobs, count, start + jobs.estimate[job], job)
    state.at.n_running = count + 1
    occupy(state, FREE, need_of(state, job, now))
    move_in(state, job, now)


@inline
def end_job(state, job, now):
    """Return the resources of the job that is the last of `end_jobs`."""
    count = state.at.n_running
    planned_end = state.start[job] + state.jobs.estimate[job]
    remove_end(state.planned_ends, state.planned_jobs, count, planned_end, job)
    state.at.n_running = count - 1
    vacate(state, FREE, need_of(state, job, now))
    move_out(state, job, now)
