"""Certificates of the benchmark: good ones without a simulation, and what a reader promises.

What is read and compared is separate from what plays the cases, so thousands can be tried.
"""

import json
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd

import workloadkit as wk
from tests.fuzz import good, promises
from workloadkit.benchmark import (
    BenchmarkResults,
    certificate,
    differences,
    entries_of,
    nearest_cases,
    not_verified,
    read_certificate,
)
from workloadkit.benchmark.certificate import seal
from workloadkit.benchmark.entries import META_METRICS, METRICS, built_in
from workloadkit.benchmark.nearest import FEATURES

_N_GOOD = 6
_POLICIES = [entry.name for entry in built_in() if entry.kind == "policy"]
_CASES = ("device.busy.open", "sample.roomy.fluid", "mixed.grid.open", "kth.busy.open")
_PROCESS = {"kind": "process", "command": "awk -f mine.awk", "files": {"mine.awk": "0" * 64}}
_CUSTOM = {"kind": "policy", "policy": "mine:Policy", "source": "0" * 16}
_SEALED = 0.8  # share of the broken files that get the digest of their content


def good_certificate(rng: Random) -> bytes:
    """One of some certificates, written in one of several ways."""
    indent, is_ascii = rng.choice([None, 0, 2]), rng.random() < 0.5
    return json.dumps(_good(rng.randrange(_N_GOOD)), indent=indent, ensure_ascii=is_ascii).encode()


@cache
def _good(number: int) -> dict[str, Any]:
    """A certificate of entries that were never played: digests and numbers are drawn."""
    rng = np.random.default_rng(number)
    runs = int(rng.integers(1, 4))
    chosen = [case for case in _CASES if rng.random() < 0.5] or [*_CASES[:1]]
    policies = ["easy", *rng.choice(_POLICIES[2:], 2, replace=False).tolist()]
    entries = {name: {"kind": "policy", "policy": name} for name in policies}
    entries |= {name: {"kind": "meta-policy", "policy": name} for name in ("home", "random")}
    entries |= {"meine ü": _PROCESS, "mine:Policy": _CUSTOM}
    refused = {"mine:Policy": f"{case}, run 0: no"} if (case := chosen[0]) != _CASES[2] else {}
    rows, workloads = [], []
    for case in chosen:
        is_grid = "grid" in case
        for run in range(runs):
            place = dict(zip(("workload", "system", "users"), case.split("."), strict=True))
            features = {} if is_grid else dict.fromkeys(FEATURES, rng.normal())
            workloads.append({**place, "run": run, "digest": _digest(rng), **features})
            for name, entry in entries.items():
                if name in refused or is_grid != entry["kind"].startswith("meta"):
                    continue
                metrics = {x: rng.exponential(100) for x in (META_METRICS if is_grid else METRICS)}
                metrics |= {"saturated": None, "schedule": _digest(rng)}
                rows.append({**place, "run": run, "entry": name, **metrics})
    made = BenchmarkResults(pd.DataFrame(rows), pd.DataFrame(workloads), entries, refused, 1999)
    return json.loads(json.dumps(certificate(made)))


def _digest(rng: np.random.Generator) -> str:
    return rng.bytes(32).hex()


def sealed_or_not(rng: Random) -> dict[str, Any]:
    return {"sealed": rng.random() < _SEALED}


def read(data: bytes, options: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Read a certificate, which may have the digest of its broken content."""
    if options["sealed"]:
        try:
            content = json.loads(data)
            data = json.dumps(content | {"sha256": seal(content)}).encode()
        except (ValueError, TypeError, AttributeError, RecursionError):  # it is refused early
            pass
    return read_certificate(data, "broken")


def of_certificate(claimed: dict[str, Any]) -> None:
    """What is verified is equal; nothing that a certificate names is used."""
    for entry in entries_of(claimed):
        promises.keep(isinstance(entry.what, str), "a policy is a word")
        promises.keep("source" not in claimed["entries"][entry.name], "a policy is built in")
    for number in range(_N_GOOD):
        made = _good(number)
        lines, rest = differences(claimed, made), not_verified(claimed, made)
        for line in (*lines, *rest):
            promises.keep(len(line) <= 400 and line.isprintable(), f"a line: {line[:999]!r}")
        if not (lines or rest):
            promises.keep(_same(_ordered(claimed), _ordered(made)), "what is verified is equal")
    try:
        found = nearest_cases(good.first_jobs(), claimed)
    except wk.WorkloadError as error:
        promises.of_error(error)
    else:
        promises.keep(bool((found["distance"] >= 0).all()), "cases have distances")


def _ordered(content: dict[str, Any]) -> dict[str, Any]:
    """Lists of rows in one order, which has no meaning; without the digest."""
    rows = {name: sorted(content[name], key=repr) for name in ("reversals",)}
    rows["results"] = sorted(content["results"], key=lambda row: (row["case"], row["entry"]))
    place = ("kind", "entry", "metric")
    rows["scores"] = sorted(content["scores"], key=lambda row: [row[name] for name in place])
    return {**content, **rows, "sha256": ""}


def _same(one: Any, other: Any) -> bool:
    """Whether JSON values are equal, numbers up to a millionth."""
    match one, other:
        case dict(), dict():
            return one.keys() == other.keys() and all(_same(one[x], other[x]) for x in one)
        case list(), list():
            return len(one) == len(other) and all(map(_same, one, other))
        case bool(), _:
            return one is other
        case int() | float(), int() | float():
            return abs(one - other) <= 1.1e-6 * max(1, abs(one))
        case _:
            return bool(one == other)
