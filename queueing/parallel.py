"""Jobs that need several servers at once: first come, first served, and bounds on any scheduler."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from workloadkit.queueing.arguments import Floats, numbers
from workloadkit.queueing.display import DisplayedResult
from workloadkit.queueing.errors import QueueingError
from workloadkit.queueing.result import Exactness
from workloadkit.queueing.state_space import MOST_STATES, stationary

#: Share of time with more waiting jobs than the chain holds.
TAIL = 1e-12

#: Jobs in service by class, and the class of the first waiting job, -1 without one.
Phase = tuple[tuple[int, ...], int]


class ParallelJobs(NamedTuple):
    """Classes of jobs that need several servers at once.

    Parameters
    ----------
    p : ndarray, shape (R,)
        Share of each class.
    need : ndarray of int, shape (R,)
        Servers of a job.
    S : ndarray, shape (R,)
        Mean service time, exponential.
    servers : int
    """

    p: Floats
    need: np.ndarray
    S: Floats
    servers: int

    @property
    def work(self) -> float:
        """Mean work of a job, servers times time."""
        return float((self.p * self.need * self.S).sum())

    def fits(self, inside: tuple[int, ...], kind: int) -> bool:
        """Whether a job of a class fits next to those in service."""
        return bool(np.dot(inside, self.need) + self.need[kind] <= self.servers)

    def admitted(self, inside: tuple[int, ...], head: int) -> tuple[int, ...]:
        """Return the jobs in service with one more of class `head`."""
        return tuple(n + (kind == head) for kind, n in enumerate(inside))


@dataclass(frozen=True, eq=False)
class ParallelResult(DisplayedResult):
    """Measures of jobs that need several servers at once, first come, first served.

    Parameters
    ----------
    X, R, W, Q : float
        Throughput, mean response, mean wait and mean number of jobs, of all classes.
    U : float
        Utilization of a server.
    class_X, class_R, class_W, class_Q : ndarray, shape (R,)
        The same by class.
    saturation : float
        Throughput with jobs always waiting: the queue is stable for arrival rates below it.
    exactness : Exactness
    """

    X: float
    R: float
    W: float
    Q: float
    U: float
    class_X: Floats  # noqa: N815 - the measure's symbol
    class_R: Floats  # noqa: N815
    class_W: Floats  # noqa: N815
    class_Q: Floats  # noqa: N815
    saturation: float
    exactness: Exactness


def parallel_jobs(
    lam: float, p: ArrayLike, need: ArrayLike, S: ArrayLike, servers: int
) -> ParallelResult:
    """Solve M/M/c with jobs that need several servers at once, first come, first served.

    A job starts when it is first in the queue and its servers are free, holds all of them for an
    exponential time, and frees them together. The Markov chain has the jobs in service by class,
    the class of the first waiting job, and the number of jobs behind it, whose classes are not
    drawn before they are first. It is cut where the tail has a probability of 1e-12.

    Parameters
    ----------
    lam : float
        Arrival rate of all jobs (Poisson), below `saturation_throughput`.
    p : array_like, shape (R,)
        Share of each class; the sum is 1.
    need : array_like of int, shape (R,)
        Servers of a job of each class.
    S : array_like
        Mean service time of each class, shape (R,), or of all.
    servers : int

    Raises
    ------
    QueueingError
        If a parameter violates its condition, or the chain is too large.

    References
    ----------
    P. H. Brill, L. Green, "Queues in which customers receive simultaneous service from a random
    number of servers: a system point approach", Management Science 30(1), 1984.

    Examples
    --------
    Jobs of one server are M/M/c:

    >>> round(parallel_jobs(1.5, p=[1], need=[1], S=1, servers=2).R, 6)
    2.285714
    >>> found = parallel_jobs(0.9, p=[0.5, 0.5], need=[1, 2], S=1, servers=2)
    >>> round(found.R, 4), round(found.saturation, 4)
    (4.4461, 1.1429)
    """
    jobs = _checked(p, need, S, servers)
    most = saturation_throughput(p, need, S, servers)
    if not 0 < lam < most:
        raise QueueingError(
            f"lam is {lam:g}; it must be above 0 and below {most:.6g}, the saturation throughput"
        )
    share, levels = _stationary(float(lam), jobs, most)
    inside = np.array([sum(phase[0]) for phase, _ in levels])
    first = np.array([[phase[1] == kind for kind in range(jobs.p.size)] for phase, _ in levels])
    behind = np.array([number for _, number in levels])
    waiting = share @ (first + behind[:, None] * jobs.p)
    class_X = lam * jobs.p
    served = jobs.p > 0
    class_W = np.divide(waiting, class_X, out=np.full(waiting.size, np.nan), where=served)
    class_Q = waiting + class_X * jobs.S
    Q = float(share @ (inside + first.sum(axis=1) + behind))
    return ParallelResult(
        X=float(lam), R=Q / lam, W=float(waiting.sum() / lam), Q=Q, U=lam * jobs.work / servers,
        class_X=class_X, class_R=class_W + jobs.S, class_W=class_W, class_Q=class_Q,
        saturation=most, exactness=Exactness("exact, Markov chain"),
    )  # fmt: skip


def saturation_throughput(p: ArrayLike, need: ArrayLike, S: ArrayLike, servers: int) -> float:
    """Return the throughput of first come, first served if jobs always wait.

    The queue is stable exactly for arrival rates below it [1]_. With equal service times this is
    the criterion of Rumyantsev and Morozov [2]_; for two classes with different ones, see [3]_.

    Parameters
    ----------
    p, need, S, servers
        See `parallel_jobs`.

    References
    ----------
    .. [1] F. Baccelli, S. Foss, "On the saturation rule for the stability of queues", Journal of
       Applied Probability 32(2), 1995.
    .. [2] A. Rumyantsev, E. Morozov, "Stability criterion of a multiserver model with simultaneous
       service", Annals of Operations Research 252(1), 2017.
    .. [3] I. Grosof, M. Harchol-Balter, A. Scheller-Wolf, "Stability for two-class multiserver-job
       systems", arXiv:2010.00631, 2020.

    Examples
    --------
    Two servers, and jobs that need one or both: 1 / (1 - p²/2) for equal means.

    >>> round(saturation_throughput([0.5, 0.5], [1, 2], 1, 2), 6)
    1.142857
    """
    jobs = _checked(p, need, S, servers)
    empty = (0,) * jobs.p.size

    def steps(phase: Phase) -> Iterator[tuple[Phase, float]]:
        for rate, rest in _completions(jobs, phase[0]):
            for after, _, chance in _filled(jobs, rest, phase[1], None):
                yield after, rate * chance

    share = stationary([phase for phase, _, _ in _filled(jobs, empty, -1, None)], steps)
    return float(sum(x * np.dot(phase[0], 1 / jobs.S) for phase, x in share.items()))


def capacity(p: ArrayLike, need: ArrayLike, S: ArrayLike, servers: int) -> float:
    """Return the largest throughput of any scheduler, with or without backfilling.

    Each set of jobs that fits is used for a share of the time, such that the classes are served in
    proportion: a linear program. No scheduler is stable at higher rates; preemption attains it.

    Parameters
    ----------
    p, need, S, servers
        See `parallel_jobs`.

    Examples
    --------
    Jobs of three and of two of four servers do not fit together:

    >>> round(capacity([0.5, 0.5], [3, 2], 1, 4), 6)
    1.333333
    """
    from scipy.optimize import linprog

    jobs = _checked(p, need, S, servers)
    ranges = [range(jobs.servers // int(n) + 1) for n in jobs.need]
    if np.prod([len(r) for r in ranges], dtype=np.float64) > MOST_STATES:
        raise QueueingError(f"servers is {servers}; there are too many sets of jobs that fit")
    sets = np.array([x for x in itertools.product(*ranges) if np.dot(x, jobs.need) <= servers])
    # variables: the share of time of each set, and the throughput, which is maximal
    demand = (jobs.p * jobs.S)[:, None]
    found = linprog(
        np.append(np.zeros(len(sets)), -1.0),
        A_ub=np.hstack([-sets.T, demand]), b_ub=np.zeros(jobs.p.size),
        A_eq=np.append(np.ones(len(sets)), 0.0)[None], b_eq=[1.0],
    )  # fmt: skip
    return float(-found.fun)


def least_response(lam: float, p: ArrayLike, need: ArrayLike, S: ArrayLike, servers: int) -> float:
    """Return a lower bound on the mean response time of any scheduler, with or without backfilling.

    No scheduler works off more than all servers do, so it is no better than one server with their
    speed that serves the least remaining work first, which is optimal for one server [1]_. Nor is
    a response shorter than the service.

    Parameters
    ----------
    lam, p, need, S, servers
        See `parallel_jobs`; the utilization must be below 1.

    References
    ----------
    .. [1] L. Schrage, "A proof of the optimality of the shortest remaining processing time
       discipline", Operations Research 16(3), 1968; mean responses: L. Schrage, L. Miller, "The
       queue M/G/1 with the shortest remaining processing time discipline", the same 14(4), 1966.

    Examples
    --------
    >>> round(least_response(0.8, p=[1], need=[1], S=1, servers=1), 4)
    2.3528
    """
    from scipy.integrate import quad

    jobs = _checked(p, need, S, servers)
    size = jobs.need * jobs.S / servers  # mean time at the speed of all servers
    if not 0 < lam * jobs.work < servers:
        raise QueueingError(f"lam is {lam:g}; it must be above 0 and below {servers / jobs.work:g}")

    def tail(x: float) -> float:
        return float(jobs.p @ np.exp(-x / size))

    def first(x: float) -> float:  # work per job of jobs up to x
        return float(jobs.p @ (size - (x + size) * np.exp(-x / size)))

    def second(x: float) -> float:  # mean squared work, larger jobs counted as x
        y = x / size
        return float(jobs.p @ (2 * size**2 * (1 - (1 + y) * np.exp(-y))))

    def response(x: float) -> float:
        density = float(jobs.p @ (np.exp(-x / size) / size))
        wait = lam * second(x) / 2 / (1 - lam * first(x)) ** 2
        # residence: the integral of 1 / (1 - load) up to x, exchanged with that over sizes
        return density * wait + tail(x) / (1 - lam * first(x))

    ends = [0.0, *np.outer(np.sort(size), [0.1, 1, 5, 40]).ravel().tolist()]
    ends = sorted(ends)
    pooled = sum(quad(response, a, b, limit=200)[0] for a, b in itertools.pairwise(ends) if b > a)
    return max(float(pooled), float(jobs.p @ jobs.S))


def _checked(p: ArrayLike, need: ArrayLike, S: ArrayLike, servers: int) -> ParallelJobs:
    """Check the classes."""
    share, size = numbers("p", p), numbers("need", need)
    if share.ndim != 1 or share.shape != size.shape or not share.size:
        raise QueueingError(f"p has shape {share.shape} and need {size.shape}; both must be (R,)")
    if (share < 0).any() or not np.isclose(share.sum(), 1):
        raise QueueingError(f"p must be shares with a sum of 1, which is {share.sum():g}")
    if not (servers >= 1 and servers == int(servers)):
        raise QueueingError(f"servers is {servers}; it must be a whole number, 1 or more")
    if not ((size >= 1) & (size <= servers) & (size == np.floor(size))).all():
        raise QueueingError(f"need must be whole numbers from 1 to {servers}, the servers")
    times = np.broadcast_to(numbers("S", S), share.shape)
    if not ((times > 0) & np.isfinite(times)).all():
        raise QueueingError("S must be finite and above 0")
    return ParallelJobs(share, size.astype(np.int64), times, int(servers))


def _completions(
    jobs: ParallelJobs, inside: tuple[int, ...]
) -> Iterator[tuple[float, tuple[int, ...]]]:
    """Yield the rate of each class's completions, and the jobs left in service."""
    for kind, n in enumerate(inside):
        if n:
            yield n / jobs.S[kind], tuple(m - (j == kind) for j, m in enumerate(inside))


def _filled(
    jobs: ParallelJobs, inside: tuple[int, ...], head: int, behind: int | None
) -> Iterator[tuple[Phase, int, float]]:
    """Yield phases after all that fit have started: phase, jobs behind its head, probability.

    The classes of jobs behind the head are drawn as they become first; `behind` is None if there
    are always more.
    """
    if head >= 0 and not jobs.fits(inside, head):
        yield (inside, head), behind or 0, 1.0
        return
    if head >= 0:
        inside = jobs.admitted(inside, head)
    if behind == 0:
        yield (inside, -1), 0, 1.0
        return
    rest = None if behind is None else behind - 1
    for kind, chance in enumerate(jobs.p):
        if chance:
            for phase, left, of in _filled(jobs, inside, kind, rest):
                yield phase, left, chance * of


#: A state of the chain: its phase, and the number of jobs behind the head.
State = tuple[Phase, int]


def _stationary(lam: float, jobs: ParallelJobs, most: float) -> tuple[Floats, list[State]]:
    """Return the probability of each state, with a number of waiting jobs that suffices."""
    longest = 20 + int(np.log(TAIL) / np.log(lam / most))
    while True:
        share = stationary([((0,) * jobs.p.size, -1, 0)], partial(_steps, lam, jobs, longest))
        if sum(x for (_, _, behind), x in share.items() if behind == longest) < TAIL * 1e2:
            states = [((inside, head), behind) for inside, head, behind in share]
            return np.array(list(share.values())), states
        longest *= 2


def _steps(
    lam: float, jobs: ParallelJobs, longest: int, state: tuple[tuple[int, ...], int, int]
) -> Iterator[tuple[tuple[tuple[int, ...], int, int], float]]:
    """Yield the states after an arrival or a completion, with their rates."""
    inside, head, behind = state
    if head >= 0:
        if behind < longest:
            yield (inside, head, behind + 1), lam
    else:
        for kind, chance in enumerate(jobs.p):
            if chance and jobs.fits(inside, kind):
                yield (jobs.admitted(inside, kind), -1, 0), lam * chance
            elif chance:
                yield (inside, kind, 0), lam * chance
    for rate, rest in _completions(jobs, inside):
        for (left, first), number, chance in _filled(jobs, rest, head, behind):
            yield (left, first, number), rate * chance
