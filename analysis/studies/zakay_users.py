"""Long-term and temporary users.

How many users there are whose first and last job lie more than 12 weeks apart (long-term), how
many others whose jobs do not all lie within 4 weeks of the begin or the end of the log (temporary),
and how many jobs they submitted. Jobs that never ran and jobs of unknown user are left out.

The text says 4 weeks, but its numbers of temporary users are those of 60 days, from second 0 of the
log (which may be days before the first submission) and to the last submission: no other whole
number of days gives users and jobs of KTH-SP2 exactly, the same version of the log, nor those of
SDSC-SP2; LANL-CM5 comes out exactly too. Both rules are shown. That of 60 days was found by trying;
the source does not state it.

The source does not say which versions of the logs it took; those named here are the ones that
N. Zakay's thesis (2018, Table 1.1) lists. The published SDSC-Par is the log of 1995.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from analysis.studies import ZAKAY_LOGS, Each, Log, Result, Study, compare_count, read_table

#: How near to the ends users are left out in the published numbers. [days]
_DAYS = 60

_OTHER_EDGE = f"the text says 4 weeks; the published numbers are those of {_DAYS} days"


def compare(logs: Sequence[Log], runs: int, each: Each) -> Iterator[Result]:
    """Set the published counts beside those of the logs that are here."""
    published = {row["log"]: row for row in read_table(Path(__file__).with_suffix(".csv"))}
    for log, (by_text, by_days) in zip(logs, each(count, logs), strict=True):
        for quantity, number in by_text.items():
            figure = int(published[log.name][quantity])
            title = quantity.replace("long_term", "long-term").replace("_", " ")
            result = compare_count(log, title, figure, number)
            if result.verdict == "differs" and quantity.startswith("temporary"):
                result = replace(result, note=_OTHER_EDGE)
            yield _of_its_year(log, result)
        for quantity in ("temporary_users", "temporary_jobs"):
            figure = int(published[log.name][quantity])
            title = f"{quantity.replace('_', ' ')}, with {_DAYS} days at the ends, not 4 weeks"
            result = compare_count(log, title, figure, by_days[quantity])
            note = f"{result.note}; {_OTHER_EDGE}" if result.note else _OTHER_EDGE
            yield _of_its_year(log, replace(result, note=note))


def count(log: Log, rng: Any) -> tuple[dict[str, int], dict[str, int]]:
    """Count the long-term and the temporary users of a log and their jobs, by both rules."""
    from workloadkit import classify_users
    from workloadkit.clock import DAY

    trace = log.read()
    found = classify_users(trace), classify_users(trace, edge=_DAYS * DAY, begin=0)
    by_text, by_days = (
        {
            f"{kind.replace('-', '_')}_{what}": int(classes.counts.loc[kind, what])
            for kind in ("long-term", "temporary")
            for what in ("users", "jobs")
        }
        for classes in found
    )
    return by_text, by_days


def _of_its_year(log: Log, result: Result) -> Result:
    """Say so where the log here is of another year than the published one."""
    if log.name == "SDSC-Par" and log.version.split("-")[2] != "1995":
        return replace(result, note="the log of another year")
    return result


STUDY = Study(
    name="zakay-users",
    text=__doc__,
    source='N. Zakay, D. G. Feitelson, "Workload resampling for performance evaluation of '
    'parallel job schedulers", Concurrency and Computation: Practice and Experience 26, 2014, '
    "Table V",
    logs=ZAKAY_LOGS,
    compare=compare,
)
