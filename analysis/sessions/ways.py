"""The ways to delimit sessions that are compared.

Last, Max and Arrival, and Last+Cut and Max+Cut with cuts of 30 min, 1 h and 2 h. With a cut of 0
both are Arrival, with their own threshold of 20 min; so Arrival with 20 min is that limit.
"""

from typing import NamedTuple

from analysis.formats import duration
from workloadkit.sessions import THRESHOLDS

#: Cuts and thresholds that the source tried (Zakay 2012, sections 5 and 6). [s]
CUTS = (1800.0, 3600.0, 7200.0)
TRIED = (600.0, 1200.0, 3600.0)


class Way(NamedTuple):
    """A way to delimit sessions, with the arguments of `workloadkit.delimit_sessions`."""

    method: str
    threshold: float
    cut: float | None = None

    @property
    def kind(self) -> str:
        """The source's word for it, whatever its cut."""
        return self.method.title() + ("" if self.cut is None else "+Cut")

    @property
    def name(self) -> str:
        """Kind and cut."""
        return self.kind + ("" if self.cut is None else f" {duration(self.cut)}")

    @property
    def limit(self) -> float:
        """Length at which it may leave a trace [s]: the cut, else the threshold."""
        return self.threshold if self.cut is None else self.cut


#: The ways that are compared: the source's, with the thresholds used where none is given.
WAYS = (
    *(Way(method, THRESHOLDS[method]) for method in ("last", "max", "arrival")),
    *(Way(method, THRESHOLDS[method], cut) for method in ("last", "max") for cut in CUTS),
)

#: The same without a cut, at each of the thresholds tried.
UNCUT = tuple(Way(method, threshold) for method in THRESHOLDS for threshold in TRIED)
