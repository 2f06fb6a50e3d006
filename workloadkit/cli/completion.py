"""Completion of values in a shell."""

import re
from collections.abc import Callable

from workloadkit.cli import topics

#: Names at the beginning of a line of a list, before parameters and an explanation.
_NAMES = re.compile(r"^([a-z][a-z0-9-]*(?:, [a-z][a-z0-9-]*)*)(?::\S*)?(?:  |$)", re.MULTILINE)


def words(*known: str) -> Callable[[], list[str]]:
    """Return what completes one of a few words."""
    return lambda: list(known)


def listed(text: str) -> list[str]:
    r"""Return the names that a list of a topic explains.

    Examples
    --------
    >>> listed("sjf, ljf  EASY\nf1:x=1   a score")
    ['sjf', 'ljf', 'f1']
    """
    return [name for names in _NAMES.findall(text) for name in names.split(", ")]


def schedulers() -> list[str]:
    """Return the names of the schedulers."""
    return listed(topics.SCHEDULERS)


def users() -> list[str]:
    """Return the names of the users."""
    return listed(topics.USERS)


def models() -> list[str]:
    """Return the names of the models of workloads."""
    return listed(topics.MODELS)


def studies() -> list[str]:
    """Return the names of the studies, and the word for all."""
    from analysis.studies import study_names

    return ["all", *study_names()]
