"""Built-in parts of simulations by name, each imported when it is used."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from sys import modules
from typing import Any


class BuiltInParts(Mapping[str, type[Any]]):
    """Classes by the names of the command line.

    Parameters
    ----------
    package : str
    places : mapping of str to str
        For each name, the module in the package, and the class: ``module.Class``.
    *others : str
        Places of further classes.
    """

    def __init__(self, package: str, places: Mapping[str, str], *others: str) -> None:
        self._package, self._places = package, places
        self._by_class = {p.rpartition(".")[2]: p for p in (*places.values(), *others)}

    def __getitem__(self, name: str) -> type[Any]:
        return self._load(self._places[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    @property
    def loaded(self) -> tuple[type[Any], ...]:
        """The classes that have been imported."""
        return tuple(
            self._load(place)
            for place in self._places.values()
            if f"{self._package}.{place.rpartition('.')[0]}" in modules
        )

    def class_named(self, name: str) -> type[Any]:
        """Return a class by its own name, as a module's ``__getattr__``."""
        if name not in self._by_class:
            raise AttributeError(f"there is no {name!r} in {self._package}")
        return self._load(self._by_class[name])

    def _load(self, place: str) -> type[Any]:
        module, _, name = place.rpartition(".")
        found: type[Any] = getattr(import_module(f"{self._package}.{module}"), name)
        return found
