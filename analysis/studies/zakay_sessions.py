"""Sessions and batches by arrival in four logs.

How many jobs ran, and in how many batches and sessions, if a silence of more than 60 minutes
between two arrivals ends a session. The source does not say which versions of the logs it took;
those named here are the ones that N. Zakay's thesis (2018, Table 1.1) lists.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from analysis.studies import Each, Log, Result, Study, compare_count, read_table


def compare(logs: Sequence[Log], runs: int, each: Each) -> Iterator[Result]:
    """Set the published counts beside those of the logs that are here."""
    published = {row["log"]: row for row in read_table(Path(__file__).with_suffix(".csv"))}
    for log, ours in zip(logs, each(count, logs), strict=True):
        for quantity, number in ours.items():
            yield compare_count(log, quantity, int(published[log.name][quantity]), number)


def count(log: Log, rng: Any) -> dict[str, int]:
    """Count the jobs that ran, the batches and the sessions of a log."""
    import workloadkit as wk

    sessions = wk.delimit_sessions(log.read(), method="arrival", threshold=3600)
    return {
        "jobs": len(sessions),
        "batches": sessions["batch"].nunique(),
        "sessions": sessions["session"].nunique(),
    }


STUDY = Study(
    name="zakay-sessions",
    text=__doc__,
    source='N. Zakay, D. G. Feitelson, "On identifying user session boundaries in parallel '
    'workload logs", JSSPP 2012, Table 1',
    logs={
        "SDSC-SP2": "SDSC-SP2-1998-3.1-cln",
        "SDSC-DS": "SDSC-DS-2004-1",
        "KTH-SP2": "KTH-SP2-1996-2",
        "SDSC-BLUE": "SDSC-BLUE-2000-3.1-cln",
    },
    compare=compare,
)
