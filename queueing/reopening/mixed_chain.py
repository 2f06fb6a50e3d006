"""Markov chain of closed users, and of arriving users who may continue, at the same servers."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from workloadkit.queueing.arguments import Floats
from workloadkit.queueing.errors import QueueingError
from workloadkit.queueing.probability import Probability
from workloadkit.queueing.reopening.levels import (
    BOUND,
    Ints,
    Move,
    Stationary,
    beyond,
    birth_death,
    settle,
    spread,
    thinking_given,
)
from workloadkit.queueing.reopening.thinkers import AT_ONCE, averages

#: Arrivals per service time below which open users are treated as alone; affects at most the
#: seventh digit.
_SELDOM = 1e-7
#: Largest number of jobs at the servers.
_MOST = 20_000


@dataclass(frozen=True, eq=False)
class MixedChainState:
    """The stationary state of one point.

    Parameters
    ----------
    Xo, Xc : float
        Jobs of open and of closed users per unit of time.
    Qo, Qc : float
        Mean numbers of their jobs at the servers.
    thinking : float
        Mean number of thinking open users.
    found : ndarray
        Share of open users' first jobs that find n other jobs: the share of time.
    left_open, left_closed : ndarray
        Share of the jobs of each kind that leave m other jobs behind.
    p_mean : float
        Share of open users' jobs followed by another job.
    neglected : float
        Estimated share of time in omitted states.
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
        """Return the completion rate with n jobs."""
        return np.minimum(n, self.servers) / self.S


def solve_mixed_chain(
    lam: float, N: float, Z: float, S: float, servers: int, p: Probability
) -> MixedChainState:
    """Return the stationary state of the chain of closed and open jobs and thinking open users.

    Jobs in service belong to closed users in proportion to all jobs at the servers, as if served in
    random order. For exponential services of equal mean, the order of service does not affect
    means, if it does not depend on them; only the dependence of an open user's response time, and
    of p, on the past is lost. The chain is exact for constant p.

    Parameters
    ----------
    lam : float
        Arrival rate of open users, 0 or more.
    N : float
        Number of closed users, whole.
    Z : float
        Mean think time of all users.
    S : float
        Mean service time, above 0.
    p : Probability
        Probability of another job of an open user, at one point.

    Raises
    ------
    QueueingError
        If N is not whole, the load is too high, or there are too many states.

    Examples
    --------
    >>> from workloadkit.queueing.probability import exponential
    >>> solved = solve_mixed_chain(0.3, 5, 10.0, 1.0, 1, exponential(1))
    >>> round(solved.Xo, 4), round(solved.Xc, 4)
    (0.3798, 0.3903)
    """
    if N != int(N):
        raise QueueingError(f"N is {N:g}; with p it must be a whole number")
    bearable = servers * (1.0 - float(p.limit)) / S
    if not lam < bearable:
        raise QueueingError(
            f"lam is {lam:g}; it must be below servers (1 - p after long response times) / S, "
            f"{bearable:g}"
        )
    point = _Point(lam, int(N), Z, S, servers)
    if lam * S >= _SELDOM:
        return _solved(point, p)
    # closed users without open ones, and one open user among them
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


def _solved(point: _Point, p: Probability) -> MixedChainState:
    """Return the stationary state with arriving open users."""
    # omitted states must be rare relative to the open users present, within the precision of the
    # elimination
    bound = max(BOUND * min(point.lam * point.S, 1.0), 1e-16)
    count = point.N + 64 + 2 * point.servers
    while count <= _MOST:
        behind = averages(p, point.S, count, point.servers)
        if point.Z < AT_ONCE * point.S:
            share = _without_thoughts(point, behind)
            if beyond(share) <= bound:
                level = np.arange(point.N, count)
                coordinates = np.array(
                    [np.full(share.size, point.N), np.zeros(share.size, np.intp)]
                )
                return _summary(point, behind, Stationary(level, coordinates, share, beyond(share)))
        else:
            share, closed, opened = _first_look(point, behind)
            if beyond(share) <= bound / 16:
                return _settled(point, p, share, closed, opened, bound)
        count += count // 2 + 32
    raise QueueingError(
        f"lam is {point.lam:g}; more than {_MOST:,} jobs at the servers are then likely, too many "
        "for the chain"
    )


def _closed_only(point: _Point, behind: Floats) -> MixedChainState:
    """Return the state without arrivals."""
    level = np.arange(point.N + 1)
    if point.Z < AT_ONCE * point.S:
        share = np.eye(point.N + 1)[point.N]
    else:
        share = birth_death((point.N - level) / point.Z, point.service(level[1:]))
    return _summary(point, behind, Stationary(level, np.array([level, 0 * level]), share, 0.0))


def _without_thoughts(point: _Point, behind: Floats) -> Floats:
    """Return shares of time with N, N + 1, ... jobs if closed users are always at the servers."""
    level = np.arange(point.N + 1, behind.size)
    leaves = np.maximum(1.0 - behind[level - 1], 1e-16)
    down = point.service(level) * (level - point.N) / level * leaves
    return birth_death(np.full(level.size + 1, point.lam), down)


def _first_look(point: _Point, behind: Floats, rounds: int = 40) -> tuple[Floats, Floats, Floats]:
    """Return the approximate share of time with n jobs, and mean thinking users of both kinds."""
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
        # at most N, and at level n at least N - n
        least = np.maximum(point.N - np.arange(behind.size), 0.0)
        closed = np.clip(closed, least, point.N)
        opened = thinking_given(up, service, point.Z, joining)
    return birth_death(up, service), closed, opened


def _settled(
    point: _Point, p: Probability, share: Floats, closed: Floats, opened: Floats, bound: float
) -> MixedChainState:
    """Return the stationary state, starting from an approximation."""

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
    """Return the transitions; coordinates: closed users' jobs present, thinking open users."""
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


def _summary(point: _Point, behind: Floats, law: Stationary) -> MixedChainState:
    level, (closed, thinking), share, neglected = law
    rate = point.service(level) / np.maximum(level, 1) * share
    found = np.bincount(level, share).astype(np.float64)
    ending_closed = np.bincount(level, rate * closed, found.size)[1:]
    ending_open = np.bincount(level, rate * (level - closed), found.size)[1:]
    Xc, Xo = float(ending_closed.sum()), float(ending_open.sum())
    # without such users: the state that one would find
    left_closed = ending_closed / Xc if Xc else found
    left_open = ending_open / Xo if Xo else found
    Qo, Qc, k = (float(number @ share) for number in (level - closed, closed, thinking))
    return MixedChainState(
        Xo, Xc, Qo, Qc, k, found, left_open, left_closed,
        float(left_open @ behind[: left_open.size]), neglected, share.size,
    )  # fmt: skip
