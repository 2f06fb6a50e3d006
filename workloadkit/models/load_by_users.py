"""Remove or duplicate whole users of a log to set its load."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from workloadkit.clock import DAY, WEEK
from workloadkit.errors import ParameterError, WorkloadError
from workloadkit.fields import MAX_JOBS_MADE, UNKNOWN
from workloadkit.trace import Trace
from workloadkit.utility import pack, unpack


def remove_users(
    trace: Trace, work: NDArray[np.float64], busy: float, rng: np.random.Generator
) -> tuple[Trace, int]:
    """Remove users in random order until the work per second is closest to `busy` processors.

    Parameters
    ----------
    work : ndarray of float, shape (n_jobs,)
        0 for jobs that did not run. [processor-seconds]

    Returns
    -------
    trace : Trace
    removed : int
        Number of users removed.
    """
    ran, user, submit = trace.ran, trace.column("user"), trace.column("submit")
    order = rng.permutation(_known_users(trace))
    # position of each job's user in the order; unknown users come last and stay
    by_number = np.argsort(order)
    found = by_number[np.minimum(np.searchsorted(order[by_number], user), order.size - 1)]
    place = np.where(order[found] == user, found, order.size)

    n = order.size + 1
    first, last = np.full(n, np.inf), np.full(n, -np.inf)
    np.minimum.at(first, place[ran], submit[ran])
    np.maximum.at(last, place[ran], submit[ran])
    # work, span and rate of the remaining users after removing the first k
    left = np.cumsum(np.bincount(place, work, minlength=n)[::-1])[::-1]
    span = np.maximum.accumulate(last[::-1])[::-1] - np.minimum.accumulate(first[::-1])[::-1]
    rate = np.divide(left, span, out=np.zeros(n), where=span > 0)
    k = int(np.argmax(rate <= busy)) if (rate <= busy).any() else n - 1
    if k and (span[k] <= 0 or abs(rate[k - 1] - busy) <= abs(rate[k] - busy)):
        k -= 1
    if not k:
        return trace, 0
    kept = trace.select(place >= k)
    preceding = kept.column("preceding_job")
    missing = ~np.isin(preceding, kept.column("job"))
    return kept.with_columns(
        preceding_job=np.where(missing, UNKNOWN, preceding),
        think_time=np.where(missing, np.nan, kept.column("think_time")),
    ), k


def double_users(
    trace: Trace, work: NDArray[np.float64], lacking: float, rng: np.random.Generator
) -> tuple[Trace, int]:
    """Duplicate users, in random order and in rounds, until their work is closest to `lacking`.

    Parameters
    ----------
    work : ndarray of float, shape (n_jobs,)
        0 for jobs that did not run. [processor-seconds]
    lacking : float
        Work to add, 0 or more. [processor-seconds]

    Returns
    -------
    trace : Trace
    added : int
        Number of duplicates.
    """
    users, user = _known_users(trace), trace.column("user")
    which = np.minimum(np.searchsorted(users, user), users.size - 1)
    of_user = np.bincount(which, np.where(users[which] == user, work, 0), minlength=users.size)
    if not of_user.sum() > 0:
        raise WorkloadError(f"{trace.name}: all known users have no work")
    rounds = int(lacking // of_user.sum()) + 1
    if rounds * trace.n_jobs > MAX_JOBS_MADE:
        raise ParameterError(
            "load",
            f"is too high: users would be duplicated {rounds:,} times; the limit is "
            f"{MAX_JOBS_MADE:,} jobs",
        )
    order = np.concatenate([rng.permutation(users.size) for _ in range(rounds)])
    total = np.concatenate([[0.0], np.cumsum(of_user[order])])
    k = int(np.argmin(np.abs(total - lacking)))
    return (_with_doubles(trace, users[order[:k]], rng) if k else trace), k


def _known_users(trace: Trace) -> NDArray[np.int64]:
    user = trace.column("user")
    users = np.unique(user[(user != UNKNOWN) & trace.ran])
    if not users.size:
        raise WorkloadError(
            f"{trace.name}: all users are unknown, so the load cannot be set by users"
        )
    return users


def _with_doubles(trace: Trace, users: NDArray[np.int64], rng: np.random.Generator) -> Trace:
    """Add a new user for each of `users`, with the same jobs at other times."""
    submit, user = trace.column("submit"), trace.column("user")
    begin = submit[trace.ran].min()
    span = float(submit[trace.ran].max() - begin)
    unit = WEEK if span >= 2 * WEEK else DAY
    units = int(span // unit)
    if units < 2:
        raise WorkloadError(
            f"{trace.name}: the log is shorter than two days, too short to duplicate users"
        )
    jobs_of = {u: np.flatnonzero(user == u) for u in np.unique(users).tolist()}
    start = {u: int(rng.integers(units - 1)) for u in jobs_of}
    rows, times, numbers = [np.arange(trace.n_jobs)], [submit], [user]
    for number, u in enumerate(users.tolist(), start=int(user.max()) + 1):
        shift = 1 + start[u] % (units - 1)
        start[u] += 1
        rows.append(jobs_of[u])
        times.append(begin + (submit[jobs_of[u]] - begin + shift * unit) % (units * unit))
        numbers.append(np.full(jobs_of[u].size, number))
    at = np.concatenate(times)
    order = np.argsort(at, kind="stable")
    row = np.concatenate(rows)[order]
    preceding = _renumbered(trace, np.argsort(order)[: trace.n_jobs] + 1)
    preceding = np.where(order < trace.n_jobs, preceding[row], UNKNOWN)
    think_time = np.where(preceding == UNKNOWN, np.nan, trace.column("think_time")[row])
    jobs = trace.jobs.take(row).reset_index(drop=True)
    jobs = jobs.assign(
        job=np.arange(1, row.size + 1),
        submit=at[order],
        user=np.concatenate(numbers)[order],
        preceding_job=preceding,
        think_time=think_time,
    )
    utility = trace.utility
    if len(utility):
        utility = unpack(pack(utility, trace.n_jobs).take(row))
    bursts = trace.bursts.iloc[:0]
    return replace(trace, jobs=jobs, utility=utility, bursts=bursts, sidecar=None, intake=None)


def _renumbered(trace: Trace, number: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the preceding job of each job by new job number, -1 if there is none."""
    job, preceding = trace.column("job"), trace.column("preceding_job")
    by_job = np.argsort(job, kind="stable")
    place = np.minimum(np.searchsorted(job[by_job], preceding), job.size - 1)
    found = by_job[place]
    return np.where((job[found] == preceding) & (preceding != UNKNOWN), number[found], UNKNOWN)
