"""What a simulation is asked to do, checked, whatever its parts are."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from workloadkit.errors import ParameterError, check_choice, check_number, check_positive
from workloadkit.simulation.workload import (
    AskedOverrun,
    Estimates,
    Interrupted,
    Oversize,
    Passes,
    UtilityAt,
)

Engine = Literal["compiled", "python"]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of `simulate`, which says what they mean.

    Raises
    ------
    ParameterError
        For a value that cannot be.
    """

    population: Any
    machine: Any
    predictor: Any
    outages: Any
    rng: Any
    engine: Engine | None
    procs: int | None
    oversize: Oversize
    estimates: Estimates
    overrun: AskedOverrun
    passes: Passes
    offered_load: float | None
    scale_arrivals: float
    scale_runs: float
    scale_sizes: float
    scale_machine: float
    warmup: float
    cooldown: float
    uncounted: Any
    interrupted: Interrupted
    utility_at: UtilityAt

    def __post_init__(self) -> None:
        for name, known in (
            ("oversize", Oversize),
            ("estimates", Estimates),
            ("overrun", AskedOverrun),
            ("passes", Passes),
            ("interrupted", Interrupted),
            ("utility_at", UtilityAt),
        ):
            check_choice(name, getattr(self, name), known)
        for name in ("warmup", "cooldown"):
            value = getattr(self, name)
            check_number(name, value)
            if not 0 <= value < np.inf:
                raise ParameterError(f"{name} is {value} s; it cannot be negative or endless")
        check_positive(**self.scales)
        if self.offered_load is not None and "scale_arrivals" in self.scales:
            raise ParameterError(
                "offered_load and scale_arrivals both set the submit times; give one"
            )

    @property
    def scales(self) -> dict[str, float]:
        """The factors that are not 1, by name."""
        names = ("scale_arrivals", "scale_runs", "scale_sizes", "scale_machine")
        return {name: getattr(self, name) for name in names if getattr(self, name) != 1}

    @property
    def uncounted_users(self) -> list[int]:
        """The numbers of the users whose jobs do not count, ascending."""
        return _users(self.uncounted)


def _users(uncounted: ArrayLike) -> list[int]:
    """Return the numbers of users that were meant, ascending."""
    try:
        given = np.atleast_1d(np.asarray(uncounted))
    except ValueError:  # lists of different lengths
        given = np.array([None])
    if given.size and not (given.dtype.kind in "iuf" and np.array_equal(given, np.rint(given))):
        raise ParameterError(f"uncounted is {uncounted!r}; give numbers of users")
    return sorted({int(user) for user in given})
