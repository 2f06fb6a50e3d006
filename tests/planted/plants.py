"""The kinds of plants: each draws an ordinary log and puts one thing into it."""

from collections.abc import Callable
from random import Random
from typing import NamedTuple

from tests.planted.judge import Planted

Draw = Callable[[Random], Planted]


class Kind(NamedTuple):
    """A kind of plant: its name, the fault that it is a relative of, and what draws it."""

    name: str
    fault: str
    draw: Draw


KINDS: list[Kind] = []

#: What the faults are.
FAULTS = {
    "start": "jobs that never started",
    "attempts": "hours of earlier attempts",
    "shared id": "several jobs under one id",
    "quotes": "quotes and delimiters in fields",
    "resized": "parts of one execution",
    "threads": "hardware threads counted as cores",
    "clock": "the zone of times",
    "cpu": "where the CPU time is, and several tasks in one record",
    "text": "bytes, lines and columns that are not as usual",
}


def plant(fault: str) -> Callable[[Draw], Draw]:
    """Add a kind of plant, named like the function."""

    def add(draw: Draw) -> Draw:
        KINDS.append(Kind(draw.__name__, fault, draw))
        return draw

    assert fault in FAULTS
    return add


def share(rng: Random, items: list, most: int = 8) -> list:  # type: ignore[type-arg]
    """Draw some items, one at least, in their order."""
    chosen = set(rng.sample(range(len(items)), rng.randint(1, min(most, len(items)))))
    return [item for place, item in enumerate(items) if place in chosen]
