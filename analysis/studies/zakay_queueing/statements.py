"""What the chapter states, as claims on the mean of simulated runs."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from analysis.reproduction import ALL_LOGS, Claim, Result, above, below, between
from analysis.reproduction.claims import Kind

if TYPE_CHECKING:
    import pandas as pd

#: What is so near counts as reached; what differs by such a factor differs much; a number at the
#: server that grows by less than this share of its mean, from half to half of a run, is settled.
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
    """Return the result for something that lies above or below a value."""
    make = above if side == "above" else below
    return of_runs(make(words, bound, place, kind, main=main), ours, note)


def lies_far(
    place: str, words: str, side: Side, ours: "pd.Series", note: str = ""
) -> Iterator[Result]:
    """Return the results for a factor that lies above or below 1, and for one that does so much."""
    yield lies(place, words, side, 1.0, ours, note)
    bound = MUCH if side == "above" else 1 / MUCH
    yield lies(place, f"{words}: much", side, bound, ours, note, kind="ours")


def of_runs(claim: Claim, ours: "pd.Series", note: str = "") -> Result:
    """Return the result for the mean over the runs, with its 95 % interval."""
    from workloadkit.experiments.intervals import mean_interval

    return Result(ALL_LOGS, claim, *mean_interval(ours), note)
