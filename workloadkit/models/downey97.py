"""Downey's model of 1997: flexible jobs of log-uniform work and parallelism, and their speedup."""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from workloadkit.errors import ParameterError, check_positive, takes_rng
from workloadkit.models.made import (
    DailyCycle,
    as_trace,
    changed,
    check_counts,
    check_share,
    gap_factor,
)
from workloadkit.provenance import seed_of
from workloadkit.trace import Trace

# Downey's speedup model for parallel jobs.


def downey_speedup(
    procs: ArrayLike, parallelism: ArrayLike, sigma: ArrayLike
) -> NDArray[np.float64]:
    """Return the speedup of a job on a number of processors [1]_.

    The model assumes a hypothetical parallelism profile with average A. For σ = 0 the speedup is
    linear up to A; for larger σ it approaches A more slowly.

    Parameters
    ----------
    procs : array_like
        Processors, 1 or more.
    parallelism : array_like
        Average parallelism A, 1 or more.
    sigma : array_like
        Variation σ of the parallelism, 0 or more; low up to 1, high above.

    Returns
    -------
    ndarray of float
        From 1 to A, with the arguments broadcast.

    Raises
    ------
    ParameterError
        If a value is out of range.

    References
    ----------
    .. [1] A. B. Downey, "A model for speedup of parallel programs", University of California,
       Berkeley, report CSD-97-933, 1997.

    Examples
    --------
    >>> downey_speedup([1, 4, 8, 64], 8, 0).tolist()
    [1.0, 4.0, 8.0, 8.0]
    >>> downey_speedup([1, 8, 64], 8, 1).round(3).tolist()
    [1.0, 5.565, 8.0]
    """
    try:
        n, A, s = np.broadcast_arrays(
            *(np.asarray(values, dtype=np.float64) for values in (procs, parallelism, sigma))
        )
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"procs, parallelism and sigma must be numbers that broadcast together: {error}"
        ) from None
    for name, values, least in (("procs", n, 1), ("parallelism", A, 1), ("sigma", s, 0)):
        if not (values >= least).all():
            wrong = values[~(values >= least)][0]
            raise ParameterError(name, f"is {wrong:g}; it must be {least} or more")
    with np.errstate(divide="ignore", invalid="ignore"):  # in unused branches
        low = np.where(
            n <= A, A * n / (A + s / 2 * (n - 1)), A * n / (s * (A - 0.5) + n * (1 - s / 2))
        )
        low = np.where(n >= 2 * A - 1, A, low)
        high = n * A * (s + 1) / (s * (n + A - 1) + A)
    high = np.where(n >= A + A * s - s, A, high)
    return np.where(s <= 1, low, high)


_DAY_HOURS = range(8, 20)  # day; the other hours are night


@takes_rng
def downey97(
    jobs: int,
    procs: int = 128,
    rng: np.random.Generator | int | None = None,
    *,
    load: float | None = None,
    gap: float = 7200.0,
    night: float = 1.0,
    shortest: float = 2.4,
    longest: float = 6.2e6,
    sigma: float = 2.0,
) -> Trace:
    """Generate a log with Downey's model of 1997 [1]_, with each job on about A processors.

    The total work of a job, its average parallelism A and the variation σ of parallelism are
    independent: work and A are log-uniform, σ is uniform. Jobs arrive in a Poisson process. They
    are moldable: the run time on n processors is work / S(n), with the speedup S of
    `downey_speedup`. A log contains one size per job: here A, rounded. `downey97_jobs` returns the
    moldable jobs.

    Parameters
    ----------
    jobs : int
        Number of jobs.
    procs : int, default 128
        Processors of the machine, and largest A.
    rng : Generator or int, optional
        Generator of random numbers, or seed.
    load : float, optional
        Offered load, for the sizes in the log: all gaps are multiplied by the required factor; the
        shares of arrivals by hour of the day do not change.
    gap : float, default 7200
        Mean gap between arrivals. [s]
    night : float, default 1
        Arrival rate from 20:00 to 8:00, relative to that by day.
    shortest, longest : float, default 2.4 and 6.2e6
        Limits of the distribution of work. [processor-seconds]
    sigma : float, default 2
        Largest σ.

    Returns
    -------
    trace : Trace
        It starts on Monday, 2 January 1995, 0:00 UTC. Times are in whole seconds.

    Raises
    ------
    ParameterError
        If a parameter is invalid, or the load cannot be reached.

    Notes
    -----
    The distributions are the paper's, with A from 1 to the size of the machine and σ from 0 to 2.
    The limits of the work are from a straight line, fitted here to the distribution of the
    logarithm of processor-seconds between its first and last decile, in SDSC-Par-1996, a log of the
    paper's machine; for CTC-SP2-1996 they would be 71 and 311,000. The mean gap is an assumption.
    The paper divides the day into two halves with different arrival rates; `night` is 1 by default,
    a stationary process. Running each job on A processors is an assumption, too: in the paper the
    scheduler decides.

    Left out: users, sessions, estimates, the preference for powers of two (deliberately: the paper
    attributes it to queueing systems), repeated jobs, weekends, and feedback.

    References
    ----------
    .. [1] A. B. Downey, "A parallel workload model and its implications for processor
       allocation", HPDC 1997.

    Examples
    --------
    >>> trace = downey97(1000, 64, rng=7, load=0.7)
    >>> trace.n_jobs, int(trace.column("procs").max())
    (1000, 64)
    """
    how = {"gap": gap, "night": night, "shortest": shortest, "longest": longest, "sigma": sigma}
    n_jobs, machine = check_counts(jobs, procs)
    seed = seed_of(rng)
    drawn = downey97_jobs(n_jobs, machine, seed, **how)
    size = np.clip(np.rint(drawn["parallelism"].to_numpy()), 1, machine)
    run = drawn["work"].to_numpy() / downey_speedup(size, drawn["parallelism"], drawn["sigma"])
    cycle, passed = _cycle(night), drawn["passed"].to_numpy()
    work = float((np.rint(run) * size).sum())
    factor = gap_factor(
        lambda f: float(np.ptp(cycle.time(passed[[0, -1]] * f))), work, machine, load
    )
    return as_trace(
        "downey97",
        "Downey, 1997",
        {"submit": cycle.time(passed * factor), "run": run, "procs": size},
        procs=machine,
        seed=seed,
        parameters=changed(downey97, **how, load=load),
        hours=True,
    )


@takes_rng
def downey97_jobs(
    jobs: int,
    procs: int = 128,
    rng: np.random.Generator | int | None = None,
    *,
    gap: float = 7200.0,
    night: float = 1.0,
    shortest: float = 2.4,
    longest: float = 6.2e6,
    sigma: float = 2.0,
) -> pd.DataFrame:
    """Draw the moldable jobs of `downey97`, for schedulers that choose job sizes.

    Parameters
    ----------
    jobs, procs, rng, gap, night, shortest, longest, sigma : optional
        As for `downey97`; the same seed gives the same jobs.

    Returns
    -------
    DataFrame
        One row per job: `submit` [s], `passed` (arrival time until then, equal to `submit` if
        `night` is 1) [s], `work` [processor-seconds], `parallelism` (A) and `sigma`.

    Raises
    ------
    ParameterError
        If a parameter is invalid.

    Examples
    --------
    >>> drawn = downey97_jobs(3, 64, rng=7)
    >>> run_on_8 = drawn["work"] / downey_speedup(8, drawn["parallelism"], drawn["sigma"])
    >>> bool((run_on_8 <= drawn["work"]).all())
    True
    """
    n_jobs, machine = check_counts(jobs, procs)
    check_positive(gap=gap, shortest=shortest, longest=longest)
    check_share(night=night)
    if longest < shortest:
        raise ParameterError(
            "longest", f"is {longest:g}; it must be at least shortest, {shortest:g}"
        )
    if sigma != 0:
        check_positive(sigma=sigma)
    generator = np.random.default_rng(seed_of(rng))
    passed = np.cumsum(generator.exponential(gap, n_jobs))
    return pd.DataFrame(
        {
            "submit": _cycle(night).time(passed),
            "passed": passed,
            "work": shortest * (longest / shortest) ** generator.random(n_jobs),
            "parallelism": float(machine) ** generator.random(n_jobs),
            "sigma": sigma * generator.random(n_jobs),
        }
    )


def _cycle(night: float) -> DailyCycle:
    return DailyCycle(tuple(1.0 if hour in _DAY_HOURS else night for hour in range(24)))
