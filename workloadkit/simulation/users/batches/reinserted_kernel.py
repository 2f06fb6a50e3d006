"""Fluid users whose skipped sessions are repeated weekly until they are used, compiled.

There may be thousands of skipped sessions that are repeated weekly. A tree holds them by weekday
and time of day: its leaves are in the order of their begins within a week, and contain their ends,
in seconds from the begin of that week.
"""

import sys
from math import floor, inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import bare
from workloadkit._kernels.local_time import WEEK, local_time, seconds
from workloadkit.simulation.compiled.parts import register_functions
from workloadkit.simulation.users.batches.drawing_kernel import DrawingState
from workloadkit.simulation.users.batches.drawing_kernel import forget_ends as batch_sent
from workloadkit.simulation.users.batches.drawing_kernel import note_end as job_ended
from workloadkit.simulation.users.batches.fluid_kernel import (
    Sessions,
    arrival,
    begins_again,
    first_after,
    returns,
    when,
)

__all__ = [
    "ReinsertedBehaviour",
    "arrival",
    "batch_sent",
    "begins_again",
    "job_ended",
    "latest_end",
    "next_begin",
    "returns",
    "takes_up",
    "use",
]

ABSENT = -inf
RECORDED = -1  # the round in which sessions have their recorded times


class Rounds(NamedTuple):
    """The used sessions of each user, where skipped ones are reinserted.

    In a round each session is used once. It is available from its first begin in the round on, and
    then weekly until it is used.

    Parameters
    ----------
    first_used, first_node : ndarray of int64, shape (n_users + 1,)
        Where the sessions and the nodes of the tree of each user begin.
    used : ndarray of bool
    tree : ndarray of float64
        Each node holds the latest of what is below it. A user's tree has its top at node 1.
    n_used, n_begun : ndarray of int64, shape (n_users,)
        Sessions used in the round; sessions that have begun in it.
    start : ndarray of int64, shape (n_users,)
        First begin of the round: weeks × sessions + rank. `RECORDED` for the first round.
    used_until : ndarray of float64, shape (n_users,)
        Latest end of the sessions used so far, at the time of their use. [s]
    """

    first_used: NDArray[np.int64]
    first_node: NDArray[np.int64]
    used: NDArray[np.bool_]
    tree: NDArray[np.float64]
    n_used: NDArray[np.int64]
    n_begun: NDArray[np.int64]
    start: NDArray[np.int64]
    used_until: NDArray[np.float64]


class ReinsertedBehaviour(NamedTuple):
    """The behaviour; as `RecycledBehaviour`, with `rounds`."""

    drawing: DrawingState
    patience: float
    leave: float
    overtime: bool
    shift: NDArray[np.float64]
    sessions: Sessions
    rounds: Rounds


@bare
def takes_up(users, begins, arrival):
    """Set a user's sessions for the begin with a batch."""
    who, opening = begins
    member = users.incarnations.member[who]
    _reset(users, who, users.activities.session[opening] - users.activities.first_session[member])
    use(users, who, float(arrival))


@bare
def latest_end(users, who, now):
    """Return the latest end of the sessions that have begun; later than now if one is under way."""
    sessions, rounds = users.behaviour.sessions, users.behaviour.rounds
    member, moved = users.incarnations.member[who], users.behaviour.shift[who]
    _go_on(sessions, rounds, who, member, moved, now)
    latest = rounds.used_until[who]
    if rounds.start[who] == RECORDED and rounds.n_begun[who] > 0:
        session = sessions.first[member] + rounds.n_begun[who] - 1
        reach = when(sessions, sessions.reach, sessions.local_reach, session, moved)
        latest = max(latest, reach)
    if _nothing_comes_again(rounds, who):
        return latest
    n = sessions.first[member + 1] - sessions.first[member]
    following = _following(sessions, member, now)
    week, rank = following // n, following % n
    this_week = _latest(rounds, who, 0, rank)
    last_week = _latest(rounds, who, rank, n)
    local = max(this_week + week * WEEK, last_week + (week - 1) * WEEK)
    if local > ABSENT:
        zone = sessions.zone
        latest = max(latest, seconds(zone.begins, zone.offsets, zone.start, local))
    return latest


@bare
def next_begin(users, who, now):
    """Return the begin of the next unused session, after now.

    A session that is under way is no longer available: its next begin, a week later, counts.
    """
    sessions, rounds = users.behaviour.sessions, users.behaviour.rounds
    member, moved = users.incarnations.member[who], users.behaviour.shift[who]
    _go_on(sessions, rounds, who, member, moved, now)
    first = sessions.first[member]
    n = sessions.first[member + 1] - first
    begin = inf
    place = rounds.n_begun[who]
    while place < n and _is_used(sessions, rounds, who, member, place):
        place += 1
    if place < n:
        begin = _begin_in_round(sessions, rounds, who, member, moved, place)
    if _nothing_comes_again(rounds, who):
        return begin
    following = _following(sessions, member, now)
    week, rank = following // n, following % n
    again = _next_leaf(rounds, who, rank, 0.0)
    if again >= n:
        week += 1
        again = _next_leaf(rounds, who, 0, 0.0)
    if again < n:
        begin = min(begin, _weekly_begin(sessions, member, week * n + again))
    return begin


@bare
def use(users, who, now):
    """Record a submission: it uses all sessions that are under way."""
    sessions, rounds = users.behaviour.sessions, users.behaviour.rounds
    member, moved = users.incarnations.member[who], users.behaviour.shift[who]
    _go_on(sessions, rounds, who, member, moved, now)
    first = sessions.first[member]
    n = sessions.first[member + 1] - first
    base = rounds.first_used[who]
    if rounds.start[who] == RECORDED:
        session = first + rounds.n_begun[who] - 1
        while (
            session >= first
            and when(sessions, sessions.reach, sessions.local_reach, session, moved) >= now
        ):
            end = when(sessions, sessions.until, sessions.local_until, session, moved)
            if end >= now and not rounds.used[base + session - first]:
                _use(sessions, rounds, who, member, session - first, end)
            session -= 1
    if _nothing_comes_again(rounds, who) and rounds.n_used[who] < n:
        return
    following = _following(sessions, member, now)
    week, rank = following // n, following % n
    zone = sessions.zone
    for low, high, since in ((0, rank, week * WEEK), (rank, n, (week - 1) * WEEK)):
        while True:
            latest = _latest(rounds, who, low, high)
            if latest == ABSENT:
                break
            end = seconds(zone.begins, zone.offsets, zone.start, latest + since)
            if end < now:
                break
            leaf = _next_leaf(rounds, who, low, latest)
            _use(sessions, rounds, who, member, sessions.by_phase[first + leaf], end)
    if rounds.n_used[who] == n:
        for place in range(base, base + n):
            rounds.used[place] = False
        rounds.n_used[who] = rounds.n_begun[who] = 0
        rounds.start[who] = following


@bare
def _reset(users, who, n_over):
    """Begin, with the first `n_over` sessions used."""
    sessions, rounds = users.behaviour.sessions, users.behaviour.rounds
    member = users.incarnations.member[who]
    n, base = sessions.first[member + 1] - sessions.first[member], rounds.first_used[who]
    for place in range(n):
        rounds.used[base + place] = place < n_over
    for node in range(rounds.first_node[who], rounds.first_node[who + 1]):
        rounds.tree[node] = ABSENT
    rounds.n_used[who], rounds.n_begun[who], rounds.start[who] = n_over, 0, RECORDED
    rounds.used_until[who] = -inf


@bare
def _go_on(sessions, rounds, who, member, moved, now):
    """Repeat weekly the sessions that have begun by now and were not used."""
    first = sessions.first[member]
    n = sessions.first[member + 1] - first
    place = rounds.n_begun[who]
    while place < n and _begin_in_round(sessions, rounds, who, member, moved, place) <= now:
        if not _is_used(sessions, rounds, who, member, place):
            session = first + _session_in_round(sessions, rounds, who, member, place)
            lasts = sessions.local_until[session] - sessions.local_begin[session]
            rank = sessions.rank[session]
            _set_leaf(rounds, who, rank, sessions.phase[first + rank] + lasts)
        place += 1
    rounds.n_begun[who] = place


@bare
def _session_in_round(sessions, rounds, who, member, place):
    """Return the session, from 0, with this place among the first begins of a round."""
    if rounds.start[who] == RECORDED:
        return place
    first = sessions.first[member]
    n = sessions.first[member + 1] - first
    return sessions.by_phase[first + (rounds.start[who] + place) % n]


@bare
def _begin_in_round(sessions, rounds, who, member, moved, place):
    """Return the first begin of that session in the round."""
    if rounds.start[who] == RECORDED:
        session = sessions.first[member] + place
        return when(sessions, sessions.begin, sessions.local_begin, session, moved)
    return _weekly_begin(sessions, member, rounds.start[who] + place)


@bare
def _is_used(sessions, rounds, who, member, place):
    session = _session_in_round(sessions, rounds, who, member, place)
    return rounds.used[rounds.first_used[who] + session]


@bare
def _use(sessions, rounds, who, member, session, end):
    """Remove a session, from 0, with this end, from the round."""
    rounds.used[rounds.first_used[who] + session] = True
    rounds.n_used[who] += 1
    rounds.used_until[who] = max(rounds.used_until[who], end)
    rank = sessions.rank[sessions.first[member] + session]
    _set_leaf(rounds, who, rank, ABSENT)


@bare
def _following(sessions, member, now):
    """Return the first weekly begin after now, as weeks × sessions + rank."""
    first, end = sessions.first[member], sessions.first[member + 1]
    zone = sessions.zone
    local = local_time(zone.begins, zone.offsets, zone.start, now)
    week = floor(local / WEEK)
    after = first_after(sessions.phase, first, end, local - week * WEEK)
    following = week * (end - first) + after - first
    # where clocks are put back, what they show now they have shown before
    while _weekly_begin(sessions, member, following) <= now:
        following += 1
    return following


@bare
def _weekly_begin(sessions, member, at):
    """Return the begin of a session, given weeks × sessions + rank."""
    first = sessions.first[member]
    n = sessions.first[member + 1] - first
    zone = sessions.zone
    local = (at // n) * WEEK + sessions.phase[first + at % n]
    return seconds(zone.begins, zone.offsets, zone.start, local)


# The tree: the children of node i are 2 i and 2 i + 1, its last half are the leaves.


@bare
def _nothing_comes_again(rounds, who):
    """Whether no session that has begun in the round is left to be used."""
    return rounds.tree[rounds.first_node[who] + 1] == ABSENT


@bare
def _set_leaf(rounds, who, leaf, value):
    tree, top = rounds.tree, rounds.first_node[who]
    node = leaf + (rounds.first_node[who + 1] - top) // 2
    tree[top + node] = value
    while node > 1:
        node //= 2
        tree[top + node] = max(tree[top + 2 * node], tree[top + 2 * node + 1])


@bare
def _latest(rounds, who, low, high):
    """Return the latest of the leaves from `low` to before `high`; `ABSENT` if there is none."""
    tree, top = rounds.tree, rounds.first_node[who]
    width = (rounds.first_node[who + 1] - top) // 2
    latest = ABSENT
    low += width
    high += width
    while low < high:
        if low % 2:
            latest = max(latest, tree[top + low])
            low += 1
        if high % 2:
            high -= 1
            latest = max(latest, tree[top + high])
        low //= 2
        high //= 2
    return latest


@bare
def _next_leaf(rounds, who, low, least):
    """Return the first leaf from `low` on with at least `least`; the number of leaves for none."""
    tree, top = rounds.tree, rounds.first_node[who]
    width = (rounds.first_node[who + 1] - top) // 2
    if low >= width:
        return width
    node = low + width
    while tree[top + node] < least:
        while node % 2:  # to the right of all that were seen
            node //= 2
        if node == 0:
            return width
        node += 1
    while node < width:
        node *= 2
        if tree[top + node] < least:
            node += 1
    return node - width


register_functions(ReinsertedBehaviour, sys.modules[__name__])
