"""Readings: choices that the text of a source leaves open, and the options chosen."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from workloadkit.errors import ParameterError, among, quoted

#: The chosen option of each axis, by the name of the axis.
Reading = Mapping[str, str]


@dataclass(frozen=True)
class Axis:
    """A choice that the text of a source leaves open.

    Parameters
    ----------
    name : str
        Name on the command line.
    words : str
        The ambiguous passage of the source, or a statement that the source is silent.
    options : mapping of str to str
        Names of the options, and the meaning of each; the first is the default.
    """

    name: str
    words: str
    options: Mapping[str, str]

    @property
    def default(self) -> str:
        """The default option."""
        return next(iter(self.options))

    def preferring(self, option: str) -> "Axis":
        """Return the same axis with another default option.

        Examples
        --------
        >>> end = Axis("end", "no word of it", {"threshold": "20 min on", "submit": "at once"})
        >>> end.preferring("submit").default
        'submit'
        """
        return replace(self, options={option: self.options[option], **self.options})


def choose(axes: Sequence[Axis], choices: Iterable[str] | Reading = ()) -> Reading:
    """Return a reading: the chosen option of each axis, else its default.

    Parameters
    ----------
    axes : sequence of Axis
    choices : iterable of str, or mapping of str to str
        Each as ``axis=option``.

    Raises
    ------
    ParameterError
        If an axis or option does not exist, or an axis is chosen twice.

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
            known = among(name, by_name) if by_name else "this study has no axes"
            raise ParameterError("reading", f": no axis {quoted(name)}; {known}")
        if option not in by_name[name].options:
            known = among(option, by_name[name].options)
            raise ParameterError("reading", f": {name} is {quoted(option)}; {known}")
        if name in seen:
            raise ParameterError("reading", f": {name} is chosen twice")
        seen.add(name)
        reading[name] = option
    return MappingProxyType(reading)


def _split(choice: str) -> tuple[str, str]:
    name, equals, option = choice.partition("=")
    if not equals:
        raise ParameterError("reading", f": {quoted(choice)} is not of the form axis=option")
    return name, option
