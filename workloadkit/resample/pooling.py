"""Divide the users of logs into the pools from which new logs are drawn."""

import math
from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.clock import WEEK, Clock
from workloadkit.columns import Columns
from workloadkit.errors import (
    ParameterError,
    WorkloadError,
    check_number,
    plural,
    quoted,
)
from workloadkit.fields import MAX_TIME, NAMES, UNKNOWN
from workloadkit.preceding import find_preceding
from workloadkit.resample.mixing import joined_logs
from workloadkit.resample.pools import Members, Pieces, PooledLog, ResamplingPools
from workloadkit.sessions import label_jobs
from workloadkit.settings.resampling import Classify, Moved, Resample
from workloadkit.trace import Trace, check_ascending, list_of_logs
from workloadkit.user_classes import CLASSES, classes_of

#: A rare behaviour: a user, and the first and last second of the log in which it occurs.
RareBehaviour = tuple[int, float, float]

#: Minimum length for separating long-term from temporary users. [weeks]
LEAST_WEEKS = 5


class _LogPools(NamedTuple):
    """The pools of one log."""

    log: PooledLog
    members: Members
    row: NDArray[np.int64]
    time: NDArray[np.float64]
    trace: Trace
    before: NDArray[np.int64]
    label: NDArray[np.int64]  # number of the session, batch or job in the log
    notes: list[str]


def make_pools(traces: Trace | Iterable[Trace], settings: Resample) -> ResamplingPools:
    """Divide the users of one or several logs into pools; parameters as of `resample`.

    Raises
    ------
    ParameterError
        As `classify_users`, and if what is moved is unknown or a rare behaviour has no jobs.
    WorkloadError
        If a log has no jobs of known users that ran, is shorter than five weeks, or all users are
        excluded at its ends.
    """
    logs = list_of_logs(traces)
    rare = triples(settings.rare)
    if len(logs) > 1 and settings.begin is not None:
        raise ParameterError("begin", "requires a single log")
    if len(logs) > 1 and rare:
        raise ParameterError("rare behaviours require a single log")
    parts: list[_LogPools] = []
    for number, trace in enumerate(logs):
        first_origin = parts[0].log.origin if parts else None
        parts.append(_pool(trace, number, first_origin, settings, rare))
    return _joined(parts, settings.move)


def _pool(
    trace: Trace,
    number: int,
    first_origin: float | None,
    settings: Resample,
    rare: Sequence[RareBehaviour],
) -> _LogPools:
    """Divide the users of one log into its pools."""
    identity, n_jobs, begin = trace.identity, trace.n_jobs, settings.begin
    if begin is None:
        trace = trace.within_window()
    submit, user = trace.column("submit"), trace.column("user")
    check_ascending(submit)
    chosen = trace.ran & (user != UNKNOWN)
    notes = _check_log(trace, chosen, n_jobs - trace.n_jobs)
    if begin is not None and not -MAX_TIME <= begin <= submit[0]:
        raise ParameterError(
            "begin",
            f"is {begin:.15g}; it must not lie after the first submission, {submit[0]:.15g} s",
        )
    behaviour = _rare_behaviours(trace, chosen, rare)
    apart = trace.with_columns(user=np.where(chosen & (behaviour < 0), user, UNKNOWN))
    classes = classes_of(apart, settings.into(Classify))
    clock = Clock.between(trace.header, min(classes.begin, submit[0]), classes.end)
    origin = float(clock.local(classes.begin))
    if first_origin is not None:  # align the weeks of all logs
        origin -= (origin - first_origin) % WEEK
    log = PooledLog(trace.name, identity, trace.header, classes.begin, classes.end, origin)
    _check_length(log)

    pool = [classes.user[classes.kind == CLASSES.index(x)] for x in ("long-term", "temporary")]
    pool.append(np.array([b[0] for b in rare], dtype=np.int64))
    notes += _check_pools(trace.name, pool, classes.user.size, settings.end_effects)
    kind = np.repeat(np.arange(3), [members.size for members in pool])
    regular = np.concatenate(pool[:2])
    member = _places(apart.column("user"), regular)
    member = np.where(behaviour >= 0, regular.size + behaviour, member)

    row = np.flatnonzero(member >= 0)
    row = row[np.argsort(member[row], kind="stable")]
    of = member[row]
    first = np.searchsorted(of, np.arange(kind.size + 1))
    local = _never_falling(clock.local(submit[row]) - origin, of, first)
    first_week = np.floor(local[first[:-1]] / WEEK)
    time = local - np.repeat(first_week * WEEK, np.diff(first))
    until = time[first[1:] - 1]
    activity = until - time[first[:-1]]
    members = Members(
        log=np.full(kind.size, number),
        user=np.concatenate(pool),
        kind=kind,
        n_weeks=np.floor(until / WEEK).astype(np.int64) + 1,
        period=np.maximum(math.floor(log.weeks + 0.5), np.floor(activity / WEEK) + 1).astype(int),
        weight=np.ones(kind.size),
        first=first,
    )
    label = _labels(trace, chosen, settings.move)[row]
    before = _before(trace, row, of)
    return _LogPools(log, members, row, time, trace.take(row, repeats=True), before, label, notes)


def _places(values: NDArray[np.int64], among: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the place of each value among different ones, -1 for none."""
    if not among.size:
        return np.full(values.size, -1)
    order = np.argsort(among)
    place = order[np.minimum(np.searchsorted(among, values, sorter=order), among.size - 1)]
    return np.where(among[place] == values, place, -1)


def _check_log(trace: Trace, chosen: NDArray[np.bool_], outside: int) -> list[str]:
    """Check that a log has jobs to draw from; report jobs that are left out."""
    if not trace.n_jobs:
        raise WorkloadError(f"{trace.name}: the log has no jobs, hence no users to draw")
    n_ran, n_chosen = int(trace.ran.sum()), int(chosen.sum())
    if not n_ran:
        raise WorkloadError(f"{trace.name}: none of {plural(trace.n_jobs, 'job')} ran")
    if not n_chosen:
        raise WorkloadError(
            f"{trace.name}: all users are unknown; resampling draws users, so the log cannot be "
            "resampled"
        )
    left_out = {
        "outside the window of the log": outside,
        "that never ran": trace.n_jobs - n_ran,
        "of unknown user": n_ran - n_chosen,
        "that are bursts of checkpointed ones": trace.n_bursts,
    }
    said = [f"{count:,} {what}" for what, count in left_out.items() if count]
    return [f"{trace.name}: jobs left out of the pools: {', '.join(said)}"] if said else []


def _check_length(log: PooledLog) -> None:
    if not log.weeks >= LEAST_WEEKS:
        raise WorkloadError(
            f"{log.name}: the log has {math.floor(log.weeks * 10) / 10:.1f} weeks from its begin "
            f"to the last submission; resampling requires at least {LEAST_WEEKS}"
        )


def _check_pools(
    name: str, pool: Sequence[NDArray[np.int64]], n_users: int, end_effects: str
) -> list[str]:
    """Check that a log has users in a pool; report an empty pool."""
    long_term, temporary, rare = (users.size for users in pool)
    if not long_term and not temporary:
        why = (
            f"all {n_users} users may be truncated by an end of the log "
            f"(end_effects {end_effects!r})"
            if n_users
            else f"all jobs belong to {rare} rare behaviours"
        )
        raise WorkloadError(f"{name}: the pools are empty: {why}")
    if not long_term or not temporary:
        empty = "temporary" if long_term else "long-term"
        n = long_term or temporary
        return [
            f"{name}: the pool of {empty} users is empty; all users are drawn from the {n} "
            f"{'long-term' if long_term else 'temporary'}"
        ]
    return []


def triples(rare: object) -> list[RareBehaviour]:
    """Return rare behaviours as a list.

    Raises
    ------
    ParameterError
        If one does not have three parts.
    """
    if not isinstance(rare, Iterable):
        raise ParameterError("rare", f"is {quoted(rare)}; it must be a list of rare behaviours")
    behaviours = []
    for given in rare:
        if not isinstance(given, Iterable) or len(parts := tuple(given)) != 3:
            raise ParameterError(
                f"rare behaviour {quoted(given)}; it must be a user, a first and a last second"
            )
        behaviours.append(parts)
    return behaviours


def _rare_behaviours(
    trace: Trace, chosen: NDArray[np.bool_], rare: Sequence[RareBehaviour]
) -> NDArray[np.int64]:
    """Return the index of the rare behaviour that each job belongs to, -1 for all others."""
    submit, user = trace.column("submit"), trace.column("user")
    behaviour = np.full(trace.n_jobs, -1)
    for place, (number, begin, end) in enumerate(rare):
        for name, value in (("user", number), ("first second", begin), ("last second", end)):
            check_number(f"{name} of a rare behaviour", value)
        if not isinstance(number, Integral) and not float(number).is_integer():
            raise ParameterError(
                f"user of a rare behaviour is {quoted(number)}; it must be a whole number"
            )
        when = f"from {begin:.15g} to {end:.15g} s"
        if end < begin:
            raise ParameterError(
                f"rare behaviour of user {number:g} {when}: the end precedes the begin"
            )
        part = chosen & (user == number) & (submit >= begin) & (submit <= end)
        if (part & (behaviour >= 0)).any():
            raise ParameterError(
                f"rare behaviour of user {number:g} {when}: it overlaps with another one"
            )
        if not part.any():
            raise ParameterError(
                f"{trace.name}: user {number:g} has no jobs {when} for a rare behaviour"
            )
        behaviour[part] = place
    return behaviour


def _never_falling(
    local: NDArray[np.float64], member: NDArray[np.int64], first: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return each member's running maximum of local time, to keep the order of jobs."""
    back = np.flatnonzero((np.diff(local) < 0) & (member[1:] == member[:-1]))
    for m in set(member[back].tolist()):
        part = slice(first[m], first[m + 1])
        local[part] = np.maximum.accumulate(local[part])
    return local


def _labels(trace: Trace, chosen: NDArray[np.bool_], moved: Moved) -> NDArray[np.int64]:
    """Return session, batch or number of each job in a pool."""
    label = np.arange(trace.n_jobs)
    if moved in ("session", "batch"):
        rows = np.flatnonzero(chosen)
        label[rows] = label_jobs(trace.select(chosen))[1][moved]
    return label


def _before(trace: Trace, row: NDArray[np.int64], member: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the index of the preceding job in the pools, -1 if it is not the member's own."""
    preceding = trace.column("preceding_job")
    if not (preceding[row] > 0).any():
        return np.full(row.size, -1)
    of_row = find_preceding(trace.column("job"), trace.column("submit"), preceding).place
    place = np.full(trace.n_jobs + 1, -1)  # the last element is for index -1
    place[row] = np.arange(row.size)
    found = place[of_row[row]]
    own = (found >= 0) & (found < np.arange(row.size)) & (member[found] == member)
    return np.where(own, found, -1)


def _joined(parts: Sequence[_LogPools], moved: Moved) -> ResamplingPools:
    """Concatenate the pools of several logs."""
    sizes = [part.row.size for part in parts]
    begins = np.cumsum([0, *sizes[:-1]])

    def join(name: str) -> NDArray:
        return np.concatenate([getattr(part, name) for part in parts])

    fields = {
        name: np.concatenate([getattr(part.members, name) for part in parts])
        for name in Members._fields
        if name != "first"
    }
    ends = [part.members.first[1:] + at for part, at in zip(parts, begins, strict=True)]
    members = Members(**fields, first=np.concatenate([[0], *ends]))
    before = np.concatenate(
        [np.where(p.before < 0, -1, p.before + at) for p, at in zip(parts, begins, strict=True)]
    )
    joined = joined_logs([part.trace for part in parts])
    jobs = Columns({name: joined.column(name) for name in NAMES})  # taken sooner than DataFrames
    trace = joined.replaced(jobs=jobs, made_from="", changes=(), intake=None)
    submit = trace.column("submit")
    time = join("time")
    week = np.floor(time / WEEK).astype(np.int64)
    member = np.repeat(np.arange(members.log.size), members.n_jobs)
    stride = int(members.n_weeks.max()) + 1
    return ResamplingPools(
        logs=tuple(part.log for part in parts),
        members=members,
        row=join("row"),
        time=time,
        week=week,
        line=member * stride + week,
        trace=trace,
        before=before if (before >= 0).any() else None,
        pieces=None if moved == "user" else _pieces(join("label"), member, week, members),
        notes=tuple(note for part in parts for note in part.notes),
        whole=bool((submit == np.rint(submit)).all()),
    )


def _pieces(
    label: NDArray[np.int64],
    member: NDArray[np.int64],
    week: NDArray[np.int64],
    members: Members,
) -> Pieces:
    """Return the pieces of the members; a member's jobs with the same label are adjacent."""
    new = np.ones(label.size, dtype=bool)
    new[1:] = (label[1:] != label[:-1]) | (member[1:] != member[:-1])
    of_job = np.cumsum(new) - 1
    begins = np.flatnonzero(new)
    first = np.append(of_job[members.first[:-1]], begins.size)
    return Pieces(of_job, week[begins], first)
