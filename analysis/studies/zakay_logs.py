"""Twelve logs: when, where and how much was recorded.

The study tests the recording period, processors, users and jobs of each log in Table 1.1, and the
statements of the text on sizes, lengths and run times. Counts and months are exact in the same
version of a log; in another one the margin is 5 %, and a month for the period.

All lines of a log count as jobs, whether they ran or not, and all known users. "Tens of thousands"
are at least ten thousand, "several hundred thousand" at least two hundred thousand, six months are
half a year, "a few years" at most five, "multiple days" at least two, "a couple of minutes to
perhaps 10 minutes" a mean run time between 2 and 10 minutes. This last statement refers to the five
logs in which E. Shmueli measured the probability to continue; a note has the median.
"""

from collections.abc import Iterator
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from workloadkit.analysis.reproduction import (
    ALL_LOGS,
    Each,
    Log,
    Result,
    Study,
    StudyInput,
    above,
    at_least,
    at_most,
    between,
    printed,
    read_table,
)
from workloadkit.analysis.reproduction.runs import SHMUELI_LOGS, ZAKAY_LOGS, without
from workloadkit.clock import DAY
from workloadkit.distinct import distinct

if TYPE_CHECKING:
    import numpy as np


#: Margin of a count in another version of the log.
OTHER = 0.05

YEAR = 365.25 * DAY

#: Numbers that stand for words.
TENS_OF_THOUSANDS, HUNDREDS_OF_THOUSANDS, FEW_YEARS, DAYS = 10_000, 200_000, 5, 2


class Facts(NamedTuple):
    """Counts of a log, its period, length [years] and run times [min]."""

    months: float
    period: str
    procs: float
    users: int
    jobs: int
    years: float
    longest_run: float
    mean_run: float
    median_run: float


#: The columns of the table, and their names in claims.
COLUMNS = {
    "months": "months of recording, the first and the last counted",
    "procs": "processors",
    "users": "users",
    "jobs": "jobs",
}


def compare(plan: StudyInput, each: Each) -> Iterator[Result]:
    """Compare the published facts with those of the available logs."""
    found = dict(zip(plan.logs, each(look, plan.logs), strict=True))
    published = {row["log"]: row for row in read_table(Path(__file__).with_suffix(".csv"))}
    for log in (*plan.logs, *plan.missing):
        for name, words in COLUMNS.items():
            row = published[log.name]
            figure = _months(row["begin"], row["end"]) if name == "months" else int(row[name])
            within = max(1.0, OTHER * figure) if log.is_other else 0.0
            claim = printed(words, figure, "Table 1.1", within=within)
            note = f"published {row['begin']} to {row['end']}" if name == "months" else ""
            if log not in found:
                yield Result(log, claim, nan)
                continue
            note += f", here {found[log].period}" if name == "months" else ""
            yield Result(log, claim, getattr(found[log], name), note=note)
    for log, facts in found.items():
        if log.name in SHMUELI_LOGS:
            claim = between("mean run time (min)", (2, 10), "2018, section 6.IV-B", "bound")
            note = f"the median is {facts.median_run:.1f} min"
            yield Result(log, claim, facts.mean_run, note=note)
    yield from _together(found, without(plan))


def look(log: Log, rng: "np.random.Generator") -> Facts:
    """Measure the columns of the table in a log."""
    import numpy as np

    from workloadkit.clock import Clock
    from workloadkit.fields import UNKNOWN

    trace = log.read()
    submit, user = trace.column("submit"), trace.column("user")
    run = trace.column("run")[trace.ran] / 60
    ends = [submit.min(initial=0), submit.max(initial=0)]
    clock = Clock.of(trace)
    first, last = (f"{date:%Y-%m}" for date in clock.dates(ends))
    return Facts(
        _months(first, last) if clock.known else nan,
        f"{first} to {last}" if clock.known else "unknown",
        trace.header.procs or nan,
        int(distinct(user[user != UNKNOWN]).size),
        trace.n_jobs,
        float(ends[1] - ends[0]) / YEAR,
        float(run.max(initial=0)),
        float(run.mean()) if run.size else nan,
        float(np.median(run)) if run.size else nan,
    )


def _months(first: str, last: str) -> int:
    """Count the months from one to another, both included.

    Examples
    --------
    >>> _months("1994-10", "1996-09")
    24
    """
    (year, month), (last_year, last_month) = (map(int, x.split("-")) for x in (first, last))
    return 12 * (last_year - year) + last_month - month + 1


def _together(found: dict[Log, Facts], note: str) -> Iterator[Result]:
    """Test statements on every log, or on some."""
    if not found:
        return
    place, facts = "2018, section 1.2", list(found.values())
    claim = at_least("jobs of the smallest log: tens of thousands", TENS_OF_THOUSANDS, place)
    yield Result(ALL_LOGS, claim, min(x.jobs for x in facts), note=note)
    years = [x.years for x in facts]
    claim = at_least("years of the shortest log: six months", 0.5, place)
    yield Result(ALL_LOGS, claim, min(years), note=note)
    claim = at_most("years of the longest log: a few", FEW_YEARS, place, "ours")
    yield Result(ALL_LOGS, claim, max(years), note=note)
    place = "section 6.2"
    long = [log.name for log, x in found.items() if x.years >= 2]
    many = max((x.jobs for log, x in found.items() if log.name in long), default=0)
    words = "jobs of the largest log of two years or more: several hundred thousand"
    claim = at_least(words, HUNDREDS_OF_THOUSANDS, place, "ours")
    yield Result(ALL_LOGS, claim, many, note=f"of {', '.join(long)}")
    claim = above("share of the logs that are shorter than two years", 0, place, "direction")
    yield Result(ALL_LOGS, claim, 1 - len(long) / len(found), note=note)
    days = {log.name: x.longest_run * 60 / DAY for log, x in found.items()}
    claim = at_least("longest run time of a job (days): multiple", DAYS, "2012, section 1", "ours")
    note = ", ".join(f"{name} {value:.1f}" for name, value in days.items())
    yield Result(ALL_LOGS, claim, max(days.values()), note=note)


STUDY = Study(
    name="zakay-logs",
    text=__doc__,
    source='N. Zakay, "Improved realism and representativeness of workloads to improve reliability '
    'of performance evaluations", PhD thesis, The Hebrew University of Jerusalem, 2018, Table 1.1, '
    "sections 1.2, 2.1 (2012, section 1), 3.6.2 (2014, section 6.2) and 6.IV-B",
    logs={**ZAKAY_LOGS, "OSC-Clust": "OSC-Clust-2000-3.1-cln"},
    compare=compare,
)
