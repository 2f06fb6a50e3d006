"""Models of a cross-check: their theory and simulation, at points of their parameters."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.analysis.queue_models.cross_check.estimates import Group, Kind
from workloadkit.errors import ParameterError, check_count, check_positive
from workloadkit.queueing.probability import (
    Breaks,
    Constant,
    Exponential,
    Hyperbolic,
    Probability,
    TableProbability,
)
from workloadkit.queueing.response_function import Form
from workloadkit.simulation.users.queueing import again, customers

#: Number of points in the simulator's table of a custom function, and the first and last response
#: time in it, in mean service times.
POINTS, FIRST, LAST = 20_000, 1e-6, 1e6

Point = Mapping[str, Any]


class ModelMeasure(NamedTuple):
    """A measure of both theory and simulation.

    Parameters
    ----------
    name : str
        Name in the result of the theory.
    kind : str
        Kind of estimate in the simulation.
    group : str
        Group of jobs.
    of : tuple of str
        Measures with stated errors that determine its error, as a product, if it has none.
    place : tuple of int
        Place in an array of measures.
    part : str
        Attribute of the result that has the measure, such as "open"; by default the result itself.
    """

    name: str
    kind: Kind
    group: Group
    of: tuple[str, ...]
    place: tuple[int, ...] = ()
    part: str = ""

    @property
    def label(self) -> str:
        """Name with its place, such as Q[0,1]."""
        place = f"[{','.join(map(str, self.place))}]" if self.place else ""
        return f"{self.part} {self.name}{place}".strip()

    def of_theory(self, theory: Any) -> float:
        """Return its value in a result of the theory."""
        source = getattr(theory, self.part) if self.part else theory
        return float(np.asarray(getattr(source, self.name))[self.place])


class Responses(NamedTuple):
    """A distribution of response times of both theory and simulation.

    Parameters
    ----------
    name : str
        Name of the mean.
    job : str
        Name in the theory.
    group : str
        Group of jobs.
    """

    name: str
    job: str
    group: Group


@dataclass(frozen=True)
class CheckedModel:
    """A model of a cross-check, with the simulation that must agree with it.

    Parameters
    ----------
    theory : str
        Name of the function in `queueing`, with its module if it is not exported there.
    needed, known : tuple of str
        Required parameters, and all parameters.
    simulated : callable
        Population: a function from a point to the constructor of the simulated users.
    measured, laws : callable
        Functions from a point to the measures, and to the distributions of response times.
    on_sites : bool
        Whether a meta-scheduler sends the jobs to sites of one processor, in place of servers.
    example : mapping of str to object
        The point of `crosscheck all`.
    policy : str
        Policy of the simulated scheduler.
    arrays : bool
        Whether parameters are arrays, as of networks: they form no grid.
    fewer : int
        Divisor of the number of jobs, for simulations that take longer.
    unlimited : bool
        Whether each job has a server of its own.
    """

    theory: str
    needed: tuple[str, ...]
    known: tuple[str, ...]
    simulated: Callable[[Point], Callable[..., Any]]
    measured: Callable[[Point], tuple[ModelMeasure, ...]]
    laws: Callable[[Point], tuple[Responses, ...]]
    on_sites: bool = False
    example: Mapping[str, Any] = field(default_factory=dict)
    policy: str = "fcfs"
    arrays: bool = False
    fewer: int = 1
    unlimited: bool = False


def simulated_users(model: CheckedModel, point: Point, jobs: int) -> tuple[Any, int]:
    """Return the users of a point, and the processors of their machine."""
    make = model.simulated(point)
    if model.arrays:
        return make(jobs=jobs), int(point["servers"]) if "need" in point else 1
    check_positive(S=point["S"])
    for name in ("lam", "N"):
        if name in model.needed and model.theory != "mixed":
            check_positive(**{name: point[name]})
    if point.get("N", 0) > jobs:
        raise ParameterError(f"N is {point['N']:g}; there are {jobs:,} jobs, at least one each")
    # more servers than jobs make no difference
    given = jobs if model.unlimited else point.get("servers", 1)
    processors = min(check_count("servers", given, least=1), jobs)
    return make(run=float(point["S"]), jobs=jobs), processors


def as_again(p: Any, S: float) -> again.Again:
    """Convert p of a model to the form of the simulator.

    A custom function becomes a table of 20,000 points, with response times from a millionth to a
    million of mean service times, at a constant ratio of 1.0014.
    """
    if isinstance(p, Constant):
        return again.ConstantAgain(float(p.p))
    if isinstance(p, Exponential):
        return again.ExponentialAgain(float(p.theta))
    if isinstance(p, Hyperbolic):
        return again.HyperbolicAgain(float(p.a), float(p.b))
    if isinstance(p, TableProbability):
        return again.AgainTable(p.times.tolist(), p.probabilities.tolist())
    if isinstance(p, Probability):
        times = _times(S)
        return again.AgainTable(times.tolist(), p.at_times(times).tolist())
    return again.ConstantAgain(float(p))


def as_pause(Z: Any, S: float) -> float | customers.Pause:
    """Convert a think time of a model to the form of the simulator; see `as_again`."""
    if isinstance(Z, Breaks):
        return customers.BreakPause(float(Z.short), float(Z.long), float(Z.limit))
    if isinstance(Z, Form):
        times = _times(S)
        return customers.PauseTable(times.tolist(), Z.at_times(times).tolist())
    return float(Z)


def whole(users: float) -> int:
    """Return a number of users as an integer."""
    return check_count("N", users)


@cache
def _times(S: float) -> NDArray[np.float64]:
    return np.concatenate([[0.0], S * np.geomspace(FIRST, LAST, POINTS - 1)])


def mean_service(point: Point) -> float:
    """Return the longest mean service time of a point; in a network, the longest demand."""
    return float(np.max(point["S"] if "S" in point else point["demands"]))


def in_words(value: Any, S: float) -> str | float:
    """Format a parameter for tables: a number, an array, or the name of a function."""
    if isinstance(value, str):
        return value
    if isinstance(value, np.ndarray) and value.ndim:
        return str(value.tolist())
    if isinstance(value, Form):
        form = as_again(value, S) if isinstance(value, Probability) else as_pause(value, S)
        long = isinstance(form, again.AgainTable | customers.PauseTable) and len(form.times) > 20
        return str(value) if long else str(form)
    return float(value)
