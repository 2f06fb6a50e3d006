"""Studies: reproductions of published results.

A study is a module of this package. Its docstring begins with the title and describes what is
compared and how. Its `STUDY` specifies the source, the logs, and the choices that the source leaves
open. `Study.compare` takes a `Plan` (available logs, number of runs, reading) and `each`, and
yields a `Result` for every claim and a `Drawing` for every redrawn figure. It passes long
computations to ``each(function, tasks)``, which calls ``function(task, rng)`` for each task with a
separate random stream, and returns the results in the order of the tasks.
"""

from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from analysis.reproduction import Study
from workloadkit.errors import ParameterError, among

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
        raise ParameterError(f"no study {name!r}; {among(name, study_names())}")
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
