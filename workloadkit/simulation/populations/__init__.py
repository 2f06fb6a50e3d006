"""Populations: the users who are present in a simulation, by the names of the command line.

A population is a small frozen object: a name and its parameters. `known` lists the built-in ones;
`parse` reads ``name:param=value,...``.
"""

from typing import TYPE_CHECKING, Any

from workloadkit.built_in import POPULATIONS, BuiltInParts
from workloadkit.parameters import read_choice

if TYPE_CHECKING:
    from workloadkit.simulation.populations.population import Recorded
    from workloadkit.simulation.populations.resampled import Resampled, ResampledUsers

__all__ = ["Recorded", "Resampled", "ResampledUsers", "known", "parse"]

__getattr__ = POPULATIONS.class_named


def __dir__() -> list[str]:
    return __all__


def known() -> BuiltInParts:
    """Return the built-in populations, by name.

    Examples
    --------
    >>> "resampled" in known()
    True
    """
    return POPULATIONS


def parse(text: str) -> Any:
    """Make a population from its name and parameters.

    Parameters
    ----------
    text : str
        ``name`` or ``name:param=value,...``; one value without ``param=`` is the first parameter.

    Raises
    ------
    ParameterError
        For an unknown name, parameter or value; the message lists the known ones.

    Examples
    --------
    >>> parse("recorded")
    Recorded()
    """
    population, values = read_choice("population", known(), text)
    return population(**values)
