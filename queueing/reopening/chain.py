"""The re-open model as a Markov chain of jobs at the servers and thinking users."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from workloadkit.queueing.arguments import Floats
from workloadkit.queueing.errors import QueueingError, quoted
from workloadkit.queueing.probability import Probability
from workloadkit.queueing.reopening.laws import phases, survival
from workloadkit.queueing.reopening.levels import (
    BOUND,
    Ints,
    Move,
    beyond,
    birth_death,
    settle,
    spread,
    thinking_given,
)
from workloadkit.queueing.reopening.thinkers import Choices, averages, choices, thoughts
from workloadkit.queueing.response_function import Form

#: Largest number of jobs at the servers.
_MOST = 100_000
#: Share of time with a job present below which meetings of jobs are lost in rounding.
_SELDOM = 1e-14
#: Tolerated relative difference between arriving and leaving users.
_LOST = 1e-6
#: Share of jobs with longer response times, which are ignored for the longest think time.
_RARE = 1e-3


@dataclass(frozen=True, eq=False)
class ChainState:
    """The stationary state of one point.

    Parameters
    ----------
    X, Q, thinking : float
        Jobs per unit of time, and mean numbers of jobs at the servers and of thinking users.
    left : ndarray
        Share of all jobs that leave m other jobs behind, m = 0, 1, ...
    found : ndarray
        Share of first jobs that find n other jobs: the share of time, since arrivals are Poisson.
    p_behind : ndarray
        Probability of another job after a job that leaves m others behind.
    p_mean : float
        Share of jobs followed by another job of the user.
    neglected : float
        Estimated share of time in omitted states.
    states : int
    """

    X: float
    Q: float
    thinking: float
    left: Floats
    found: Floats
    p_behind: Floats
    p_mean: float
    neglected: float
    states: int


class ReopenChain(NamedTuple):
    """One point, with the choices of users after a job, by the number of jobs left behind.

    Parameters
    ----------
    lam, S : float
    servers : int
    choices : Choices
        Choices for m = 0, 1, ... jobs left behind.
    """

    lam: float
    S: float
    servers: int
    choices: Choices

    def service(self, n: Ints) -> Floats:
        """Return the completion rate with n jobs."""
        return np.minimum(n, self.servers) / self.S

    def moves(self) -> list[Move]:
        """Return the transitions with n jobs at the servers and k thinking users of each kind."""
        kinds, _, behind = self.choices
        no_change = (0,) * len(kinds)

        def arrive(n: Ints, k: Ints) -> Floats:
            return np.full(n.shape, self.lam)

        def leave(n: Ints, k: Ints) -> Floats:
            return self.service(n) * (1.0 - behind[n - 1])

        found = [Move(1, no_change, arrive), Move(-1, no_change, leave)]
        for i, (Z, follows) in enumerate(kinds):
            one = tuple(int(i == j) for j in range(len(kinds)))

            def wake(n: Ints, k: Ints, i: int = i, Z: float = Z) -> Floats:
                return k[i] / Z

            def think(n: Ints, k: Ints, follows: Floats = follows) -> Floats:
                return self.service(n) * follows[n - 1]

            found += [Move(1, tuple(-j for j in one), wake), Move(-1, one, think)]
        return found

    def first_look(self, rounds: int = 30) -> tuple[Floats, Floats]:
        """Return the approximate share of time with n jobs, and the mean thinking users given n.

        Thinking users are treated as Poisson given n, which is exact for constant p.

        Returns
        -------
        share : ndarray, shape (count,)
        thinking : ndarray, shape (n_kinds, count)
        """
        kinds, at_once, behind = self.choices
        count = behind.size
        service = self.service(np.arange(1, count))
        down = service * np.maximum(1.0 - at_once[:-1], 1e-16)
        thinking = np.zeros((len(kinds), count))
        up = np.zeros(count)
        for _ in range(rounds):
            before, up = up, np.full(count, float(self.lam))
            for (Z, _), k in zip(kinds, thinking, strict=True):
                up += k / Z
            if (np.abs(up - before) <= 1e-3 * up).all():
                break
            for i, (Z, follows) in enumerate(kinds):
                thinking[i] = thinking_given(up, down, Z, service * follows[:-1])
        return birth_death(up, down), thinking

    def never_meeting(self) -> ChainState:
        """Return the state of users who are always alone, for any number thinking."""
        kinds, _, behind = self.choices
        X = self.lam / (1.0 - float(behind[0]))
        thinking = X * sum(Z * float(follows[0]) for Z, follows in kinds)
        return ChainState(
            X, X * self.S, thinking, np.ones(1), np.ones(1), behind[:1], float(behind[0]), 0.0, 1
        )

    def summary(self, n: Ints, k: Ints, share: Floats, neglected: float) -> ChainState:
        """Summarize the stationary distribution over n at the servers and k thinking."""
        behind = self.choices.behind
        found = np.bincount(n, share).astype(np.float64)
        ending = self.service(np.arange(found.size)) * found
        X = float(ending.sum())
        left = ending[1:] / X
        behind = behind[: left.size]
        return ChainState(
            min(X, self.servers / self.S), float(n @ share), float(k.sum(axis=0) @ share), left,
            found, behind, float(left @ behind), neglected, share.size,
        )  # fmt: skip


def solve_chain(
    lam: float, p: Probability, Z: float | Form, S: float, servers: int = 1
) -> ChainState:
    """Return the stationary state of the chain of jobs at the servers and thinking users.

    A job that leaves m others behind is followed by another job with the mean of p over the
    response times of such jobs, see `averages`. Exact for constant p, otherwise an approximation:
    beyond the number left behind, the chain has no memory of a response time.

    Parameters
    ----------
    lam : float
        Arrival rate of users, 0 or more.
    p : Probability
        Probability at one point.
    Z : float or Form
        Mean think time, or a function of the response time: see `thoughts`.
    S : float
        Mean service time, above 0.
    servers : int, default 1

    Raises
    ------
    QueueingError
        If the load is too high, or there are too many states.

    Examples
    --------
    >>> from workloadkit.queueing.probability import exponential
    >>> solved = solve_chain(0.5, exponential(1), 1.0, 1.0)
    >>> round(solved.X, 4), round(solved.Q / solved.X, 4)
    (0.6959, 2.3946)
    """
    bearable = servers * (1.0 - float(p.limit)) / S
    if not lam < bearable:
        raise QueueingError(
            f"lam is {lam:g}; it must be below servers (1 - p after long response times) / S, "
            f"{bearable:g}"
        )
    # omitted states must be rare relative to the users present
    bound = BOUND * min(max(lam * S, _SELDOM), 1.0)
    none_thinking = _without_thoughts(lam, p, S, servers, bound)
    thought = thoughts(Z, _longest(none_thinking, S, servers) if isinstance(Z, Form) else 0.0)

    def line(count: int) -> ReopenChain:
        return ReopenChain(lam, S, servers, choices(p, thought, S, count, servers))

    alone = line(1)
    if lam * S <= _SELDOM * (1.0 - alone.choices.behind[0]):
        return alone.never_meeting()
    count = none_thinking.size
    if not alone.choices.kinds:
        levels = np.arange(count)
        no_kinds = np.empty((0, count), np.intp)
        return line(count).summary(levels, no_kinds, none_thinking, beyond(none_thinking))
    while True:
        share, thinking = line(count).first_look()
        if beyond(share) <= bound / 16:
            break
        count += count // 4 + 32
    if len(thinking) > 1:
        # the number of states multiplies: ten digits are enough
        bound *= 100
    low, high = spread(share, thinking, bound=bound)
    law = settle(low, high, lambda levels: line(levels).moves(), bound)
    solved = line(law.level[-1] + 1).summary(*law)
    if not abs(solved.X * (1.0 - solved.p_mean) - lam) <= _LOST * lam:
        raise QueueingError(
            f"p is {quoted(float(alone.choices.behind[0]))} for users who are alone: too close "
            "to 1 for the precision of the chain"
        )
    return solved


def _without_thoughts(lam: float, p: Probability, S: float, servers: int, bound: float) -> Floats:
    """Return shares of time with 0, 1, ... jobs without think times: a birth-death process."""
    if lam == 0:
        return np.ones(1)
    count = 64 + 2 * servers
    while count <= _MOST:
        # positive even if rounding hides departures
        leaves = np.maximum(1.0 - averages(p, S, count, servers), 1e-16)
        down = np.minimum(np.arange(1, count), servers) / S * leaves[:-1]
        share = birth_death(np.full(count, lam), down)
        if beyond(share) <= bound:
            return share
        count *= 2
    raise QueueingError(
        f"lam is {lam:g}; more than {_MOST:,} jobs at the servers are then likely, too many for "
        "the chain"
    )


def _longest(found: Floats, S: float, servers: int) -> float:
    """Return a response time that a negligible share of jobs exceeds."""
    from scipy.optimize import brentq

    weights, rate = phases(found, servers), servers / S

    def rarer(t: float) -> float:
        return float(survival(weights, rate, np.asarray(t))) - _RARE

    return float(brentq(rarer, 0.0, 2.0 * weights.size / rate + 20.0 * S))
