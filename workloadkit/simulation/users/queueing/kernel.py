"""Compiled users of queueing models: open ones, who may continue, and closed ones, who always do.

Users are numbered from 0, the closed ones first. A wake-up is for the next arrival (0, `ARRIVALS`),
for the first job of a closed user (1 + its number), or for the next job of the user of an earlier
one (1 + the number of closed users + the place of that job). Each wake-up submits a new job at
once.
"""

import math
import sys
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import bare
from workloadkit._kernels.record import Record
from workloadkit.simulation.compiled.agenda import UNNUMBERED, WAKE_UP, Agenda, enter
from workloadkit.simulation.compiled.parts import register_functions
from workloadkit.simulation.compiled.state import queue_length

# Laws of run times and of think times.
FIXED, EXPONENTIAL, DRAWN, LISTED = range(4)

# Forms of the probability that an open user continues.
NEVER, CONSTANT, FALLING, HYPERBOLA, TABLE = range(5)

# Forms of the mean think time: constant, one of two values, or linear between points.
SAME, BREAKS, ON_LINES = range(3)

ARRIVALS = 0


class QueueUserCounts(Record):
    """What the users count."""

    n_arrived: int  # open users that have arrived
    n_made: int  # jobs made
    most: int  # their maximal number, -1 for none


class Needs(NamedTuple):
    """The needs of jobs.

    Parameters
    ----------
    law : int
        Law of the run times.
    mean : float
        Mean run time, if run times are not listed. [s]
    run : ndarray of float64, shape (n_given,)
        Listed run times, if there are any. [s]
    procs : ndarray of int64
        Processors, of shape (1,) if constant. If listed with run times, both describe the same
        jobs.
    """

    law: int
    mean: float
    run: NDArray[np.float64]
    procs: NDArray[np.int64]


class Again(NamedTuple):
    """The probability that an open user continues after a response time.

    Parameters
    ----------
    form : int
    a, b : float
        The constant; the rate of the exponential; or both parameters of the hyperbola.
    times, values : ndarray of float64, shape (n_points,)
        Points of the table.
    """

    form: int
    a: float
    b: float
    times: NDArray[np.float64]
    values: NDArray[np.float64]


class Thinking(NamedTuple):
    """The think time of users after a response time.

    Parameters
    ----------
    law : int
        Law of the think times.
    form : int
        Form of the mean.
    mean : float
        The constant mean, or the mean up to the limit. [s]
    long : float
        Mean beyond the limit. [s]
    limit : float
        Limit of the response time. [s]
    times, means : ndarray of float64, shape (n_points,)
        Points of the table. [s]
    """

    law: int
    form: int
    mean: float
    long: float
    limit: float
    times: NDArray[np.float64]
    means: NDArray[np.float64]


class QueueTables(NamedTuple):
    """Information on each job that has arrived beyond `state.Jobs`; each of shape (room,).

    Parameters
    ----------
    user : ndarray of int64
    visit : ndarray of int64
        Number of earlier jobs of the user.
    queue : ndarray of int64
        -1 for all.
    """

    user: NDArray[np.int64]
    visit: NDArray[np.int64]
    queue: NDArray[np.int64]


class MadeJobs(NamedTuple):
    """Jobs in the order of their creation; each of shape (room,)."""

    user: NDArray[np.int64]
    visit: NDArray[np.int64]
    procs: NDArray[np.int64]
    run: NDArray[np.float64]


class QueueUsers(NamedTuple):
    """The mechanism of users of queueing models.

    Parameters
    ----------
    agenda, tables, rng
        See `users`.
    by_event : bool
        Whether there is a pass after each event: submissions of one second then keep the order in
        which they were planned.
    rate : float
        Arrivals of open users. [1/s]
    n_closed : int
        Closed users.
    thinking : Thinking
    until : float
        End of submissions. [s]
    longest : int
        Longest queue in which closed users submit a job.
    pause : float
        Mean time until they look again, by the law of the think times. [s]
    needs : Needs
    again : Again
    made : MadeJobs
    counts : record
    """

    agenda: Agenda
    tables: QueueTables
    rng: np.random.Generator
    by_event: bool
    rate: float
    n_closed: int
    thinking: Thinking
    until: float
    longest: int
    pause: float
    needs: Needs
    again: Again
    made: MadeJobs
    counts: QueueUserCounts


@bare
def begin(users):
    """Let closed users think, and plan the first arrival."""
    for user in range(users.n_closed):
        _rest(users, user, 1 + user, 0.0, 0.0)
    if users.rate > 0.0:
        _await_arrival(users, 0.0)


@bare
def submit(users, jobs, place, item):
    """Fill in the job of an item."""
    made, tables = users.made, users.tables
    run = made.run[item]
    jobs.run[place] = jobs.estimate[place] = run
    jobs.procs[place] = made.procs[item]
    tables.user[place] = made.user[item]
    tables.visit[place] = made.visit[item]
    tables.queue[place] = -1


@bare
def job_ended(users, jobs, place, now):
    """Let the user of a job that has ended think, or leave."""
    if users.counts.n_made == users.counts.most:
        return
    user = users.tables.user[place]
    response = now - jobs.submit[place]
    if user >= users.n_closed:
        if users.again.form == NEVER:
            return
        if not users.rng.random() < how_likely(users.again, response):
            return
    _rest(users, user, 1 + users.n_closed + place, now, response)


@bare
def wake_up(users, jobs, who, now):
    """Submit a job of a user."""
    counts = users.counts
    if counts.n_made == counts.most:
        return
    if who == ARRIVALS:
        _make(users, users.n_closed + counts.n_arrived, 0, now)
        counts.n_arrived += 1
        _await_arrival(users, now)
    elif queue_length(jobs) > users.longest:
        user = who - 1 if who <= users.n_closed else users.tables.user[who - 1 - users.n_closed]
        _rest_for(users, user, who, now, users.pause)
    elif who <= users.n_closed:
        _make(users, who - 1, 0, now)
    else:
        place = who - 1 - users.n_closed
        _make(users, users.tables.user[place], users.tables.visit[place] + 1, now)


@bare
def how_likely(again, response):
    """Return the probability that a user continues after a response time."""
    if again.form == CONSTANT:
        return again.a
    if again.form == FALLING:
        return math.exp(-again.a * response)
    if again.form == HYPERBOLA:
        return again.a / (again.b * response + 1.0)
    return _on_lines(again.times, again.values, response)


@bare
def _on_lines(times, values, time):
    """Return the value at a time on straight lines between points, constant outside."""
    if time < times[0]:
        return values[0]
    low, high = 0, times.size - 1
    if time >= times[high]:
        return values[high]
    while high - low > 1:  # times[low] <= time < times[high]
        middle = (low + high) >> 1
        if times[middle] <= time:
            low = middle
        else:
            high = middle
    part = (time - times[low]) / (times[high] - times[low])
    return values[low] + (values[high] - values[low]) * part


@bare
def _make(users, user, visit, now):
    """Create a job, and submit it now."""
    needs, made, rng = users.needs, users.made, users.rng
    item = users.counts.n_made
    if item == made.run.size:
        users.agenda.at.overflows = 1
        return
    place = -1
    if needs.law == FIXED:
        run = needs.mean
    elif needs.law == EXPONENTIAL:
        run = needs.mean * rng.standard_exponential()
    else:
        n_given = needs.run.size
        place = item % n_given if needs.law == LISTED else int(rng.random() * n_given)
        run = needs.run[place]
    if needs.procs.size == 1:
        place = 0
    elif place < 0:
        place = int(rng.random() * needs.procs.size)
    made.user[item], made.visit[item] = user, visit
    made.run[item], made.procs[item] = run, needs.procs[place]
    users.counts.n_made += 1
    enter(users.agenda, now, 0 if users.by_event else UNNUMBERED + user, item)


@bare
def _rest(users, user, who, now, response):
    """Wake a user after the think time, unless submissions have ended by then."""
    thinking = users.thinking
    pause = thinking.mean
    if thinking.form == BREAKS:
        if response > thinking.limit:
            pause = thinking.long
    elif thinking.form == ON_LINES:
        pause = _on_lines(thinking.times, thinking.means, response)
    _rest_for(users, user, who, now, pause)


@bare
def _rest_for(users, user, who, now, pause):
    """Wake a user after a time with a mean, unless submissions have ended by then."""
    if users.thinking.law == EXPONENTIAL:
        pause *= users.rng.standard_exponential()
    if now + pause < users.until:
        enter(users.agenda, now + pause, WAKE_UP + user, -1 - who)


@bare
def _await_arrival(users, now):
    """Plan the next arrival of an open user."""
    gap = users.rng.standard_exponential() / users.rate
    if now + gap < users.until:
        enter(users.agenda, now + gap, WAKE_UP + users.n_closed, -1 - ARRIVALS)


register_functions(QueueUsers, sys.modules[__name__])
