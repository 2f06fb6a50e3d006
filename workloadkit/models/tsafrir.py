"""The model of Tsafrir, Etsion and Feitelson: users' run time estimates."""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import (
    ParameterError,
    WorkloadError,
    WorkloadWarning,
    check_count,
    check_positive,
    plural,
    takes_rng,
)
from workloadkit.models.lublin import lublin
from workloadkit.models.made import check_counts
from workloadkit.provenance import as_note, noted, provenance, seed_of
from workloadkit.trace import Trace, check_trace

MINUTE, HOUR = 60, 3600

#: Estimates among the twenty most popular ones in all four logs of the authors. [s]
POPULAR = tuple(
    [minutes * MINUTE for minutes in (5, 10, 15, 20, 30)]
    + [hours * HOUR for hours in (1, 2, 3, 4, 5, 6, 8, 10, 12, 18)]
)
#: Multiples of these complete the popular estimates if there are too few. [s]
ROUND = (
    *(hours * HOUR for hours in (200, 100, 50, 10, 5, 2, 1)),
    *(minutes * MINUTE for minutes in (20, 10, 5)),
)
#: Number of popular estimates, and the percentage of the jobs with one of them.
HEAD, HEAD_PERCENT = 20, 89.0

# Percentage of the jobs with the estimate of popularity rank x: a exp(b x) + c for the ranks 2 to
# 20, and proportional to x ** d above.
_HEAD_SIZE = (14.0491, -0.177531, 0.462513)
_TAIL_SIZE = -2.267
# Of K estimates, the one with rank x K by time is the largest times (a - 1) x / (a - x), with
# a = 1 + p K ** q.
_TAIL_TIME = (12.1039, -0.6026)
# Numbers of jobs, and the corresponding numbers of distinct estimates; linear in between.
_JOBS = (0, 20, 200, 1000, 10_000, 70_000, 250_000)
_ESTIMATES = (0, 10, 20, 35, 90, 340, 565)
# Popularity ranks of the popular estimates, by time with the largest first, in the logs SDSC, CTC,
# KTH and BLUE.
_RANKS = np.array(
    [
        [3, 1, 4, 17, 13, 7, 8, 18, 2, 6, 16, 10, 5, 15, 14, 19, 11, 12, 9, 20],
        [1, 3, 4, 2, 12, 9, 8, 18, 6, 7, 11, 20, 16, 5, 14, 13, 10, 15, 17, 19],
        [1, 4, 10, 14, 20, 2, 3, 7, 12, 6, 19, 5, 18, 16, 9, 17, 15, 13, 8, 11],
        [1, 6, 5, 3, 7, 2, 18, 19, 4, 11, 20, 9, 10, 14, 13, 16, 15, 17, 8, 12],
    ]
)


@takes_rng
def tsafrir(
    jobs: int,
    procs: int = 128,
    rng: np.random.Generator | int | None = None,
    *,
    load: float | None = None,
    max_estimate: float = 48.0 * HOUR,
    estimates: int | None = None,
) -> Trace:
    """Generate a log with run time estimates by the model of Tsafrir, Etsion and Feitelson [1]_.

    The model covers estimates only. The jobs are those of `lublin` with the same seed, with
    estimates from `add_estimates`, which documents the model.

    Parameters
    ----------
    jobs : int
        Number of jobs.
    procs : int, default 128
        Processors of the machine.
    rng : Generator or int, optional
        Generator of random numbers, or seed.
    load : float, optional
        Offered load, see `lublin`.
    max_estimate : float, default 48 h
        Longest estimate; the longest run time of `lublin` is 45 h. [s]
    estimates : int, optional
        Number of distinct estimates, see `add_estimates`.

    Returns
    -------
    trace : Trace

    Raises
    ------
    ParameterError
        As `lublin` and `add_estimates`.

    Notes
    -----
    Left out: the similarity of a user's estimates, users, sessions, repeated jobs, weekends and
    feedback.

    References
    ----------
    .. [1] D. Tsafrir, Y. Etsion, D. G. Feitelson, "Modeling user runtime estimates", Job
       Scheduling Strategies for Parallel Processing, 2005.

    Examples
    --------
    >>> trace = tsafrir(1000, 64, rng=7)
    >>> bool((trace.column("requested_time") >= trace.column("run")).all())
    True
    """
    check_counts(jobs, procs)
    seed = seed_of(rng)
    made = lublin(jobs, procs, seed, load=load)
    laid = add_estimates(made, seed, max_estimate=max_estimate, estimates=estimates)
    return replace(laid, name="tsafrir")


@takes_rng
def add_estimates(
    trace: Trace,
    rng: np.random.Generator | int | None = None,
    *,
    max_estimate: float | None = None,
    estimates: int | None = None,
) -> Trace:
    """Add users' estimates to the jobs of a log, by the model of Tsafrir et al. [1]_.

    Users choose round estimates: twenty popular ones cover 89 % of the jobs, and the longest
    allowed one is the most popular. The share of jobs with an estimate decreases exponentially with
    its popularity rank among the twenty, and as a power above; the order of the ranks is random, as
    observed in four logs. Each job gets a random one of the remaining estimates that are not below
    its run time, longest jobs first.

    Parameters
    ----------
    trace : Trace
        Its estimates are replaced.
    rng : Generator or int, optional
        Generator of random numbers, or seed.
    max_estimate : float, optional
        Longest estimate, one hour or more. By default the longest run time, rounded up to a whole
        hour. [s]
    estimates : int, optional
        Number of distinct estimates, 20 or more. By default that of the model for the number of
        jobs: 35 for a thousand, 340 for 70,000.

    Returns
    -------
    trace : Trace
        The log with new requested times, and a note in the header.

    Raises
    ------
    ParameterError
        If the argument is not a log, or a parameter is invalid.
    WorkloadError
        If the log has no jobs.

    Warns
    -----
    WorkloadWarning
        If jobs run longer than the longest estimate, which they get; and if the run times are too
        long for the estimates of the model: some estimates are then raised to the longest, beyond
        its share in the model.

    Notes
    -----
    The parameters are the authors'. Jobs of unknown run time may get any estimate. The authors'
    program truncates run times above the longest estimate, and fails if the estimates cannot cover
    the run times. If the longest estimate is below 100 minutes, there are fewer than twenty round
    ones, which keep the order of their ranks and share the 89 %.

    Left out: the similarity of estimates of a user, and of repeated runs of a job.

    References
    ----------
    .. [1] D. Tsafrir, Y. Etsion, D. G. Feitelson, "Modeling user runtime estimates", Job
       Scheduling Strategies for Parallel Processing, 2005.

    Examples
    --------
    >>> from workloadkit import load_sample
    >>> log = add_estimates(load_sample(), rng=7)
    >>> int(log.jobs["requested_time"].nunique()) > 20
    True
    """
    from workloadkit._kernels.exchange import assign_estimates

    check_trace(trace)
    if not trace.n_jobs:
        raise WorkloadError(f"{trace.name} has no jobs")
    run = np.nan_to_num(trace.column("run"), nan=0.0)
    if max_estimate is None:
        max_estimate = max(HOUR, float(np.ceil(run.max() / HOUR)) * HOUR)
    check_positive(max_estimate=max_estimate)
    if max_estimate < HOUR:
        raise ParameterError(
            f"max_estimate is {max_estimate:g}; it must be at least one hour, 3600"
        )
    if estimates is not None:
        check_count("estimates", estimates, least=HEAD, most=trace.n_jobs)
    seed = seed_of(rng)
    # a separate stream, because the jobs may have been generated with the same seed
    generator = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1,)))

    most = np.rint(max_estimate)
    time, percent = estimate_distribution(trace.n_jobs, most, generator, estimates=estimates)
    pool = np.repeat(time, _whole_shares(percent, trace.n_jobs))[::-1]  # longest first
    order = np.argsort(-run, kind="stable")
    longest_first = run[order]
    beyond = longest_first > most
    if beyond.any():
        warnings.warn(
            f"{trace.name}: {plural(beyond.sum(), 'job runs', 'jobs run')} longer than the longest "
            "estimate, "
            f"{most:g} s, and get this estimate",
            WorkloadWarning,
            stacklevel=3,
        )
    needed = np.minimum(longest_first, most)
    if (raised := pool < needed).any():
        warnings.warn(
            f"{trace.name}: run times are too long for the estimates of the model; "
            f"{raised.sum():,} estimates are raised to the longest, {most:g} s",
            WorkloadWarning,
            stacklevel=3,
        )
        pool = np.sort(np.where(raised, most, pool))[::-1]
    estimate = np.empty(trace.n_jobs)
    estimate[order] = assign_estimates(needed, np.ascontiguousarray(pool), generator)
    given: dict[str, Any] = {"max_estimate": int(most), "seed": seed}
    if estimates is not None:
        given["n_estimates"] = estimates
    made = as_note(provenance(trace, estimates="tsafrir", **given))
    estimated = trace.with_columns(requested_time=estimate)
    return noted(estimated, trace.header, "estimates of a model", made)


def estimate_distribution(
    jobs: int,
    max_estimate: float,
    rng: np.random.Generator | int | None = None,
    *,
    estimates: int | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Draw the estimates of the users of a machine, and their frequencies.

    Parameters
    ----------
    jobs, max_estimate, rng, estimates
        As for `add_estimates`.

    Returns
    -------
    time : ndarray of float, shape (n_estimates,)
        Ascending. [s]
    percent : ndarray of float, shape (n_estimates,)
        Percentages of the jobs; sum 100.

    Examples
    --------
    >>> time, percent = estimate_distribution(10_000, 18 * 3600, rng=7)
    >>> time.size, round(float(percent[-1]), 1), round(float(np.sort(percent)[-20:].sum()), 6)
    (90, 21.7, 89.0)
    """
    generator = np.random.default_rng(rng)
    if estimates is None:
        estimates = round(float(np.interp(jobs, _JOBS, _ESTIMATES)))
    popular = popular_estimates(max_estimate)
    head = head_percent()[_popularity(popular.size, generator)]
    n_tail = max(estimates - popular.size, 0)
    tail = _tail_times(n_tail, max_estimate, popular)
    weight = (HEAD + 1.0 + np.arange(tail.size)) ** _TAIL_SIZE
    head *= (HEAD_PERCENT if tail.size else 100.0) / head.sum()
    weight *= (100 - HEAD_PERCENT) / weight.sum() if tail.size else 1.0
    time = np.concatenate([popular, tail])
    percent = np.concatenate([head, generator.permutation(weight)])
    order = np.argsort(time)
    return time[order], percent[order]


def popular_estimates(max_estimate: float) -> NDArray[np.float64]:
    """Return the twenty popular estimates: the longest allowed, then the others ascending. [s].

    Examples
    --------
    >>> (popular_estimates(18 * 3600) / 3600).round(2).tolist()[:4]
    [18.0, 0.08, 0.17, 0.25]
    """
    found = [time for time in POPULAR if time < max_estimate]
    for step in ROUND:
        if len(found) == HEAD - 1:
            break
        multiples = range(int(max_estimate // step) * step, 0, -step)
        new = [time for time in multiples if time < max_estimate and time not in found]
        found += new[: HEAD - 1 - len(found)]
    return np.array([max_estimate, *sorted(found)], dtype=np.float64)


def head_percent() -> NDArray[np.float64]:
    """Return the percentages of jobs with the popular estimates, by rank.

    Examples
    --------
    >>> head_percent().round(2).tolist()[:3]
    [21.73, 10.31, 8.71]
    """
    a, b, c = _HEAD_SIZE
    rank = np.arange(2.0, HEAD + 1)
    others = a * np.exp(b * rank) + c
    return np.concatenate([[HEAD_PERCENT - others.sum()], others])


def _popularity(n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw the popularity ranks, from 0, of the n popular estimates in order of time.

    The longest is the most popular. Each other one takes the more popular of two ranks, drawn from
    those that the logs have at its position in time or before; a rank that no log has later is
    taken at its last position.
    """
    places = [np.flatnonzero(np.equal(_RANKS, rank).any(axis=0)) for rank in range(1, HEAD + 1)]
    last_place = np.array([at.max() for at in places])
    taken = np.zeros(HEAD, dtype=bool)
    pool: list[int] = []  # each rank as often as the logs have it
    ranks = []
    for place in range(HEAD):
        pool += [rank - 1 for rank in _RANKS[:, place] if not taken[rank - 1]]
        due = np.flatnonzero(~taken & (last_place <= place))
        if place == 0:
            rank = 0
        elif due.size:
            rank = int(due[0])
        else:
            rank = min(pool[int(i)] for i in rng.integers(len(pool), size=2))
        ranks.append(rank)
        taken[rank] = True
        pool = [other for other in pool if other != rank]
    # renumber the ranks of fewer estimates
    return np.argsort(np.argsort(np.array(ranks[:n])))


def _tail_times(n: int, max_estimate: float, popular: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return at most n unpopular estimates: whole minutes, or some seconds more or less."""
    a = 1 + _TAIL_TIME[0] * (n + popular.size) ** _TAIL_TIME[1]
    x = np.arange(1, n + 1) / max(n, 1)
    minutes = np.rint((a - 1) * x / (a - x) * max_estimate / MINUTE) * MINUTE
    taken = set(popular.tolist())
    found = []
    for time in minutes.tolist():
        for offset in (0, 30, -30, 20, -20, 10, -10):
            if 0 < time + offset < max_estimate and time + offset not in taken:
                found.append(time + offset)
                taken.add(time + offset)
                break
    return np.array(sorted(found))


def _whole_shares(percent: NDArray[np.float64], n: int) -> NDArray[np.int64]:
    """Divide n jobs by percentages into whole numbers, by largest remainders."""
    exact = percent / percent.sum() * n
    shares = np.floor(exact).astype(np.int64)
    up = np.argsort(shares - exact, kind="stable")[: n - shares.sum()]
    shares[up] += 1
    return shares
