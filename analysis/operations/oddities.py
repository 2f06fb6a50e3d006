"""Report section on what is unusual in a log of any length."""

import pandas as pd

from workloadkit.analysis.formats import count, duration
from workloadkit.analysis.operations.machine import full_days
from workloadkit.analysis.operations.parts import listed
from workloadkit.analysis.operations.rules import judged
from workloadkit.analysis.operations.unusual_periods import FEWEST_DAYS, unusual
from workloadkit.analysis.section import Columns, Section, Table
from workloadkit.cleaning.anomalies import Anomalies, find_anomalies
from workloadkit.clock import DAY, Clock
from workloadkit.trace import Trace


def _anomalies(found: Anomalies) -> Table:
    """Return the parts of a log of at least four weeks that are not representative."""
    data = pd.DataFrame(
        {
            "kind": [one.kind for one in found.items],
            "strength": [one.strength for one in found.items],
            "begin": [one.span[0] for one in found.items],
            "end": [one.span[1] for one in found.items],
            "what": [one.title for one in found.items],
        },
        index=[found.date(one.span[0]) for one in found.items],
    )
    columns: Columns = {
        "kind": ("kind", str),
        "strength": ("strength", str),
        "what": ("what", str),
    }
    caption = "Parts of the log that are not representative, as workloadkit anomalies finds them."
    return listed("anomalies", caption, data, columns)


def section(trace: Trace) -> Section:
    """Report busy days, bursts of users, days of failures and standstills."""
    found = unusual(trace)
    clock = Clock.of(trace)
    begins = (
        [f"{date:%Y-%m-%d %H:%M}" for date in clock.dates(found["begin"])]
        if clock.known
        else [f"day {begin / DAY:,.2f}" for begin in found["begin"]]
    )
    table = found.assign(length=found["end"] - found["begin"]).set_axis(begins)
    columns: Columns = {
        "kind": ("kind", str),
        "length": ("length", duration),
        "jobs": ("jobs", count),
        "what": ("what happened", str),
    }
    weight = float(found["jobs"].sum()) / trace.n_jobs
    kinds = found["kind"].value_counts()
    summary = ", ".join(f"{n} × {kind}" for kind, n in kinds.items())
    first = found.loc[found["jobs"].idxmax(), "what"] if len(found) else ""
    text = f"{summary}. Largest: {first}." if summary else "Nothing unusual by these measures."
    gaps: tuple[str, ...] = ()
    if len(full_days(trace)) < FEWEST_DAYS:
        gaps = (f"The window has fewer than {FEWEST_DAYS} full days, so busy days are not sought.",)
    tables = [listed("events", "Unusual periods, in order of time.", table, columns)]
    anomalies = find_anomalies(trace)
    if anomalies.items:
        tables.append(_anomalies(anomalies))
    return Section(
        "unusual",
        "Unusual days, hours and gaps",
        text,
        (
            "Busy day: three times the median full day. Burst: one user submits most jobs of an "
            "hour, and five times the mean hour. Failures: half of the jobs that ended on a day "
            "had no result, twice as many as usual. Standstill: no job starts although jobs wait "
            "and less than half of the usual processors are in use.",
            *gaps,
        ),
        {"events": len(found), **{kind.replace(" ", "_"): int(n) for kind, n in kinds.items()}},
        tuple(table for table in tables if len(table.data)),
        findings=(
            judged(
                "unusual",
                float(len(found)),
                text,
                "unusual",
                weight=weight,
                n=trace.n_jobs,
            ),
        ),
        gaps=gaps,
    )
