"""The rules of policies, checked against the times in a schedule alone."""

from collections.abc import Iterator

import numpy as np

from workloadkit.errors import plural
from workloadkit.simulation import schedulers
from workloadkit.simulation.case import ScheduleCase
from workloadkit.simulation.claims import INSTANT, ScheduleClaim, refuted, seconds, use_of
from workloadkit.simulation.replaying import PlainRule, PolicyRule, replay
from workloadkit.simulation.replaying.codes import LATEST
from workloadkit.simulation.replaying.policies import (
    AS_RECORDED,
    EACH_PASS,
    NOT_EMPTY,
    proof_of,
)
from workloadkit.simulation.replaying.result import ReplayResult
from workloadkit.simulation.schedule import Schedule
from workloadkit.simulation.state import never


def claims_of(
    name: str,
    case: ScheduleCase | None,
    rule: PolicyRule | PlainRule | None,
    *,
    changing: bool,
    unknown: str,
) -> Iterator[ScheduleClaim]:
    """Check the rules of a policy; `unknown` is why its passes cannot be repeated, if so."""
    text = "jobs start as the policy specifies"
    if name not in schedulers.known() and rule is None:
        why = f"{name} is not built in" if name else "no policy was specified"
        yield ScheduleClaim(text, "not applicable", f"{why}, so the order of jobs was not checked")
        return
    if case is None:
        why = "the check requires a schedule of all jobs as they are in the log"
        yield ScheduleClaim(text, "not applicable", why)
        return
    if name == "recorded":
        yield _as_recorded(case)
        return
    if unknown:
        yield ScheduleClaim(text, "not applicable", unknown)
        return
    if changing and (case.outages is None or rule is None):
        why = (
            "with outages, of processors and not of users, the check requires a Schedule in whole "
            "seconds with its stopped runs"
        )
        if rule is None:
            why = f"the order of {name} cannot be checked with outages"
        yield ScheduleClaim(text, "not applicable", why)
        return
    if rule is not None:
        yield _each_pass(case, rule)
        return
    if proof_of(name) == NOT_EMPTY and (case.leaves is None or case.starts_known):
        yield _not_empty(case)
    why = f"the order of {name} cannot be checked, only the rules for every schedule"
    yield ScheduleClaim(text, "not applicable", why)


def _each_pass(case: ScheduleCase, rule: PolicyRule | PlainRule) -> ScheduleClaim:
    """Repeat all passes."""
    if (case.start < case.submit).any():
        return ScheduleClaim(EACH_PASS, "not applicable", "jobs start before they are submitted")
    found = replay(case, rule)
    predicted = isinstance(rule, PlainRule) and rule.predictions is not None
    if found.differing and not case.whole and (predicted or not case.exact):
        if rule.keeps:
            why = "decimals are rounded, and kept reservations differ after any difference"
            return ScheduleClaim(EACH_PASS, "not applicable", why)
        case = case.rounded()
        found = replay(case, rule)
    if found.differing:
        return refuted(EACH_PASS, _difference(case, found), found.differing)
    proof = plural(found.passes, "pass", "passes")
    if case.outages is not None:
        proof += "; the runs that outages stop are taken from the schedule"
    if not found.undetermined:
        return ScheduleClaim(EACH_PASS, "proved", proof, determines=case.outages is None)
    why = "the order of submissions and ends" if case.whole else "the rounding of decimals"
    if case.outages is not None:
        why = "the choice of processors before an announced outage, or the order of events"
    if found.until == -1:
        left = f"not in {plural(found.undetermined, 'second')}, which depend on"
    else:
        left = f"not from {seconds(found.until)} on, which depends on"
    return ScheduleClaim(EACH_PASS, "proved", f"{proof}; {left} {why}")


def _difference(case: ScheduleCase, found: ReplayResult) -> str:
    """Describe the first difference of a schedule."""
    said = []
    if found.waits >= 0:
        said.append(f"the policy starts job {case.job[found.waits]}, which waits")
    if found.starts >= 0:
        said.append(f"job {case.job[found.starts]} starts, which waits under the policy")
    if found.reserved >= 0 and found.begin < LATEST:
        job, begin = case.job[found.reserved], seconds(found.begin)
        said.append(f"the first reservation is of job {job} for {begin}")
    return f"at {seconds(found.now)} {'; '.join(said)}"


def _as_recorded(case: ScheduleCase) -> ScheduleClaim:
    text = AS_RECORDED
    began = np.flatnonzero(~case.ran & (case.start < never(case.start.dtype)))
    if began.size:
        i = began[0]
        why = f"job {case.job[i]}, which was cancelled, starts at {seconds(case.start[i])}"
        return refuted(text, why, began.size)
    off = np.abs(case.start - case.recorded_start) > (0 if case.whole else INSTANT)
    off = np.flatnonzero(off & case.ran)
    if off.size:
        i = off[0]
        start, due = seconds(case.start[i]), seconds(case.recorded_start[i])
        return refuted(text, f"job {case.job[i]} starts at {start}, not {due}", off.size)
    return ScheduleClaim(text, "proved", plural(int(case.ran.sum()), "job"), determines=True)


def slacks_are_kept(schedule: Schedule) -> ScheduleClaim:
    """Check the promised starts and slacks that a schedule of `slack` contains."""
    text = "no job starts later than its promised start plus its slack"
    said, jobs = schedule.parameters, schedule.jobs
    if {"predictor", "outages"} & set(said) or (jobs["run"] > jobs["estimate"]).any():
        why = "promises hold only if no job outlives what is planned with, and without outages"
        return ScheduleClaim(text, "not applicable", why)
    latest = (jobs["promised_start"] + jobs["slack"]).to_numpy()
    reserves = (jobs["estimate"] > 0).to_numpy()  # a reservation of 0 s holds nothing
    late = np.flatnonzero((schedule.start > latest + INSTANT) & reserves)
    if late.size:
        i = late[0]
        why = f"job {jobs['job'].iloc[i]} starts at {seconds(schedule.start[i])}"
        return refuted(text, f"{why}, not by {seconds(latest[i])}", late.size)
    later = int(np.count_nonzero(schedule.start > jobs["promised_start"]))
    return ScheduleClaim(text, "proved", f"{plural(later, 'job')} used slack")


def _not_empty(case: ScheduleCase) -> ScheduleClaim:
    text = NOT_EMPTY
    if not case.whole and not case.exact:  # a job may start a rounding after the end before it
        case = case.rounded()
    start, end = case.start, case.end
    if case.leaves is not None:  # those that leave hold no processors
        left = start == never(start.dtype)
        start, end = (np.where(left, case.leaves, times) for times in (start, end))
    time = np.unique(np.concatenate([case.submit, start, end]))
    use = use_of(start, end, case.procs)
    before = np.searchsorted(use.time, time, side="right") - 1
    empty = np.where(before >= 0, use.after[before], 0) == 0
    passed = np.concatenate([[0], np.cumsum(empty[:-1] * np.diff(time))])  # with an empty machine
    submitted, started = np.searchsorted(time, case.submit), np.searchsorted(time, start)
    idle = np.flatnonzero(passed[started] > passed[submitted])
    if not idle.size:
        found = f"empty {seconds(passed[-1])} of {seconds(time[-1] - time[0])}"
        return ScheduleClaim(text, "proved", found)
    i = idle[0]
    since = time[submitted[i] + np.argmax(empty[submitted[i] :])]
    why = f"job {case.job[i]} waits and nothing runs from {seconds(since)}"
    return refuted(text, why, idle.size)
