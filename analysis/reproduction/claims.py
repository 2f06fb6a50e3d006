"""What a source states of a quantity, and whether ours agrees with it."""

import math
from dataclasses import dataclass
from typing import Literal

from analysis.reproduction.logs import Log

#: Of a claim: the source prints a figure; it gives a bound; it says which way something goes; it
#: says it in words, and the numbers that stand for these are ours.
Kind = Literal["printed", "bound", "direction", "ours"]

#: Whether our interval lies within the margin of a claim, outside, or on both sides of its edge; or
#: what it takes is not here.
Verdict = Literal["reproduced", "contradicted", "too uncertain", "input missing"]

VERDICTS: tuple[Verdict, ...] = ("reproduced", "contradicted", "too uncertain", "input missing")

#: How far ours may be from a printed figure to count as the same, where nothing else is stated.
MARGIN = 0.1


@dataclass(frozen=True)
class Claim:
    """What a source states of a quantity.

    The functions of this module make them.

    Parameters
    ----------
    quantity : str
        In words, with its unit.
    place : str
        Where it stands: table, figure or section.
    kind : {"printed", "bound", "direction", "ours"}
    published : float
        The printed figure, or the bound.
    agrees : tuple of float
        From where to where values agree with it.
    main : bool, default False
        Whether it is one of those for which the source is cited.
    strict : bool, default False
        Whether the ends themselves do not agree with it.
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
    """Return the claim that a printed figure makes.

    Parameters
    ----------
    quantity, place : str
    published : float
    margin : float, default 0.1
        How far ours may be from it, relative to it.
    within : float, optional
        The same in the unit of the quantity, instead.
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
    """Return the claim that a quantity is a bound or above it."""
    return Claim(quantity, place, kind, bound, (bound, math.inf), main)


def below(
    quantity: str, bound: float, place: str, kind: Kind = "bound", *, main: bool = False
) -> Claim:
    """Return the claim that a quantity is below a bound."""
    return Claim(quantity, place, kind, bound, (-math.inf, bound), main, strict=True)


def at_most(
    quantity: str, bound: float, place: str, kind: Kind = "bound", *, main: bool = False
) -> Claim:
    """Return the claim that a quantity is a bound or below it."""
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
    """Return the claim that a quantity lies between two values, or is one of them.

    Examples
    --------
    >>> between("share of runs that wait longer: around half", (0.25, 0.75), "section 6").published
    0.5
    """
    middle = sum(agrees) / 2 if published is None else published
    return Claim(quantity, place, kind, middle, agrees, main)


@dataclass(frozen=True)
class Result:
    """A claim, and what a log shows of it.

    Parameters
    ----------
    log : Log
        The log; `ALL_LOGS` of what is of several, or of none.
    claim : Claim
    ours : float
        NaN if it could not be had.
    low, high : float, optional
        Confidence interval of `ours`; NaN where it is unknown, as of a single run; None where
        nothing is random.
    note : str, default ""
        Why they differ, where that is known.

    Examples
    --------
    >>> from analysis.reproduction import ALL_LOGS
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
        """Whether ours agrees: an interval as a whole, a value where nothing is random."""
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
        """Ours less the published figure."""
        return self.ours - self.claim.published

    @property
    def percent(self) -> float | None:
        """The difference in percent of the published figure; None if that is 0."""
        published = self.claim.published
        return 100 * self.difference / abs(published) if published else None
