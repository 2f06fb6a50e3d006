"""Feitelson's model of 1996: rigid jobs, small sizes and powers of two, repeated jobs."""

import math

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import ParameterError, check_number, check_positive, takes_rng
from workloadkit.models.made import (
    as_trace,
    changed,
    check_counts,
    check_share,
    gap_factor,
)
from workloadkit.provenance import seed_of
from workloadkit.trace import Trace

_MOST_PROCS = 10**7


@takes_rng
def feitelson96(
    jobs: int,
    procs: int = 128,
    rng: np.random.Generator | int | None = None,
    *,
    load: float | None = None,
    gap: float = 300.0,
    size_order: float = 1.5,
    power2: float = 5.0,
    short: float = 600.0,
    long: float = 4200.0,
    short_serial: float = 0.95,
    short_drop: float = 0.20,
    repeat_order: float = 2.5,
) -> Trace:
    """Generate a log with Feitelson's model of 1996 [1]_.

    The probability of size n is proportional to n^-1.5, with a preference for powers of two. Run
    times are hyper-exponential; larger jobs are more likely to be long. A job runs r times with a
    probability proportional to r^-2.5; each run is submitted when the previous one would end
    without a wait. First runs arrive in a Poisson process.

    Parameters
    ----------
    jobs : int
        Number of jobs, including repeated runs.
    procs : int, default 128
        Processors of the machine.
    rng : Generator or int, optional
        Generator of random numbers, or seed.
    load : float, optional
        Offered load: the gaps between first runs are multiplied by the required factor.
    gap : float, default 300
        Mean gap between first runs. [s]
    size_order : float, default 1.5
        Negative exponent of the probability of size n.
    power2 : float, default 5
        Factor on the probability of powers of two from 2 on.
    short, long : float, default 600 and 4200
        Means of the two exponential distributions of run times. [s]
    short_serial, short_drop : float, default 0.95 and 0.2
        A run time comes from the short distribution with probability
        short_serial − short_drop × n / procs.
    repeat_order : float, default 2.5
        Negative exponent of the probability of r runs; above 1.

    Returns
    -------
    trace : Trace
        Runs of the same job have the same `executable`. Times are in whole seconds.

    Raises
    ------
    ParameterError
        If a parameter is invalid, or the load cannot be reached.

    Notes
    -----
    The exponents 1.5 and 2.5 and the form of the distributions are the paper's, as described by the
    Parallel Workloads Archive; the probabilities 0.95 − 0.2 n / procs and the ratio 7 of the means
    are commonly used with the model, but not verified in the paper; the times in seconds are an
    assumption. The paper adapts its sizes by hand to six logs, without a rule: the factor 5 is an
    assumption with which, on 128 processors, 22 % of the jobs are serial and 81 % a power of two
    (including serial ones). Further assumptions are the arrival process of first runs, and that
    runs of the same job take the same time.

    Left out: users, sessions, requests and estimates, daily and weekly cycles, and feedback other
    than that between runs of the same job.

    References
    ----------
    .. [1] D. G. Feitelson, "Packing schemes for gang scheduling", Job Scheduling Strategies for
       Parallel Processing, 1996, section 4.

    Examples
    --------
    >>> trace = feitelson96(1000, rng=7)
    >>> trace.n_jobs, trace.jobs["executable"].nunique() < 1000
    (1000, True)
    """
    n_jobs, machine = check_counts(jobs, procs)
    check_positive(gap=gap, power2=power2, short=short, long=long)
    check_share(short_serial=short_serial, short_drop=short_drop)
    check_number("size_order", size_order)
    check_number("repeat_order", repeat_order)
    if not 0 <= size_order < np.inf:
        raise ParameterError(f"size_order is {size_order:g}; it must be 0 or more")
    if not 1 < repeat_order < np.inf:
        raise ParameterError(f"repeat_order is {repeat_order:g}; it must be more than 1")
    if short_drop > short_serial:
        raise ParameterError(
            f"short_drop is {short_drop:g}; it must be at most short_serial, {short_serial:g}"
        )
    if machine > _MOST_PROCS:
        raise ParameterError("procs", f"is {machine}; this model supports at most {_MOST_PROCS:,}")
    seed = seed_of(rng)
    generator = np.random.default_rng(seed)

    # n_jobs first runs are enough: they fill the log even if no job is repeated
    first = np.cumsum(generator.exponential(gap, n_jobs))
    size = size_probabilities(machine, size_order, power2)
    n = 1 + np.searchsorted(np.cumsum(size), generator.random(n_jobs) * size.sum(), side="right")
    n = np.minimum(n, machine)
    is_short = generator.random(n_jobs) < short_serial - short_drop * n / machine
    run = np.rint(generator.standard_exponential(n_jobs) * np.where(is_short, short, long))
    runs = np.minimum(generator.zipf(repeat_order, n_jobs), n_jobs)

    job, later = _repeated(first, run, runs, n_jobs)
    work = float((run[job] * n[job]).sum())
    factor = gap_factor(lambda f: float(np.ptp(first[job] * f + later)), work, machine, load)
    columns = {
        "submit": first[job] * factor + later,
        "run": run[job],
        "procs": n[job],
        "executable": job + 1,
    }
    given = changed(
        feitelson96,
        gap=gap,
        size_order=size_order,
        power2=power2,
        short=short,
        long=long,
        short_serial=short_serial,
        short_drop=short_drop,
        repeat_order=repeat_order,
        load=load,
    )
    return as_trace(
        "feitelson96", "Feitelson, 1996", columns, procs=machine, seed=seed, parameters=given
    )


def size_probabilities(procs: int, order: float, power2: float) -> NDArray[np.float64]:
    """Return unnormalized probabilities of the sizes 1 to `procs`, see `feitelson96`.

    Examples
    --------
    >>> size_probabilities(4, 1.0, 3.0).round(3).tolist()
    [1.0, 1.5, 0.333, 0.75]
    """
    weights = np.arange(1.0, procs + 1) ** -order
    weights[2 ** np.arange(1, int(math.log2(procs)) + 1) - 1] *= power2
    return weights


def _repeated(
    first: NDArray[np.float64], run: NDArray[np.float64], runs: NDArray[np.int64], n: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the job of each of the first n runs, and its time since the first run of the job."""
    by_end = _runs_until(first[-1], first, run, runs)
    if by_end.sum() > 4 * n:  # far too many to sort: first find the time of the n-th run
        low, high = first[0], first[-1]
        for _ in range(60):
            middle = (low + high) / 2
            enough = _runs_until(middle, first, run, runs).sum() >= n
            low, high = (low, middle) if enough else (middle, high)
        by_end = _runs_until(high, first, run, runs)
    job = np.repeat(np.arange(n), by_end)
    later = (np.arange(job.size) - np.searchsorted(job, job)) * run[job]
    earliest = np.argsort(first[job] + later, kind="stable")[:n]
    return job[earliest], later[earliest]


def _runs_until(
    time: float, first: NDArray[np.float64], run: NDArray[np.float64], runs: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Count the runs of each job submitted until `time`; runs of 0 s are submitted together."""
    passed = time - first
    follow = np.divide(passed, run, out=np.full(run.size, np.inf), where=run > 0)
    return np.where(passed >= 0, np.minimum(runs, np.floor(follow) + 1), 0).astype(np.int64)
