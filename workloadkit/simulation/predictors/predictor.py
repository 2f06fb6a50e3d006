"""The base of built-in predictors, and the rules of correction."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import ParameterError, check_choice
from workloadkit.parameters import check_types
from workloadkit.simulation.supports import supporting
from workloadkit.simulation.workload import Workload, shortest_estimate
from workloadkit.simulation.workload.cancelled import that_ran

#: What happens to a prediction that a job has outlived.
Correction = Literal["requested", "increments", "double", "none"]

#: Increments of a prediction: what is added to it at its first correction, at its second, … [s].
INCREMENTS = (60, 300, 900, 1800, 3600, 7200, 18000, 36000, 72000, 180000, 360000)


@dataclass(frozen=True, kw_only=True)
class BuiltIn:
    """A predictor with its parameters, in the forms of both engines.

    Where times are whole seconds, predictions are, too: rounded down, and at least 1 s. The user's
    limit is the requested time, also where ``overrun="raise"`` would raise the estimate.

    Parameters
    ----------
    correct : str
        What replaces a prediction that a job has outlived, before the next pass, up to the user's
        limit: "requested": the limit; "increments": the prediction plus 1, 5, 15 or 30 min, 1, 2,
        5, 10, 20, 50 or 100 h, the first of these that is long enough [1]_; "double": twice, four
        times, … the prediction, the limit if that is 0; "none": nothing, the job counts as ending
        now.
    renewed : bool
        Whether the predictions of waiting jobs are made again before each pass, from all jobs that
        have ended by then. Otherwise a job keeps the prediction that is made as it arrives.

    References
    ----------
    .. [1] D. Tsafrir, Y. Etsion, D. G. Feitelson, "Backfilling using system-generated predictions
       rather than user runtime estimates", IEEE TPDS 18(6), 2007.
    """

    name: ClassVar[str]
    supports: ClassVar = supporting("repetition", base=())

    correct: Correction = "requested"
    renewed: bool = False

    def __post_init__(self) -> None:
        check_types("predictor", self)
        check_choice(f"predictor {self.name}: correct", self.correct, Correction)

    def plain(self, *_: Any) -> Any:
        """Return the predictor in plain Python, for one simulation."""
        raise NotImplementedError

    def compiled(self, workload: Any, *_: Any) -> Any:
        """Return the part of the compiled state."""
        raise NotImplementedError

    @property
    def rules(self) -> dict[str, Any]:
        """Its rules of correction and renewal, for both forms."""
        return {"rule": self.correct, "renewed": self.renewed}

    def check_window(self, window: int | None) -> None:
        """Check a number of ended jobs."""
        if window is not None and not window >= 1:
            raise ParameterError(f"predictor {self.name}: window is {window}; at least 1")

    def check_share(self, **share: float) -> None:
        """Check a number above 0 and at most 1."""
        for name, value in share.items():
            if not 0 < value <= 1:
                raise ParameterError(
                    f"predictor {self.name}: {name} is {value:g}; it is above 0 and at most 1"
                )


def of_run_time(workload: Workload, expected: NDArray) -> NDArray:
    """Return predictions that are functions of run times.

    Jobs that were cancelled while they waited have none, and keep their requests.
    """
    ran, estimate = that_ran(workload), workload.estimate.copy()
    estimate[ran] = np.maximum(expected, shortest_estimate(workload.run))[ran]
    return estimate
