"""Users: their behaviours, by the names of the command line.

A behaviour is a small frozen object: a name and its parameters. `known` lists the built-in ones;
`parse` reads ``name:param=value,...``.
"""

from typing import TYPE_CHECKING, Any

from workloadkit.built_in import USERS, BuiltInParts
from workloadkit.parameters import read_choice
from workloadkit.simulation.engine import User
from workloadkit.simulation.users.behaviour import OpenUsers

if TYPE_CHECKING:
    from workloadkit.simulation.users.batches import BatchUser
    from workloadkit.simulation.users.batches.closed import Adjusted, Closed, CustomUsers
    from workloadkit.simulation.users.batches.distribution import Distribution
    from workloadkit.simulation.users.batches.fluid import Fluid
    from workloadkit.simulation.users.dependent import Dependent
    from workloadkit.simulation.users.queueing.kinds import Cautious, Mixed, Poisson, Reopen, Think
    from workloadkit.simulation.users.sites import DynamicSite, StaticSite

__all__ = [
    "Adjusted",
    "BatchUser",
    "Cautious",
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

__getattr__ = USERS.class_named


def __dir__() -> list[str]:
    return __all__


def known() -> BuiltInParts:
    """Return the built-in behaviours, by name."""
    return USERS


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
