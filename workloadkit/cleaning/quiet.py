"""Quiet parts of a log: start-up, wind-down, and periods without submissions."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloadkit.cleaning.anomaly import DEAD_PERIOD, START_UP, WIND_DOWN, Activity, Anomaly
from workloadkit.cleaning.cleaned import Filter
from workloadkit.clock import DAY, WEEK
from workloadkit.select import FieldComparison
from workloadkit.trace import Trace

#: Below this fraction of the usual number, jobs are few.
FEW = 0.5

#: Below this fraction they are almost none: a start-up or wind-down has no more jobs beyond its
#: largest gap. Otherwise the gap is a dead period within the log.
NEXT_TO_NONE = 0.25

#: Missing jobs, relative to `FEW` of the usual, in ordinary days: at least four days without a
#: job, which is longer than a weekend with a holiday.
MISSING_DAYS = 2.0

#: Maximum share of the log; a longer beginning or end with few jobs is a trend.
LONGEST_PART = 0.25

#: A start-up is notable if it is deeper by this factor than any lull within the log.
DEEPER = 2.0

#: Minimum number of missing arrivals in a dead period, in ordinary days.
DEAD_DAYS = 2.0

#: Significance level, over the whole log.
ALPHA = 0.01

#: Maximum share of the log that is cut off together with a dead period.
ISLAND = 0.01


def find_quiet_ends(trace: Trace, activity: Activity) -> list[Anomaly]:
    """Return the start-up and the wind-down of a log, if present.

    The start-up is the beginning of the log in which most jobs are missing relative to half of
    the number expected from the weekly cycle; it ends where arrivals first exceed half of the
    usual rate. The wind-down is the same in reverse. At the usual rates, a stretch of the same
    length with as few arrivals would be significantly unlikely anywhere in the log; consecutive
    jobs of one user count as one arrival.
    """
    submit = activity.submit
    expected = activity.expected(submit)
    n_jobs = submit.size
    rank = np.arange(n_jobs)
    # Missing jobs before job i, and after it.
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
    """Judge one end of a log; `row` is the first usual job, or the last."""
    submit = activity.submit
    missing /= activity.ordinary_day
    if missing < MISSING_DAYS or not rows.size:
        return None
    from scipy.special import pdtr

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
    condition = FieldComparison("submit", sign, _plain(submit[row]))
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
    note = ""
    if kind == START_UP and ran.any() and (first_start := float(start[ran].min())) > submit[0]:
        evidence["first_start"] = first_start
        note = f" No job started before second {first_start:,.0f}."
    reason = (
        f"{rows.size:,} jobs in {length / DAY:.1f} days, {rate:,.0f} per week instead of the usual "
        f"{usual:,.0f} ({users:.0f} users per week, {users_else:.0f} elsewhere). "
        f"{missing:.1f} ordinary days of jobs are missing relative to half the usual rate; the "
        f"deepest lull within the log misses {lull:.1f}.{note}"
    )
    strength = "notable" if missing >= DEEPER * lull else "slight"
    span = (float(span[0]), float(span[1]))
    return Anomaly(kind, "few jobs", strength, reason, evidence, span, Filter(condition, count))


def _arrivals(user: NDArray[np.int64]) -> int:
    """Count jobs; consecutive jobs of one known user count as one."""
    return 1 + int(np.count_nonzero((np.diff(user) != 0) | (user[1:] < 0)))


def _per_week(trace: Trace, rows: NDArray, length: float) -> tuple[float, float, float]:
    """Return jobs per week in a part of the log, and the median known users there and elsewhere."""
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

    Such a period lacks at least two ordinary days of arrivals, and an equally empty period is
    significantly unlikely at the usual rates of its hours of the week; consecutive jobs of one
    user count as one arrival. Because days differ, the distribution of the log's own gaps is
    tested, too. Gaps are measured in jobs expected from the cycle. A generalized Pareto
    distribution is fitted to the largest gaps of the days above their upper quartile (by
    probability-weighted moments, J. R. M. Hosking and J. R. Wallis, Technometrics 29, 1987),
    without the gap under test.

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
    condition, note = None, "It contains no jobs to remove."
    if evidence["jobs_before"] <= ISLAND * trace.n_jobs:
        condition, note = (
            FieldComparison("submit", "<=", _plain(begin)),
            "The filter removes the jobs before it.",
        )
    elif evidence["jobs_after"] <= ISLAND * trace.n_jobs:
        condition, note = (
            FieldComparison("submit", ">=", _plain(end)),
            "The filter removes the jobs after it.",
        )
    running = (
        f"; the machine was idle for {idle / 3600:,.0f} h of it"
        if idle > 0
        else "; jobs were running"
    )
    reason = (
        f"no arrivals for {(end - begin) / 3600:,.0f} h, where {missing:,.0f} jobs are usual "
        f"({missing / activity.ordinary_day:.1f} ordinary days){running}. Probability at the usual "
        f"rates: 1e{log_chance / np.log(10):.0f}; by the log's own gaps: {own:.2g}. {note}"
    )
    strength = "notable" if own <= ALPHA else "slight"
    chosen = None
    if condition is not None:
        chosen = Filter(condition, int(np.count_nonzero(Filter(condition).mask(trace))))
    return Anomaly(DEAD_PERIOD, "no arrivals", strength, reason, evidence, (begin, end), chosen)


def _longest_idle(trace: Trace, begin: float, end: float) -> float:
    """Return the longest time within a period without a running job [s]."""
    stop = trace.end[trace.ran]
    start = stop - trace.column("run")[trace.ran]
    near = (stop > begin) & (start < end)
    order = np.argsort(start[near], kind="stable")
    starts = np.append(np.maximum(start[near][order], begin), end)
    stops = np.maximum.accumulate(np.append(begin, stop[near][order]))
    return float(np.maximum(starts - stops, 0).max())


def _chance_among(largest: NDArray[np.float64], gap: float) -> float:
    """Return the probability of so large a gap on any day, from the tail of the other days."""
    threshold = float(np.quantile(largest, 0.75))
    above = np.sort(largest[largest > threshold] - threshold)
    n = above.size
    if n < 5:
        return 1.0
    mean = above.mean()
    weighted = float((above * (1 - (np.arange(1, n + 1) - 0.35) / n)).mean())
    # Not lighter than exponential, and light enough for a finite mean.
    shape = float(np.clip(2 - mean / (mean - 2 * weighted), 0.0, 0.9))
    scale = mean * (1 - shape)
    beyond = (gap - threshold) / scale
    tail = np.exp(-beyond) if shape < 1e-9 else (1 + shape * beyond) ** (-1 / shape)
    return float(-np.expm1(largest.size * np.log1p(-min(0.25 * tail, 0.999))))


def _plain(value: float) -> int | float:
    return int(value) if value == int(value) else float(value)
