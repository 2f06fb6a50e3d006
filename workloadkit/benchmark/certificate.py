"""Certificates: what another machine needs to make the results again, and to compare them."""

import gzip
import hashlib
import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from workloadkit import __version__
from workloadkit.benchmark.results import BenchmarkResults
from workloadkit.benchmark.suite import VERSION
from workloadkit.errors import WorkloadError
from workloadkit.provenance import plain

#: Relative difference up to which numbers of two machines are equal.
TOLERANCE = 1e-6

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
    schedules = {
        place: hashlib.sha256("\n".join(rows["schedule"]).encode()).hexdigest()
        for place, rows in results.runs.groupby([*_CASE, "entry"], sort=False)
    }
    rows = []
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
                "scores": results.scores.to_dict("records"),
                "reversals": results.reversal_counts.to_dict("records"),
            }
        )
    )
    return content | {"sha256": seal(content)}


_OF_METRIC = ("", "_low", "_high", "_best", "_worst")


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


def canonical() -> dict[str, Any]:
    """Return the certificate of the built-in policies, which is part of the toolkit."""
    path = files("workloadkit") / "data" / f"benchmark-{VERSION}.json.gz"
    found: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    return found


def read_certificate(text: str, name: str = "certificate") -> dict[str, Any]:
    """Read a certificate.

    Raises
    ------
    WorkloadError
        If it is none, is of another version of the benchmark, or has been changed.
    """
    try:
        found = json.loads(text)
    except ValueError as error:
        raise WorkloadError(f"{name}: is not JSON: {error}") from None
    if not isinstance(found, dict) or "benchmark" not in found or "sha256" not in found:
        raise WorkloadError(f"{name}: is not a certificate of the benchmark")
    if found["benchmark"] != VERSION:
        version = found["benchmark"]
        raise WorkloadError(f"{name}: is of version {version} of the benchmark, not {VERSION}")
    if seal(found) != found["sha256"]:
        raise WorkloadError(f"{name}: has been changed: its content does not have its sha256")
    return found


def differences(claimed: Mapping[str, Any], made: Mapping[str, Any]) -> list[str]:
    """Return how results that were made again differ from those of a certificate.

    Compared are the cases and entries that were made again: digests exactly, numbers up to
    `TOLERANCE`.
    """
    found = []
    for case, workload in made["workloads"].items():
        if case not in claimed["workloads"]:
            found.append(f"{case}: is not in the certificate")
        elif workload["digests"] != claimed["workloads"][case]["digests"]:
            found.append(f"{case}: the jobs differ")
    claims = {(row["case"], row["entry"]): row for row in claimed["results"]}
    for row in made["results"]:
        place = f"{row['case']}, {row['entry']}"
        claim = claims.get((row["case"], row["entry"]))
        if claim is None:
            found.append(f"{place}: is not in the certificate")
        elif claim["schedules"] != row["schedules"]:
            found.append(f"{place}: the schedules differ")
        else:  # ranks depend on the other entries
            found += [
                f"{place}: {name} is {row[name][0]}, in the certificate {values[0]}"
                for name, values in claim.items()
                if isinstance(values, list) and _differ(values[:3], row[name][:3])
            ]
    refused = [name for name in made["refused"] if name not in claimed["refused"]]
    return found + [f"{name}: is refused: {made['refused'][name]}" for name in refused]


def _differ(claimed: list[Any], values: list[Any]) -> bool:
    for claim, value in zip(claimed, values, strict=True):
        if None in (claim, value):
            if claim is not value:
                return True
        elif abs(value - claim) > TOLERANCE * max(abs(claim), 1):
            return True
    return False
