"""Result of a cross-check."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from workloadkit.analysis.section import AnalysisResult

#: Columns of the table of points that are not parameters.
OF_RUNS = ("exactness", "warmup", "settled", "independent")


@dataclass(frozen=True, eq=False)
class CrossCheck(AnalysisResult):
    """Comparison of a queueing model with its simulation.

    Parameters
    ----------
    model : str
    table : DataFrame
        One row per point and measure: the number of the `point` and its parameters; the `measure`
        as named in `queueing`, percentiles as R_p90; its value by `theory` and by `simulation`, the
        `error` (standard error) of the latter and its 95 % interval, `low` to `high`; `z`, the
        difference as a standard normal deviate; `stated`, the relative error stated by the theory
        (0 if exact, NaN if none); the `allowed` difference; and whether it `holds`, None if there
        is no stated error.
    points : DataFrame
        One row per point: parameters, `exactness` of the theory, the `warmup` [jobs], whether it is
        `settled` (the runs are long enough for it), and the number of `independent` responses that
        the mean of a run is worth.
    simulation : mapping of str to object
        `runs`, `jobs` per run, `seed` and `quantiles`.
    """

    model: str
    table: pd.DataFrame
    points: pd.DataFrame
    simulation: Mapping[str, Any]

    @property
    def failed(self) -> pd.DataFrame:
        """Rows with a difference larger than allowed."""
        return self.table[self.table["holds"] == False]  # noqa: E712  # None is not

    @property
    def holds(self) -> bool:
        """Whether all differences are within the allowed ones."""
        return self.failed.empty

    @property
    def varying(self) -> list[str]:
        """Names of the parameters that vary over the points."""
        return [
            name
            for name in self.points
            if name not in OF_RUNS and self.points[name].nunique(dropna=False) > 1
        ]

    def plot(self, ax: Axes | None = None, measure: str | None = None) -> Axes:
        """Draw the differences of all measures, or one measure over the varying parameter.

        Parameters
        ----------
        ax : Axes, optional
            Default: the current Axes.
        measure : str, optional
            A measure of the table; by default all differences relative to the allowed ones.

        Raises
        ------
        ParameterError
            For an unknown measure, or if no numeric parameter varies.
        """
        from workloadkit.analysis.queue_models.cross_check.plots import (
            plot_differences,
            plot_measure,
        )

        if measure is None:
            return plot_differences(self, ax)
        return plot_measure(self, measure, ax)

    def to_dict(self) -> dict[str, Any]:
        """Return the contents as plain Python values, and whether the comparison holds."""
        return {**super().to_dict(), "holds": self.holds}
