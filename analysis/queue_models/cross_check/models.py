"""The models that can be cross-checked: their theory, their simulation, what both tell."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis.queue_models.cross_check.estimates import Kind
from analysis.queue_models.cross_check.measuring import Who
from queueing.probability import Constant, Exponential, Hyperbolic, Probability, Table
from queueing.response_function import Form
from queueing.think_time import Breaks
from workloadkit.errors import ParameterError, among, check_count, check_positive
from workloadkit.simulation import users
from workloadkit.simulation.users.queueing import again, pauses

#: Points of the table that the simulator has of a custom function, and the response times
#: from the first to the last of them, in mean service times.
POINTS, FIRST, LAST = 20_000, 1e-6, 1e6

Point = Mapping[str, Any]


class Measure(NamedTuple):
    """A measure that theory and simulation tell.

    Parameters
    ----------
    name : str
        In the result of the theory.
    kind : str
        How the simulation measures it.
    who : str
        Of whose jobs.
    of : tuple of str
        Measures whose stated errors make up its own, where it has none: it is their product, but
        for what is exact.
    """

    name: str
    kind: Kind
    who: Who
    of: tuple[str, ...]


class Responses(NamedTuple):
    """A distribution of response times that theory and simulation tell.

    Parameters
    ----------
    name : str
        Of its mean.
    job : str
        By which the theory knows it.
    who : str
        Whose jobs these are.
    """

    name: str
    job: str
    who: Who


@dataclass(frozen=True)
class Model:
    """A model.

    Parameters
    ----------
    theory : str
        Function of `queueing`.
    needed, known : tuple of str
        Parameters without a default, and all.
    simulated : callable
        From a point to the users who are simulated; without the parameters of all users.
    """

    theory: str
    needed: tuple[str, ...]
    known: tuple[str, ...]
    simulated: Callable[[Point], Callable[..., Any]]

    def measures(self, point: Point) -> tuple[Measure, ...]:
        """Return what there is to measure."""
        if self.theory == "mixed":
            closed = _four("closed", "c")
            if not point.get("N"):
                closed = ()
            opened = _four("open", "o") if point.get("lam") else ()
            if opened and point.get("p") is not None:
                opened += (
                    Measure("Ro_first", "R", "first", ("Ro_first",)),
                    Measure("jobs_per_user", "per_first", "open", ("Xo",)),
                )
            return closed + opened
        if self.theory == "reopen":
            return (
                *_four("all", ""),
                Measure("R_first", "R", "first", ("R_first",)),
                Measure("jobs_per_user", "per_first", "all", ("X",)),
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


def _four(who: Who, letter: str) -> tuple[Measure, ...]:
    x, r, q, u = (f"{name}{letter}" for name in "XRQU")
    return (
        Measure(x, "X", who, (x,)),
        Measure(r, "R", who, (r,)),
        Measure(q, "Q", who, (x, r)),
        Measure(u, "U", who, (x,)),
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


_CLOSED = Model("closed", ("N", "Z", "S"), ("N", "Z", "S", "servers", "method"), _think)
_OPEN = ("lam", "S")

#: By their names; the populations of the simulator are other names of the same.
MODELS: dict[str, Model] = {
    "mm1": Model("mm1", _OPEN, _OPEN, _poisson),
    "mmc": Model("mmc", (*_OPEN, "servers"), (*_OPEN, "servers"), _poisson),
    "md1": Model("md1", _OPEN, _OPEN, _fixed),
    "closed": _CLOSED,
    "mixed": Model(
        "mixed",
        ("lam", "N", "Z", "S"),
        ("lam", "N", "Z", "S", "servers", "method", "p"),
        _mixed,
    ),
    "reopen": Model(
        "reopen",
        ("lam", "p", "Z", "S"),
        ("lam", "p", "Z", "S", "servers", "method"),
        _reopen,
    ),
    "poisson": Model("mm1", _OPEN, _OPEN, _poisson),
    "think": _CLOSED,
}


def find_model(name: str) -> Model:
    """Return a model by its name.

    Raises
    ------
    ParameterError
        For an unknown one; it names the known ones.
    """
    if name not in MODELS:
        raise ParameterError(f"unknown model {name!r}; {among(name, MODELS)}")
    return MODELS[name]


def simulated_users(model: Model, point: Point, jobs: int) -> tuple[Any, int]:
    """Return the users of a point, and the processors of their machine.

    Raises
    ------
    ParameterError
        Where there is nobody, or their number is no whole one.
    """
    check_positive(S=point["S"])
    for name in ("lam", "N"):
        if name in model.needed and model.theory != "mixed":
            check_positive(**{name: point[name]})
    if point.get("N", 0) > jobs:
        raise ParameterError(f"N is {point['N']:g}; there are {jobs:,} jobs, one at least for each")
    make = model.simulated(point)
    # who never waits with so many servers as there are jobs never waits with more
    processors = min(check_count("servers", point.get("servers", 1), least=1), jobs)
    return make(run=float(point["S"]), jobs=jobs), processors


def as_again(p: Any, S: float) -> again.Again:
    """Return p of a model in the form that the simulator has.

    Of a custom function it has a table: 20,000 points, whose response times grow by a
    constant factor of 1.0014, from a millionth of a mean service time to a million of them.
    """
    if isinstance(p, Constant):
        return again.Constant(float(p.p))
    if isinstance(p, Exponential):
        return again.Exponential(float(p.theta))
    if isinstance(p, Hyperbolic):
        return again.Hyperbolic(float(p.a), float(p.b))
    if isinstance(p, Table):
        return again.Table(p.times.tolist(), p.probabilities.tolist())
    if isinstance(p, Probability):
        times = _times(S)
        return again.Table(times.tolist(), p.at_times(times).tolist())
    return again.Constant(float(p))


def as_pause(Z: Any, S: float) -> float | pauses.Pause:
    """Return a think time of a model in the form that the simulator has; see `as_again`."""
    if isinstance(Z, Breaks):
        return pauses.Breaks(float(Z.short), float(Z.long), float(Z.limit))
    if isinstance(Z, Form):
        times = _times(S)
        return pauses.PauseTable(times.tolist(), Z.at_times(times).tolist())
    return float(Z)


def _whole(users: float) -> int:
    return check_count("N", users)


@cache
def _times(S: float) -> NDArray[np.float64]:
    return np.concatenate([[0.0], S * np.geomspace(FIRST, LAST, POINTS - 1)])


def in_words(value: Any, S: float) -> str | float:
    """Return a parameter as tables show it: a number, or a function by its name."""
    if isinstance(value, str):
        return value
    if isinstance(value, Form):
        form = as_again(value, S) if isinstance(value, Probability) else as_pause(value, S)
        long = isinstance(form, again.Table | pauses.PauseTable) and len(form.times) > 20
        return str(value) if long else str(form)
    return float(value)
