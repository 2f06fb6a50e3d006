"""Predictors of run times, by the names of the command line.

A predictor is a small frozen object: its parameters, a name, and two forms of the same predictions,
one for each engine. `known` lists the built-in ones; `parse` reads ``name:param=value,...``.
"""

from typing import TYPE_CHECKING

from workloadkit.built_in import PREDICTORS, BuiltInParts
from workloadkit.parameters import read_choice

if TYPE_CHECKING:
    from workloadkit.simulation.predictors.last_two import LastTwo
    from workloadkit.simulation.predictors.of_requests import Factor, Requested
    from workloadkit.simulation.predictors.of_run_times import Exact, FModel
    from workloadkit.simulation.predictors.predictor import BuiltIn
    from workloadkit.simulation.predictors.quantile import Quantile
    from workloadkit.simulation.predictors.same_job import SameJob
    from workloadkit.simulation.predictors.user_average import UserAverage

__all__ = [
    "BuiltIn",
    "Exact",
    "FModel",
    "Factor",
    "LastTwo",
    "Quantile",
    "Requested",
    "SameJob",
    "UserAverage",
    "known",
    "parse",
]

__getattr__ = PREDICTORS.class_named


def __dir__() -> list[str]:
    return __all__


def known() -> BuiltInParts:
    """Return the built-in predictors, by name.

    Examples
    --------
    >>> "last-two" in known()
    True
    """
    return PREDICTORS


def parse(text: str) -> "BuiltIn":
    """Make a predictor from its name and parameters.

    Parameters
    ----------
    text : str
        ``name`` or ``name:param=value,...``; one value without ``param=`` is the first parameter.
        The colon may be a comma: ``name,correct=rule``.

    Raises
    ------
    ParameterError
        For an unknown name, parameter or value; the message lists the known ones.

    Examples
    --------
    >>> parse("last-two")
    LastTwo(correct='requested', renewed=False)
    >>> parse("factor:2,correct=double")
    Factor(correct='double', renewed=False, times=2.0)
    """
    name, comma, settings = text.partition(",")
    if ":" not in name and comma:
        text = f"{name}:{settings}"
    predictor, values = read_choice("predictor", known(), text)
    return predictor(**values)
