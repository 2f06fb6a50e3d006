"""All models of a cross-check at one point each, on one page."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from workloadkit.analysis import style
from workloadkit.analysis.queue_models.cross_check.checking import crosscheck_grids
from workloadkit.analysis.queue_models.cross_check.declared import ALIASES, MODELS, find_model
from workloadkit.analysis.queue_models.cross_check.models import in_words, mean_service
from workloadkit.analysis.queue_models.cross_check.result import CrossCheck
from workloadkit.analysis.section import AnalysisResult
from workloadkit.provenance import plain, seed_of
from workloadkit.settings import Crosscheck
from workloadkit.settings.setting import takes

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class CrossCheckOfAll(AnalysisResult):
    """Comparison of several queueing models with their simulations.

    Parameters
    ----------
    table : DataFrame
        One row per model: the point in words, `exactness`, number of judged `measures`, and of the
        measure with the largest difference relative to the allowed one: its name as `worst`, `z`,
        and `used`, the difference as a share of the allowed one; and whether all measures hold.
    checks : tuple of CrossCheck
        Result of each model.
    """

    table: pd.DataFrame
    checks: tuple[CrossCheck, ...]

    @property
    def holds(self) -> bool:
        """Whether all differences are within the allowed ones."""
        return all(check.holds for check in self.checks)

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the largest difference of each model as a share of the allowed one."""
        ax = style.current_axes(ax)
        place = np.arange(len(self.table))[::-1]
        ax.barh(place, self.table["used"], color=style.BLUE, height=0.7)
        ax.axvline(1, color=style.MUTED, linewidth=0.8, linestyle="--")
        ax.set_yticks(place, self.table["model"])
        ax.set_xlabel("largest difference / allowed difference")
        return ax

    def to_dict(self) -> dict[str, Any]:
        """Return the contents as plain Python values, and whether all comparisons hold."""
        rows = [
            {"model": check.model, **row}
            for check in self.checks
            for row in check.to_dict()["table"]
        ]
        return {
            "model": "all",
            "table": rows,
            "points": plain(self.table.to_dict("records")),
            "simulation": plain(dict(self.checks[0].simulation)),
            "holds": self.holds,
        }


@takes(Crosscheck)
def crosscheck_all(
    models: Sequence[str] | None = None,
    settings: Crosscheck | None = None,
    *,
    executor: "Executor | None" = None,
    progress: Callable[[int, int], Any] | None = None,
    **keywords: Any,
) -> CrossCheckOfAll:
    """Compare every model of `crosscheck` with its simulation, at one point each.

    Parameters
    ----------
    models : sequence of str, optional
        Names of models; by default all.
    settings : workloadkit.settings.Crosscheck, optional
        The keyword-only settings as one object; keywords take precedence. Simulations in plain
        Python, as of networks, have a tenth of the jobs, or a fifth.
    executor, progress
        See `crosscheck`.
    {settings}

    Examples
    --------
    >>> found = crosscheck_all(["mmck"], runs=5, jobs=5000, rng=1)
    >>> found.holds, found.table["measures"].tolist()
    (True, [7])
    """
    chosen = Crosscheck.of(settings, keywords)
    seed = seed_of(chosen.rng)
    names = [name for name in MODELS if name not in ALIASES] if models is None else list(models)
    declared = [find_model(name) for name in names]
    streams = np.random.default_rng(seed).integers(2**32, size=len(names)).tolist()
    checks = []
    for name, model, stream in zip(names, declared, streams, strict=True):
        of_model = Crosscheck.of(chosen, {"rng": int(stream)})
        checks.append(crosscheck_grids(name, [model.example], of_model, executor=executor))
        if progress is not None:
            progress(len(checks), len(names))
    rows = [_row(check) for check in checks]
    return CrossCheckOfAll(pd.DataFrame(rows), tuple(checks))


def _row(check: CrossCheck) -> dict[str, Any]:
    example = MODELS[check.model].example
    judged = check.table[check.table["holds"].notna()]
    used = ((judged["simulation"] - judged["theory"]).abs() / judged["allowed"]).fillna(0.0)
    worst = judged.loc[used.idxmax()]
    given = (f"{k}={_short(in_words(v, mean_service(example)))}" for k, v in example.items())
    return {
        "model": check.model,
        "point": " ".join(given),
        "exactness": check.points["exactness"].iloc[0],
        "measures": len(judged),
        "worst": worst["measure"],
        "z": worst["z"],
        "used": float(used.max()),
        "holds": check.holds,
    }


def _short(value: str | float) -> str:
    return f"{value:g}" if isinstance(value, float) else value.replace(" ", "")
