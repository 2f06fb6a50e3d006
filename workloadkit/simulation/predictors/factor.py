"""Multiples of the requests."""

from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar

from workloadkit.errors import ParameterError
from workloadkit.simulation.predictors.predictor import BuiltIn


@dataclass(frozen=True)
class Factor(BuiltIn):
    """The user's limit times a factor: 2 for doubled requests; source as for `FModel`.

    It may exceed the limit, at which jobs are still killed.

    Parameters
    ----------
    times : float
        The factor.
    """

    name: ClassVar[str] = "factor"

    times: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.times < inf:
            raise ParameterError(f"predictor factor: times is {self.times:g}; it must be positive")

    def plain(self, *_: Any) -> Any:
        """Return the predictor in plain Python, for one simulation."""
        from workloadkit.simulation.predictors.plain import OfLimit

        return OfLimit(self.times, self.correct)

    def compiled(self, workload: Any, *_: Any) -> Any:
        """Return the part of the compiled state."""
        from workloadkit.simulation.predictors.kernel import OF_LIMIT, new_memory

        return new_memory(workload, OF_LIMIT, self.correct, number=self.times)
