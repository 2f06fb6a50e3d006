"""Studies: what sources published, found again in logs.

A study is a module of this package. Its docstring begins with the title and tells what is compared
and how; its `STUDY` says where the published figures stand, which logs they were taken from, and
what the source leaves open. `Study.compare` takes a `Plan` (the logs that are here, a number of
runs, a reading) and `each`, and yields a `Result` for every claim, and a `Drawing` for every figure
that it draws anew. What takes time it gives to ``each(function, tasks)``, which calls
``function(task, rng)`` for each task, with a random stream of the task's own, and returns what came
back in the order of the tasks, whoever did the work.
"""

from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from analysis.reproduction import Study
from workloadkit.errors import ParameterError, among

#: Where results of the studies are kept.
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
    """Return the studies whose names begin with a word, such as a source's, or all.

    Raises
    ------
    ParameterError
        If there is none.

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
