"""Stationary distributions of Markov chains that are given by their moves."""

import warnings
from collections import deque
from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

import numpy as np

from workloadkit.queueing.errors import QueueingError

#: Largest number of states of a chain.
MOST_STATES = 400_000

T = TypeVar("T", bound=Hashable)


def stationary(
    starts: Iterable[T], steps: Callable[[T], Iterable[tuple[T, float]]]
) -> dict[T, float]:
    """Return the stationary distribution of a Markov chain on what its starts reach."""
    from scipy.sparse import csc_array
    from scipy.sparse.linalg import MatrixRankWarning, spsolve

    place: dict[T, int] = {}
    source: list[int] = []
    target: list[int] = []
    rates: list[float] = []
    place.update((state, k) for k, state in enumerate(dict.fromkeys(starts)))
    queue = deque(place)
    while queue:
        state = queue.popleft()
        for after, rate in steps(state):
            if after not in place:
                place[after] = len(place)
                queue.append(after)
            source += [place[state], place[state]]
            target += [place[after], place[state]]
            rates += [rate, -rate]
        if len(place) > MOST_STATES:
            raise QueueingError(f"the chain has more than {MOST_STATES:,} states")
    n = len(place)
    if n == 1:
        return dict.fromkeys(place, 1.0)
    flow = csc_array((rates, (target, source)), shape=(n, n))
    with warnings.catch_warnings():
        warnings.simplefilter("error", MatrixRankWarning)
        try:
            others = spsolve(flow[1:, 1:], -flow[1:, [0]].toarray().ravel())
        except MatrixRankWarning:
            raise QueueingError("the chain cannot be solved: its rates are too different") from None
    share = np.append(1.0, others)
    return dict(zip(place, (share / share.sum()).tolist(), strict=True))
