"""Quiet parts of a log: start-up, wind-down, and periods in which nobody submits."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import pdtr

from workloadkit.cleaning.activity import Activity
from workloadkit.cleaning.anomaly import DEAD_PERIOD, START_UP, WIND_DOWN, Anomaly
from workloadkit.cleaning.filters import Comparison, Filter
from workloadkit.clock import DAY, WEEK
from workloadkit.trace import Trace

#: Fewer jobs than this part of the usual are few.
FEW = 0.5

#: And these are next to none: what lies beyond the largest gap of a start-up or wind-down has no
#: more. Else it is a dead period beyond which life goes on.
NEXT_TO_NONE = 0.25

#: Jobs that are missing up to `FEW` of the usual, in ordinary days: at least four days without a
#: job, which is longer than a weekend with a holiday beside it.
MISSING_DAYS = 2.0

#: A longer beginning or end with few jobs is a trend, not a start-up.
LONGEST_PART = 0.25

#: Deeper by this factor than any lull within the log, a start-up is notable.
DEEPER = 2.0

#: Ordinary days of arrivals that a dead period lacks.
DEAD_DAYS = 2.0

#: Chance at which something is no more believed to be chance, over the whole log.
ALPHA = 0.01

#: Jobs on one side of a dead period, as a share of the log, that are cut off with it.
ISLAND = 0.01


def find_quiet_ends(trace: Trace, activity: Activity) -> list[Anomaly]:
    """Return the start-up and the wind-down of a log, if it has them.

    The start-up is the beginning of the log in which most jobs are missing up to half of what
    the weekly cycle lets expect; so it ends where arrivals first come at more than half of the
    usual rate. The wind-down is the same seen from the end. By chance, at the usual rates, no
    stretch of the log as long would see as few arrivals, where jobs of one user in a row count as
    one.
    """
    submit = activity.submit
    expected = activity.expected(submit)
    n_jobs = submit.size
    rank = np.arange(n_jobs)
    # Missing before job i, and after it.
    before = FEW * expected - rank
    after = FEW * (expected[-1] - expected) - (n_jobs - 1 - rank)
    first, last = int(np.argmax(before)), int(np.argmax(after))
    begin = first if before[first] > 0 else 0
    end = last if after[last] > 0 else n_jobs - 1
    lull = 0.0
    if begin < end:
        inside = before[begin : end + 1]
        lull = float((inside - np.minimum.accumulate(inside)).max()) / activity.ordinary_day
    found = []
    for kind, row, missing in ((START_UP, first, before[first]), (WIND_DOWN, last, after[last])):
        rows = np.arange(row) if kind == START_UP else np.arange(row + 1, n_jobs)
        if one := _quiet_end(trace, activity, kind, row, rows, float(missing), lull):
            found.append(one)
    return found


def _quiet_end(
    trace: Trace,
    activity: Activity,
    kind: str,
    row: int,
    rows: NDArray[np.int64],
    missing: float,
    lull: float,
) -> Anomaly | None:
    """Judge the jobs at one end of a log; `row` is that of the first usual job, or of the last."""
    submit = activity.submit
    missing /= activity.ordinary_day
    if missing < MISSING_DAYS or not rows.size:
        return None
    span = (submit[0], submit[row]) if kind == START_UP else (submit[row], submit[-1])
    length = float(span[1] - span[0])
    if length > LONGEST_PART * (submit[-1] - submit[0]):
        return None
    gaps = np.diff(activity.expected(submit[np.union1d(rows, [row])]))
    if rows.size > 1 and rows.size > NEXT_TO_NONE * (gaps.sum() - gaps.max()):
        return None
    per_job = _arrivals(trace.column("user")) / submit.size
    come = _arrivals(trace.column("user")[rows])
    lacking = (missing * activity.ordinary_day + rows.size) / FEW * per_job
    chance = length and float(pdtr(come, lacking) * (submit[-1] - submit[0]) / length)
    if chance > ALPHA:
        return None
    sign = "<" if kind == START_UP else ">"
    condition = Comparison("submit", sign, _plain(submit[row]))
    count = int(np.count_nonzero(Filter(condition).mask(trace)))
    rate, users, users_else = _per_week(trace, rows, length)
    usual = 7 * activity.ordinary_day
    evidence: dict[str, Any] = {
        "jobs": int(rows.size),
        "days": length / DAY,
        "jobs_per_week": rate,
        "usual_jobs_per_week": usual,
        "users_per_week": users,
        "users_per_week_else": users_else,
        "missing_days": missing,
        "deepest_lull_within": lull,
        "chance": min(chance, 1.0),
    }
    start = trace.column("submit") + np.nan_to_num(trace.column("wait"))
    ran = trace.ran & (trace.column("wait") >= 0)
    told = ""
    if kind == START_UP and ran.any() and (first_start := float(start[ran].min())) > submit[0]:
        evidence["first_start"] = first_start
        told = f" No job started before second {first_start:,.0f}."
    reason = (
        f"{rows.size:,} jobs in {length / DAY:.1f} days, {rate:,.0f} a week where "
        f"{usual:,.0f} are usual ({users:.0f} users a week, {users_else:.0f} else): "
        f"{missing:.1f} ordinary days of jobs missing up to half the usual, where the deepest "
        f"lull within the log misses {lull:.1f}.{told}"
    )
    strength = "notable" if missing >= DEEPER * lull else "slight"
    span = (float(span[0]), float(span[1]))
    return Anomaly(kind, "few jobs", strength, reason, evidence, span, Filter(condition, count))


def _arrivals(user: NDArray[np.int64]) -> int:
    """Count jobs, those of one known user in a row as one."""
    return 1 + int(np.count_nonzero((np.diff(user) != 0) | (user[1:] < 0)))


def _per_week(trace: Trace, rows: NDArray, length: float) -> tuple[float, float, float]:
    """Return jobs a week in a part of the log, and the median known users there and elsewhere."""
    submit, user = trace.column("submit"), trace.column("user")
    week = ((submit - submit[0]) // WEEK).astype(np.int64)
    inside = np.zeros(submit.size, bool)
    inside[rows] = True

    def users(chosen: NDArray[np.bool_]) -> float:
        known = chosen & (user >= 0)
        pairs = np.unique(np.stack([week[known], user[known]]), axis=1)
        return float(np.median(np.unique(pairs[0], return_counts=True)[1])) if pairs.size else 0.0

    return rows.size / max(length / WEEK, 1e-9), users(inside), users(~inside)


def find_dead_periods(
    trace: Trace, activity: Activity, within: tuple[float, float]
) -> list[Anomaly]:
    """Return the periods without arrivals that the weekly cycle does not explain.

    Such a period lacks at least two ordinary days of arrivals, and by chance, at the usual rates
    of its hours of the week, no period of the log would be as empty, where jobs of one user in a
    row count as one arrival. Days differ, so that the log's own law of gaps is asked, too. Gaps
    are measured in jobs that the cycle lets expect; the largest that begins each day is taken,
    and those above the upper quartile are fitted by a generalised Pareto distribution (by
    probability-weighted moments, J. R. M. Hosking and J. R. Wallis, Technometrics 29, 1987),
    without the gap judged.

    Parameters
    ----------
    trace : Trace
    activity : Activity
    within : tuple of float
        Gaps that begin before or end after these seconds belong to the start-up or wind-down.
    """
    submit = activity.submit
    gaps = np.diff(activity.expected(submit))
    empty = np.flatnonzero(gaps >= DEAD_DAYS * activity.ordinary_day)
    if not empty.size:
        return []
    arrivals = _arrivals(trace.column("user"))
    day = ((submit[:-1] - submit[0]) // DAY).astype(np.int64)
    starts = np.flatnonzero(np.append(True, np.diff(day) > 0))
    largest = np.maximum.reduceat(gaps, starts)
    found = []
    for gap in empty.tolist():
        log_chance = np.log(arrivals) - gaps[gap] * arrivals / submit.size
        if log_chance > np.log(ALPHA) or submit[gap] < within[0] or submit[gap + 1] > within[1]:
            continue
        others = np.delete(largest, np.searchsorted(starts, gap, side="right") - 1)
        own = _chance_among(others, gaps[gap])
        found.append(_dead_period(trace, activity, gap, float(gaps[gap]), log_chance, own))
    return found


def _dead_period(
    trace: Trace, activity: Activity, gap: int, missing: float, log_chance: float, own: float
) -> Anomaly:
    submit = activity.submit
    begin, end = float(submit[gap]), float(submit[gap + 1])
    idle = _longest_idle(trace, begin, end)
    evidence: dict[str, Any] = {
        "hours": (end - begin) / 3600,
        "missing_jobs": missing,
        "missing_days": missing / activity.ordinary_day,
        "log10_chance": float(log_chance / np.log(10)),
        "chance_by_own_gaps": own,
        "idle_hours": idle / 3600,
        "jobs_before": int(np.count_nonzero(trace.column("submit") <= begin)),
        "jobs_after": int(np.count_nonzero(trace.column("submit") >= end)),
    }
    condition, told = None, "There are no jobs in it to remove."
    if evidence["jobs_before"] <= ISLAND * trace.n_jobs:
        condition, told = (
            Comparison("submit", "<=", _plain(begin)),
            "The filter cuts off the jobs before.",
        )
    elif evidence["jobs_after"] <= ISLAND * trace.n_jobs:
        condition, told = (
            Comparison("submit", ">=", _plain(end)),
            "The filter cuts off the jobs after.",
        )
    running = f"; no job ran for {idle / 3600:,.0f} h of it" if idle > 0 else "; jobs were running"
    reason = (
        f"no arrivals for {(end - begin) / 3600:,.0f} h, where {missing:,.0f} jobs are usual "
        f"({missing / activity.ordinary_day:.1f} ordinary days){running}. By chance at the usual "
        f"rates: 1e{log_chance / np.log(10):.0f}; by the log's own gaps: {own:.2g}. {told}"
    )
    strength = "notable" if own <= ALPHA else "slight"
    chosen = None
    if condition is not None:
        chosen = Filter(condition, int(np.count_nonzero(Filter(condition).mask(trace))))
    return Anomaly(DEAD_PERIOD, "no arrivals", strength, reason, evidence, (begin, end), chosen)


def _longest_idle(trace: Trace, begin: float, end: float) -> float:
    """Return the longest time in a period in which no job ran [s]."""
    stop = trace.end[trace.ran]
    start = stop - trace.column("run")[trace.ran]
    near = (stop > begin) & (start < end)
    order = np.argsort(start[near], kind="stable")
    starts = np.append(np.maximum(start[near][order], begin), end)
    stops = np.maximum.accumulate(np.append(begin, stop[near][order]))
    return float(np.maximum(starts - stops, 0).max())


def _chance_among(largest: NDArray[np.float64], gap: float) -> float:
    """Return the chance of a gap as large on any day, by the tail of the largest of other days."""
    threshold = float(np.quantile(largest, 0.75))
    above = np.sort(largest[largest > threshold] - threshold)
    n = above.size
    if n < 5:
        return 1.0
    mean = above.mean()
    weighted = float((above * (1 - (np.arange(1, n + 1) - 0.35) / n)).mean())
    # Never lighter than exponential, nor so heavy that there is no mean.
    shape = float(np.clip(2 - mean / (mean - 2 * weighted), 0.0, 0.9))
    scale = mean * (1 - shape)
    beyond = (gap - threshold) / scale
    tail = np.exp(-beyond) if shape < 1e-9 else (1 + shape * beyond) ** (-1 / shape)
    return float(-np.expm1(largest.size * np.log1p(-min(0.25 * tail, 0.999))))


def _plain(value: float) -> int | float:
    return int(value) if value == int(value) else float(value)
