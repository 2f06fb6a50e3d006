"""Certificates: what another machine needs to make the results again, and to compare them.

`reading` reads them, `comparing` compares them with results that were made again.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from workloadkit import __version__
from workloadkit.benchmark.results import BenchmarkResults
from workloadkit.benchmark.suite import VERSION
from workloadkit.provenance import plain

_CASE = ("workload", "system", "users")


def certificate(results: BenchmarkResults) -> dict[str, Any]:
    """Return results as JSON values, with the digests of all workloads and schedules.

    Keys: the version of the `benchmark`, of `workloadkit`, `seed` and `runs`; `entries`, what each
    is; `refused`, with reasons; `workloads`, by case the digest of the jobs of each run and the
    means of their features; `results`, one row per case and entry: the digest of its `schedules`,
    and for each metric the mean over the runs, the ends of its interval, and the best and worst
    rank that it may have; `scores`; `reversals`, their number by pair of metrics; and `sha256`,
    the digest of all this.
    """
    workloads = {
        ".".join(place): {
            "digests": rows["digest"].tolist(),
            "features": rows.drop(columns=[*_CASE, "run", "digest"]).mean().dropna().to_dict(),
        }
        for place, rows in results.workloads.groupby([*_CASE], sort=False)
    }
    schedules, rows = {}, []
    if len(results.runs):  # not all entries are refused
        schedules = {
            place: hashlib.sha256("\n".join(rows["schedule"]).encode()).hexdigest()
            for place, rows in results.runs.groupby([*_CASE, "entry"], sort=False)
        }
    for row in results.table.to_dict("records"):
        place = tuple(row[name] for name in (*_CASE, "entry"))
        known = {"case": ".".join(place[:3]), "entry": place[3], "schedules": schedules[place]}
        for metric in results.metrics:
            if row[metric] == row[metric]:  # not of the other kind of system
                known[metric] = [row[f"{metric}{end}"] for end in _OF_METRIC]
        rows.append(known)
    content = _rounded(
        plain(
            {
                "benchmark": VERSION,
                "workloadkit": __version__,
                "seed": results.seed,
                "runs": results.n_runs,
                "entries": results.entries,
                "refused": results.refused,
                "workloads": workloads,
                "results": rows,
                "scores": results.scores.reindex(columns=[*OF_SCORE]).to_dict("records"),
                "reversals": results.reversal_counts.to_dict("records"),
            }
        )
    )
    return content | {"sha256": seal(content)}


_OF_METRIC = ("", "_low", "_high", "_best", "_worst")

#: Columns of a score.
OF_SCORE = ("kind", "entry", "metric", "baseline", "cases", "score", "low", "high")


def _rounded(value: Any) -> Any:
    """Return JSON values with numbers of 8 digits."""
    if isinstance(value, Mapping):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [*map(_rounded, value)]
    if isinstance(value, float):
        found = float(f"{value:.8g}")
        return int(found) if found.is_integer() and abs(found) < 2**53 else found
    return value


def seal(content: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the JSON of a certificate without its own `sha256`.

    Examples
    --------
    >>> seal({"benchmark": 1})[:8] == seal({"sha256": "", "benchmark": 1})[:8]
    True
    """
    rest = {name: value for name, value in content.items() if name not in ("sha256", "provenance")}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()
