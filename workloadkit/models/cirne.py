"""The model of Cirne and Berman: requests with estimates and cancellations, and moldable jobs."""

import numpy as np
import pandas as pd

from workloadkit.errors import ParameterError, check_positive, takes_rng
from workloadkit.fields import CANCELLED, COMPLETED
from workloadkit.models.downey97 import downey_speedup
from workloadkit.models.made import (
    DailyCycle,
    as_trace,
    changed,
    check_counts,
    check_share,
    gap_factor,
    machine_of,
)
from workloadkit.provenance import seed_of
from workloadkit.trace import Trace, check_trace

#: Arrivals by hour of the day, relative to their mean: averages of CTC-SP2-1996, KTH-SP2-1996 and
#: SDSC-SP2-1998, each in its local time.
HOURS = (
    *(0.568, 0.446, 0.337, 0.250, 0.239, 0.260, 0.374, 0.548, 0.869, 1.342, 1.715, 1.876),
    *(1.624, 1.751, 1.887, 1.748, 1.667, 1.371, 1.180, 0.917, 0.786, 0.753, 0.797, 0.696),
)


@takes_rng
def cirne(
    jobs: int,
    procs: int = 128,
    rng: np.random.Generator | int | None = None,
    *,
    load: float | None = None,
    gap: float = 800.0,
    serial: float = 0.32,
    power2: float = 0.70,
    shortest: float = 300.0,
    longest: float = 64800.0,
    accuracy_shape: float = 0.69,
    accuracy_scale: float = 0.51,
    cancelled: float = 0.1,
) -> Trace:
    """Generate a log with the model of Cirne and Berman [1]_, with jobs as requested.

    A request is serial, or has a log-uniform size that is mostly rounded to a power of two; its
    time is log-uniform. The accuracy (run time over requested time) has a gamma distribution; a
    job that would run longer is stopped at the requested time. Some requests are cancelled before
    they start. Jobs arrive in a Poisson process with a daily cycle. The authors' parallel jobs are
    moldable: `moldable` returns the alternative requests.

    Parameters
    ----------
    jobs : int
        Number of jobs, including cancelled ones.
    procs : int, default 128
        Processors of the machine.
    rng : Generator or int, optional
        Generator of random numbers, or seed.
    load : float, optional
        Offered load: all gaps are multiplied by the required factor; the shares of arrivals by
        hour of the day do not change.
    gap : float, default 800
        Mean gap between arrivals. [s]
    serial : float, default 0.32
        Share of serial jobs.
    power2 : float, default 0.7
        Share of the parallel jobs that are rounded to a power of two.
    shortest, longest : float, default 300 and 64800
        Limits of the distribution of requested times. [s]
    accuracy_shape, accuracy_scale : float, default 0.69 and 0.51
        Gamma distribution of the accuracy.
    cancelled : float, default 0.1
        Share of cancelled jobs, which never ran and have status 5.

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
    The form is the authors', the parameters are not: they are fitted here to logs of three
    machines of the kind studied in the paper, CTC-SP2-1996, KTH-SP2-1996 and SDSC-SP2-1998, and
    the daily cycle is that of the logs instead of a fitted polynomial. The shares of serial jobs
    and powers of two, the accuracy and the gaps are averages of the three logs, the limits of times
    are those of two of them, and the share of cancelled jobs is that of the one log that records
    them.

    Left out: users, sessions, weekends, repeated jobs, dependences between size, time and accuracy,
    and feedback.

    References
    ----------
    .. [1] W. Cirne, F. Berman, "A comprehensive model of the supercomputer workload", Workshop on
       Workload Characterization, 2001.

    Examples
    --------
    >>> trace = cirne(1000, 64, rng=7, load=0.7)
    >>> trace.n_jobs, bool((trace.jobs["run"] > trace.jobs["requested_time"]).any())
    (1000, False)
    """
    n_jobs, machine = check_counts(jobs, procs)
    check_share(serial=serial, power2=power2, cancelled=cancelled)
    check_positive(
        gap=gap,
        shortest=shortest,
        longest=longest,
        accuracy_shape=accuracy_shape,
        accuracy_scale=accuracy_scale,
    )
    if longest < shortest:
        raise ParameterError(
            "longest", f"is {longest:g}; it must be at least shortest, {shortest:g}"
        )
    seed = seed_of(rng)
    generator = np.random.default_rng(seed)

    passed = np.cumsum(generator.exponential(gap, n_jobs))
    is_serial = generator.random(n_jobs) < serial
    top = np.log2(machine)
    log_size = np.minimum(1.0, top) + generator.random(n_jobs) * max(top - 1.0, 0.0)
    rounded = np.minimum(np.rint(log_size), np.floor(top))
    log_size = np.where(generator.random(n_jobs) < power2, rounded, log_size)
    size = np.where(is_serial, 1.0, np.rint(2.0**log_size))

    requested = np.rint(shortest * (longest / shortest) ** generator.random(n_jobs))
    accuracy = accuracy_scale * generator.standard_gamma(accuracy_shape, n_jobs)
    run = np.rint(np.minimum(accuracy, 1.0) * requested)
    never = generator.random(n_jobs) < cancelled
    work = float((np.where(never, 0.0, run) * size).sum())

    cycle, ends = DailyCycle(HOURS), passed[~never][[0, -1]] if (~never).any() else passed[:1]
    factor = gap_factor(lambda f: float(np.ptp(cycle.time(ends * f))), work, machine, load)
    given = changed(
        cirne,
        gap=gap,
        serial=serial,
        power2=power2,
        shortest=shortest,
        longest=longest,
        accuracy_shape=accuracy_shape,
        accuracy_scale=accuracy_scale,
        cancelled=cancelled,
        load=load,
    )
    return as_trace(
        "cirne",
        "Cirne and Berman, 2001",
        {
            "submit": cycle.time(passed * factor),
            "run": np.where(never, np.nan, run),
            "procs": np.where(never, np.nan, size),
            "requested_procs": size,
            "requested_time": requested,
            "status": np.where(never, CANCELLED, COMPLETED),
        },
        procs=machine,
        seed=seed,
        parameters=given,
        hours=True,
    )


@takes_rng
def moldable(
    trace: Trace,
    rng: np.random.Generator | int | None = None,
    *,
    sigma: float = 2.0,
    procs: int | None = None,
) -> pd.DataFrame:
    """Draw alternative requests that the users of a log could have made [1]_.

    Each parallel job is modelled as one of Downey's (see `downey_speedup`) with the recorded run
    time on the recorded processors. Its other sizes are the recorded one times powers of two, as
    far as they are whole, fit the machine, and make the job faster than the next smaller size.

    Parameters
    ----------
    trace : Trace
        A log made by `cirne`, or any other; only jobs that ran are used.
    rng : Generator or int, optional
        Generator of random numbers, or seed.
    sigma : float, default 2
        The variation σ of parallelism is uniform from 0 to this.
    procs : int, optional
        Processors of the machine; by default the header's.

    Returns
    -------
    DataFrame
        One row per request, by job and size: `row` (of the log), `job`, `procs`, `run` [s],
        `requested_time` [s] (NaN if the log has none), and `made`, whether it is the recorded
        request. Serial jobs have this request only.

    Raises
    ------
    ParameterError
        If the argument is not a log, or a parameter is invalid.
    WorkloadError
        If the size of the machine is unknown.

    Notes
    -----
    The authors, too, convert rigid jobs to moldable ones by Downey's speedup. They surveyed users
    about possible sizes and drew A and σ from fitted distributions; here A is log-uniform from
    the size of the job to that of the machine, σ is uniform, as in Downey's model, and the
    alternative sizes are an assumption.

    References
    ----------
    .. [1] W. Cirne, F. Berman, "A model for moldable supercomputer jobs", International Parallel
       and Distributed Processing Symposium, 2001.

    Examples
    --------
    >>> from workloadkit import Header
    >>> log = Trace.from_columns({"submit": [0], "run": [100], "procs": [4]})
    >>> moldable(log, 7, sigma=0, procs=4)[["procs", "run"]].to_numpy().tolist()
    [[1.0, 400.0], [2.0, 200.0], [4.0, 100.0]]
    """
    check_trace(trace)
    machine = machine_of(trace, procs)
    if sigma != 0:
        check_positive(sigma=sigma)
    generator = np.random.default_rng(seed_of(rng))
    row = np.flatnonzero(trace.ran)
    size, run = trace.used_procs[row], trace.column("run")[row]
    largest = np.maximum(size, machine)
    parallelism = size * (largest / size) ** generator.random(row.size)
    spread = sigma * generator.random(row.size)

    doublings = range(-int(np.log2(largest.max(initial=1))), int(np.log2(machine)) + 1)
    parts = []
    before = np.zeros(row.size)
    own = downey_speedup(size, parallelism, spread)
    for k in doublings:
        other = size * 2.0**k
        fits = (other == np.rint(other)) & (other >= 1) & (other <= largest)
        speedup = downey_speedup(np.maximum(other, 1), parallelism, spread)
        offered = fits & ((speedup > before) | (k == 0)) & ((size > 1) | (k == 0))
        before = np.where(fits, speedup, before)
        at = np.flatnonzero(offered)
        slower = own[at] / speedup[at]
        parts.append(
            pd.DataFrame(
                {
                    "row": row[at],
                    "job": trace.column("job")[row[at]],
                    "procs": other[at].astype(np.int64),
                    "run": run[at] * slower,
                    "requested_time": trace.column("requested_time")[row[at]] * slower,
                    "made": k == 0,
                }
            )
        )
    return pd.concat(parts).sort_values(["row", "procs"], kind="stable", ignore_index=True)
