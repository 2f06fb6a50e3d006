"""First come, first served, job by job: who comes first gets the first free server."""

import heapq
import itertools
import random


def simulate(lam, p, think, S, jobs, c=1, N=0, seed=0):
    """Play `jobs` jobs of new users who go on with the chance p(r), and of N closed users.

    `think` is the mean think time after a response r. All laws are exponential. Yields
    (submit, response, run, kind, visit, goes on) in the order of submission, kind 0 of users who
    come and go, 1 of closed ones; visit 0 is a user's first job.
    """
    rng = random.Random(seed)
    order = itertools.count()
    coming = [(0.0, next(order), 1, 0) for _ in range(N)]
    if lam:
        coming.append((rng.expovariate(lam), next(order), 0, 0))
    heapq.heapify(coming)
    free = [0.0] * c
    for _ in range(jobs):
        submit, _, kind, visit = heapq.heappop(coming)
        if kind == 0 and visit == 0:
            heapq.heappush(coming, (submit + rng.expovariate(lam), next(order), 0, 0))
        run = rng.expovariate(1 / S)
        end = max(submit, heapq.heappop(free)) + run
        heapq.heappush(free, end)
        r = end - submit
        goes_on = kind == 1 or rng.random() < p(r)
        yield submit, r, run, kind, visit, goes_on
        if goes_on:
            pause = think(r)
            back = end + (rng.expovariate(1 / pause) if pause else 0.0)
            heapq.heappush(coming, (back, next(order), kind, visit + 1))
