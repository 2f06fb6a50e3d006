"""Studies: what a source published, found again in logs.

A study is a module of this package. Its docstring begins with the title and tells what is compared
and how; its `STUDY` says where the published figures stand and which logs they were taken from.
`Study.compare` takes the logs that are here, a number of runs and `each`, and yields a `Result`
for every published figure or claim, and a `Drawing` for every figure that it draws anew. What takes
time it gives to ``each(function, tasks)``, which calls ``function(task, rng)`` for each task, with
a random stream of the task's own, and returns what came back in the order of the tasks, whoever did
the work.
"""

import csv
import io
import math
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from importlib import import_module
from itertools import count
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, Literal

from workloadkit import __version__
from workloadkit.errors import ParameterError, WorkloadError, WorkloadWarning

if TYPE_CHECKING:
    from concurrent.futures import Executor

    import numpy as np
    import pandas as pd

    from workloadkit.trace import Trace

#: Of a count: equal or differs. Of a claim: held, direction only or not held.
Verdict = Literal["equal", "differs", "held", "direction only", "not held"]

#: The logs of N. Zakay's thesis, and their versions as its Table 1.1 (2018) lists them.
ZAKAY_LOGS: Mapping[str, str] = {
    "LANL-CM5": "LANL-CM5-1994-3.1-cln",
    "SDSC-Par": "SDSC-Par-1995-3.1-cln",
    "CTC-SP2": "CTC-SP2-1996-2.1-cln",
    "KTH-SP2": "KTH-SP2-1996-2",
    "SDSC-SP2": "SDSC-SP2-1998-3.1-cln",
    "SDSC-BLUE": "SDSC-BLUE-2000-3.1-cln",
    "HPC2N": "HPC2N-2002-1.1-cln",
    "SDSC-DS": "SDSC-DS-2004-1",
    "ANL-Intrepid": "ANL-Intrepid-2009-1",
    "PIK-IPLEX": "PIK-IPLEX-2009-1",
    "CEA-Curie": "CEA-Curie-2011-2.1-cln",
}

Each = Callable[[Callable[[Any, "np.random.Generator"], Any], Iterable[Any]], list[Any]]


def data_folder() -> Path:
    """Folder of real logs, in its folder `traces`, for studies, tests and benchmarks."""
    return Path(os.environ.get("WORKLOADKIT_DATA", "../shared"))


@dataclass(frozen=True)
class Log:
    """A log that a study uses.

    Parameters
    ----------
    name : str
        Its name in the source.
    published : str
        The version that the source used.
    path : Path
        The file that is here.
    strict : bool
        Whether the first departure from the standard is an error.
    """

    name: str
    published: str
    path: Path
    strict: bool = False

    @property
    def version(self) -> str:
        """The version that is here."""
        return _version(self.path)

    def read(self) -> "Trace":
        """Return the log itself; the last few stay in memory, as many tasks may ask for one."""
        return _read(self.path, self.strict)


@dataclass(frozen=True)
class Result:
    """A published figure, and ours.

    Parameters
    ----------
    log : str
        Name of the log in the source.
    version : str
        The version that is here.
    quantity : str
        What the figure counts or measures.
    published, ours : float
    verdict : {"equal", "differs", "held", "direction only", "not held"}
        The first two of a count, the others of a claim.
    low, high : float, optional
        Confidence interval of `ours`, where there is randomness.
    note : str, default ""
        Why they differ, where that is known.
    """

    log: str
    version: str
    quantity: str
    published: float
    ours: float
    verdict: Verdict
    low: float | None = None
    high: float | None = None
    note: str = ""

    @property
    def difference(self) -> float:
        """Ours less the published figure."""
        return self.ours - self.published

    @property
    def percent(self) -> float | None:
        """The difference in percent of the published figure; None if that is 0."""
        return 100 * self.difference / self.published if self.published else None


@dataclass(frozen=True, eq=False)
class Drawing:
    """A figure of the source, drawn anew.

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
        ``compare(logs, runs, each)`` yields the results, and drawings of figures.
    runs : int, optional
        Runs unless told otherwise: as many as the source made, or fewer where these take long; None
        where nothing is random.
    """

    name: str
    text: str
    source: str
    logs: Mapping[str, str]
    compare: Callable[[Sequence[Log], int, Each], Iterator[Result | Drawing]]
    runs: int | None = None

    @property
    def title(self) -> str:
        """First line of the text."""
        return self.text.strip().splitlines()[0].removesuffix(".")


@dataclass(frozen=True)
class Findings:
    """What a study found.

    Parameters
    ----------
    study : Study
    results : tuple of Result
    logs : mapping of Log to str
        The logs that were used, with the digests of their text.
    provenance : mapping of str to object
        What made the results: the version and, where there is randomness, runs and seed.
    drawings : tuple of Drawing
        The figures that it draws anew.
    """

    study: Study
    results: tuple[Result, ...]
    logs: Mapping[Log, str]
    provenance: Mapping[str, Any]
    drawings: tuple[Drawing, ...] = ()

    def to_csv(self) -> str:
        """Return the results as CSV, numbers in full."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(_COLUMNS)
        for result in self.results:
            cells = (getattr(result, column) for column in _COLUMNS)
            writer.writerow(f"{c:.12g}" if isinstance(c, float) else c for c in cells)
        return text.getvalue()

    def to_markdown(self) -> str:
        """Return the results as a page: the table, figures, source, and what it was made from."""
        title, _, text = self.study.text.strip().partition("\n")
        logs = [(log.name, log.published, log.version, sha) for log, sha in self.logs.items()]
        made_by = ", ".join(f"{name} {value}" for name, value in self.provenance.items())
        first, results = SHOWN[0] if logs else "of", self.results
        parts = (
            f"# {title.removesuffix('.')}",
            text.strip(),
            f"Source: {self.study.source}.",
            _markdown_table((first, *SHOWN[1:], "note"), ((*shown(r), r.note) for r in results)),
            *(f"![{drawing.title}]({drawing.name}.svg)" for drawing in self.drawings),
            _markdown_table(("log", "version published", "version here", "SHA-256"), logs)
            if logs
            else "",
            f"Made by {made_by}.",
        )
        return "\n\n".join(part for part in parts if part) + "\n"


_COLUMNS = (
    *("log", "version", "quantity", "published", "ours", "difference", "percent"),
    *("low", "high", "verdict", "note"),
)

#: Headings of a table to be read.
SHOWN = ("log", "quantity", "published", "ours", "difference", "verdict")


def shown(result: Result) -> tuple[str, ...]:
    """Return the cells of a result in a table to be read, under the headings `SHOWN`.

    Examples
    --------
    >>> shown(Result("KTH-SP2", "KTH-SP2-1996-2", "jobs", 2000, 1990, "differs"))
    ('KTH-SP2-1996-2', 'jobs', '2,000', '1,990', '-10 (-0.50 %)', 'differs')
    """
    ours = _digits(result.ours, 4)
    if result.low is not None and result.high is not None:
        ours += f" [{_digits(result.low, 4)}, {_digits(result.high, 4)}]"
    difference = _digits(result.difference, 2, sign="+") if result.difference else "0"
    if result.difference and result.percent is not None:
        difference += f" ({result.percent:+.2f} %)"
    return (
        *(result.version, result.quantity, f"{result.published:,}"),
        *(ours, difference, result.verdict),
    )


def _digits(value: float, digits: int, sign: str = "") -> str:
    """Write a count in full, any other number with so many digits, but never with an exponent.

    Examples
    --------
    >>> _digits(28489, 4), _digits(0.52834, 4), _digits(-199.8, 2, sign="+")
    ('28,489', '0.5283', '-200')
    """
    if not isinstance(value, float):
        return f"{value:{sign},}"
    if value == 0 or not math.isfinite(value):
        return f"{value:{sign}.0f}"
    rounded = float(f"{value:.{digits - 1}e}")
    decimals = max(digits - 1 - math.floor(math.log10(abs(rounded))), 0)
    text = f"{value:{sign},.{decimals}f}"
    return text.rstrip("0").rstrip(".") if decimals else text


def compare_count(log: Log, quantity: str, published: int, ours: int) -> Result:
    """Return the result for a count, which is equal or differs."""
    if ours == published:
        return Result(log.name, log.version, quantity, published, ours, "equal")
    note = "" if log.version == log.published else "another version of the log"
    return Result(log.name, log.version, quantity, published, ours, "differs", note=note)


def study_names() -> list[str]:
    """Return the names of all studies."""
    return sorted(module.name.replace("_", "-") for module in iter_modules(__path__))


def load_study(name: str) -> Study:
    """Return the study called `name`.

    Raises
    ------
    ParameterError
        If there is no such study.

    Examples
    --------
    >>> load_study("zakay-sessions").title
    'Sessions and batches by arrival in four logs'
    """
    if name not in study_names():
        raise ParameterError(f"no study {name!r}; known: {', '.join(study_names())}")
    study: Study = import_module(f"{__name__}.{name.replace('-', '_')}").STUDY
    return study


def find_logs(study: Study, folder: Path, *, strict: bool = False) -> list[Log]:
    """Find the logs of a study in a folder; of several versions the one most like the published.

    Raises
    ------
    WorkloadError
        If the study needs logs and none is there.

    Warns
    -----
    WorkloadWarning
        For each log that is not there.
    """
    if not study.logs:
        return []
    if not folder.is_dir():
        raise WorkloadError(
            f"{folder}: no such folder of logs; name it by --traces, or set WORKLOADKIT_DATA"
        )
    logs, missing = [], []
    for name, published in study.logs.items():
        versions = {_version(path): path for path in sorted(folder.glob(f"{name}-*.swf*"))}
        if nearest := get_close_matches(published, versions, n=1, cutoff=0):
            logs.append(Log(name, published, versions[nearest[0]], strict))
        else:
            missing.append(f"{name}-*.swf*")
    if missing and not logs:
        raise WorkloadError(f"{folder}: no log of {study.name}; looked for {', '.join(missing)}")
    for pattern in missing:
        warnings.warn(f"{folder}: no {pattern}, left out", WorkloadWarning, stacklevel=2)
    return logs


def run_study(
    study: Study,
    logs: Sequence[Log],
    *,
    runs: int | None = None,
    rng: "int | np.random.Generator | None" = None,
    executor: "Executor | None" = None,
    folder: Path | None = None,
    progress: Callable[[int, int], Any] | None = None,
) -> Findings:
    """Run a study on the logs that are here.

    Parameters
    ----------
    study : Study
    logs : sequence of Log
    runs : int, optional
        By default those of the study.
    rng : int or Generator, optional
        Task i gets the i-th stream spawned from it, so that results do not depend on who does
        the tasks.
    executor : Executor, optional
        Runs the tasks; by default this process.
    folder : Path, optional
        Where the results of finished tasks are kept until all are done, in a hidden file, so that
        an interrupted study continues from there.
    progress : callable, optional
        Called with the numbers of finished tasks and of all tasks so far.

    Warns
    -----
    WorkloadWarning
        For each log that was repaired in reading, and if runs or a seed are given though nothing
        is random.
    """
    import numpy as np

    from workloadkit.experiments.kept_tasks import kept_tasks, read_kept
    from workloadkit.provenance import seed_of

    if study.runs is None and (runs, rng) != (None, None):
        warnings.warn(
            f"nothing is random in {study.name}: runs and seed change nothing",
            WorkloadWarning,
            stacklevel=2,
        )
    file = None if folder is None else folder / f".{study.name}.unfinished"
    if rng is None and file is not None and (there := read_kept(file)):
        rng = there[0]["seed"]
    seed = seed_of(rng)
    generator, numbers = np.random.default_rng(seed), count()
    runs = runs or study.runs or 1
    made_by = {"workloadkit": __version__, "seed": seed, "runs": runs}
    made_by["logs"] = {log.name: log.read().digest for log in logs} if file is not None else {}
    with kept_tasks(file, made_by) as kept:

        def each(function: Callable[[Any, np.random.Generator], Any], tasks: Iterable[Any]) -> list:
            tasks = list(tasks)
            calls = list(zip(tasks, generator.spawn(len(tasks)), strict=True))
            name = f"{next(numbers)} {function.__name__}"
            return kept.each(function, calls, name=name, executor=executor, progress=progress)

        found = tuple(study.compare(logs, runs, each))
    results = tuple(item for item in found if isinstance(item, Result))
    drawings = tuple(item for item in found if isinstance(item, Drawing))
    digests = {}
    for log in logs:
        trace = log.read()
        digests[log] = trace.digest
        for repair in trace.repairs:
            warnings.warn(f"{trace.name}: {repair}", WorkloadWarning, stacklevel=2)
    provenance: dict[str, Any] = {"workloadkit": __version__}
    if study.runs is not None:
        provenance |= {"runs": runs, "seed": seed}
    return Findings(study, results, digests, provenance, drawings)


def read_table(path: Path) -> list[dict[str, str]]:
    """Return the rows of a table of published figures, kept as CSV."""
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def _version(path: Path) -> str:
    return path.name.split(".swf")[0]


@lru_cache(maxsize=4)
def _read(path: Path, strict: bool) -> "Trace":
    import workloadkit as wk

    return wk.read_swf(path, strict=strict)


def _markdown_table(headings: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [tuple(headings), *map(tuple, rows)]
    lines.insert(1, ("---",) * len(lines[0]))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
