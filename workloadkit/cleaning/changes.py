"""Changes of a system's configuration within a log: its size, its queues, its limits.

Each quantity is computed week by week. Pettitt's test finds a change point (A. N. Pettitt,
"A non-parametric approach to the change-point problem", Applied Statistics 28, 1979). The test
uses ranks and therefore needs no scale; in addition the step must last, be large, and not be part
of a trend. The approximate p-value is conservative: a new level that lasts t of n weeks is not
detected if t is below about the square root of n.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloadkit.cleaning.anomaly import CHANGE, Anomaly
from workloadkit.cleaning.cleaned import Filter
from workloadkit.clock import DAY, WEEK
from workloadkit.distinct import distinct
from workloadkit.select import FieldComparison
from workloadkit.trace import Trace

#: Significance level, over all quantities together.
ALPHA = 0.05

#: Minimum length of each part of the log. [weeks]
SHORTEST_PART = 4

#: Minimum share of pairs (a week before, a week after) that differ in the direction of the step.
STAYS = 0.95

#: Minimum ratio of the larger level to the smaller; for shares, minimum difference.
STEP, SHARE_STEP = 1.2, 0.2

#: The step must show within NEAR weeks on either side, and exceed by the factor NO_TREND the drift
#: between these weeks and the NEAR weeks beyond them, on either side. [weeks]
NEAR, NO_TREND = 8, 2.0

#: Minimum share of the jobs in a queue while it is in use.
QUEUE_SHARE = 0.05

#: From this share on, a queue that appears or vanishes is a notable change.
LARGE_QUEUES = 0.25

#: Queues that appear or vanish within this time count as one change. [s]
AT_ONCE = 2 * WEEK

#: Weeks with fewer jobs have no share.
FEWEST_JOBS = 20


_MEANING = {
    "in_use": "maximum number of processors in use",
    "largest_job": "processors of the largest job",
    "powers_of_two": "share of the parallel jobs on a power of two of processors",
    "requested_time": "longest requested time",
}


@dataclass(frozen=True)
class _Series:
    """A quantity by week."""

    name: str
    title: str
    values: NDArray[np.float64]
    is_share: bool = False

    def text(self, value: float) -> str:
        if self.is_share:
            return f"{100 * value:.0f} %"
        return f"{value:,.0f} s" if self.name == "requested_time" else f"{value:,.0f}"


def find_steps(trace: Trace, n_weeks: int) -> list[Anomaly]:
    """Return lasting steps in the machine's size, the job sizes or the requested times.

    The weekly series are the maximum number of processors in use, the largest job, the share of
    powers of two among the parallel jobs, and the longest requested time.

    Parameters
    ----------
    trace : Trace
    n_weeks : int
        Whole weeks of the log, from its first submission.
    """
    series = _weekly(trace, n_weeks)
    first = trace.column("submit")[0]
    found = []
    for one in series:
        known = np.flatnonzero(np.isfinite(one.values))
        steps = _steps(one.values[known], ALPHA / len(series), _is_step(one))
        found += [_step(trace, one, known, at, first) for at in steps]
    return found


def _is_step(series: _Series) -> Callable[[NDArray, NDArray], bool]:
    """Return the function that decides whether two levels differ by a relevant step."""

    def is_step(before: NDArray, after: NDArray) -> bool:
        low, high = sorted((float(np.median(before)), float(np.median(after))))
        large = high - low >= SHARE_STEP if series.is_share else high >= STEP * max(low, 1)
        return large and _separated(before, after)

    return is_step


def _separated(before: NDArray, after: NDArray) -> bool:
    """Whether nearly all values after lie above those before, or nearly all below."""
    higher = np.count_nonzero(after[:, None] > before) / (before.size * after.size)
    lower = np.count_nonzero(after[:, None] < before) / (before.size * after.size)
    return bool(max(higher, lower) >= STAYS)


def _steps(
    values: NDArray[np.float64], alpha: float, is_step: Callable[[NDArray, NDArray], bool]
) -> list[int]:
    """Return the change points of a series, each as the first index of the new level."""
    at, chance = pettitt(values)
    if chance > alpha or not SHORTEST_PART <= at <= values.size - SHORTEST_PART:
        return []
    before, after = values[:at], values[at:]
    if not (is_step(before, after) and is_step(before[-NEAR:], after[:NEAR])):
        return []
    if _step_size(before, after) < NO_TREND * max(_drift(before[::-1]), _drift(after)):
        return []
    left, right = _steps(before, alpha, is_step), _steps(after, alpha, is_step)
    return [*left, at, *(at + one for one in right)]


def _step_size(before: NDArray, after: NDArray) -> float:
    return float(abs(np.median(after[:NEAR]) - np.median(before[-NEAR:])))


def _drift(part: NDArray) -> float:
    """Return how far the level moves within the first weeks of a part; 0 if the part is short."""
    first, then = part[:NEAR], part[NEAR : 2 * NEAR]
    return float(abs(np.median(then) - np.median(first))) if then.size >= SHORTEST_PART else 0.0


def pettitt(values: NDArray[np.float64]) -> tuple[int, float]:
    """Return the most likely change point of a series, and its p-value.

    Parameters
    ----------
    values : ndarray of float, shape (n,)

    Returns
    -------
    at : int
        Index of the first value of the new level.
    chance : float
        Pettitt's approximate p-value, at most 1.

    Examples
    --------
    >>> at, chance = pettitt(np.array([4.0, 5, 4, 6, 5, 4, 9, 8, 9, 10, 8, 9]))
    >>> at, round(chance, 3)
    (6, 0.031)
    """
    n = values.size
    if n < 2:
        return 0, 1.0
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]  # the mean rank of equal values
    after = np.arange(1, n)
    difference = np.abs(2 * np.cumsum(ranks)[:-1] - after * (n + 1))
    at = int(np.argmax(difference))
    chance = 2 * np.exp(-6 * difference[at] ** 2 / (n**3 + n**2))
    return at + 1, float(min(chance, 1.0))


def _step(
    trace: Trace, series: _Series, known: NDArray[np.int64], at: int, first: float
) -> Anomaly:
    values = series.values[known]
    when = float(np.ceil(first + known[at] * WEEK))
    before, after = float(np.median(values[:at])), float(np.median(values[at:]))
    evidence: dict[str, Any] = {
        "before": before,
        "after": after,
        "weeks_before": at,
        "weeks_after": values.size - at,
        "chance": pettitt(values)[1],
    }
    reason = (
        f"{_MEANING[series.name]}, median of the weeks: {series.text(before)} in {at} weeks "
        f"before, {series.text(after)} in {values.size - at} weeks after."
    )
    wide = (
        abs(after - before) >= 2 * SHARE_STEP
        if series.is_share
        else (max(before, after) >= STEP**2 * max(min(before, after), 1))
    )
    return change(trace, series.title, "notable" if wide else "slight", reason, evidence, when)


def change(
    trace: Trace, title: str, strength: str, reason: str, evidence: dict[str, Any], when: float
) -> Anomaly:
    """Return a change, with the filter that keeps the part of the log with more jobs."""
    submit = trace.column("submit")
    before = int(np.count_nonzero(submit < when))
    sign, count = ("<", before) if 2 * before <= trace.n_jobs else (">=", trace.n_jobs - before)
    evidence = evidence | {"when": when, "jobs_before": before, "jobs_after": submit.size - before}
    condition = FieldComparison("submit", sign, int(when) if when == int(when) else when)
    return Anomaly(
        CHANGE, title, strength, reason, evidence, (when, when), Filter(condition, count)
    )


def _weekly(trace: Trace, n_weeks: int) -> list[_Series]:
    submit, procs = trace.column("submit"), np.nan_to_num(trace.used_procs, nan=-1)
    week = np.minimum((submit - submit[0]) // WEEK, n_weeks).astype(np.int64)

    def largest(values: NDArray, chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
        most = np.full(n_weeks + 1, -np.inf)
        np.maximum.at(most, week[chosen], values[chosen])
        return np.where(most[:n_weeks] > -np.inf, most[:n_weeks], np.nan)

    parallel = procs > 1
    power = np.log2(np.maximum(procs, 1)) % 1 == 0
    count = np.bincount(week[parallel], minlength=n_weeks + 1)[:n_weeks]
    powers = np.bincount(week[parallel & power], minlength=n_weeks + 1)[:n_weeks]
    share = np.where(count >= FEWEST_JOBS, powers / np.maximum(count, 1), np.nan)
    requested = np.nan_to_num(trace.column("requested_time"), nan=-1)
    return [
        _Series("in_use", "processors in use", _most_in_use(trace, n_weeks)),
        _Series("largest_job", "largest job", largest(procs, procs > 0)),
        _Series("powers_of_two", "powers of two", share, is_share=True),
        _Series("requested_time", "requested time", largest(requested, requested > 0)),
    ]


def _most_in_use(trace: Trace, n_weeks: int) -> NDArray[np.float64]:
    """Return the maximum number of processors in use, by week."""
    ran = trace.ran
    if not ran.any():
        return np.full(n_weeks, np.nan)
    end, procs = trace.end[ran], trace.used_procs[ran]
    time = np.concatenate([end - trace.column("run")[ran], end])
    step = np.concatenate([procs, -procs])
    order = np.lexsort((step, time))  # ends before starts
    time, in_use = time[order], np.cumsum(step[order])
    begins = trace.column("submit")[0] + WEEK * np.arange(n_weeks + 1)
    at = np.searchsorted(time, begins)
    carried = np.append(0.0, in_use)[at]  # in use when each week begins
    most = carried[:-1].copy()
    for week in np.flatnonzero(at[1:] > at[:-1]):
        most[week] = max(most[week], in_use[at[week] : at[week + 1]].max())
    return most


def find_queue_changes(trace: Trace, n_weeks: int) -> list[Anomaly]:
    """Return the times at which queues or partitions appear, or vanish, permanently.

    A queue appears if its first use lies well within the log and is too late to be chance: jobs on
    as many days, drawn from all days of the log, would have included an earlier one. It vanishes
    by the same rule in reverse. The queue must be in use for four weeks and hold a minimum share
    of the jobs in that time. Events within two weeks of each other are one change.
    """
    found = []
    for name in ("queue", "partition"):
        events = _comings_and_goings(trace, name, n_weeks)
        while events:
            group = [one for one in events if one[0] - events[0][0] <= AT_ONCE]
            events = events[len(group) :]
            found.append(_queue_change(trace, name, group))
    return found


def _comings_and_goings(
    trace: Trace, name: str, n_weeks: int
) -> list[tuple[float, str, int, float, float]]:
    """Return (time, event, queue, share of jobs while in use, p-value), sorted by time."""
    submit, number = trace.column("submit"), trace.column(name)
    day = ((submit - submit[0]) // DAY).astype(np.int64)
    numbers, code, counts = np.unique(number, return_inverse=True, return_counts=True)
    if np.count_nonzero(numbers >= 0) < 2:
        return []
    rows = np.argsort(code, kind="stable")
    ends = np.cumsum(counts)
    days = distinct(day)
    part = SHORTEST_PART * WEEK
    events = []
    for which, count, end in zip(numbers.tolist(), counts.tolist(), ends.tolist(), strict=True):
        if which < 0 or count < FEWEST_JOBS:
            continue
        own = rows[end - count : end]
        used = distinct(day[own]).size
        share = count / (own[-1] - own[0] + 1)
        if share < QUEUE_SHARE or submit[own[-1]] - submit[own[0]] < part:
            continue
        for what, row, outside in (
            ("appears", own[0], np.searchsorted(days, day[own[0]])),
            ("vanishes", own[-1], days.size - 1 - np.searchsorted(days, day[own[-1]])),
        ):
            long = submit[row] - submit[0] if what == "appears" else submit[-1] - submit[row]
            chance = 2 * numbers.size * (1 - outside / days.size) ** used
            if long >= part and chance <= ALPHA:
                when = submit[row] if what == "appears" else np.nextafter(submit[row], np.inf)
                events.append((float(np.ceil(when)), what, int(which), share, float(chance)))
    return sorted(events)


def _queue_change(
    trace: Trace, name: str, group: list[tuple[float, str, int, float, float]]
) -> Anomaly:
    parts = []
    evidence: dict[str, Any] = {"field": name}
    for what in ("appears", "vanishes"):
        these = [one for one in group if one[1] == what]
        evidence[what] = [one[2] for one in these]
        parts += [
            f"{name} {one[2]} {what} permanently ({100 * one[3]:.0f} % of the jobs while in use)"
            for one in these
        ]
    shares = [sum(one[3] for one in group if one[1] == what) for what in ("appears", "vanishes")]
    evidence |= {"share": max(shares), "chance": max(one[4] for one in group)}
    reason = f"{'; '.join(parts)}."
    strength = "notable" if evidence["share"] >= LARGE_QUEUES else "slight"
    return change(trace, f"set of {name}s", strength, reason, evidence, group[0][0])
