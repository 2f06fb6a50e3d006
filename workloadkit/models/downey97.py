"""Downey's model of 1997: flexible jobs of log-uniform work and parallelism."""

import numpy as np
import pandas as pd

from workloadkit.errors import ParameterError, check_positive
from workloadkit.models.cycle import DailyCycle
from workloadkit.models.made import (
    as_trace,
    changed,
    check_counts,
    check_share,
    gap_factor,
)
from workloadkit.models.speedup import downey_speedup
from workloadkit.provenance import seed_of
from workloadkit.trace import Trace

_DAY_HOURS = range(8, 20)  # the twelve hours of day; the others are night


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
    """Make a log by Downey's model of 1997 [1]_, each job on as many processors as it asks for.

    The total work of a job, its average parallelism A, and its variation σ of parallelism are
    independent: work and A are log-uniform, σ is uniform. Jobs arrive in a Poisson process. They
    are flexible: their run time on n processors is work / S(n), with the speedup S of
    `downey_speedup`. A log can only show one size of each: here A, rounded. `downey97_jobs` gives
    the same jobs as they are.

    Parameters
    ----------
    jobs : int
        How many.
    procs : int, default 128
        Processors of the machine, and the largest A.
    rng : Generator or int, optional
        Generator of random numbers, or seed.
    load : float, optional
        Offered load, of the sizes shown: all gaps are multiplied by what gives it, and the hours
        of the day keep their shares of the arrivals.
    gap : float, default 7200
        Mean gap between arrivals. [s]
    night : float, default 1
        Rate of arrivals from 20:00 to 8:00, as a share of that by day.
    shortest, longest : float, default 2.4 and 6.2e6
        Ends of the distribution of the work. [processor-seconds]
    sigma : float, default 2
        Largest σ.

    Returns
    -------
    trace : Trace
        It begins on Monday, 2 January 1995, 0:00 UTC. Times are in whole seconds.

    Raises
    ------
    ParameterError
        If a number is not what it should be, or the load cannot be set.

    Notes
    -----
    The distributions are the paper's, with A from 1 to the size of the machine and σ from 0 to 2.
    The ends of the work are a straight line, fitted here to the distribution of the logarithm of
    processor-seconds, from its first to its last decile, in the log SDSC-Par-1996 of the same
    machine as the paper's; on CTC-SP2-1996 they would be 71 and 311,000. Gaps are a choice made
    here. The paper parts the day into two halves with different arrivals; `night` is by default
    1, which is a steady process. That a job gets A processors is a choice made here, too: in the
    paper the scheduler decides.

    Left out: users, sessions, estimates, the preference for powers of two (on purpose: the paper
    takes it for a habit of queueing systems), repeated jobs, weekends, and any feedback.

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
    """Draw the flexible jobs of `downey97`, for a scheduler that chooses their sizes itself.

    Parameters
    ----------
    jobs, procs, rng, gap, night, shortest, longest, sigma : optional
        As for `downey97`; the same seed gives the same jobs.

    Returns
    -------
    DataFrame
        One row a job: `submit` [s], `passed` (the time of arrivals passed until then, which is
        the same with a night like the day) [s], `work` [processor-seconds], `parallelism` (A) and
        `sigma`.

    Raises
    ------
    ParameterError
        If a number is not what it should be.

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
        raise ParameterError(f"longest is {longest:g}; it is at least shortest, {shortest:g}")
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
