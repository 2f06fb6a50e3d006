"""Daily and weekly cycles of arrivals in the log's time zone, and shares by day and on weekdays."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.analysis import bootstrap, style
from workloadkit.analysis.formats import number, share, with_interval
from workloadkit.analysis.section import (
    SEED,
    AnalysisResult,
    Figure,
    Section,
    Table,
    joined,
    part,
    shown,
)
from workloadkit.clock import DAY, WEEK, Clock
from workloadkit.errors import WorkloadError, WorkloadWarning, takes_rng
from workloadkit.trace import Trace, check_trace, list_of_logs

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Daytime, from 7:30 to 17:30 (Shmueli 2008, section 5.3.2.3). [s]
DAY_BEGINS, DAY_ENDS = 7.5 * 3600, 17.5 * 3600

#: Published shares of jobs during the day and on Monday to Friday, of five logs (Shmueli 2008,
#: Figure 5.8).
PUBLISHED_DAY, PUBLISHED_WEEKDAYS = 0.70, 0.80


@dataclass(frozen=True, eq=False)
class WorkingHours(AnalysisResult):
    """Shares of jobs submitted during the day and on weekdays, in local time.

    Parameters
    ----------
    jobs : int
        Number of jobs in logs with a known local time.
    day : float
        Share submitted from 7:30 to 17:30. NaN if there are no jobs.
    day_interval : tuple of float
    weekdays : float
        Share submitted from Monday to Friday.
    weekdays_interval : tuple of float
    """

    jobs: int
    day: float
    day_interval: tuple[float, float]
    weekdays: float
    weekdays_interval: tuple[float, float]

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the two shares with their intervals, and the published ones."""
        ax = style.current_axes(ax)
        share = np.array([self.day, self.weekdays])
        low, high = np.array([self.day_interval, self.weekdays_interval]).T
        bars = np.nan_to_num([share - low, high - share]).clip(min=0)
        place = np.array([1.0, 0.0])
        error = {"ecolor": style.INK, "elinewidth": 1, "capsize": 2}
        ax.barh(place, share, 0.5, xerr=bars, color=style.BLUE, error_kw=error, label="this log")
        published = [PUBLISHED_DAY, PUBLISHED_WEEKDAYS]
        ax.plot(published, place, "D", color=style.ORANGE, markersize=6, label="published")
        ax.set_yticks(place, ["7:30 to 17:30", "Monday to Friday"])
        ax.set_xlim(0, 1)
        style.share_axis(ax.xaxis)
        ax.set_xlabel("share of the jobs")
        ax.grid(visible=False, axis="y")
        style.legend_above(ax)
        return ax


@takes_rng
def working_hours(
    traces: Trace | Sequence[Trace],
    *,
    n_resamples: int = bootstrap.N_RESAMPLES,
    rng: int | np.random.Generator | None = None,
) -> WorkingHours:
    """Measure the shares of jobs submitted by day (7:30 to 17:30) and on weekdays [1]_.

    Parameters
    ----------
    traces : Trace or sequence of Trace
        One log, or several combined; users of different logs are different users. Times are local.
        All submitted jobs count.
    n_resamples : int, default 500
        Number of bootstrap resamples of users, for 95 % percentile intervals; jobs of unknown user
        count as one user.
    rng : int or Generator, optional

    Raises
    ------
    ParameterError
        If no log is given, or an item is not a Trace.

    Warns
    -----
    WorkloadWarning
        For logs without a known local time, which are left out.

    References
    ----------
    .. [1] E. Shmueli, "The importance of feedback in evaluating and designing parallel
       systems schedulers", PhD thesis, Hebrew University, 2008, section 5.3.2.3.

    Examples
    --------
    Thursday, 1 January 1970, at 7:30 and at 17:30, and the Saturday after at noon.

    >>> from workloadkit import Header
    >>> header = Header(("; UnixStartTime: 1", "; TimeZone: 0"))
    >>> log = {"submit": [27000 - 1, 63000 - 1, 216000], "user": [1, 2, 2]}
    >>> hours = working_hours(Trace.from_columns(log, header=header))
    >>> round(hours.day, 3), round(hours.weekdays, 3)
    (0.667, 0.667)
    """
    rng = np.random.default_rng(rng)
    counts, weights = [np.empty((0, 3))], []
    for trace in list_of_logs(traces):
        if not trace.n_jobs:
            continue
        clock = Clock.of(trace)
        if not clock.known:
            warnings.warn(
                f"{trace.name}: local time is unknown; left out of the working hours",
                WorkloadWarning,
                stacklevel=3,
            )
            continue
        local = clock.local(trace.column("submit"))
        hour = local % DAY
        user, users = pd.factorize(trace.column("user"))
        chosen = (hour >= DAY_BEGINS) & (hour < DAY_ENDS), local % WEEK < 5 * DAY, user >= 0
        counts.append(
            np.column_stack([bootstrap.totals_by_user(x, user, users.size) for x in chosen])
        )
        weights.append(bootstrap.resample_users(users.size, n_resamples, rng=rng))
    of_users = np.vstack(counts)
    jobs = of_users[:, 2].sum()
    if not jobs:
        return WorkingHours(0, np.nan, (np.nan, np.nan), np.nan, (np.nan, np.nan))
    draws = bootstrap.resampled_ratios(of_users[:, :2], of_users[:, [2, 2]], np.hstack(weights))
    day, weekdays = (of_users[:, :2].sum(axis=0) / jobs).tolist()
    of_day, of_weekdays = (tuple(limits) for limits in bootstrap.interval(draws).T.tolist())
    return WorkingHours(int(jobs), day, of_day, weekdays, of_weekdays)


_HOUR = 3600
_TITLE = "Daily and weekly cycle"
DAY_NAMES = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def weekly_cycle(trace: Trace) -> pd.DataFrame:
    """Count arrivals by hour of the week.

    Hours are local time, with daylight saving, if the header specifies the time zone; otherwise
    weeks start at second 0 of the log.

    Parameters
    ----------
    trace : Trace
        Jobs submitted outside its window do not count.

    Returns
    -------
    DataFrame
        168 rows, by `hour` since Monday 0:00: `jobs` submitted in that hour of any week; `hours`,
        the time that the log covers of that hour, from its first to its last submission [h]; `rate`
        of arrivals [jobs per hour], NaN if the log does not cover the hour. ``attrs["zone"]`` is
        the time zone of the log, empty if local time is unknown.

    Raises
    ------
    WorkloadError
        If the log has no jobs.

    Examples
    --------
    >>> trace = Trace.from_columns({"submit": [0, 1800, 7200]})
    >>> weekly_cycle(trace).head(3)
          jobs  hours  rate
    hour
    0        2    1.0   2.0
    1        0    1.0   0.0
    2        1    0.0   NaN
    """
    check_trace(trace)
    if not trace.n_jobs:
        raise WorkloadError(f"{trace.name} has no jobs")
    trace = trace.within_window()
    clock, submit = Clock.of(trace), trace.column("submit")
    hour = np.floor(clock.local(submit) % WEEK / _HOUR).astype(np.int64)
    jobs = np.bincount(hour, minlength=168)
    hours = _hours_covered(clock, submit.min(), submit.max())
    rate = np.divide(jobs, hours, out=np.full(168, np.nan), where=hours > 0)
    table = {"jobs": jobs, "hours": hours, "rate": rate}
    found = pd.DataFrame(table, index=pd.RangeIndex(168, name="hour"))
    found.attrs["zone"] = clock.zone
    return found


def daily_cycle(week: pd.DataFrame, *, weekend: bool = True) -> pd.DataFrame:
    """Average the weekly cycle over the days of the week.

    Parameters
    ----------
    week : DataFrame
        Result of `weekly_cycle`.
    weekend : bool, default True
        Whether to return weekdays and weekends separately as well.

    Returns
    -------
    DataFrame
        24 rows, by `hour`: rate of arrivals [jobs per hour] on `all` days, and on `weekdays` and
        on the `weekend` (Saturday and Sunday); ``attrs`` are those of the week.

    Examples
    --------
    >>> trace = Trace.from_columns({"submit": np.arange(0, 14 * 86400, 1800)})
    >>> daily_cycle(weekly_cycle(trace)).loc[8].round(9).tolist()
    [2.0, 2.0, 2.0]
    """
    day = week.index.to_numpy() // 24
    chosen = {"all": day >= 0}
    if weekend:
        chosen |= {"weekdays": day < 5, "weekend": day >= 5}
    rates = {}
    for name, choice in chosen.items():
        total = week[choice].groupby(week.index[choice] % 24)[["jobs", "hours"]].sum()
        rates[name] = total["jobs"] / total["hours"].where(total["hours"] > 0)
    found = pd.DataFrame(rates).rename_axis("hour")
    found.attrs |= week.attrs
    return found


def plot_daily_cycle(data: pd.DataFrame, ax: "Axes | None" = None) -> "Axes":
    """Draw the rate by hour of the day, from `daily_cycle`, in the zone ``data.attrs["zone"]``.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> trace = Trace.from_columns({"submit": np.arange(0, 14 * 86400, 1800)})
    >>> ax = plot_daily_cycle(daily_cycle(weekly_cycle(trace)), Figure().subplots())
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('hour of the day since second 0', 'jobs per hour')
    """
    zone = data.attrs.get("zone", "")
    ax = style.current_axes(ax)
    names = [name for name in ("weekdays", "weekend") if name in data] or ["all"]
    for name, colour in zip(names, (style.BLUE, style.ORANGE), strict=False):
        ax.stairs(data[name], np.arange(25), color=colour, linewidth=1.5, baseline=None, label=name)
    ax.set_xlim(0, 24)
    ax.set_ylim(bottom=0)
    ax.set_xticks(range(0, 25, 3))
    ax.xaxis.set_major_formatter(lambda hour, _: f"{hour:.0f}:00" if zone else f"{hour:.0f}")
    ax.set_xlabel(f"time of day, {zone}" if zone else "hour of the day since second 0")
    ax.set_ylabel("jobs per hour")
    style.count_axis(ax.yaxis)
    style.legend_above(ax)
    return ax


def plot_weekly_cycle(data: pd.DataFrame, ax: "Axes | None" = None) -> "Axes":
    """Draw the rate by hour of the week, from `weekly_cycle`; without a zone, days are numbered.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> trace = Trace.from_columns({"submit": np.arange(0, 14 * 86400, 1800)})
    >>> ax = plot_weekly_cycle(weekly_cycle(trace), Figure().subplots())
    >>> [label.get_text() for label in ax.get_xticklabels(minor=True)][:2]
    ['day 1', 'day 2']
    """
    ax = style.current_axes(ax)
    ax.stairs(data["rate"], np.arange(169), color=style.BLUE, linewidth=1.2, baseline=None)
    mark_days(ax, zone=data.attrs.get("zone", ""))
    ax.set_ylim(bottom=0)
    ax.set_ylabel("jobs per hour")
    style.count_axis(ax.yaxis)
    return ax


def mark_days(ax: "Axes", *, zone: str = "") -> None:
    """Label an x axis in hours of the week with the days; they are numbered without a time zone."""
    names = [name[:3] for name in DAY_NAMES] if zone else [f"day {day}" for day in range(1, 8)]
    ax.set_xlim(0, 168)
    ax.set_xticks(range(0, 169, 24), [""] * 8)
    ax.set_xticks(range(12, 168, 24), names, minor=True)
    ax.tick_params(axis="x", which="minor", length=0)
    ax.set_yticks([], minor=True)


def section(trace: Trace) -> Section:
    """Report the daily and weekly cycle of arrivals."""
    trace = trace.within_window()
    clock, submit = Clock.of(trace), trace.column("submit")
    notes = (clock.note,) if clock.note else ()
    span = float(np.ptp(submit))
    if span < DAY:
        short = "The submissions span less than a day, so there is no cycle to show."
        return Section("cycles", _TITLE, notes=(*notes, short))
    week = weekly_cycle(trace)
    day = daily_cycle(week, weekend=clock.known)
    parts = [Section("cycles", _TITLE, notes=notes), _daily(day, clock.zone)]
    if clock.zone and span >= WEEK:
        parts.append(_working_hours(trace))
    elif not clock.zone:
        unknown = "The shares of jobs by day and on weekdays are unknown, too."
        parts.append(part(notes=(unknown,)))
    short = "The submissions span less than a week, so there is no weekly cycle to show."
    parts.append(_weekly(week, day, clock.zone) if span >= WEEK else part(notes=(short,)))
    return joined(*parts, part(parameters={"seed": SEED}))


def _local(zone: str) -> str:
    return f"local time ({zone})" if zone else "time since second 0 of the log"


def _daily(day: pd.DataFrame, zone: str) -> Section:
    """Describe the rates by hour of the day."""
    busiest, quietest = int(day["all"].idxmax()), int(day["all"].idxmin())
    peak = day["all"].max() / day["all"].mean()
    values = {
        "time_zone": zone or None,
        "busiest_hour": busiest,
        "quietest_hour": quietest,
        "peak_to_mean": peak,
    }
    finding = (
        f"Most jobs arrive between {busiest}:00 and {busiest + 1}:00, {number(peak)} times the "
        f"mean of the day, fewest between {quietest}:00 and {quietest + 1}:00."
        if zone
        else f"The busiest hour of the day has {number(peak)} times the mean arrivals."
    )
    caption = f"Mean arrivals by hour of the day, in {_local(zone)}."
    figure = Figure("daily", "Daily cycle", caption, day, plot_daily_cycle)
    return part(finding, values=values, figures=(figure,))


def _weekly(week: pd.DataFrame, day: pd.DataFrame, zone: str) -> Section:
    """Describe the rates by hour of the week and by weekday."""
    caption = f"Mean arrivals by hour of the week, in {_local(zone)}; lines mark midnight."
    figure = Figure("weekly", "Weekly cycle", caption, week, plot_weekly_cycle)
    days = _by_day(week, DAY_NAMES if zone else tuple(f"day {i}" for i in range(1, 8)))
    finding, values = "", {}
    if zone:
        rates = day[["weekdays", "weekend"]].sum()
        values["weekend_to_weekday"] = relative = rates["weekend"] / rates["weekdays"]
        finding = f"A weekend day has {share(relative)} of the arrivals of a weekday."
    tables = (_table_of_days(days),)
    return part(finding, values=values, tables=tables, figures=(figure,))


def _working_hours(trace: Trace) -> Section:
    """Describe the shares of jobs submitted during the day and on weekdays."""
    found = working_hours(trace, rng=SEED)
    day = with_interval(found.day, *found.day_interval)
    weekdays = with_interval(found.weekdays, *found.weekdays_interval)
    note = (
        "Brackets hold 95 % intervals (bootstrap over users, with all their jobs). Published "
        f"shares are {share(PUBLISHED_DAY)} during the day and {share(PUBLISHED_WEEKDAYS)} on "
        "weekdays (Shmueli 2008, five logs)."
    )
    values = {
        "day_share": found.day,
        "day_share_low": found.day_interval[0],
        "day_share_high": found.day_interval[1],
        "weekday_share": found.weekdays,
        "weekday_share_low": found.weekdays_interval[0],
        "weekday_share_high": found.weekdays_interval[1],
    }
    text = f"{day} of the jobs are submitted from 7:30 to 17:30, {weekdays} on Monday to Friday."
    return part(text, (note,), values)


def _hours_covered(clock: Clock, first: float, last: float) -> NDArray[np.float64]:
    """Return how much of each hour of the week lies between two seconds, in hours."""
    opens = np.arange(168) * _HOUR

    def passed(local: float) -> NDArray[np.float64]:  # seconds of each hour up to `local`
        weeks, rest = divmod(local, WEEK)
        return weeks * _HOUR + np.clip(rest - opens, 0, _HOUR)

    seconds = np.zeros(168)
    for begin, end, _ in clock.pieces():
        begin = max(begin - clock.start, first)
        end = min(end - clock.start, last)
        if end > begin:
            local = float(clock.local(begin))
            seconds += passed(local + end - begin) - passed(local)
    return seconds / _HOUR


def _by_day(week: pd.DataFrame, names: tuple[str, ...]) -> pd.DataFrame:
    total = week.groupby(week.index // 24)[["jobs", "hours"]].sum()
    per_day = 24 * total["jobs"] / total["hours"]
    days = pd.DataFrame({"jobs": total["jobs"], "jobs_per_day": per_day})
    return days.assign(share=total["jobs"] / total["jobs"].sum()).set_axis(list(names))


def _table_of_days(days: pd.DataFrame) -> Table:
    columns = {
        "jobs": ("jobs", number),
        "jobs_per_day": ("jobs per day", number),
        "share": ("share", share),
    }
    return Table("days", "Jobs submitted by day of the week.", days, shown(days, columns))
