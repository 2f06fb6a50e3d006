"""Compiled exchange of jobs between places in a log, and of estimates between jobs.

A place is the time and user of a submission; a job is what is submitted. Places and jobs are
numbered 0..n-1; a job has the number of its original place.
"""

from math import exp, log

import numpy as np

from workloadkit._kernels.compile import helper, kernel


@kernel
def exchange_jobs(place, period, work, load, low, high, n_proposals, rng):
    """Exchange random pairs of jobs, in place, unless that moves a period out of its band.

    The jobs are numbered by ascending `work`; ``place[j]`` is the place of job j and ``period[p]``
    the period of place p. `load` is the work of each period. The distance in work between the two
    jobs of a pair is drawn from all orders of magnitude: jobs with much work can only be exchanged
    with similar ones, jobs with little work with any. Returns the number of exchanged pairs.
    """
    n = work.size
    n_exchanged = 0
    for _ in range(n_proposals):
        a = int(rng.random() * n)
        b = a + int(exp(rng.random() * log(n)))
        if b >= n:
            continue
        here, there = period[place[a]], period[place[b]]
        if here != there:
            more_here = load[here] + (work[b] - work[a])
            more_there = load[there] + (work[a] - work[b])
            if not (low[here] <= more_here <= high[here]):
                continue
            if not (low[there] <= more_there <= high[there]):
                continue
            load[here] = more_here
            load[there] = more_there
        place[a], place[b] = place[b], place[a]
        n_exchanged += 1
    return n_exchanged


@kernel
def repeat_jobs(first, period, work, load, low, high, go_on, rng):
    """Repeat one job over a run of consecutive places; return the job of each place.

    The places of one user (or session) g are first[g]..first[g+1]-1, in order of time. A run
    continues to the next place with probability `go_on`. The repeated job is drawn from the jobs of
    the run; if that would move a period out of its band, the next of them is tried, and if none
    fits, all stay.
    """
    job = np.arange(period.size)
    for g in range(first.size - 1):
        begin = first[g]
        while begin < first[g + 1]:
            end = begin + 1
            while end < first[g + 1] and rng.random() < go_on:
                end += 1
            size = end - begin
            drawn = int(rng.random() * size)
            for i in range(size if size > 1 else 0):
                chosen = begin + (drawn + i) % size
                if _fits(begin, end, work[chosen], period, work, load, low, high):
                    for p in range(begin, end):
                        load[period[p]] += work[chosen] - work[p]
                        job[p] = chosen
                    break
            begin = end
    return job


@helper
def _fits(begin, end, new, period, work, load, low, high):
    """Whether work `new` at each of the places begin..end-1 keeps all periods in their bands."""
    p = begin
    while p < end:
        now = period[p]
        change = 0.0
        while p < end and period[p] == now:
            change += new - work[p]
            p += 1
        if not (low[now] <= load[now] + change <= high[now]):
            return False
    return True


# Assignment of a given set of estimates to jobs.


@kernel
def assign_estimates(run, pool, rng):
    """Return estimates of jobs by descending `run`, drawn from those of `pool` not below it.

    `pool` descends, has as many estimates as there are jobs, and none is below the run time at
    its place.
    """
    left = pool.copy()  # from `job` on: estimates that are not assigned yet
    estimate = np.empty(run.size)
    enough = 0  # estimates before this place are not below the run time of the job
    for job in range(run.size):
        while enough < run.size and pool[enough] >= run[job]:
            enough += 1
        k = rng.integers(job, enough)
        estimate[job] = left[k]
        left[k] = left[job]
    return estimate
