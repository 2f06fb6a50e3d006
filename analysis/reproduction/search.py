"""Search for the reading that best fits the numbers printed in a source."""

import csv
import io
import warnings
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from workloadkit import __version__
from workloadkit.analysis.reproduction.findings import digits, markdown_table
from workloadkit.analysis.reproduction.logs import Log
from workloadkit.analysis.reproduction.running import SEED, compare, plan_of
from workloadkit.analysis.reproduction.study import (
    NUMBERS,
    Axis,
    Reading,
    Result,
    Study,
    choose,
)
from workloadkit.display import Displayed, current_axes
from workloadkit.errors import ParameterError

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from matplotlib.axes import Axes


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
    ranked_by, judged_by : tuple of (str, str, str)
        Study, place (table, figure or section) and log of the numbers that rank the readings, and
        of those held out to judge the ranking.
    default : mapping of str to str
        The reading that the studies take by default, with the fixed axes.
    runs : int or None
        Number of random runs; None for the default of each study.
    """

    fits: tuple[ReadingFit, ...]
    ranked_by: tuple[tuple[str, str, str], ...]
    judged_by: tuple[tuple[str, str, str], ...]
    default: Reading
    runs: int | None

    def to_csv(self) -> str:
        """Return the ranking as CSV, one line for each reading."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        axes = list(self.fits[0].reading)
        half = ("distance", "reproduced", "figures")
        writer.writerow([*axes, "default", *half, *(f"{name}_of_others" for name in half)])
        for fit in self.fits:
            first, others = (f"{x:.6g}" for x in (fit.distance, fit.distance_of_others))
            numbers = (first, *fit.reproduced, others, *fit.reproduced_of_others)
            is_default = int(fit.reading == self.default)
            writer.writerow([*fit.reading.values(), is_default, *numbers])
        return text.getvalue()

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Plot the distance of each reading from the source, best first."""
        ax = current_axes(ax)
        place = range(1, len(self.fits) + 1)
        ax.plot(place, [fit.distance for fit in self.fits], "o", label="ranked by")
        ax.plot(place, [fit.distance_of_others for fit in self.fits], "o", label="judged by")
        ax.set(xlabel="place of the reading", ylabel="distance from the source")
        ax.legend()
        return ax

    def _table(self) -> pd.DataFrame:
        return pd.read_csv(io.StringIO(self.to_csv()))

    def to_markdown(self, title: str) -> str:
        """Return the ranking as a page."""
        axes = list(self.fits[0].reading)
        headings = ("rank", *axes, "distance", "reproduced", "distance of the others", "reproduced")
        rows = (
            (
                f"{rank}, the default" if fit.reading == self.default else f"{rank}",
                *fit.reading.values(),
                digits(fit.distance, 3),
                "{} of {}".format(*fit.reproduced),
                digits(fit.distance_of_others, 3),
                "{} of {}".format(*fit.reproduced_of_others),
            )
            for rank, fit in enumerate(self.fits, 1)
        )
        ranked, judged = (
            "; ".join(f"{study}, {place}, {log}" for study, place, log in half)
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


class _Place(NamedTuple):
    """Where numbers are printed, for one log; in the order in which they are divided."""

    study: str
    place: str
    log: str


def search(
    studies: Sequence[tuple[Study, Sequence[Log]]],
    fixed: Iterable[str] = (),
    *,
    ranks: Collection[tuple[str, str, str]] | None = None,
    runs: int | None = None,
    executor: "Executor | None" = None,
    file: Path | None = None,
    progress: Callable[[int, int], Any] | None = None,
) -> Ranking:
    """Rank the readings of a source by the numbers that it prints.

    Half of the places (study, place in the source, log) rank the readings; the rest judge the
    ranking. A simulation that several readings share runs once.

    Parameters
    ----------
    studies : sequence of (Study, sequence of Log)
        The studies of one source, and their logs.
    fixed : iterable of str
        Axes that are not searched, each as ``axis=option``.
    ranks : collection of (str, str, str), optional
        Study, place and log of the numbers that rank the readings. By default every other one, in
        the order of their names.
    runs : int, optional
        Number of random runs; by default that of each study.
    executor : Executor, optional
        Runs the tasks of the studies; by default this process.
    file : Path, optional
        Stores the results of finished tasks until all are done.
    progress : callable, optional
        Called with the number of finished readings and the number of all readings, of all studies.

    Raises
    ------
    ParameterError
        If there is only one reading, or the source prints no numbers.

    Examples
    --------
    >>> from workloadkit.analysis.reproduction import ALL_LOGS, Axis, Result, printed
    >>> def compare(plan, each):
    ...     ours = {"cores": 2.0, "nodes": 9.0}[plan.reading["size"]]
    ...     for place in ("Table 1", "Table 2"):
    ...         yield Result(ALL_LOGS, printed("mean size", 2.0, place), ours)
    >>> size = Axis("size", "What a processor is", {"cores": "", "nodes": ""})
    >>> study = Study("sizes", "Sizes.", "A. Uthor, 2001", {}, compare, axes=(size,))
    >>> ranking = search([(study, [])])
    >>> ranking.fits[0].reading["size"]
    'cores'
    """
    from workloadkit.experiments.kept_tasks import kept_tasks

    fixed = list(fixed)
    axes = list({axis.name: axis for study, _ in studies for axis in study.axes}.values())
    readings = readings_of(axes, fixed)
    own = dict.fromkeys(
        (i, _own(study, reading)) for i, (study, _) in enumerate(studies) for reading in readings
    )
    here = {log.name: log.read().digest for _, logs in studies for log in logs if log.path}
    held = ", ".join(sorted(fixed)) or "none"
    made_by = {"workloadkit": __version__, "runs": runs, "fixed axes": held, "logs": here}
    found = {}
    with kept_tasks(file, made_by) as kept:
        each = partial(kept.each, executor=executor)
        for i, chosen in own:
            found[i, chosen] = _printed(*studies[i], dict(chosen), runs, each)
            if progress is not None:
                progress(len(found), len(own))
    places = sorted({place for printed in found.values() for place, _ in printed})
    if not places:
        raise ParameterError("no printed number is available to rank the readings")
    ranking = places[::2] if ranks is None else [place for place in places if place in ranks]
    judging = [place for place in places if place not in ranking]
    fits = (
        _fit(reading, [r for i, (study, _) in enumerate(studies)
                       for r in found[i, _own(study, reading)]], ranking)
        for reading in readings
    )  # fmt: skip
    ranked = tuple(sorted(fits, key=lambda fit: fit.distance))
    return Ranking(ranked, tuple(ranking), tuple(judging), choose(axes, fixed), runs)


def _own(study: Study, reading: Reading) -> tuple[tuple[str, str], ...]:
    """Return the options of a reading for the axes of a study."""
    return tuple((axis.name, reading[axis.name]) for axis in study.axes)


def _fit(
    reading: Reading, results: Sequence[tuple[_Place, Result]], ranking: Collection[_Place]
) -> ReadingFit:
    one, other = (
        [result for place, result in results if (place in ranking) is ranks]
        for ranks in (True, False)
    )
    return ReadingFit(
        reading, _distance(one), _distance(other), _reproduced(one), _reproduced(other)
    )


def readings_of(axes: Sequence[Axis], fixed: Iterable[str] = ()) -> list[Reading]:
    """Return all readings with some axes fixed; raise if only one is left."""
    fixed = list(fixed)
    chosen = choose(axes, fixed)
    given = {choice.partition("=")[0] for choice in fixed}
    options = [[chosen[a.name]] if a.name in given else list(a.options) for a in axes]
    names = [axis.name for axis in axes]
    found = [dict(zip(names, combination, strict=True)) for combination in product(*options)]
    if len(found) < 2:
        raise ParameterError("there is only one reading: nothing is left open")
    return [choose(axes, reading) for reading in found]


def _printed(
    study: Study,
    logs: Sequence[Log],
    reading: dict[str, str],
    runs: int | None,
    each: Callable[[Callable[..., Any], Sequence[tuple[Any, ...]]], list[Any]],
) -> list[tuple[_Place, Result]]:
    """Run a study under a reading; return the results for printed numbers, with their places."""
    plan = plan_of(study, logs, runs if study.runs else None, reading)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the study itself warns when it is run
        found = compare(study, plan, SEED, each)
    return [
        (_Place(study.name, result.claim.place, result.log.name), result)
        for result in found
        if isinstance(result, Result)
        and result.claim.kind in NUMBERS
        and result.verdict != "input missing"
    ]


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
