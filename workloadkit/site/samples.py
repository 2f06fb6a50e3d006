"""The distributions of a site as samples, from which users of a simulation draw."""

from math import inf

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.site_samples import Samples
from workloadkit.errors import ParameterError, WorkloadError, check_choice
from workloadkit.settings.site import Joint, Pools
from workloadkit.site.distributions import PERIODS, SiteDistributions
from workloadkit.site.empirical import Empirical, Workpool, pooled, together


def samples(
    site: SiteDistributions,
    machine: int,
    *,
    workpool: Joint = "independent",
    pools: Pools = "one",
    longest: float = inf,
    breaks: bool = True,
) -> Samples:
    """Return what users draw from who work at a machine.

    Parameters
    ----------
    site : SiteDistributions
    machine : int
        Its processors; larger jobs are left out.
    workpool : {"independent", "joint"}
        Draw size and run time of a job each by itself, or as a pair.
    pools : {"one", "three"}
        The same jobs at all hours, or other ones by day, by night and at weekends.
    longest : float, optional
        Run times above it are left out. [s]
    breaks : bool, default True
        Whether there must be any.

    Raises
    ------
    ParameterError
        If no job fits into the machine, or the distributions do not tell what is asked for.
    WorkloadError
        If there is nothing to draw from.

    Examples
    --------
    >>> from workloadkit.site import built_in
    >>> drawn = samples(built_in(), 16)
    >>> drawn.size.max().item(), drawn.run.size == built_in().n_jobs
    (16, True)
    """
    check_choice("workpool", workpool, Joint)
    check_choice("pools", pools, Pools)
    logs = ", ".join(site.logs)
    for name, words in (("think_time", "think time"), ("break_time", "break")):
        if not getattr(site, name).n and (breaks or name != "break_time"):
            raise WorkloadError(f"{logs}: no {words} to draw from")
    chosen = _pools(site, workpool, pools, logs)
    parts = [_of_pool(pool, machine, longest, pairs=workpool == "joint") for pool in chosen]
    for size, run, _ in parts:
        if not run.size:
            raise ParameterError(f"{logs}: no job ran for {longest:g} s at most")
        if not size.size:
            raise ParameterError(f"{logs}: no job fits into a machine of {machine} processors")
    of_pools = [[*part] for part in zip(*parts, strict=True)]  # sizes, run times, repetitions
    return Samples(
        *(_sample(getattr(site, n)) for n in ("batch_width", "gap", "think_time", "break_time")),
        *(np.concatenate(of_all) for of_all in of_pools),
        *(_firsts(of_all) for of_all in of_pools),
    )


def _pools(
    site: SiteDistributions, workpool: Joint, pools: Pools, logs: str
) -> list[Workpool | tuple[Empirical, Empirical, Empirical]]:
    """Return the pools to draw from: one, or those of the parts of the week."""
    if pools == "one" and workpool == "independent":
        return [(site.size, site.run, site.repetition)]
    if not site.workpools:
        raise ParameterError(
            f"{logs}: sizes and run times were not saved together; take the distributions from "
            "the logs again"
        )
    if pools == "one":
        return [pooled(site.workpools.values())]
    known = site.workpools
    if missing := [name for name in PERIODS if name not in known]:
        raise ParameterError(
            f"{logs}: no job is known to have been submitted in the part of the week called "
            f"{missing[0]}, which pools='three' asks for"
        )
    repetition = together(pool.repetition for pool in known.values())
    return [
        pool
        if pool.repetition.n
        else Workpool(pool.size, pool.run, pool.counts, repetition)  # none begins in it
        for pool in (known[name] for name in PERIODS)
    ]


def _of_pool(
    pool: Workpool | tuple[Empirical, Empirical, Empirical],
    machine: int,
    longest: float,
    *,
    pairs: bool,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return samples of size, run time and repetition."""
    if not isinstance(pool, Workpool):
        size, run, repetition = (_sample(of) for of in pool)
        return size[size <= machine], run[run <= longest], repetition
    size, run = (_whole(np.repeat(x, pool.counts)) for x in (pool.size, pool.run))
    repetition = _sample(pool.repetition)
    if pairs:
        fits = (size <= machine) & (run <= longest)
        return size[fits], run[fits], repetition
    return size[size <= machine], np.sort(run[run <= longest]), repetition


def _sample(of: Empirical) -> NDArray[np.int64]:
    return _whole(np.repeat(of.values, of.counts))


def _whole(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Round to whole numbers, halves up."""
    return np.floor(values + 0.5).astype(np.int64)


def _firsts(parts: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.cumsum([0, *(part.size for part in parts)])
