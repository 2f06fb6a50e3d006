"""The user's request."""

from dataclasses import dataclass
from typing import ClassVar

from workloadkit.simulation.predictors.predictor import BuiltIn


@dataclass(frozen=True)
class Requested(BuiltIn):
    """The estimate as without a predictor: the requested time, raised by ``overrun="raise"``."""

    name: ClassVar[str] = "requested"
