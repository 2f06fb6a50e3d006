"""What users of a site draw from, as arrays."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Samples(NamedTuple):
    """What is drawn, each value as often as it occurs, ascending; times in whole seconds.

    The workpools stand one behind the other: that of period p has the sizes
    ``size[first_size[p] : first_size[p + 1]]``, and run times and repetitions likewise.

    Parameters
    ----------
    width, gap, think, pause : ndarray of int64
        Jobs of a batch; seconds between two of them; think times and breaks. [s]
    size, run, repetition : ndarray of int64
        Where they are drawn together, as many sizes as run times, by pairs.
    first_size, first_run, first_repetition : ndarray of int64, shape (n_pools + 1,)
    """

    width: NDArray[np.int64]
    gap: NDArray[np.int64]
    think: NDArray[np.int64]
    pause: NDArray[np.int64]
    size: NDArray[np.int64]
    run: NDArray[np.int64]
    repetition: NDArray[np.int64]
    first_size: NDArray[np.int64]
    first_run: NDArray[np.int64]
    first_repetition: NDArray[np.int64]
