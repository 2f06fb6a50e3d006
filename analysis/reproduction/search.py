"""Search for the reading that best fits the numbers printed in a source."""

import csv
import io
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd
from matplotlib.axes import Axes

from analysis.reproduction.claims import Result
from analysis.reproduction.findings import digits, markdown_table
from analysis.reproduction.logs import Log
from analysis.reproduction.readings import Axis, Reading, choose
from analysis.reproduction.running import SEED, run_study
from analysis.reproduction.study import Study
from workloadkit import __version__
from workloadkit.display import Displayed, current_axes
from workloadkit.errors import ParameterError

if TYPE_CHECKING:
    from concurrent.futures import Executor

#: Distances are capped at this number of margins, so that a printed number that no reading reaches
#: does not decide between readings.
FARTHEST = 10.0


@dataclass(frozen=True)
class ReadingFit:
    """How well a reading fits the printed numbers of a source.

    Parameters
    ----------
    reading : mapping of str to str
    distance, distance_of_others : float
        Mean distance of our values from the printed numbers, in margins and at most 10: over the
        half that ranks the readings, and over the other half.
    reproduced, reproduced_of_others : tuple of int
        Number of reproduced values in each half, and number of all values in it.
    """

    reading: Reading
    distance: float
    distance_of_others: float
    reproduced: tuple[int, int]
    reproduced_of_others: tuple[int, int]


@dataclass(frozen=True)
class Ranking(Displayed):
    """The readings of a source, best first.

    Parameters
    ----------
    fits : tuple of ReadingFit
    ranked_by, judged_by : tuple of tuple of str
        Pairs of log and place (table, figure or section) that rank the readings, and the pairs
        held out to judge the ranking.
    runs : int or None
        Number of random runs; None for the default of each study.
    """

    fits: tuple[ReadingFit, ...]
    ranked_by: tuple[tuple[str, str], ...]
    judged_by: tuple[tuple[str, str], ...]
    runs: int | None

    def to_csv(self) -> str:
        """Return the ranking as CSV, one line for each reading."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        axes = list(self.fits[0].reading)
        half = ("distance", "reproduced", "figures")
        writer.writerow([*axes, *half, *(f"{name}_of_others" for name in half)])
        for fit in self.fits:
            first, others = (f"{x:.6g}" for x in (fit.distance, fit.distance_of_others))
            numbers = (first, *fit.reproduced, others, *fit.reproduced_of_others)
            writer.writerow([*fit.reading.values(), *numbers])
        return text.getvalue()

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot the distance of each reading from the source, best first."""
        ax = current_axes(ax)
        place = range(1, len(self.fits) + 1)
        ax.plot(place, [fit.distance for fit in self.fits], "o", label="ranked by")
        ax.plot(place, [fit.distance_of_others for fit in self.fits], "o", label="judged by")
        ax.set_xlabel("place of the reading")
        ax.set_ylabel("distance from the source")
        ax.legend()
        return ax

    def _table(self) -> pd.DataFrame:
        return pd.read_csv(io.StringIO(self.to_csv()))

    def to_markdown(self, title: str) -> str:
        """Return the ranking as a page."""
        axes = list(self.fits[0].reading)
        headings = (*axes, "distance", "reproduced", "distance of the others", "reproduced")
        rows = (
            (
                *fit.reading.values(),
                digits(fit.distance, 3),
                "{} of {}".format(*fit.reproduced),
                digits(fit.distance_of_others, 3),
                "{} of {}".format(*fit.reproduced_of_others),
            )
            for fit in self.fits
        )
        ranked, judged = (
            "; ".join(f"{log}, {place}" for log, place in half)
            for half in (self.ranked_by, self.judged_by)
        )
        parts = (
            f"# Readings of {title}",
            f"{len(self.fits)} readings, ranked by the mean distance of our values from "
            f"the printed numbers of one half of the logs and tables, in margins and at most "
            f"{FARTHEST:g}. The other half is held out: it shows whether the best reading also "
            "fits numbers that did not select it.",
            f"Ranked by: {ranked}.",
            f"The others: {judged}.",
            markdown_table(headings, rows),
            f"Made by workloadkit {__version__}, seed {SEED}"
            + (f", runs {self.runs}." if self.runs else "."),
        )
        return "\n\n".join(parts) + "\n"


class _Task(NamedTuple):
    study: Study
    logs: tuple[Log, ...]
    reading: dict[str, str]
    runs: int | None


def search(
    studies: Sequence[tuple[Study, Sequence[Log]]],
    fixed: Iterable[str] = (),
    *,
    runs: int | None = None,
    executor: "Executor | None" = None,
    file: Path | None = None,
    progress: Callable[[int, int], Any] | None = None,
) -> Ranking:
    """Rank the readings of a source by the numbers that it prints.

    The pairs of place (table, figure or section) and log are sorted by name. Every other pair ranks
    the readings; the rest judge the ranking.

    Parameters
    ----------
    studies : sequence of (Study, sequence of Log)
        The studies of one source, and their logs.
    fixed : iterable of str
        Axes that are not searched, each as ``axis=option``.
    runs : int, optional
        Number of random runs; by default that of each study.
    executor : Executor, optional
        Runs the studies; by default this process.
    file : Path, optional
        Stores the results of finished readings until all are done.
    progress : callable, optional
        Called with the number of finished readings and the number of all readings.

    Returns
    -------
    Ranking

    Raises
    ------
    ParameterError
        If there is only one reading, or the source prints no numbers.
    """
    from workloadkit.experiments.kept_tasks import kept_tasks

    fixed = list(fixed)
    axes = list({axis.name: axis for study, _ in studies for axis in study.axes}.values())
    readings = readings_of(axes, fixed)
    tasks = {
        (study.name, own): _Task(study, tuple(logs), dict(own), runs)
        for study, logs in studies
        for own in (_own(study, reading) for reading in readings)
    }
    here = {log.name: log.read().digest for _, logs in studies for log in logs if log.path}
    held = ", ".join(sorted(fixed)) or "none"
    made_by = {"workloadkit": __version__, "runs": runs, "fixed axes": held, "logs": here}
    with kept_tasks(file, made_by) as kept:
        calls = [(task,) for task in tasks.values()]
        done = kept.each(_printed, calls, name="readings", executor=executor, progress=progress)
    found = dict(zip(tasks, done, strict=True))
    where = sorted({_where(r) for results in done for r in results}, key=lambda w: w[::-1])
    if not where:
        raise ParameterError("no printed number is available to rank the readings")
    fits = (
        _fit(reading, [r for study, _ in studies for r in found[study.name, _own(study, reading)]],
             where)
        for reading in readings
    )  # fmt: skip
    ranked = tuple(sorted(fits, key=lambda fit: fit.distance))
    return Ranking(ranked, tuple(where[::2]), tuple(where[1::2]), runs)


def _own(study: Study, reading: Reading) -> tuple[tuple[str, str], ...]:
    """Return the options of a reading for the axes of a study."""
    return tuple((axis.name, reading[axis.name]) for axis in study.axes)


def _fit(
    reading: Reading, results: Sequence[Result], where: Sequence[tuple[str, str]]
) -> ReadingFit:
    one, other = ([r for r in results if _where(r) in where[i::2]] for i in (0, 1))
    return ReadingFit(
        reading, _distance(one), _distance(other), _reproduced(one), _reproduced(other)
    )


def readings_of(axes: Sequence[Axis], fixed: Iterable[str] = ()) -> list[Reading]:
    """Return all readings with some axes fixed; a single one is an error."""
    fixed = list(fixed)
    chosen = choose(axes, fixed)
    given = {choice.partition("=")[0] for choice in fixed}
    options = [[chosen[a.name]] if a.name in given else list(a.options) for a in axes]
    names = [axis.name for axis in axes]
    found = [dict(zip(names, combination, strict=True)) for combination in product(*options)]
    if len(found) < 2:
        raise ParameterError("there is only one reading: nothing is left open")
    return [choose(axes, reading) for reading in found]


def _printed(task: _Task) -> list[Result]:
    """Run a study under a reading; return the results for printed numbers."""
    runs = task.runs if task.study.runs else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the study itself warns when it is run
        findings = run_study(task.study, task.logs, runs=runs, reading=task.reading)
    return [
        result
        for result in findings.results
        if result.claim.kind == "printed" and result.verdict != "input missing"
    ]


def _where(result: Result) -> tuple[str, str]:
    return result.log.name, result.claim.place


def _reproduced(results: Sequence[Result]) -> tuple[int, int]:
    return sum(result.verdict == "reproduced" for result in results), len(results)


def _distance(results: Sequence[Result]) -> float:
    """Return the mean distance of our values from the printed numbers, in margins."""
    return fmean(map(_margins_off, results)) if results else float("nan")


def _margins_off(result: Result) -> float:
    low, high = result.claim.agrees
    published, ours = result.claim.published, result.ours
    margin = high - published if ours > published else published - low
    if ours == published:
        return 0.0
    return min(abs(ours - published) / margin, FARTHEST) if margin > 0 else FARTHEST
