"""The definition of a study: its source, logs, comparison and axes."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workloadkit.analysis.reproduction.claims import Result
from workloadkit.analysis.reproduction.logs import Log
from workloadkit.analysis.reproduction.readings import Axis, Reading

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

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
