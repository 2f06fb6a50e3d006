"""The re-open queue for p = e^(-theta r), exactly: every job in the line carries a mark.

A user goes on with probability e^(-theta r): if a clock of rate theta, started with the job, has
not rung by the end of its response. So each job is marked once its clock rings, and a job that
leaves unmarked is followed by another. The marks in the order of the line, and the number of users
who think, are a Markov chain, of 2^n states for n jobs.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from queueing.arguments import Floats
from queueing.errors import QueueingError
from queueing.probability import Exponential, Probability
from queueing.reopening.chain import Solved, solve_chain

#: Longest line, and most states, that are looked at.
MOST_JOBS = 17
MOST_STATES = 4_000_000
#: Share of time with more jobs in line, or more users who think, than are looked at.
BOUND = 1e-6
#: Change of a sweep, summed over states, below which no more are made.
SETTLED = 1e-11


class Lines(NamedTuple):
    """All lines of up to some number of jobs, in the order of `sweep`'s rows.

    Parameters
    ----------
    n : ndarray of int
        Jobs in the line.
    unmarked : ndarray of int
        Of those that are served, the ones without a mark.
    """

    n: NDArray[np.int64]
    unmarked: NDArray[np.int64]


def solve_marks(lam: float, p: Probability, Z: float, S: float, servers: int) -> Solved:
    """Return the stationary state of the chain of marked lines and users who think.

    `neglected` is the share of time in states beside which longer lines, or more users who think,
    are left out: about 1e-6.

    Raises
    ------
    QueueingError
        If p is not exponential, or more jobs or states are needed than can be looked at.
    """
    if not isinstance(p, Exponential):
        raise QueueingError(f"p is a {p}; method 'exact' is for exponential(theta)")
    about = solve_chain(lam, p, Z, S, servers)
    jobs = _enough(about.found, BOUND)
    thinking = _enough(_poisson(about.thinking), BOUND) + 2 if Z else 0
    states = ((2 << jobs) - 1) * (thinking + 1)
    if jobs > MOST_JOBS or states > MOST_STATES:
        raise QueueingError(
            f"lam is {lam:g}; method 'exact' is for light load: lines of up to {jobs} jobs have "
            f"2^{jobs + 1} ways to be marked, and up to {thinking} users think"
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
    return Solved(
        X, float(found @ np.arange(jobs + 1)), float(share.sum(axis=0) @ k), left, found, behind,
        float(follow.sum() / X), neglected, states,
    )  # fmt: skip


def _settle(
    lam: float, theta: float, Z: float, S: float, servers: int, jobs: int, thinking: int
) -> tuple[Floats, Lines]:
    """Shares of time by line (rows) and users who think (columns).

    Sweeps over all states, between which the shares of (jobs, thinking) are solved for, with what
    the last sweep says of the marks in between.
    """
    from queueing._kernels.marks import sweep

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
    """Shares of time of n jobs and k users who think, where jobs that are followed end at `follow`.

    Parameters
    ----------
    follow : ndarray, shape (jobs + 1, thinking + 1)
        A unit of time.
    """
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


def _lines(jobs: int, servers: int) -> Lines:
    n = np.repeat(np.arange(jobs + 1), 1 << np.arange(jobs + 1))
    line = np.arange(n.size) + 1 - (1 << n)
    unmarked = sum(((i < n) & ~(line >> i) & 1 for i in range(servers)), np.zeros_like(n))
    return Lines(n, unmarked)


def _enough(share: Floats, neglected: float) -> int:
    """Return the number beyond which no more than that lies."""
    beyond = share.sum() - np.cumsum(share)
    return int(np.argmax(beyond <= neglected)) + 1


def _poisson(mean: float) -> Floats:
    from scipy.special import gammaln, xlogy

    k = np.arange(int(mean + 20 * np.sqrt(mean) + 40))
    return np.exp(xlogy(k, mean) - mean - gammaln(k + 1))
