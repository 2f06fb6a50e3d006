"""What a study is: a source's claims, the logs that they are about, and what is left open."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis.reproduction.claims import Result
from analysis.reproduction.logs import Log
from analysis.reproduction.readings import Axis, Reading

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

Each = Callable[[Callable[[Any, "np.random.Generator"], Any], Iterable[Any]], list[Any]]


@dataclass(frozen=True, eq=False)
class Drawing:
    """A figure of the source, drawn from our numbers.

    Parameters
    ----------
    name : str
        Name of the file.
    title : str
        What the figure shows, in a few words.
    data : DataFrame
        The numbers.
    plot : callable
        ``plot(data, ax=None)`` draws them.
    size : tuple of float, default (8, 4)
        Width and height. [inch]
    """

    name: str
    title: str
    data: "pd.DataFrame"
    plot: Callable[..., Any]
    size: tuple[float, float] = (8, 4)

    def save(self, folder: Path) -> list[Path]:
        """Write it to a folder, as SVG and as PNG; return the files."""
        from functools import partial

        from analysis.style import save_figure

        files = [folder / f"{self.name}.{form}" for form in ("svg", "png")]
        for file in files:
            save_figure(partial(self.plot, self.data), file, title=self.title, size=self.size)
        return files


@dataclass(frozen=True)
class Plan:
    """What a study is to be run on.

    Parameters
    ----------
    logs, missing : sequence of Log
        Those of the study that are here, and the others.
    runs : int
        Runs of what is random.
    reading : mapping of str to str
        The option of each axis of the study.
    """

    logs: Sequence[Log]
    missing: Sequence[Log]
    runs: int
    reading: Reading


@dataclass(frozen=True)
class Study:
    """What a source published, and how to find the same in logs.

    Parameters
    ----------
    name : str
        Name on the command line: that of the module, with hyphens.
    text : str
        The module's docstring: the title, then what is compared and how.
    source : str
        Who published the figures, and where they stand.
    logs : mapping of str to str
        Names of the logs in the source, and the versions that it used; none if it needs none.
    compare : callable
        ``compare(plan, each)`` yields the results, and drawings of figures.
    runs : int, optional
        Runs where no number is given: as many as the source made, or fewer where these take long;
        None where nothing is random.
    axes : sequence of Axis, default ()
        What the source leaves open.
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
