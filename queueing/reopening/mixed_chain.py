"""Closed users, and users who arrive and may go on, at the same servers, as a Markov chain."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from queueing.arguments import Floats
from queueing.errors import QueueingError
from queueing.probability import Probability
from queueing.reopening.averages import averages
from queueing.reopening.levels import (
    BOUND,
    Ints,
    Law,
    Move,
    beyond,
    birth_death,
    settle,
    spread,
    thinking_given,
)
from queueing.reopening.thinkers import AT_ONCE

#: Open users who arrive in a service time, below which they are taken to be alone; shows in the
#: seventh digit at most.
_SELDOM = 1e-7
#: Most jobs at the servers that are looked at.
_MOST = 20_000


@dataclass(frozen=True, eq=False)
class SolvedMixed:
    """The stationary state of one point.

    Parameters
    ----------
    Xo, Xc : float
        Jobs of open and of closed users a unit of time.
    Qo, Qc : float
        How many of their jobs are at the servers, means over time.
    thinking : float
        Open users who think, mean over time.
    found : ndarray
        Share of open users' first jobs that find n others: that of time.
    left_open, left_closed : ndarray
        Share of the jobs of either that leave m others behind.
    p_mean : float
        Share of open users' jobs that are followed by another.
    neglected : float
        Estimate of the share of time that is spent in states left out.
    states : int
    """

    Xo: float
    Xc: float
    Qo: float
    Qc: float
    thinking: float
    found: Floats
    left_open: Floats
    left_closed: Floats
    p_mean: float
    neglected: float
    states: int


class _Point(NamedTuple):
    lam: float
    N: int
    Z: float
    S: float
    servers: int

    def service(self, n: Ints) -> Floats:
        """Rate at which jobs end where there are n."""
        return np.minimum(n, self.servers) / self.S


def solve_mixed_chain(
    lam: float, N: float, Z: float, S: float, servers: int, p: Probability
) -> SolvedMixed:
    """Return the stationary state of the chain of jobs of either users, and open users who think.

    Jobs in service are taken to be of closed users in the proportion of all at the servers, as if
    they were served in random order. Means are the same in whatever order exponential services of
    one mean are given, if it does not look at them; only how an open user's response depends on
    what happened since, and with it p, is lost. Where p is constant the chain is exact.

    Parameters
    ----------
    lam : float
        Rate at which open users arrive, 0 or more.
    N : float
        Closed users, a whole number.
    Z : float
        Mean think time of both.
    S : float
        Mean service time, above 0.
    servers : int
    p : Probability
        Of another job of an open user; of one point.

    Raises
    ------
    QueueingError
        If N is not whole, the load is too high, or too many states are needed.

    Examples
    --------
    >>> from queueing.probability import exponential
    >>> solved = solve_mixed_chain(0.3, 5, 10.0, 1.0, 1, exponential(1))
    >>> round(solved.Xo, 4), round(solved.Xc, 4)
    (0.3798, 0.3903)
    """
    if N != int(N):
        raise QueueingError(f"N is {N:g}; with p it must be a whole number")
    bearable = servers * (1.0 - float(p.limit)) / S
    if not lam < bearable:
        raise QueueingError(
            f"lam is {lam:g}; it must be below servers (1 - p after long responses) / S, "
            f"{bearable:g}"
        )
    point = _Point(lam, int(N), Z, S, servers)
    if lam * S >= _SELDOM:
        return _solved(point, p)
    # closed users as if alone, and one open user among them
    alone = _closed_only(point, averages(p, S, point.N + 1, servers))
    solved = _solved(point._replace(lam=_SELDOM / S), p)
    scale = lam * S / _SELDOM
    Xo = scale * solved.Xo
    Xc = min(alone.Xc, servers / S - Xo)
    return replace(
        solved, Xc=Xc, Qc=alone.Qc + (alone.Xc - Xc) * Z, found=alone.found,
        left_closed=alone.left_closed, Xo=Xo, Qo=scale * solved.Qo,
        thinking=scale * solved.thinking,
    )  # fmt: skip


def _solved(point: _Point, p: Probability) -> SolvedMixed:
    """Return the stationary state where open users do arrive."""
    # where hardly any of them is there, what is left out is little beside them, as far as the
    # numbers of the elimination go
    bound = max(BOUND * min(point.lam * point.S, 1.0), 1e-16)
    count = point.N + 64 + 2 * point.servers
    while count <= _MOST:
        behind = averages(p, point.S, count, point.servers)
        if point.Z < AT_ONCE * point.S:
            share = _without_thoughts(point, behind)
            if beyond(share) <= bound:
                level = np.arange(point.N, count)
                nobody = np.array([np.full(share.size, point.N), np.zeros(share.size, np.intp)])
                return _summary(point, behind, Law(level, nobody, share, beyond(share)))
        else:
            share, closed, opened = _first_look(point, behind)
            if beyond(share) <= bound / 16:
                return _settled(point, p, share, closed, opened, bound)
        count += count // 2 + 32
    raise QueueingError(
        f"lam is {point.lam:g}; more than {_MOST:,} jobs at the servers are not rare then, too "
        "many for the chain"
    )


def _closed_only(point: _Point, behind: Floats) -> SolvedMixed:
    """Return the state where nobody arrives."""
    level = np.arange(point.N + 1)
    if point.Z < AT_ONCE * point.S:
        share = np.eye(point.N + 1)[point.N]
    else:
        share = birth_death((point.N - level) / point.Z, point.service(level[1:]))
    return _summary(point, behind, Law(level, np.array([level, 0 * level]), share, 0.0))


def _without_thoughts(point: _Point, behind: Floats) -> Floats:
    """Shares of time with N, N + 1, ... jobs where all closed users are always at the servers."""
    level = np.arange(point.N + 1, behind.size)
    leaves = np.maximum(1.0 - behind[level - 1], 1e-16)
    down = point.service(level) * (level - point.N) / level * leaves
    return birth_death(np.full(level.size + 1, point.lam), down)


def _first_look(point: _Point, behind: Floats, rounds: int = 40) -> tuple[Floats, Floats, Floats]:
    """About the share of time with n jobs, and how many closed and open users think then."""
    level = np.arange(1, behind.size)
    service = point.service(level)
    each = service / level
    up = np.zeros(behind.size)
    closed, opened = np.full(behind.size, float(point.N)), np.zeros(behind.size)
    for _ in range(rounds):
        before, up = up, point.lam + (closed + opened) / point.Z
        if (np.abs(up - before) <= 1e-3 * up).all():
            break
        joining = service * behind[:-1] * np.clip((level - point.N + closed[1:]) / level, 0.0, 1.0)
        closed = thinking_given(up, service, point.Z, each * point.N, each)
        # not more than there are, and at level n all but n at least
        least = np.maximum(point.N - np.arange(behind.size), 0.0)
        closed = np.clip(closed, least, point.N)
        opened = thinking_given(up, service, point.Z, joining)
    return birth_death(up, service), closed, opened


def _settled(
    point: _Point, p: Probability, share: Floats, closed: Floats, opened: Floats, bound: float
) -> SolvedMixed:
    """Return the stationary state, from about where it is."""

    def most(level: Ints) -> Ints:
        users = np.minimum(level, point.N)
        return np.column_stack([users, np.full(level.size, np.iinfo(np.int32).max)])

    served = point.N - closed
    mean = np.array([served, opened])
    variance = np.array([np.minimum(served, closed) + 0.5, 1.2 * opened])
    low, high = spread(share, mean, variance, bound)
    law = settle(low, high, lambda levels: _moves(point, p, levels), bound, most)
    return _summary(point, averages(p, point.S, law.level[-1] + 1, point.servers), law)


def _moves(point: _Point, p: Probability, levels: int) -> list[Move]:
    """Return what can happen; coordinates: closed users' jobs there, open users who think."""
    behind = averages(p, point.S, levels, point.servers)

    def share_open(n: Ints, at: Ints) -> Floats:
        return point.service(n) * (n - at[0]) / np.maximum(n, 1)

    return [
        Move(1, (0, 0), lambda n, at: np.full(n.shape, point.lam)),
        Move(1, (0, -1), lambda n, at: at[1] / point.Z),
        Move(1, (1, 0), lambda n, at: (point.N - at[0]) / point.Z),
        Move(-1, (-1, 0), lambda n, at: point.service(n) * at[0] / np.maximum(n, 1)),
        Move(-1, (0, 0), lambda n, at: share_open(n, at) * (1.0 - behind[n - 1])),
        Move(-1, (0, 1), lambda n, at: share_open(n, at) * behind[n - 1]),
    ]


def _summary(point: _Point, behind: Floats, law: Law) -> SolvedMixed:
    level, (closed, thinking), share, neglected = law
    rate = point.service(level) / np.maximum(level, 1) * share
    found = np.bincount(level, share).astype(np.float64)
    ending_closed = np.bincount(level, rate * closed, found.size)[1:]
    ending_open = np.bincount(level, rate * (level - closed), found.size)[1:]
    Xc, Xo = float(ending_closed.sum()), float(ending_open.sum())
    # where there are no such users: what one would find
    left_closed = ending_closed / Xc if Xc else found
    left_open = ending_open / Xo if Xo else found
    Qo, Qc, k = (float(number @ share) for number in (level - closed, closed, thinking))
    return SolvedMixed(
        Xo, Xc, Qo, Qc, k, found, left_open, left_closed,
        float(left_open @ behind[: left_open.size]), neglected, share.size,
    )  # fmt: skip
