"""Rules for the answers to requests for reservations, checked against the times in a schedule.

The answers are found again from the running jobs and the requests accepted before, at the second
of each request. The search shares no code with the simulator.
"""

from collections.abc import Iterator
from heapq import heappop, heappush
from math import inf, nextafter

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import plural
from workloadkit.io.reservations import ReservationRequests
from workloadkit.simulation.claims import ScheduleClaim, refuted, seconds, use_of
from workloadkit.simulation.machine.requested import REFUSED, RequestTable, request_table
from workloadkit.simulation.schedule import Schedule
from workloadkit.simulation.workload import Overrun, Workload


def reservations_are_kept(
    workload: Workload,
    schedule: Schedule,
    requests: ReservationRequests,
    overrun: Overrun,
    at: NDArray[np.int64],
    *,
    on_nodes: bool = False,
) -> Iterator[ScheduleClaim]:
    """Check the reservations of a schedule; `at` is the place of each job of the workload in it.

    On nodes, requests may have to wait for certain ones: then no answer is too early.
    """
    machine = schedule.machine
    table = request_table(requests, workload, machine, overrun)
    given = np.array(schedule.history["reservations"]["start"], table.asked.dtype)
    if given.size != table.number.size:
        why = f"{given.size} answers to {plural(table.number.size, 'request')}"
        yield refuted("each request has an answer", why, 1)
        return
    start = schedule.start[at]
    yield _jobs_are_inside(workload, table, given, start)
    yield _answers_are_right(workload, table, given, start, machine, exact=not on_nodes)
    yield _all_have_processors(workload, table, given, start, machine)


def _jobs_are_inside(
    workload: Workload, table: RequestTable, given: NDArray, start: NDArray
) -> ScheduleClaim:
    """Check that reservations begin when they suit, and jobs with them."""
    text = "each accepted reservation begins from its earliest to its latest start, with its job"
    accepted, has_job = given != REFUSED, table.job >= 0
    wrong = accepted & ((given < table.earliest) | (given > table.latest))
    late = accepted & has_job & (start[table.job] != given)
    for i in np.flatnonzero(wrong | late)[:1].tolist():
        why = f"reservation {table.number[i]} begins at {seconds(given[i])}"
        if late[i]:
            why += f", its job {workload.job[table.job[i]]} at {seconds(start[table.job[i]])}"
        return refuted(text, why, int((wrong | late).sum()))
    return ScheduleClaim(text, "proved", plural(int(accepted.sum()), "reservation"))


def _answers_are_right(
    workload: Workload,
    table: RequestTable,
    given: NDArray,
    start: NDArray,
    machine: int,
    *,
    exact: bool,
) -> ScheduleClaim:
    """Find each answer again, from what ran and was accepted when the request was made."""
    which = "each request has the first start" if exact else "no request has an earlier start than"
    text = f"{which} with room among running jobs and accepted requests"
    inside = np.zeros(start.size, dtype=bool)
    inside[table.job[(given != REFUSED) & (table.job >= 0)]] = True
    queued = np.flatnonzero(~inside)
    queued = queued[np.argsort(start[queued], kind="stable")]
    coming = list(
        zip(
            start[queued].tolist(),
            (start + workload.run)[queued].tolist(),
            (start + workload.estimate)[queued].tolist(),
            workload.procs[queued].tolist(),
            strict=True,
        )
    )[::-1]
    active: list[
        tuple[float, int, float, float, int]
    ] = []  # end, serial, begin, planned end, procs
    columns = (table.asked, table.earliest, table.latest, table.duration, table.run, table.procs)
    wrong, first = 0, ""
    for i, (asked, earliest, latest, duration, run, procs) in enumerate(
        zip(*(column.tolist() for column in columns), strict=True)
    ):
        while coming and coming[-1][0] < asked:
            begin, end, planned, size = coming.pop()
            heappush(active, (end, len(coming), begin, planned, size))
        while active and active[0][0] <= asked:
            heappop(active)
        held = [(max(begin, asked), planned, size) for _, _, begin, planned, size in active]
        right = _first_room(held, earliest, duration, machine - procs)
        right = REFUSED if right > latest else right
        later = not exact and (given[i] == REFUSED or REFUSED != right < given[i])
        if right != given[i] and not later:
            wrong += 1
            said = ["is refused" if x == REFUSED else f"begins at {x} s" for x in (given[i], right)]
            first = first or f"reservation {table.number[i]} {said[0]}; by the rule it {said[1]}"
        if given[i] != REFUSED:
            begin = given[i].item()  # its end comes after the requests of its second
            end = max(begin + run, nextafter(begin, inf))
            heappush(active, (end, -i, begin, begin + duration, procs))
    if wrong:
        return refuted(text, first, wrong)
    return ScheduleClaim(text, "proved", plural(table.number.size, "request"))


def _first_room(
    held: list[tuple[float, float, int]], earliest: float, duration: float, most: int
) -> float:
    """Return the first time from which on, for a duration, no more than `most` is held."""
    for time in [earliest, *sorted(end for _, end, _ in held if end > earliest)]:
        begins = [time, *(begin for begin, _, _ in held if time < begin < time + duration)]
        if all(sum(n for begin, end, n in held if begin <= t < end) <= most for t in begins):
            return time
    raise AssertionError("the machine is large enough")


def _all_have_processors(
    workload: Workload, table: RequestTable, given: NDArray, start: NDArray, machine: int
) -> ScheduleClaim:
    """Check that jobs and reservations together use no more processors than there are."""
    text = "no more processors are in use or reserved than the machine has"
    accepted = np.flatnonzero(given != REFUSED)
    alone = np.ones(start.size, dtype=bool)
    alone[table.job[accepted][table.job[accepted] >= 0]] = False
    begin = np.concatenate([start[alone], given[accepted]])
    end = np.concatenate([(start + workload.run)[alone], given[accepted] + table.run[accepted]])
    procs = np.concatenate([workload.procs[alone], table.procs[accepted]])
    use = use_of(begin, end, procs)
    beyond = np.flatnonzero(use.after > machine)
    if beyond.size:
        why = f"at {seconds(use.time[beyond[0]])} {use.after[beyond[0]]} of {machine}"
        return refuted(text, why, beyond.size)
    return ScheduleClaim(text, "proved", f"at most {use.after.max(initial=0)} of {machine}")
