"""Effect of a threshold or a cut on the distribution of session lengths."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloadkit.analysis.bootstrap import interval
from workloadkit.analysis.sessions.ways import Way

#: Ratio of the upper to the lower edge of a bin at a threshold.
STEP = 1.25

#: Ratio of the upper to the lower edge of a bin at a cut: an eighth of a doubling.
PEAK = 2 ** (1 / 8)

#: Least number of sessions about a limit.
FEWEST = 20

#: Edges of the bins, relative to the limit.
STEP_EDGES = STEP ** np.arange(-2, 3.0)
PEAK_EDGES = PEAK ** np.arange(-2.5, 3)


def drop(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the drop in the number of sessions across a threshold, relative to the trend.

    A session by "arrival" longer than the threshold has at least three jobs, so there are more
    sessions just below the threshold than above. There are four bins of equal width on a
    logarithmic axis, two below and two above. The result is the ratio of the inner two, divided by
    the geometric mean of the ratios of the two bins below and of the two bins above: 1 for a
    distribution without a drop.

    Parameters
    ----------
    counts : ndarray of float, shape (..., 4)
        Numbers of sessions in bins with edges `STEP_EDGES`, which include their upper edge.

    Returns
    -------
    ndarray of float, shape (...)
        NaN if a bin is empty or the bins have fewer than `FEWEST` sessions.

    Examples
    --------
    >>> float(drop(np.array([80.0, 80.0, 40.0, 40.0]))), float(drop(np.array([80.0, 40, 20, 10])))
    (2.0, 1.0)
    """
    far_below, below, above, far_above = np.moveaxis(_enough(counts), -1, 0)
    return below / above / np.sqrt(far_below / below * (above / far_above))


def peak(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the excess of sessions with the length of a cut over sessions of similar length.

    A job that ends later than the cut counts as ending at the cut, so all sessions with one such
    job are exactly as long as the cut. There are five bins of equal width on a logarithmic axis,
    the middle one around the cut. The result is the middle bin divided by the mean of the others.

    Parameters
    ----------
    counts : ndarray of float, shape (..., 5)
        Numbers of sessions in bins with edges `PEAK_EDGES`.

    Returns
    -------
    ndarray of float, shape (...)
        NaN if the other bins are empty or the bins have fewer than `FEWEST` sessions.

    Examples
    --------
    >>> float(peak(np.array([10.0, 10.0, 90.0, 20.0, 20.0])))
    6.0
    """
    counts = _enough(counts)
    others = np.delete(counts, 2, axis=-1)
    return counts[..., 2] / np.where(others.sum(axis=-1) > 0, others.mean(axis=-1), np.nan)


def jump_at_limit(
    way: Way,
    length: NDArray[np.float64],
    user: NDArray[np.int64],
    weights: NDArray[np.float64],
) -> dict[str, Any]:
    """Measure the jump in the number of sessions at a method's cut, or at its threshold.

    Parameters
    ----------
    way : Way
    length : ndarray of float, shape (n_sessions,)
        Session lengths. [s]
    user : ndarray of int, shape (n_sessions,)
        User indices.
    weights : ndarray of float, shape (n_resamples, n_users)
        Result of `analysis.bootstrap.resample_users`.

    Returns
    -------
    dict
        `way`, the name of the method; `method`, `threshold` [s], `cut` [s], `limit` [s]; the number
        of sessions in the bin below the threshold or around the cut, `at`, and in the bin above the
        threshold or, on average, in the four bins around that of the cut, `nearby`; the `jump`, by
        `drop` or `peak`, and its 95 % interval, `jump_low` and `jump_high`.
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
        "nearby": float(counts[2] if way.cut is None else np.delete(counts, at).mean()),
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
    """Count the sessions of each user in bins of length, which include their upper edge.

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
    """Return counts as floats; NaN if they are too few, and for an empty bin of four."""
    counts = np.asarray(counts, dtype=np.float64)
    counts = np.where(counts.sum(axis=-1, keepdims=True) >= FEWEST, counts, np.nan)
    return np.where(counts > 0, counts, np.nan) if counts.shape[-1] == 4 else counts
