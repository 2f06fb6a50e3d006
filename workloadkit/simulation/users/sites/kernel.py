"""Compiled users of a site, whose jobs are drawn from empirical distributions.

This is the mechanism of `workloadkit.simulation.users.sites` and `dynamic`, which describe
the behaviour. Numbers are drawn in the order of events: for a batch its kind, if there are kinds,
its width, then each job, then the times between them. A job that is not repeated takes three
numbers: size, run time and number of repetitions.
"""

import sys
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import bare
from workloadkit._kernels.local_time import draw_shift, is_active, next_beginning
from workloadkit._kernels.record import Record
from workloadkit._kernels.site_samples import (
    Samples,
    continues,
    draw,
    draw_of,
    next_pool,
    place_of,
)
from workloadkit.simulation.compiled.agenda import (
    UNNUMBERED,
    WAKE_UP,
    Agenda,
    enter,
)
from workloadkit.simulation.compiled.parts import register_functions


class SiteUserCounts(Record):
    """What the users count."""

    planned: int
    sessions: int
    batches: int
    continued: int
    aborted: int
    slept: int
    left: int


class SiteBehaviour(NamedTuple):
    """The common behaviour; see `workloadkit.simulation.users.sites.DynamicSite`.

    Parameters
    ----------
    dynamic : bool
        Whether sessions begin and end.
    pairs : bool
        Whether size and run time are drawn as a pair.
    repeats_run : bool
        Whether a repeated job has the same run time.
    patience, leave : float
        [s]
    fairness : float
        Effect of overtaking on users.
    until : int
        End of submissions. [s]
    """

    dynamic: bool
    pairs: bool
    repeats_run: bool
    patience: float
    leave: float
    fairness: float
    until: int


class SiteUserTable(NamedTuple):
    """The state of each user; all of shape (n_users,).

    Parameters
    ----------
    by_day, on_weekdays, moved : ndarray
        Working hours, see `local_time`.
    pool : ndarray of int64
        Pool of the last batch, -1 before the first.
    size, run, left : ndarray of int64
        The repeated job, and how many repetitions are left.
    waits_for : ndarray of int64
        The last submitted job of the previous batch: its number among planned jobs, less than 0 for
        none.
    last, last_end : ndarray of int64
        The same, as a place in the tables, -1 for none, and its end. [s]
    session : ndarray of int64
    opens : ndarray of bool
        Whether the next batch opens a session.
    """

    by_day: NDArray[np.bool_]
    on_weekdays: NDArray[np.bool_]
    moved: NDArray[np.int64]
    pool: NDArray[np.int64]
    size: NDArray[np.int64]
    run: NDArray[np.int64]
    left: NDArray[np.int64]
    waits_for: NDArray[np.int64]
    last: NDArray[np.int64]
    last_end: NDArray[np.int64]
    session: NDArray[np.int64]
    opens: NDArray[np.bool_]


class Planned(NamedTuple):
    """Jobs that users have planned, in this order; of shape (room,)."""

    user: NDArray[np.int64]
    procs: NDArray[np.int64]
    run: NDArray[np.int64]
    session: NDArray[np.int64]
    batch: NDArray[np.int64]
    preceding: NDArray[np.int64]
    think_time: NDArray[np.int64]


class SiteTables(NamedTuple):
    """Information on each job that has arrived beyond `state.Jobs`; each of shape (room,).

    Parameters
    ----------
    item : ndarray of int64
        Its place in `Planned`.
    user : ndarray of int64
    queue : ndarray of int64
        -1 for all.
    """

    item: NDArray[np.int64]
    user: NDArray[np.int64]
    queue: NDArray[np.int64]


class SiteUsers(NamedTuple):
    """The mechanism of a site's users.

    Parameters
    ----------
    agenda : Agenda
        Its items are places in `planned`.
    planned : Planned
    tables : Tables
    rng : Generator
    by_event : bool
        Whether there is a pass after each event: submissions of one second then keep the order in
        which they were planned.
    samples : Samples
    behaviour : Ways
    user_table : People
    counts : record
    """

    agenda: Agenda
    planned: Planned
    tables: SiteTables
    rng: np.random.Generator
    by_event: bool
    samples: Samples
    behaviour: SiteBehaviour
    user_table: SiteUserTable
    counts: SiteUserCounts


@bare
def begin(users):
    """Let all users begin work, or think about the first batch."""
    user_table, rng = users.user_table, users.rng
    for who in range(user_table.size.size):
        if users.behaviour.dynamic:
            by_day, on_weekdays, moved = draw_shift(rng)
            user_table.by_day[who], user_table.on_weekdays[who] = by_day, on_weekdays
            user_table.moved[who] = moved
            if is_active(0, by_day, on_weekdays, moved):
                _wake_later(users, who, 0)
            else:
                _wake_later(users, who, int(next_beginning(0, by_day, on_weekdays, moved)))
        else:
            _wake_later(users, who, draw(rng, users.samples.think))


@bare
def submit(users, jobs, place, item):
    """Fill in the job of an item."""
    planned, user_table, tables = users.planned, users.user_table, users.tables
    who, run = planned.user[item], planned.run[item]
    tables.item[place], tables.user[place] = item, who
    jobs.procs[place], jobs.run[place], jobs.estimate[place] = planned.procs[item], run, max(run, 1)
    if user_table.waits_for[who] == item:
        user_table.last[who] = place


@bare
def job_ended(users, jobs, place, now):
    """Notify the user of a job of its end."""
    item, who = users.tables.item[place], users.tables.user[place]
    user_table, behaviour, counts = users.user_table, users.behaviour, users.counts
    samples, rng = users.samples, users.rng
    if user_table.waits_for[who] != item:
        return
    user_table.last_end[who] = now
    pool = user_table.pool[who]
    if not behaviour.dynamic:
        _wake_later(users, who, now + draw_of(rng, samples.think, samples.first_think, pool))
        return
    response = now - jobs.submit[place]
    if response > behaviour.leave:
        counts.left += 1
    elif not _is_active(user_table, who, now):
        _sleep(users, who, now)
    elif response <= behaviour.patience and rng.random() < _chance(users, jobs, place, response):
        counts.continued += 1
        _wake_later(users, who, now + draw_of(rng, samples.think, samples.first_think, pool))
    else:
        counts.aborted += 1
        user_table.opens[who] = True
        _wake_later(users, who, now + draw_of(rng, samples.pause, samples.first_pause, pool))


@bare
def _chance(users, jobs, place, response):
    """Return the probability that the session of a job's user continues."""
    who, fairness = users.tables.user[place], users.behaviour.fairness
    chance = continues(users.samples, users.user_table.pool[who], response)
    if fairness > 0:
        chance *= 1 - fairness * _overtaken(jobs, place, users.agenda.at.arrived)
    return chance


@bare
def _overtaken(jobs, place, n_arrived):
    """Return the share of the jobs submitted while a job waited that started before it."""
    start, came, passed = jobs.start[place], 0, 0
    other = place + 1
    while other < n_arrived and jobs.submit[other] < start:
        if jobs.submit[other] > jobs.submit[place]:
            came += 1
            passed += jobs.start[other] < start
        other += 1
    return passed / came if came > 0 else 0.0


@bare
def wake_up(users, jobs, who, now):
    """Wake a user."""
    if users.behaviour.dynamic and not _is_active(users.user_table, who, now):
        _sleep(users, who, now)
    else:
        _submit_batch(users, who, now)


@bare
def _is_active(user_table, who, now):
    return is_active(
        now, user_table.by_day[who], user_table.on_weekdays[who], user_table.moved[who]
    )


@bare
def _sleep(users, who, now):
    """Let a user sleep until the working hours begin again."""
    user_table = users.user_table
    users.counts.slept += 1
    user_table.opens[who] = True
    begin = next_beginning(
        now, user_table.by_day[who], user_table.on_weekdays[who], user_table.moved[who]
    )
    _wake_later(users, who, int(begin))


@bare
def _wake_later(users, who, time):
    """Plan a wake-up, unless it would come after the end of submissions."""
    if time < users.behaviour.until:
        enter(users.agenda, time, WAKE_UP + who, -1 - who)


@bare
def _submit_batch(users, who, now):
    """Draw a batch and submit its first job now, the others later."""
    samples, behaviour, user_table, planned = (
        users.samples,
        users.behaviour,
        users.user_table,
        users.planned,
    )
    counts, rng = users.counts, users.rng
    if user_table.opens[who]:
        user_table.session[who] = counts.sessions
        counts.sessions += 1
        user_table.opens[who] = False
    batch = counts.batches
    counts.batches += 1
    pool = next_pool(rng, samples, now, user_table.pool[who])
    user_table.pool[who] = pool
    width = draw_of(rng, samples.width, samples.first_width, pool)
    first = counts.planned
    if first + width > planned.user.size:  # no room: the run will be repeated
        users.agenda.at.overflows = 1
        return
    for item in range(first, first + width):
        _draw_job(samples, behaviour, user_table, rng, who)
        planned.user[item], planned.procs[item] = who, user_table.size[who]
        planned.run[item] = user_table.run[who]
        planned.session[item], planned.batch[item] = user_table.session[who], batch
        planned.preceding[item] = planned.think_time[item] = -1
    if user_table.last[who] >= 0:
        planned.preceding[first] = user_table.last[who] + 1  # jobs are numbered from 1
        planned.think_time[first] = now - user_table.last_end[who]
    counts.planned += width
    key = 0 if users.by_event else UNNUMBERED + who
    time = now
    for item in range(first, first + width):
        if item > first:
            time += draw_of(rng, samples.gap, samples.first_gap, pool)
        if time < behaviour.until:
            enter(users.agenda, time, key, item)
    user_table.waits_for[who] = first + width - 1 if time < behaviour.until else -1


@bare
def _draw_job(samples, behaviour, user_table, rng, who):
    """Draw the next job of a user: a repetition, or a new one."""
    pool = user_table.pool[who]
    if user_table.left[who] == 0:
        if behaviour.pairs:
            pair = place_of(rng, samples.first_size, pool)
            user_table.size[who], user_table.run[who] = samples.size[pair], samples.run[pair]
        else:
            user_table.size[who] = draw_of(rng, samples.size, samples.first_size, pool)
            user_table.run[who] = draw_of(rng, samples.run, samples.first_run, pool)
        user_table.left[who] = draw_of(rng, samples.repetition, samples.first_repetition, pool)
    elif not behaviour.repeats_run:
        user_table.run[who] = draw_of(rng, samples.run, samples.first_run, pool)
    user_table.left[who] -= 1


register_functions(SiteUsers, sys.modules[__name__])
