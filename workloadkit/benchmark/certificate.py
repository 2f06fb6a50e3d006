"""Certificates: what another machine needs to make the results again; writing and reading them.

`reading` reads them, `comparing` compares them with results that were made again.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from importlib.resources import as_file, files
from itertools import combinations
from typing import TYPE_CHECKING, Any, get_args

from workloadkit import __version__
from workloadkit.benchmark.entries import (
    BASELINES,
    KINDS,
    META_METRICS,
    METRICS,
    SIGNED,
    Entry,
    Kind,
    is_misnamed,
)
from workloadkit.benchmark.metasystems import GRIDS
from workloadkit.benchmark.nearest import FEATURES
from workloadkit.benchmark.suite import VERSION, Case, case_names
from workloadkit.errors import FormatError, WorkloadError, quoted
from workloadkit.io.strict_json import JsonValue, cut, json_text, read_json
from workloadkit.metasystem import policies as meta_policies
from workloadkit.provenance import plain
from workloadkit.simulation import schedulers

if TYPE_CHECKING:
    from workloadkit.benchmark.results import BenchmarkResults

_CASE = ("workload", "system", "users")


def certificate(results: "BenchmarkResults") -> dict[str, Any]:
    """Return results as JSON values, with the digests of all workloads and schedules.

    Keys: the version of the `benchmark`, of `workloadkit`, `seed` and `runs`; `entries`, what each
    is; `refused`, with reasons; `workloads`, by case the digest of the jobs of each run and the
    means of their features; `results`, one row per case and entry: the digest of its `schedules`,
    and for each metric the mean over the runs, the ends of its interval, and the best and worst
    rank that it may have; `scores`; `reversals`, their number by pair of metrics; and `sha256`,
    the digest of all this.

    Examples
    --------
    >>> from workloadkit.benchmark import Entry, cases, run_benchmark
    >>> entries = [Entry(name, "policy", name) for name in ("easy", "sjf")]
    >>> made = certificate(run_benchmark(entries, among=cases(chosen=("device", "busy")), runs=2))
    >>> made["runs"], [*made["entries"]]
    (2, ['easy', 'sjf'])
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


# Reading certificates, which are data of other people: every part is checked, no more is known.

_VERSION = re.compile(r"[0-9A-Za-z.+-]{1,40}")
_SOURCE = re.compile(r"[0-9a-f]{16}")
_WHY = re.compile(r"(\S+), run (\d{1,9}): .+", re.DOTALL)
_LARGEST_FEATURE = 1e9
_MOST_RUNS = 10**6


def canonical() -> dict[str, Any]:
    """Return the certificate of the built-in policies, which is part of the toolkit.

    Examples
    --------
    >>> canonical()["benchmark"]
    1
    """
    with as_file(files("workloadkit") / "data" / f"benchmark-{VERSION}.json.gz") as path:
        return read_certificate(json_text(path), str(path))


def read_certificate(text: str | bytes, name: str = "certificate") -> dict[str, Any]:
    """Read a certificate.

    What a certificate says of results is not verified by this: `differences` and `not_verified`
    compare it with results that were made again. Nothing that it names is imported, opened or run.

    Parameters
    ----------
    text : str or bytes
        Strict JSON, see `workloadkit.io.strict_json`.
    name : str
        Of the file, for messages.

    Raises
    ------
    FormatError
        If it is none, is of another version of the benchmark, has been changed, or a part is
        unknown, missing, invalid or contradicts another one.

    Examples
    --------
    >>> import json
    >>> read_certificate(json.dumps(canonical())) == canonical()
    True
    """
    found = read_json(text, name)
    if not isinstance(found, dict) or "benchmark" not in found or "sha256" not in found:
        raise FormatError(name, "is not a certificate of the benchmark")
    whole = JsonValue(name, "", found)
    parts = whole.members(_PARTS, optional=("provenance",))
    version = parts["benchmark"].whole(least=1)
    if version != VERSION:
        raise FormatError(name, f"is of version {version:g} of the benchmark, not {VERSION}")
    if seal(found) != found["sha256"]:
        raise FormatError(name, "has been changed: its content does not have its sha256")
    parts["workloadkit"].matching(_VERSION, "a version")
    parts["seed"].whole(least=0)
    runs = parts["runs"].whole(least=1, most=_MOST_RUNS)
    entries = {name: _entry(name, part) for name, part in parts["entries"].named().items()}
    cases = {name: _case(name, part, runs) for name, part in parts["workloads"].named().items()}
    refused = _refused(parts["refused"], entries, cases, runs)
    ranked = [entry for name, entry in entries.items() if name not in refused]
    played = {
        name: [entry.name for entry in ranked if entry.plays(case)] for name, case in cases.items()
    }
    _check_results(parts["results"], played, runs)
    _check_scores(parts["scores"], played, runs)
    _check_reversals(parts["reversals"])
    if "provenance" in parts:
        parts["provenance"].members(("configured",))["configured"].of(dict)
    return found


_PARTS = (
    *("benchmark", "workloadkit", "seed", "runs", "entries", "refused", "workloads", "results"),
    *("scores", "reversals", "sha256"),
)


def _entry(name: str, part: JsonValue) -> Entry:
    """Return an entry; what is neither a built-in policy nor given by the user is not made."""
    JsonValue(part.path, part.place, name).text()
    kind: Any = part.member("kind").text(get_args(Kind))
    if kind.endswith("policy"):
        parts = part.members(("kind", "policy"), optional=("source",))
        policy = parts["policy"].text()
        if "source" in parts:
            parts["source"].matching(_SOURCE, "a digest of 16 digits")
        of_kind = schedulers if kind == "policy" else meta_policies
        if "source" not in parts:
            try:
                of_kind.parse(policy)
            except WorkloadError:
                parts["policy"].refuse("is no built-in policy, and has no source")
        elif policy.partition(":")[0] in of_kind.known():
            parts["source"].refuse(f"{quoted(policy)} is built in, and has no source")
        elif policy != name:
            parts["policy"].refuse("is not the name of the entry, as of a custom policy")
    elif kind.endswith("process"):
        parts = part.members(("kind", "command", "files"))
        parts["command"].of(str)
        if parts["files"].of(dict):
            for digest in parts["files"].named().values():
                digest.digest()
    else:
        part.members(("kind",))
    what = part.value.get("policy")
    if is_misnamed(kind, what, name):
        part.refuse("has the name of a built-in policy, which it is not")
    return Entry(name, kind, what)


def _case(name: str, part: JsonValue, runs: int) -> Case:
    """Return the place of a case, whose workloads have digests and features."""
    if name not in case_names():
        part.refuse("is not a case of the benchmark")
    parts = part.members(("digests", "features"))
    digests = parts["digests"].items()
    if len(digests) != runs:
        parts["digests"].refuse(f"has {len(digests):,} digests of {runs:,} runs")
    for digest in digests:
        digest.digest()
    workload, system, users = name.split(".")
    case = Case(workload, system, users, None)
    features = parts["features"].members(() if case.is_grid else FEATURES)
    for feature in features.values():
        feature.number(least=-_LARGEST_FEATURE, most=_LARGEST_FEATURE)
    return case


def _refused(
    part: JsonValue, entries: Mapping[str, Entry], cases: Mapping[str, Case], runs: int
) -> list[str]:
    """Return the names of refused entries, each with a reason in a case that it plays."""
    reasons = part.named() if part.of(dict) else {}
    for name, why in reasons.items():
        if name not in entries:
            why.refuse("is no entry")
        case, run = why.matching(_WHY, "a reason with its case and run").groups()
        if case not in cases or not entries[name].plays(cases[case]) or int(run) >= runs:
            why.refuse("is not of a run that it played")
    return [*reasons]


def _check_results(part: JsonValue, played: Mapping[str, list[str]], runs: int) -> None:
    """Check that each case and entry has one row, with all metrics."""
    rows, found = part.items(), set()
    for row in rows:
        case = row.member("case").text(played)
        entry = row.member("entry").text(played[case])
        if (case, entry) in found:
            row.refuse(f"{case}, {cut(entry)} is there twice")
        found.add((case, entry))
        metrics = metrics_of(case)
        parts = row.members(("case", "entry", "schedules", *metrics))
        parts["schedules"].digest()
        for name in metrics:
            _check_metric(parts[name], len(played[case]), runs, signed=name in SIGNED)
    for case, entries in played.items():
        for entry in entries:
            if (case, entry) not in found:
                part.refuse(f"the row of {case}, {cut(entry)} is missing")


def metrics_of(case: str) -> tuple[str, ...]:
    """Return the metrics of a case by its name."""
    return META_METRICS if case.split(".")[1] in GRIDS else METRICS


def _check_metric(part: JsonValue, n_entries: int, runs: int, *, signed: bool) -> None:
    """Check a mean, its interval, and the best and worst rank."""
    values = part.items()
    if len(values) != _N_OF_METRIC:
        part.refuse(f"has {len(values):,} values, not {_N_OF_METRIC}")
    JsonValue(part.path, part.place, part.value[:3]).interval(runs, signed=signed)
    best = values[3].whole(least=1, most=n_entries)
    values[4].whole(least=best, most=n_entries)


_N_OF_METRIC = 5


def _check_scores(part: JsonValue, played: Mapping[str, list[str]], runs: int) -> None:
    """Check that each entry has one score for each metric of its kind."""
    expected: dict[tuple[str, str, str], int] = {}  # and in how many cases, at most
    for case, entries in played.items():
        metrics = metrics_of(case)
        kind, baseline = _of_metrics(metrics)
        for entry in entries:
            for metric in metrics:
                place = kind, entry, metric
                expected[place] = expected.get(place, 0) + (baseline in entries)
    left = dict(expected)
    for row in part.items():
        parts = row.members(OF_SCORE)
        kind, entry, metric = (parts[name].text() for name in ("kind", "entry", "metric"))
        if (kind, entry, metric) not in left:
            row.refuse("is there twice, or of no entry and metric")
        most = left.pop((kind, entry, metric))
        parts["baseline"].text((dict(zip(KINDS, BASELINES, strict=True))[kind],))
        n_cases = parts["cases"].whole(least=0, most=most)
        ends = JsonValue(
            row.path, row.place, [row.value[name] for name in ("score", "low", "high")]
        )
        ends.interval(runs if n_cases else 0, signed=metric in SIGNED)
    if left:
        kind, entry, metric = next(iter(left))
        part.refuse(f"{metric} of {cut(entry)} is missing")


def _of_metrics(metrics: tuple[str, ...]) -> tuple[str, str]:
    """Return the kind of systems with these metrics, and its baseline."""
    place = (METRICS, META_METRICS).index(metrics)
    return KINDS[place], BASELINES[place]


def _check_reversals(part: JsonValue) -> None:
    """Check that each pair of metrics is there once."""
    pairs = {*combinations(METRICS, 2), *combinations(META_METRICS, 2)}
    for row in part.items():
        parts = row.members(("metric", "other", "pairs"))
        pair = parts["metric"].text(), parts["other"].text()
        if pair not in pairs:
            row.refuse("is there twice, or no pair of metrics")
        pairs.remove(pair)
        parts["pairs"].whole(least=1)
