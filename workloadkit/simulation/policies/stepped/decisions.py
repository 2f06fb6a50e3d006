"""Decisions of a stepped simulation, and the lack of the next one."""

import hashlib
from typing import Any

import numpy as np

from workloadkit.errors import WorkloadError


class NoDecisionError(WorkloadError):
    """The decisions do not suffice: the simulation waits for the next one.

    Parameters
    ----------
    paused : PausedScheduler or PausedState
        The simulation, which can continue.
    """

    def __init__(self, paused: Any) -> None:
        super().__init__()
        self.paused = paused

    def __str__(self) -> str:
        """Return the message, which is made only where it is read: this is raised at each step."""
        return f"scheduler stepped: there is no decision for the pass at {self.paused.now} s"


class Decisions(tuple):
    """Decisions, each a tuple of places in the queue; as text their number and digest."""

    __slots__ = ()

    def __str__(self) -> str:
        """Return what a provenance contains."""
        flat = np.array([place for places in self for place in (len(places), *places)], "<i8")
        return f"{len(self)} (sha256 {hashlib.sha256(flat.tobytes()).hexdigest()[:16]})"
