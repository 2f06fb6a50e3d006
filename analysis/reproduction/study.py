"""The definition of a study: its source, logs, comparison, and the readings of its text."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from workloadkit.analysis.reproduction.claims import Result
from workloadkit.analysis.reproduction.logs import Log
from workloadkit.errors import ParameterError, among, quoted

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd


# Readings: choices that the text of a source leaves open, and the options chosen.

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


Each = Callable[[Callable[[Any, "np.random.Generator"], Any], Iterable[Any]], list[Any]]


@dataclass(frozen=True, eq=False)
class Drawing:
    """A figure of the source, redrawn from our numbers.

    Parameters
    ----------
    name : str
        Name of the file.
    title : str
        Title of the figure.
    data : DataFrame
        The plotted numbers.
    plot : callable
        ``plot(data, ax=None)`` draws the figure.
    size : tuple of float, default (8, 4)
        Width and height. [inch]
    """

    name: str
    title: str
    data: "pd.DataFrame"
    plot: Callable[..., Any]
    size: tuple[float, float] = (8, 4)

    def save(self, folder: Path) -> list[Path]:
        """Write the figure to a folder as SVG and PNG; return the files."""
        from functools import partial

        from workloadkit.analysis.style import save_figure

        files = [folder / f"{self.name}.{form}" for form in ("svg", "png")]
        for file in files:
            save_figure(partial(self.plot, self.data), file, title=self.title, size=self.size)
        return files


@dataclass(frozen=True)
class Plan:
    """The input of a run of a study.

    Parameters
    ----------
    logs, missing : sequence of Log
        The available logs of the study, and the missing ones.
    runs : int
        Number of repetitions of random simulations.
    reading : mapping of str to str
        The chosen option of each axis of the study.
    """

    logs: Sequence[Log]
    missing: Sequence[Log]
    runs: int
    reading: Reading


@dataclass(frozen=True)
class Study:
    """A reproduction of published results.

    Parameters
    ----------
    name : str
        Name on the command line: the module's name, with hyphens.
    text : str
        The module's docstring: a title, then what is compared and how.
    source : str
        Citation of the source, with tables, figures and sections.
    logs : mapping of str to str
        Names of the logs in the source, and the versions that it used; empty if no log is required.
    compare : callable
        ``compare(plan, each)`` yields the results and drawings.
    runs : int, optional
        Default number of runs: as many as in the source, or fewer if these take long; None if
        nothing is random.
    axes : sequence of Axis, default ()
        Choices that the source leaves open.
    """

    name: str
    text: str
    source: str
    logs: Mapping[str, str]
    compare: Callable[[Plan, Each], Iterator[Result | Drawing]]
    runs: int | None = None
    axes: Sequence[Axis] = ()

    @property
    def title(self) -> str:
        """First line of the text."""
        return self.text.strip().splitlines()[0].removesuffix(".")
