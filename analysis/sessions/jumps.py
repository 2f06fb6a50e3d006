"""What a threshold or a cut does to the distribution of session lengths, measured at the limit."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.bootstrap import interval
from analysis.sessions.ways import Way

#: Width of a bin at a threshold: the longest length over the shortest.
STEP = 1.25

#: Width of a bin at a cut: an eighth of a doubling.
PEAK = 2 ** (1 / 8)

#: Fewer sessions about a limit than this tell nothing.
FEWEST = 20

#: Where the bins end, as multiples of the limit.
STEP_EDGES = STEP ** np.arange(-2, 3.0)
PEAK_EDGES = PEAK ** np.arange(-2.5, 3)


def drop(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """How much the number of sessions falls across a threshold, beyond the trend about it.

    A session by "arrival" that is longer than the threshold has three jobs at least, so there are
    more sessions just below the threshold than just above. Of four bins of equal width on a
    logarithmic axis, two below and two above, the result is the ratio of the inner ones, over the
    geometric mean of the ratios of the two bins below and of the two bins above: 1 where the
    distribution goes on as it comes.

    Parameters
    ----------
    counts : ndarray of float, shape (..., 4)
        Numbers of sessions in the bins, ascending; `STEP_EDGES`, a length of exactly an edge being
        below it.

    Returns
    -------
    ndarray of float, shape (...)
        NaN where a bin is empty or all hold fewer than `FEWEST`.

    Examples
    --------
    >>> float(drop(np.array([80.0, 80.0, 40.0, 40.0]))), float(drop(np.array([80.0, 40, 20, 10])))
    (2.0, 1.0)
    """
    far_below, below, above, far_above = np.moveaxis(_enough(counts), -1, 0)
    return below / above / np.sqrt(far_below / below * (above / far_above))


def peak(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """How many more sessions end at a cut than end about it.

    A job that ends later than the cut counts as if it ended there, so all sessions of one such
    job are exactly as long as the cut. Of five bins of equal width on a logarithmic axis, the
    middle one about the cut, the result is what the middle one holds over the mean of the others.

    Parameters
    ----------
    counts : ndarray of float, shape (..., 5)
        Numbers of sessions in the bins, ascending; `PEAK_EDGES`.

    Returns
    -------
    ndarray of float, shape (...)
        NaN where the others are empty or all hold fewer than `FEWEST`.

    Examples
    --------
    >>> float(peak(np.array([10.0, 10.0, 90.0, 20.0, 20.0])))
    6.0
    """
    counts = _enough(counts)
    beside = np.delete(counts, 2, axis=-1)
    return counts[..., 2] / np.where(beside.sum(axis=-1) > 0, beside.mean(axis=-1), np.nan)


def jump_at_limit(
    way: Way,
    length: NDArray[np.float64],
    user: NDArray[np.int64],
    weights: NDArray[np.float64],
) -> dict[str, Any]:
    """Measure the mark that a way to delimit sessions leaves at its cut, else at its threshold.

    Parameters
    ----------
    way : Way
    length : ndarray of float, shape (n_sessions,)
        [s]
    user : ndarray of int, shape (n_sessions,)
        From 0.
    weights : ndarray of float, shape (n_resamples, n_users)
        As `analysis.bootstrap.resample_users` gives them.

    Returns
    -------
    dict
        `way`, its name; `method`, `threshold` [s], `cut` [s], `limit` [s]; the number of sessions
        in the bin that ends at the threshold or is about the cut, `at`, and in the bin above the
        threshold or, on average, in the four about that of the cut, `beside`; the `jump`, by
        `drop` or by `peak`, and its 95 % interval, `jump_low` and `jump_high`.
    """
    edges, measure, at = (STEP_EDGES, drop, 1) if way.cut is None else (PEAK_EDGES, peak, 2)
    of_user = count_about(length, user, weights.shape[1], way.limit * edges)
    counts = of_user.sum(axis=0)
    low, high = interval(measure(weights @ of_user)).tolist()
    return {
        "way": way.name,
        **way._asdict(),
        "limit": way.limit,
        "at": int(counts[at]),
        "beside": float(counts[2] if way.cut is None else np.delete(counts, at).mean()),
        "jump": float(measure(counts)),
        "jump_low": low,
        "jump_high": high,
    }


def count_about(
    length: NDArray[np.float64],
    user: NDArray[np.int64],
    n_users: int,
    edges: NDArray[np.float64],
) -> NDArray[np.int64]:
    """Count the sessions of each user in bins of their lengths.

    Parameters
    ----------
    length : ndarray of float, shape (n_sessions,)
        [s]
    user : ndarray of int, shape (n_sessions,)
        From 0.
    n_users : int
    edges : ndarray of float, shape (n_bins + 1,)
        Ascending; a length of exactly an edge belongs to the bin below. [s]

    Returns
    -------
    ndarray of int, shape (n_users, n_bins)

    Examples
    --------
    >>> count_about(np.array([1.0, 2, 5]), np.array([0, 1, 1]), 2, np.array([0, 1, 2])).tolist()
    [[1, 0], [0, 1]]
    """
    n_bins = edges.size - 1
    place = np.searchsorted(edges, length) - 1
    inside = (place >= 0) & (place < n_bins)
    counts = np.bincount(user[inside] * n_bins + place[inside], minlength=n_users * n_bins)
    return counts.reshape(n_users, n_bins)


def _enough(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return counts as floats; NaN where there are too few, and for an empty bin of four."""
    counts = np.asarray(counts, dtype=np.float64)
    counts = np.where(counts.sum(axis=-1, keepdims=True) >= FEWEST, counts, np.nan)
    return np.where(counts > 0, counts, np.nan) if counts.shape[-1] == 4 else counts
