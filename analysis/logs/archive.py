"""Where a log stands among the production logs of the Parallel Workloads Archive."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.analysis import style
from workloadkit.analysis.formats import coefficient, count, duration, number, ordinal, share
from workloadkit.analysis.logs.comparison import measures, numbers_of
from workloadkit.analysis.section import AnalysisResult, Section, Table
from workloadkit.errors import ParameterError, plural, quoted
from workloadkit.trace import Trace, check_trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Fewest jobs of a log that a report places among those of the archive.
FEWEST_JOBS = 1000

#: The compared measures, by their names in `measures`: title, and how values are written.
MEASURES: dict[str, tuple[str, Callable[[float], str]]] = {
    "load.machine": ("processors of the machine", count),
    "load.utilization": ("utilization", share),
    "load.jobs_per_day_mean": ("jobs a day", number),
    "users.n_users": ("users", count),
    "users.jobs_share_of_first": ("jobs of the most active user", share),
    "users.work_share_of_first_10": ("work of the ten users with most", share),
    "users.gini_of_jobs": ("Gini coefficient of jobs by user", coefficient),
    "marginals.run.p25": ("first quartile of run times", duration),
    "marginals.run.p50": ("median run time", duration),
    "marginals.run.p75": ("third quartile of run times", duration),
    "marginals.run.p95": ("95th percentile of run times", duration),
    "marginals.procs.p50": ("median size", number),
    "marginals.procs.p95": ("95th percentile of sizes", number),
    "marginals.serial_share": ("jobs on one processor", share),
    "marginals.power_of_two_share": ("jobs on a power of two of processors", share),
    "marginals.wait.p50": ("median wait", duration),
    "marginals.wait.p95": ("95th percentile of waits", duration),
    "marginals.wait.mean": ("mean wait", duration),
    "marginals.bounded_slowdown.p50": ("median bounded slowdown", number),
    "marginals.estimate.p50": ("median estimate", duration),
    "accuracy.median": ("median of run time over estimate", share),
    "accuracy.popular_share": ("jobs with a popular estimate", share),
    "cycles.day_share": ("jobs submitted by day", share),
    "cycles.weekend_to_weekday": ("weekend over weekday in jobs a day", share),
    "sessions.length.p50": ("median session length", duration),
    "sessions.jobs_per_session.mean": ("jobs a session", number),
    "sessions.think_time.p50": ("median think time", duration),
    "locality.similarity.processors.in_session": ("similar sizes in a session", share),
    "locality.similarity.run_time.in_session": ("similar run times in a session", share),
    "locality.days.run_time.mean": ("daily concentration of run times", share),
    "long_memory.hurst": ("Hurst exponent", coefficient),
    "long_memory.hurst_cycle_removed": ("Hurst exponent without cycles", coefficient),
}

_NAMED = 4  # measures in a finding
_SECTIONS = tuple(dict.fromkeys(name.partition(".")[0] for name in MEASURES))


class Strip(NamedTuple):
    """One measure of a log and of the archive's logs.

    Parameters
    ----------
    title : str
    value : float
    values : ndarray of float, shape (n_others,)
        Of the archive's logs, ascending.
    names : tuple of str
        Names of these logs, in the same order.
    """

    title: str
    value: float
    values: NDArray[np.float64]
    names: tuple[str, ...]

    @property
    def rank(self) -> int:
        """Place of the log, 1 for the least value; equal values share the best place."""
        return int((self.values < self.value).sum()) + 1

    @property
    def place(self) -> str:
        """Place of the log, counted from the nearer end.

        Examples
        --------
        >>> values = np.array([1.0, 2.0, 3.0])
        >>> [Strip("jobs", x, values, ("A", "B", "C")).place for x in (0.5, 1.5, 2.5, 9)]
        ['lowest of 4', '2nd lowest of 4', '2nd highest of 4', 'highest of 4']
        """
        places = {"lowest": self.rank, "highest": int((self.values > self.value).sum()) + 1}
        end, n = min(places.items(), key=lambda each: each[1])
        return f"{f'{ordinal(n)} ' if n > 1 else ''}{end} of {self.values.size + 1}"


@dataclass(frozen=True, eq=False)
class ArchiveComparison(AnalysisResult):
    """The place of a log among those of the archive.

    To draw one measure as a strip, take `strip_of(measure)`: it has the value of the log, and the
    sorted values and names of the others.

    Parameters
    ----------
    name : str
        Name of the log.
    table : DataFrame
        By `measure`: `value`; `rank`, 1 for the least, of `n` logs, this one included; the
        `least` and the `greatest` value of the others, and the names of their logs, `least_log`
        and `greatest_log`. Measures that are unknown of the log are left out.
    others : DataFrame
        The values of the archive's logs: by `measure`, one column per log; NaN if unknown.
    """

    name: str
    table: pd.DataFrame
    others: pd.DataFrame

    def strip_of(self, measure: str) -> Strip:
        """Return one measure of the log and, in ascending order, of the others.

        Raises
        ------
        ParameterError
            If the measure is unknown, or unknown of this log.
        """
        if measure not in self.table.index:
            known = ", ".join(self.table.index)
            raise ParameterError("measure", f"is {quoted(measure)}; {self.name} has {known}"[:300])
        return _strip(measure, float(self.table.at[measure, "value"]), self.others)

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw each measure of all logs between the least and the greatest value of the others."""
        ax = style.current_axes(ax)
        for row, measure in enumerate(self.table.index):
            strip = self.strip_of(measure)
            low, high = strip.values[0], strip.values[-1]
            unit = high - low or 1.0
            ax.plot(
                (strip.values - low) / unit, np.full(strip.values.size, row), ".", color=style.PALE
            )
            place = min(max((strip.value - low) / unit, -0.05), 1.05)  # outside of the others
            ax.plot([place], [row], "o", color=style.ORANGE)
        ax.set_yticks(range(len(self.table)), [MEASURES[name][0] for name in self.table.index])
        ax.invert_yaxis()
        ax.set_xticks([0, 1], ["least of the others", "greatest"])
        return ax


def compare_with_archive(trace: Trace) -> ArchiveComparison:
    """Place a log among the production logs of the Parallel Workloads Archive [1]_.

    The measures of ten logs are part of workloadkit, not the logs. A log that is one of them is
    compared with the other nine.

    Parameters
    ----------
    trace : Trace

    References
    ----------
    .. [1] D. G. Feitelson, D. Tsafrir, D. Krakov, "Experience with using the Parallel Workloads
       Archive", J. Parallel and Distributed Computing 74(10), 2014.

    Examples
    --------
    >>> from workloadkit import load_sample
    >>> place = place_among_archive(load_sample(), {"load.utilization": 0.6})
    >>> row = place.table.loc["load.utilization"]
    >>> print(row["rank"], row["n"], row["greatest_log"])
    2 10 CTC-SP2-1996-3.1-cln
    """
    check_trace(trace)
    return place_among_archive(trace, measures(trace, _SECTIONS))


def place_among_archive(trace: Trace, found: Mapping[str, float]) -> ArchiveComparison:
    """Place a log whose measures are known, by name, as `measures` returns them."""
    others = archive_measures().drop(columns=[x for x in _names() if _names()[x] == trace.digest])
    rows = {}
    for measure in MEASURES:
        value = found.get(measure, np.nan)
        if not np.isfinite(value) or others.loc[measure].isna().all():
            continue
        strip = _strip(measure, value, others)
        rows[measure] = {
            "value": value,
            "rank": strip.rank,
            "n": strip.values.size + 1,
            "least": strip.values[0],
            "least_log": strip.names[0],
            "greatest": strip.values[-1],
            "greatest_log": strip.names[-1],
        }
    columns = ["value", "rank", "n", "least", "least_log", "greatest", "greatest_log"]
    table = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
    return ArchiveComparison(trace.name, table.rename_axis("measure"), others)


def _strip(measure: str, value: float, others: pd.DataFrame) -> Strip:
    known = others.loc[measure].dropna().sort_values(kind="stable")
    return Strip(MEASURES[measure][0], value, known.to_numpy(), tuple(known.index))


@cache
def archive() -> dict[str, Any]:
    """Return the measured logs: name, version and digest of each, and its measures."""
    text = (files("workloadkit") / "data" / "archive.json").read_text(encoding="utf-8")
    read: dict[str, Any] = json.loads(text)
    return read


def archive_measures() -> pd.DataFrame:
    """Return the measures of the archive's logs: by `measure`, one column per log."""
    columns = {log["name"]: log["measures"] for log in archive()["logs"]}
    return pd.DataFrame(columns, index=pd.Index(list(MEASURES), name="measure"), dtype=np.float64)


def _names() -> dict[str, str]:
    """Return the digest of each of the archive's logs, by name."""
    return {log["name"]: log["sha256"] for log in archive()["logs"]}


def with_archive(trace: Trace, sections: Iterable[Section]) -> tuple[Section, ...]:
    """Add to the sections of a report one that places the log among those of the archive."""
    sections = tuple(sections)
    if trace.n_jobs < FEWEST_JOBS:
        return sections
    found: dict[str, float] = {}
    for section in sections:
        if section.name in _SECTIONS:
            found |= numbers_of(section.name, section)
    place = place_among_archive(trace, found)
    return (*sections, section_of(place)) if len(place.table) else sections


def section_of(place: ArchiveComparison) -> Section:
    """Return the section of a report on the place of a log."""
    table = place.table
    logs = [log for log in archive()["logs"] if log["name"] in place.others]
    shown = pd.DataFrame(
        {
            "value": [MEASURES[name][1](value) for name, value in table["value"].items()],
            "rank": [place.strip_of(str(name)).place for name in table.index],
            **{
                end: [
                    f"{MEASURES[name][1](row[end])} ({row[f'{end}_log']})"
                    for name, row in table.iterrows()
                ]
                for end in ("least", "greatest")
            },
        },
        index=[MEASURES[str(name)][0] for name in table.index],
    )
    names = ", ".join(f"{log['name']} ({log['jobs']:,} jobs)" for log in logs)
    return Section(
        "archive",
        "Among the logs of the archive",
        _finding(place),
        notes=(
            f"Compared with {plural(len(place.others.columns), 'log')} of the Parallel Workloads "
            f"Archive: {names}.",
        ),
        values={"logs": len(place.others.columns)},
        tables=(
            Table(
                "places",
                "Measures of the log, and its rank among the logs, this one included.",
                table,
                shown,
            ),
        ),
    )


def _finding(place: ArchiveComparison) -> str:
    """Name the measures in which a log is outside of the range of the others."""
    table, logs = place.table, f"{plural(place.others.shape[1], 'log')} of the archive"
    outside = {
        "lower": table.index[table["value"] < table["least"]],
        "higher": table.index[table["value"] > table["greatest"]],
    }
    said = []
    for words, names in outside.items():
        titles = [MEASURES[str(name)][0] for name in names]
        if titles:
            more = f" and {plural(len(titles) - _NAMED, 'more measure')}"
            named = ", ".join(titles[:_NAMED]) + (more if len(titles) > _NAMED else "")
            said.append(f"{words} than in the {logs}: {named}")
    found = "; ".join(said) or f"in all measures within the range of the {logs}"
    return f"{found[0].upper()}{found[1:]}."
