"""Predictions by their definitions, from a finished schedule; EASY++ as a program of its own."""

import heapq
import math
from fractions import Fraction


def ended_before(jobs, job, key):
    """Run times of the jobs with the same key that ended by a job's submission, oldest end first.

    `jobs` are dicts with submit, start, run, procs, limit and user.
    """
    ended = [
        (other["start"] + other["run"], other["start"], place, other["run"])
        for place, other in enumerate(jobs)
        if key(other) == key(job) and other["start"] + other["run"] <= job["submit"]
    ]
    return [run for *_, run in sorted(ended)]


def mean(runs, decay=1):
    weights = [Fraction(decay) ** age for age in range(len(runs) - 1, -1, -1)]
    return sum(w * run for w, run in zip(weights, runs, strict=True)) / sum(weights)


def quantile(runs, q):
    return next(x for x in sorted(runs) if sum(run <= x for run in runs) >= q * len(runs))


def user(job):
    return job["user"]


def same(job):
    return job["user"], job["procs"], job["limit"]


#: By specification: the key of the jobs that are learned from, and what these let expect.
FROM_THE_PAST = {
    "last-two": (user, lambda runs: mean(runs[-2:]) if len(runs) > 1 else None),
    "user-average": (user, lambda runs: mean(runs) if runs else None),
    "user-average:decay=0.5": (user, lambda runs: mean(runs, 0.5) if runs else None),
    "user-average:window=3": (user, lambda runs: mean(runs[-3:]) if runs else None),
    "user-average:window=3,decay=0.25": (
        user,
        lambda runs: mean(runs[-3:], 0.25) if runs else None,
    ),
    "same-job": (same, lambda runs: runs[-1] if runs else None),
    "quantile": (user, lambda runs: quantile(runs[-10:], 0.9) if runs else None),
    "quantile:q=0.5,window=4": (user, lambda runs: quantile(runs[-4:], 0.5) if runs else None),
}


def predict(jobs, specification):
    """Prediction for each job, in whole seconds if all times are whole."""
    names = ("submit", "run", "limit")
    whole = all(job[name] == int(job[name]) for job in jobs for name in names)
    rounded, least = (math.floor, 1) if whole else (float, 0)
    if specification == "exact":
        return [max(job["run"], least) for job in jobs]
    if specification.startswith("factor:"):
        times = float(specification[7:])
        return [max(rounded(job["limit"] * times), least) for job in jobs]
    key, expect = FROM_THE_PAST[specification]
    found = []
    for job in jobs:
        expected = expect(ended_before(jobs, job, key))
        expected = job["limit"] if expected is None else rounded(expected)
        found.append(min(max(expected, least), job["limit"]))
    return found


STEPS = [60 * minutes for minutes in (1, 5, 15, 30, 60, 120, 300, 600, 1200, 3000, 6000)]


def easy_plus_plus(jobs, procs, correct, *, renewed=False, by_event=False):
    """Starts of jobs (submit, run, limit, procs, user) under EASY++, with run <= limit.

    Predictions are corrected before each pass, as `correct` says. With `renewed`, those of waiting
    jobs are made again before each pass. Jobs of one second end in the order of their starts. With
    `by_event`, there is a pass after each submission of a second, then after each end; the
    processors of jobs that end then as planned are free in all of these passes.
    """
    free, started, waiting = procs, [None] * len(jobs), []
    planned = [limit for _, _, limit, _, _ in jobs]
    predicted, last = planned.copy(), {}
    ends, running, coming, n_started = [], set(), 0, 0

    def launch(job, now):
        nonlocal free, n_started
        started[job] = now
        free -= jobs[job][3]
        running.add(job)
        heapq.heappush(ends, (now + jobs[job][1], n_started, job))
        n_started += 1

    def give_back(job):
        nonlocal free
        if job in running:
            running.remove(job)
            free += jobs[job][3]

    def end_first():
        job = heapq.heappop(ends)[2]
        give_back(job)
        last[jobs[job][4]] = [*last.get(jobs[job][4], []), jobs[job][1]][-2:]

    def predict(job):
        seen = last.get(jobs[job][4], [])
        if len(seen) == 2:
            planned[job] = min(max(sum(seen) // 2, 1), jobs[job][2])
        predicted[job] = planned[job]

    def arrive():
        nonlocal coming
        predict(coming)
        waiting.append(coming)
        coming += 1

    def corrected(job):
        if correct == "requested":
            return jobs[job][2]
        if correct == "double":
            return 2 * planned[job]
        longer = [predicted[job] + step for step in STEPS if predicted[job] + step > planned[job]]
        return longer[0] if longer else jobs[job][2]

    while coming < len(jobs) or ends:
        now = min(
            jobs[coming][0] if coming < len(jobs) else math.inf, ends[0][0] if ends else math.inf
        )
        if by_event:
            for end, _, job in ends:
                if end == now == started[job] + planned[job]:
                    give_back(job)
            if coming < len(jobs) and jobs[coming][0] == now:
                arrive()
            else:
                end_first()
        else:
            while ends and ends[0][0] <= now:
                end_first()
            while coming < len(jobs) and jobs[coming][0] <= now:
                arrive()
        for job in running:
            while started[job] + planned[job] <= now:
                before = planned[job]
                planned[job] = min(corrected(job), jobs[job][2])
                if planned[job] == before:
                    break  # it ends in this second, at its limit
        if renewed:
            for job in waiting:
                predict(job)
        while waiting and jobs[waiting[0]][3] <= free:
            launch(waiting.pop(0), now)
        if len(waiting) > 1 and free > 0:
            shadow, spare = _reservation(jobs, waiting[0], running, started, planned, free)
            for job in sorted(waiting[1:], key=lambda job: planned[job]):
                needed, late = jobs[job][3], now + planned[job] > shadow
                if needed <= free and (not late or needed <= spare):
                    spare -= needed * late
                    waiting.remove(job)
                    launch(job, now)
    return started


def _reservation(jobs, head, running, started, planned, free):
    """When the head can start by the plans, and the processors that are spare then."""
    shadow = None
    for end, needed in sorted((started[job] + planned[job], jobs[job][3]) for job in running):
        if shadow is not None and end > shadow:
            break
        free += needed
        if shadow is None and free >= jobs[head][3]:
            shadow = end
    return shadow, free - jobs[head][3]
