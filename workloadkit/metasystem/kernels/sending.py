"""Built-in meta-schedulers in the compiled engine: they choose a site for each job in turn.

Sites are advanced only when they publish: all that happens in between depends on nothing that a
meta-scheduler does later.
"""

from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import (
    bare,
    chosen_by_type,
    inline,
    interpreted,
    kernel,
    native,
)
from workloadkit._kernels.memory import lay_out, pack
from workloadkit._kernels.record import by_reference
from workloadkit.fields import UNKNOWN
from workloadkit.metasystem.kernels.slots import Line, earliest_slot, start_by_key, take_slot
from workloadkit.metasystem.kernels.streams import go
from workloadkit.simulation.compiled.orders import settled_key
from workloadkit.simulation.orders import ARRIVAL, VisibleJob

# Codes of policies; only those after RANDOM look at what sites publish.
HOME, RANDOM, LEAST_WORK, SHORTEST_WAIT, CHEAPEST = range(5)


class MetaState(NamedTuple):
    """The sites and the jobs of meta-schedulers.

    Parameters
    ----------
    functions, memories : ndarray of int64, shape (n_sites,)
        Addresses of the native function of each site, and of its state.
    at : ndarray of records, shape (n_sites,)
        As in `streams.Streams`.
    inbox_time, inbox_job, plan_time, plan_level, plan_count, line_key, line_procs, line_estimate
        As in `streams.Streams`; a row for each site.
    order : ndarray of int64, shape (n_sites,)
        Code of the order of the queue.
    numbers : ndarray of int64, shape (n_sites, n)
        Its parameters, `n_numbers` of them.
    overtakes : ndarray of bool, shape (n_sites,)
    published, every : ndarray, shape (n_sites,)
        When each site published last, and its interval. [s]
    never_published : ndarray of bool, shape (n_sites,)
    size : ndarray of int64, shape (n_sites,)
        Processors.
    price : ndarray of float64, shape (n_sites,)
    scheduler, home, number, user, procs : ndarray of int64, shape (n_jobs,)
    submit : ndarray, shape (n_jobs,)
        [s]
    estimate, delay : ndarray, shape (n_sites, n_jobs)
        [s]
    admitted : ndarray of bool, shape (n_sites, n_jobs)
    draw : ndarray of float64, shape (n_jobs,)
        Random numbers from 0 to 1.
    policy : ndarray of int64, shape (n_schedulers,)
        Their codes.
    sent : ndarray, shape (n_schedulers, n_sites)
        Work that each has sent to a site and that is not in its publication. [processor-seconds]
    own_time, own_level, own_count : ndarray, shape (n_schedulers, n_sites, n)
        Published plans with the jobs that each has sent since, if the order is that of arrival.
    own_last : ndarray, shape (n_schedulers, n_sites)
        The planned start of the last of these jobs. [s]
    own_seen : ndarray of int64, shape (n_schedulers, n_sites)
        Up to which place of the inbox they are in the plan, -1 if it is to be made again.
    line : Line
        Room for `slots.start_by_key`.
    """

    functions: NDArray[np.int64]
    memories: NDArray[np.int64]
    at: np.recarray
    inbox_time: NDArray
    inbox_job: NDArray[np.int64]
    plan_time: NDArray
    plan_level: NDArray[np.int64]
    plan_count: NDArray[np.int64]
    line_key: NDArray[np.float64]
    line_procs: NDArray[np.int64]
    line_estimate: NDArray
    order: NDArray[np.int64]
    numbers: NDArray[np.int64]
    n_numbers: NDArray[np.int64]
    overtakes: NDArray[np.bool_]
    published: NDArray
    never_published: NDArray[np.bool_]
    every: NDArray
    size: NDArray[np.int64]
    price: NDArray[np.float64]
    scheduler: NDArray[np.int64]
    home: NDArray[np.int64]
    number: NDArray[np.int64]
    user: NDArray[np.int64]
    procs: NDArray[np.int64]
    submit: NDArray
    estimate: NDArray
    delay: NDArray
    admitted: NDArray[np.bool_]
    draw: NDArray[np.float64]
    policy: NDArray[np.int64]
    sent: NDArray
    own_time: NDArray
    own_level: NDArray[np.int64]
    own_count: NDArray[np.int64]
    own_last: NDArray
    own_seen: NDArray[np.int64]
    line: Line


#: States by the addresses that stand for them, without the compiler.
_interpreted: WeakValueDictionary[int, "NativeSite"] = WeakValueDictionary()


class NativeSite:
    """A site as kernels call it, by addresses; it must be kept while they do.

    Parameters
    ----------
    state : State
        With `Streams` in place of users.
    """

    def __init__(self, state: Any) -> None:
        self.state, self.function, self.memory = state, 0, id(self)
        if interpreted():
            _interpreted[self.memory] = self
            return
        self._packed = np.frombuffer(bytearray(pack(*lay_out(state))), np.int8)
        self._code = native(go, (state,), is_cached=True)
        self.function, self.memory = self._code.address, self._packed.ctypes.data


def go_one(function: int, memory: int) -> None:
    """Advance and survey a site, by addresses."""
    go(_interpreted[memory].state)


@chosen_by_type(go_one, "bare")
def _compiled_go_one(function: Any, memory: Any) -> Any:
    from workloadkit._kernels.native_calls import call_with

    return lambda function, memory: call_with(function, memory)


@kernel
def send_all(grid, first, end):
    """Decide for the jobs first..end-1; return the first that is left, as a site may require it."""
    return _send_all(by_reference(grid), first, end)


@kernel
def finish(grid):
    """Advance all sites to `until`."""
    _finish(by_reference(grid))


@bare
def _finish(grid):
    for m in range(grid.size.size):
        if not grid.at[m].asks:
            go_one(grid.functions[m], grid.memories[m])


@bare
def _send_all(grid, first, end):
    job = first
    while job < end:
        now, g = grid.submit[job], grid.scheduler[job]
        code = grid.policy[g]
        if code > RANDOM and not _all_publish(grid, now):
            break
        m = _choose(grid, code, job, now)
        _send(grid, m, job, now)
        if code > RANDOM:
            grid.sent[g, m] += grid.procs[job] * grid.estimate[m, job]
        job += 1
    return job


@bare
def _all_publish(grid, now):
    """Let all sites publish that are due; return whether no one requires a return."""
    for m in range(grid.size.size):
        every = grid.every[m]
        time = now - now % every if every > 0 else now
        if grid.never_published[m] or time > grid.published[m]:
            grid.at[m].until = time
            go_one(grid.functions[m], grid.memories[m])
            if grid.at[m].asks:
                return False
            grid.published[m], grid.never_published[m] = time, False
            _receive(grid, m)
    return True


@inline
def _receive(grid, m):
    """Note what a site has published, and which jobs are not in it."""
    for g in range(grid.policy.size):
        grid.sent[g, m], grid.own_seen[g, m] = 0, -1
    for place in range(grid.at[m].taken, grid.at[m].sent):
        job = grid.inbox_job[m, place]
        g = grid.scheduler[job]
        grid.sent[g, m] += grid.procs[job] * grid.estimate[m, job]


@inline
def _start(grid, g, m, job, arrival):
    """Return the predicted start of a job."""
    if grid.order[m] != ARRIVAL:
        return _start_by_key(grid, g, m, job, arrival)
    seen = grid.own_seen[g, m]
    if seen < 0 or (
        seen > grid.at[m].taken and not _arrives_before(grid, m, seen - 1, job, arrival)
    ):
        _copy_plan(grid, g, m)
        seen = grid.at[m].taken
    while seen < grid.at[m].sent and _arrives_before(grid, m, seen, job, arrival):
        other = grid.inbox_job[m, seen]
        if grid.scheduler[other] == g:
            begin = _next_slot(grid, g, m, other, grid.inbox_time[m, seen])
            time, level, count = grid.own_time[g, m], grid.own_level[g, m], grid.own_count[g, m]
            take_slot(time, level, count, begin, grid.estimate[m, other], grid.procs[other])
            grid.own_last[g, m] = begin
        seen += 1
    grid.own_seen[g, m] = seen
    return _next_slot(grid, g, m, job, arrival)


@inline
def _arrives_before(grid, m, place, job, arrival):
    """Whether a job of the inbox arrives before another one."""
    time = grid.inbox_time[m, place]
    number = grid.number[grid.inbox_job[m, place]]
    return time < arrival or (time == arrival and number <= grid.number[job])


@inline
def _copy_plan(grid, g, m):
    """Let a meta-scheduler's plan of a site be the published one."""
    n_steps = grid.plan_count[m, 0]
    grid.own_count[g, m, 0], grid.own_last[g, m] = n_steps, grid.at[m].last
    for step in range(n_steps):
        grid.own_time[g, m, step] = grid.plan_time[m, step]
        grid.own_level[g, m, step] = grid.plan_level[m, step]


@inline
def _next_slot(grid, g, m, job, arrival):
    """Return the start of a job behind all others of a meta-scheduler's plan."""
    time, level, count = grid.own_time[g, m], grid.own_level[g, m], grid.own_count[g, m]
    after = arrival if grid.overtakes[m] else max(arrival, grid.own_last[g, m])
    return earliest_slot(time, level, count, grid.procs[job], grid.estimate[m, job], after)


@bare
def _start_by_key(grid, g, m, job, arrival):
    """Return the predicted start of a job at a site whose queue has another order."""
    at, line = grid.at, grid.line
    _copy_plan(grid, g, m)
    n_jobs = at[m].in_line
    for place in range(n_jobs):
        line.key[place], line.arrival[place] = grid.line_key[m, place], grid.plan_time[m, 0]
        line.procs[place] = grid.line_procs[m, place]
        line.estimate[place] = grid.line_estimate[m, place]
    which, first = -1, grid.at[m].first
    for place in range(at[m].taken, at[m].sent + 1):
        other = job
        if place < at[m].sent:
            other = grid.inbox_job[m, place]
        if which < 0 and (other == job or not _arrives_before(grid, m, place, job, arrival)):
            which = n_jobs
            first = min(first, arrival)
            _put_in_line(grid, m, n_jobs, job, arrival, first)
            n_jobs += 1
        if other != job and grid.scheduler[other] == g:
            first = min(first, grid.inbox_time[m, place])
            _put_in_line(grid, m, n_jobs, other, grid.inbox_time[m, place], first)
            n_jobs += 1
    time, level, count = grid.own_time[g, m], grid.own_level[g, m], grid.own_count[g, m]
    return start_by_key(time, level, count, line, n_jobs, which, grid.overtakes[m])


@inline
def _put_in_line(grid, m, place, job, arrival, first):
    """Put a job that arrives into the line of a site."""
    line, length = grid.line, grid.estimate[m, job]
    seen = VisibleJob(arrival, length, grid.procs[job], grid.user[job], UNKNOWN, first)
    numbers = grid.numbers[m, : grid.n_numbers[m]]
    line.key[place], line.arrival[place] = settled_key(grid.order[m], seen, numbers), arrival
    line.procs[place], line.estimate[place] = grid.procs[job], length


@inline
def _choose(grid, code, job, now):
    """Return the site for a job."""
    if code == HOME:
        return grid.home[job]
    if code == RANDOM:
        return _drawn(grid, job)
    g, best, least, load_of_best = grid.scheduler[job], -1, 0.0, 0.0
    for m in range(grid.size.size):
        if grid.admitted[m, job]:
            load = (grid.at[m].remaining + grid.sent[g, m]) / grid.size[m]
            value = load
            if code == SHORTEST_WAIT:
                value = float(_start(grid, g, m, job, now + grid.delay[m, job]))
            elif code == CHEAPEST:
                value = grid.price[m] * grid.procs[job] * grid.estimate[m, job] / 3600
            tie = code == CHEAPEST and value == least and load < load_of_best
            if best < 0 or value < least or tie:
                best, least, load_of_best = m, value, load
    return best


@inline
def _drawn(grid, job):
    """Return the site that a random number draws."""
    n_admitting = 0
    for m in range(grid.size.size):
        n_admitting += grid.admitted[m, job]
    which, m = int(grid.draw[job] * n_admitting), 0
    while which > 0 or not grid.admitted[m, job]:
        which -= grid.admitted[m, job]
        m += 1
    return m


@inline
def _send(grid, m, job, now):
    """Put a job into the inbox of a site, in the order of (arrival, job number)."""
    time, jobs, at = grid.inbox_time, grid.inbox_job, grid.at
    arrival, place = now + grid.delay[m, job], at[m].sent
    number = grid.number[job]
    while place > at[m].taken and (
        time[m, place - 1] > arrival
        or (time[m, place - 1] == arrival and grid.number[jobs[m, place - 1]] > number)
    ):
        time[m, place], jobs[m, place] = time[m, place - 1], jobs[m, place - 1]
        place -= 1
    time[m, place], jobs[m, place] = arrival, job
    at[m].sent += 1
    for g in range(grid.policy.size):
        if grid.own_seen[g, m] > place:
            grid.own_seen[g, m] = -1
