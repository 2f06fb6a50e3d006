"""Labels of a file of outages: what an outage takes that is no number of processors.

S. J. Chapin et al. (JSSPP 1999, section 2.2) propose to record the number of nodes affected or the
percentage of the machine, that some users alone may be affected, and which part of the network
failed. Each label has the number of an outage first:

- ``OutageUsers: 3 12 17``: the outage takes no processors; jobs of users 12 and 17 cannot run;
- ``OutagePercentage: 4 12.5``: it takes 12.5 % of the machine;
- ``OutagePart: 5 leaf2 n[01-08]``: it takes the nodes below a switch, and nodes by their names.

What a percentage or a part is in processors depends on the machine. So the number of processors of
such an outage is -1 in its line.
"""

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import NamedTuple

from workloadkit.errors import WorkloadError, plural
from workloadkit.header import Header

USERS, PERCENTAGE, PART = "OutageUsers", "OutagePercentage", "OutagePart"

_INTEGER = re.compile(r"[0-9]{1,19}")
_DECIMAL = re.compile(r"[0-9]{1,3}(\.[0-9]{1,9})?")


class Labelled(NamedTuple):
    """What labels state of outages, by the numbers of these.

    Parameters
    ----------
    users : mapping of int to tuple of int
    percentages : mapping of int to Decimal
    parts : mapping of int to tuple of str
    """

    users: Mapping[int, tuple[int, ...]]
    percentages: Mapping[int, Decimal]
    parts: Mapping[int, tuple[str, ...]]


def labelled(header: Header, name: str, procs: Mapping[int, int]) -> Labelled:
    """Return what the labels of a header state of outages, given the processors of each.

    Raises
    ------
    WorkloadError
        For an invalid label, with the name of the file and the value.
    """
    found: dict[str, dict[int, list[str]]] = {USERS: {}, PERCENTAGE: {}, PART: {}}
    for label, of_label in found.items():
        for value in header.get_all(label):
            number, *words = value.split() or [""]
            if fault := _fault(label, number, words, procs, found):
                raise WorkloadError(f"{name}: {label}: {fault}: {value!r:.60}")
            of_label[int(number)] = words
    users = {n: tuple(sorted(set(map(int, words)))) for n, words in found[USERS].items()}
    percentages = {n: Decimal(words[0]) for n, words in found[PERCENTAGE].items()}
    return Labelled(users, percentages, {n: tuple(words) for n, words in found[PART].items()})


def _fault(
    label: str,
    number: str,
    words: list[str],
    procs: Mapping[int, int],
    found: Mapping[str, Mapping[int, list[str]]],
) -> str | None:
    """Return why a label is invalid; None if it is valid."""
    what, are_valid = _VALUES[label]
    if not _INTEGER.fullmatch(number) or not are_valid(words):
        return f"give the number of an outage and {what}"
    outage = int(number)
    if outage not in procs:
        return f"there is no outage {outage}"
    if other := next((each for each, numbers in found.items() if outage in numbers), None):
        return f"outage {outage} is repeated" if other == label else f"outage {outage} has {other}"
    if procs[outage] > 0 or (label != USERS and procs[outage] == 0):
        instead = {USERS: "users", PERCENTAGE: "a percentage", PART: "parts"}[label]
        return f"outage {outage} takes {plural(procs[outage], 'processor')}, not {instead}"
    return None


def _are_users(words: list[str]) -> bool:
    return bool(words) and all(map(_INTEGER.fullmatch, words))


def _is_percentage(words: list[str]) -> bool:
    return len(words) == 1 and bool(_DECIMAL.fullmatch(words[0])) and 0 < Decimal(words[0]) <= 100


# What follows the number of the outage, and whether words are such values.
_VALUES: Mapping[str, tuple[str, Callable[[list[str]], bool]]] = {
    USERS: ("those of users", _are_users),
    PERCENTAGE: ("a percentage, more than 0 and at most 100", _is_percentage),
    PART: ("names of switches or nodes", bool),
}
