"""Find the stationary segments of a log, and cut it into them."""

import itertools
import math
from collections.abc import Collection, Iterable
from typing import Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.clock import WEEK, Clock, span
from workloadkit.distinct import distinct
from workloadkit.errors import (
    ParameterError,
    WorkloadError,
    check_choice,
    check_count,
    check_number,
    plural,
    quoted,
)
from workloadkit.provenance import as_note, noted, provenance
from workloadkit.trace import Trace, check_trace

Series = Literal["jobs", "work", "users"]

#: Minimum length of a segment: resampling shorter ones would exclude all users. [weeks]
LEAST_WEEKS = 8

#: Assumed Hurst parameter of weekly series: at 0.7, consecutive weeks have a correlation of 0.32,
#: similar to weekly jobs, work and users in the archive's logs (median 0.4).
HURST = 0.7

_MOST_WEEKS = 5000  # the search time is quadratic in the weeks
_SINGULAR = 1e-9  # smaller eigenvalues of correlations are 0 up to rounding


def stationary_segments(
    trace: Trace,
    *,
    of: Collection[Series] = ("jobs", "work", "users"),
    least: int = LEAST_WEEKS,
    hurst: float = HURST,
    penalty: float = 1.0,
) -> pd.DataFrame:
    """Find the stationary segments of a log.

    Many logs are stationary for some time and then change; each such segment, resampled to the
    required length, is a separate workload [1]_. The method detects changes of the mean in the
    log's weekly jobs, work and users together.

    Parameters
    ----------
    trace : Trace
        Jobs that never ran are left out; jobs of unknown user count as jobs of one user.
    of : collection of {"jobs", "work", "users"}, default all three
        Weekly series: number of jobs, their work (processors × run time), number of active users.
    least : int, default 8
        Minimum length of a segment. [weeks]
    hurst : float, default 0.7
        Hurst parameter, 0.5 to below 1, of series without changes. With long-range
        dependence, series stay above or below their mean for long, so a larger value requires
        larger changes. At 0.5 weeks are independent.
    penalty : float, default 1
        Factor on the penalty of a change given in the notes. A larger value finds fewer changes, an
        infinite one none.

    Returns
    -------
    DataFrame
        One row per segment: its first `week` of the log, from 0; its number of whole `weeks`;
        `begin` and `end`, the submissions of its first and last job [s]; weekly means of `jobs`,
        `work` [processor-seconds] and `users`; `gain`, the improvement of the fit by the change at
        its begin, in units of the penalty of one change (NaN in the first row).

    Raises
    ------
    ParameterError
        If a parameter is out of range or a series is unknown.
    WorkloadError
        If no job ran, or the log is longer than 5000 weeks.

    Notes
    -----
    Weeks are counted by the log's own clock from its first submission; the last, incomplete one
    belongs to the last segment and is not analysed.

    Each series is replaced by its normal scores, so that weeks of extreme load have no more
    influence than others; the correlations of the week-to-week steps, which changes hardly affect,
    are used to decorrelate the series. The segments minimize the squared deviations, in units of
    the variance, plus a penalty per change, exactly by optimal partitioning [2]_. The penalty of a
    change in d series of n weeks is (d + 1) ln n (BIC, for d means and a position) times
    n^(2H−1) (2^(2−2H) − 1), the factor by which long-range dependence increases the squares saved
    by halving a series without changes [3]_. The variance is estimated from the median step, too,
    given the steps of noise with this Hurst parameter.

    In simulations of fractional noise of 50 to 200 weeks with a Hurst parameter of 0.7, at most 3 %
    of the series were cut; with 0.8 it was 11 to 19 %, and with 0.9 a third to three quarters, if
    0.7 was assumed, but at most 4 % if the true value was. A change of two standard deviations in
    the middle was found within three weeks in at least 79 % of all cases, a change of one standard
    deviation in 2 to 30 %.

    References
    ----------
    .. [1] N. Zakay, D. G. Feitelson, "Workload resampling for performance evaluation of parallel
       job schedulers", Concurrency and Computation: Practice and Experience 26, 2014,
       section 6.5.2.
    .. [2] B. Jackson et al., "An algorithm for optimal partitioning of data on an interval", IEEE
       Signal Processing Letters 12(2), 2005.
    .. [3] M. Lavielle, É. Moulines, "Least-squares estimation of an unknown number of shifts in a
       time series", Journal of Time Series Analysis 21(1), 2000 (on penalties of the order
       n^(2H−1) for series of long memory).

    See Also
    --------
    segments : returns the segments as logs.

    Examples
    --------
    Two jobs per week for 20 weeks, then five or six; the last week is incomplete:

    >>> submit = [(w + i / 9) * WEEK for w in range(40) for i in range(2 if w < 20 else 5 + w % 2)]
    >>> trace = Trace.from_columns({"submit": submit, "run": [60] * 150, "procs": [1] * 150})
    >>> stationary_segments(trace, of=["jobs"], hurst=0.5)[["week", "weeks", "jobs"]]
       week  weeks      jobs
    0     0     20  2.000000
    1    20     19  5.473684
    """
    names = get_args(Series)
    _check(of, least, hurst, penalty)
    week = _whole_weeks(trace)
    weekly = _weekly(trace, week)
    n = weekly.shape[1]
    series = _standardized(weekly[[i for i, name in enumerate(names) if name in of]], hurst)
    charge = penalty * (series.shape[0] + 1) * math.log(n) * _inflation(n, hurst)
    first, gains = _partition(series, least, charge)
    ends = np.append(first[1:], n)
    edges = np.searchsorted(week, np.append(first, week[-1] + 1))  # rows of the first jobs
    submit = trace.column("submit")
    last = np.where(np.diff(edges) > 0, submit[edges[1:] - 1], np.nan)
    begin = np.where(np.diff(edges) > 0, submit[np.minimum(edges[:-1], week.size - 1)], np.nan)
    means = [weekly[:, a:b].mean(axis=1) for a, b in zip(first, ends, strict=True)]
    table = {"week": first, "weeks": ends - first, "begin": begin, "end": last}
    table |= dict(zip(names, np.transpose(means), strict=True))
    return pd.DataFrame(table | {"gain": gains})


def segments(trace: Trace, at: Iterable[int] | None = None) -> list[Trace]:
    """Cut a log into its stationary segments.

    Parameters
    ----------
    trace : Trace
    at : iterable of int, optional
        Weeks at the begin of which the log is cut, counted from 0 at its first submission, such as
        weeks of known changes of the machine. By default those of `stationary_segments`.

    Returns
    -------
    list of Trace
        In order. Each has the log's times and header, with a note on its weeks; segments without
        jobs are left out.

    Raises
    ------
    ParameterError
        If a week is outside the log.
    WorkloadError
        As `stationary_segments`.

    Notes
    -----
    Each segment can be resampled to any length. Because long-term users are active for more than
    12 weeks, all users of a shorter segment are temporary, and most of them are excluded as close
    to an end. For such segments, reduce both limits, for example to a half and an eighth of the
    segment. (The first eight weeks of OSC-Clust-2000 resampled to a year have 30 to 69 % of their
    original weekly work, with such limits 85 to 108 %.)

    >>> from workloadkit import resample
    >>> submit = np.arange(0, 10 * WEEK, 3600)
    >>> user = np.where(submit % 7200, 1, 2 + submit // (2 * WEEK))  # one stays, five are temporary
    >>> log = {"submit": submit, "user": user, "run": submit % 7, "procs": user}
    >>> [segment] = segments(Trace.from_columns(log), at=[0])
    >>> year = resample(segment, weeks=52, long_term=5 * WEEK, edge=1.25 * WEEK, rng=1)
    >>> round(float(np.ptp(year.column("submit")) / WEEK))
    52

    Examples
    --------
    >>> trace = Trace.from_columns({"submit": np.arange(30) * WEEK, "run": [60] * 30})
    >>> [segment.n_jobs for segment in segments(trace, at=[12])]
    [12, 18]
    """
    check_trace(trace)
    if not trace.n_jobs:
        raise WorkloadError(f"{trace.name} has no jobs")
    week = weeks_of(trace)
    cuts = stationary_segments(trace)["week"].tolist() if at is None else [*at]
    for cut in cuts:
        check_number("a week to cut at", cut)
        if not (cut % 1 == 0 and 0 <= cut <= week[-1]):  # rejects NaN, too
            raise ParameterError(f"cannot cut at week {cut}: the log has weeks 0 to {week[-1]}")
    edges = distinct([0, *cuts, week[-1] + 1]).astype(np.int64)
    parts = []
    for first, end in itertools.pairwise(edges.tolist()):
        rows = np.arange(*np.searchsorted(week, [first, end]))
        if rows.size:
            parts.append(_part(trace, rows, f"weeks {first} to {end - 1}"))
    return parts


def _whole_weeks(trace: Trace) -> NDArray[np.int64]:
    """Return the week of each job, after checking the length of the log."""
    check_trace(trace)
    if not trace.ran.any():
        raise WorkloadError(f"{trace.name}: no job ran, so there is no load to analyse")
    week = weeks_of(trace)
    if not 1 <= week[-1] <= _MOST_WEEKS:
        raise WorkloadError(
            f"{trace.name} has {plural(week[-1], 'whole week')}; segments are found in logs of 1 "
            f"to {_MOST_WEEKS:,} weeks"
        )
    return week


def _part(trace: Trace, rows: NDArray[np.int64], weeks: str) -> Trace:
    """Return some rows of a log as a log with an updated header."""
    part = trace.take(rows)
    # keep StartTime, since submit times count from second 0 of the whole log
    header = trace.header.with_jobs(part.n_jobs, part.n_bursts, EndTime=span(part)[1])
    part = part.replaced(name=f"{trace.name} ({weeks})")
    return noted(part, header, "segment", f"{as_note(provenance(trace))}, {weeks}")


def weeks_of(trace: Trace) -> NDArray[np.int64]:
    """Return the week of each job, by the log's own clock, from 0 at the first submission."""
    local = Clock.of(trace).local(trace.column("submit"))
    # a repeated hour (clocks set back) must not lead back into the previous week
    return np.maximum.accumulate(np.floor((local - local[0]) / WEEK).astype(np.int64))


def _check(of: Collection[str], least: int, hurst: float, penalty: float) -> None:
    if isinstance(of, str) or not of:
        raise ParameterError(
            f"of is {quoted(of)}; it must be a list of {', '.join(get_args(Series))}"
        )
    for name in of:
        check_choice("of", name, Series)
    check_count("least", least, least=1)
    for name, value in (("hurst", hurst), ("penalty", penalty)):
        check_number(name, value)
    if not 0.5 <= hurst < 1:
        raise ParameterError(f"hurst must be from 0.5 to below 1, not {hurst:g}")
    if not penalty > 0:
        raise ParameterError(f"penalty must be more than 0, not {penalty:g}")


def _weekly(trace: Trace, week: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return jobs, work and users of each whole week, shape (3, n_weeks)."""
    ran, n = trace.ran, int(week[-1])
    run, procs = trace.column("run")[ran], trace.used_procs[ran]
    pairs = np.unique(np.stack([week[ran], trace.column("user")[ran]]), axis=1)
    return np.array(
        [
            np.bincount(week[ran], minlength=n)[:n],
            np.bincount(week[ran], run * procs, minlength=n)[:n],
            np.bincount(pairs[0], minlength=n)[:n],
        ],
        dtype=np.float64,
    )


def _standardized(series: NDArray, hurst: float) -> NDArray[np.float64]:
    """Return decorrelated normal scores, in units of the deviation within a segment.

    Constant series, and series that depend on others, are left out.
    """
    from scipy.special import ndtri

    n = series.shape[1]
    if n < 2:
        return np.empty((0, n))
    ranks = pd.DataFrame(series.T).rank().to_numpy().T
    scores = ndtri((ranks - 0.5) / n)
    steps = np.diff(scores, axis=1)
    size = np.median(np.abs(steps), axis=1) / 0.6745
    # The median is 0 if most weeks equal the previous ones.
    size = np.where(size > 0, size, np.sqrt((steps**2).mean(axis=1)))
    moves = size > 0
    if not moves.any():
        return np.empty((0, n))
    # Steps of fractional noise have 2 - 2 r times its variance; r = 2^(2H-1) - 1 is the
    # correlation of consecutive values.
    deviation = size[moves, None] / math.sqrt(4 - 2 ** (2 * hurst))
    alike = steps[moves] / np.sqrt((steps[moves] ** 2).sum(axis=1, keepdims=True))
    shared, directions = np.linalg.eigh(alike @ alike.T)
    kept = shared > _SINGULAR
    turned = directions.T @ (scores[moves] / deviation)
    return turned[kept] / np.sqrt(shared[kept, None])


def _inflation(n: int, hurst: float) -> float:
    """Factor by which long-range dependence increases the squares saved by halving n weeks."""
    return n ** (2 * hurst - 1) * (2 ** (2 - 2 * hurst) - 1)


def _partition(
    series: NDArray, least: int, charge: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the weeks at which the optimal segments begin, and the gain of each."""
    n = series.shape[1]
    sums = np.concatenate([np.zeros((series.shape[0], 1)), np.cumsum(series, axis=1)], axis=1)

    def explained(first: NDArray | int, end: int) -> NDArray[np.float64]:
        """Squares explained by the mean of a segment."""
        total = sums[:, [end]] - sums[:, np.atleast_1d(first)]
        return (total**2).sum(axis=0) / (end - np.atleast_1d(first))

    best, before = np.full(n + 1, -np.inf), np.zeros(n + 1, np.int64)
    for end in range(least, n + 1):
        best[end] = explained(0, end)[0]
        first = np.arange(least, end - least + 1)
        value = best[first] + explained(first, end) - charge
        if value.size and value.max() > best[end]:
            best[end], before[end] = value.max(), first[value.argmax()]
    begins, end = [], n
    while end > 0:
        begins.append(end := int(before[end]))
    edges = [*begins[::-1], n]
    gains = [
        (explained(a, b) + explained(b, c) - explained(a, c))[0] / charge
        for a, b, c in zip(edges, edges[1:], edges[2:], strict=False)
    ]
    return np.array(edges[:-1]), np.array([np.nan, *gains])
