"""Readings: what the words of a source leave open, and which way they are taken."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from workloadkit.errors import ParameterError, among

#: The option that is taken of each axis, by their names.
Reading = Mapping[str, str]


@dataclass(frozen=True)
class Axis:
    """Something that the words of a source leave open.

    Parameters
    ----------
    name : str
        Name on the command line.
    words : str
        The words that leave it open, or that there are none, and where.
    options : mapping of str to str
        Names of the ways to take them, and what each means; the first is taken unless another
        one is chosen.
    """

    name: str
    words: str
    options: Mapping[str, str]

    @property
    def default(self) -> str:
        """The option that is taken unless another one is chosen."""
        return next(iter(self.options))

    def preferring(self, option: str) -> "Axis":
        """Return the same axis with another default.

        Examples
        --------
        >>> end = Axis("end", "no word of it", {"threshold": "20 min on", "submit": "at once"})
        >>> end.preferring("submit").default
        'submit'
        """
        return replace(self, options={option: self.options[option], **self.options})


def choose(axes: Sequence[Axis], choices: Iterable[str] | Reading = ()) -> Reading:
    """Return a reading: of each axis the option that is chosen, else its first.

    Parameters
    ----------
    axes : sequence of Axis
    choices : iterable of str, or mapping of str to str
        Each as ``axis=option``.

    Raises
    ------
    ParameterError
        If there is no such axis or option, or one is chosen twice.

    Examples
    --------
    >>> end = Axis("end", "no word of it", {"threshold": "20 min on", "submit": "at once"})
    >>> dict(choose([end]))
    {'end': 'threshold'}
    >>> dict(choose([end], ["end=submit"]))
    {'end': 'submit'}
    """
    by_name = {axis.name: axis for axis in axes}
    reading = {axis.name: axis.default for axis in axes}
    pairs = choices.items() if isinstance(choices, Mapping) else map(_split, choices)
    seen = set()
    for name, option in pairs:
        if name not in by_name:
            known = among(name, by_name) if by_name else "nothing is left open here"
            raise ParameterError(f"reading: no axis {name!r}; {known}")
        if option not in by_name[name].options:
            known = among(option, by_name[name].options)
            raise ParameterError(f"reading: {name} is {option!r}; {known}")
        if name in seen:
            raise ParameterError(f"reading: {name} is chosen twice")
        seen.add(name)
        reading[name] = option
    return MappingProxyType(reading)


def _split(choice: str) -> tuple[str, str]:
    name, equals, option = choice.partition("=")
    if not equals:
        raise ParameterError(f"reading: {choice!r} is not as axis=option")
    return name, option
