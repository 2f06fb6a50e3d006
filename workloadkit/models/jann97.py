"""The model of Jann and others: hyper-Erlang gaps and run times of each class of sizes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import ParameterError, WorkloadError
from workloadkit.models.hyper_erlang import HyperErlang, match_moments
from workloadkit.models.made import as_trace, check_counts, check_positive, gap_factor
from workloadkit.provenance import seed_of
from workloadkit.trace import Trace, check_trace

_HIGHEST_ORDER = 200


@dataclass(frozen=True)
class SizeClass:
    """Jobs of a range of sizes.

    Parameters
    ----------
    low, high : int
        Smallest and largest size.
    full : float
        Share of the jobs with the largest size; all smaller ones are equally likely.
    gap, run : HyperErlang
        Of the gaps between arrivals of this class, and of the run times. [s]
    """

    low: int
    high: int
    full: float
    gap: HyperErlang
    run: HyperErlang


def jann97(
    jobs: int,
    procs: int = 322,
    rng: np.random.Generator | int | None = None,
    *,
    load: float | None = None,
    classes: Sequence[SizeClass] | None = None,
    like: Trace | None = None,
) -> Trace:
    """Make a log by the model of Jann, Pattnaik, Franke, Wang, Skovira and Riordan [1]_.

    Sizes are divided into classes at the powers of two. Each class has its own stream of
    arrivals, whose gaps have a hyper-Erlang distribution of common order, and its own such
    distribution of run times; each has the first three moments of what was observed.

    Parameters
    ----------
    jobs : int
        How many.
    procs : int, default 322
        Processors of the machine. Classes of larger jobs are left out, and a class that reaches
        beyond is cut.
    rng : Generator or int, optional
        Generator of random numbers, or seed.
    load : float, optional
        Offered load: all gaps are multiplied by what gives it.
    classes : sequence of SizeClass, optional
        By default `CTC`, of the log that the paper is about.
    like : Trace, optional
        Fit the classes to this log instead, see `fit_jann97`.

    Returns
    -------
    trace : Trace
        Times are in whole seconds.

    Raises
    ------
    ParameterError
        If a number is not what it should be, no class fits the machine, or the load cannot be
        set.
    WorkloadError
        If no class can be fitted to the log.

    Notes
    -----
    The paper describes the jobs that ran on 322 processors of the CTC SP2 from 25 June to 12
    September 1996, by a table of parameters. The default here is not that table: it is found by
    the paper's method from the jobs of the same days and sizes in the archive's log
    CTC-SP2-1996-3.1-cln, 17,826 jobs instead of the paper's 17,440. The paper does not say how
    sizes spread within a class; the share of the largest size is kept here, and the others are
    equally likely.

    Left out: users, sessions, what users ask for or estimate, daily and weekly cycles, any
    dependence between the classes' arrivals or between gaps, repeated jobs, and any feedback.

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
    n_jobs, machine = check_counts(jobs, procs)
    if classes is not None and like is not None:
        raise ParameterError("give either classes or a log to fit them to (like), not both")
    own = classes is not None
    if like is not None:
        classes = fit_jann97(like)
    if classes is None:
        from workloadkit.models.jann97_ctc import CTC

        classes = CTC
    listed = list(classes) if isinstance(classes, Iterable) else []
    if not listed or not all(isinstance(c, SizeClass) for c in listed):
        raise ParameterError("classes are given as a sequence of SizeClass, one or more")
    fitting = [c for c in listed if c.low <= machine]
    if not fitting:
        raise ParameterError(f"procs is {machine}; no class has jobs so small")
    seed = seed_of(rng)
    generator = np.random.default_rng(seed)

    submit, kind = _first_arrivals(fitting, n_jobs, generator)
    size, run = np.empty(n_jobs), np.empty(n_jobs)
    for i, c in enumerate(fitting):
        of_class = np.flatnonzero(kind == i)
        size[of_class] = _sizes(c, of_class.size, machine, generator)
        run[of_class] = c.run.rvs(of_class.size, generator)
    work = float(np.dot(np.rint(run), size))
    factor = gap_factor(lambda f: f * float(np.ptp(submit)), work, machine, load)
    given: dict[str, Any] = {} if load is None else {"load": load}
    if like is not None:
        given["like"] = like.name + (f" (sha256 {like.digest})" if like.digest else "")
    elif own:
        given["classes"] = "given"
    return as_trace(
        "jann97",
        "Jann, Pattnaik, Franke, Wang, Skovira and Riordan, 1997",
        {"submit": submit * factor, "run": run, "procs": size},
        procs=machine,
        seed=seed,
        parameters=given,
    )


def fit_jann97(trace: Trace, *, least: int = 30) -> tuple[SizeClass, ...]:
    """Find the parameters of `jann97` for a log.

    Parameters
    ----------
    trace : Trace
        The jobs that ran are taken.
    least : int, default 30
        A class of fewer jobs is joined to the next smaller one.

    Returns
    -------
    classes : tuple of SizeClass
        In ascending order of sizes.

    Raises
    ------
    ParameterError
        If it is no log.
    WorkloadError
        If fewer jobs ran than make a class, or all were submitted at once.

    Notes
    -----
    The branches have the lowest common order, from 1 to 200, by which two of them can have the
    first three moments. Where none can, the three moments say that one branch is enough or too
    much: it is then a single Erlang branch of the nearest order, which has the mean.

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
            f"{trace.name}: {size.size} jobs ran; a class of sizes is fitted to {max(least, 3)} "
            "or more"
        )
    power = np.ceil(np.log2(size)).astype(np.int64)
    # from the largest sizes down, powers are joined until enough jobs are together
    groups: list[list[int]] = [[]]
    for p in range(int(power.max()), -1, -1):
        groups[-1].append(p)
        if np.isin(power, groups[-1]).sum() >= least:
            groups.append([])
    if groups[-1]:  # the smallest sizes are too few: they join the next
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
    """Find two Erlang branches with the first three moments of these values, or else one."""
    mean, variance = float(values.mean()), float(values.var())
    if not mean > 0:
        raise WorkloadError(f"{what} are all 0; no distribution is fitted to them")
    moments = [float(np.mean(values**k)) for k in (1, 2, 3)]
    try:
        return match_moments(moments, range(1, _HIGHEST_ORDER + 1))
    except ParameterError:
        nearest = round(mean**2 / variance) if variance > 0 else _HIGHEST_ORDER
        order = min(max(nearest, 1), _HIGHEST_ORDER)
        return HyperErlang((1.0,), (order,), (order / mean,))


def _first_arrivals(
    classes: Sequence[SizeClass], n: int, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return when the first n jobs of all classes arrive, ascending, and the class of each."""
    rates = np.array([1 / c.gap.mean() for c in classes])
    times = [np.empty(0) for _ in classes]
    short = list(range(len(classes)))  # classes of which more may arrive before the n-th of all
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
    """Draw sizes of n jobs of a class, cut to the machine."""
    high = min(c.high, machine)
    if c.low == high:
        return np.full(n, high)
    full = rng.random(n) < c.full
    return np.where(full, high, rng.integers(c.low, high, n))
