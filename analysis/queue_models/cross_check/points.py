"""The points of a cross-check: parameters one by one, and what the theory says of them."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

import queueing
from analysis.queue_models.cross_check.models import Model, Point, simulated_users
from queueing.arguments import numbers
from queueing.errors import QueueingError, QueueingWarning
from queueing.probability import as_probability
from queueing.response_function import Form
from queueing.think_time import as_think
from workloadkit.errors import ParameterError, WorkloadWarning, among


class Case(NamedTuple):
    """A point with its theory and its simulation.

    Parameters
    ----------
    point : mapping of str to object
    theory : Result
        Of `queueing`.
    users : object
        Who are simulated.
    processors : int
        Of their machine.
    """

    point: Point
    theory: Any
    users: Any
    processors: int


def cases_of(model: Model, grids: Sequence[Mapping[str, Any]], jobs: int) -> list[Case]:
    """Return the points that have an answer.

    Raises
    ------
    ParameterError
        For unknown and missing parameters; for what the theory refuses, or nobody can simulate, if
        no point is left.

    Warns
    -----
    WorkloadWarning
        How many points are left out for this, and why the first is.
    """
    points = [point for grid in grids for point in _points(model, grid)]
    cases, refused = [], []
    for point in points:
        try:
            theory = _solved(model, point)
            cases.append(Case(point, theory, *simulated_users(model, point, jobs)))
        except (QueueingError, ParameterError) as error:
            refused.append(ParameterError(str(error)))
    if not cases:
        raise refused[0]
    if refused:
        warnings.warn(
            f"{len(refused):,} of {len(points):,} points are left out: {refused[0]}",
            WorkloadWarning,
            stacklevel=3,
        )
    return cases


def _points(model: Model, parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Broadcast parameters as numpy does, and return them point by point."""
    for name in parameters:
        if name not in model.known:
            raise ParameterError(
                f"{model.theory} has no parameter {name!r}; {among(name, model.known)}"
            )
    for name in model.needed:
        if parameters.get(name) is None:
            raise ParameterError(f"{model.theory} needs {name}")
    given = {name: value for name, value in parameters.items() if value is not None}
    functions = {"mixed": ("p",), "reopen": ("p", "Z")}.get(model.theory, ())
    for name, value in given.items():
        if callable(value) and name not in functions:
            raise ParameterError(f"{name} is a function; of {model.theory} it is a number")
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
        raise ParameterError(f"the shapes of the parameters do not go together: {shapes}") from None
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


def _solved(model: Model, point: Point) -> Any:
    """Return what the theory says, its warnings as the toolkit's."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", QueueingWarning)
        theory = getattr(queueing, model.theory)(**point)
    for warning in told:
        family = WorkloadWarning if issubclass(warning.category, QueueingWarning) else None
        warnings.warn(str(warning.message), family or warning.category, stacklevel=4)
    return theory
