"""Find the unrepresentative parts of a log, each with its evidence and a filter."""

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workloadkit.cleaning.anomaly import (
    FEWEST_WEEKS,
    FLURRY,
    MOST_WEEKS,
    START_UP,
    STRENGTHS,
    WIND_DOWN,
    Activity,
    Anomaly,
)
from workloadkit.cleaning.changes import find_queue_changes, find_steps
from workloadkit.cleaning.cleaned import Filter, removals
from workloadkit.cleaning.flurries import LIMITS, FlurryLimits, find_flurries
from workloadkit.cleaning.quiet import find_dead_periods, find_quiet_ends
from workloadkit.clock import DAY, interval_of
from workloadkit.columns import Columns, HoldsTables
from workloadkit.display import SINCE_BEGIN, Displayed, current_axes
from workloadkit.trace import Trace, check_trace

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class Anomalies(HoldsTables, Displayed):
    """Result of `find_anomalies`.

    Parameters
    ----------
    name : str
        Name of the log.
    n_jobs : int
        Number of jobs.
    items : tuple of Anomaly
        Strongest first, then by kind.
    notes : tuple of str
        What could not be judged, and why.
    daily : DataFrame
        One row per local day: `begin` and `end` [s], `date` if known, `jobs`, and the jobs in
        `flurries` that are more than slight.
    limits : FlurryLimits
        Thresholds that define a flurry.
    """

    _TABLES = ("daily",)

    name: str
    n_jobs: int
    items: tuple[Anomaly, ...]
    notes: tuple[str, ...]
    daily: "pd.DataFrame"
    limits: FlurryLimits = LIMITS

    @property
    def offered(self) -> tuple[Filter, ...]:
        """Recommended filters: anomalies that are more than slight, without changes."""
        return tuple(one.filter for one in self.items if one.offered and one.filter)

    def sensitivity(self) -> dict[float, dict[str, int]]:
        """Count the flurries by strength, with both size limits halved, as given, and doubled."""
        flurries = [one.evidence for one in self.items if one.kind == FLURRY]
        counts = {}
        for factor in (0.5, 1.0, 2.0):
            limits = self.limits.scaled(factor)
            large = [one for one in flurries if one["days_ahead"] >= limits.days]
            dominating = [one for one in large if one["share_of_jobs"] >= limits.share]
            counts[factor] = {
                "dominating": len(dominating),
                "notable": len(large) - len(dominating),
            }
        return counts

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the jobs of each day, and those of them in flurries.

        `analysis.load.plot_anomalies` shows the other kinds, too.
        """
        ax = current_axes(ax)
        edges = np.append(self.daily["begin"], self.daily["end"].tail(1)) / DAY
        if edges.size:
            ax.stairs(self.daily["jobs"], edges, label="all jobs")
            ax.stairs(self.daily["flurries"], edges, fill=True, color="C1", label="of flurries")
            ax.legend()
        ax.set_xlabel(SINCE_BEGIN)
        ax.set_ylabel("jobs submitted per day")
        return ax

    def _summary(self) -> str:
        kinds = Counter(one.kind for one in self.items)
        found = ", ".join(f"{count} {kind}" for kind, count in kinds.items()) or "none"
        return f"{self.name!r}: {found}"

    def _table(self) -> "pd.DataFrame":
        """Return a table with one row per anomaly."""
        import pandas as pd

        columns = {
            "kind": [one.kind for one in self.items],
            "title": [one.title for one in self.items],
            "strength": [one.strength for one in self.items],
            "begin": [one.span[0] for one in self.items],
            "end": [one.span[1] for one in self.items],
            "jobs": [one.n_jobs for one in self.items],
            "share_of_jobs": [one.n_jobs / self.n_jobs for one in self.items],
            "filter": [str(one.filter or "") for one in self.items],
            "reason": [one.reason for one in self.items],
        }
        return pd.DataFrame(columns)

    def to_dict(self) -> dict[str, Any]:
        """Return the result for JSON, with the evidence by name."""
        days = max(len(self._columns_of("daily")), 1)
        return {
            "log": self.name,
            "jobs": self.n_jobs,
            "anomalies": [
                {
                    "kind": one.kind,
                    "title": one.title,
                    "strength": one.strength,
                    "reason": one.reason,
                    "evidence": dict(one.evidence),
                    "begin": one.span[0],
                    "end": one.span[1],
                    "share_of_jobs": one.n_jobs / self.n_jobs,
                    "share_of_days": min((one.span[1] - one.span[0]) / DAY / days, 1.0),
                    "filter": str(one.filter) if one.filter else None,
                    "offered": one.offered,
                }
                for one in self.items
            ],
            "flurries_by_limits": {str(factor): n for factor, n in self.sensitivity().items()},
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        if not self.items:
            return f"{self.name}: {' '.join(self.notes) or 'Nothing found.'}"
        rows = [("strength", "kind", "begins", "days", "jobs", "share", "what")]
        rows += [
            (
                one.strength,
                one.kind,
                self.date(one.span[0]),
                _days(one.span[1] - one.span[0]),
                f"{one.n_jobs:,}" if one.filter else "",
                f"{100 * one.n_jobs / self.n_jobs:.3g} %" if one.filter else "",
                one.title,
            )
            for one in self.items
        ]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(
                cell.rjust(width) if column in (3, 4, 5) else cell.ljust(width)
                for column, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        ]
        return "\n".join([*lines, *self.notes])

    def date(self, second: float) -> str:
        """Return the local day of a second of the log, or the day number if it is unknown."""
        daily = self._columns_of("daily")
        if "date" not in daily:
            return f"day {second / DAY:,.0f}"
        day = int(np.searchsorted(daily["begin"], second, side="right")) - 1
        return str(np.asarray(daily["date"])[max(day, 0)].astype("datetime64[D]"))


def _days(length: float) -> str:
    """Return a length [s] in days with a decimal, and more below a tenth; empty for no length.

    Examples
    --------
    >>> _days(864_000), _days(1800), _days(0)
    ('10.0', '0.021', '')
    """
    days = length / DAY
    return "" if days <= 0 else f"{days:,.1f}" if days >= 0.1 else f"{days:.2g}"


def find_anomalies(trace: Trace, *, limits: FlurryLimits = LIMITS) -> Anomalies:
    """Find the unrepresentative parts of a log, without removing them.

    The parts are *flurries* (see `workloadkit.cleaning.flurries`), a *start-up* or *wind-down* (few
    jobs at one end compared with the weekly cycle), *dead periods* (no arrivals for longer than the
    weekly cycle and the log's own gaps explain) and *changes* of configuration (machine size,
    limits of requests, sets of queues and partitions). Each has its evidence, a strength, and a
    filter that `clean` applies. Flurries that are more than slight are excluded when the other
    kinds are sought.

    Parameters
    ----------
    trace : Trace
    limits : FlurryLimits, optional
        Thresholds that define a flurry.

    Examples
    --------
    >>> import workloadkit as wk
    >>> find_anomalies(wk.load_sample()).offered
    ()
    """
    check_trace(trace)
    if not trace.n_jobs:
        return Anomalies(trace.name, 0, (), ("The log has no jobs.",), _daily_of_none(), limits)
    activity = Activity.of(trace)
    none = np.zeros(trace.n_jobs, bool)
    if not activity.judged:
        why = (
            f"spans less than {FEWEST_WEEKS} weeks"
            if activity.weeks < FEWEST_WEEKS
            else f"spans more than {MOST_WEEKS:,} weeks"
            if activity.weeks > MOST_WEEKS
            else "has no job in most of its weeks"
        )
        note = f"The log {why}, so its usual activity is unknown: anomalies were not sought."
        daily = _daily(activity, none) if activity.weeks <= MOST_WEEKS else _daily_of_none()
        return Anomalies(trace.name, trace.n_jobs, (), (note,), daily, limits)
    flurries = find_flurries(trace, limits)
    large = [one.filter for one in flurries if one.strength != "slight" and one.filter]
    in_flurry = none.copy()
    for _, rows in removals(trace, large):
        in_flurry[rows] = True
    rest = trace.select(~in_flurry)
    usual = Activity.of(rest) if rest.n_jobs else None
    items, notes = list(flurries), []
    if usual and usual.judged:
        ends = find_quiet_ends(rest, usual)
        begin = max((one.span[1] for one in ends if one.kind == START_UP), default=-np.inf)
        end = min((one.span[0] for one in ends if one.kind == WIND_DOWN), default=np.inf)
        items += ends + find_dead_periods(rest, usual, (begin, end))
        items += find_steps(rest, usual.weeks) + find_queue_changes(rest, usual.weeks)
    else:
        notes.append("Without its flurries, the log is too short to find other anomalies.")
    counted = (_recounted(trace, one) for one in items)
    order = sorted(counted, key=lambda one: STRENGTHS.index(one.strength))
    return Anomalies(
        trace.name, trace.n_jobs, tuple(order), tuple(notes), _daily(activity, in_flurry), limits
    )


def _recounted(trace: Trace, one: Anomaly) -> Anomaly:
    """Return the anomaly with the number of jobs that its filter removes from the whole log."""
    if one.filter is None:
        return one
    count = int(np.count_nonzero(one.filter.mask(trace)))
    return replace(one, filter=one.filter.counted(count))


def _daily_of_none() -> Any:
    return Columns((name, np.empty(0)) for name in ("begin", "end", "jobs", "flurries"))


def _daily(activity: Activity, in_flurry: NDArray[np.bool_]) -> Any:
    """Count the jobs of each local day."""
    submit, clock = activity.submit, activity.clock
    edges = clock.midnights(submit[0], submit[-1])
    day = interval_of(edges, submit)
    table = Columns(
        begin=edges[:-1],
        end=edges[1:],
        jobs=np.bincount(day, minlength=edges.size - 1),
        flurries=np.bincount(day[in_flurry], minlength=edges.size - 1),
    )
    if clock.known:
        table["date"] = np.array(clock.datetimes(edges[:-1]), "datetime64[s]")
    return table
