"""Compared methods to delimit sessions.

Last, Max and Arrival, and Last+Cut and Max+Cut with cuts of 30 min, 1 h and 2 h. With a cut of 0
both are equal to Arrival with their own threshold of 20 min, so Arrival with 20 min is that limit.
"""

from typing import NamedTuple

from workloadkit.analysis.formats import duration
from workloadkit.sessions import THRESHOLDS

#: Cuts and thresholds of the source (Zakay 2012, sections 5 and 6). [s]
CUTS = (1800.0, 3600.0, 7200.0)
TRIED = (600.0, 1200.0, 3600.0)


class Way(NamedTuple):
    """A method to delimit sessions, with the arguments of `workloadkit.delimit_sessions`."""

    method: str
    threshold: float
    cut: float | None = None

    @property
    def kind(self) -> str:
        """Name in the source, without the cut."""
        return self.method.title() + ("" if self.cut is None else "+Cut")

    @property
    def name(self) -> str:
        """Name with the cut."""
        return self.kind + ("" if self.cut is None else f" {duration(self.cut)}")

    @property
    def limit(self) -> float:
        """Cut, or threshold without a cut: the length with a possible jump [s]."""
        return self.threshold if self.cut is None else self.cut


#: Compared methods of the source, with default thresholds.
WAYS = (
    *(Way(method, THRESHOLDS[method]) for method in ("last", "max", "arrival")),
    *(Way(method, THRESHOLDS[method], cut) for method in ("last", "max") for cut in CUTS),
)

#: Methods without a cut, at each of the thresholds in the source.
UNCUT = tuple(Way(method, threshold) for method in THRESHOLDS for threshold in TRIED)
