"""The model of Jann et al.: hyper-Erlang gaps and run times for each size class."""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import (
    ParameterError,
    WorkloadError,
    WorkloadWarning,
    check_positive,
    plural,
    takes_rng,
)
from workloadkit.models.hyper_erlang import HyperErlang, match_moments
from workloadkit.models.made import as_trace, check_counts, gap_factor
from workloadkit.provenance import seed_of
from workloadkit.trace import Trace, check_trace

# Size classes of the model of Jann et al., and their fit to a log.

_HIGHEST_ORDER = 200


@dataclass(frozen=True)
class SizeClass:
    """A class of jobs with similar sizes.

    Parameters
    ----------
    low, high : int
        Smallest and largest size.
    full : float
        Share of jobs with the largest size; all smaller sizes are equally likely.
    gap, run : HyperErlang
        Distributions of the gaps between arrivals of this class, and of the run times. [s]
    """

    low: int
    high: int
    full: float
    gap: HyperErlang
    run: HyperErlang


def fit_jann97(trace: Trace, *, least: int = 30) -> tuple[SizeClass, ...]:
    """Fit the parameters of `jann97` to a log.

    Parameters
    ----------
    trace : Trace
        Only jobs that ran are used.
    least : int, default 30
        A class with fewer jobs is merged with the next smaller one.

    Returns
    -------
    classes : tuple of SizeClass
        In ascending order of sizes.

    Raises
    ------
    ParameterError
        If the argument is not a log.
    WorkloadError
        If fewer jobs ran than a class needs, or all were submitted at once.

    Notes
    -----
    The two branches have the lowest common order, from 1 to 200, for which the first three moments
    are possible. If there is none, a single Erlang branch with the mean and the closest order is
    used.

    Examples
    --------
    >>> from workloadkit import load_sample
    >>> [(c.low, c.high) for c in fit_jann97(load_sample())][:4]
    [(1, 1), (2, 2), (3, 4), (6, 8)]
    """
    check_trace(trace)
    check_positive(least=least)
    ran = trace.ran
    size, submit = trace.used_procs[ran], trace.column("submit")[ran]
    run = trace.column("run")[ran]
    if size.size < max(least, 3):
        raise WorkloadError(
            f"{trace.name}: {plural(size.size, 'job')} ran; fitting a size class requires at least "
            f"{max(least, 3)}"
        )
    power = np.maximum(np.ceil(np.log2(size)), 0).astype(np.int64)
    # merge powers of two from the largest size down, until a class has enough jobs
    groups: list[list[int]] = [[]]
    for p in range(int(power.max()), -1, -1):
        groups[-1].append(p)
        if np.isin(power, groups[-1]).sum() >= least:
            groups.append([])
    if groups[-1]:  # too few jobs of the smallest sizes: merge them with the next
        last = groups.pop()
        groups[-1] += last
    else:
        groups.pop()
    found = []
    for group in reversed(groups):
        of_class = np.isin(power, group)
        high = int(size[of_class].max())
        found.append(
            SizeClass(
                low=int(size[of_class].min()),
                high=high,
                full=float((size[of_class] == high).mean()),
                gap=_with_moments(np.diff(submit[of_class]), f"{trace.name}: gaps"),
                run=_with_moments(run[of_class], f"{trace.name}: run times"),
            )
        )
    return tuple(found)


def _with_moments(values: NDArray[np.float64], what: str) -> HyperErlang:
    """Return two Erlang branches with the first three moments of the values, or else one."""
    mean, variance = float(values.mean()), float(values.var())
    if not mean > 0:
        raise WorkloadError(f"{what} are all 0; no distribution can be fitted")
    moments = [float(np.mean(values**k)) for k in (1, 2, 3)]
    try:
        return match_moments(moments, range(1, _HIGHEST_ORDER + 1))
    except ParameterError:
        nearest = round(mean**2 / variance) if variance > 0 else _HIGHEST_ORDER
        order = min(max(nearest, 1), _HIGHEST_ORDER)
        return HyperErlang((1.0,), (order,), (order / mean,))


# Parameters of `jann97` for the Cornell Theory Center, 26 June to 12 September 1996.

# Jobs of the archive's log CTC-SP2-1996-3.1-cln that were submitted before 13 September 1996,
# local time, on at most 322 processors, fitted by `fit_jann97` and rounded to six digits.
CTC = (
    SizeClass(
        1,
        1,
        1.0,
        HyperErlang((0.930848, 0.069152), (1, 1), (0.00230681, 0.000148377)),
        HyperErlang((0.611468, 0.388532), (4, 4), (0.00680433, 0.000118626)),
    ),
    SizeClass(
        2,
        2,
        1.0,
        HyperErlang((0.904294, 0.095706), (1, 1), (0.000872436, 3.62155e-05)),
        HyperErlang((0.691336, 0.308664), (8, 8), (0.0403386, 0.000175829)),
    ),
    SizeClass(
        3,
        4,
        0.8415,
        HyperErlang((0.870927, 0.129073), (1, 1), (0.00133433, 6.22969e-05)),
        HyperErlang((0.792791, 0.207209), (5, 5), (0.0321167, 0.000142801)),
    ),
    SizeClass(
        5,
        8,
        0.6096,
        HyperErlang((0.784801, 0.215199), (1, 1), (0.00162401, 7.18188e-05)),
        HyperErlang((0.776658, 0.223342), (2, 2), (0.00304159, 9.59363e-05)),
    ),
    SizeClass(
        9,
        16,
        0.6308,
        HyperErlang((0.89359, 0.10641), (1, 1), (0.000715521, 6.71686e-05)),
        HyperErlang((0.683412, 0.316588), (3, 3), (0.0217888, 0.000112725)),
    ),
    SizeClass(
        17,
        32,
        0.5619,
        HyperErlang((0.875129, 0.124871), (1, 1), (0.000378671, 3.3801e-05)),
        HyperErlang((0.682041, 0.317959), (3, 3), (0.0197915, 0.000104566)),
    ),
    SizeClass(
        33,
        64,
        0.5979,
        HyperErlang((0.558403, 0.441597), (1, 1), (0.00151885, 5.5519e-05)),
        HyperErlang((0.582913, 0.417087), (3, 3), (0.00886236, 0.000101243)),
    ),
    SizeClass(
        65,
        128,
        0.635,
        HyperErlang((0.497028, 0.502972), (2, 2), (0.000463558, 3.34503e-05)),
        HyperErlang((0.677181, 0.322819), (5, 5), (0.120401, 0.000121436)),
    ),
    SizeClass(
        129,
        256,
        0.202,
        HyperErlang((0.830864, 0.169136), (2, 2), (0.000278655, 5.78521e-06)),
        HyperErlang((0.650082, 0.349918), (1, 1), (0.00763869, 0.000293075)),
    ),
    SizeClass(
        257,
        322,
        0.02,
        HyperErlang((0.852079, 0.147921), (1, 1), (1.76374e-05, 1.6706e-06)),
        HyperErlang((0.793885, 0.206115), (6, 6), (0.0315677, 0.000143892)),
    ),
)


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
