"""Logs in which one field of some jobs is unknown or zero: every measure against its definition."""

import pytest

from tests.analysis import test_oracles_comparison as comparison
from tests.analysis import test_oracles_correlations as correlations
from tests.analysis import test_oracles_locality as locality
from tests.analysis import test_oracles_reactions as reactions
from tests.analysis import test_oracles_sessions as sessions
from tests.analysis import test_oracles_site as site
from tests.analysis import test_oracles_users as users
from tests.small_logs import NAMES, trace_of
from tests.workloadkit import test_oracles_user_table as user_table

WEEK = 7 * 86400


def whole_log():
    """Some forty jobs of three users over five weeks: batches, breaks, waits, several sizes."""
    return [
        {
            "submit": week * WEEK + 500 * i + 4000 * (i // 4),
            "wait": 120 * (i % 3),
            "run": 60 + 150 * ((i + week) % 5),
            "procs": 1 + (i * week) % 4,
            "requested_time": 900 + 300 * (i % 2),
            "user": 1 + (i + week) % 3,
        }
        for week in range(5)
        for i in range(8)
    ]


#: The jobs whose field is blank: the first one, two in their midst, one user's, or all of them.
WHERE = {
    "the first": lambda i, job: i == 0,
    "the last": lambda i, job: i == 39,
    "two": lambda i, job: i in (13, 14),
    "one user's": lambda i, job: job["user"] == 2,
    "all": lambda i, job: True,
}


def blank(field, where, value):
    """The log with a field of some jobs unknown, or zero."""
    unknown = -1 if field in ("run", "procs", "user") else None
    blanked = {"unknown": unknown, "zero": 0}[value]
    return [
        job | ({field: blanked} if WHERE[where](i, job) else {})
        for i, job in enumerate(whole_log())
    ]


LOGS = {
    f"{field} of {where} {value}": blank(field, where, value)
    for field in NAMES[1:]
    for where in WHERE
    for value in ("unknown", "zero")
}
LOGS["inter-arrivals of 0 s"] = [
    job | {"submit": WEEK * (i // 8)} for i, job in enumerate(whole_log())
]

LIMITS = {"arrival": 3600, "last": 1200, "max": 1200}  # between sessions [s]

MEASURES = {
    "classes of users": lambda jobs, trace: users.agrees(jobs, trace, "whole"),
    "correlations": correlations.agrees,
    "followed jobs": reactions.agrees_on_followed_jobs,
    "continuation": reactions.agrees_on_continuation,
    "reactions": reactions.agrees_on_bins,
    "weeks": reactions.agrees_on_weeks,
    **{
        f"sessions by {method}": lambda jobs, trace, method=method, limit=limit: (
            sessions.agrees_on_sessions(jobs, trace, method, limit, None),
            sessions.agrees_on_lengths(jobs, trace, method, limit, None),
        )
        for method, limit in LIMITS.items()
    },
    **{
        f"think times by {method}": lambda jobs, trace, method=method: (
            sessions.agrees_on_think_times(jobs, trace, method)
        )
        for method in ("last", "max")
    },
    "distances": lambda jobs, trace: comparison.agrees(
        whole_log(), jobs, (trace_of(whole_log()), trace)
    ),
}
OF_KNOWN_USERS = {
    "table of users": user_table.agrees,
    "site": lambda jobs, trace: site.agrees([jobs], [trace]),
    **{
        f"locality of {attribute}": lambda jobs, trace, attribute=attribute: (
            locality.agrees_on_ratios(jobs, trace, attribute),
            locality.agrees_on_users(jobs, trace, attribute),
            locality.agrees_on_days(jobs, trace, attribute, lambda job: job["submit"] // 86400),
        )
        for attribute in locality.ATTRIBUTES
    },
}
#: Logs in which no job of a known user ran, or no job has what is compared.
NOBODY = {
    f"{field} of all {value}"
    for field, value in (
        ("run", "unknown"),
        ("procs", "unknown"),
        ("procs", "zero"),
        ("user", "unknown"),
        ("requested_time", "unknown"),
    )
}


#: Other logs than those in which a field of two jobs is unknown are for `make test-all`.
QUICK = {name for name in LOGS if name.startswith(("run of two unk", "user of two unk"))}


@pytest.mark.filterwarnings("ignore::workloadkit.errors.WorkloadWarning")
@pytest.mark.parametrize(
    "logs",
    [QUICK, pytest.param(LOGS.keys() - QUICK, marks=pytest.mark.slow)],
    ids=["two", "others"],
)
def test_each_measure_is_as_defined(logs):
    for log in sorted(logs):
        trace = trace_of(LOGS[log])
        measures = MEASURES | ({} if log in NOBODY else OF_KNOWN_USERS)
        for measure in measures:
            measures[measure](LOGS[log], trace)
