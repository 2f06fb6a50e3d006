"""Simulation of networks of stations that are given by routing, with classes that may change."""

import heapq
import itertools
import random
from bisect import bisect_right
from collections import deque
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.analysis.queue_models.cross_check.estimates import Observed
from workloadkit.analysis.queue_models.cross_check.stations import observed


class Routed(NamedTuple):
    """A network by routing; a place is a class at a station, place = class K + station.

    Parameters
    ----------
    routing : ndarray, shape (P, P)
        Probability that a job goes from one place (row) to another; it leaves with the rest.
    S, scv : ndarray, shape (P,)
        Mean and squared coefficient of variation of the gamma-distributed service times.
    servers : ndarray, shape (K,)
        Servers of each station, inf for a delay station.
    lam, scv_arrivals : ndarray, shape (P,)
        Arrivals from outside per unit of time, and the scv of their gamma-distributed gaps.
    N : ndarray of int, shape (P,)
        Jobs that begin at each place.
    """

    routing: NDArray[np.float64]
    S: NDArray[np.float64]
    scv: NDArray[np.float64]
    servers: NDArray[np.float64]
    lam: NDArray[np.float64]
    scv_arrivals: NDArray[np.float64]
    N: NDArray[np.int64]


def play_routed(network: Routed, jobs: int, rng: np.random.Generator) -> Observed:
    """Play first come, first served stations, event by event, until the first `jobs` have left.

    Jobs that come from outside are observed as `class 0`, and visits as `class r at k`. Closed jobs
    never leave: there, visits count as jobs.
    """
    draw = random.Random(int(rng.integers(2**62)))
    tick = itertools.count()
    K = len(network.servers)
    onward = [row.cumsum().tolist() for row in network.routing]
    waiting: list[deque[tuple[int, int]]] = [deque() for _ in range(K)]
    free = network.servers.tolist()
    events: list[tuple[float, int, int, int]] = []  # time, order, job (-1 comes), place or visit
    passes: list[tuple[int, float]] = []
    ended: list[float] = []
    visits: list[list[Any]] = []  # class, station, arrival, start, end
    closed = bool(network.N.any())

    def after(now: float, mean: float, scv: float, job: int, what: int) -> float:
        time = now + (draw.gammavariate(1 / scv, scv * mean) if scv else mean)
        heapq.heappush(events, (time, next(tick), job, what))
        return time

    def come(now: float, job: int, place: int) -> None:
        visits.append([place // K, place % K, now, np.nan, np.nan])
        if closed:
            job = _new(passes, ended, place // K, now)
        if free[place % K] > 0:
            begin(now, job, len(visits) - 1)
        else:
            waiting[place % K].append((job, len(visits) - 1))

    def begin(now: float, job: int, visit: int) -> None:
        kind, station = visits[visit][:2]
        place = kind * K + station
        free[station] -= 1
        visits[visit][3:] = now, after(now, network.S[place], network.scv[place], job, visit)

    def arrive_after(now: float, place: int) -> None:
        after(now, 1 / network.lam[place], network.scv_arrivals[place], -1, place)

    for outside in np.flatnonzero(network.lam).tolist():
        arrive_after(0.0, outside)
    for beginning in np.repeat(np.arange(network.N.size), network.N).tolist():
        come(0.0, -1, beginning)
    left = jobs
    while left:
        now, _, job, what = heapq.heappop(events)
        if job < 0:
            arrive_after(now, what)
            come(now, _new(passes, ended, 0, now), what)
            continue
        kind, station = visits[what][:2]
        free[station] += 1
        if waiting[station]:
            begin(now, *waiting[station].popleft())
        row = onward[kind * K + station]
        place = bisect_right(row, draw.random() * (row[-1] if closed else 1.0))
        gone = place == len(row)
        if closed or gone:
            ended[job] = now
            left -= job < jobs
        if not gone:
            come(now, job, place)
    return observed(passes[:jobs], ended[:jobs], visits)


def _new(passes: list[tuple[int, float]], ended: list[float], kind: int, now: float) -> int:
    """Add a job, and return its number."""
    passes.append((kind, now))
    ended.append(np.nan)
    return len(passes) - 1
