"""Site distributions as samples for users in a simulation."""

from collections.abc import Container
from dataclasses import replace
from functools import lru_cache
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.site_samples import Samples
from workloadkit.errors import ParameterError, WorkloadError, check_choice, plural, quoted
from workloadkit.settings.making import Classes, GoingOn, Joint, Pools
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
from workloadkit.site.empirical import (
    PUBLISHED_A,
    PUBLISHED_B,
    Empirical,
    Workpool,
    pooled,
    together,
)

#: Distributions of batches and pauses; a class may lack some of them.
BATCHES = ("batch_width", "gap", "think_time", "break_time")


@lru_cache(maxsize=4)  # the same site is simulated with several schedulers
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
    """Return the samples from which users of a machine draw.

    Parameters
    ----------
    site : SiteDistributions
    machine : int
        Processors of the machine; larger jobs are left out.
    workpool : {"independent", "joint"}
        Draw size and run time of a job independently, or as a pair.
    pools : {"one", "three"}
        Draw the same jobs at all hours, or separately by day, by night and at weekends.
    classes : {"one", "hours", "kinds", "both"}
        Classes by which everything is drawn, see `workloadkit.site.classes`.
    going_on : {"published", "fitted"}
        Curve by which users continue sessions.
    longest : float, optional
        Run times above it are left out. [s]
    breaks : bool, default True
        Whether the distribution of breaks must not be empty.

    Raises
    ------
    ParameterError
        If no job fits into the machine, or the distributions lack the requested data.
    WorkloadError
        If a distribution is empty.

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
    for name, words in (("think_time", "think times"), ("break_time", "breaks")):
        if not getattr(site, name).n and (breaks or name != "break_time"):
            raise WorkloadError(f"{logs}: the distribution of {words} is empty")
    chosen = [] if classes == "one" else _chosen(site, classes, logs)
    jobs = [its.jobs for its in chosen] or _pools(site, workpool, pools, logs)
    parts = [_of_pool(pool, machine, longest, pairs=workpool == "joint") for pool in jobs]
    for size, run, _ in parts:
        if not run.size:
            raise ParameterError(f"{logs}: no job has a run time up to {longest:g} s")
        if not size.size:
            raise ParameterError(
                f"{logs}: no job fits into a machine of {plural(machine, 'processor')}"
            )
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
    """Return the classes to draw from; missing distributions are those of all classes."""
    every = _all(site, logs)
    found = classes_by(site.classes, by)
    if by != "kinds":
        _check_periods({name.split()[0] for name in found}, logs, f"classes={by!r}")
    return [_filled(found.get(name), every) for name in names_by(by)]


def _filled(its: JobClass | None, every: JobClass) -> JobClass:
    """Fill in missing distributions of a class; an empty class never follows a batch."""
    if its is None:
        return replace(every, after=np.zeros_like(every.after))
    lacks = [name for name in BATCHES if not getattr(its, name).n]
    jobs = its.jobs
    if not jobs.repetition.n:  # no run of jobs begins in this class
        jobs = replace(jobs, repetition=every.jobs.repetition)
    return replace(its, jobs=jobs, **{name: getattr(every, name) for name in lacks})


def _all(site: SiteDistributions, logs: str) -> JobClass:
    if not site.classes:
        raise ParameterError(
            f"{logs}: the distributions were saved without classes; create them from the logs again"
        )
    return merged(site.classes.values())


def _curves(
    site: SiteDistributions, chosen: list[JobClass], logs: str
) -> list[tuple[float, float]]:
    """Return the curve of each class; if a fit fails that of all, else the published one."""
    curve = _all(site, logs).curve
    curve = (PUBLISHED_A, PUBLISHED_B) if np.isnan(curve).any() else curve
    curves = [its.curve for its in chosen] or [curve]
    return [curve if np.isnan(each).any() else each for each in curves]


def _shares(chosen: list[JobClass]) -> NDArray[np.float64]:
    """Return `Samples.interactive`; without such batches, the share in that part of the week."""
    after = np.array([its.after for its in chosen]).reshape(-1, len(KINDS), len(BEFORE))
    came, interactive = after.sum(axis=1), after[:, 0]
    of_all = interactive.sum(axis=1) / np.maximum(came.sum(axis=1), 1)
    return np.where(came > 0, interactive / np.maximum(came, 1), of_all[:, None])


def _pools(
    site: SiteDistributions, workpool: Joint, pools: Pools, logs: str
) -> list[Workpool | tuple[Empirical, Empirical, Empirical]]:
    """Return the pools to draw from: one, or one per part of the week."""
    if pools == "one" and workpool == "independent":
        return [(site.size, site.run, site.repetition)]
    if not site.workpools:
        raise ParameterError(
            f"{logs}: the distributions were saved without joint sizes and run times; create them "
            "from the logs again"
        )
    if pools == "one":
        return [pooled(site.workpools.values())]
    known = site.workpools
    _check_periods(known, logs, "pools='three'")
    repetition = together(pool.repetition for pool in known.values())
    return [
        pool
        if pool.repetition.n
        else Workpool(pool.size, pool.run, pool.counts, repetition)  # no run of jobs begins in it
        for pool in (known[name] for name in PERIODS)
    ]


def _check_periods(known: Container[str], logs: str, option: str) -> None:
    """Check that distributions contain all parts of the week."""
    if missing := [name for name in PERIODS if name not in known]:
        raise ParameterError(
            f"{logs}: no job was submitted in the part of the week {quoted(missing[0])}, which "
            f"{option} requires"
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
    """Round half up to whole numbers."""
    return np.floor(values + 0.5).astype(np.int64)


def _firsts(parts: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.cumsum([0, *(part.size for part in parts)])
