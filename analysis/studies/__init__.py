"""Studies: reproductions of published results.

A study is a module of this package. Its docstring begins with the title and describes what is
compared and how. Its `STUDY` specifies the source, the logs, and the choices that the source leaves
open. `Study.compare` takes a `StudyInput` (available logs, number of runs, reading) and `each`, and
yields a `Result` for every claim and a `Drawing` for every redrawn figure. It passes long
computations to ``each(function, tasks)``, which calls ``function(task, rng)`` for each task with a
separate random stream, and returns the results in the order of the tasks.
"""

from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from workloadkit.analysis.reproduction import Cause, Study, read_table
from workloadkit.errors import ParameterError, among, quoted

#: Folder of the reference results.
REFERENCE = Path(__file__).with_name("reference")


def study_names() -> list[str]:
    """Return the names of all studies."""
    return sorted(module.name.replace("_", "-") for module in iter_modules(__path__))


def load_study(name: str) -> Study:
    """Return the study called `name`.

    Raises
    ------
    ParameterError
        If there is no such study.

    Examples
    --------
    >>> load_study("zakay-sessions").title
    'Sessions and batches by arrival in four logs'
    """
    if name not in study_names():
        raise ParameterError(f"no study {quoted(name)}; {among(name, study_names())}")
    study: Study = import_module(f"{__name__}.{name.replace('-', '_')}").STUDY
    return study


def load_studies(name: str) -> list[Study]:
    """Return the studies of a source, such as ``"zakay"``, one study, or ``"all"``.

    Raises
    ------
    ParameterError
        If there is no such study.

    Examples
    --------
    >>> [study.name for study in load_studies("shmueli")][:2]
    ['shmueli-behaviour', 'shmueli-conventional']
    >>> [study.name for study in load_studies("lee")]
    ['lee']
    """
    names = study_names()
    begin = "" if name == "all" else f"{name}-"
    several = [] if name in names else [each for each in names if each.startswith(begin)]
    return [load_study(each) for each in several or [name]]


def run_times() -> dict[str, float]:
    """Return how long studies take with two workers, by name, where that was measured. [min].

    The file `run_times.csv` has the conditions of each measurement.
    """
    rows = read_table(Path(__file__).with_name("run_times.csv"))
    return {row["study"]: float(row["minutes"]) for row in rows}


def known_causes() -> list[Cause]:
    """Return what is known of contradicted main claims, from the file `causes.csv`.

    Examples
    --------
    >>> {cause.state for cause in known_causes()} <= {"cause found", "readings tried", "open"}
    True
    """
    rows: list[Any] = read_table(Path(__file__).with_name("causes.csv"))
    return [Cause(**row) for row in rows]


def load_source(name: str) -> list[Study]:
    """Return the studies of a source that print numbers and have axes.

    Raises
    ------
    ParameterError
        If there is no such study, or for ``"all"``: readings belong to one source.

    Examples
    --------
    >>> [study.name for study in load_source("shmueli")][:2]
    ['shmueli-behaviour', 'shmueli-conventional']
    >>> [study.name for study in load_source("zakay-users")]
    ['zakay-users']
    """
    if name == "all":
        raise ParameterError("all: readings are searched for one source, such as zakay")
    printing = {study for study, _, _ in _halves()}
    studies = [each for each in load_studies(name) if each.name in printing]
    if not studies:
        raise ParameterError(f"{name}: no study with axes and printed numbers")
    return studies


def ranking_half() -> set[tuple[str, str, str]]:
    """Return the numbers that rank readings in a search: study, place and log of each.

    The file `halves.csv` divides all printed numbers for which a log is available. It was written
    before any search: every other place of each source, in the order of study, place and log.
    """
    return {where for where, half in _halves().items() if half == "ranks"}


def _halves() -> dict[tuple[str, str, str], str]:
    rows = read_table(Path(__file__).with_name("halves.csv"))
    return {(row["study"], row["place"], row["log"]): row["half"] for row in rows}
