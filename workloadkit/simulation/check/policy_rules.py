"""The rules of policies and of reservations, checked against the times in a schedule alone."""

from collections.abc import Iterator
from heapq import heappop, heappush
from math import inf, nextafter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloadkit.distinct import distinct
from workloadkit.errors import plural
from workloadkit.io.reservations import ReservationRequests
from workloadkit.simulation import schedulers
from workloadkit.simulation.check.replaying import PlainRule, PolicyRule, replay
from workloadkit.simulation.check.replaying.predictions import (
    ANY,
    AS_RECORDED,
    EACH_PASS,
    NOT_EMPTY,
    proof_of,
)
from workloadkit.simulation.check.replaying.repeating import ReplayResult
from workloadkit.simulation.check.replaying.state import LATEST
from workloadkit.simulation.check.scheduled_jobs import ScheduleCase
from workloadkit.simulation.check.verdicts import INSTANT, ScheduleClaim, refuted, seconds, use_of
from workloadkit.simulation.compiled.state import never
from workloadkit.simulation.machine.reservable_plain import REFUSED, RequestTable, request_table
from workloadkit.simulation.schedule import Schedule
from workloadkit.simulation.workload import Overrun, Workload
from workloadkit.trace import Trace


def claims_of(
    policy: Any,
    case: ScheduleCase | None,
    rule: PolicyRule | PlainRule | None,
    *,
    changing: bool,
    unknown: str,
) -> Iterator[ScheduleClaim]:
    """Check the rules of a policy or name; `unknown` is why passes cannot be repeated, if so."""
    text, proof = "jobs start as the policy specifies", proof_of(policy)
    name = policy if isinstance(policy, str) else policy.name
    if name not in schedulers.known() and rule is None and proof == ANY:
        why = f"{name} is not built in" if name else "no policy was specified"
        yield ScheduleClaim(text, "not applicable", f"{why}, so the order of jobs was not checked")
        return
    if case is None:
        why = "the check requires a schedule of all jobs as they are in the log"
        yield ScheduleClaim(text, "not applicable", why)
        return
    if proof == AS_RECORDED:
        yield _as_recorded(case)
        return
    if unknown:
        yield ScheduleClaim(text, "not applicable", unknown)
        return
    if changing and (case.outages is None or rule is None):
        why = (
            "with outages, of processors and not of users, the check requires a Schedule in whole "
            "seconds with its stopped runs"
        )
        if rule is None:
            why = f"the order of {name} cannot be checked with outages"
        yield ScheduleClaim(text, "not applicable", why)
        return
    if rule is not None:
        yield _each_pass(case, rule)
        return
    if proof == NOT_EMPTY and (case.leaves is None or case.starts_known):
        yield _not_empty(case)
    why = f"the order of {name} cannot be checked, only the rules for every schedule"
    yield ScheduleClaim(text, "not applicable", why)


def _each_pass(case: ScheduleCase, rule: PolicyRule | PlainRule) -> ScheduleClaim:
    """Repeat all passes."""
    if (case.start < case.submit).any():
        return ScheduleClaim(EACH_PASS, "not applicable", "jobs start before they are submitted")
    found = replay(case, rule)
    predicted = isinstance(rule, PlainRule) and rule.predictions is not None
    if found.differing and not case.whole and (predicted or not case.exact):
        if rule.keeps:
            why = "decimals are rounded, and kept reservations differ after any difference"
            return ScheduleClaim(EACH_PASS, "not applicable", why)
        case = case.rounded()
        found = replay(case, rule)
    if found.differing:
        return refuted(EACH_PASS, _difference(case, found), found.differing)
    proof = plural(found.passes, "pass", "passes")
    if case.outages is not None:
        proof += "; the runs that outages stop are taken from the schedule"
    if not found.undetermined:
        return ScheduleClaim(EACH_PASS, "proved", proof, determines=case.outages is None)
    why = "the order of submissions and ends" if case.whole else "the rounding of decimals"
    if case.outages is not None:
        why = "the choice of processors before an announced outage, or the order of events"
    if found.until == -1:
        left = f"not in {plural(found.undetermined, 'second')}, which depend on"
    else:
        left = f"not from {seconds(found.until)} on, which depends on"
    return ScheduleClaim(EACH_PASS, "proved", f"{proof}; {left} {why}")


def _difference(case: ScheduleCase, found: ReplayResult) -> str:
    """Describe the first difference of a schedule."""
    said = []
    if found.waits >= 0:
        said.append(f"the policy starts job {case.job[found.waits]}, which waits")
    if found.starts >= 0:
        said.append(f"job {case.job[found.starts]} starts, which waits under the policy")
    if found.reserved >= 0 and found.begin < LATEST:
        job, begin = case.job[found.reserved], seconds(found.begin)
        said.append(f"the first reservation is of job {job} for {begin}")
    return f"at {seconds(found.now)} {'; '.join(said)}"


def _as_recorded(case: ScheduleCase) -> ScheduleClaim:
    text = AS_RECORDED
    began = np.flatnonzero(~case.ran & (case.start < never(case.start.dtype)))
    if began.size:
        i = began[0]
        why = f"job {case.job[i]}, which was cancelled, starts at {seconds(case.start[i])}"
        return refuted(text, why, began.size)
    off = np.abs(case.start - case.recorded_start) > (0 if case.whole else INSTANT)
    off = np.flatnonzero(off & case.ran)
    if off.size:
        i = off[0]
        start, due = seconds(case.start[i]), seconds(case.recorded_start[i])
        return refuted(text, f"job {case.job[i]} starts at {start}, not {due}", off.size)
    return ScheduleClaim(text, "proved", plural(int(case.ran.sum()), "job"), determines=True)


def slacks_are_kept(schedule: Schedule) -> ScheduleClaim:
    """Check the promised starts and slacks that a schedule of `slack` contains."""
    text = "no job starts later than its promised start plus its slack"
    said, jobs = schedule.parameters, schedule.jobs
    if {"predictor", "outages"} & set(said) or (jobs["run"] > jobs["estimate"]).any():
        why = "promises hold only if no job outlives what is planned with, and without outages"
        return ScheduleClaim(text, "not applicable", why)
    latest = (jobs["promised_start"] + jobs["slack"]).to_numpy()
    reserves = (jobs["estimate"] > 0).to_numpy()  # a reservation of 0 s holds nothing
    late = np.flatnonzero((schedule.start > latest + INSTANT) & reserves)
    if late.size:
        i = late[0]
        why = f"job {jobs['job'].iloc[i]} starts at {seconds(schedule.start[i])}"
        return refuted(text, f"{why}, not by {seconds(latest[i])}", late.size)
    later = int(np.count_nonzero(schedule.start > jobs["promised_start"]))
    return ScheduleClaim(text, "proved", f"{plural(later, 'job')} used slack")


def _not_empty(case: ScheduleCase) -> ScheduleClaim:
    text = NOT_EMPTY
    if not case.whole and not case.exact:  # a job may start a rounding after the end before it
        case = case.rounded()
    start, end = case.start, case.end
    if case.leaves is not None:  # those that leave hold no processors
        left = start == never(start.dtype)
        start, end = (np.where(left, case.leaves, times) for times in (start, end))
    time = distinct(np.concatenate([case.submit, start, end]))
    use = use_of(start, end, case.procs)
    before = np.searchsorted(use.time, time, side="right") - 1
    empty = np.where(before >= 0, use.after[before], 0) == 0
    passed = np.concatenate([[0], np.cumsum(empty[:-1] * np.diff(time))])  # with an empty machine
    submitted, started = np.searchsorted(time, case.submit), np.searchsorted(time, start)
    idle = np.flatnonzero(passed[started] > passed[submitted])
    if not idle.size:
        found = f"empty {seconds(passed[-1])} of {seconds(time[-1] - time[0])}"
        return ScheduleClaim(text, "proved", found)
    i = idle[0]
    since = time[submitted[i] + np.argmax(empty[submitted[i] :])]
    why = f"job {case.job[i]} waits and nothing runs from {seconds(since)}"
    return refuted(text, why, idle.size)


# Rules for the answers to requests for reservations, checked against the times in a schedule.
#
# The answers are found again from the running jobs and the requests accepted before, at the second
# of each request. The search shares no code with the simulator.


def around_reservations(
    workload: Workload,
    schedule: Schedule | Trace,
    requests: ReservationRequests | None,
    overrun: Overrun,
    at: NDArray[np.int64] | None,
    *,
    on_nodes: bool,
) -> Iterator[ScheduleClaim]:
    """Check reservations; the passes around them are not repeated."""
    known = isinstance(schedule, Schedule) and "reservations" in schedule.history
    if requests is not None and known and at is not None:
        assert isinstance(schedule, Schedule)
        yield from _reservations_are_kept(
            workload, schedule, requests, overrun, at, on_nodes=on_nodes
        )
    else:
        why = "the check requires the requests, and a Schedule of all jobs with the answers"
        yield ScheduleClaim("reservations are kept", "not applicable", why)
    why = "with reservations, passes are not repeated"
    yield ScheduleClaim("jobs start as the policy specifies", "not applicable", why)


def _reservations_are_kept(
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
