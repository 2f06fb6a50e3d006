"""Users of a site, who draw what they submit from empirical distributions.

The mechanism of `workloadkit.simulation.users.sites.static` and `site`; what they do is said there.
Numbers are drawn in the order of events: for a batch its kind, where kinds matter, its width, then
each job of it, then the times between them. A job that does not come again takes three: size, run
time and how often it comes.
"""

import sys
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import bare
from workloadkit._kernels.shifts import draw_shift, is_active, next_beginning
from workloadkit._kernels.site_samples import (
    Samples,
    continues,
    draw,
    draw_of,
    next_pool,
    place_of,
)
from workloadkit.simulation.agenda import (
    ARRIVED,
    OVERFLOWS,
    UNNUMBERED,
    WAKE_UP,
    Agenda,
    enter,
)
from workloadkit.simulation.parts import acts_for

# Places in SiteUsers.counts.
PLANNED, SESSIONS, BATCHES, CONTINUED, ABORTED, SLEPT, LEFT = range(7)


class Ways(NamedTuple):
    """How they all behave; see `workloadkit.simulation.users.sites.dynamic.DynamicSite`.

    Parameters
    ----------
    dynamic : bool
        Whether sessions begin and end.
    pairs : bool
        Whether size and run time are drawn as a pair.
    repeats_run : bool
        Whether a job that comes again has the same run time.
    patience, leave : float
        [s]
    fairness : float
        How much it matters to them that jobs are overtaken.
    until : int
        From then on nothing is submitted. [s]
    """

    dynamic: bool
    pairs: bool
    repeats_run: bool
    patience: float
    leave: float
    fairness: float
    until: int


class People(NamedTuple):
    """Who they are and where they stand; all of shape (n_users,).

    Parameters
    ----------
    by_day, on_weekdays, moved : ndarray
        The hours of each, see `shifts`.
    pool : ndarray of int64
        What the last batch was drawn from, -1 before the first.
    size, run, left : ndarray of int64
        The job that comes again, and how many times.
    waits_for : ndarray of int64
        The job submitted last of the batch before: its number of those planned, less than 0 for
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
    """Jobs that users have planned, in the order in which they did; of shape (room,)."""

    user: NDArray[np.int64]
    procs: NDArray[np.int64]
    run: NDArray[np.int64]
    session: NDArray[np.int64]
    batch: NDArray[np.int64]
    preceding: NDArray[np.int64]
    think_time: NDArray[np.int64]


class Tables(NamedTuple):
    """What is known of each job that has arrived but is not in `state.Jobs`; each of shape (room,).

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
    """A mechanism of `users`.

    Parameters
    ----------
    agenda : Agenda
        Its items are places in `planned`.
    planned : Planned
    tables : Tables
    rng : Generator
    by_event : bool
        Whether there is a pass after each event: then submissions of one second keep the order in
        which they were planned.
    samples : Samples
    ways : Ways
    people : People
    counts : ndarray of int64, shape (7,)
    """

    agenda: Agenda
    planned: Planned
    tables: Tables
    rng: np.random.Generator
    by_event: bool
    samples: Samples
    ways: Ways
    people: People
    counts: NDArray[np.int64]


@bare
def set_out(users):
    """Let all users come to work, or think about the first batch."""
    people, rng = users.people, users.rng
    for who in range(people.size.size):
        if users.ways.dynamic:
            by_day, on_weekdays, moved = draw_shift(rng)
            people.by_day[who], people.on_weekdays[who] = by_day, on_weekdays
            people.moved[who] = moved
            if is_active(0, by_day, on_weekdays, moved):
                _wake_later(users, who, 0)
            else:
                _wake_later(users, who, int(next_beginning(0, by_day, on_weekdays, moved)))
        else:
            _wake_later(users, who, draw(rng, users.samples.think))


@bare
def submit(users, jobs, place, item):
    """Fill in the job that an item stands for."""
    planned, people, tables = users.planned, users.people, users.tables
    who, run = planned.user[item], planned.run[item]
    tables.item[place], tables.user[place] = item, who
    jobs.procs[place], jobs.run[place], jobs.estimate[place] = planned.procs[item], run, max(run, 1)
    if people.waits_for[who] == item:
        people.last[who] = place


@bare
def job_ended(users, jobs, place, now):
    """Tell the user of a job that it has ended."""
    item, who = users.tables.item[place], users.tables.user[place]
    people, ways, counts = users.people, users.ways, users.counts
    samples, rng = users.samples, users.rng
    if people.waits_for[who] != item:
        return
    people.last_end[who] = now
    pool = people.pool[who]
    if not ways.dynamic:
        _wake_later(users, who, now + draw_of(rng, samples.think, samples.first_think, pool))
        return
    response = now - jobs.submit[place]
    if response > ways.leave:
        counts[LEFT] += 1
    elif not _is_active(people, who, now):
        _sleep(users, who, now)
    elif response <= ways.patience and rng.random() < _chance(users, jobs, place, response):
        counts[CONTINUED] += 1
        _wake_later(users, who, now + draw_of(rng, samples.think, samples.first_think, pool))
    else:
        counts[ABORTED] += 1
        people.opens[who] = True
        _wake_later(users, who, now + draw_of(rng, samples.pause, samples.first_pause, pool))


@bare
def _chance(users, jobs, place, response):
    """Return how likely the session of a job's user goes on."""
    who, fairness = users.tables.user[place], users.ways.fairness
    chance = continues(users.samples, users.people.pool[who], response)
    if fairness > 0:
        chance *= 1 - fairness * _overtaken(jobs, place, users.agenda.at[ARRIVED])
    return chance


@bare
def _overtaken(jobs, place, n_arrived):
    """Return the share of the jobs submitted while a job waited that were started before it."""
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
    if users.ways.dynamic and not _is_active(users.people, who, now):
        _sleep(users, who, now)
    else:
        _submit_batch(users, who, now)


@bare
def _is_active(people, who, now):
    return is_active(now, people.by_day[who], people.on_weekdays[who], people.moved[who])


@bare
def _sleep(users, who, now):
    """Let a user sleep until the hours of work begin again."""
    people = users.people
    users.counts[SLEPT] += 1
    people.opens[who] = True
    begin = next_beginning(now, people.by_day[who], people.on_weekdays[who], people.moved[who])
    _wake_later(users, who, int(begin))


@bare
def _wake_later(users, who, time):
    """Plan a wake-up, unless it would come when all is over."""
    if time < users.ways.until:
        enter(users.agenda, time, WAKE_UP + who, -1 - who)


@bare
def _submit_batch(users, who, now):
    """Draw a batch and submit its first job now, the others later."""
    samples, ways, people, planned = users.samples, users.ways, users.people, users.planned
    counts, rng = users.counts, users.rng
    if people.opens[who]:
        people.session[who] = counts[SESSIONS]
        counts[SESSIONS] += 1
        people.opens[who] = False
    batch = counts[BATCHES]
    counts[BATCHES] += 1
    pool = next_pool(rng, samples, now, people.pool[who])
    people.pool[who] = pool
    width = draw_of(rng, samples.width, samples.first_width, pool)
    first = counts[PLANNED]
    if first + width > planned.user.size:  # there is no room: this run is for nothing
        users.agenda.at[OVERFLOWS] = 1
        return
    for item in range(first, first + width):
        _draw_job(samples, ways, people, rng, who)
        planned.user[item], planned.procs[item] = who, people.size[who]
        planned.run[item] = people.run[who]
        planned.session[item], planned.batch[item] = people.session[who], batch
        planned.preceding[item] = planned.think_time[item] = -1
    if people.last[who] >= 0:
        planned.preceding[first] = people.last[who] + 1  # jobs are numbered from 1
        planned.think_time[first] = now - people.last_end[who]
    counts[PLANNED] += width
    key = 0 if users.by_event else UNNUMBERED + who
    time = now
    for item in range(first, first + width):
        if item > first:
            time += draw_of(rng, samples.gap, samples.first_gap, pool)
        if time < ways.until:
            enter(users.agenda, time, key, item)
    people.waits_for[who] = first + width - 1 if time < ways.until else -1


@bare
def _draw_job(samples, ways, people, rng, who):
    """Draw the next job of a user: the same as before, or a new one."""
    pool = people.pool[who]
    if people.left[who] == 0:
        if ways.pairs:
            pair = place_of(rng, samples.first_size, pool)
            people.size[who], people.run[who] = samples.size[pair], samples.run[pair]
        else:
            people.size[who] = draw_of(rng, samples.size, samples.first_size, pool)
            people.run[who] = draw_of(rng, samples.run, samples.first_run, pool)
        people.left[who] = draw_of(rng, samples.repetition, samples.first_repetition, pool)
    elif not ways.repeats_run:
        people.run[who] = draw_of(rng, samples.run, samples.first_run, pool)
    people.left[who] -= 1


acts_for(SiteUsers, sys.modules[__name__])
