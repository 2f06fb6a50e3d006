"""The distributions of a site as samples, from which users of a simulation draw."""

from collections.abc import Container
from dataclasses import replace
from functools import lru_cache
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.site_samples import Samples
from workloadkit.errors import ParameterError, WorkloadError, check_choice
from workloadkit.settings.site import Classes, GoingOn, Joint, Pools
from workloadkit.site.classes import (
    BEFORE,
    KINDS,
    PERIODS,
    JobClass,
    Sorted,
    classes_by,
    merged,
    names_by,
)
from workloadkit.site.distributions import SiteDistributions
from workloadkit.site.empirical import Empirical, Workpool, pooled, together
from workloadkit.site.going_on import PUBLISHED_A, PUBLISHED_B

#: What batches are made of, and what follows them; a class may lack some of these.
BATCHES = ("batch_width", "gap", "think_time", "break_time")


@lru_cache(maxsize=4)  # one site is simulated under several schedulers
def samples(
    site: SiteDistributions,
    machine: int,
    *,
    workpool: Joint = "independent",
    pools: Pools = "one",
    classes: Classes = "one",
    going_on: GoingOn = "published",
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
    classes : {"one", "hours", "kinds", "both"}
        By which classes all is drawn, see `workloadkit.site.classes`.
    going_on : {"published", "fitted"}
        The curve by which users go on.
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
    check_choice("classes", classes, Classes)
    check_choice("going_on", going_on, GoingOn)
    logs = ", ".join(site.logs)
    for name, words in (("think_time", "think time"), ("break_time", "break")):
        if not getattr(site, name).n and (breaks or name != "break_time"):
            raise WorkloadError(f"{logs}: no {words} to draw from")
    chosen = [] if classes == "one" else _chosen(site, classes, logs)
    jobs = [its.jobs for its in chosen] or _pools(site, workpool, pools, logs)
    parts = [_of_pool(pool, machine, longest, pairs=workpool == "joint") for pool in jobs]
    for size, run, _ in parts:
        if not run.size:
            raise ParameterError(f"{logs}: no job ran for {longest:g} s at most")
        if not size.size:
            raise ParameterError(f"{logs}: no job fits into a machine of {machine} processors")
    of_jobs = [[*part] for part in zip(*parts, strict=True)]  # sizes, run times, repetitions
    batches: list[Any] = [*chosen] or [site]
    of_batches = [[_sample(getattr(of, name)) for of in batches] for name in BATCHES]
    drawn = [*of_batches, *of_jobs]
    curves = [(PUBLISHED_A, PUBLISHED_B)]
    if going_on == "fitted":
        curves = _curves(site, chosen, logs)
    arrays = [*map(np.concatenate, drawn), *map(_firsts, drawn), *np.array(curves).T.copy()]
    by_hours = pools == "three" or classes in ("hours", "both")
    interactive = _shares(chosen) if classes in ("kinds", "both") else np.empty((0, len(BEFORE)))
    return Samples._make([*arrays, by_hours, interactive])


def _chosen(site: SiteDistributions, by: Sorted, logs: str) -> list[JobClass]:
    """Return the classes to draw from; what one of them has none of is as in all."""
    every = _all(site, logs)
    found = classes_by(site.classes, by)
    if by != "kinds":
        _check_periods({name.split()[0] for name in found}, logs, f"classes={by!r}")
    return [_filled(found.get(name), every) for name in names_by(by)]


def _filled(its: JobClass | None, every: JobClass) -> JobClass:
    """Return a class that has some of all; one in which nothing is comes after no batch."""
    if its is None:
        return replace(every, after=np.zeros_like(every.after))
    lacks = [name for name in BATCHES if not getattr(its, name).n]
    jobs = its.jobs
    if not jobs.repetition.n:  # none begins in it
        jobs = replace(jobs, repetition=every.jobs.repetition)
    return replace(its, jobs=jobs, **{name: getattr(every, name) for name in lacks})


def _all(site: SiteDistributions, logs: str) -> JobClass:
    if not site.classes:
        raise ParameterError(
            f"{logs}: batches were not saved by classes; take the distributions from the logs again"
        )
    return merged(site.classes.values())


def _curves(
    site: SiteDistributions, chosen: list[JobClass], logs: str
) -> list[tuple[float, float]]:
    """Return the curve of each class; that of all, else the published one, if none fits."""
    curve = _all(site, logs).curve
    curve = (PUBLISHED_A, PUBLISHED_B) if np.isnan(curve).any() else curve
    curves = [its.curve for its in chosen] or [curve]
    return [curve if np.isnan(each).any() else each for each in curves]


def _shares(chosen: list[JobClass]) -> NDArray[np.float64]:
    """Return `Samples.interactive`; where no batch came so, the share of all of that part."""
    after = np.array([its.after for its in chosen]).reshape(-1, len(KINDS), len(BEFORE))
    came, interactive = after.sum(axis=1), after[:, 0]
    of_all = interactive.sum(axis=1) / np.maximum(came.sum(axis=1), 1)
    return np.where(came > 0, interactive / np.maximum(came, 1), of_all[:, None])


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
    _check_periods(known, logs, "pools='three'")
    repetition = together(pool.repetition for pool in known.values())
    return [
        pool
        if pool.repetition.n
        else Workpool(pool.size, pool.run, pool.counts, repetition)  # none begins in it
        for pool in (known[name] for name in PERIODS)
    ]


def _check_periods(known: Container[str], logs: str, asks: str) -> None:
    """Refuse distributions that lack a part of the week."""
    if missing := [name for name in PERIODS if name not in known]:
        raise ParameterError(
            f"{logs}: no job is known to have been submitted in the part of the week called "
            f"{missing[0]}, which {asks} asks for"
        )


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
