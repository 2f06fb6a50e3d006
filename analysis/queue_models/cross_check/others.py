"""Jobs of a model for other simulators, and their schedules compared with the theory."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workloadkit.analysis.queue_models.cross_check import estimates
from workloadkit.analysis.queue_models.cross_check.checking import (
    PILOTS,
    RunTask,
    judged_row,
    percentiles,
    play,
    stated_error,
    warmup_of,
)
from workloadkit.analysis.queue_models.cross_check.declared import find_model
from workloadkit.analysis.queue_models.cross_check.estimates import Observed, measure_run
from workloadkit.analysis.queue_models.cross_check.models import in_words, mean_service
from workloadkit.analysis.queue_models.cross_check.points import CheckedPoint, cases_of
from workloadkit.analysis.queue_models.cross_check.result import CrossCheck
from workloadkit.errors import ParameterError, WorkloadError, plural, quoted
from workloadkit.header import Header
from workloadkit.io.batsim.writing import write_batsim
from workloadkit.io.files import writing
from workloadkit.io.formats import read_log
from workloadkit.io.swf.writing import write_swf
from workloadkit.provenance import plain, seed_of
from workloadkit.settings import Crosscheck
from workloadkit.settings.setting import settings_of, takes
from workloadkit.simulation.simulate import simulate
from workloadkit.trace import Trace

#: Written times are whole seconds; a mean service time has at least so many of them.
RESOLUTION = 100_000

EXPECTED = "expected.json"

#: Names of the schedule of a run, in the order of preference.
SCHEDULES = ("{}.schedule.swf", "{}.jobs.csv", "{}_jobs.csv", "{}/jobs.csv")

#: Largest difference of a run time from the written one. [s]
_ROUNDED = 1.0


@takes(Crosscheck)
def write_crosscheck(
    model: str,
    folder: str | os.PathLike[str],
    settings: Crosscheck | None = None,
    **parameters: Any,
) -> Path:
    """Write the jobs of a model for another simulator, with the values that theory expects.

    Each run is a log, `run-01.swf`, and the same as a workload of Batsim, `run-01.json`. Times are
    whole seconds: the unit of the model is a power of ten of seconds, such that the mean service
    time is at least 100,000 s and rounding does not matter. `expected.json` has the expected
    values, the machine and the policy. `judge_schedules` compares the other simulator's schedules.

    Parameters
    ----------
    model : str
        An open model of `crosscheck`: closed users react to the simulator, which a log cannot.
    folder : str or path
        Made if it does not exist.
    settings : workloadkit.settings.Crosscheck, optional
        The keyword-only settings as one object; keywords take precedence.
    **parameters
        Parameters of the model, numbers.
    {settings}

    Returns
    -------
    Path
        The file of expected values.

    Raises
    ------
    ParameterError
        For an unknown model or parameter, a grid, or a model whose users react.
    WorkloadError
        If a file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_crosscheck("mm1", folder, lam=0.5, S=1, runs=2, jobs=100, rng=1)
    ...     sorted(file.name for file in path.parent.iterdir())
    ['expected.json', 'run-01.json', 'run-01.swf', 'run-02.json', 'run-02.swf']
    """
    of_settings = {
        name: parameters.pop(name) for name in settings_of(Crosscheck) if name in parameters
    }
    chosen = Crosscheck.of(settings, of_settings)
    declared = find_model(model)
    seed, jobs = seed_of(chosen.rng), int(chosen.jobs)
    cases = cases_of(declared, [parameters], jobs)
    if len(cases) > 1:
        raise ParameterError("parameters form a grid; the jobs of one point are written")
    (case,) = cases
    if declared.on_sites or not _open(case):
        raise ParameterError(
            f"{quoted(model)} is not written: its users react, or it is no single queue"
        )
    groups = ("all",)
    tasks = [
        RunTask(case.users, case.processors, declared.policy, False, stream, groups)
        for stream in np.random.default_rng(seed).spawn(PILOTS + int(chosen.runs))
    ]
    warmup, _ = warmup_of([play(task).series for task in tasks[:PILOTS]])
    unit = 10.0 ** np.ceil(np.log10(RESOLUTION / mean_service(case.point)))
    target = Path(folder)
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WorkloadError(f"{target}: cannot be made: {error.strerror}") from None
    names = [f"run-{number:02d}" for number in range(1, int(chosen.runs) + 1)]
    for name, task in zip(names, tasks[PILOTS:], strict=True):
        log = _log_of(task, unit)
        write_swf(log, target / f"{name}.swf")
        write_batsim(log, target / f"{name}.json")
    expected = {
        "model": model,
        "parameters": {k: in_words(v, mean_service(case.point)) for k, v in case.point.items()},
        "exactness": str(case.theory.exactness),
        "processors": case.processors,
        "policy": declared.policy,
        "unit": unit,
        "runs": names,
        "jobs": jobs,
        "seed": seed,
        "warmup": warmup,
        "measures": list(_expected(case, declared, tuple(map(float, chosen.quantiles)), unit)),
    }
    text = json.dumps(plain(expected), indent=2, allow_nan=False) + "\n"
    with writing(target / EXPECTED) as stream:
        stream.write(text.encode())
    return target / EXPECTED


def _open(case: CheckedPoint) -> bool:
    from workloadkit.simulation import users

    made = case.users(np.random.default_rng(0)) if callable(case.users) else case.users
    return isinstance(made, users.Poisson)


def _log_of(task: RunTask, unit: float) -> Trace:
    """Return the jobs of a run as a log in whole seconds."""
    population = task.users(task.stream) if callable(task.users) else task.users
    w = simulate(None, task.policy, population, procs=task.processors, rng=task.stream).workload
    columns = {
        "job": np.arange(1, w.run.size + 1),
        "submit": np.rint(w.submit * unit),
        "run": np.maximum(np.rint(w.run * unit), 1),
        "procs": w.procs,
        "requested_procs": w.procs,
    }
    header = Header(("; Version: 2.2", f"; MaxProcs: {task.processors}"))
    return Trace.from_columns(columns, header=header)


def _expected(
    case: CheckedPoint, declared: Any, shares: tuple[float, ...], unit: float
) -> Iterator[dict[str, Any]]:
    """Yield the expected measures of all jobs in seconds; those without a stated error too."""
    theory = case.theory
    scale = {"X": 1 / unit, "R": unit}
    for measure in declared.measured(case.point):
        if measure.kind in ("X", "R", "Q", "U"):
            stated = stated_error(theory.exactness, measure.name, measure.of)
            value = measure.of_theory(theory) * scale.get(measure.kind, 1.0)
            yield {"measure": measure.label, "kind": measure.kind, "group": measure.group,
                   "theory": value, "stated": stated}  # fmt: skip
    for law in declared.laws(case.point):
        for share, value in zip(shares, percentiles(theory, shares, law.job), strict=True):
            name = f"{law.name}_p{100 * share:g}"
            stated = stated_error(theory.exactness, name, (name,))
            yield {"measure": name, "kind": "quantile", "group": law.group, "share": share,
                   "theory": value * unit, "stated": stated}  # fmt: skip
    yield {"measure": "Q/(X R)", "kind": "little", "group": "all", "theory": 1.0, "stated": 0.0}


def judge_schedules(folder: str | os.PathLike[str]) -> CrossCheck:
    """Judge the schedules that another simulator made of the jobs of `write_crosscheck`.

    The schedule of `run-01.swf` is `run-01.schedule.swf`, a log with waits, or Batsim's table of
    jobs: `run-01_jobs.csv`, `run-01.jobs.csv` or `run-01/jobs.csv`. It must have the same jobs,
    with the same submit and run times, no start before the submission, and no more processors in
    use than the machine has. Means, quantiles, utilization and Little's law are then compared with
    the theory as in `crosscheck`, after the same warm-up.

    Parameters
    ----------
    folder : str or path

    Returns
    -------
    CrossCheck
        Its `exactness` is that of the theory; times are in seconds.

    Raises
    ------
    WorkloadError
        If a file is missing or unreadable, or a schedule is not one of the written jobs.

    Examples
    --------
    >>> import tempfile
    >>> import workloadkit as wk
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write_crosscheck("mm1", folder, lam=0.5, S=1, runs=2, jobs=1000, rng=1)
    ...     for name in ("run-01", "run-02"):
    ...         schedule = wk.simulate(wk.read_swf(f"{folder}/{name}.swf"), "fcfs")
    ...         _ = wk.write_swf(schedule.trace(), f"{folder}/{name}.schedule.swf")
    ...     judge_schedules(folder).holds
    True
    """
    source = Path(folder)
    expected = _read_expected(source / EXPECTED)
    names = expected["runs"]
    found = [measure_run(_observed(source, name, expected), expected["warmup"]) for name in names]
    rows = []
    for measure in expected["measures"]:
        if measure["kind"] == "quantile":
            value = estimates.quantile(found, measure["share"], measure["group"])
        else:
            value = estimates.estimate(found, measure["kind"], measure["group"])
        if measure["kind"] == "U":
            servers = expected["processors"]
            value = estimates.Estimate(value.value / servers, value.error / servers)
        theory, stated = (
            np.nan if x is None else x for x in (measure["theory"], measure["stated"])
        )
        rows.append(judged_row(measure["measure"], theory, value, len(found), stated))
    of_point = expected["parameters"]
    point = {
        **of_point,
        "exactness": expected["exactness"],
        "warmup": expected["warmup"],
        "settled": True,
        "independent": estimates.independent(found, "all"),
    }
    simulation = {key: expected[key] for key in ("jobs", "seed")} | {"runs": len(names)}
    table = pd.DataFrame([{"point": 0, **of_point, **row} for row in rows])
    return CrossCheck(expected["model"], table, pd.DataFrame([point]), simulation)


def _read_expected(path: Path) -> dict[str, Any]:
    try:
        expected = json.loads(path.read_text())
    except OSError as error:
        raise WorkloadError(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError:
        raise WorkloadError(f"{path}: not JSON") from None
    keys = ("model", "parameters", "exactness", "processors", "runs", "jobs", "seed", "warmup")
    missing = [
        key for key in (*keys, "measures") if not (isinstance(expected, dict) and key in expected)
    ]
    if missing:
        raise WorkloadError(f"{path}: has no {missing[0]}; `crosscheck --write` makes this file")
    return expected


def _observed(source: Path, name: str, expected: dict[str, Any]) -> Observed:
    """Read the schedule of a run, and check that it is one of the written jobs."""
    places = [source / form.format(name) for form in SCHEDULES]
    path = next((place for place in places if place.exists()), None)
    if path is None:
        raise WorkloadError(f"{source}: no schedule of {name}; write {places[0].name}")
    jobs, made = read_log(source / f"{name}.swf"), read_log(path)
    order = [np.argsort(log.column("job"), kind="stable") for log in (jobs, made)]
    numbers, seen = (log.column("job")[at] for log, at in zip((jobs, made), order, strict=True))
    if not np.array_equal(numbers, seen):
        lost = np.setxor1d(numbers, seen)
        raise WorkloadError(
            f"{path}: not the jobs of {name}.swf: {plural(lost.size, 'job')} differ, such as "
            f"{lost[0] if lost.size else seen[0]:g}"
        )
    submit, run, procs, wait, ran = (
        np.asarray(log.column(field), dtype=np.float64)[at]
        for log, field, at in (
            (jobs, "submit", order[0]), (jobs, "run", order[0]), (jobs, "procs", order[0]),
            (made, "wait", order[1]), (made, "run", order[1]),
        )
    )  # fmt: skip
    start = np.asarray(made.column("submit"), dtype=np.float64)[order[1]] + wait
    for wrong, what in (
        (~(start >= submit - _ROUNDED), "starts before its submission, or never"),
        (np.abs(ran - run) > _ROUNDED, "runs for another time than written"),
    ):
        if wrong.any():
            raise WorkloadError(f"{path}: job {numbers[np.argmax(wrong)]:g} {what}")
    _hold_machine(path, start, start + run, procs, expected["processors"])
    rows = np.argsort(submit, kind="stable")
    everyone = np.ones(rows.size, np.bool_)
    return Observed(
        submit[rows], start[rows], (start + run)[rows], procs[rows], {"all": everyone}, rows.size
    )


def _hold_machine(
    path: Path, start: np.ndarray, end: np.ndarray, procs: np.ndarray, machine: int
) -> None:
    """Check that no more processors are in use than the machine has; ends precede starts."""
    times = np.concatenate([end - _ROUNDED, start])
    change = np.concatenate([-procs, procs])
    order = np.lexsort((change, times))
    used = np.cumsum(change[order])
    if used.max() > machine:
        at = times[order][int(np.argmax(used > machine))]
        raise WorkloadError(f"{path}: {used.max():g} processors in use at {at:g} s, of {machine}")
