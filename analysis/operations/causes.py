"""What jobs waited for: to become eligible, limits, nodes, priority, resources."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.analysis.operations.accounting import HOUR, By, accounted_jobs, names_of
from workloadkit.analysis.operations.groups import (
    JobGroups,
    everyone,
    groups_by,
    largest_first,
    ratio,
    waits_of,
)
from workloadkit.trace import Trace, check_trace

#: Parts of a wait. The first ends when a job is eligible; the others are all of the time after it.
HELD = "before eligible"
LIMIT = "limit"
NODES = "nodes unavailable or reserved"
PRIORITY = "priority"
RESOURCES = "resources"
OTHER = "other reason"
NO_REASON = "no reason recorded"
CAUSES = (HELD, LIMIT, NODES, PRIORITY, RESOURCES, OTHER, NO_REASON)

# Reasons of Slurm that keep a job from being eligible
_HELD = ("dependency", "begintime", "jobheld", "jobhold", "maxrequeue")
_LIMIT = ("qos", "assoc", "limit", "license", "maxjobs", "maxsubmit", "association", "account")
_NODES = ("reqnodenotavail", "reservation", "partitiondown", "partitioninactive", "nodedown")
# Reasons why a job ended replace the reason why it waited.
_OF_END = (
    *("nonzeroexitcode", "timelimit", "raisedsignal", "outofmemory", "systemfailure"),
    *("joblaunchfailure", "launchfailed", "inactivelimit", "term_", "failure", "preempted"),
)


def cause_of(reason: str) -> str:
    """Map a Slurm Reason to one of `CAUSES`.

    Examples
    --------
    >>> [cause_of(word) for word in ("AssocGrpCpuLimit", "Priority", "Dependency", "TimeLimit", "")]
    ['limit', 'priority', 'before eligible', 'no reason recorded', 'no reason recorded']
    """
    word = reason.lower()
    if not word or word == "none" or any(part in word for part in _OF_END):
        return NO_REASON
    for cause, parts in ((HELD, _HELD), (NODES, _NODES), (LIMIT, _LIMIT)):
        if any(part in word for part in parts):
            return cause
    return {"priority": PRIORITY, "resources": RESOURCES}.get(word, OTHER)


def wait_causes(trace: Trace, by: By | None = None) -> pd.DataFrame:
    """Split the time that jobs waited by what they waited for.

    The time before a job was eligible is known for each job. The time after it is not: Slurm keeps
    only the last reason that blocked a job, other than priority and resources [1]_. All of this
    time of a job counts for its last reason, and a job without a reason waited for priority or
    resources, which accounting does not separate.

    Parameters
    ----------
    trace : Trace
    by : {"user", "account", "partition", "queue", "qos"}, optional
        By default all jobs together, with the columns on waits.

    Returns
    -------
    DataFrame
        Without `by`, one row a cause: the `jobs` that waited for it, their `hours` and `share` of
        all waiting time; their `waits`, and the `mean`, percentiles and `longest` of these [s].
        With `by`, one row a group: its `jobs` with a known wait, their `hours`, and the share of
        each cause. Most hours come first.

    References
    ----------
    .. [1] SchedMD, manual of ``sacct``, field Reason.

    Examples
    --------
    >>> from dataclasses import replace
    >>> log = Trace.from_columns({"submit": [0], "wait": [90], "run": [60], "procs": [1]})
    >>> sidecar = pd.DataFrame({"submit": [100], "eligible": [130], "start": [190], "end": [250]})
    >>> wait_causes(replace(log, sidecar=sidecar))["share"].round(2).to_dict()
    {'no reason recorded': 0.67, 'before eligible': 0.33}
    """
    check_trace(trace)
    jobs = accounted_jobs(trace)
    wait, held = jobs["wait"].to_numpy(), np.nan_to_num(jobs["held"].to_numpy())
    parts = _parts(trace, wait, held)
    if by is None:
        return _of_all(parts)
    groups = groups_by(trace, by)
    total = np.nan_to_num(groups.sums(wait))
    table = groups.table(
        {
            "jobs": groups.counts(~np.isnan(wait)),
            "hours": total / HOUR,
            **{c: ratio(np.nan_to_num(groups.sums(part)), total) for c, part in parts.items()},
        }
    )
    return largest_first(table[table["jobs"] > 0], "hours")


def reasons(trace: Trace) -> pd.DataFrame:
    """Return the waits of the jobs of each recorded reason, most hours first.

    Returns
    -------
    DataFrame
        By `name`: its `cause`, `jobs`, `hours` of waiting and the columns on waits of `usage`.
        Empty if no reason is recorded.

    Examples
    --------
    >>> from dataclasses import replace
    >>> log = Trace.from_columns({"submit": [0, 60], "wait": [3600, 0], "run": [60, 60]})
    >>> known = pd.DataFrame({"reason": pd.Categorical(["Resources", ""])})
    >>> reasons(replace(log, sidecar=known))[["cause", "hours"]].to_dict("index")
    {'Resources': {'cause': 'resources', 'hours': 0.0}}
    """
    words = names_of(trace, "reason")
    if words is None:
        words = pd.Categorical.from_codes(np.full(trace.n_jobs, -1), [])
    wait = accounted_jobs(trace)["wait"].to_numpy()
    groups = JobGroups(words.codes.astype(np.int64), [str(word) for word in words.categories])
    table = groups.table(
        {
            "cause": [cause_of(name) for name in groups.names],
            "jobs": groups.counts(),
            "hours": np.nan_to_num(groups.sums(wait)) / HOUR,
            **waits_of(groups, wait),
        }
    )
    return largest_first(table, "hours", "jobs")


def _parts(trace: Trace, wait: NDArray, held: NDArray) -> dict[str, NDArray[np.float64]]:
    """Return the part of each wait that belongs to each cause [s], NaN for none."""
    rest = wait - held
    code = np.full(trace.n_jobs, CAUSES.index(NO_REASON))
    if (words := names_of(trace, "reason")) is not None:
        meaning = [CAUSES.index(cause_of(str(word))) for word in words.categories]
        code = np.array([*meaning, CAUSES.index(NO_REASON)])[words.codes]
    # the reason of a job that became eligible and still names its dependency says nothing new
    code = np.where(code == CAUSES.index(HELD), CAUSES.index(NO_REASON), code)
    parts = {HELD: np.where(held > 0, held, np.nan)}
    for cause in CAUSES[1:]:
        parts[cause] = np.where((code == CAUSES.index(cause)) & (rest > 0), rest, np.nan)
    return parts


def _of_all(parts: dict[str, NDArray[np.float64]]) -> pd.DataFrame:
    rows = {}
    total = sum(np.nansum(part) for part in parts.values())
    for cause, part in parts.items():
        n_jobs = int((~np.isnan(part)).sum())
        if not n_jobs:
            continue
        spent = float(np.nansum(part))
        measured = {name: column[0] for name, column in waits_of(everyone(part.size), part).items()}
        rows[cause] = {
            "jobs": n_jobs,
            "hours": spent / HOUR,
            "share": spent / total,
            **measured,
        }
    columns = ["jobs", "hours", "share", *waits_of(everyone(1), np.array([np.nan]))]
    table = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
    return largest_first(table, "hours")
