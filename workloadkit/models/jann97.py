"""The model of Jann et al.: hyper-Erlang gaps and run times for each size class."""

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import ParameterError, WorkloadWarning, takes_rng
from workloadkit.models.jann97_ctc import CTC
from workloadkit.models.made import as_trace, check_counts, gap_factor
from workloadkit.models.size_classes import SizeClass, fit_jann97
from workloadkit.provenance import seed_of
from workloadkit.trace import Trace

#: Processors of the paper's machine.
REFERENCE = 322


@takes_rng
def jann97(
    jobs: int,
    procs: int | None = None,
    rng: np.random.Generator | int | None = None,
    *,
    load: float | None = None,
    classes: Sequence[SizeClass] | None = None,
    like: Trace | None = None,
) -> Trace:
    """Generate a log with the model of Jann, Pattnaik, Franke, Wang, Skovira and Riordan [1]_.

    Sizes are divided into classes at the powers of two. Each class has its own arrivals, with gaps
    from a hyper-Erlang distribution of common order, and run times from another one; each matches
    the first three observed moments.

    Parameters
    ----------
    jobs : int
        Number of jobs.
    procs : int, optional
        Processors of the machine. By default those of `like`, else 322. Classes of larger jobs are
        left out, and a class that exceeds the machine is truncated.
    rng : Generator or int, optional
        Generator of random numbers, or seed.
    load : float, optional
        Offered load: all gaps are multiplied by the required factor.
    classes : sequence of SizeClass, optional
        By default `CTC`, for the paper's log.
    like : Trace, optional
        Log to which the classes are fitted instead, see `fit_jann97`.

    Returns
    -------
    trace : Trace
        Times are in whole seconds.

    Raises
    ------
    ParameterError
        If a parameter is invalid, no class fits the machine, or the load cannot be reached.
    WorkloadError
        If no class can be fitted to the log.

    Warns
    -----
    WorkloadWarning
        If the log to fit has jobs larger than the machine.

    Notes
    -----
    The paper describes the jobs on 322 processors of the CTC SP2 from 25 June to 12 September 1996
    by a table of parameters. The default here is not that table: it is fitted by the paper's method
    to the jobs of the same days and sizes in the archive's log CTC-SP2-1996-3.1-cln, 17,826 jobs
    instead of 17,440. The paper does not specify sizes within a class; here the share of the
    largest size is kept, and the other sizes are equally likely.

    Left out: users, sessions, requests and estimates, daily and weekly cycles, dependences between
    the classes' arrivals or between gaps, repeated jobs, and feedback.

    References
    ----------
    .. [1] J. Jann, P. Pattnaik, H. Franke, F. Wang, J. Skovira, J. Riordan, "Modeling of
       workload in MPPs", Job Scheduling Strategies for Parallel Processing, 1997.

    Examples
    --------
    >>> trace = jann97(1000, rng=7)
    >>> trace.n_jobs, int(trace.column("procs").max()) <= 322
    (1000, True)
    """
    if classes is not None and like is not None:
        raise ParameterError("classes and like are mutually exclusive")
    given: dict[str, Any] = {} if load is None else {"load": load}
    if like is not None:
        classes = fit_jann97(like)
        largest = max(c.high for c in classes)
        procs = like.header.procs or largest if procs is None else procs
        given["like"] = f"{like.name} ({like.identity})"
    elif classes is not None:
        given["classes"] = "given"
    else:
        classes = CTC
    n_jobs, machine = check_counts(jobs, REFERENCE if procs is None else procs)
    if like is not None and machine < largest:
        warnings.warn(
            f"{like.name} has jobs of up to {largest} processors; those larger than the machine "
            f"of {machine} are left out or truncated",
            WorkloadWarning,
            stacklevel=3,
        )
    listed = list(classes) if isinstance(classes, Iterable) else []
    if not listed or not all(isinstance(c, SizeClass) for c in listed):
        raise ParameterError("classes", "must be a non-empty sequence of SizeClass")
    fitting = [c for c in listed if c.low <= machine]
    if not fitting:
        raise ParameterError("procs", f"is {machine}; all classes have larger jobs")
    seed = seed_of(rng)
    generator = np.random.default_rng(seed)

    submit, kind = _first_arrivals(fitting, n_jobs, generator)
    size, run = np.empty(n_jobs), np.empty(n_jobs)
    for i, c in enumerate(fitting):
        of_class = np.flatnonzero(kind == i)
        size[of_class] = _sizes(c, of_class.size, machine, generator)
        run[of_class] = c.run.rvs(of_class.size, generator)
    work = float((np.rint(run) * size).sum())
    factor = gap_factor(lambda f: f * float(np.ptp(submit)), work, machine, load)
    return as_trace(
        "jann97",
        "Jann, Pattnaik, Franke, Wang, Skovira and Riordan, 1997",
        {"submit": submit * factor, "run": run, "procs": size},
        procs=machine,
        seed=seed,
        parameters=given,
    )


def _first_arrivals(
    classes: Sequence[SizeClass], n: int, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the first n arrivals of all classes, ascending, and the class of each."""
    rates = np.array([1 / c.gap.mean() for c in classes])
    times = [np.empty(0) for _ in classes]
    short = list(range(len(classes)))  # classes that may have more of the first n arrivals
    while True:
        for i in short:
            gaps = classes[i].gap.rvs(int(n * rates[i] / rates.sum()) + 1, rng)
            times[i] = np.append(times[i], np.cumsum(gaps) + (times[i][-1] if times[i].size else 0))
        together = np.concatenate(times)
        earliest = np.argsort(together, kind="stable")[:n]
        last = together[earliest[-1]]
        short = [i for i, of_class in enumerate(times) if of_class[-1] < last]
        if not short:
            kind = np.repeat(np.arange(len(classes)), [of_class.size for of_class in times])
            return together[earliest], kind[earliest]


def _sizes(c: SizeClass, n: int, machine: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw sizes of n jobs of a class, truncated to the machine."""
    high = min(c.high, machine)
    if c.low == high:
        return np.full(n, high)
    full = rng.random(n) < c.full
    return np.where(full, high, rng.integers(c.low, high, n))
