"""Users: one file per behaviour, by the names of the command line.

A behaviour is a small frozen object: a name and its parameters. `known` lists the built-in ones;
`parse` reads ``name:param=value,...``.
"""

from typing import Any

from workloadkit.parameters import read_choice
from workloadkit.simulation.engine import User
from workloadkit.simulation.users.batches import BatchUser
from workloadkit.simulation.users.batches.adjusted import Adjusted
from workloadkit.simulation.users.batches.closed import Closed
from workloadkit.simulation.users.batches.custom import CustomUsers
from workloadkit.simulation.users.batches.distribution import Distribution
from workloadkit.simulation.users.batches.fluid import Fluid
from workloadkit.simulation.users.dependent import Dependent
from workloadkit.simulation.users.open import OpenUsers
from workloadkit.simulation.users.queueing.mixed import Mixed
from workloadkit.simulation.users.queueing.poisson import Poisson
from workloadkit.simulation.users.queueing.reopen import Reopen
from workloadkit.simulation.users.queueing.think import Think
from workloadkit.simulation.users.sites.dynamic import DynamicSite
from workloadkit.simulation.users.sites.static import StaticSite

__all__ = [
    "Adjusted",
    "BatchUser",
    "Closed",
    "CustomUsers",
    "Dependent",
    "Distribution",
    "DynamicSite",
    "Fluid",
    "Mixed",
    "OpenUsers",
    "Poisson",
    "Reopen",
    "StaticSite",
    "Think",
    "User",
    "known",
    "parse",
]

_BUILT_IN: tuple[type[Any], ...] = (
    OpenUsers,
    Closed,
    Dependent,
    Adjusted,
    Distribution,
    Fluid,
    Poisson,
    Think,
    Mixed,
    Reopen,
    DynamicSite,
    StaticSite,
)


def __dir__() -> list[str]:
    return __all__


def known() -> dict[str, type[Any]]:
    """Return the built-in behaviours, by name."""
    return {behaviour.name: behaviour for behaviour in _BUILT_IN}


def parse(text: str) -> Any:
    """Make a behaviour from its name and parameters.

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
    >>> parse("open")
    OpenUsers()
    """
    behaviour, values = read_choice("users", known(), text)
    return behaviour(**values)
