"""Submissions of a log's jobs, and requests for reservations: the functions for `streams`.

Requests are answered as they are made. A job whose request is accepted runs inside its reservation,
which is a row of its own at the end of the tables; others arrive as usual: the tables are filled in
place, as jobs that arrive are never behind those that are read.
"""

import sys
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import bare, inline
from workloadkit._kernels.record import Record
from workloadkit.simulation.compiled.events import arrive, end_due, plans_void
from workloadkit.simulation.compiled.parts import register_functions
from workloadkit.simulation.machine.reservable_ledger import (
    begin_request,
    claim,
    find_slot,
    release_all,
)
from workloadkit.simulation.machine.reservable_plain import REFUSED


class RequestStreamAt(Record):
    """The next of what is to come."""

    next: int  # job of the log
    asked: int  # request


class RequestStream(NamedTuple):
    """The source of submissions and requests.

    Parameters
    ----------
    asked, earliest, latest : ndarray, shape (n_requests,)
        [s]
    request : ndarray of int64, shape (n_jobs,)
        Request of each job, -1 for none.
    source : ndarray of int64, shape (n_jobs,)
        Place in the workload of each job that has arrived.
    answer : ndarray, shape (n_requests,)
        Start, `REFUSED` for none. [s]
    at : record
    """

    asked: NDArray
    earliest: NDArray
    latest: NDArray
    request: NDArray[np.int64]
    source: NDArray[np.int64]
    answer: NDArray
    at: RequestStreamAt


@inline
def _runs_inside(users, job):
    """Whether the request of a job was accepted."""
    request = users.request[job]
    return request >= 0 and users.answer[request] != REFUSED


@bare
def next_coming(state, what, now):
    """Return the next submission, request or begin of a reservation."""
    users, at, machine = state.users, state.users.at, state.machine
    soonest = state.never
    if at.next < users.request.size:
        soonest = state.jobs.submit[at.next]
    if at.asked < users.asked.size:
        soonest = min(soonest, users.asked[at.asked])
    if machine.at.n_pending > 0:
        row = machine.at.first_request + machine.pending[machine.at.n_pending - 1]
        soonest = min(soonest, machine.claims.begin[row])
    return soonest


@bare
def act_on_all(state, what, now):
    """Begin reservations, answer requests, and add jobs; end those of 0 s inside reservations."""
    users, at, machine = state.users, state.users.at, state.machine
    first = machine.at.first_request
    while machine.at.n_pending > 0:
        row = first + machine.pending[machine.at.n_pending - 1]
        if machine.claims.begin[row] > now:
            break
        machine.at.n_pending -= 1
        begin_request(state, row, now)
    while at.asked < users.asked.size and users.asked[at.asked] <= now:
        _ask(state, at.asked, now)
        at.asked += 1
    while at.next < users.request.size and state.jobs.submit[at.next] <= now:
        if not _runs_inside(users, at.next):
            _copy(state.jobs, at.next, state.at.arrived)
            users.source[state.at.arrived] = at.next
            arrive(state, now)
        at.next += 1
    while state.at.n_running > 0 and state.ends[state.at.n_running - 1] <= now:
        end_due(state, now)


@inline
def _copy(jobs, job, to):
    """Copy a job to the next place of the tables."""
    jobs.submit[to], jobs.run[to] = jobs.submit[job], jobs.run[job]
    jobs.estimate[to], jobs.procs[to] = jobs.estimate[job], jobs.procs[job]
    jobs.user[to], jobs.queue[to] = jobs.user[job], jobs.queue[job]


@bare
def _ask(state, request, now):
    """Answer a request."""
    users, machine = state.users, state.machine
    row = machine.at.first_request + request
    begin, left = find_slot(state, row, users.earliest[request], machine.at.first_request)
    if begin > users.latest[request] or begin == state.never:
        return
    users.answer[request] = begin
    release_all(state, 0, now)
    plans_void(state, 0, now)
    if begin <= now:
        begin_request(state, row, now)
        return
    claim(state, row, begin, left)
    place, pending = machine.at.n_pending, machine.pending
    while (
        place > 0 and machine.claims.begin[machine.at.first_request + pending[place - 1]] <= begin
    ):
        pending[place] = pending[place - 1]
        place -= 1
    pending[place] = request
    machine.at.n_pending += 1


@bare
def look_ahead(state, what, now):
    """Do nothing, as nothing is planned."""


@bare
def submission_is_due(state, what, now):
    """Whether a submission or a request is due."""
    return next_coming(state, what, now) <= now


@bare
def take_one(state, what, now):
    """Process all that is due, as passes after each event are not supported."""
    act_on_all(state, what, now)


@bare
def act_on_submissions(state, what, now):
    """Begin reservations, answer requests, and add jobs."""
    act_on_all(state, what, now)


@bare
def notify_user(state, job, now):
    """Do nothing, as there are no users who react."""


register_functions(RequestStream, sys.modules[__name__])
