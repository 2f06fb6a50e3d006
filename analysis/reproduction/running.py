"""Run a study on the available logs."""

import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from workloadkit import __version__
from workloadkit.analysis.reproduction.claims import Result
from workloadkit.analysis.reproduction.findings import Findings
from workloadkit.analysis.reproduction.logs import Log
from workloadkit.analysis.reproduction.readings import Reading, choose
from workloadkit.analysis.reproduction.study import Drawing, Plan, Study
from workloadkit.errors import WorkloadWarning, takes_rng

if TYPE_CHECKING:
    from concurrent.futures import Executor

    import numpy as np

    from workloadkit.experiments.kept_tasks import Kept

#: Default seed, so that the numbers of a study are the same wherever it runs.
SEED = 0


class Together(NamedTuple):
    """What is common to several studies that one command runs.

    Parameters
    ----------
    until : ExitStack
        Keeps the hidden files of the studies until it is closed.
    done : dict of str to Kept
        Results of finished tasks, so that studies share equal ones.
    """

    until: ExitStack
    done: "dict[str, Kept]"


@takes_rng
def run_study(
    study: Study,
    logs: Sequence[Log],
    *,
    runs: int | None = None,
    reading: Iterable[str] | Reading = (),
    rng: "int | np.random.Generator | None" = None,
    executor: "Executor | None" = None,
    folder: Path | None = None,
    together: Together | None = None,
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
    folder : Path, optional
        Folder of a hidden file that stores the results of finished tasks until all are done, so
        that an interrupted study can resume.
    together : Together, optional
        Common to several studies that one command runs.
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
    file = None if folder is None else folder / f".{study.name}.unfinished"
    made_by = {"workloadkit": __version__, "seed": seed, "runs": plan.runs, **plan.reading}
    made_by["logs"] = {log.name: log.read().digest for log in here} if file is not None else {}
    with ExitStack() if together is None else nullcontext(together.until) as stack:
        done = None if together is None else together.done
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
) -> Plan:
    """Return the input of a run of a study."""
    here, missing = ([log for log in logs if (log.path is None) is x] for x in (False, True))
    return Plan(here, missing, runs or study.runs or 1, choose(study.axes, reading))


def compare(
    study: Study,
    plan: Plan,
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
