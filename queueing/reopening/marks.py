"""The re-open queue for p = e^(-theta r), exactly, with marked jobs.

A user continues with probability e^(-theta r): if a clock of rate theta, started with the job, has
not rung at the end of its response time. So each job is marked when its clock rings, and an
unmarked job is followed by another one. The marks in queue order and the number of thinking users
form a Markov chain with 2^n states for n jobs.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.queueing._kernels import kernel
from workloadkit.queueing.arguments import Floats
from workloadkit.queueing.errors import QueueingError
from workloadkit.queueing.probability import Exponential, Probability
from workloadkit.queueing.reopening.chain import ChainState, solve_chain

#: Longest queue, and largest number of states.
MOST_JOBS = 17
MOST_STATES = 4_000_000
#: Omitted share of time with longer queues or more thinking users.
BOUND = 1e-6
#: Total change of a sweep at which the iteration stops.
SETTLED = 1e-11


class AllQueues(NamedTuple):
    """All queues up to some number of jobs, in the order of `sweep`'s rows.

    Parameters
    ----------
    n : ndarray of int
        Number of jobs.
    unmarked : ndarray of int
        Number of unmarked jobs in service.
    """

    n: NDArray[np.int64]
    unmarked: NDArray[np.int64]


def solve_marks(lam: float, p: Probability, Z: float, S: float, servers: int) -> ChainState:
    """Return the stationary state of the chain of marked queues and thinking users.

    `neglected` is the share of time at the limits of queue length or thinking users, about 1e-6.

    Raises
    ------
    QueueingError
        If p is not exponential, or there are too many jobs or states.
    """
    if not isinstance(p, Exponential):
        raise QueueingError(f"p is a {p}; method 'exact' is for exponential(theta)")
    about = solve_chain(lam, p, Z, S, servers)
    jobs = _enough(about.found, BOUND)
    thinking = _enough(_poisson(about.thinking), BOUND) + 2 if Z else 0
    states = ((2 << jobs) - 1) * (thinking + 1)
    if jobs > MOST_JOBS or states > MOST_STATES:
        raise QueueingError(
            f"lam is {lam:g}; method 'exact' is for light load: queues of up to {jobs} jobs have "
            f"2^{jobs + 1} sets of marks, with up to {thinking} thinking users"
        )
    share, lines = _settle(lam, float(p.theta), Z, S, servers, jobs, thinking)
    k = np.arange(thinking + 1)
    found = np.bincount(lines.n, share.sum(axis=1)).astype(np.float64)
    ending = np.minimum(np.arange(jobs + 1), servers) / S * found
    X = float(ending.sum())
    follow = np.bincount(lines.n, share.sum(axis=1) * lines.unmarked) / S
    with np.errstate(invalid="ignore"):
        behind = np.where(ending[1:] > 0, follow[1:] / ending[1:], 0.0)
    left = np.asarray(ending[1:] / X) if X else np.ones(1)
    neglected = float(found[-1]) + (float(share[:, -1].sum()) if thinking else 0.0)
    return ChainState(
        X, float(found @ np.arange(jobs + 1)), float(share.sum(axis=0) @ k), left, found, behind,
        float(follow.sum() / X), neglected, states,
    )  # fmt: skip


def _settle(
    lam: float, theta: float, Z: float, S: float, servers: int, jobs: int, thinking: int
) -> tuple[Floats, AllQueues]:
    """Return shares of time by queue (rows) and thinking users (columns).

    Sweeps over all states alternate with solutions for the shares of (jobs, thinking) that use the
    marks of the last sweep.
    """
    lines = _lines(jobs, servers)
    share = np.full((lines.n.size, thinking + 1), 0.5) ** lines.n[:, None]
    for _ in range(1000):
        together = np.add.reduceat(share, (1 << np.arange(jobs + 1)) - 1, axis=0)
        unmarked = np.add.reduceat(
            share * lines.unmarked[:, None], (1 << np.arange(jobs + 1)) - 1, axis=0
        )
        follow = np.divide(unmarked, together, out=np.zeros_like(together), where=together > 0)
        total = _shares(lam, follow / S, Z, S, servers)
        share *= np.divide(total, together, out=np.zeros_like(total), where=together > 0)[lines.n]
        before = share.copy()
        sweep(share, lam, theta, Z, S, servers, jobs, thinking)
        if np.abs(share - before).sum() < SETTLED:
            break
    return share / share.sum(), lines


def _shares(lam: float, follow: Floats, Z: float, S: float, servers: int) -> Floats:
    """Return shares of time with n jobs and k thinking users; followed ones end at `follow`."""
    jobs, thinking = follow.shape[0] - 1, follow.shape[1] - 1
    index = np.arange(follow.size).reshape(follow.shape)
    n, k = np.divmod(index, thinking + 1)
    rates = np.zeros((follow.size, follow.size))

    def flow(rate: Floats, dn: int, dk: int, where: NDArray[np.bool_]) -> None:
        a, b = index[where], index[n[where] + dn, k[where] + dk]
        rates[b, a] += rate[where]
        rates[a, a] -= rate[where]

    flow(np.full(follow.shape, lam), 1, 0, n < jobs)
    leave = np.minimum(n, servers) / S - follow
    flow(leave, -1, 0, n > 0)
    if Z:
        flow(k / Z, 1, -1, (k > 0) & (n < jobs))
        flow(follow, -1, 1, (n > 0) & (k < thinking))
        flow(follow, -1, 0, (n > 0) & (k == thinking))
    rates[0] = 1.0
    share = np.linalg.solve(rates, np.eye(1, follow.size).ravel())
    return np.maximum(share, 0.0).reshape(follow.shape)


def _lines(jobs: int, servers: int) -> AllQueues:
    n = np.repeat(np.arange(jobs + 1), 1 << np.arange(jobs + 1))
    line = np.arange(n.size) + 1 - (1 << n)
    unmarked = sum(((i < n) & ~(line >> i) & 1 for i in range(servers)), np.zeros_like(n))
    return AllQueues(n, unmarked)


def _enough(share: Floats, neglected: float) -> int:
    """Return the number that is exceeded by at most `neglected`."""
    beyond = share.sum() - np.cumsum(share)
    return int(np.argmax(beyond <= neglected)) + 1


def _poisson(mean: float) -> Floats:
    from scipy.special import gammaln, xlogy

    k = np.arange(int(mean + 20 * np.sqrt(mean) + 40))
    return np.exp(xlogy(k, mean) - mean - gammaln(k + 1))


# Sweeps over the states of a queue of marked and unmarked jobs.


@kernel
def sweep(share, lam, theta, Z, S, servers, most_jobs, most_thinking):
    """Balance the flows into and out of every state, by ascending n.

    `share` has one row per queue: n jobs, with the i-th from the head marked if bit i of `line` is
    set, have row 2^n − 1 + line; columns are numbers of thinking users. Arrivals beyond `most_jobs`
    are lost; thinking users beyond the maximum leave.
    """
    for n in range(most_jobs + 1):
        serving = min(n, servers)
        serving_longer = min(n + 1, servers)
        for line in range(1 << n):
            row = (1 << n) - 1 + line
            marked = 0
            for i in range(n):
                marked += (line >> i) & 1
            newest_unmarked = n > 0 and not (line >> (n - 1)) & 1
            for k in range(most_thinking + 1):
                out = serving / S + theta * (n - marked)
                if n < most_jobs:
                    out += lam
                    if Z > 0:
                        out += k / Z
                flow = 0.0
                if newest_unmarked:
                    flow += lam * share[row - (1 << (n - 1)), k]
                    if Z > 0 and k < most_thinking:
                        flow += (k + 1) / Z * share[row - (1 << (n - 1)), k + 1]
                for i in range(n):
                    if (line >> i) & 1:
                        flow += theta * share[row - (1 << i), k]
                if n < most_jobs:
                    for i in range(serving_longer):
                        low = line & ((1 << i) - 1)
                        before = (1 << (n + 1)) - 1 + low + ((line >> i) << (i + 1))
                        flow += share[before + (1 << i), k] / S
                        if Z > 0:
                            if k > 0:
                                flow += share[before, k - 1] / S
                            if k == most_thinking:
                                flow += share[before, k] / S
                if Z == 0 and newest_unmarked:
                    # a user who continues immediately leaves the queue at i, unmarked, and joins it
                    # again
                    for i in range(serving):
                        before = (line & ((1 << i) - 1)) + ((line >> i) << (i + 1))
                        if before == line:
                            out -= 1.0 / S
                        else:
                            flow += share[(1 << n) - 1 + before, k] / S
                share[row, k] = flow / out
