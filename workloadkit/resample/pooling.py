"""Sort the users of logs into the pools that new logs are drawn from."""

import math
from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.clock import WEEK, Clock
from workloadkit.errors import (
    ParameterError,
    WorkloadError,
    check_number,
)
from workloadkit.fields import FIELDS, MAX_TIME, UNKNOWN
from workloadkit.preceding import find_preceding
from workloadkit.resample.pools import Members, Pieces, PooledLog, Pools
from workloadkit.sessions import delimit_sessions
from workloadkit.settings.resampling import Classify, Resample, Unit
from workloadkit.trace import Trace, check_ascending, list_of_logs
from workloadkit.user_classes import classify_users
from workloadkit.utility import Utilities, pack

#: A rare behaviour: a user, and the first and the last second of the log in which it shows.
RareBehaviour = tuple[int, float, float]

#: A shorter log does not tell those who stay from those who pass. [weeks]
LEAST_WEEKS = 5


class _Part(NamedTuple):
    """The pools of one log."""

    log: PooledLog
    members: Members
    row: NDArray[np.int64]
    time: NDArray[np.float64]
    columns: dict[str, NDArray]
    before: NDArray[np.int64]
    utilities: Utilities
    label: NDArray[np.int64]  # of the session, batch or job, as the log numbers them
    notes: list[str]


def make_pools(traces: Trace | Iterable[Trace], settings: Resample) -> Pools:
    """Sort the users of one log or several into pools; parameters as of `resample`.

    Raises
    ------
    ParameterError
        As `classify_users`, and if the unit is not known or a rare behaviour is of no job.
    WorkloadError
        If a log has no jobs that ran of known users, is shorter than five weeks, or all users are
        left out at its ends.
    """
    logs = list_of_logs(traces)
    rare = triples(settings.rare)
    if len(logs) > 1 and settings.begin is not None:
        raise ParameterError("begin is of one log, and there are several")
    if len(logs) > 1 and rare:
        raise ParameterError("rare behaviours are of one log, and there are several")
    parts: list[_Part] = []
    for number, trace in enumerate(logs):
        first_origin = parts[0].log.origin if parts else None
        parts.append(_pool(trace, number, first_origin, settings, rare))
    return _joined(parts, settings.unit)


def _pool(
    trace: Trace,
    number: int,
    first_origin: float | None,
    settings: Resample,
    rare: Sequence[RareBehaviour],
) -> _Part:
    """Sort the users of one log into its pools."""
    identity, n_jobs, begin = trace.identity, trace.n_jobs, settings.begin
    if begin is None:
        trace = trace.within_window()
    submit, user = trace.column("submit"), trace.column("user")
    check_ascending(submit)
    chosen = trace.ran & (user != UNKNOWN)
    notes = _check_log(trace, chosen, n_jobs - trace.n_jobs)
    if begin is not None and not -MAX_TIME <= begin <= submit[0]:
        raise ParameterError(
            f"begin is {begin:.15g}; logging begins at the first submission, "
            f"{submit[0]:.15g} s, or before"
        )
    behaviour = _rare_behaviours(trace, chosen, rare)
    apart = trace.with_columns(user=np.where(chosen & (behaviour < 0), user, UNKNOWN))
    classes = classify_users(apart, settings.into(Classify))
    clock = Clock.between(trace.header, min(classes.begin, submit[0]), classes.end)
    origin = float(clock.local(classes.begin))
    if first_origin is not None:  # weeks of all logs begin at the same day and hour
        origin -= (origin - first_origin) % WEEK
    log = PooledLog(trace.name, identity, trace.header, classes.begin, classes.end, origin)
    _check_length(log)

    users = classes.users.index.to_numpy(dtype=np.int64)
    kinds = [classes.users["class"].to_numpy() == name for name in ("long-term", "temporary")]
    pool = [users[kind] for kind in kinds] + [np.array([b[0] for b in rare], dtype=np.int64)]
    notes += _check_pools(trace.name, pool, users.size, settings.end_effects)
    kind = np.repeat(np.arange(3), [members.size for members in pool])
    regular = np.concatenate(pool[:2])
    member = pd.Index(regular).get_indexer(apart.column("user"))  # -1: in no pool
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
    columns = {field.name: trace.column(field.name)[row] for field in FIELDS}
    utilities = pack(trace.utility, trace.n_jobs).take(row)
    label = _labels(trace, chosen, settings.unit)[row]
    before = _before(trace, row, of)
    return _Part(log, members, row, time, columns, before, utilities, label, notes)


def _check_log(trace: Trace, chosen: NDArray[np.bool_], outside: int) -> list[str]:
    """Refuse a log without jobs that could be drawn; tell what is left out."""
    if not trace.n_jobs:
        raise WorkloadError(f"{trace.name}: no jobs, so no users to draw from")
    n_ran, n_chosen = int(trace.ran.sum()), int(chosen.sum())
    if not n_ran:
        raise WorkloadError(f"{trace.name}: none of the {trace.n_jobs:,} jobs ran")
    if not n_chosen:
        raise WorkloadError(
            f"{trace.name}: no job has a known user; users are what is drawn, so a log without "
            "them cannot be resampled"
        )
    left_out = {
        "outside the window of the log": outside,
        "that never ran": trace.n_jobs - n_ran,
        "of unknown user": n_ran - n_chosen,
        "that are bursts of checkpointed ones": len(trace.bursts),
    }
    said = [f"{count:,} {what}" for what, count in left_out.items() if count]
    return [f"{trace.name}: jobs left out of the pools: {', '.join(said)}"] if said else []


def _check_length(log: PooledLog) -> None:
    if not log.weeks >= LEAST_WEEKS:
        raise WorkloadError(
            f"{log.name}: {math.floor(log.weeks * 10) / 10:.1f} weeks from its begin to the last "
            f"submission; resampling needs {LEAST_WEEKS} at least"
        )


def _check_pools(
    name: str, pool: Sequence[NDArray[np.int64]], n_users: int, end_effects: str
) -> list[str]:
    """Refuse a log that leaves both pools empty; tell where one is."""
    long_term, temporary, rare = (users.size for users in pool)
    if not long_term and not temporary:
        why = (
            f"each of the {n_users} users may be cut off by an end of the log "
            f"(end_effects {end_effects!r})"
            if n_users
            else f"all jobs are of {rare} rare behaviours"
        )
        raise WorkloadError(f"{name}: nobody is left in the pools: {why}")
    if not long_term or not temporary:
        empty = "temporary" if long_term else "long-term"
        n = long_term or temporary
        return [
            f"{name}: the pool of {empty} users is empty: all are drawn from the {n} "
            f"other{'s' * (n != 1)}"
        ]
    return []


def triples(rare: object) -> list[RareBehaviour]:
    """Return rare behaviours as a list.

    Raises
    ------
    ParameterError
        If one is not of three parts.
    """
    if not isinstance(rare, Iterable):
        raise ParameterError(f"rare is {rare!r}; it is a list of rare behaviours")
    behaviours = []
    for given in rare:
        if not isinstance(given, Iterable) or len(parts := tuple(given)) != 3:
            raise ParameterError(
                f"rare behaviour {given!r}; it is a user, the first and the last second"
            )
        behaviours.append(parts)
    return behaviours


def _rare_behaviours(
    trace: Trace, chosen: NDArray[np.bool_], rare: Sequence[RareBehaviour]
) -> NDArray[np.int64]:
    """Place of the rare behaviour that each job is part of, -1 for all others."""
    submit, user = trace.column("submit"), trace.column("user")
    behaviour = np.full(trace.n_jobs, -1)
    for place, (number, begin, end) in enumerate(rare):
        for name, value in (("user", number), ("first second", begin), ("last second", end)):
            check_number(f"{name} of a rare behaviour", value)
        if not isinstance(number, Integral) and not float(number).is_integer():
            raise ParameterError(f"user of a rare behaviour is {number!r}; it is a whole number")
        when = f"from {begin:.15g} to {end:.15g} s"
        if end < begin:
            raise ParameterError(
                f"rare behaviour of user {number:g} {when}: it ends before it begins"
            )
        part = chosen & (user == number) & (submit >= begin) & (submit <= end)
        if (part & (behaviour >= 0)).any():
            raise ParameterError(
                f"rare behaviour of user {number:g} {when}: another has jobs of it already"
            )
        if not part.any():
            raise ParameterError(
                f"{trace.name}: no job of user {number:g} {when} that could be a rare behaviour"
            )
        behaviour[part] = place
    return behaviour


def _never_falling(
    local: NDArray[np.float64], member: NDArray[np.int64], first: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Take each member's running maximum of local time: clocks set back must not reorder jobs."""
    back = np.flatnonzero((np.diff(local) < 0) & (member[1:] == member[:-1]))
    for m in np.unique(member[back]):
        part = slice(first[m], first[m + 1])
        local[part] = np.maximum.accumulate(local[part])
    return local


def _labels(trace: Trace, chosen: NDArray[np.bool_], unit: Unit) -> NDArray[np.int64]:
    """Session, batch or number of each job that is in a pool."""
    label = np.arange(trace.n_jobs)
    if unit in ("session", "batch"):
        rows = np.flatnonzero(chosen)
        label[rows] = delimit_sessions(trace.select(chosen))[unit].to_numpy()
    return label


def _before(trace: Trace, row: NDArray[np.int64], member: NDArray[np.int64]) -> NDArray[np.int64]:
    """Place in the pools of the job that precedes each, -1 where it is not the member's own."""
    preceding = trace.column("preceding_job")
    if not (preceding[row] > 0).any():
        return np.full(row.size, -1)
    of_row = find_preceding(trace.column("job"), trace.column("submit"), preceding).place
    place = np.full(trace.n_jobs + 1, -1)  # the last is for -1
    place[row] = np.arange(row.size)
    found = place[of_row[row]]
    own = (found >= 0) & (found < np.arange(row.size)) & (member[found] == member)
    return np.where(own, found, -1)


def _joined(parts: Sequence[_Part], unit: Unit) -> Pools:
    """Put the pools of several logs one after the other."""
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
    columns = {
        field.name: np.concatenate([part.columns[field.name] for part in parts]) for field in FIELDS
    }
    before = np.concatenate(
        [np.where(p.before < 0, -1, p.before + at) for p, at in zip(parts, begins, strict=True)]
    )
    points = [np.diff(part.utilities.first) for part in parts]
    first = np.concatenate([[0], np.cumsum(np.concatenate(points))])
    utilities = Utilities(
        first,
        np.concatenate([part.utilities.time for part in parts]),
        np.concatenate([part.utilities.value for part in parts]),
    )
    time = join("time")
    week = np.floor(time / WEEK).astype(np.int64)
    member = np.repeat(np.arange(members.log.size), members.n_jobs)
    stride = int(members.n_weeks.max()) + 1
    return Pools(
        logs=tuple(part.log for part in parts),
        members=members,
        row=join("row"),
        time=time,
        week=week,
        line=member * stride + week,
        columns=columns,
        before=before if (before >= 0).any() else None,
        utilities=utilities if utilities.time.size else None,
        pieces=None if unit == "user" else _pieces(join("label"), member, week, members),
        notes=tuple(note for part in parts for note in part.notes),
        whole=bool((columns["submit"] == np.rint(columns["submit"])).all()),
    )


def _pieces(
    label: NDArray[np.int64],
    member: NDArray[np.int64],
    week: NDArray[np.int64],
    members: Members,
) -> Pieces:
    """Find the pieces of the members: a member's jobs of one label stand together."""
    new = np.ones(label.size, dtype=bool)
    new[1:] = (label[1:] != label[:-1]) | (member[1:] != member[:-1])
    of_job = np.cumsum(new) - 1
    begins = np.flatnonzero(new)
    first = np.append(of_job[members.first[:-1]], begins.size)
    return Pieces(of_job, week[begins], first)
