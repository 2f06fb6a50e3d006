"""Long-term and temporary users.

How many users there are whose first and last job lie more than 12 weeks apart (long-term), how
many others whose jobs do not all lie within 4 weeks of the begin or the end of the log (temporary),
and how many jobs they submitted. Jobs that never ran and jobs of unknown user are left out.
The source does not say which versions of the logs it took; those named here are the ones that
N. Zakay's thesis (2018, Table 1.1) lists. The published SDSC-Par is the log of 1995.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from analysis.studies import Each, Log, Result, Study, compare_count, read_table

_TEMPORARY = (
    "the rule as the text states it; no reading tried gives the published numbers of temporary "
    "users, not even on the same version of the log"
)


def compare(logs: Sequence[Log], runs: int, each: Each) -> Iterator[Result]:
    """Set the published counts beside those of the logs that are here."""
    published = {row["log"]: row for row in read_table(Path(__file__).with_suffix(".csv"))}
    for log, ours in zip(logs, each(count, logs), strict=True):
        for quantity, number in ours.items():
            title = quantity.replace("long_term", "long-term").replace("_", " ")
            result = compare_count(log, title, int(published[log.name][quantity]), number)
            if result.verdict == "differs" and quantity.startswith("temporary"):
                result = replace(result, note=_TEMPORARY)
            if log.name == "SDSC-Par" and log.version.split("-")[2] != "1995":
                result = replace(result, note="the log of another year")
            yield result


def count(log: Log, rng: Any) -> dict[str, int]:
    """Count the long-term and the temporary users of a log, and their jobs."""
    from analysis import classify_users

    counts = classify_users(log.read()).counts
    return {
        f"{kind.replace('-', '_')}_{what}": int(counts.loc[kind, what])
        for kind in ("long-term", "temporary")
        for what in ("users", "jobs")
    }


STUDY = Study(
    name="zakay-users",
    text=__doc__,
    source='N. Zakay, D. G. Feitelson, "Workload resampling for performance evaluation of '
    'parallel job schedulers", Concurrency and Computation: Practice and Experience 26, 2014, '
    "Table V",
    logs={
        "LANL-CM5": "LANL-CM5-1994-3.1-cln",
        "SDSC-Par": "SDSC-Par-1995-3.1-cln",
        "CTC-SP2": "CTC-SP2-1996-2.1-cln",
        "KTH-SP2": "KTH-SP2-1996-2",
        "SDSC-SP2": "SDSC-SP2-1998-3.1-cln",
        "SDSC-BLUE": "SDSC-BLUE-2000-3.1-cln",
        "HPC2N": "HPC2N-2002-1.1-cln",
        "SDSC-DS": "SDSC-DS-2004-1",
        "ANL-Intrepid": "ANL-Intrepid-2009-1",
        "PIK-IPLEX": "PIK-IPLEX-2009-1",
        "CEA-Curie": "CEA-Curie-2011-2.1-cln",
    },
    compare=compare,
)
