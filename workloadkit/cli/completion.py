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
    from workloadkit.analysis.studies import study_names

    return ["all", *study_names()]


def expression(incomplete: str) -> list[str]:
    """Return the expressions of --where that end with a field instead of its beginning.

    Examples
    --------
    >>> expression("user=3 and requested_p")
    ['user=3 and requested_procs']
    """
    from workloadkit.select import KINDS

    begun = re.search(r"\w*$", incomplete)[0]  # type: ignore[index]  # it always matches
    before = incomplete.removesuffix(begun)
    return [before + name for name in sorted(KINDS) if name.startswith(begun.lower())]
