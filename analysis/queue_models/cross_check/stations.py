"""Simulations of what no scheduler plays: networks of stations, and limited room."""

import heapq
import itertools
import random
from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from workloadkit.analysis.queue_models.cross_check.estimates import Observed

if TYPE_CHECKING:
    from numpy.typing import NDArray


class JobClass(NamedTuple):
    """A class of jobs of a network.

    Parameters
    ----------
    visits, service : sequence of float
        Mean number of visits to each station, and the mean service time of a visit.
    N : int
        Closed jobs; 0 for an open class.
    Z : float
        Mean think time of closed jobs, or between arrivals of open ones.
    """

    visits: Sequence[float]
    service: Sequence[float]
    N: int
    Z: float


def play_network(
    classes: Sequence[JobClass], servers: Sequence[float], jobs: int, rng: np.random.Generator
) -> Observed:
    """Play a network of first come, first served stations with exponential service, event by event.

    After each visit a job goes to a station in proportion to its visits, or ends: the number of
    visits in a pass is geometric, with the given means. Passes are observed from submission to end,
    as `class r`, and visits as `class r at k`. It ends with the last of the first `jobs` passes.
    """
    draw = random.Random(int(rng.integers(2**62)))
    tick = itertools.count()
    events: list[tuple[float, int, int, int]] = []  # time, order, job or -1 - class, visit
    waiting: list[deque[tuple[int, int]]] = [deque() for _ in servers]
    free = list(servers)
    passes: list[tuple[int, float]] = []  # class and submission
    ended: list[float] = []
    visits: list[list[Any]] = []  # class, station, arrival, start, end

    def at(time: float, who: int, visit: int = -1) -> None:
        heapq.heappush(events, (time, next(tick), who, visit))

    def pause(of: JobClass) -> float:
        return draw.expovariate(1 / of.Z) if of.Z else 0.0

    def begin(now: float, station: int, job: int, visit: int) -> None:
        free[station] -= 1
        visits[visit][3] = now
        mean = classes[passes[job][0]].service[station]
        visits[visit][4] = now + draw.expovariate(1 / mean)
        at(visits[visit][4], job, visit)

    def go_on(now: float, job: int) -> bool:
        """Send a job to a station; return whether its pass ends instead."""
        of = classes[passes[job][0]]
        place = draw.random() * (sum(of.visits) + 1)
        station = bisect_right(list(itertools.accumulate(of.visits)), place)
        if station == len(of.visits):
            ended[job] = now
            if of.N:
                at(now + pause(of), -1 - passes[job][0])
            return True
        visits.append([passes[job][0], station, now, np.nan, np.nan])
        if free[station] > 0:
            begin(now, station, job, len(visits) - 1)
        else:
            waiting[station].append((job, len(visits) - 1))
        return False

    for number, of in enumerate(classes):
        for _ in range(of.N or 1):
            at(pause(of), -1 - number)
    left = jobs
    while left:
        now, _, job, visit = heapq.heappop(events)
        if job < 0:
            number, job = -1 - job, len(passes)
            passes.append((number, now))
            ended.append(np.nan)
            if not classes[number].N:
                at(now + pause(classes[number]), -1 - number)
        else:
            station = visits[visit][1]
            free[station] += 1
            if waiting[station]:
                begin(now, station, *waiting[station].popleft())
        left -= go_on(now, job) and job < jobs
    return observed(passes[:jobs], ended[:jobs], visits)


def observed(
    passes: list[tuple[int, float]], ended: list[float], visits: list[list[Any]]
) -> Observed:
    """Return passes and visits as one set of records; visits after the last pass are left out."""
    whole, of_visits = np.array(passes), np.array(visits, dtype=np.float64).reshape(-1, 5)
    until = whole[-1, 1]
    of_visits = of_visits[of_visits[:, 2] < until]
    kinds = {int(r) for r in whole[:, 0]}
    none = np.zeros(len(of_visits), np.bool_)
    members: dict[str, NDArray[np.bool_]] = {
        f"class {r}": np.concatenate([whole[:, 0] == r, none]) for r in kinds
    }
    no_pass = np.zeros(len(whole), np.bool_)
    for r in kinds:
        for k in {int(k) for k in of_visits[:, 1]}:
            these = (of_visits[:, 0] == r) & (of_visits[:, 1] == k)
            members[f"class {r} at {k}"] = np.concatenate([no_pass, these])
    submit = np.concatenate([whole[:, 1], of_visits[:, 2]])
    start = np.concatenate([whole[:, 1], of_visits[:, 3]])
    end = np.concatenate([ended, of_visits[:, 4]])
    return Observed(submit, start, end, np.ones(submit.size), members, len(whole))


def play_limited_room(
    lam: float, S: float, servers: int, room: int, jobs: int, rng: np.random.Generator
) -> Observed:
    """Play Poisson arrivals of exponential service that are lost if `room` jobs are present."""
    submit = np.cumsum(rng.exponential(1 / lam, jobs))
    service = rng.exponential(S, jobs)
    free = [0.0] * servers
    present: list[float] = []  # ends of the jobs in the system
    start = np.full(jobs, np.nan)
    for job in range(jobs):
        while present and present[0] <= submit[job]:
            heapq.heappop(present)
        if len(present) < room:
            start[job] = max(submit[job], heapq.heappop(free))
            heapq.heappush(free, start[job] + service[job])
            heapq.heappush(present, start[job] + service[job])
    kept = np.flatnonzero(~np.isnan(start))
    ends = start[kept] + service[kept]
    everyone = np.ones(kept.size, np.bool_)
    return Observed(
        submit[kept], start[kept], ends, np.ones(kept.size), {"all": everyone}, kept.size
    )
