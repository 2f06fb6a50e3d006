"""Results of the benchmark: means with intervals, ranks, scores, and reversals between metrics."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.benchmark.entries import (
    BASELINES,
    KINDS,
    LARGER_IS_BETTER,
    META_METRICS,
    METRICS,
    SIGNED,
)
from workloadkit.benchmark.metasystems import GRIDS
from workloadkit.display import Displayed
from workloadkit.errors import plural
from workloadkit.experiments.intervals import mean_interval, student_t

#: Confidence of all intervals.
CONFIDENCE = 0.95

_CASE = ["workload", "system", "users"]


@dataclass(frozen=True, eq=False)
class BenchmarkResults(Displayed):
    """Results of entries in the cases of the benchmark, as returned by `run_benchmark`.

    Parameters
    ----------
    runs : DataFrame
        One row per case, run and entry: `workload system users run entry`; whether the machine
        was `saturated` (None if the run is too short to decide, and of metasystems); the metrics,
        and the digest of its `schedule`.
    workloads : DataFrame
        One row per case and run: `workload system users run`, the `digest` of the jobs, and the
        features of the workload on the machine.
    entries : mapping of str to mapping
        What each entry is.
    refused : mapping of str to str
        Why entries were refused.
    seed : int
    """

    runs: pd.DataFrame
    workloads: pd.DataFrame
    entries: Mapping[str, Mapping[str, Any]]
    refused: Mapping[str, str]
    seed: int

    @property
    def n_runs(self) -> int:
        """Number of runs of each case."""
        return int(self.workloads["run"].max()) + 1

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics of the cases."""
        return tuple(name for name in _ALL_METRICS if name in self.runs)

    def _summary(self) -> str:
        n_cases = len(self.workloads.drop_duplicates(_CASE))
        found = f"{plural(len(self.entries), 'entry', 'entries')}, {plural(n_cases, 'case')}"
        return f"{found}, {plural(self.n_runs, 'run')}, {len(self.refused)} refused"

    def _table(self) -> pd.DataFrame:
        return self.scores

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per case and entry.

        Columns: `workload system users entry`; the number of `saturated` runs; each metric's mean
        over all runs under its own name, the ends of its interval as `_low` and `_high`, the same
        of the runs that are not saturated as `_others`; and its rank among the entries of the case,
        from `_best` to `_worst`, by all runs: the rank is 1 more than the number of entries that
        are better, and these are the ends of its 95 % confidence set [1]_. An entry counts as
        better or worse only if the interval of the difference over the runs, which are pairs, does
        not contain 0, at a level of 5 % divided by the number of other entries.

        References
        ----------
        .. [1] M. Mogstad, J. P. Romano, A. M. Shaikh, D. Wilhelm, "Inference for ranks with
           applications to mobility across neighbourhoods and academic achievement across
           countries", The Review of Economic Studies 91, 2024, section 3.
        """
        return pd.DataFrame([row for case in self._cases for row in case.rows()])

    @cached_property
    def _cases(self) -> list["_CaseResults"]:
        if self.runs.empty:
            return []
        return [
            _CaseResults(dict(zip(_CASE, place, strict=True)), rows)
            for place, rows in self.runs.groupby(_CASE, sort=False)
        ]

    @cached_property
    def scores(self) -> pd.DataFrame:
        """One row per entry and metric: how it compares with the baseline over all of its cases.

        Columns: `kind` ("machines" or "metasystems"), `entry`, `metric`, `baseline`, `cases`; and
        `score`, the geometric mean over the cases of the ratio to the baseline in the same run,
        with the ends of its interval over the runs as `low` and `high`. Below 1 is better, except
        for throughput. Cases in which a value of any entry is 0 are left out. `added_wait` may be
        negative; its score is the mean difference from the baseline [s]. Saturated runs count:
        `saturated` is the number of pairs in which a run of either saturates, and `cases_others`,
        `score_others`, … are the same over the cases without such pairs.
        """
        found = []
        for kind, baseline, metrics in zip(KINDS, BASELINES, (METRICS, META_METRICS), strict=True):
            of_kind = [case for case in self._cases if case.metrics == metrics]
            for entry in dict.fromkeys(name for case in of_kind for name in case.entries):
                both = [case for case in of_kind if {entry, baseline} <= {*case.entries}]
                for metric in metrics:
                    row: dict[str, Any] = {"kind": kind, "entry": entry, "metric": metric}
                    row |= {"baseline": baseline}
                    compared = [case for case in both if case.has_ratios(metric)]
                    pairs = [case.saturated_pairs(entry, baseline) for case in compared]
                    others = [case for case, n in zip(compared, pairs, strict=True) if not n]
                    row |= _score(compared, metric, entry, baseline) | {"saturated": sum(pairs)}
                    rest = _score(others, metric, entry, baseline)
                    found.append(row | {f"{name}_others": x for name, x in rest.items()})
        return pd.DataFrame(found)

    @cached_property
    def reversals(self) -> pd.DataFrame:
        """One row per case, pair of metrics and pair of entries of which each is better by one.

        Columns: `workload system users`; `first` is significantly better than `second` by `metric`,
        and significantly worse by `other`, as in `table`; and the ratio of its mean to that of
        `second` by both: `ratio`, `other_ratio`.
        """
        columns = [*_CASE, "metric", "other", "first", "second", "ratio", "other_ratio"]
        found = [row for case in self._cases for row in case.reversals()]
        return pd.DataFrame(found, columns=columns)

    @property
    def reversal_counts(self) -> pd.DataFrame:
        """One row per pair of metrics with reversals: `metric other pairs`."""
        keys = ["metric", "other"]
        return self.reversals.groupby(keys, sort=False).size().reset_index(name="pairs")

    def to_dict(self) -> dict[str, Any]:
        """Return all results as JSON values: the certificate."""
        from workloadkit.benchmark.certificate import certificate

        return certificate(self)


_ALL_METRICS = tuple(dict.fromkeys((*METRICS, *META_METRICS)))


def _score(
    cases: "Sequence[_CaseResults]", metric: str, entry: str, baseline: str
) -> dict[str, float]:
    """Return the score of an entry over some cases, with its interval over the runs."""
    logs = [case.relative(metric, entry, baseline) for case in cases]
    mean = np.mean(logs, axis=0) if logs else np.empty(0)
    ends = mean_interval(mean, confidence=CONFIDENCE)
    if metric not in SIGNED:
        ends = tuple(np.exp(ends))
    return {"cases": len(cases), **dict(zip(("score", "low", "high"), ends, strict=True))}


_ENDS = ("", "_low", "_high")


class _CaseResults:
    """The results of a case, as arrays by entry and run."""

    def __init__(self, place: dict[str, str], rows: pd.DataFrame) -> None:
        self.place = place
        self.entries: list[str] = [*dict.fromkeys(rows["entry"])]
        self.metrics = META_METRICS if place["system"] in GRIDS else METRICS
        self.values: dict[str, NDArray[np.float64]] = {
            name: rows.pivot(index="entry", columns="run", values=name)
            .loc[self.entries]
            .to_numpy(np.float64)
            for name in self.metrics
        }
        known = rows.pivot(index="entry", columns="run", values="saturated").loc[self.entries]
        self.saturated = known.eq(True).to_numpy()  # a run that is too short counts as it is

    def better(self, metric: str) -> NDArray[np.bool_]:
        """Return whether each entry, a row, is significantly better than each other, a column."""
        values = self.values[metric]
        n, runs = values.shape
        if n < 2 or runs < 2:
            return np.zeros((n, n), dtype=bool)
        differences = values[:, np.newaxis] - values
        mean = differences.mean(axis=2)
        error = differences.std(axis=2, ddof=1) / np.sqrt(runs)
        level = 1 - (1 - CONFIDENCE) / (n - 1)
        beyond = student_t(level, runs - 1) * error
        return mean > beyond if metric in LARGER_IS_BETTER else mean < -beyond

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows of the table."""
        found: list[dict[str, Any]] = [
            {**self.place, "entry": entry, "saturated": int(saturated.sum())}
            for entry, saturated in zip(self.entries, self.saturated, strict=True)
        ]
        for metric, values in self.values.items():
            better = self.better(metric)
            best, worst = 1 + better.sum(axis=0), len(self.entries) - better.sum(axis=1)
            for i, row in enumerate(found):
                of_runs = {"": values[i], "_others": values[i, ~self.saturated[i]]}
                for suffix, some in of_runs.items():
                    ends = mean_interval(some, confidence=CONFIDENCE, positive=metric not in SIGNED)
                    row |= zip((f"{metric}{suffix}{x}" for x in _ENDS), ends, strict=True)
                row |= {f"{metric}_best": int(best[i]), f"{metric}_worst": int(worst[i])}
        return found

    def saturated_pairs(self, entry: str, baseline: str) -> int:
        """Return the number of runs in which either saturates."""
        ours, its = (self.saturated[self.entries.index(name)] for name in (entry, baseline))
        return int((ours | its).sum())

    def has_ratios(self, metric: str) -> bool:
        """Whether all values are positive, or compared by differences."""
        return metric in SIGNED or bool((self.values[metric] > 0).all())

    def relative(self, metric: str, entry: str, baseline: str) -> NDArray[np.float64]:
        """Return the logarithm of the ratio to the baseline by run; the difference if signed."""
        ours, its = (self.values[metric][self.entries.index(name)] for name in (entry, baseline))
        return ours - its if metric in SIGNED else np.log(ours / its)

    def reversals(self) -> list[dict[str, Any]]:
        """Return the rows of the reversals."""
        better = {metric: self.better(metric) for metric in self.metrics}
        means = {metric: values.mean(axis=1) for metric, values in self.values.items()}
        found = []
        for place, one in enumerate(self.metrics):
            for other in self.metrics[place + 1 :]:
                for i, j in np.argwhere(better[one] & better[other].T):
                    with np.errstate(divide="ignore", invalid="ignore"):
                        ratios = [float(means[m][i] / means[m][j]) for m in (one, other)]
                    names = {"first": self.entries[i], "second": self.entries[j]}
                    row = {**self.place, "metric": one, "other": other, **names}
                    found.append({**row, "ratio": ratios[0], "other_ratio": ratios[1]})
        return found
