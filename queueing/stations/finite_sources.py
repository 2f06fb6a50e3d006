"""Closed users of several classes with priorities at one station."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from workloadkit.queueing.arguments import Floats, count, positive
from workloadkit.queueing.errors import QueueingError, quoted
from workloadkit.queueing.result import Exactness
from workloadkit.queueing.state_space import MOST_STATES, stationary
from workloadkit.queueing.stations.priorities import ClassesResult, Priority, of_each_class

#: Least jobs of a class in service: the solution of a chain has errors of some 1e-16.
_LEAST_BUSY = 1e-9

#: Jobs of each class at the station, and those of them in service.
State = tuple[tuple[int, ...], tuple[int, ...]]


def closed_priorities(
    N: ArrayLike,
    Z: ArrayLike,
    S: ArrayLike,
    servers: int = 1,
    order: Priority = "non-preemptive",
) -> ClassesResult:
    """Solve finite sources with priorities: closed users of several classes; class 0 is first.

    Users think, then submit a job; think and service times are exponential. The Markov chain of the
    jobs present, and in service, of each class is solved exactly; with preemption, an interrupted
    job continues later [1]_. A chain of up to 400,000 states is solved.

    Parameters
    ----------
    N : array_like of int, shape (R,)
        Users of each class.
    Z, S : array_like, shape (R,)
        Mean think and service times of each class, above 0.
    servers : int, default 1
    order : {"non-preemptive", "preemptive"}

    Raises
    ------
    QueueingError
        If a parameter violates its condition, the chain has too many states, or a class is in
        service too rarely.

    References
    ----------
    .. [1] N. K. Jaiswal, "Priority Queues", Academic Press, 1968, on finite-source models.

    Examples
    --------
    >>> users = closed_priorities(N=[2, 3], Z=5, S=1)
    >>> users.R.round(4).tolist(), float(users.U.sum().round(4))
    ([1.6853, 2.2121], 0.7151)
    """
    if order not in ("non-preemptive", "preemptive"):
        raise QueueingError(
            f"order is {quoted(order)}; it must be 'non-preemptive' or 'preemptive'"
        )
    if np.size(servers) != 1:
        raise QueueingError(f"servers is {quoted(servers)}; it must be one number")
    rules = [count("N"), positive("Z"), positive("S"), count("servers")]
    at = of_each_class(rules, N=N, Z=Z, S=S, servers=servers)
    c, classes = int(at["servers"][0]), at["N"].size
    if np.prod(at["N"] + 1) > MOST_STATES:
        raise QueueingError(f"N is {quoted(N)}; the chain has more than {MOST_STATES:,} states")
    served = _interrupting if order == "preemptive" else _continuing
    empty = (0,) * classes, (0,) * classes
    share = stationary([empty], partial(_steps, at, partial(served, c)))
    chance = np.array(list(share.values()))
    present, busy = (chance @ np.array([state[k] for state in share]) for k in (0, 1))
    rare = np.flatnonzero(~(busy > _LEAST_BUSY))  # written so that NaN counts as rare
    if rare.size:
        raise QueueingError(
            f"class {rare[0]} is in service for less than {_LEAST_BUSY:g} of the time; the chain "
            "cannot be solved accurately"
        )
    X = busy / at["S"]
    return ClassesResult(
        X=X,
        R=present / X,
        Q=present,
        U=busy / c,
        W=(present - busy) / X,
        Lq=present - busy,
        exactness=Exactness("exact, Markov chain"),
        parameters=at,
    )


def _steps(
    at: dict[str, Floats], served: Callable[[list[int], list[int]], tuple[int, ...]], state: State
) -> Iterator[tuple[State, float]]:
    """Yield the states after a submission or the end of a job, with their rates."""
    present, busy = state
    for k, (there, inside) in enumerate(zip(present, busy, strict=True)):
        for step, rate in (
            (1, (at["N"][k] - there) / at["Z"][k]),
            (-1, inside / at["S"][k]),
        ):
            if rate > 0:
                jobs, held = list(present), list(busy)
                jobs[k] += step
                held[k] += min(step, 0)
                yield (tuple(jobs), served(jobs, held)), rate


def _interrupting(servers: int, jobs: list[int], _: list[int]) -> tuple[int, ...]:
    """Return the jobs in service: those of the first classes."""
    upto = np.minimum(np.cumsum([0, *jobs]), servers).tolist()
    return tuple(after - before for before, after in pairwise(upto))


def _continuing(servers: int, jobs: list[int], held: list[int]) -> tuple[int, ...]:
    """Return the jobs in service: those that were, then the first classes."""
    waiting = [n - busy for n, busy in zip(jobs, held, strict=True)]
    more = _interrupting(servers - sum(held), waiting, held)
    return tuple(a + b for a, b in zip(held, more, strict=True))
