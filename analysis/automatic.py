"""Users who look automatic: the evidence, and how much of the log is theirs."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from workloadkit.analysis.distributions.marginals import listed
from workloadkit.analysis.formats import count, duration, share
from workloadkit.analysis.section import (
    Columns,
    Section,
    Table,
    shown,
    unknown_users,
    why_no_users,
)
from workloadkit.automatic import FEWEST, IN_TIME, LIMITS, OF_SAMENESS, automatic_users
from workloadkit.cleaning.anomaly import STRENGTHS
from workloadkit.cleaning.flurries import find_flurries
from workloadkit.errors import plural
from workloadkit.fields import UNKNOWN
from workloadkit.trace import Trace, check_trace

_TITLE = "Automatic users"

#: Factors of all limits in the table of sensitivity.
FACTORS = (0.75, 1.0, 1.25)

_NAMED = 3  # users that a sentence names
_SIGNS = {
    "all_hours": "at all hours",
    "awake": "no night",
    "spacing": "equal pauses",
    "sizes": "equal sizes",
    "runs": "equal run times",
    "share": "share of the log",
}
_SHOWN: Columns = {
    "jobs": ("jobs", count),
    "all_hours": ("in the quietest 8 h", share),
    "awake": ("without a night", duration),
    "spacing": ("equal pauses", share),
    "every": ("of about", duration),
    "sizes": ("equal sizes", share),
    "runs": ("equal run times", share),
    "share": ("of all jobs", share),
    "evidence": ("signs", str),
    "flurry": ("flurry", str),
}
_NOTES = (
    f"Judged are users of {FEWEST} jobs or more. Signs in time: at least {share(LIMITS.all_hours)} "
    f"of the hours of activity in the quietest 8 hours of the day (a third if spread evenly); "
    f"{duration(LIMITS.awake)} without a pause of 6 hours; at least {share(LIMITS.spacing)} of the "
    "pauses of a minute or more equal within 1 %. Signs of sameness: at least "
    f"{share(LIMITS.sizes)} of the jobs of one size, {share(LIMITS.runs)} of the run times equal, "
    f"{share(LIMITS.share)} of all jobs. A user looks automatic with two signs of which one is in "
    f"time, or if {share(LIMITS.clockwork)} of the pauses are equal.",
    "Signs are no proof: the log does not state who submits. People who submit by scripts or share "
    "an id look the same, and a script that works when people do looks like them.",
    "With --where automatic=0 any command leaves these users out.",
)


def sensitivity(trace: Trace) -> pd.DataFrame:
    """Count the automatic users of a log under other limits.

    Returns
    -------
    DataFrame
        By `factor` of all limits: `users`, and their `share` of the jobs.

    Examples
    --------
    >>> log = {"submit": np.arange(200) * 3600, "procs": [1] * 200, "user": [7] * 200}
    >>> sensitivity(Trace.from_columns(log))["users"].tolist()
    [1, 1, 1]
    """
    check_trace(trace)
    rows = []
    for factor in FACTORS:
        table = automatic_users(trace, limits=LIMITS.scaled(factor))
        found = table[table["automatic"]]
        rows.append((len(found), float(found["jobs"].sum() / max(trace.n_jobs, 1))))
    index = pd.Index(FACTORS, name="factor")
    return pd.DataFrame(rows, index, columns=["users", "share"])


def named_users(trace: Trace, users: Iterable[int]) -> list[str]:
    """Return the names of users, given by their numbers."""
    names, user = trace.names("user"), trace.column("user")
    return [str(names[int(np.argmax(user == number))]) for number in users]


def in_words(names: list[str]) -> str:
    """Return names as in a sentence; further ones are counted.

    Examples
    --------
    >>> in_words(["a"]), in_words(["a", "b"]), in_words(["a", "b", "c", "d", "e"])
    ('a', 'a and b', 'a, b, c and 2 others')
    """
    more = len(names) - _NAMED
    some = [*names[:_NAMED], plural(more, "other")] if more > 0 else names
    return listed(some)


def section(trace: Trace) -> Section:
    """Report the users who look automatic."""
    if reason := why_no_users(trace):
        return Section("automatic", _TITLE, notes=(f"{reason}, so none can be judged.",))
    table = automatic_users(trace)
    found = table[table["automatic"]].drop(columns="automatic")
    n_users = int(np.unique(trace.column("user")[trace.column("user") != UNKNOWN]).size)
    values: dict[str, Any] = {
        "n_users": n_users,
        "n_judged": len(table),
        "n_automatic": len(found),
        "jobs_share": float(found["jobs"].sum() / trace.n_jobs),
        "work_share": _work_share(trace, found.index),
    }
    notes = (*unknown_users(trace), *_NOTES)
    if not len(found):
        none = "The only user does not look"
        if n_users > 1:
            none = f"None of the {n_users:,} users looks"
        have = "has" if len(table) == 1 else "have"
        finding = f"{none} automatic; {len(table):,} {have} enough jobs to be judged."
        tables: tuple[Table, ...] = (_of_limits(trace),)
        return Section("automatic", _TITLE, finding, notes, values, tables)
    names = named_users(trace, found.index)
    verb = "looks" if len(found) == 1 else "look"
    finding = (
        f"{len(found):,} of {plural(n_users, 'user')} {verb} automatic ({in_words(names)}), with "
        f"{share(values['jobs_share'])} of the jobs and {share(values['work_share'])} of the work."
    )
    found = found.assign(evidence=_evidence(found), flurry=_flurries(trace, found.index))
    text = shown(found, _SHOWN).set_axis(names)
    caption = "Users who look automatic, and what suggests it; with the flurries among their jobs."
    tables = Table("users", caption, found.rename_axis("user"), text), _of_limits(trace)
    return Section("automatic", _TITLE, finding, notes, values, tables)


def _work_share(trace: Trace, users: pd.Index) -> float:
    work = np.where(trace.ran, trace.column("run") * trace.used_procs, 0.0)
    total = float(work.sum())
    return float(work[np.isin(trace.column("user"), users)].sum() / total) if total else 0.0


def _evidence(found: pd.DataFrame) -> list[str]:
    """Return the signs of each user in words."""
    reached = [(name, found[name] >= getattr(LIMITS, name)) for name in (*IN_TIME, *OF_SAMENESS)]
    return [", ".join(_SIGNS[name] for name, of in reached if of[user]) for user in found.index]


def _flurries(trace: Trace, users: pd.Index) -> list[str]:
    """Return the strength of the strongest flurry of each user, or a dash."""
    strengths: dict[int, list[str]] = {}
    for one in find_flurries(trace):
        strengths.setdefault(int(one.evidence["user"]), []).append(one.strength)
    return [min(strengths.get(user, "–"), key=[*STRENGTHS, "–"].index) for user in users]


def _of_limits(trace: Trace) -> Table:
    """Return the table of other limits."""
    data = sensitivity(trace)
    columns: Columns = {"users": ("users", count), "share": ("of all jobs", share)}
    text = shown(data, columns).set_axis([f"{factor:g}" for factor in data.index])
    caption = "Users who look automatic if all limits are multiplied by a factor."
    return Table("limits", caption, data, text)
