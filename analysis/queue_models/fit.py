"""The queueing model that fits a log: chosen, fitted, tested, and compared with the record."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit import metrics
from workloadkit.analysis.queue_models.fit_result import (
    MODELS,
    WAITS,
    FittedQueueingModel,
    Moments,
    TestedAssumption,
)
from workloadkit.analysis.queue_models.target import Target, answer
from workloadkit.errors import WorkloadError, check_count, takes_rng
from workloadkit.settings.common import JobUnit
from workloadkit.trace import Trace, check_trace
from workloadkit.units import in_unit

#: Fewest jobs for a fit.
FEWEST = 100

#: Equal parts of the log's time that the bootstrap draws; their jobs stay together.
PARTS = 40

_HOUR = 3600.0


class FitJobs(NamedTuple):
    """Jobs of a log as arrays, in the order of submission, and the part of the log of each.

    Parameters
    ----------
    submit, gap, wait, run, procs : ndarray of float64
        `gap` is the time since the submission before, NaN for the first; `wait` is NaN if unknown.
    part : ndarray of int
    span : float
        Length of a part. [s]
    """

    submit: NDArray[np.float64]
    gap: NDArray[np.float64]
    wait: NDArray[np.float64]
    run: NDArray[np.float64]
    procs: NDArray[np.float64]
    part: NDArray[np.int64]
    span: float


@takes_rng
def fit_queueing_model(
    trace: Trace,
    *,
    procs: int | None = None,
    unit: JobUnit = "procs",
    target: str | None = None,
    scheduler: str = "easy",
    n_resamples: int = 200,
    rng: np.random.Generator | int | None = None,
) -> FittedQueueingModel:
    """Choose and fit a queueing model of a log, test its assumptions, and compare with the record.

    The machine is as many servers as jobs of mean size fit. Of M/M/c, M/G/c and G/G/c, the first
    whose assumptions are not violated is chosen. Assumptions are tested by a measure with a 95 %
    interval, from a bootstrap over 40 equal parts of the log's time: one is violated if the whole
    interval lies outside the tolerance. If all models are refused, the widest is shown as refused,
    with the reasons.

    Parameters
    ----------
    trace : Trace
        Jobs that ran, within the log's window.
    procs : int, optional
        Processors of the machine; by default those of the header.
    unit : {"procs", "nodes", "gpus"}, default "procs"
        Count sizes and load in processors, nodes or GPUs, see `workloadkit.units.in_unit`.
    target : str, optional
        Question for a size: "median_wait=1h" asks how many processors keep the median wait at 1 h
        or below; likewise mean_wait and p90_wait. It is answered by the chosen model, and by
        simulations of the log.
    scheduler : str, default "easy"
        Scheduler of these simulations.
    n_resamples : int, default 200
    rng : int or Generator, optional

    Raises
    ------
    ParameterError
        If a parameter is invalid.
    WorkloadError
        If fewer than 100 jobs ran, or the size of the machine is unknown.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> log = {"submit": np.cumsum(rng.exponential(100, 4000)), "run": rng.exponential(150, 4000)}
    >>> log |= {"procs": [1] * 4000, "wait": [-1] * 4000}
    >>> found = fit_queueing_model(Trace.from_columns(log), procs=2, rng=1)
    >>> found.model, found.accepted, found.moments.servers
    ('mmc', True, 2)
    """
    asked = None if target is None else Target.read(target)
    check_trace(trace)
    jobs, machine, kept = _jobs(in_unit(trace, unit), procs)
    rng = np.random.default_rng(rng)
    moments = _moments(jobs, machine)
    draws = [_drawn(jobs, rng) for _ in range(check_count("n_resamples", n_resamples, least=20))]
    drawn = [_moments(of, machine) for of in draws]
    assumptions = _test(jobs, draws, moments, drawn, rng)
    broken = {test.name for test in assumptions if test.violated}
    refused = {
        name: tuple(x for x in needs if x in broken) for name, (_, _, needs) in MODELS.items()
    }
    model = next((name for name, why in refused.items() if not why), "ggc")
    rows = {"record": _row(_recorded(jobs, machine), [_recorded(of, machine) for of in draws])}
    for name in MODELS:
        rows[name] = _row(moments.waits(name), [of.waits(name) for of in drawn])
    answered = None
    if asked is not None:
        each = _size(kept)
        answered = answer(asked, kept, each, model, moments, drawn, scheduler)
    predictions = pd.DataFrame.from_dict(rows, orient="index")
    return FittedQueueingModel(
        trace.name, machine, model, moments, assumptions, refused, predictions, answered, unit
    )


def _jobs(trace: Trace, procs: int | None) -> tuple[FitJobs, int, Trace]:
    trace = trace.within_window()
    machine = trace.header.procs if procs is None else check_count("procs", procs, least=1)
    kept = trace.select(trace.ran & (trace.used_procs > 0))
    if kept.n_jobs < FEWEST:
        raise WorkloadError(f"{trace.name}: {kept.n_jobs} jobs ran; a fit needs {FEWEST} or more")
    if machine is None:
        raise WorkloadError(
            f"{trace.name}: the header has neither MaxProcs nor MaxNodes; procs (the size of the "
            "machine) is required"
        )
    submit, wait = kept.column("submit"), kept.column("wait")
    period = float(submit[-1] - submit[0])
    if not period > 0:
        raise WorkloadError(f"{trace.name}: all jobs have the same submit time")
    since = submit - submit[0]
    part = np.minimum((PARTS * since / period).astype(np.int64), PARTS - 1)
    jobs = FitJobs(
        submit, np.diff(submit, prepend=np.nan), np.where(wait >= 0, wait, np.nan),
        kept.column("run").astype(np.float64), kept.used_procs.astype(np.float64), part,
        period / PARTS,
    )  # fmt: skip
    return jobs, machine, kept


def _size(trace: Trace) -> float:
    """Return the mean number of processors of a running job."""
    run = trace.column("run")
    return float((run * trace.used_procs).sum() / max(run.sum(), 1e-300))


def _drawn(jobs: FitJobs, rng: np.random.Generator) -> FitJobs:
    """Draw parts of the log with replacement, with all of their jobs."""
    bounds = np.searchsorted(jobs.part, np.arange(PARTS + 1))
    which = rng.integers(PARTS, size=PARTS)
    rows = np.concatenate([np.arange(bounds[p], bounds[p + 1]) for p in which])
    columns = (jobs.submit, jobs.gap, jobs.wait, jobs.run, jobs.procs)
    submit, gap, wait, run, procs = (values[rows] for values in columns)
    return FitJobs(submit, gap, wait, run, procs, jobs.part[rows], jobs.span)


def _moments(jobs: FitJobs, machine: int) -> Moments:
    S = float(jobs.run.mean()) if jobs.run.size else 0.0
    at_work = float((jobs.run * jobs.procs).sum() / jobs.run.sum()) if jobs.run.sum() else 1.0
    servers = max(1, round(machine / at_work))
    lam = jobs.run.size / (jobs.span * PARTS)
    return Moments(lam, S, _scv(jobs.gap), _scv(jobs.run), servers)


def _scv(values: NDArray[np.float64]) -> float:
    known = values[np.isfinite(values)]
    mean = known.mean() if known.size else 0.0
    return float(known.var() / mean**2) if mean else math.nan


def _recorded(jobs: FitJobs, machine: int) -> dict[str, float]:
    """Return utilization and waits of the record."""
    load = float((jobs.run * jobs.procs).sum() / (jobs.span * PARTS * machine))
    known = jobs.wait[np.isfinite(jobs.wait)]
    if not known.size:
        return {"utilization": load} | dict.fromkeys(WAITS, math.nan)
    median, p90 = metrics.percentiles(known, (50, 90))
    return {
        "utilization": load,
        "mean_wait": float(known.mean()),
        "median_wait": median,
        "p90_wait": p90,
    }


def _row(value: dict[str, float], drawn: Sequence[dict[str, float]]) -> dict[str, float]:
    row: dict[str, float] = {}
    for name, of_all in value.items():
        low, high = _limits([each[name] for each in drawn])
        row |= {name: of_all, f"{name}_low": low, f"{name}_high": high}
    return row


def _limits(values: Sequence[float]) -> tuple[float, float]:
    known = np.array([x for x in values if not math.isnan(x)])
    if not known.size:
        return math.nan, math.nan
    low, high = np.quantile(known, [0.025, 0.975], method="nearest")
    return float(low), float(high)


def _measures(jobs: FitJobs, moments: Moments) -> dict[str, float]:
    """Return the measure of each assumption."""
    start = jobs.submit + jobs.wait
    known = np.isfinite(start)
    latest = np.maximum.accumulate(np.where(known, start, -np.inf))
    overtaking = (start[1:] < latest[:-1])[known[1:]]
    return {
        "Poisson arrivals": moments.scv_arrivals,
        "exponential run times": moments.scv_service,
        "one size": _scv(jobs.procs),
        "first come, first served": float(overtaking.mean()) if overtaking.size else math.nan,
        "stable": moments.load,
    }


#: What is measured for each assumption, the required value and its tolerance.
_TESTS = {
    "Poisson arrivals": ("the SCV of inter-arrival times", 1.0, 0.1),
    "exponential run times": ("the SCV of run times", 1.0, 0.1),
    "one size": ("the SCV of processors per job", 0.0, 0.1),
    "constant rate": ("the SCV of the rate of arrivals per hour", 0.0, 0.01),
    "first come, first served": ("the share of jobs that start before an earlier one", 0.0, 0.05),
    "stable": ("the offered load of a server", 0.0, 1.0),
}


def _excess(counts: NDArray[np.float64]) -> float:
    """Return the SCV of the rate behind counts: their variance beyond that of Poisson counts."""
    mean = counts.mean()
    return float((counts.var() - mean) / mean**2) if mean else math.nan


def _test(
    jobs: FitJobs,
    draws: Sequence[FitJobs],
    moments: Moments,
    drawn: Sequence[Moments],
    rng: np.random.Generator,
) -> tuple[TestedAssumption, ...]:
    """Measure each assumption with its interval."""
    hours = ((jobs.submit - jobs.submit[0]) // _HOUR).astype(np.int64)
    hourly = np.bincount(hours).astype(np.float64)[: max(int(hours[-1]), 1)]  # whole hours
    value = _measures(jobs, moments) | {"constant rate": _excess(hourly)}
    others = [_measures(of, its) for of, its in zip(draws, drawn, strict=True)]
    found = []
    for name, (measure, required, tolerance) in _TESTS.items():
        if name == "constant rate":
            low, high = _limits([_excess(rng.choice(hourly, hourly.size)) for _ in others])
        else:
            low, high = _limits([each[name] for each in others])
        if name == "first come, first served":  # parts are drawn in any order
            low = high = value[name]
        found.append(TestedAssumption(name, measure, value[name], low, high, required, tolerance))
    return tuple(found)
