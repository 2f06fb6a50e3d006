"""The grid of an experiment: its simulations."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import product
from math import inf
from typing import Any, NamedTuple

from workloadkit.errors import FormatError, ParameterError, check_load, check_number, plural, quoted
from workloadkit.io.strict_json import read_json
from workloadkit.provenance import plain
from workloadkit.simulation.schedule.notes import identity_of

#: The axes; the last one varies fastest.
AXES = ("log", "users", "reading", "load", "run", "scheduler")

#: Columns of the results next to those of the metrics.
COLUMNS = (*AXES, "saturated", "runs", "calibration", "of_log")

#: Largest number of simulations of an experiment.
MOST_SIMULATIONS = 10_000_000

NOT_RESULTS = "not a file of an experiment's results"

_MOST_SHOWN = 80  # characters of a value in a message


class Cell(NamedTuple):
    """A simulation of an experiment, by its position on each axis."""

    log: str
    users: str
    reading: str
    load: float | None
    run: int
    scheduler: str


class GridTask(NamedTuple):
    """The simulations of one workload, the unit of work of an executor."""

    log: str
    users: str
    reading: str
    load: float | None
    run: int
    schedulers: tuple[str, ...]


@dataclass(frozen=True)
class Grid:
    """The axes of an experiment, by name, and the common settings of its simulations.

    Parameters
    ----------
    log, users, reading, scheduler : mapping of str to object
        Identity of each name on the axis, for JSON.
    load : tuple of float or None
        None: the log's own load.
    runs : int
    common : mapping of str to object
        Version, seed and settings.
    """

    log: Mapping[str, Any]
    users: Mapping[str, Any]
    reading: Mapping[str, Any]
    load: Sequence[float | None]
    runs: int
    scheduler: Mapping[str, Any]
    common: Mapping[str, Any]

    @property
    def cells(self) -> Iterator[Cell]:
        """All simulations, in order."""
        axes = (self.log, self.users, self.reading, self.load, range(self.runs), self.scheduler)
        return (Cell(*place) for place in product(*axes))

    @property
    def tasks(self) -> Iterator[GridTask]:
        """All tasks, in order."""
        schedulers = tuple(self.scheduler)
        axes = (self.log, self.users, self.reading, self.load, range(self.runs), [schedulers])
        return (GridTask(*place) for place in product(*axes))

    @property
    def size(self) -> int:
        """Number of simulations."""
        n_logs, n_users, n_readings = len(self.log), len(self.users), len(self.reading)
        return n_logs * n_users * n_readings * len(self.load) * self.runs * len(self.scheduler)

    def to_json(self) -> str:
        """Return the grid as canonical JSON."""
        return json.dumps({field.name: getattr(self, field.name) for field in fields(self)})

    @classmethod
    def from_json(cls, text: str | bytes, where: str) -> "Grid":
        """Parse the output of `to_json`.

        Parameters
        ----------
        text : str or bytes
        where : str
            The file, for messages.
        """
        data = read_json(text, where)
        names = [field.name for field in fields(cls)]
        if not isinstance(data, dict) or sorted(data) != sorted(names):
            raise FormatError(where, f"{NOT_RESULTS}: its grid has not the parts {names}")
        for name, is_valid in _VALID.items():
            if not is_valid(data[name]):
                raise FormatError(where, f"{NOT_RESULTS}: {name} is {quoted(data[name])}")
        grid = cls(**data)
        if grid.size > MOST_SIMULATIONS:
            raise FormatError(where, f"{NOT_RESULTS}: {quoted(grid.size)} simulations")
        return grid

    def check_contains(self, other: "Grid", where: object) -> None:
        """Check that all simulations of another grid are part of this one.

        Parameters
        ----------
        other : Grid
        where : object
            The file of the other grid, for messages.
        """

        def refuse(what: str) -> None:
            raise ParameterError(
                f"{where}: has results of another experiment: {what}; use another folder"
            )

        for name in dict.fromkeys((*self.common, *other.common)):
            ours, its = self.common.get(name), other.common.get(name)
            if ours != its:
                refuse(f"{name} {_shown(its)}, not {_shown(ours)}")
        for axis in ("log", "users", "reading", "scheduler"):
            ours, its = getattr(self, axis), getattr(other, axis)
            for name in its:
                if name not in ours:
                    refuse(f"{axis} {name}")
                if ours[name] != its[name]:
                    refuse(f"{axis} {name} is {_shown(its[name])}, not {_shown(ours[name])}")
        for load in other.load:
            if load not in self.load:
                refuse("the log's own load" if load is None else f"load {load:g}")
        if other.runs > self.runs:
            refuse(plural(other.runs, "run"))


def _shown(value: Any) -> str:
    if value is None:
        return "by default"
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= _MOST_SHOWN else text[: _MOST_SHOWN - 1] + "…"


def _is_axis(value: Any) -> bool:
    """Whether names have identities."""
    return isinstance(value, dict) and len(value) > 0


def _is_load(value: Any) -> bool:
    """Whether all are different loads, or the log's own."""
    return (
        isinstance(value, list)
        and all(x is None or (type(x) in (int, float) and 0 < x < inf) for x in value)
        and 0 < len(set(value)) == len(value)
    )


def _is_common(value: Any) -> bool:
    """Whether the common settings have a seed and the names of metrics."""
    if not isinstance(value, dict):
        return False
    seed, metrics = value.get("seed"), value.get("metrics")
    return (
        type(seed) is int
        and seed >= 0
        and isinstance(metrics, list | dict)
        and all(isinstance(name, str) for name in metrics)
        and 0 < len(set(metrics)) == len(metrics)
        and not {*metrics} & {*COLUMNS}
    )


_VALID: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("log", "users", "reading", "scheduler"), _is_axis),
    "load": _is_load,
    "runs": lambda value: type(value) is int and value > 0,
    "common": _is_common,
}


# The axes: their names, values and identities.


def named(kind: str, things: Any) -> dict[str, Any]:
    """Return the items of an axis by name.

    Raises
    ------
    ParameterError
        If two have the same name.
    """
    if isinstance(things, Mapping):
        return dict(things)
    if isinstance(things, str):
        things = [things]
    found: dict[str, Any] = {}
    for thing in things:
        name = thing if isinstance(thing, str) else getattr(thing, "name", None)
        name = name or type(thing).__name__
        if name in found:
            raise ParameterError(f"two {kind}s have the name {name}; use a mapping to name them")
        found[name] = thing
    return found


def check_loads(loads: Sequence[float | None], *, are_factors: bool) -> None:
    """Check that offered loads, or factors of the number of users, are valid."""
    for load in loads:
        if load is not None:
            check_number("loads", load)
            if not 0 < load < inf:
                raise ParameterError(f"loads: {load:g}; a load must be positive")
            if not are_factors:
                check_load("loads", load)
    if len(set(loads)) < len(loads):
        raise ParameterError("loads: a value is repeated")


def identified(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values for JSON, with the identity of objects."""
    known = str | int | float | bool | list | dict | None
    found = {name: plain(value) for name, value in values.items()}
    return {
        name: value if isinstance(value, known) else identity_of(value)
        for name, value in found.items()
    }
