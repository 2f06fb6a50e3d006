"""Compare queueing models with simulations of the same parameters."""

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.analysis.queue_models.cross_check import estimates
from workloadkit.analysis.queue_models.cross_check.declared import find_model
from workloadkit.analysis.queue_models.cross_check.estimates import (
    Group,
    MeasuredRun,
    Observed,
    measure_run,
    mser,
    observe,
    starts_on_sites,
)
from workloadkit.analysis.queue_models.cross_check.models import (
    CheckedModel,
    ModelMeasure,
    in_words,
    mean_service,
)
from workloadkit.analysis.queue_models.cross_check.points import CheckedPoint, cases_of
from workloadkit.analysis.queue_models.cross_check.result import CrossCheck
from workloadkit.errors import WorkloadWarning, plural
from workloadkit.experiments.intervals import student_t
from workloadkit.provenance import plain, seed_of
from workloadkit.queueing.errors import QueueingError
from workloadkit.settings import Crosscheck
from workloadkit.settings.setting import settings_of, takes
from workloadkit.simulation.simulate import simulate

if TYPE_CHECKING:
    from concurrent.futures import Executor

#: Maximum number of pilot runs for the warm-up; they are not measured.
PILOTS = 5

#: Confidence of the intervals.
CONFIDENCE = 0.95

#: Minimum number of independent responses per run, given their autocorrelation. Shorter runs do
#: not show whether the warm-up is over.
LEAST = 20

#: Fewest jobs of a run of a simulation that takes longer.
FEWEST = 100

#: Largest resolution of the simulated time, in mean service times, for measuring responses.
COARSE = 1e-3

#: Relative rounding error of sums of many times.
ROUNDING = 1e-9


class RunTask(NamedTuple):
    """A run to simulate.

    Parameters
    ----------
    users : object
        Simulated users; or a function of the stream that returns them, or an `Observed`.
    processors : int
        Processors of the machine.
    policy : str
        Policy of the scheduler.
    on_sites : bool
        Whether each processor is a site.
    stream : Generator
    groups : tuple of str
        Measured groups of jobs.
    warmup : int, optional
        Jobs before the measured ones; None in a pilot run.
    """

    users: Any
    processors: int
    policy: str
    on_sites: bool
    stream: np.random.Generator
    groups: tuple[Group, ...]
    warmup: int | None = None


@takes(Crosscheck)
def crosscheck(
    model: str,
    settings: Crosscheck | None = None,
    *,
    executor: "Executor | None" = None,
    progress: Callable[[int, int], Any] | None = None,
    **parameters: Any,
) -> CrossCheck:
    """Compare a queueing model with its simulation.

    The reference is the toolkit's own simulator: first come, first served, jobs of one processor,
    and as many processors as servers. Each measure follows its definition: X from the departures in
    the window, Q as the time average of the number in the system, U from busy time, R and its
    percentiles from the jobs submitted in the window.

    The warm-up is determined by MSER-5 in separate pilot runs: a warm-up that depends on the
    measured runs would bias them. MSER-5 is applied to the responses and the inter-arrival times,
    each averaged over the pilot runs.

    Successive responses are correlated, so no error is computed from the jobs within a run:
    standard errors are jackknife estimates over the independent runs, and intervals use Student's t
    with one degree of freedom fewer than runs.

    The allowed difference is 4 standard errors, plus the stated error of an approximation, relative
    to the simulation. A standard error estimated from few runs is often too small, so the factor is
    the quantile of Student's t with the probability of 4 standard deviations: 7.0 for ten runs, 4.7
    for thirty, 4.2 for a hundred. A measure of a correct theory then fails once in 16,000 cases, so
    a grid of hundreds of points needs no further correction. If an approximation does not state
    them, the errors of U and of the jobs per user are those of X, and the error of Q is that of X
    and R; a measure without any stated error is shown but not judged.

    Parameters
    ----------
    model : str
        Such as "mm1" or "mixed"; `workloadkit help crosscheck-models` lists all, with their
        parameters. Those with formulas are models of `queueing`; poisson is mm1, and think is
        closed. sites is mmc, and its simulation a metasystem: a meta-scheduler sends each job to
        the site with the least remaining work, of as many sites of one processor as there are
        servers.
    settings : workloadkit.settings.Crosscheck, optional
        The keyword-only settings as one object; keywords take precedence. Each run has its own
        random stream, spawned from the seed.
    executor : Executor, optional
        Executor of the simulations; by default this process. It does not affect the result.
    progress : callable, optional
        Called with the numbers of finished and of all simulations.
    **parameters
        Parameters of the model: lam, N, Z, S, p, servers and method, as in `queueing`. Arrays are
        broadcast like in numpy and form a grid. The time unit is the second of the simulation.
    {settings}

    Raises
    ------
    ParameterError
        For an unknown model or parameter, or a value that the theory rejects.

    Warns
    -----
    WorkloadWarning
        If points of a grid are left out because they have no solution; if runs are too short: for
        their warm-up, or because the responses of a run are worth fewer than 20 independent ones
        (near saturation, this takes many thousands of jobs); and if jobs are so rare that the
        resolution of simulated times is too coarse.

    Examples
    --------
    >>> found = crosscheck("mm1", lam=0.5, S=1, runs=5, jobs=1000, rng=1)
    >>> found.holds
    True
    >>> row = found.table.set_index("measure").loc["R"]
    >>> print(row["theory"], round(row["simulation"], 2))
    2.0 2.02
    """
    of_settings = {
        name: parameters.pop(name) for name in settings_of(Crosscheck) if name in parameters
    }
    combined = Crosscheck.of(settings, of_settings)
    return crosscheck_grids(model, [parameters], combined, executor=executor, progress=progress)


def crosscheck_grids(
    model: str,
    grids: Iterable[Mapping[str, Any]],
    settings: Crosscheck,
    *,
    executor: "Executor | None" = None,
    progress: Callable[[int, int], Any] | None = None,
) -> CrossCheck:
    """Return one result for several grids of the same model, such as one per p.

    Parameters
    ----------
    grids : iterable of mapping
        Parameters of each grid.
    settings, executor, progress
        See `crosscheck`.
    """
    chosen = find_model(model)
    runs, jobs = int(settings.runs), int(settings.jobs)
    shares = tuple(map(float, settings.quantiles))
    seed = seed_of(settings.rng)
    grids = list(grids)
    jobs = max(jobs // chosen.fewer, FEWEST)
    cases = cases_of(chosen, grids, jobs)
    tasks = []
    pilots = min(runs, PILOTS)
    for case, stream in zip(cases, np.random.default_rng(seed).spawn(len(cases)), strict=True):
        groups = _groups(chosen, case)
        streams = stream.spawn(pilots + runs)
        what = case.users, case.processors, chosen.policy, chosen.on_sites
        tasks.append([RunTask(*what, each, groups) for each in streams])
    n_done, total = count(1), len(cases) * (pilots + runs)

    def done() -> None:
        if progress is not None:
            progress(next(n_done), total)

    piloted = _run_all(executor, [task for of_case in tasks for task in of_case[:pilots]], done)
    warmups = [warmup_of([next(piloted) for _ in range(pilots)]) for _ in cases]
    measured = _run_all(
        executor,
        [
            task._replace(warmup=warmup)
            for of_case, (warmup, _) in zip(tasks, warmups, strict=True)
            for task in of_case[pilots:]
        ],
        done,
    )
    rows: list[dict[str, Any]] = []
    points: list[dict[str, Any]] = []
    coarse = 0
    for case, (warmup, settled) in zip(cases, warmups, strict=True):
        found = [next(measured) for _ in range(runs)]
        point = _described(chosen, case, found, warmup=warmup, settled=settled)
        parameters = {name: point[name] for name in case.point}
        rows += [
            {"point": len(points), **parameters, **row}
            for row in _rows(chosen, case, found, shares)
        ]
        points.append(point)
        coarse += np.spacing(found[0].span) > COARSE * mean_service(case.point)
    _warn(points, jobs, coarse)
    return CrossCheck(
        model,
        pd.DataFrame(rows),
        pd.DataFrame(points),
        plain({"runs": runs, "jobs": jobs, "seed": seed, "quantiles": shares}),
    )


def _described(
    model: CheckedModel, case: CheckedPoint, found: list[Any], **begin: Any
) -> dict[str, Any]:
    """Return the parameters of a point, how exact its theory is, and what a run is worth."""
    worth = [
        estimates.independent(found, measure.group)
        for measure in model.measured(case.point)
        if measure.kind == "R"
    ]
    service = mean_service(case.point)
    return {
        **{name: in_words(value, service) for name, value in case.point.items()},
        "exactness": str(case.theory.exactness),
        **begin,
        "independent": min(worth),
    }


def _groups(model: CheckedModel, case: CheckedPoint) -> tuple[Group, ...]:
    groups = [measure.group for measure in model.measured(case.point)]
    groups += [law.group for law in model.laws(case.point)]
    return tuple(dict.fromkeys(groups))


def _run_all(
    executor: "Executor | None", tasks: list[RunTask], done: Callable[[], None]
) -> Iterator[Any]:
    """Yield the result of each task in order; call `done` after each."""
    for found in map(_simulate, tasks) if executor is None else executor.map(_simulate, tasks):
        done()
        yield found


def _simulate(task: RunTask) -> MeasuredRun | NDArray[np.float64]:
    """Simulate a run; return its measures, or for a pilot run the series for the warm-up."""
    observed = play(task)
    return observed.series if task.warmup is None else measure_run(observed, task.warmup)


def play(task: RunTask) -> Observed:
    """Play a run: by the simulator, or by the model's simulation of its own."""
    population = task.users(task.stream) if callable(task.users) else task.users
    if isinstance(population, Observed):
        return population
    schedule = simulate(None, task.policy, population, procs=task.processors, rng=task.stream)
    if task.on_sites:
        schedule = replace(schedule, start=starts_on_sites(schedule, task.processors))
    return observe(schedule, task.groups)


def warmup_of(pilots: Sequence[NDArray[np.float64]]) -> tuple[int, bool]:
    """Return the number of warm-up jobs, and whether the runs are long enough for it."""
    least = min(pilot.shape[1] for pilot in pilots)  # of a station that loses jobs
    found = [mser(series) for series in np.mean([pilot[:, :least] for pilot in pilots], axis=0)]
    return max(left_out for left_out, _ in found), all(settled for _, settled in found)


def _warn(points: Sequence[Mapping[str, Any]], jobs: int, coarse: int) -> None:
    """Warn of points with runs that are too short or times that are too coarse."""
    short = sum(not point["settled"] for point in points)
    few = sum(not point["independent"] >= LEAST for point in points)
    too_few = f"{jobs:,} jobs are too few"
    for bad, problem in (
        (short, f"the warm-up is not over after half of the jobs: {too_few}"),
        (few, f"the responses of a run are worth fewer than {LEAST} independent ones: {too_few}"),
        (coarse, "jobs are so rare that floating-point times cannot resolve service times"),
    ):
        if bad:
            warnings.warn(
                f"at {bad:,} of {plural(len(points), 'point')} {problem}",
                WorkloadWarning,
                stacklevel=4,
            )


def _rows(
    model: CheckedModel, case: CheckedPoint, runs: Sequence[MeasuredRun], shares: Sequence[float]
) -> Iterator[dict[str, Any]]:
    """Yield the measures of a point by theory and simulation."""
    theory = case.theory
    for measure in model.measured(case.point):
        value = measure.of_theory(theory)
        found = estimates.estimate(runs, measure.kind, measure.group)
        if measure.kind == "U":  # per server
            servers = _servers(case.point, measure)
            found = estimates.Estimate(found.value / servers, found.error / servers)
        stated = stated_error(theory.exactness, measure.name, measure.of)
        yield judged_row(measure.label, value, found, len(runs), stated)
    for law in model.laws(case.point):
        values = percentiles(theory, shares, law.job)
        for share, value in zip(shares, values, strict=True):
            name = f"{law.name}_p{100 * share:g}"
            found = estimates.quantile(runs, share, law.group)
            stated = stated_error(theory.exactness, name, (name,))
            yield judged_row(name, value, found, len(runs), stated)


def _servers(point: Mapping[str, Any], measure: ModelMeasure) -> float:
    """Return the servers over which the utilization is averaged; 1 for a delay station."""
    given = np.asarray(point.get("servers", 1.0), dtype=np.float64)
    servers = float(given[measure.place[-1]] if given.ndim and measure.place else given)
    return servers if math.isfinite(servers) else 1.0


def judged_row(
    measure: str, theory: float, found: estimates.Estimate, runs: int, stated: float
) -> dict[str, Any]:
    """Return the row of a measure; `stated` is the theory's relative error, NaN if unknown."""
    value, error = found
    difference = value - theory
    half = student_t(CONFIDENCE, runs - 1) * error
    rounding = ROUNDING * abs(theory)
    # the stated error is relative to the true value, estimated by the simulation
    allowed = estimates.allowance(runs) * error + stated * abs(value) + rounding
    by_chance = abs(difference) <= rounding
    judged = math.isfinite(allowed) and math.isfinite(difference)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = 0.0 if by_chance else float(np.float64(difference) / error)
    return {
        "measure": measure,
        "theory": theory,
        "simulation": value,
        "error": error,
        "low": value - half,
        "high": value + half,
        "z": estimates.deviate(t, runs),
        "stated": stated,
        "allowed": allowed,
        "holds": abs(difference) <= allowed if judged else None,
    }


def stated_error(exactness: Any, measure: str, of: Sequence[str]) -> float:
    """Return the stated relative error of a measure, or the product of its parts', or NaN."""
    if exactness.startswith("exact"):
        return 0.0
    if measure in exactness.error:
        return float(exactness.error[measure])
    return float(np.prod([1 + exactness.error.get(name, math.nan) for name in of]) - 1)


def percentiles(theory: Any, shares: Sequence[float], job: str) -> list[float]:
    """Return percentiles of the theory; NaN if it has none."""
    try:
        return np.asarray(theory.ppf(shares, job=job), dtype=np.float64).tolist()
    except QueueingError:
        return [math.nan] * len(shares)
