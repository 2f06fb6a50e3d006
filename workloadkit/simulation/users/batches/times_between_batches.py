"""The recorded times between each user's batches."""

import numpy as np
from numpy.typing import NDArray

from workloadkit.dependencies import Activities

#: A break is shorter than this. [s]
LONGEST_BREAK = 8 * 3600


def times_between_batches(acts: Activities) -> tuple[NDArray, NDArray[np.int64]]:
    """List the times between the batches of each user, separately by kind.

    Parameters
    ----------
    acts : Activities

    Returns
    -------
    value : ndarray
        In the order of the batches. [s]
    first : ndarray of int64, shape (4, n_users + 1)
        Those of kind k and user u are `value[first[k, u]:first[k, u + 1]]`. The kinds: 0
        inter-arrival times and 1 think times of batches that go on with a session; 2 and 3 the same
        of batches that open one, as far as they are shorter than `LONGEST_BREAK`.

    Examples
    --------
    >>> import workloadkit as wk
    >>> from workloadkit.dependencies import activities
    >>> log = {"submit": [0, 90, 7290], "run": [60, 30, 10], "procs": [1, 1, 1], "user": [5, 5, 5]}
    >>> value, first = times_between_batches(activities(wk.Trace.from_columns(log)))
    >>> value.tolist(), first.tolist()
    ([90, 30, 7200, 7170], [[0, 1], [1, 2], [2, 3], [3, 4]])
    """
    opens = np.diff(acts.session, prepend=-1) != 0
    values, firsts, n = [], [], 0
    for between in (False, True):
        for times in (acts.interarrival, acts.think_time):
            taken = (opens == between) & (times >= 0)
            if between:
                taken &= times < LONGEST_BREAK
            place = np.flatnonzero(taken)
            values.append(times[place])
            firsts.append(n + np.searchsorted(place, acts.first_batch))
            n += place.size
    return np.concatenate(values), np.array(firsts)
