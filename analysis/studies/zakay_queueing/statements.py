"""What the chapter states, as claims on the mean of simulated runs."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from workloadkit.analysis.reproduction import ALL_LOGS, Claim, Result, above, below, between
from workloadkit.analysis.reproduction.claims import Kind

if TYPE_CHECKING:
    import pandas as pd

#: Margin of a reached value; factor of a large difference; largest relative growth of a settled
#: number at the server, from the first half of a run to the second.
NEAR, MUCH, SETTLED = 0.05, 2.0, 0.25

Side = Literal["above", "below"]


def reaches(
    place: str,
    words: str,
    value: float,
    ours: "pd.Series",
    note: str = "",
    *,
    within: float | None = None,
    kind: Kind = "ours",
    main: bool = False,
) -> Result:
    """Return the result for a quantity that has a value, with the margin `NEAR` by default."""
    width = NEAR * abs(value) if within is None else within
    agrees = (value - width, value + width)
    claim = between(words, agrees, place, kind, published=value, main=main)
    return of_runs(claim, ours, note)


def lies(
    place: str,
    words: str,
    side: Side,
    bound: float,
    ours: "pd.Series",
    note: str = "",
    *,
    kind: Kind = "direction",
    main: bool = False,
) -> Result:
    """Return the result for a quantity above or below a value."""
    make = above if side == "above" else below
    return of_runs(make(words, bound, place, kind, main=main), ours, note)


def lies_far(
    place: str, words: str, side: Side, ours: "pd.Series", note: str = ""
) -> Iterator[Result]:
    """Return the results for a factor above or below 1, and much above or below."""
    yield lies(place, words, side, 1.0, ours, note)
    bound = MUCH if side == "above" else 1 / MUCH
    yield lies(place, f"{words}: much", side, bound, ours, note, kind="ours")


def of_runs(claim: Claim, ours: "pd.Series", note: str = "") -> Result:
    """Return the result for the mean over the runs, with its 95 % interval."""
    from workloadkit.experiments.intervals import mean_interval

    return Result(ALL_LOGS, claim, *mean_interval(ours), note)
