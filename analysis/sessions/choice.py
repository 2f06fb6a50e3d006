"""Recommendation of a session method for a log, from the measured faults of each method."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.analysis.bootstrap import interval
from workloadkit.analysis.formats import duration, number, share, with_interval
from workloadkit.sessions import THRESHOLDS

# Compared methods to delimit sessions.
#
# Last, Max and Arrival, and Last+Cut and Max+Cut with cuts of 30 min, 1 h and 2 h. With a cut of 0
# both are equal to Arrival with their own threshold of 20 min, so Arrival with 20 min is that
# limit.

#: Cuts and thresholds of the source (Zakay 2012, sections 5 and 6). [s]
CUTS = (1800.0, 3600.0, 7200.0)
TRIED = (600.0, 1200.0, 3600.0)


class Way(NamedTuple):
    """A method to delimit sessions, with the arguments of `workloadkit.delimit_sessions`."""

    method: str
    threshold: float
    cut: float | None = None

    @property
    def kind(self) -> str:
        """Name in the source, without the cut."""
        return self.method.title() + ("" if self.cut is None else "+Cut")

    @property
    def name(self) -> str:
        """Name with the cut."""
        return self.kind + ("" if self.cut is None else f" {duration(self.cut)}")

    @property
    def limit(self) -> float:
        """Cut, or threshold without a cut: the length with a possible jump [s]."""
        return self.threshold if self.cut is None else self.cut


#: Compared methods of the source, with default thresholds.
WAYS = (
    *(Way(method, THRESHOLDS[method]) for method in ("last", "max", "arrival")),
    *(Way(method, THRESHOLDS[method], cut) for method in ("last", "max") for cut in CUTS),
)

#: Methods without a cut, at each of the thresholds in the source.
UNCUT = tuple(Way(method, threshold) for method in THRESHOLDS for threshold in TRIED)


#: Longest plausible session without a break (Zakay 2012, section 6). [s]
OVERLONG = 16 * 3600.0

#: A method has a fault if its share of overlong sessions is larger, or if the number of sessions
#: jumps by a larger factor at its limit (the cut, or the threshold of a method without a cut). The
#: source judges by eye; both values are choices of this project.
MOST_OVERLONG = 0.01
MOST_JUMP = 2.0

#: A larger share of sessions of length 0 is reported as a drawback.
LEAST_DRAWBACK = 0.1

#: Least number of sessions for a recommendation.
FEWEST = 100


def judge(ways: pd.DataFrame) -> pd.DataFrame:
    """Add the faults of each method: `overlong` and `jumps`.

    A method has a fault if the lower end of the interval exceeds the bound. If there is no
    interval, the value itself is compared.

    Parameters
    ----------
    ways : DataFrame
        `SessionMethods.ways` of `analysis.sessions.compare_session_methods`.
    """
    least_share = ways["over_16h_low"].fillna(ways["over_16h"])
    least_jump = ways["jump_low"].fillna(ways["jump"])
    return ways.assign(overlong=least_share > MOST_OVERLONG, jumps=least_jump > MOST_JUMP)


def recommend(ways: pd.DataFrame) -> str:
    """Return the method with the fewest faults; the smallest jump at the limit breaks ties.

    The name is empty if there are fewer than 100 sessions.

    Parameters
    ----------
    ways : DataFrame
        Result of `judge`.

    Examples
    --------
    >>> faults = {"overlong": [True, False, False], "jumps": [False, True, False]}
    >>> ways = pd.DataFrame({**faults, "jump": [1.0, 9.0, 1.5], "sessions": [500] * 3})
    >>> recommend(ways.set_axis(["Last", "Last+Cut 1 h", "Arrival"]))
    'Arrival'
    """
    if ways["sessions"].min() < FEWEST:
        return ""
    faults = ways["overlong"].astype(int) + ways["jumps"]
    rank = pd.DataFrame({"faults": faults, "jump": np.log(ways["jump"]).abs()})
    return str(rank.sort_values(["faults", "jump"], kind="stable").index[0])


def reasons(ways: pd.DataFrame, recommended: str) -> Iterator[str]:
    """Yield a sentence for each kind of method not recommended, then one for the recommended one.

    Parameters
    ----------
    ways : DataFrame
        Result of `judge`, with the names of `analysis.sessions.choice.WAYS`.
    recommended : str
        Result of `recommend`.
    """
    if not recommended:
        yield f"With fewer than {FEWEST} sessions no method is recommended."
        return
    kinds: dict[str, list[str]] = {}
    for way in WAYS:
        if way.name != recommended:
            kinds.setdefault(way.kind, []).append(way.name)
    for kind, names in kinds.items():
        faults = [*_faults(ways.loc[names])]
        yield f"{kind}: {'; '.join(faults) or 'no fault, but a larger jump at its limit'}."
    row = ways.loc[recommended]
    verdict = "no fault" if not (row["overlong"] or row["jumps"]) else "the fewest faults"
    yield f"{recommended} has {verdict}: {_merits(row)}"


def _faults(rows: pd.DataFrame) -> Iterator[str]:
    """Describe the faults of a method, for one or several cuts."""
    if (long := rows[rows["overlong"]]).size:
        yield (
            f"{_range(long, 'over_16h', share)} of the sessions are longer than "
            f"{duration(OVERLONG)}, the longest {duration(long['longest'].max())}, because long "
            "jobs extend them"
        )
    if (odd := rows[rows["jumps"]]).size:
        times = _range(odd, "jump", number)
        if odd["cut"].isna().all():
            yield f"sessions just below its threshold are {times} times as frequent as expected"
        else:
            yield f"sessions as long as the cut are {times} times as frequent as similar lengths"


def _merits(row: pd.Series) -> str:
    text = f"{share(row['over_16h'])} of the sessions are longer than {duration(OVERLONG)}"
    if not np.isnan(row["jump"]):
        at = "threshold" if np.isnan(row["cut"]) else "cut"
        jump = _range(row.to_frame().T, "jump", number)
        text += f", and the jump at its {at} is {jump} (1: no jump)"
    text += "."
    if row["zero_length"] > LEAST_DRAWBACK:
        text += f" Drawback: {share(row['zero_length'])} of the sessions have length 0."
    return text


def _range(rows: pd.DataFrame, name: str, form: Callable[[float], str]) -> str:
    """Format the value of one row with its interval, or the range of several rows."""
    low, high = rows[name].min(), rows[name].max()
    if len(rows) > 1:
        return f"{form(low)} to {form(high)}"
    return with_interval(low, rows[f"{name}_low"].iloc[0], rows[f"{name}_high"].iloc[0], form)


# Effect of a threshold or a cut on the distribution of session lengths.

#: Ratio of the upper to the lower edge of a bin at a threshold.
STEP = 1.25

#: Ratio of the upper to the lower edge of a bin at a cut: an eighth of a doubling.
PEAK = 2 ** (1 / 8)

#: Least number of sessions about a limit.
FEWEST_IN_BINS = 20

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
    counts = np.where(counts.sum(axis=-1, keepdims=True) >= FEWEST_IN_BINS, counts, np.nan)
    return np.where(counts > 0, counts, np.nan) if counts.shape[-1] == 4 else counts
