"""How well run times were predicted."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workloadkit.display import Displayed
from workloadkit.settings.resampling import Classify
from workloadkit.trace import Trace
from workloadkit.user_classes import CLASSES, classes_of

if TYPE_CHECKING:
    import pandas as pd

#: The class of jobs whose user belongs to none: outside the log's window, or unknown.
OTHERS = "others"


@dataclass(frozen=True, eq=False)
class Predictions(Displayed):
    """How well run times were predicted, as returned by `Schedule.predictions`.

    Parameters
    ----------
    classes : DataFrame
        By class of users, see `classify_users`, and for "all": `jobs`; the mean
        `prediction_accuracy`; the share `under_predicted`; `mean_error`, the mean of prediction
        minus run time, and `mean_absolute_error` [s]. NaN for classes without jobs.

    Notes
    -----
    The accuracy of a prediction is the smaller of prediction and run time divided by the larger
    [1]_. A prediction shorter than the run time is an under-prediction.

    References
    ----------
    .. [1] D. Tsafrir, Y. Etsion, D. G. Feitelson, "Backfilling using system-generated predictions
       rather than user runtime estimates", IEEE TPDS 18(6), 2007.
    """

    classes: "pd.DataFrame"

    @property
    def summary(self) -> dict[str, float]:
        """Mean accuracy, and the share of under-predicted jobs, of all jobs."""
        return {name: float(self.classes.loc["all", name]) for name in _SUMMARY}


_SUMMARY = ("prediction_accuracy", "under_predicted")


def prediction_accuracy(prediction: ArrayLike, run: ArrayLike) -> NDArray[np.float64]:
    """Return the accuracy of predictions, from 0 to 1; see `Predictions`.

    Parameters
    ----------
    prediction, run : array_like
        Predictions are positive. [s]

    Examples
    --------
    >>> prediction_accuracy([60, 60, 60], [60, 30, 120]).tolist()
    [1.0, 0.5, 0.5]
    """
    larger = np.maximum(prediction, run)
    return np.asarray(np.minimum(prediction, run) / larger)


def measure_predictions(
    prediction: NDArray,
    run: NDArray,
    user: NDArray[np.int64],
    counted: NDArray[np.bool_],
    trace: Trace,
) -> Predictions:
    """Measure the predictions of the counted jobs, by the classes of a log's users."""
    import pandas as pd

    found = classes_of(trace, Classify())
    kind = pd.Series(found.kind, found.user).reindex(user).fillna(len(CLASSES)).to_numpy(np.int64)
    error = prediction.astype(np.float64) - run
    jobs = pd.DataFrame(
        {
            "class": np.array([*CLASSES, OTHERS], dtype=object)[kind],
            "jobs": 1,
            "prediction_accuracy": prediction_accuracy(prediction, run),
            "under_predicted": error < 0,
            "mean_error": error,
            "mean_absolute_error": np.abs(error),
        }
    )[counted]
    how = {name: "sum" if name == "jobs" else "mean" for name in jobs.columns[1:]}
    whole = jobs.assign(**{"class": "all"})
    table = pd.concat([whole, jobs]).groupby("class").agg(how)
    names = ["all", *CLASSES, *([OTHERS] if OTHERS in table.index else [])]
    return Predictions(table.reindex(names).fillna({"jobs": 0}).astype({"jobs": np.int64}))
