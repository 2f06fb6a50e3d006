"""Long-term and temporary users.

How many users there are whose first and last job lie more than 12 weeks apart (long-term), how
many others whose jobs do not all lie within 4 weeks of the begin or the end of the log (temporary),
and how many jobs they submitted. Jobs that never ran and jobs of unknown user are left out.

The text says 4 weeks, but its numbers of temporary users are those of 60 days, from second 0 of the
log (which may be days before the first submission) and to the last submission: no other whole
number of days gives users and jobs of KTH-SP2 exactly, the same version of the log, nor those of
SDSC-SP2; LANL-CM5 comes out exactly too. That rule was found by trying; the source does not state
it. Counts are exact in the same version of a log; in another one the margin is 5 %.

The source does not say which versions of the logs it took; those named here are the ones that
N. Zakay's thesis (2018, Table 1.1) lists.
"""

from collections.abc import Iterator
from math import nan
from pathlib import Path
from typing import Any

from analysis.reproduction import Each, Log, Plan, Reading, Result, Study, printed, read_table
from analysis.reproduction.sources import TEMPORARY, ZAKAY_LOGS, temporary

#: How far a count may be off in another version of the log.
OTHER = 0.05


def compare(plan: Plan, each: Each) -> Iterator[Result]:
    """Set the published counts beside those of the logs that are here."""
    published = {row["log"]: row for row in read_table(Path(__file__).with_suffix(".csv"))}
    found = each(count, [(log, dict(plan.reading)) for log in plan.logs])
    counts = dict(zip(plan.logs, found, strict=True))
    for log in (*plan.logs, *plan.missing):
        for kind in ("long-term", "temporary"):
            for what in ("users", "jobs"):
                figure = int(published[log.name][f"{kind.replace('-', '_')}_{what}"])
                margin = OTHER if log.is_other else 0.0
                claim = printed(f"{kind} {what}", figure, "Table V", margin=margin)
                yield Result(log, claim, counts[log][kind, what] if log in counts else nan)


def count(task: tuple[Log, Reading], rng: Any) -> dict[tuple[str, str], int]:
    """Count the long-term and the temporary users of a log and their jobs."""
    from workloadkit import classify_users

    log, reading = task
    counts = classify_users(log.read(), **temporary(reading)).counts
    return {
        (kind, what): int(counts.loc[kind, what])
        for kind in ("long-term", "temporary")
        for what in ("users", "jobs")
    }


STUDY = Study(
    name="zakay-users",
    text=__doc__,
    source='N. Zakay, D. G. Feitelson, "Workload resampling for performance evaluation of '
    'parallel job schedulers", Concurrency and Computation: Practice and Experience 26, 2014, '
    "Table V",
    logs=ZAKAY_LOGS,
    compare=compare,
    axes=(TEMPORARY,),
)
