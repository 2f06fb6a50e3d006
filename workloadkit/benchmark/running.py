"""Run entries through the suite."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pandas as pd

from workloadkit.benchmark.entries import Entry, built_in, digest_of, is_misnamed, play
from workloadkit.benchmark.nearest import features_of
from workloadkit.benchmark.protocol import RefusedError
from workloadkit.benchmark.results import BenchmarkResults
from workloadkit.benchmark.suite import RUNS, SEED, Case, cases
from workloadkit.errors import ParameterError, check_count
from workloadkit.executors import each_done
from workloadkit.metasystem import Metasystem
from workloadkit.trace import Trace

if TYPE_CHECKING:
    from concurrent.futures import Executor


@dataclass
class _Task:
    """One run of a case, by all entries that play it."""

    case: Case
    run: int
    seed: int
    entries: Sequence[Entry]


@dataclass
class _Done:
    """What came of it."""

    digest: str
    features: dict[str, float]
    rows: list[dict[str, Any]] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)


def run_benchmark(
    entries: Sequence[Entry] | None = None,
    *,
    among: Iterable[Case] | None = None,
    runs: int = RUNS,
    seed: int = SEED,
    executor: "Executor | None" = None,
    progress: Callable[[int, int], Any] | None = None,
) -> BenchmarkResults:
    """Play entries in the cases of the benchmark; check each schedule, and rank them.

    Run i of a case is the same for all entries, so these are compared in pairs. An entry that
    violates a rule in any run is refused, with the reason, and not ranked.

    Parameters
    ----------
    entries : sequence of Entry, optional
        By default the built-in policies.
    among : iterable of Case, optional
        By default all `cases` that need no files.
    runs : int, default 10
        Runs of each case.
    seed : int, default 1999
        That of the canonical runs; another one draws runs that no entry can know.
    executor : Executor, optional
        Plays the runs; by default this process. The results do not depend on it.
    progress : callable, optional
        Called with the numbers of finished and of all runs.

    Raises
    ------
    ParameterError
        If two entries have the same name, one has that of a built-in policy and is not this
        policy, or no entry plays any case.

    Examples
    --------
    >>> from workloadkit.benchmark import Entry, cases
    >>> entries = [Entry(name, "policy", name) for name in ("easy", "sjf")]
    >>> device = cases(chosen=("device", "busy"))
    >>> results = run_benchmark(entries, among=device, runs=2)
    >>> results.table["entry"].tolist()
    ['easy', 'sjf']
    """
    check_count("runs", runs, least=1)
    chosen = built_in() if entries is None else list(entries)
    names = [entry.name for entry in chosen]
    for name in names:
        if names.count(name) > 1:
            raise ParameterError(f"two entries have the name {name}")
    for entry in chosen:
        if is_misnamed(entry.kind, entry.identity.get("policy"), entry.name):
            raise ParameterError(
                f"the entry {entry.name} has the name of a built-in policy, which it is not"
            )
    played = [
        (case, [entry for entry in chosen if entry.plays(case)])
        for case in (cases() if among is None else among)
    ]
    n_tasks = runs * sum(bool(those) for _, those in played)
    if not n_tasks:
        raise ParameterError("no entry plays any of the cases")
    found: dict[tuple[int, int], _Done] = {}
    out: set[str] = set()  # what is refused plays no more

    def tasks() -> Iterator[tuple[int, _Task]]:
        for place, (case, those) in enumerate(played):
            for run in range(runs if those else 0):
                left = [entry for entry in those if entry.name not in out]
                yield place, _Task(case, run, seed, left)

    for (place, task), done in each_done(_run, tasks(), executor):
        found[place, task.run] = done
        out |= done.refused.keys()
        if progress is not None:
            progress(len(found), n_tasks)
    refused: dict[str, str] = {}
    rows, workloads = [], []
    for place, run in sorted(found):
        done, case = found[place, run], played[place][0]
        at = {"workload": case.workload, "system": case.system, "users": case.users, "run": run}
        workloads.append({**at, "digest": done.digest, **done.features})
        rows += [{**at, **row} for row in done.rows]
        for name, why in done.refused.items():
            refused.setdefault(name, f"{case.name}, run {run}: {why}")
    frame = pd.DataFrame([row for row in rows if row["entry"] not in refused])
    return BenchmarkResults(
        runs=frame,
        workloads=pd.DataFrame(workloads),
        entries={entry.name: entry.identity for entry in chosen},
        refused=refused,
        seed=seed,
    )


def _run(placed: tuple[int, _Task]) -> _Done:
    """Play a run by all of its entries."""
    task = placed[1]
    made = task.case.run(task.run, task.seed)
    features = {} if isinstance(made, Metasystem) else features_of(made, task.case.procs)
    found = _Done(digest_of_run(made), features)
    for entry in task.entries:
        try:
            played = play(entry, task.case, made, task.run, task.seed)
        except RefusedError as error:
            found.refused[entry.name] = str(error)
        else:
            row = {"entry": entry.name, "saturated": played.saturated, **played.metrics}
            found.rows.append(row | {"schedule": played.digest})
    return found


def digest_of_run(made: Trace | Metasystem) -> str:
    """Return the digest of the jobs of a run."""
    if isinstance(made, Trace):
        return digest_of(*(made.column(name) for name in _COLUMNS))
    sources = [site.jobs for site in made.sites if site.jobs is not None]
    sources += made.meta_schedulers[0].jobs
    return digest_of(*(source.log.column(name) for source in sources for name in _COLUMNS))


_COLUMNS = ("submit", "run", "procs", "requested_time", "user")
