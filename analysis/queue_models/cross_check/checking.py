"""Set queueing models beside simulations of the same parameters."""

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.queue_models.cross_check import estimates
from analysis.queue_models.cross_check.measuring import Run, Who, look
from analysis.queue_models.cross_check.models import Model, find_model, in_words
from analysis.queue_models.cross_check.points import Case, cases_of
from analysis.queue_models.cross_check.result import CrossCheck
from analysis.queue_models.cross_check.warmup import mser
from queueing.errors import QueueingError
from workloadkit.errors import WorkloadWarning
from workloadkit.experiments.intervals import student_t
from workloadkit.provenance import plain, seed_of
from workloadkit.settings import Crosscheck
from workloadkit.settings.setting import settings_of, takes
from workloadkit.simulation.simulate import simulate

if TYPE_CHECKING:
    from concurrent.futures import Executor

#: Runs that the warm-up is found in, at most; they are not measured.
PILOTS = 5

#: Confidence of the intervals.
CONFIDENCE = 0.95

#: Independent responses that a run must be worth, by the correlation of those that follow one
#: another. Of a run that is worth fewer no rule can tell whether it has left its beginning.
LEAST = 20

#: Steps of the simulated time, in mean service times, that are too long to measure responses.
COARSE = 1e-3

#: Relative error that sums of many times may have by rounding.
ROUNDING = 1e-9


class Task(NamedTuple):
    """A run.

    Parameters
    ----------
    users : object
    processors : int
        Of their machine.
    stream : Generator
    whose : tuple of str
        Whose jobs are measured.
    warmup : int, optional
        Jobs before the measured ones; None in a run that the warm-up is to be found in.
    """

    users: Any
    processors: int
    stream: np.random.Generator
    whose: tuple[Who, ...]
    warmup: int | None = None


@takes(Crosscheck)
def crosscheck(
    model: str,
    settings: Crosscheck | None = None,
    *,
    executor: "Executor | None" = None,
    **parameters: Any,
) -> CrossCheck:
    """Simulate the parameters of a queueing model, and tell whether theory and simulation agree.

    The judge is the toolkit's own simulator: first come, first served, jobs of one processor on a
    machine of as many as there are servers. Each measure is taken by its definition: X from the
    departures in the window, Q as the time average of the number in the system, U from busy time,
    R and its percentiles from the jobs submitted in the window.

    The warm-up is found by MSER-5, in runs that are not measured: a number of jobs that depended
    on the measured ones would bias them. It looks at the responses and at the times between
    submissions, each averaged over these runs.

    Responses that follow one another are alike, so nothing is reckoned from the jobs of one run:
    standard errors are by leaving out whole runs, which are independent, and the intervals by
    Student's t of one degree of freedom less than runs.

    What is allowed are 4 standard errors, and for an approximation its stated error besides,
    relative to the simulation. A standard error that is itself estimated, from few runs, is often
    too small: by Student's t, 4.7 of those of thirty runs are as rare as 4 of a normal law, 7.0 of
    ten and 4.2 of a hundred, and so many are taken. A measure of a right theory is then refused
    once in 16,000 times, so that a grid of hundreds needs no further allowance. Where an
    approximation states none for them, the errors of U and of the jobs of a user are those of X,
    and that of Q is that of X and R; else what it states no error of is shown and not judged.

    Parameters
    ----------
    model : {"poisson", "mm1", "mmc", "md1", "closed", "think", "mixed", "reopen"}
        As in `queueing`; poisson is mm1 and think is closed.
    settings : workloadkit.settings.Crosscheck, optional
        The last ones in one object; keywords count first. Each run has a stream of its own, spawned
        from the seed.
    executor : Executor, optional
        Who does the simulations; by default this process. The result is the same.
    **parameters
        Of the model: lam, N, Z, S, p, servers and method, with the names and forms that they have
        in `queueing`. Arrays broadcast as numpy does: a grid. The unit of time is the second of
        the simulation, whatever it stands for.
    {settings}

    Returns
    -------
    CrossCheck

    Raises
    ------
    ParameterError
        For an unknown model or parameter, and a value that the theory refuses.

    Warns
    -----
    WorkloadWarning
        Where points of a grid are left out because they have no answer, and where runs are too
        short to judge: for their warm-up, or because a run, by the correlation of its responses,
        is worth fewer than 20 independent ones. Near saturation that is many thousands of jobs.
        Also where jobs are so rare that times of the simulation are too coarse to measure them.

    Examples
    --------
    >>> found = crosscheck("mm1", lam=0.5, S=1, runs=5, jobs=5000, rng=1)
    >>> found.holds
    True
    >>> row = found.table.set_index("measure").loc["R"]
    >>> print(row["theory"], round(row["simulation"], 2))
    2.0 2.03
    """
    of_settings = {
        name: parameters.pop(name) for name in settings_of(Crosscheck) if name in parameters
    }
    asked = Crosscheck.of(settings, of_settings)
    return crosscheck_grids(model, [parameters], asked, executor=executor)


def crosscheck_grids(
    model: str,
    grids: Iterable[Mapping[str, Any]],
    settings: Crosscheck,
    *,
    executor: "Executor | None" = None,
) -> CrossCheck:
    """Return one result of several grids of the same model, such as one for each p.

    Parameters
    ----------
    model : str
    grids : iterable of mapping
        The parameters of each.
    settings, executor
        As of `crosscheck`.
    """
    chosen = find_model(model)
    runs, jobs = int(settings.runs), int(settings.jobs)
    shares = tuple(map(float, settings.quantiles))
    seed = seed_of(settings.rng)
    grids = list(grids)
    cases = cases_of(chosen, grids, jobs)
    tasks = []
    pilots = min(runs, PILOTS)
    for case, stream in zip(cases, np.random.default_rng(seed).spawn(len(cases)), strict=True):
        whose = _whose(chosen, case)
        streams = stream.spawn(pilots + runs)
        tasks.append([Task(case.users, case.processors, each, whose) for each in streams])
    begun = _done(executor, [task for of_case in tasks for task in of_case[:pilots]])
    warmups = [_warmup([next(begun) for _ in range(pilots)]) for _ in cases]
    measured = _done(
        executor,
        [
            task._replace(warmup=warmup)
            for of_case, (warmup, _) in zip(tasks, warmups, strict=True)
            for task in of_case[pilots:]
        ],
    )
    rows: list[dict[str, Any]] = []
    points: list[dict[str, Any]] = []
    coarse = 0
    for case, (warmup, settled) in zip(cases, warmups, strict=True):
        told = {k: in_words(v, case.point["S"]) for k, v in case.point.items()}
        found = [next(measured) for _ in range(runs)]
        rows += [
            {"point": len(points), **told, **row} for row in _rows(chosen, case, found, shares)
        ]
        worth = [estimates.independent(found, law.who) for law in chosen.responses(case.point)]
        points.append(
            {
                **told,
                "exactness": str(case.theory.exactness),
                "warmup": warmup,
                "settled": settled,
                "independent": min(worth),
            }
        )
        coarse += np.spacing(found[0].span) > COARSE * case.point["S"]
    _warn(points, jobs, coarse)
    return CrossCheck(
        model,
        pd.DataFrame(rows),
        pd.DataFrame(points),
        plain({"runs": runs, "jobs": jobs, "seed": seed, "quantiles": shares}),
    )


def _whose(model: Model, case: Case) -> tuple[Who, ...]:
    whose = [measure.who for measure in model.measures(case.point)]
    whose += [law.who for law in model.responses(case.point)]
    return tuple(dict.fromkeys(whose))


def _done(executor: "Executor | None", tasks: list[Task]) -> Iterator[Any]:
    return map(_work, tasks) if executor is None else executor.map(_work, tasks)


def _work(task: Task) -> Run | NDArray[np.float64]:
    """Simulate a run; return what it has seen, or the series that the warm-up is found in."""
    schedule = simulate(None, "fcfs", task.users, procs=task.processors, rng=task.stream)
    if task.warmup is None:
        submit = schedule.workload.submit
        return np.stack([schedule.end - submit, np.diff(submit, prepend=0.0)])
    return look(schedule, task.warmup, task.whose)


def _warmup(pilots: Sequence[NDArray[np.float64]]) -> tuple[int, bool]:
    """Return the jobs of the warm-up, and whether the runs are long enough for it."""
    found = [mser(series) for series in np.mean(pilots, axis=0)]
    return max(left_out for left_out, _ in found), all(settled for _, settled in found)


def _warn(points: Sequence[Mapping[str, Any]], jobs: int, coarse: int) -> None:
    """Say where runs are too short to judge, or their times too coarse."""
    short = sum(not point["settled"] for point in points)
    few = sum(not point["independent"] >= LEAST for point in points)
    too_few = f"{jobs:,} jobs are too few to judge"
    for bad, told in (
        (short, f"the warm-up is not over after half of the jobs: {too_few}"),
        (few, f"a run is worth fewer than {LEAST} independent responses: {too_few}"),
        (coarse, "jobs are so rare that floating point numbers tell no service times apart"),
    ):
        if bad:
            warnings.warn(
                f"at {bad:,} of {len(points):,} points {told}", WorkloadWarning, stacklevel=4
            )


def _rows(
    model: Model, case: Case, runs: Sequence[Run], shares: Sequence[float]
) -> Iterator[dict[str, Any]]:
    """Set the measures of a point beside one another."""
    theory = case.theory
    for measure in model.measures(case.point):
        value = float(getattr(theory, measure.name))
        found = estimates.estimate(runs, measure.kind, measure.who)
        if measure.kind == "U":  # of each server
            servers = case.point.get("servers", 1.0)
            found = estimates.Estimate(found.value / servers, found.error / servers)
        stated = _stated(theory.exactness, measure.name, measure.of)
        yield _row(measure.name, value, found, len(runs), stated)
    for law in model.responses(case.point):
        values = _percentiles(theory, shares, law.job)
        for share, value in zip(shares, values, strict=True):
            name = f"{law.name}_p{100 * share:g}"
            found = estimates.quantile(runs, share, law.who)
            stated = _stated(theory.exactness, name, (name,))
            yield _row(name, value, found, len(runs), stated)


def _row(
    measure: str, theory: float, found: estimates.Estimate, runs: int, stated: float
) -> dict[str, Any]:
    """Return the row of a measure; `stated` is the theory's relative error, NaN if not known."""
    value, error = found
    difference = value - theory
    half = student_t(CONFIDENCE, runs - 1) * error
    rounding = ROUNDING * abs(theory)
    # the simulation stands for the truth, of which the stated error is a part
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


def _stated(exactness: Any, measure: str, of: Sequence[str]) -> float:
    """Return the relative error stated of a measure, or of what makes it up, or NaN."""
    if exactness.startswith("exact"):
        return 0.0
    if measure in exactness.error:
        return float(exactness.error[measure])
    return float(np.prod([1 + exactness.error.get(name, math.nan) for name in of]) - 1)


def _percentiles(theory: Any, shares: Sequence[float], job: str) -> list[float]:
    """Return percentiles of the theory; NaN if it has none."""
    try:
        return np.asarray(theory.ppf(shares, job=job), dtype=np.float64).tolist()
    except QueueingError:
        return [math.nan] * len(shares)
