"""Flurries: surges of activity by single users that dominate the workload for a while.

D. Tsafrir and D. G. Feitelson, "Instability in parallel job scheduling simulation: the role of
workload flurries", IPDPS 2006, and D. G. Feitelson and D. Tsafrir, "Workload sanitation for
performance evaluation", ISPASS 2006, define flurries as rare "surges of activity with a repetitive
nature, caused by a single user, that dominate the workload for a relatively short period".

Here a user *dominates* a stretch of the log in which they submit more jobs than all others
together. Each user's stretch is the one with the largest lead: scoring +1 for each of their jobs
and -1 for each job of another user, it is the run of jobs with the highest sum (Kadane's
algorithm), so no length has to be chosen beforehand.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloadkit.automatic import ALIKE, DOMINATING
from workloadkit.cleaning.anomaly import FLURRY, Anomaly, day_of
from workloadkit.cleaning.cleaned import Filter
from workloadkit.clock import DAY, Clock
from workloadkit.errors import plural
from workloadkit.select import Condition, FieldComparison, Junction
from workloadkit.trace import Trace

#: Each pass over the log finds the largest flurry of each user; the next pass, without these jobs,
#: finds those that they hid. [passes]
_MOST_PASSES = 20


#: Minimum ratio of the rate of such jobs outside a flurry to that inside, for them to continue.
_GOES_ON = 0.5


@dataclass(frozen=True)
class FlurryLimits:
    """Thresholds that define a flurry.

    Parameters
    ----------
    days : float, default 10
        Minimum lead of the user over all others together, in jobs of an ordinary day of the
        others: the flurries in the sources are about ten times the usual activity.
    share : float, default 0.1
        Minimum share of all jobs of the log for a dominating flurry: from this share on, one burst
        of one user contributes a tenth of any mean over the jobs.
    shown : float, default 0.5
        Fraction of `days` from which a burst is reported as slight.
    sigmas : float, default 5
        Minimum lead in standard deviations of a fair coin that is tossed once per run of
        consecutive jobs of the user; runs have the user's typical length elsewhere in the log. In
        a log of two equal users, each leads now and then by chance.
    short : float, default 0.5
        Maximum length of a short flurry, as a share of the log's time. A longer one is a flurry
        only if it is repetitive: its jobs agree in processors or application.
    kind : float, default 0.95
        Minimum share of jobs that agree in processors or application for these to be named.
        Share of its jobs that must agree in processors or application for these to be named.
    """

    days: float = 10.0
    share: float = DOMINATING
    shown: float = 0.5
    sigmas: float = 5.0
    short: float = 0.5
    kind: float = ALIKE

    def scaled(self, factor: float) -> "FlurryLimits":
        """Return the limits with `days` and `share` multiplied, for sensitivity analysis."""
        return replace(self, days=factor * self.days, share=factor * self.share)


LIMITS = FlurryLimits()


@dataclass(frozen=True)
class _Stretch:
    """A stretch that a user dominates."""

    user: int
    rows: NDArray[np.int64]  # the user's jobs in it
    others: int  # jobs of other users in it
    ordinary_day: float  # jobs of the others


def find_flurries(trace: Trace, limits: FlurryLimits = LIMITS) -> list[Anomaly]:
    """Return the flurries of a log, sorted by decreasing lead in days.

    Parameters
    ----------
    trace : Trace
    limits : FlurryLimits, optional

    Notes
    -----
    The filter names the user, the processors and application that nearly all jobs share, and the
    range of jobs. The range is omitted if most such jobs lie in it and the others continue outside
    at half the rate or more, because then they are a part of the whole log.

    Examples
    --------
    >>> others = np.arange(0, 40 * 86400, 3600.0)  # one an hour
    >>> burst = 10 * 86400 + np.arange(0, 600)  # ten minutes
    >>> submit = np.append(others, burst)
    >>> user = np.append(1 + np.arange(others.size) % 7, np.full(600, 9))
    >>> trace = Trace.from_columns({"submit": submit, "user": user, "procs": np.ones(submit.size)})
    >>> for flurry in find_flurries(trace):
    ...     print(flurry.strength, flurry.filter)
    dominating user=9 and proc=1 (600 jobs removed)
    """
    clock = Clock.of(trace)
    day = day_of(clock, trace.column("submit"))
    left = trace.column("user") >= 0  # -1 is an unknown user
    found: list[_Stretch] = []
    for _ in range(_MOST_PASSES):
        more = _stretches(trace, day, np.flatnonzero(left), limits)
        if not more:
            break
        found += more
        left[np.concatenate([one.rows for one in more])] = False
    anomalies = [_anomaly(trace, day, one, limits) for one in found]
    return sorted(anomalies, key=lambda one: -one.evidence["days_ahead"])


def _stretches(
    trace: Trace, day: NDArray[np.int64], rows: NDArray[np.int64], limits: FlurryLimits
) -> list[_Stretch]:
    """Return the stretch of each user with the largest lead over all others, if it is large."""
    users, code = np.unique(trace.column("user")[rows], return_inverse=True)
    if users.size < 2:
        return []
    order = np.argsort(code, kind="stable")  # by user, in the order of the log
    code = code[order]
    first = np.searchsorted(code, np.arange(users.size))
    place = np.arange(rows.size) - first[code]  # among the user's jobs
    # Lead up to and including each job of the user: twice the user's jobs minus all jobs.
    ahead = 2 * place - order
    # Restart for each user: lower the sums below all those of the users before.
    lowered = ahead - code * (4 * rows.size + 4)
    lowest = np.minimum.accumulate(lowered)
    score = lowered - lowest + 1
    best = np.maximum.reduceat(score, first)
    day = day[rows] - day[rows[0]]
    per_day = np.bincount(day)
    found = []
    for user in np.flatnonzero(best >= max(limits.shown * limits.days, 1)):
        own = slice(first[user], first[user + 1] if user + 1 < users.size else rows.size)
        others = per_day - np.bincount(day[order[own]], minlength=per_day.size)
        ordinary = float(np.median(others))
        if ordinary < 1 or best[user] < limits.shown * limits.days * ordinary:
            continue
        last = own.start + int(np.argmax(score[own]))
        begin = own.start + int(np.flatnonzero(lowered[own.start : last + 1] == lowest[last])[-1])
        length = int(order[last] - order[begin]) + 1
        row = _run_length(np.delete(order[own], np.s_[begin - own.start : last - own.start + 1]))
        if best[user] < limits.sigmas * np.sqrt(row * length):
            continue
        inside = rows[order[begin : last + 1]]
        if not (_is_short(trace, inside, limits) or _shared(trace, inside, limits)):
            continue
        found.append(_Stretch(int(users[user]), inside, length - inside.size, ordinary))
    return found


def _anomaly(
    trace: Trace, day: NDArray[np.int64], stretch: _Stretch, limits: FlurryLimits
) -> Anomaly:
    submit, rows = trace.column("submit"), stretch.rows
    begin, end = float(submit[rows[0]]), float(submit[rows[-1]])
    shared = _shared(trace, rows, limits)
    kind: list[Condition] = [FieldComparison("user", "=", stretch.user)]
    kind += [FieldComparison(name, "=", value) for name, (value, _) in shared.items()]
    condition = _within(trace, kind, rows)
    count = int(np.count_nonzero(Filter(condition).mask(trace)))
    whole = ""
    if condition == _joined(kind):  # without a range of jobs
        begin, end = _extent(trace, condition)
        if count > rows.size:
            whole = f" Such jobs ({count:,} in total) continue throughout the log."
    if count < rows.size:
        whole = f" The filter removes {count:,} of them."
    ahead = rows.size - stretch.others
    days_ahead, share = ahead / stretch.ordinary_day, count / trace.n_jobs
    run = trace.column("run")[rows]
    median_run = float(np.nanmedian(run)) if (run >= 0).any() else None
    length = float(submit[rows[-1]] - submit[rows[0]])
    evidence: dict[str, Any] = {
        "user": stretch.user,
        "jobs": rows.size,
        "jobs_of_others": stretch.others,
        "days": length / DAY,
        "days_dominated": _days_dominated(day, stretch),
        "ordinary_day_of_others": stretch.ordinary_day,
        "days_ahead": days_ahead,
        "jobs_removed": count,
        "share_of_jobs": share,
        "median_run": median_run,
    }
    alike = []
    if "procs" in shared:
        procs, evidence["procs_share"] = shared["procs"]
        evidence["procs"] = procs
        alike.append(plural(procs, "processor"))
    if "executable" in shared:
        application, evidence["executable_share"] = shared["executable"]
        evidence["executable"] = application
        alike.append(f"application {application}")
    nature = " and ".join(alike)
    if nature:
        every = all(share == 1 for _, share in shared.values())
        nature = f"; {nature} each" if every else f"; nearly all with {nature}"
    reason = (
        f"{rows.size:,} jobs in {_days(length)} while all others submitted {stretch.others:,}: "
        f"a lead of {days_ahead:.1f} of their ordinary days ({stretch.ordinary_day:,.0f} jobs)"
        f"{nature}.{whole}"
    )
    large = days_ahead >= limits.days
    strength = ("dominating" if share >= limits.share else "notable") if large else "slight"
    title = f"user {stretch.user}"
    return Anomaly(
        FLURRY, title, strength, reason, evidence, (begin, end), Filter(condition, count)
    )


def _run_length(places: NDArray[np.int64]) -> float:
    """Return the expected length of the run that contains a given job of one user; at least 1.

    It is 2 m - 1 for geometrically distributed runs of mean m. The median run estimates m, since a
    few very long runs are other flurries of the same user.
    """
    if not places.size:
        return 1.0
    ends = np.flatnonzero(np.concatenate(([True], np.diff(places) > 1, [True])))
    return 2 * float(np.median(np.diff(ends))) - 1


def _is_short(trace: Trace, rows: NDArray[np.int64], limits: FlurryLimits) -> bool:
    submit = trace.column("submit")
    return bool(submit[rows[-1]] - submit[rows[0]] <= limits.short * (submit[-1] - submit[0]))


def _shared(
    trace: Trace, rows: NDArray[np.int64], limits: FlurryLimits
) -> dict[str, tuple[int | float, float]]:
    """Return the processors and the application that nearly all jobs share, with their share."""
    commonest = {name: _commonest(trace.column(name)[rows]) for name in ("procs", "executable")}
    return {name: found for name, found in commonest.items() if found[1] >= limits.kind}


def _within(trace: Trace, kind: list[Condition], rows: NDArray) -> Condition:
    """Return the condition of a kind of jobs, with their range unless they continue outside."""
    of_kind = np.flatnonzero(Filter(_joined(kind)).mask(trace))
    submit = trace.column("submit")
    inside = np.count_nonzero((of_kind >= rows[0]) & (of_kind <= rows[-1]))
    length = max(submit[rows[-1]] - submit[rows[0]], 1.0)
    rest = max(submit[-1] - submit[0] - length, 1.0)
    outside = of_kind.size - inside
    if outside == 0 or (outside < inside and outside / rest >= _GOES_ON * inside / length):
        return _joined(kind)
    number = trace.column("job")
    name = "job" if (number[1:] > number[:-1]).all() else "submit"
    first, last = (trace.column(name)[row].item() for row in (rows[0], rows[-1]))
    bounds = (FieldComparison(name, ">=", _plain(first)), FieldComparison(name, "<=", _plain(last)))
    return _joined([*kind, Junction("and", bounds)])


def _joined(conditions: list[Condition]) -> Condition:
    return conditions[0] if len(conditions) == 1 else Junction("and", tuple(conditions))


def _extent(trace: Trace, condition: Condition) -> tuple[float, float]:
    submit = trace.column("submit")[Filter(condition).mask(trace)]
    return float(submit[0]), float(submit[-1])


def _commonest(values: NDArray) -> tuple[int | float, float]:
    """Return the commonest known value and its share; share 0 if none is known."""
    known = values[values >= 0]
    if not known.size:
        return -1, 0.0
    distinct, counts = np.unique(known, return_counts=True)
    most = int(np.argmax(counts))
    return _plain(distinct[most].item()), float(counts[most] / values.size)


def _plain(value: float) -> int | float:
    return int(value) if value == int(value) else value


def _days_dominated(day: NDArray[np.int64], stretch: _Stretch) -> int:
    """Count the days on which the flurry holds more than half of all jobs."""
    jobs = np.bincount(day)
    own = np.bincount(day[stretch.rows], minlength=jobs.size)
    return int(np.count_nonzero(2 * own > jobs))


def _days(seconds: float) -> str:
    return f"{seconds / DAY:,.1f} days" if seconds >= DAY else f"{seconds / 3600:,.1f} hours"
