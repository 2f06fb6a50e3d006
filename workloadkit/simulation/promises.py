"""What a policy promises of a schedule, checked against the times in the schedule alone."""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator
from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.simulation import schedulers
from workloadkit.simulation.claims import INSTANT, Claim, count_of, refuted, seconds, use_of
from workloadkit.simulation.holes import Profile, by_time, look_at_passes
from workloadkit.simulation.replaying import Rule, replay
from workloadkit.simulation.workload import Workload

# Policies whose queue is in the order of arrival, and whose head starts as soon as it fits.
_HEAD_STARTS = ("fcfs", "easy", "reservations")
# Policies that promise the head of that queue a start when it becomes the head.
_HEAD_IS_PROMISED = ("easy", "reservations")


class Case(NamedTuple):
    """The jobs of a schedule in the order of arrival, to be checked against a policy.

    Parameters
    ----------
    row : ndarray of int64, shape (n_jobs,)
        Of each job in the workload.
    job : ndarray of int64, shape (n_jobs,)
        Job numbers.
    submit, start, end, planned_end : ndarray, shape (n_jobs,)
        Instants of each job; the planned end is the start and the estimate. [s]
    run, estimate : ndarray, shape (n_jobs,)
        Run time, and what the scheduler plans with. [s]
    procs : ndarray of int64, shape (n_jobs,)
        Processors that each job needs.
    recorded_start : ndarray, shape (n_jobs,)
        Start in the log. [s]
    machine : int
        Processors of the machine.
    whole : bool
        Whether all times are whole seconds; they are int64 then.
    by_event : bool
        Whether there is a pass after each event.
    hindrance : str
        What stands against making the passes again; empty if nothing does.
    """

    row: NDArray[np.int64]
    job: NDArray[np.int64]
    submit: NDArray
    start: NDArray
    end: NDArray
    planned_end: NDArray
    run: NDArray
    estimate: NDArray
    procs: NDArray[np.int64]
    recorded_start: NDArray
    machine: int
    whole: bool
    by_event: bool
    hindrance: str = ""


def claims_of(
    name: str, depth: int, case: Case | None, workload: Workload, changing: bool, rule: Rule | None
) -> Iterator[Claim]:
    """Check what a policy states, one of so many reservations."""
    text = "jobs start as the policy has it"
    if name not in schedulers.known():
        why = f"{name} is not built in" if name else "no policy was named"
        yield Claim(text, "not applicable", f"{why}, so nothing was checked of its order")
        return
    if case is None:
        why = "only a schedule of all jobs as they are in the log can be checked for it"
        yield Claim(text, "not applicable", why)
        return
    if name == "recorded":
        yield _as_recorded(case)
        return
    if changing:
        why = "nothing was checked of it, as outages break the promises of any policy"
        yield Claim(text, "not applicable", why)
        return
    yield _claim("no job waits for an empty machine", _not_empty, case)
    if name == "fcfs":
        yield _claim("jobs start in the order of arrival", _in_order, case)
    if name in _HEAD_STARTS:
        yield _claim("the head starts as soon as it fits", _head_fits, case)
    overdue = int((workload.run > workload.estimate).sum())
    late = ""
    if overdue:
        jobs = count_of(overdue, "job")
        late = f"no such promise holds where jobs run longer than estimated, as {jobs} did"
    if name in _HEAD_IS_PROMISED:
        yield _claim("the head starts by its shadow time", _head_in_time, case, late)
        if depth > 1:
            yield from _reservations(case, depth, late or _decimals(case))
    elif name == "conservative" and depth:
        hindrance = late or _decimals(case)
        yield _claim("each job starts by its first promise", _promises_kept, case, hindrance)
    elif name != "fcfs" and rule is None:
        why = f"there is no check of the order of {name}, only of what any schedule must hold"
        yield Claim(text, "not applicable", why)
    if rule is not None:
        yield _each_pass(case, rule)


#: What leaves a policy no other schedule.
EACH_PASS = "each pass starts the jobs that the policy starts"


def _each_pass(case: Case, rule: Rule) -> Claim:
    """Make all passes again."""
    if not case.whole or case.hindrance:
        return Claim(EACH_PASS, "not applicable", case.hindrance or _decimals(case))
    found = replay(case, rule)
    if not found.differing:
        return Claim(EACH_PASS, "proved", f"{found.passes:,} passes", determines=True)
    said = []
    if found.waits >= 0:
        said.append(f"the policy starts job {case.job[found.waits]}, which waits")
    if found.starts >= 0:
        said.append(f"job {case.job[found.starts]} starts, which the policy lets wait")
    if found.head >= 0:
        said.append(f"the reservation is of job {case.job[found.head]} for {seconds(found.shadow)}")
    return refuted(EACH_PASS, f"at {seconds(found.now)} {'; '.join(said)}", found.differing)


def _decimals(case: Case) -> str:
    """Say why decimals stand against a check, if they do."""
    return "" if case.whole else "decimals round, and only whole seconds can be checked"


def _reservations(case: Case, depth: int, hindrance: str) -> Iterator[Claim]:
    """Check the reservations of the first so many in the queue, again in each pass."""
    texts = (
        f"the first {depth} in the queue start as soon as there is a hole for them",
        f"no start is in the way of the reservations of the first {depth}",
    )
    if hindrance:
        yield from (Claim(text, "not applicable", hindrance) for text in texts)
        return
    columns = (case.submit, case.start, case.end, case.planned_end, case.procs)
    found = look_at_passes(
        *(column.tolist() for column in columns),
        machine=case.machine,
        depth=depth,
        by_event=case.by_event,
    )
    proof = f"{found.seen:,} passes"
    if found.unseen:
        proof += f"; not of {count_of(found.unseen, 'second')} with several passes each"
    for text, jobs, does in zip(
        texts, (found.idle, found.in_the_way), ("waits", "starts"), strict=True
    ):
        if jobs:
            job, now = jobs[0]
            yield refuted(text, f"job {case.job[job]} {does} at {seconds(now)}", len(jobs))
        else:
            yield Claim(text, "proved", proof)


class _Found(NamedTuple):
    """What came out of a check: how much was looked at, or how often it fails and first how."""

    seen: str
    failures: int = 0
    first: str = ""


def _claim(text: str, check: Callable[[Case], _Found], case: Case, hindrance: str = "") -> Claim:
    """Check a claim if nothing stands against it."""
    if hindrance:
        return Claim(text, "not applicable", hindrance)
    found = check(case)
    if found.failures:
        return refuted(text, found.first, found.failures)
    return Claim(text, "proved", found.seen)


def _as_recorded(case: Case) -> Claim:
    text = "each job starts its recorded wait after its submission"
    off = np.flatnonzero(np.abs(case.start - case.recorded_start) > (0 if case.whole else INSTANT))
    if off.size:
        i = off[0]
        start, due = seconds(case.start[i]), seconds(case.recorded_start[i])
        return refuted(text, f"job {case.job[i]} starts at {start}, not {due}", off.size)
    return Claim(text, "proved", count_of(case.job.size, "job"), determines=True)


def _not_empty(case: Case) -> _Found:
    time = np.unique(np.concatenate([case.submit, case.start, case.end]))
    use = use_of(case.start, case.end, case.procs)
    before = np.searchsorted(use.time, time, side="right") - 1
    empty = np.where(before >= 0, use.after[before], 0) == 0
    passed = np.concatenate([[0], np.cumsum(empty[:-1] * np.diff(time))])  # with an empty machine
    submitted, started = np.searchsorted(time, case.submit), np.searchsorted(time, case.start)
    idle = np.flatnonzero(passed[started] > passed[submitted])
    if not idle.size:
        return _Found(f"empty {seconds(passed[-1])} of {seconds(time[-1] - time[0])}")
    i = idle[0]
    since = time[submitted[i] + np.argmax(empty[submitted[i] :])]
    return _Found("", idle.size, f"job {case.job[i]} waits and nothing runs from {seconds(since)}")


def _in_order(case: Case) -> _Found:
    overtaken = np.flatnonzero(np.diff(case.start) < 0)
    if overtaken.size:
        i = overtaken[0]
        start, other = seconds(case.start[i + 1]), seconds(case.start[i])
        first = f"job {case.job[i + 1]} starts at {start}, before job {case.job[i]} at {other}"
        return _Found("", overtaken.size, first)
    # what starts at the same instant does so in order: a job of run time 0 comes after, not before
    use = use_of(case.start, case.end, case.procs)
    held = np.where(case.end > case.start, case.procs, 0)
    before = np.cumsum(held) - held
    at_once = before - before[np.searchsorted(case.start, case.start)]
    ahead = np.flatnonzero(use.through[use.begin] + at_once + case.procs > case.machine)
    if ahead.size:
        i = ahead[0]
        first = f"job {case.job[i]} of run time 0 overtakes others at {seconds(case.start[i])}"
        return _Found("", ahead.size, first)
    return _Found(count_of(case.job.size, "job"))


def _heads(case: Case) -> tuple[NDArray[np.int64], NDArray]:
    """Jobs that wait as the head of the queue, and since when each job is: all before started."""
    started = np.concatenate([case.submit[:1], np.maximum.accumulate(case.start)[:-1]])
    since = np.maximum(case.submit, started)
    return np.flatnonzero(case.start > since), since


def _head_fits(case: Case) -> _Found:
    head, since = _heads(case)
    if not head.size:
        return _Found("none waited")
    use = use_of(case.start, case.end, case.procs)
    in_use = np.concatenate([[0], use.after])  # from before the first start
    low = np.searchsorted(use.time, since[head], side="right")
    high = np.searchsorted(use.time, case.start[head]) + 1
    least = np.minimum.reduceat(in_use, np.stack([low, high], axis=1).ravel())[::2]
    fits = np.flatnonzero(least + case.procs[head] <= case.machine)
    if not fits.size:
        return _Found(count_of(head.size, "head") + " waited")
    i, job = fits[0], head[fits[0]]
    place = low[i] + np.argmax(in_use[low[i] :] <= case.machine - case.procs[job])
    now = since[job] if place == low[i] else use.time[place - 1]
    free, needed = case.machine - in_use[place], count_of(case.procs[job], "processor")
    first = f"job {case.job[job]} of {needed} waits at {seconds(now)} with {free:,} free"
    return _Found("", fits.size, first)


def _head_in_time(case: Case) -> _Found:
    head, since = _heads(case)
    late, first = 0, ""
    for job, shadow in zip(head.tolist(), shadow_times(case, head, since), strict=True):
        if case.start[job] > shadow:
            late += 1
            start, when = seconds(case.start[job]), seconds(since[job])
            first = first or (
                f"job {case.job[job]}, head since {when}, starts at {start}, shadow time "
                f"{seconds(shadow)}"
            )
    exact = "exact " * bool((np.maximum(case.run, 1) == case.estimate).all())
    return _Found(f"{count_of(head.size, 'head')}, {exact}estimates", late, first)


def shadow_times(case: Case, heads: NDArray[np.int64], since: NDArray) -> Iterator[Any]:
    """When each head will fit at the latest, as planned when it became the head.

    The pass that makes a job the head starts those before it, and only then others. So of the
    jobs that start at that instant it counts those before it. Where there may have been more
    passes it counts all: then this is the shadow time after the last of them, never later.
    """
    job_starts, job_ends = (np.argsort(t, kind="stable").tolist() for t in (case.start, case.end))
    start, end, planned, procs, became = (
        t.tolist() for t in (case.start, case.end, case.planned_end, case.procs, since)
    )
    moments = set(case.start[case.end == case.start].tolist())
    running: list[tuple[Any, int]] = []  # by planned end; those that started before
    runs = [False] * len(start)
    used = n_started = n_ended = 0
    for head in heads.tolist():
        now = became[head]
        while n_started < len(start) and start[job_starts[n_started]] < now:
            job = job_starts[n_started]
            n_started += 1
            if end[job] > now:
                insort(running, (planned[job], job))
                runs[job] = True
                used += procs[job]
        while n_ended < len(end) and end[job_ends[n_ended]] <= now:
            job = job_ends[n_ended]
            n_ended += 1
            if runs[job]:
                del running[bisect_left(running, (planned[job], job))]
                used -= procs[job]
        several = case.by_event or not case.whole or now in moments
        beside = []
        place = n_started
        while place < len(start) and start[job_starts[place]] == now:
            job = job_starts[place]
            place += 1
            if end[job] > now and (job < head or several):
                beside.append((planned[job], job))
        free = case.machine - used - sum(procs[job] for _, job in beside)
        shadow = now
        for planned_end, job in sorted([*running, *beside]) if beside else running:
            if free >= procs[head]:
                break
            free += procs[job]
            shadow = max(planned_end, now)
        yield shadow


def _promises_kept(case: Case) -> _Found:
    promise = np.array(first_promises(case))
    broken = np.flatnonzero(case.start > promise)
    if not broken.size:
        early = int((case.start < promise).sum())
        return _Found(f"{early:,} of {promise.size:,} earlier")
    i = broken[0]
    start, due = seconds(case.start[i]), seconds(promise[i])
    first = f"job {case.job[i]} starts at {start}, promised {due} when it was submitted"
    return _Found("", broken.size, first)


def first_promises(case: Case) -> list[int]:
    """Reservation that each job gets at its submission, while jobs start as the schedule says."""
    submit, start, end, planned, estimate, procs = (
        getattr(case, name).tolist()
        for name in ("submit", "start", "end", "planned_end", "estimate", "procs")
    )
    arriving, starting = by_time(submit), by_time(start)
    profile = Profile(submit[0], case.machine)
    reserved: dict[int, int] = {}  # of the jobs that wait, in the order of arrival
    ending: dict[int, list[int]] = {}  # of the jobs that run, in the order of their starts
    promise = [0] * len(submit)
    used = 0
    room = False  # whether there may be earlier holes for jobs that wait
    for now in sorted({*submit, *start, *end}):
        profile.forget(now)
        passed = {job: begin for job, begin in reserved.items() if begin < now}
        if passed:
            room = True
            _plan_anew(profile, now, passed, reserved, estimate, procs)
        to_start = starting.get(now, [])
        on_time = {job for job in ending.get(now, []) if planned[job] == now}
        rounds = _rounds(arriving.get(now, []), ending, now, on_time if case.by_event else None)
        for ended, arrived in rounds:
            for job in ended:
                used -= procs[job]
                if planned[job] > now:
                    profile.take(now, planned[job], -procs[job])
                    room = True
            if ended and room:
                room = False
                for job, begin in reserved.items():
                    earlier = profile.earlier(begin, estimate[job], procs[job])
                    if earlier < begin:
                        profile.take(begin, begin + estimate[job], -procs[job])
                        profile.take(earlier, earlier + estimate[job], procs[job])
                        reserved[job] = earlier
                        room = True
            for job in arrived:
                promise[job] = reserved[job] = profile.reserve(estimate[job], procs[job])
            for job in to_start:
                if reserved.get(job, inf) <= now and used + procs[job] <= case.machine:
                    del reserved[job]
                    used += procs[job]
                    ending.setdefault(end[job], []).append(job)
        early = [job for job in to_start if job in reserved]
        for job in early:
            begin = reserved.pop(job)
            profile.take(begin, begin + estimate[job], -procs[job])
            if end[job] > now:
                profile.take(now, planned[job], procs[job])
                used += procs[job]
                ending.setdefault(end[job], []).append(job)
        if early:
            room = True
            if min(profile.free) < 0:  # what was reserved for others is taken
                _plan_anew(profile, now, reserved, reserved, estimate, procs)
    return promise


def _plan_anew(
    profile: Profile,
    now: int,
    jobs: Iterable[int],
    reserved: dict[int, int],
    estimate: list[int],
    procs: list[int],
) -> None:
    """Let jobs give up their reservations, all of them, and then take the earliest holes."""
    for job in jobs:
        profile.take(max(reserved[job], now), reserved[job] + estimate[job], -procs[job])
    for job in jobs:
        reserved[job] = profile.reserve(estimate[job], procs[job])


def _rounds(
    arrived: list[int], ending: dict[int, list[int]], now: int, on_time: set[int] | None
) -> Iterator[tuple[list[int], list[int]]]:
    """Yield what ends and arrives before each pass of an instant; who starts may end in it.

    With a pass after each event, the jobs that end `on_time` have ended before all of them.
    """
    if on_time is None:
        yield ending.pop(now, []), arrived
        while now in ending:
            yield ending.pop(now), []
        return
    if on_time:
        ending[now] = [job for job in ending[now] if job not in on_time]
    for job in arrived:
        yield [*on_time], [job]
        on_time = set()
    if on_time:
        yield [*on_time], []
    while ending.get(now):
        yield [ending[now].pop(0)], []
