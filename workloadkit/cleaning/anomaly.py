"""An anomaly: a part of a log that is not representative, with the evidence for it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workloadkit.cleaning.filters import Filter

#: How strongly an anomaly affects the log, strongest first.
STRENGTHS = ("dominating", "notable", "slight")

FLURRY, START_UP, WIND_DOWN = "flurry", "start-up", "wind-down"
DEAD_PERIOD, CHANGE = "dead period", "change"

#: Kinds of anomalies, in the order of the table.
KINDS = (FLURRY, START_UP, WIND_DOWN, DEAD_PERIOD, CHANGE)


@dataclass(frozen=True)
class Anomaly:
    """A part of a log that is not representative of the rest.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    title : str
        What it is, in a few words.
    strength : str
        One of `STRENGTHS`.
    reason : str
        The evidence in a sentence.
    evidence : mapping of str to number
        The numbers that support it, by name.
    span : tuple of float
        First and last second. [s of the log]
    filter : Filter, optional
        Removes it, with the number of jobs that it removes; None if there is nothing to remove.
    """

    kind: str
    title: str
    strength: str
    reason: str
    evidence: Mapping[str, Any]
    span: tuple[float, float]
    filter: Filter | None = None

    @property
    def n_jobs(self) -> int:
        """Number of jobs that its filter removes."""
        return (self.filter.count or 0) if self.filter else 0

    @property
    def offered(self) -> bool:
        """Whether its filter is recommended.

        Slight anomalies are reported only; which side of a change to keep is the reader's choice.
        """
        return bool(self.filter) and self.strength != "slight" and self.kind != CHANGE
