"""Users: one file a behaviour, by the names of the command line."""

from workloadkit.errors import ParameterError
from workloadkit.simulate.engine import User
from workloadkit.simulate.users.open import OpenUsers

__all__ = ["OpenUsers", "User", "known", "parse"]


def __dir__() -> list[str]:
    return __all__


def known() -> dict[str, type[OpenUsers]]:
    """Return the behaviours built in, by name."""
    return {OpenUsers.name: OpenUsers}


def parse(text: str) -> OpenUsers:
    """Make a behaviour from its name.

    Raises
    ------
    ParameterError
        For an unknown name; it names the known ones.

    Examples
    --------
    >>> parse("open")
    OpenUsers()
    """
    if text not in known():
        raise ParameterError(f"unknown users {text!r}; known: {', '.join(known())}")
    return known()[text]()
