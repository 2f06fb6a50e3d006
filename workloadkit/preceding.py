"""Which job each one waits for, by SWF field 17."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray


class Preceding(NamedTuple):
    """The jobs that others wait for.

    Parameters
    ----------
    place : ndarray of int64, shape (n_jobs,)
        Place of the preceding job of each job, -1 for none.
    absent : int
        Jobs whose preceding job is not among them.
    circular : int
        Jobs whose preceding job has their own number, or that would wait for themselves in a
        circle of jobs. They wait for none.
    """

    place: NDArray[np.int64]
    absent: int
    circular: int


def find_preceding(job: ArrayLike, submit: ArrayLike, preceding: ArrayLike) -> Preceding:
    """Find the preceding job of each job.

    Where several jobs have the number, it is the last of them that was submitted before; if none
    was, the first. Jobs of one second are in the order of their numbers.

    Parameters
    ----------
    job : array_like of int, shape (n_jobs,)
        Job numbers.
    submit : array_like, shape (n_jobs,)
        [s]
    preceding : array_like of int, shape (n_jobs,)
        Number of the job that each waits for; below 1 for none.

    Examples
    --------
    >>> find_preceding([7, 8, 7, 9], [0, 10, 20, 30], [-1, 7, 5, 7])
    Preceding(place=array([-1,  0, -1,  2]), absent=1, circular=0)
    """
    number, asked = np.asarray(job), np.asarray(preceding)
    n_jobs = number.size
    rank = np.empty(n_jobs, np.int64)  # places in time
    in_time = np.lexsort((number, np.asarray(submit)))
    rank[in_time] = np.arange(n_jobs)

    place = np.full(n_jobs, -1)
    own = (asked > 0) & (asked == number)
    asks = np.flatnonzero((asked > 0) & ~own)
    numbers, of_number = np.unique(number, return_inverse=True)
    which = np.minimum(np.searchsorted(numbers, asked[asks]), numbers.size - 1)
    there = numbers[which] == asked[asks]
    absent, asks, which = int((~there).sum()), asks[there], which[there]
    # a key for each job, by number, then time: what stands before that of who asks
    by_key = np.lexsort((rank, of_number))
    keys = (of_number * n_jobs + rank)[by_key]
    found = np.searchsorted(keys, which * n_jobs + rank[asks]) - 1
    later = (found < 0) | (of_number[by_key[found]] != which)
    place[asks] = by_key[found + later]

    waits = np.flatnonzero(place >= 0)
    if (rank[place[waits]] > rank[waits]).any():  # else time goes on along each chain of jobs
        own |= _in_circles(place)
        place[own] = -1
    return Preceding(place, absent, int(own.sum()))


def _in_circles(place: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each place comes back to itself; -1 leads nowhere.

    After as many steps as there are places, all that lead into a circle are in it, and each place
    of a circle is reached.
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
