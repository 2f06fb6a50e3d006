"""The user's request."""

from dataclasses import dataclass
from typing import ClassVar

from workloadkit.simulation.predictors.predictor import BuiltIn


@dataclass(frozen=True)
class Requested(BuiltIn):
    """The user's limit, as without a predictor."""

    name: ClassVar[str] = "requested"
