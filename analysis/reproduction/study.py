"""What a study is: its source, logs, claims, comparison, readings of its text, and verdicts."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from workloadkit.analysis.reproduction.logs import Log
from workloadkit.errors import ParameterError, among, quoted

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

#: Kind of a claim: the source prints a number; no publication does, but a separate program computed
#: it or the log records it; the source gives a bound; it states a direction; or it uses words only,
#: and the study chooses the numbers that stand for them.
Kind = Literal["printed", "computed", "bound", "direction", "ours"]

#: Kinds of claims about a number.
NUMBERS: tuple[Kind, ...] = ("printed", "computed")

#: The interval of our value lies within the margin of a claim, outside it, or across its edge; or
#: the input is missing.
Verdict = Literal["reproduced", "contradicted", "too uncertain", "input missing"]

VERDICTS: tuple[Verdict, ...] = ("reproduced", "contradicted", "too uncertain", "input missing")

#: Default margin of a printed number: the largest relative difference that counts as agreement.
MARGIN = 0.1


@dataclass(frozen=True)
class Claim:
    """A claim of a source about a quantity.

    Create claims with `printed`, `computed`, `above`, `at_least`, `below`, `at_most` and `between`.

    Parameters
    ----------
    quantity : str
        The quantity in words, with its unit.
    place : str
        Table, figure or section of the source.
    kind : {"printed", "computed", "bound", "direction", "ours"}
    published : float
        The printed number, or the bound.
    agrees : tuple of float
        Range of the values that agree with the claim.
    main : bool, default False
        Whether this is a main claim, one for which the source is cited.
    strict : bool, default False
        Whether the ends of the range are excluded.
    """

    quantity: str
    place: str
    kind: Kind
    published: float
    agrees: tuple[float, float]
    main: bool = False
    strict: bool = False


def printed(
    quantity: str,
    published: float,
    place: str,
    *,
    margin: float = MARGIN,
    within: float | None = None,
    main: bool = False,
) -> Claim:
    """Return the claim of a printed number.

    Parameters
    ----------
    quantity, place : str
    published : float
    margin : float, default 0.1
        Largest relative difference from `published` that agrees.
    within : float, optional
        Largest absolute difference that agrees, in the unit of the quantity; replaces `margin`.
    main : bool, default False

    Examples
    --------
    >>> printed("mean wait (s)", 8755, "Table I").agrees
    (7879.5, 9630.5)
    >>> printed("share of jobs", 0.0, "section 3", within=0.02).agrees
    (-0.02, 0.02)
    """
    width = margin * abs(published) if within is None else within
    agrees = (published - width, published + width)
    return Claim(quantity, place, "printed", published, agrees, main)


def computed(
    quantity: str,
    published: float,
    place: str,
    *,
    margin: float = MARGIN,
    within: float | None = None,
    main: bool = False,
) -> Claim:
    """Return the claim of a number that a separate program computed, or that the log records.

    Parameters
    ----------
    quantity, published, place, margin, within, main
        As for `printed`, the claim of a number in a publication.

    Examples
    --------
    >>> computed("mean wait (s)", 1869, "separate program", margin=0).kind
    'computed'
    """
    claim = printed(quantity, published, place, margin=margin, within=within, main=main)
    return replace(claim, kind="computed")


def above(
    quantity: str, bound: float, place: str, kind: Kind = "bound", *, main: bool = False
) -> Claim:
    """Return the claim that a quantity is above a bound.

    Examples
    --------
    >>> above("gain", 0, "section 3").agrees
    (0, inf)
    """
    return Claim(quantity, place, kind, bound, (bound, math.inf), main, strict=True)


def at_least(
    quantity: str, bound: float, place: str, kind: Kind = "bound", *, main: bool = False
) -> Claim:
    """Return the claim that a quantity is at least a bound.

    Examples
    --------
    >>> at_least("users", 20, "page 5").quantity
    'users'
    """
    return Claim(quantity, place, kind, bound, (bound, math.inf), main)


def below(
    quantity: str, bound: float, place: str, kind: Kind = "bound", *, main: bool = False
) -> Claim:
    """Return the claim that a quantity is below a bound.

    Examples
    --------
    >>> below("ratio", 1, "page 5", "direction", main=True).main
    True
    """
    return Claim(quantity, place, kind, bound, (-math.inf, bound), main, strict=True)


def at_most(
    quantity: str, bound: float, place: str, kind: Kind = "bound", *, main: bool = False
) -> Claim:
    """Return the claim that a quantity is at most a bound.

    Examples
    --------
    >>> at_most("users", 20, "page 5").kind
    'bound'
    """
    return Claim(quantity, place, kind, bound, (-math.inf, bound), main)


def between(
    quantity: str,
    agrees: tuple[float, float],
    place: str,
    kind: Kind = "ours",
    *,
    published: float | None = None,
    main: bool = False,
) -> Claim:
    """Return the claim that a quantity lies between two values, both included.

    Examples
    --------
    >>> between("share of runs that wait longer: around half", (0.25, 0.75), "section 6").published
    0.5
    """
    middle = sum(agrees) / 2 if published is None else published
    return Claim(quantity, place, kind, middle, agrees, main)


@dataclass(frozen=True)
class Result:
    """A claim and the value that a log or a simulation gives for it.

    Parameters
    ----------
    log : Log
        The log; `ALL_LOGS` for a result about several logs, or about none.
    claim : Claim
    ours : float
        Our value; NaN if it is not available.
    low, high : float, optional
        Confidence interval of `ours`; NaN if it is unknown (for example after a single run); None
        if nothing is random.
    note : str, default ""
        Additional information, such as the reason for a difference.

    Examples
    --------
    >>> from workloadkit.analysis.reproduction import ALL_LOGS
    >>> claim = printed("mean wait (s)", 8755, "Table I")
    >>> Result(ALL_LOGS, claim, 8700.0).verdict, Result(ALL_LOGS, claim, 6802.0).verdict
    ('reproduced', 'contradicted')
    >>> Result(ALL_LOGS, claim, 8700.0, 7000.0, 9000.0).verdict
    'too uncertain'
    """

    log: Log
    claim: Claim
    ours: float
    low: float | None = None
    high: float | None = None
    note: str = ""

    @property
    def verdict(self) -> Verdict:
        """Whether our interval (or our value, where nothing is random) agrees with the claim."""
        low = self.ours if self.low is None else self.low
        high = self.ours if self.high is None else self.high
        least, most = self.claim.agrees
        if math.isnan(self.ours):
            return "input missing"
        if self.claim.strict:
            inside = (least < low or least == -math.inf) and (high < most or most == math.inf)
            outside = high <= least or most <= low
        else:
            inside, outside = least <= low and high <= most, high < least or most < low
        return "reproduced" if inside else "contradicted" if outside else "too uncertain"

    @property
    def difference(self) -> float:
        """Our value minus the published number."""
        return self.ours - self.claim.published

    @property
    def percent(self) -> float | None:
        """The difference in percent of the published number; None if that is 0."""
        published = self.claim.published
        return 100 * self.difference / abs(published) if published else None


# Contradictions: what is known of their causes.

#: What is known of the cause of a contradiction.
CauseState = Literal["cause found", "readings tried", "open"]


@dataclass(frozen=True)
class Cause:
    """What is known of the cause of a contradicted claim.

    Parameters
    ----------
    study, quantity : str
        The study, and the quantity of the claim.
    state : {"cause found", "readings tried", "open"}
        Whether a run shows the cause; or readings of the source were tried, none of which agrees;
        or neither.
    words : str
        The cause, the readings, or what is known.
    run : str
        Command of a run that shows it, if any.
    """

    study: str
    quantity: str
    state: CauseState
    words: str
    run: str = ""


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

        from workloadkit.analysis.result_page import save_figure

        files = [folder / f"{self.name}.{form}" for form in ("svg", "png")]
        for file in files:
            save_figure(partial(self.plot, self.data), file, title=self.title, size=self.size)
        return files


@dataclass(frozen=True)
class StudyInput:
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
    compare: Callable[[StudyInput, Each], Iterator[Result | Drawing]]
    runs: int | None = None
    axes: Sequence[Axis] = ()

    @property
    def title(self) -> str:
        """First line of the text."""
        return self.text.strip().splitlines()[0].removesuffix(".")
