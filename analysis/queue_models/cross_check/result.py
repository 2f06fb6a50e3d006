"""What a cross-check found."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from analysis.section import Result

#: Columns of the table of points that are no parameters.
OF_RUNS = ("exactness", "warmup", "settled", "independent")


@dataclass(frozen=True, eq=False)
class CrossCheck(Result):
    """A queueing model beside simulations.

    Parameters
    ----------
    model : str
    table : DataFrame
        One row for each point and measure: the number of the `point` and its parameters; the
        `measure` as `queueing` names it, percentiles as R_p90; its value by `theory` and
        `simulation`, the latter's standard `error` and the ends of its 95 % interval, `low` and
        `high`; `z`, the difference as a standard normal deviate; the relative error that the
        theory has `stated` of itself, 0 if it is exact, NaN if it says none of this measure; the
        difference that is `allowed`; and whether it `holds`, None where there is no statement to
        hold it to.
    points : DataFrame
        One row for each point: parameters, `exactness` of the theory, the `warmup` [jobs], whether
        it is `settled` that it is over by then, and how many `independent` responses the mean of a
        run is worth.
    simulation : mapping of str to object
        `runs`, `jobs` of each, `seed` and `quantiles`.
    """

    model: str
    table: pd.DataFrame
    points: pd.DataFrame
    simulation: Mapping[str, Any]

    @property
    def failed(self) -> pd.DataFrame:
        """The rows whose difference is larger than allowed."""
        return self.table[self.table["holds"] == False]  # noqa: E712  # None is not

    @property
    def holds(self) -> bool:
        """Whether no difference is larger than allowed."""
        return self.failed.empty

    @property
    def varying(self) -> list[str]:
        """Names of the parameters that are not the same at all points."""
        return [
            name
            for name in self.points
            if name not in OF_RUNS and self.points[name].nunique(dropna=False) > 1
        ]

    def plot(self, ax: Axes | None = None, measure: str | None = None) -> Axes:
        """Draw the differences of all measures, or one measure over the parameter that varies.

        Parameters
        ----------
        ax : Axes, optional
            By default the current ones.
        measure : str, optional
            One of the table. Without it each difference is drawn as a part of what is allowed.

        Raises
        ------
        ParameterError
            For a measure that is not there, or if no parameter varies that is a number.
        """
        from analysis.queue_models.cross_check.plots import plot_differences, plot_measure

        if measure is None:
            return plot_differences(self, ax)
        return plot_measure(self, measure, ax)

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain Python values, and whether it holds."""
        return {**super().to_dict(), "holds": self.holds}
