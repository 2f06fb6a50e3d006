"""Simulations of single stations that no scheduler plays: sharing, sizes, classes, impatience."""

import heapq
from typing import Literal, NamedTuple

import numpy as np

from workloadkit.analysis.queue_models.cross_check.estimates import Observed

#: Equal shares, shortest remaining time, shortest job without preemption, least attained service.
Order = Literal["ps", "srpt", "sjf", "fb"]


def gamma_times(rng: np.random.Generator, mean: float, scv: float, n: int) -> np.ndarray:
    """Draw gamma-distributed times."""
    return rng.gamma(1 / scv, scv * mean, n) if scv else np.full(n, mean)


def play_by_size(
    order: Order, lam: float, S: float, scv: float, jobs: int, rng: np.random.Generator
) -> Observed:
    """Play one server that shares itself or chooses by size; work counts as done at the end."""
    submit = np.cumsum(rng.exponential(1 / lam, jobs))
    size = gamma_times(rng, S, scv, jobs)
    end = np.full(jobs, np.nan)
    left = dict[int, float]()  # remaining times of the jobs in the system
    served: list[int] = []
    now, coming = 0.0, 0
    while coming < jobs or left:
        arrival = submit[coming] if coming < jobs else np.inf
        if left:
            served = _served(order, left, size, served)
            least = min(left[j] for j in served)
            ended = until = now + least * len(served)
            ending = [j for j in served if left[j] <= least * (1 + 1e-12)]
            if order == "fb":  # until the served jobs have as much service as the next
                attained = size[served[0]] - left[served[0]]
                others = [size[j] - left[j] for j in left if j not in served]
                if others:
                    until = min(until, now + (min(others) - attained) * len(served))
            step = min(until, arrival)
            for j in served:
                left[j] -= (step - now) / len(served)
            now = step
            for j in ending if step == ended else ():
                end[j] = now
                del left[j]
        if coming < jobs and (now >= arrival or not left):
            now = max(now, arrival)
            left[coming] = size[coming]
            coming += 1
    everyone = np.ones(jobs, np.bool_)
    return Observed(submit, end - size, end, np.ones(jobs), {"all": everyone}, jobs)


def _served(order: Order, left: dict[int, float], size: np.ndarray, before: list[int]) -> list[int]:
    """Return the jobs in service."""
    if order == "ps":
        return list(left)
    if order == "srpt":
        return [min(left, key=left.__getitem__)]
    if order == "sjf":
        return [j for j in before if j in left][:1] or [min(left, key=lambda j: float(size[j]))]
    attained = {j: float(size[j] - rest) for j, rest in left.items()}
    least = min(attained.values())
    return [j for j, done in attained.items() if done <= least + 1e-9 * (1 + least)]


def play_impatient(
    lam: float, S: float, servers: int, patience: float, jobs: int, rng: np.random.Generator
) -> Observed:
    """Play a queue that jobs leave after an exponential patience; these count until they leave."""
    submit = np.cumsum(rng.exponential(1 / lam, jobs))
    service, patient = rng.exponential(S, jobs), rng.exponential(patience, jobs)
    free = [0.0] * servers
    start, end = np.empty(jobs), np.empty(jobs)
    stayed = np.ones(jobs, np.bool_)
    for j in range(jobs):
        start[j] = max(submit[j], free[0])
        if start[j] - submit[j] > patient[j]:
            start[j] = end[j] = submit[j] + patient[j]
            stayed[j] = False
            continue
        end[j] = start[j] + service[j]
        heapq.heapreplace(free, end[j])
    members = {"all": np.ones(jobs, np.bool_), "served": stayed}
    return Observed(submit, start, end, np.ones(jobs), members, jobs)


def play_breakdowns(
    lam: float, S: float, up: float, down: float, jobs: int, rng: np.random.Generator
) -> Observed:
    """Play one server that breaks down, also when idle; jobs continue after the repair."""
    submit = np.cumsum(rng.exponential(1 / lam, jobs))
    service = rng.exponential(S, jobs)
    end = np.empty(jobs)
    now, breaks = 0.0, float(rng.exponential(up))
    for j in range(jobs):
        now, left = max(now, submit[j]), service[j]
        while breaks < now + left:
            left -= max(breaks - now, 0.0)
            repaired = breaks + rng.exponential(down)
            breaks = repaired + rng.exponential(up)
            now = max(now, repaired)
        now = end[j] = now + left
    everyone = np.ones(jobs, np.bool_)
    return Observed(submit, end - service, end, np.ones(jobs), {"all": everyone}, jobs)


def play_general(
    lam: float,
    S: float,
    scv_arrivals: float,
    scv: float,
    servers: float,
    jobs: int,
    rng: np.random.Generator,
) -> Observed:
    """Play gamma-distributed arrivals and service, first come, first served."""
    submit = np.cumsum(gamma_times(rng, 1 / lam, scv_arrivals, jobs))
    return _in_order(submit, gamma_times(rng, S, scv, jobs), int(servers))


def _in_order(submit: np.ndarray, service: np.ndarray, servers: int = 1) -> Observed:
    """Play jobs first come, first served."""
    jobs, free = submit.size, [0.0] * servers
    start = np.empty(jobs)
    for j in range(jobs):
        start[j] = max(submit[j], free[0])
        heapq.heapreplace(free, start[j] + service[j])
    everyone = np.ones(jobs, np.bool_)
    return Observed(submit, start, start + service, np.ones(jobs), {"all": everyone}, jobs)


def play_batches(
    lam: float,
    S: float,
    scv: float,
    size: float,
    scv_size: float,
    jobs: int,
    rng: np.random.Generator,
) -> Observed:
    """Play batches of 1 + a negative binomial number of jobs (Poisson if it must vary less)."""
    more, variance = size - 1, scv_size * size**2
    n = int(jobs / size) + 1
    if variance > more * (1 + 1e-9):
        others = rng.negative_binomial(more**2 / (variance - more), more / variance, n)
    else:
        others = rng.poisson(more, n)
    submit = np.repeat(np.cumsum(rng.exponential(1 / lam, n)), others + 1)
    return _in_order(submit, gamma_times(rng, S, scv, submit.size))


def play_vacations(
    lam: float,
    S: float,
    scv: float,
    away: float,
    scv_away: float,
    jobs: int,
    rng: np.random.Generator,
) -> Observed:
    """Play one server that goes away, again and again, whenever no job is there."""
    submit = np.cumsum(rng.exponential(1 / lam, jobs))
    service = gamma_times(rng, S, scv, jobs)
    start, now = np.empty(jobs), 0.0
    for j in range(jobs):
        while now < submit[j]:
            now += float(gamma_times(rng, away, scv_away, 1)[0])
        start[j] = now
        now += service[j]
    everyone = np.ones(jobs, np.bool_)
    return Observed(submit, start, start + service, np.ones(jobs), {"all": everyone}, jobs)


def play_bulk(lam: float, S: float, size: float, jobs: int, rng: np.random.Generator) -> Observed:
    """Play one server that takes up to `size` waiting jobs at once."""
    submit = np.cumsum(rng.exponential(1 / lam, jobs))
    start, end = np.empty(jobs), np.empty(jobs)
    now, first = 0.0, 0
    while first < jobs:
        now = max(now, submit[first])
        after = min(int(np.searchsorted(submit, now, "right")), first + int(size))
        start[first:after] = now
        now += float(rng.exponential(S))
        end[first:after] = now
        first = after
    held = np.full(jobs, 0.0)  # the server is busy once for the jobs of a service
    held[np.flatnonzero(np.diff(start, prepend=-1.0))] = 1.0
    return Observed(submit, start, end, held, {"all": np.ones(jobs, np.bool_)}, jobs)


def play_fork_join(
    lam: float, S: float, tasks: float, jobs: int, rng: np.random.Generator
) -> Observed:
    """Play jobs that end with the last of their tasks, each at a server of its own.

    The work of a job counts as done at its end, by as many servers as its tasks need in the mean.
    """
    submit = np.cumsum(rng.exponential(1 / lam, jobs))
    free, end, work = np.zeros(int(tasks)), np.empty(jobs), np.empty(jobs)
    for j in range(jobs):
        service = rng.exponential(S, free.size)
        free = np.maximum(free, submit[j]) + service
        end[j], work[j] = free.max(), service.mean()
    everyone = np.ones(jobs, np.bool_)
    return Observed(submit, end - work, end, np.ones(jobs), {"all": everyone}, jobs)


class Classes(NamedTuple):
    """Classes of jobs at a station, in the order of their priority; arrays of shape (R,).

    `weight` is None unless the classes share one server by weights.
    """

    lam: np.ndarray
    S: np.ndarray
    scv: np.ndarray
    servers: int
    preemptive: bool
    weight: np.ndarray | None


def play_classes(classes: Classes, jobs: int, rng: np.random.Generator) -> Observed:
    """Play Poisson arrivals of classes with priorities or weights; work is done at the end."""
    total = classes.lam.sum()
    submit = np.cumsum(rng.exponential(1 / total, jobs))
    kind = rng.choice(classes.lam.size, jobs, p=classes.lam / total)
    size = np.empty(jobs)
    for r, (mean, scv) in enumerate(zip(classes.S, classes.scv, strict=True)):
        size[kind == r] = gamma_times(rng, mean, scv, int((kind == r).sum()))
    kinds = kind.tolist()
    end = np.full(jobs, np.nan)
    left = dict[int, float]()  # remaining times of the jobs in the system
    speed = dict[int, float]()  # of those in service
    now, coming = 0.0, 0
    while coming < jobs or left:
        arrival = float(submit[coming]) if coming < jobs else np.inf
        first = min(speed, key=lambda j: left[j] / speed[j], default=-1)
        ends = now + left[first] / speed[first] if speed else np.inf
        step = min(ends, arrival)
        for j, rate in speed.items():
            left[j] -= (step - now) * rate
        now = step
        if ends <= arrival:
            end[first] = now
            del left[first], speed[first]
        else:
            left[coming] = float(size[coming])
            coming += 1
        speed = _speeds(classes, left, kinds, speed)
    members = {f"class {r}": kind == r for r in range(classes.lam.size)}
    return Observed(submit, end - size, end, np.ones(jobs), members, jobs)


def play_sources(
    classes: Classes, N: np.ndarray, Z: np.ndarray, jobs: int, rng: np.random.Generator
) -> Observed:
    """Play closed users of classes with priorities; work is done at the end of a job."""
    of_user = np.repeat(np.arange(N.size), N.astype(int)).tolist()
    thinking = [(float(rng.exponential(Z[k])), user) for user, k in enumerate(of_user)]
    heapq.heapify(thinking)
    submit, size = list[float](), list[float]()
    user, kind = list[int](), list[int]()
    end = dict[int, float]()
    left = dict[int, float]()  # remaining times of the jobs in the system
    speed = dict[int, float]()  # of those in service
    now = 0.0
    while len(submit) < jobs or any(j < jobs for j in left):
        arrival = thinking[0][0] if thinking else np.inf
        first = min(speed, key=lambda j: left[j], default=-1)
        step = min(now + left[first] if speed else np.inf, arrival)
        for j in speed:
            left[j] -= step - now
        if step < arrival:
            end[first] = step
            k = kind[first]
            heapq.heappush(thinking, (step + float(rng.exponential(Z[k])), user[first]))
            del left[first], speed[first]
        else:
            _, who = heapq.heappop(thinking)
            user.append(who)
            kind.append(of_user[who])
            submit.append(step)
            size.append(float(rng.exponential(classes.S[kind[-1]])))
            left[len(submit) - 1] = size[-1]
        now = step
        speed = _speeds(classes, left, kind, speed)
    ends = np.array([end[j] for j in range(jobs)])
    members = {f"class {r}": np.array(kind[:jobs]) == r for r in range(N.size)}
    begun = ends - np.array(size[:jobs])
    return Observed(np.array(submit[:jobs]), begun, ends, np.ones(jobs), members, jobs)


def _speeds(
    classes: Classes, left: dict[int, float], kind: list[int], before: dict[int, float]
) -> dict[int, float]:
    """Return the speeds of the jobs in service."""
    if classes.weight is not None:
        shares = {j: float(classes.weight[kind[j]]) for j in left}
        return {j: share / sum(shares.values()) for j, share in shares.items()}
    held = {} if classes.preemptive else before
    room = classes.servers - len(held)
    others = sorted((kind[j], j) for j in left if j not in held)[:room]
    return held | {j: 1.0 for _, j in others}
