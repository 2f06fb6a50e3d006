"""Preceding jobs, by SWF field 17."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray


class Preceding(NamedTuple):
    """The preceding job of each job.

    Parameters
    ----------
    place : ndarray of int64, shape (n_jobs,)
        Position of the preceding job of each job, -1 for none.
    absent : int
        Number of jobs whose preceding job is not in the log.
    circular : int
        Number of jobs whose preceding job has the same number, or that are part of a cycle. They
        have no preceding job.
    """

    place: NDArray[np.int64]
    absent: int
    circular: int


def find_preceding(job: ArrayLike, submit: ArrayLike, preceding: ArrayLike) -> Preceding:
    """Find the preceding job of each job.

    If several jobs have the number, it is the last of them submitted earlier; if there is none,
    the first. Ties in submit time are broken by job number.

    Parameters
    ----------
    job : array_like of int, shape (n_jobs,)
        Job numbers.
    submit : array_like, shape (n_jobs,)
        [s]
    preceding : array_like of int, shape (n_jobs,)
        Number of each job's preceding job; below 1 for none.

    Examples
    --------
    >>> find_preceding([7, 8, 7, 9], [0, 10, 20, 30], [-1, 7, 5, 7])
    Preceding(place=array([-1,  0, -1,  2]), absent=1, circular=0)
    """
    number, target = np.asarray(job), np.asarray(preceding)
    n_jobs = number.size
    rank = np.empty(n_jobs, np.int64)  # positions in time
    in_time = np.lexsort((number, np.asarray(submit)))
    rank[in_time] = np.arange(n_jobs)

    place = np.full(n_jobs, -1)
    own = (target > 0) & (target == number)
    waiting = np.flatnonzero((target > 0) & ~own)
    numbers, of_number = np.unique(number, return_inverse=True)
    which = np.minimum(np.searchsorted(numbers, target[waiting]), numbers.size - 1)
    there = numbers[which] == target[waiting]
    absent, waiting, which = int((~there).sum()), waiting[there], which[there]
    # sort by number, then time, and take the entry before the waiting job
    by_key = np.lexsort((rank, of_number))
    keys = (of_number * n_jobs + rank)[by_key]
    found = np.searchsorted(keys, which * n_jobs + rank[waiting]) - 1
    later = (found < 0) | (of_number[by_key[found]] != which)
    place[waiting] = by_key[found + later]

    waits = np.flatnonzero(place >= 0)
    if (rank[place[waits]] > rank[waits]).any():  # otherwise chains go back in time and end
        own |= _in_circles(place)
        place[own] = -1
    return Preceding(place, absent, int(own.sum()))


def _in_circles(place: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each position leads back to itself; -1 leads nowhere.

    After as many steps as there are positions, all that lead into a cycle are in it, and each
    position of a cycle is reached.
    """
    nowhere = place.size
    there = np.append(np.where(place < 0, nowhere, place), nowhere)
    steps = 1
    while steps < place.size:
        there = there[there]
        steps *= 2
    circles = np.zeros(nowhere + 1, dtype=bool)
    circles[there] = True
    return circles[:-1]
