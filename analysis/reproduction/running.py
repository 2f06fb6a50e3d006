"""Run a study on the available logs, and compare its results with those of another machine."""

import csv
import io
import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from workloadkit import __version__
from workloadkit.analysis.reproduction.findings import Findings, digits
from workloadkit.analysis.reproduction.logs import Log
from workloadkit.analysis.reproduction.study import (
    Claim,
    Drawing,
    Kind,
    Reading,
    Result,
    Study,
    StudyInput,
    choose,
)
from workloadkit.errors import WorkloadError, WorkloadWarning, takes_rng

if TYPE_CHECKING:
    from concurrent.futures import Executor

    import numpy as np

    from workloadkit.experiments.kept_tasks import Kept


#: Default seed, so that the numbers of a study are the same wherever it runs.
SEED = 0


class KeptResults(NamedTuple):
    """Where the results of finished tasks are kept.

    Parameters
    ----------
    folder : Path, optional
        Folder of a hidden file with the results until all tasks are done, so that an interrupted
        study can resume.
    until : ExitStack, optional
        Keeps the hidden files of several studies until it is closed.
    done : dict of str to Kept, optional
        Results by task, so that several studies share equal ones.
    """

    folder: Path | None = None
    until: ExitStack | None = None
    done: "dict[str, Kept] | None" = None


@takes_rng
def run_study(
    study: Study,
    logs: Sequence[Log],
    *,
    runs: int | None = None,
    reading: Iterable[str] | Reading = (),
    rng: "int | np.random.Generator | None" = None,
    executor: "Executor | None" = None,
    keeping: KeptResults | None = None,
    progress: Callable[[int, int], Any] | None = None,
) -> Findings:
    """Run a study on the available logs.

    Parameters
    ----------
    study : Study
    logs : sequence of Log
    runs : int, optional
        Number of random runs; by default that of the study.
    reading : iterable of str, or mapping of str to str
        Options for the choices that the source leaves open, each as ``axis=option``.
    rng : int or Generator, optional
        Seed 0 by default. Task i gets the i-th stream spawned from it, so that results do not
        depend on the number of workers.
    executor : Executor, optional
        Runs the tasks; by default this process.
    keeping : KeptResults, optional
        Where the results of finished tasks are kept; by default nowhere.
    progress : callable, optional
        Called with the number of finished tasks and the number of all tasks so far.

    Raises
    ------
    ParameterError
        If the study has no such axis or option.

    Warns
    -----
    WorkloadWarning
        For each log that was repaired while reading, and if `runs` or `rng` is given although
        nothing is random.

    Examples
    --------
    >>> from workloadkit.analysis.reproduction import ALL_LOGS, Result, Study, printed
    >>> def compare(plan, each):
    ...     yield Result(ALL_LOGS, printed("slope", 2.0, "Figure 1", main=True), 2.05)
    >>> findings = run_study(Study("lines", "Lines.", "A. Uthor, 2001", {}, compare), [])
    >>> [result.verdict for result in findings.results]
    ['reproduced']
    """
    from workloadkit.experiments.kept_tasks import kept_tasks
    from workloadkit.provenance import seed_of

    if study.runs is None and (runs, rng) != (None, None):
        warnings.warn(
            f"{study.name} is not random: runs and seed have no effect",
            WorkloadWarning,
            stacklevel=3,
        )
    plan = plan_of(study, logs, runs, reading)
    here = plan.logs
    seed = seed_of(SEED if rng is None else rng)
    folder, until, done = keeping or KeptResults()
    file = None if folder is None else folder / f".{study.name}.unfinished"
    made_by = {"workloadkit": __version__, "seed": seed, "runs": plan.runs, **plan.reading}
    made_by["logs"] = {log.name: log.read().digest for log in here} if file is not None else {}
    with ExitStack() if until is None else nullcontext(until) as stack:
        kept = stack.enter_context(kept_tasks(file, made_by, done))

        def each(function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> list[Any]:
            return kept.each(function, calls, executor=executor, progress=progress)

        found = compare(study, plan, seed, each)
    results = tuple(item for item in found if isinstance(item, Result))
    drawings = tuple(item for item in found if isinstance(item, Drawing))
    digests = dict.fromkeys(logs, "")
    for log in here:
        trace = log.read()
        digests[log] = trace.digest
        for repair in trace.repairs:
            warnings.warn(f"{trace.name}: {repair}", WorkloadWarning, stacklevel=2)
    provenance: dict[str, Any] = {"workloadkit": __version__}
    if study.runs is not None:
        provenance |= {"runs": plan.runs, "seed": seed}
    return Findings(study, results, digests, plan.reading, provenance, drawings)


def plan_of(
    study: Study, logs: Sequence[Log], runs: int | None, reading: Iterable[str] | Reading
) -> StudyInput:
    """Return the input of a run of a study."""
    here, missing = ([log for log in logs if (log.path is None) is x] for x in (False, True))
    return StudyInput(here, missing, runs or study.runs or 1, choose(study.axes, reading))


def compare(
    study: Study,
    plan: StudyInput,
    seed: int,
    each: Callable[[Callable[..., Any], Sequence[tuple[Any, ...]]], list[Any]],
) -> tuple[Result | Drawing, ...]:
    """Return the results and drawings of a study.

    ``each(function, calls)`` calls a function with the arguments of each call: a task, and the
    task's own random stream.
    """
    import numpy as np

    generator = np.random.default_rng(seed)

    def each_task(
        function: "Callable[[Any, np.random.Generator], Any]", tasks: Iterable[Any]
    ) -> list[Any]:
        tasks = list(tasks)
        return each(function, list(zip(tasks, generator.spawn(len(tasks)), strict=True)))

    return tuple(study.compare(plan, each_task))


# Reference results, for comparison with those of another machine.

#: Largest relative difference from the reference: rounding differs between processors and versions
#: of libraries.
TOLERANCE = 1e-6


def reference_of(study: Study, folder: Path) -> list[dict[str, str]]:
    """Return the reference results of a study, one dictionary for each row.

    Raises
    ------
    WorkloadError
        If the folder has no reference for the study.

    Examples
    --------
    >>> from workloadkit.analysis import studies
    >>> kept = studies.REFERENCE
    >>> reference_of(studies.load_study("chapin"), kept)[0]["verdict"]
    'reproduced'
    """
    file = folder / f"{study.name}.csv"
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise WorkloadError(
            f"{file}: cannot read the reference of this study: {error.strerror}"
        ) from error
    return list(csv.DictReader(io.StringIO(text)))


def kept_findings(study: Study, folder: Path) -> Findings:
    """Return the reference results of a study as findings, without logs or simulations.

    Raises
    ------
    WorkloadError
        If the folder has no reference for the study.

    Examples
    --------
    >>> from workloadkit.analysis import studies
    >>> kept = studies.REFERENCE
    >>> len(kept_findings(studies.load_study("chapin"), kept).results)
    161
    """
    rows = reference_of(study, folder)
    results = tuple(Result(_log(row), _claim(row), *_interval(row), row["note"]) for row in rows)
    logs = {result.log.name: result.log for result in results if result.log.published}
    all_logs = [logs.get(name, Log(name, published)) for name, published in study.logs.items()]
    made_by: dict[str, Any] = {"workloadkit": __version__}
    if study.runs is not None:
        made_by |= {"runs": study.runs, "seed": SEED}
    return Findings(study, results, dict.fromkeys(all_logs, ""), choose(study.axes), made_by)


def _log(row: Mapping[str, str]) -> Log:
    """Return the log of a row; its path only contains the version."""
    return Log(
        row["log"], row["version_published"], Path(row["version"]) if row["version"] else None
    )


def _claim(row: Mapping[str, str]) -> Claim:
    agrees = float(row["agrees_from"]), float(row["agrees_to"])
    main, strict = row["main"] == "1", row["strict"] == "1"
    kind = cast("Kind", row["kind"])
    return Claim(
        row["quantity"], row["place"], kind, _number(row["published"]), agrees, main, strict
    )


def _interval(row: Mapping[str, str]) -> tuple[float, float | None, float | None]:
    low, high = (float(row[end]) if row[end] else None for end in ("low", "high"))
    return _number(row["ours"]), low, high


def _number(text: str) -> float:
    """Return a number; one without a decimal point is an integer."""
    return int(text) if text.lstrip("-").isdigit() else float(text)


def differences(findings: Findings, reference: list[dict[str, str]]) -> list[str]:
    """Return the differences between results and the reference for the same versions of the logs.

    Values may differ by 10⁻⁶ of the larger one. Random results agree if their intervals overlap,
    because another version of a library may draw other numbers.

    Parameters
    ----------
    findings : Findings
    reference : list of dict
        The result of `reference_of`.

    Returns
    -------
    list of str
        A line for each difference.

    Examples
    --------
    >>> from workloadkit.analysis import studies
    >>> study, kept = studies.load_study("chapin"), studies.REFERENCE
    >>> differences(kept_findings(study, kept), reference_of(study, kept))
    []
    """
    kept = {_key(row): row for row in reference}
    found = {_key_of(result): result for result in findings.results}
    missing = {log.name for log in findings.logs if log.path is None}
    lines = []
    for key, row in kept.items():
        log, version, quantity = key
        where = f"{version or log}, {quantity}"
        if key not in found:
            if log not in missing:
                lines.append(f"{where}: the study has no such result")
        elif not _is_same(found[key], row):
            ours, verdict = found[key].ours, found[key].verdict
            there = digits(float(row["ours"]), 6)
            lines.append(f"{where}: {digits(float(ours), 6)}, {verdict}; reference: {there}, "
                         f"{row['verdict']}")  # fmt: skip
    new = [key for key in found if key not in kept and not math.isnan(found[key].ours)]
    return lines + [
        f"{version or log}, {words}: not in the reference" for log, version, words in new
    ]


def _key(row: Mapping[str, str]) -> tuple[str, str, str]:
    return row["log"], row["version"], f"{row['quantity']} ({row['place']})"


def _key_of(result: Result) -> tuple[str, str, str]:
    claim, log = result.claim, result.log
    return log.name, log.version, f"{claim.quantity} ({claim.place})"


def _is_same(result: Result, row: Mapping[str, str]) -> bool:
    ours, kept = result.ours, float(row["ours"])
    if math.isnan(ours) or math.isnan(kept):
        return math.isnan(ours) and math.isnan(kept)
    low, high = (math.nan if end is None else end for end in (result.low, result.high))
    kept_low, kept_high = (float(row[end] or "nan") for end in ("low", "high"))
    if any(map(math.isnan, (low, high, kept_low, kept_high))):  # nothing is random, or unknown
        return math.isclose(ours, kept, rel_tol=TOLERANCE, abs_tol=1e-12)
    return kept_low <= high and low <= kept_high
