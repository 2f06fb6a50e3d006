"""What is done with inputs that are not logs, once they are read."""

from pathlib import Path
from random import Random
from typing import Any
from unicodedata import category

import numpy as np

import workloadkit as wk
from tests.fuzz import good, promises
from workloadkit.metasystem import Graph, Metasystem, simulate_metasystem, write_metasystem
from workloadkit.metasystem import read_metasystem as read_again
from workloadkit.select import Choice, LogJobs, kinds_of, parse
from workloadkit.utility_tables import UtilityTable

_MOST_JOBS = 100  # of models and users: more is work, not a fault


def use_metasystem(system: Metasystem, rng: Random, folder: Path) -> None:
    """Simulate it, and write it."""
    sources = [site.jobs for site in system.sites if site.jobs is not None]
    sources += [source for each in system.meta_schedulers for source in each.jobs]
    if any((source.jobs or 0) > _MOST_JOBS or _submits_many(source) for source in sources):
        return
    schedule = simulate_metasystem(system, engine="python")
    promises.of_json(schedule.to_dict(), "a metasystem's schedule")
    times = schedule.jobs[["submit", "start", "end"]].to_numpy(dtype=np.float64)
    promises.keep(bool((times[:, 1] >= times[:, 0]).all()), "no meta job starts early")
    if rng.random() < 0.2:
        schedule.events().to_csv(index=False).encode()
        (folder / "again").mkdir(exist_ok=True)
        write_metasystem(system, folder / "again")
        read_again(folder / "again" / "metasystem.json")


def _submits_many(source: Any) -> bool:
    """Whether users without a log, or a graph, submit many jobs."""
    users = str(source.users)
    return users.startswith(("think", "open", "mixed")) and "jobs=8" not in users


def use_graph(graph: Graph, rng: Random, folder: Path) -> None:
    times = [task.run for task in graph.tasks]
    promises.keep(graph.critical_path(times) >= max(times), "a path has its longest task")


def use_table(table: UtilityTable, rng: Random, folder: Path) -> None:
    """Give the first jobs of the sample their functions."""
    made = wk.add_utility(good.first_jobs(), rng=1, table=folder / "table.csv")
    promises.of_trace(made)


def use_shares(shares: dict[str, float], rng: Random, folder: Path) -> None:
    values = np.array([*shares.values()])
    promises.keep(bool(((values >= 0) & (values <= 1)).all()), f"shares of a machine: {values}")


def use_where(choice: Choice, rng: Random, folder: Path) -> None:
    """What was chosen is chosen again by the expression as it is written in headers."""
    trace = good.first_jobs()
    promises.keep(choice.keep.shape == (trace.n_jobs,), "each job is chosen or not")
    again = parse(choice.how.removeprefix("where "), kinds=kinds_of(trace), coded=False)
    same = bool((again.of(LogJobs(trace)).yes == choice.keep).all())
    promises.keep(same, f"it reads back: {choice.how[:300]}")
    breaks = [c for c in choice.how if category(c) in ("Cc", "Cs", "Zl", "Zp")]
    promises.keep(not breaks, f"it is one line, and moves no cursor: {breaks}")
    for message in choice.absent:
        promises.keep(len(message) <= 400, f"a short message: {message}")


def use_score(scheduler: Any, rng: Random, folder: Path) -> None:
    """Schedule jobs by it."""
    promises.keep(str(scheduler.name).isprintable(), "its name can be printed")
    if rng.random() < 0.1:
        schedule = wk.simulate(good.first_jobs(), scheduler, engine="python", oversize="drop")
        promises.of_json(schedule.to_dict(), "a schedule by a score")
