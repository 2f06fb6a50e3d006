"""Models of a cross-check: their theory and simulation, at points of their parameters."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit import queueing
from workloadkit.analysis.queue_models.cross_check.estimates import Group, Kind
from workloadkit.errors import (
    ParameterError,
    WorkloadWarning,
    among,
    check_count,
    check_positive,
    plural,
    quoted,
)
from workloadkit.queueing.arguments import numbers
from workloadkit.queueing.errors import QueueingError, QueueingWarning
from workloadkit.queueing.probability import (
    Breaks,
    Constant,
    Exponential,
    Hyperbolic,
    Probability,
    TableProbability,
    as_probability,
    as_think,
)
from workloadkit.queueing.response_function import Form
from workloadkit.simulation import users
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
    """

    name: str
    kind: Kind
    group: Group
    of: tuple[str, ...]


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
    """A model of a cross-check.

    Parameters
    ----------
    theory : str
        Name of the function in `queueing`.
    needed, known : tuple of str
        Required parameters, and all parameters.
    simulated : callable
        Function from a point to the constructor of the simulated users.
    on_sites : bool
        Whether a meta-scheduler sends the jobs to sites of one processor, in place of servers.
    """

    theory: str
    needed: tuple[str, ...]
    known: tuple[str, ...]
    simulated: Callable[[Point], Callable[..., Any]]
    on_sites: bool = False

    def measures(self, point: Point) -> tuple[ModelMeasure, ...]:
        """Return the measures at a point."""
        if self.theory == "mixed":
            closed = _four("closed", "c")
            if not point.get("N"):
                closed = ()
            opened = _four("open", "o") if point.get("lam") else ()
            if opened and point.get("p") is not None:
                opened += (
                    ModelMeasure("Ro_first", "R", "first", ("Ro_first",)),
                    ModelMeasure("jobs_per_user", "per_first", "open", ("Xo",)),
                )
            return closed + opened
        if self.theory == "reopen":
            return (
                *_four("all", ""),
                ModelMeasure("R_first", "R", "first", ("R_first",)),
                ModelMeasure("jobs_per_user", "per_first", "all", ("X",)),
            )
        return _four("all", "")

    def responses(self, point: Point) -> tuple[Responses, ...]:
        """Return the distributions of response times."""
        if self.theory == "mixed":
            laws: list[Responses] = []
            if point.get("N"):
                laws.append(Responses("Rc", "closed", "closed"))
            if point.get("lam"):
                laws.append(Responses("Ro", "open", "open"))
                if point.get("p") is not None:
                    laws.append(Responses("Ro_first", "first", "first"))
            return tuple(laws)
        if self.theory == "reopen":
            return Responses("R", "any", "all"), Responses("R_first", "first", "first")
        return (Responses("R", "closed" if self.theory == "closed" else "open", "all"),)


def _four(group: Group, letter: str) -> tuple[ModelMeasure, ...]:
    x, r, q, u = (f"{name}{letter}" for name in "XRQU")
    return (
        ModelMeasure(x, "X", group, (x,)),
        ModelMeasure(r, "R", group, (r,)),
        ModelMeasure(q, "Q", group, (x, r)),
        ModelMeasure(u, "U", group, (x,)),
    )


def _poisson(point: Point) -> Callable[..., Any]:
    return lambda **how: users.Poisson(point["lam"], **how)


def _fixed(point: Point) -> Callable[..., Any]:
    return lambda **how: users.Poisson(point["lam"], law="fixed", **how)


def _think(point: Point) -> Callable[..., Any]:
    return lambda **how: users.Think(_whole(point["N"]), point["Z"], **how)


def _mixed(point: Point) -> Callable[..., Any]:
    p = point.get("p")
    chance = None if p is None else as_again(p, point["S"])
    think = as_pause(point["Z"], point["S"])
    return lambda **how: users.Mixed(point["lam"], _whole(point["N"]), think, again=chance, **how)


def _reopen(point: Point) -> Callable[..., Any]:
    think = as_pause(point["Z"], point["S"])
    return lambda **how: users.Reopen(point["lam"], as_again(point["p"], point["S"]), think, **how)


_CLOSED = CheckedModel("closed", ("N", "Z", "S"), ("N", "Z", "S", "servers", "method"), _think)
_OPEN = ("lam", "S")

#: Models by name; poisson and think are the simulator's names.
MODELS: dict[str, CheckedModel] = {
    "mm1": CheckedModel("mm1", _OPEN, _OPEN, _poisson),
    "mmc": CheckedModel("mmc", (*_OPEN, "servers"), (*_OPEN, "servers"), _poisson),
    "sites": CheckedModel("mmc", (*_OPEN, "servers"), (*_OPEN, "servers"), _poisson, on_sites=True),
    "md1": CheckedModel("md1", _OPEN, _OPEN, _fixed),
    "closed": _CLOSED,
    "mixed": CheckedModel(
        "mixed",
        ("lam", "N", "Z", "S"),
        ("lam", "N", "Z", "S", "servers", "method", "p"),
        _mixed,
    ),
    "reopen": CheckedModel(
        "reopen",
        ("lam", "p", "Z", "S"),
        ("lam", "p", "Z", "S", "servers", "method"),
        _reopen,
    ),
    "poisson": CheckedModel("mm1", _OPEN, _OPEN, _poisson),
    "think": _CLOSED,
}


def find_model(name: str) -> CheckedModel:
    """Return a model by its name."""
    if name not in MODELS:
        raise ParameterError(f"unknown model {quoted(name)}; {among(name, MODELS)}")
    return MODELS[name]


def simulated_users(model: CheckedModel, point: Point, jobs: int) -> tuple[Any, int]:
    """Return the users of a point, and the processors of their machine."""
    check_positive(S=point["S"])
    for name in ("lam", "N"):
        if name in model.needed and model.theory != "mixed":
            check_positive(**{name: point[name]})
    if point.get("N", 0) > jobs:
        raise ParameterError(f"N is {point['N']:g}; there are {jobs:,} jobs, at least one each")
    make = model.simulated(point)
    # more servers than jobs make no difference
    processors = min(check_count("servers", point.get("servers", 1), least=1), jobs)
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


def _whole(users: float) -> int:
    return check_count("N", users)


@cache
def _times(S: float) -> NDArray[np.float64]:
    return np.concatenate([[0.0], S * np.geomspace(FIRST, LAST, POINTS - 1)])


def in_words(value: Any, S: float) -> str | float:
    """Format a parameter for tables: a number, or the name of a function."""
    if isinstance(value, str):
        return value
    if isinstance(value, Form):
        form = as_again(value, S) if isinstance(value, Probability) else as_pause(value, S)
        long = isinstance(form, again.AgainTable | customers.PauseTable) and len(form.times) > 20
        return str(value) if long else str(form)
    return float(value)


# Points of a cross-check: sets of parameters, with the theory's results.


class CheckedPoint(NamedTuple):
    """A point with its theory and its simulation.

    Parameters
    ----------
    point : mapping of str to object
    theory : Result
        Result of `queueing`.
    users : object
        Simulated users.
    processors : int
        Processors of the machine.
    """

    point: Point
    theory: Any
    users: Any
    processors: int


def cases_of(
    model: CheckedModel, grids: Sequence[Mapping[str, Any]], jobs: int
) -> list[CheckedPoint]:
    """Return the points with a solution; warn of others, or raise their error if none is left."""
    points = [point for grid in grids for point in _points(model, grid)]
    cases, refused = [], []
    for point in points:
        try:
            theory = _solved(model, point)
            cases.append(CheckedPoint(point, theory, *simulated_users(model, point, jobs)))
        except (QueueingError, ParameterError) as error:
            refused.append(ParameterError(str(error)))
    if not cases:
        raise refused[0]
    if refused:
        warnings.warn(
            f"left out: {len(refused):,} of {plural(len(points), 'point')}: {refused[0]}",
            WorkloadWarning,
            stacklevel=3,
        )
    return cases


def _points(model: CheckedModel, parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Broadcast parameters like numpy, and return them point by point."""
    for name in parameters:
        if name not in model.known:
            raise ParameterError(
                f"{model.theory} has no parameter {quoted(name)}; {among(name, model.known)}"
            )
    for name in model.needed:
        if parameters.get(name) is None:
            raise ParameterError(f"{model.theory} requires {name}")
    given = {name: value for name, value in parameters.items() if value is not None}
    functions = {"mixed": ("p",), "reopen": ("p", "Z")}.get(model.theory, ())
    for name, value in given.items():
        if callable(value) and name not in functions:
            raise ParameterError(f"{name} is a function; for {model.theory} it must be a number")
    words = {name: value for name, value in given.items() if name == "method"}
    try:
        forms: dict[str, Any] = {
            name: as_think(value) if name == "Z" else as_probability(value)
            for name, value in given.items()
            if name in ("p", "Z") and callable(value)
        }
        arrays = {
            name: numbers(name, value)
            for name, value in given.items()
            if name not in words and name not in forms
        }
        inner = [value.shape for form in forms.values() for value in form.values.values()]
        shape = np.broadcast_shapes(*(x.shape for x in arrays.values()), *inner)
    except QueueingError as error:
        raise ParameterError(str(error)) from None
    except ValueError:
        shapes = ", ".join(f"{name} {x.shape}" for name, x in arrays.items() if x.ndim)
        raise ParameterError(f"cannot broadcast parameters: {shapes}") from None
    flat = {name: np.broadcast_to(x, shape).ravel() for name, x in arrays.items()}
    wide = {name: _broadcast(form, shape) for name, form in forms.items()}
    return [
        {
            name: float(flat[name][place])
            if name in flat
            else wide[name].at(place)
            if name in wide
            else words[name]
            for name in given
        }
        for place in range(int(np.prod(shape)))
    ]


def _broadcast(form: Form, shape: tuple[int, ...]) -> Form:
    return form.with_values({k: np.broadcast_to(v, shape) for k, v in form.values.items()})


def _solved(model: CheckedModel, point: Point) -> Any:
    """Solve the model at a point, with its warnings as `WorkloadWarning`."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", QueueingWarning)
        theory = getattr(queueing, model.theory)(**point)
    for warning in caught:
        family = WorkloadWarning if issubclass(warning.category, QueueingWarning) else None
        warnings.warn(str(warning.message), family or warning.category, stacklevel=4)
    return theory
