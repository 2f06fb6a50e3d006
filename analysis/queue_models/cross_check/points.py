"""Points of a cross-check: sets of parameters, with the theory's results."""

import warnings
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from workloadkit import queueing
from workloadkit.analysis.queue_models.cross_check.models import (
    CheckedModel,
    Point,
    simulated_users,
)
from workloadkit.errors import ParameterError, WorkloadWarning, among, plural, quoted
from workloadkit.queueing.arguments import numbers
from workloadkit.queueing.errors import QueueingError, QueueingWarning
from workloadkit.queueing.probability import as_probability, as_think
from workloadkit.queueing.response_function import Form


class CheckedPoint(NamedTuple):
    """A point with its theory and its simulation.

    Parameters
    ----------
    point : mapping of str to object
    theory : Result
        Result of `queueing`.
    users : object
        Simulated users; or a function of a random generator that returns them, or what a
        simulation of its own observes (`Observed`).
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
    if model.arrays:
        return [
            {
                name: value if isinstance(value, str) else np.asarray(value, dtype=np.float64)
                for name, value in given.items()
            }
        ]
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
        theory = attrgetter(model.theory)(queueing)(**point)
    for warning in caught:
        family = WorkloadWarning if issubclass(warning.category, QueueingWarning) else None
        warnings.warn(str(warning.message), family or warning.category, stacklevel=4)
    return theory
