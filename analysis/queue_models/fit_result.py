"""Result of a fit of queueing models to a log."""

import math
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from workloadkit import queueing
from workloadkit.analysis import style
from workloadkit.analysis.formats import duration, number, share, with_interval
from workloadkit.analysis.queue_models.target import TargetAnswer
from workloadkit.analysis.section import AnalysisResult
from workloadkit.provenance import plain
from workloadkit.settings.common import JobUnit
from workloadkit.units import WORDS, text_in_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HOUR = 3600.0


class Moments(NamedTuple):
    """What the models take from a log.

    Parameters
    ----------
    lam : float
        Arrival rate. [1/s]
    S : float
        Mean run time. [s]
    scv_arrivals, scv_service : float
        Squared coefficients of variation of inter-arrival and run times.
    servers : int
        Jobs of mean size, weighted by run time, that fit the machine; at least 1.
    """

    lam: float
    S: float
    scv_arrivals: float
    scv_service: float
    servers: int

    @property
    def load(self) -> float:
        """Offered load of a server."""
        return self.lam * self.S / self.servers

    def waits(self, model: str) -> dict[str, float]:
        """Return mean and quantiles of the waits under a model, and the utilization.

        Means are those of `workloadkit.queueing`. In all models, the share of jobs that wait is
        that of M/M/c, and jobs that wait do so for exponential times, which is exact for M/M/c.
        Infinite if the load is 1 or more.
        """
        if not self.load < 1:
            return {"utilization": self.load} | dict.fromkeys(WAITS, math.inf)
        exponential: Any = queueing.mmc(self.lam, self.S, self.servers)
        solved: Any = exponential
        if model == "mgc":
            solved = queueing.mgc(self.lam, self.S, self.scv_service, self.servers)
        elif model == "ggc":
            scvs = self.scv_arrivals, self.scv_service
            solved = queueing.ggc(self.lam, self.S, *scvs, self.servers)
        mean, waiting = float(solved.W), float(exponential.p_wait)
        of_waiting = mean / waiting if waiting else 0.0

        def quantile(q: float) -> float:
            return of_waiting * math.log(waiting / (1 - q)) if waiting > 1 - q else 0.0

        return {
            "utilization": self.load,
            "mean_wait": mean,
            "median_wait": quantile(0.5),
            "p90_wait": quantile(0.9),
        }


#: Measures of waits, by name.
WAITS = ("mean_wait", "median_wait", "p90_wait")

#: Models from the narrowest to the widest: title, exactness, and the tests that they need.
_ALWAYS = ("one size", "constant rate", "first come, first served", "stable")
MODELS = {
    "mmc": ("M/M/c", "exact", ("Poisson arrivals", "exponential run times", *_ALWAYS)),
    "mgc": ("M/G/c", "approximation; exact mean for c = 1", ("Poisson arrivals", *_ALWAYS)),
    "ggc": ("G/G/c", "approximation: Allen and Cunneen", _ALWAYS),
}


class TestedAssumption(NamedTuple):
    """An assumption of a model, measured in a log.

    Parameters
    ----------
    name, measure : str
        The assumption, and what is measured for it.
    value, low, high : float
        Measured value with its 95 % interval.
    required, tolerance : float
        Value that the model requires, and the largest difference that is tolerated.
    """

    name: str
    measure: str
    value: float
    low: float
    high: float
    required: float
    tolerance: float

    @property
    def violated(self) -> bool | None:
        """Whether the whole interval lies outside the tolerance; None if unknown."""
        if math.isnan(self.value):
            return None
        low, high = self.required - self.tolerance, self.required + self.tolerance
        return bool(self.low > high or self.high < low)

    @property
    def text(self) -> str:
        """The measure with its interval, and what is required."""
        shown = with_interval(self.value, self.low, self.high, number)
        return f"{self.measure} is {shown}; required {number(self.required)}"


@dataclass(frozen=True, eq=False)
class FittedQueueingModel(AnalysisResult):
    """A queueing model fitted to a log.

    Parameters
    ----------
    log : str
        Name of the log.
    procs : int
        Processors of the machine.
    model : str
        The chosen model: the first of "mmc", "mgc" and "ggc" whose assumptions are not violated;
        else "ggc", which is then refused.
    moments : Moments
    assumptions : tuple of TestedAssumption
    refused : mapping of str to tuple of str
        For each model, the violated assumptions.
    predictions : DataFrame
        By "record" and model: `utilization`, `mean_wait`, `median_wait` and `p90_wait` [s], each
        with 95 % limits `_low` and `_high` (bootstrap over parts of the log's time).
    target : TargetAnswer or None
    unit : {"procs", "nodes", "gpus"}
        What sizes and load are counted in.
    """

    log: str
    procs: int
    model: str
    moments: Moments
    assumptions: tuple[TestedAssumption, ...]
    refused: dict[str, tuple[str, ...]]
    predictions: pd.DataFrame
    target: TargetAnswer | None
    unit: JobUnit = "procs"

    @property
    def accepted(self) -> bool:
        """Whether the chosen model's assumptions are not violated."""
        return not self.refused[self.model]

    @property
    def verdict(self) -> str:
        """What was chosen and why, and the mean wait next to the record's."""
        title = MODELS[self.model][0]
        record, predicted = (self._wait(name) for name in ("record", self.model))
        reasons = {test.name: test.text for test in self.assumptions}
        broken = "; ".join(f"{name}: {reasons[name]}" for name in self.refused[self.model])
        chosen = f"{title} fits" if self.accepted else f"No model fits; {title} is closest"
        why = "" if self.accepted else f" Refused for {broken}."
        return f"{chosen}: mean wait {predicted}, in the record {record}.{why}"

    def _wait(self, name: str) -> str:
        row = self.predictions.loc[name]
        ends = (row["mean_wait_low"], row["mean_wait_high"])
        return with_interval(row["mean_wait"], *ends, _time)

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the mean waits of the record and of the models with their intervals."""
        ax = style.current_axes(ax)
        place = np.arange(len(self.predictions))[::-1]
        hours = self.predictions[["mean_wait", "mean_wait_low", "mean_wait_high"]] / _HOUR
        hours = hours.replace(np.inf, np.nan)
        ax.hlines(place, hours["mean_wait_low"], hours["mean_wait_high"], color=style.INK)
        ax.plot(hours["mean_wait"], place, "o", color=style.BLUE)
        titles = [MODELS[name][0] if name in MODELS else name for name in self.predictions.index]
        ax.set_yticks(place, titles)
        ax.set_xlabel("mean wait [h], with 95 % interval")
        return ax

    @property
    def tests(self) -> pd.DataFrame:
        """The assumptions: by name, the columns of `TestedAssumption`, and `violated`."""
        rows = [{**test._asdict(), "violated": test.violated} for test in self.assumptions]
        return pd.DataFrame(rows).set_index("name")

    def to_dict(self) -> dict[str, Any]:
        """Return the contents as plain Python values."""
        tests = self.tests.reset_index().to_dict("records")
        rows = [{"of": name, **row} for name, row in self.predictions.to_dict("index").items()]
        return plain({
            "log": self.log, "procs": self.procs, "model": self.model, "accepted": self.accepted,
            "moments": self.moments._asdict(), "assumptions": tests,
            "refused": {name: list(why) for name, why in self.refused.items()},
            "predictions": [{k: _known(v) for k, v in row.items()} for row in rows],
            "target": None if self.target is None else self.target._asdict(),
        })  # fmt: skip


def _known(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _time(seconds: float) -> str:
    return "unbounded" if math.isinf(seconds) else duration(seconds)


def describe_fit(found: FittedQueueingModel) -> list[str]:
    """Return the page of a fit as lines of at most 80 characters."""
    m = found.moments
    lines = [
        f"{found.log}: {number(m.lam * _HOUR)} jobs/h, mean run {duration(m.S)}, "
        f"{found.procs:,} processors",
        f"as {m.servers:,} servers, load {share(m.load)}",
        "",
        "assumption                value and 95 % interval   required   violated",
    ]
    for test in found.assumptions:
        shown = with_interval(test.value, test.low, test.high, number)
        words = {True: "yes", False: "no", None: "unknown"}[test.violated]
        needed = "< 1" if test.name == "stable" else f"{test.required:g} ± {test.tolerance:g}"
        lines.append(f"{test.name:<26}{shown:<26}{needed:<11}{words}")
    lines += ["", f"{'':<8}{'utilization':<16}{'mean wait':<40}median wait"]
    for name, row in found.predictions.iterrows():
        title = MODELS[str(name)][0] if name in MODELS else str(name)
        cells = [
            with_interval(row[of], row[f"{of}_low"], row[f"{of}_high"], form)
            for of, form in (("utilization", share), ("mean_wait", _time))
        ]
        lines.append(f"{title:<8}{cells[0]:<16}{cells[1]:<40}{_time(row['median_wait'])}")
    lines += ["", *wrap(found.verdict, 80)]
    if found.target is not None:
        lines += ["", *wrap(found.target.text, 80)]
    return [text_in_words(WORDS[found.unit], line.rstrip()) for line in lines]
