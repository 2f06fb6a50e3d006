"""Statistical models of workloads, and functions that set the load of a log.

`known` lists the models by their names on the command line. Each takes a number of jobs, a number
of processors and a seed, and returns a `Trace`; each documents what it leaves out.
"""

from collections.abc import Callable
from typing import Any

from workloadkit.models.cirne import cirne, moldable
from workloadkit.models.downey97 import downey97, downey97_jobs, downey_speedup
from workloadkit.models.feitelson96 import feitelson96
from workloadkit.models.jann97 import SizeClass, fit_jann97, jann97
from workloadkit.models.load import offered_load, scale_load
from workloadkit.models.lublin import JobType, lublin
from workloadkit.models.tsafrir import add_estimates, tsafrir
from workloadkit.parameters import read_choice
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
    """Return a model and its parameters.

    Parameters
    ----------
    text : str
        ``name`` or ``name:param=value,...``, with numbers or words as parameters.

    Returns
    -------
    model : callable
    parameters : dict
        Keyword arguments for the model.

    Raises
    ------
    ParameterError
        For an unknown name, parameter or value, with the known ones.

    Examples
    --------
    >>> model, parameters = parse("lublin:types=two")
    >>> model.__name__, parameters
    ('lublin', {'types': 'two'})
    """
    return read_choice("model", known(), text, besides=("load",), unnamed=False)
