"""Statistical models of workloads: logs made from a few parameters; and the load of a log, set.

`known` lists the models by the names of the command line. Each takes a number of jobs, a number of
processors and a seed, and gives a `Trace`; each says what it leaves out.
"""

from collections.abc import Callable
from inspect import Parameter, signature
from typing import Any

from workloadkit.errors import ParameterError
from workloadkit.models.cirne import cirne, moldable
from workloadkit.models.downey97 import downey97, downey97_jobs
from workloadkit.models.feitelson96 import feitelson96
from workloadkit.models.jann97 import jann97
from workloadkit.models.load import offered_load, scale_load
from workloadkit.models.lublin import JobType, lublin
from workloadkit.models.size_classes import SizeClass, fit_jann97
from workloadkit.models.speedup import downey_speedup
from workloadkit.models.tsafrir import add_estimates, tsafrir
from workloadkit.trace import Trace

__all__ = [
    "JobType",
    "SizeClass",
    "add_estimates",
    "cirne",
    "downey97",
    "downey97_jobs",
    "downey_speedup",
    "feitelson96",
    "fit_jann97",
    "jann97",
    "known",
    "lublin",
    "moldable",
    "offered_load",
    "parse",
    "scale_load",
    "tsafrir",
]

_MODELS: tuple[Callable[..., Trace], ...] = (
    lublin,
    feitelson96,
    jann97,
    downey97,
    cirne,
    tsafrir,
)


def __dir__() -> list[str]:
    return __all__


def known() -> dict[str, Callable[..., Trace]]:
    """Return the models, by name.

    Examples
    --------
    >>> ", ".join(known())
    'lublin, feitelson96, jann97, downey97, cirne, tsafrir'
    """
    return {model.__name__: model for model in _MODELS}


def parse(text: str) -> tuple[Callable[..., Trace], dict[str, Any]]:
    """Find a model and its parameters.

    Parameters
    ----------
    text : str
        ``name`` or ``name:param=value,...``, with parameters that are numbers or words.

    Returns
    -------
    model : callable
    parameters : dict
        To call it with.

    Raises
    ------
    ParameterError
        For an unknown name, parameter or value; it names the known ones.

    Examples
    --------
    >>> model, parameters = parse("lublin:types=two")
    >>> model.__name__, parameters
    ('lublin', {'types': 'two'})
    """
    name, _, settings = text.partition(":")
    if name not in known():
        raise ParameterError(f"unknown model {name!r}; known: {', '.join(known())}")
    types = _written(known()[name])
    values: dict[str, Any] = {}
    for setting in filter(None, settings.split(",")):
        parameter, _, value = setting.partition("=")
        if parameter in values:
            raise ParameterError(f"model {name}: {parameter} is given twice")
        if parameter not in types:
            raise ParameterError(
                f"model {name} has no parameter {parameter!r}; known: {', '.join(types) or 'none'}"
            )
        try:
            values[parameter] = types[parameter](value)
        except ValueError:
            raise ParameterError(
                f"model {name}: {parameter} is {value!r}; it is a number"
            ) from None
    return known()[name], values


def _written(model: Callable[..., Trace]) -> dict[str, Callable[[str], Any]]:
    """Parameters of a model that can be written in a word, and how each is read."""
    kinds: dict[str, Callable[[str], Any]] = {}
    for name, parameter in signature(model).parameters.items():
        if parameter.kind is Parameter.KEYWORD_ONLY and name != "load":
            if isinstance(parameter.default, str):
                kinds[name] = str
            elif isinstance(parameter.default, float):
                kinds[name] = float
            elif parameter.annotation == int | None:
                kinds[name] = int
    return kinds
