"""Reference results, for comparison with those of another machine."""

import csv
import io
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from workloadkit import __version__
from workloadkit.analysis.reproduction.claims import Claim, Kind, Result
from workloadkit.analysis.reproduction.findings import Findings, digits
from workloadkit.analysis.reproduction.logs import Log
from workloadkit.analysis.reproduction.readings import choose
from workloadkit.analysis.reproduction.running import SEED
from workloadkit.analysis.reproduction.study import Study
from workloadkit.errors import WorkloadError

#: Largest relative difference from the reference: rounding differs between processors and versions
#: of libraries.
TOLERANCE = 1e-6


def reference_of(study: Study, folder: Path) -> list[dict[str, str]]:
    """Return the reference results of a study, one dictionary for each row.

    Raises
    ------
    WorkloadError
        If the folder has no reference for the study.
    """
    file = folder / f"{study.name}.csv"
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise WorkloadError(
            f"{file}: cannot read the reference of this study: {error.strerror}"
        ) from error
    return list(csv.DictReader(io.StringIO(text)))


def kept_findings(study: Study, folder: Path) -> Findings:
    """Return the reference results of a study as findings, without logs or simulations.

    Raises
    ------
    WorkloadError
        If the folder has no reference for the study.
    """
    rows = reference_of(study, folder)
    results = tuple(Result(_log(row), _claim(row), *_interval(row), row["note"]) for row in rows)
    logs = {result.log.name: result.log for result in results if result.log.published}
    all_logs = [logs.get(name, Log(name, published)) for name, published in study.logs.items()]
    made_by: dict[str, Any] = {"workloadkit": __version__}
    if study.runs is not None:
        made_by |= {"runs": study.runs, "seed": SEED}
    return Findings(study, results, dict.fromkeys(all_logs, ""), choose(study.axes), made_by)


def _log(row: Mapping[str, str]) -> Log:
    """Return the log of a row; its path only contains the version."""
    return Log(
        row["log"], row["version_published"], Path(row["version"]) if row["version"] else None
    )


def _claim(row: Mapping[str, str]) -> Claim:
    agrees = float(row["agrees_from"]), float(row["agrees_to"])
    main, strict = row["main"] == "1", row["strict"] == "1"
    kind = cast("Kind", row["kind"])
    return Claim(
        row["quantity"], row["place"], kind, _number(row["published"]), agrees, main, strict
    )


def _interval(row: Mapping[str, str]) -> tuple[float, float | None, float | None]:
    low, high = (float(row[end]) if row[end] else None for end in ("low", "high"))
    return _number(row["ours"]), low, high


def _number(text: str) -> float:
    """Return a number; one without a decimal point is an integer."""
    return int(text) if text.lstrip("-").isdigit() else float(text)


def differences(findings: Findings, reference: list[dict[str, str]]) -> list[str]:
    """Return the differences between results and the reference for the same versions of the logs.

    Values may differ by 10⁻⁶ of the larger one. Random results agree if their intervals overlap,
    because another version of a library may draw other numbers.

    Parameters
    ----------
    findings : Findings
    reference : list of dict
        The result of `reference_of`.

    Returns
    -------
    list of str
        A line for each difference.
    """
    kept = {_key(row): row for row in reference}
    found = {_key_of(result): result for result in findings.results}
    missing = {log.name for log in findings.logs if log.path is None}
    lines = []
    for key, row in kept.items():
        log, version, quantity = key
        where = f"{version or log}, {quantity}"
        if key not in found:
            if log not in missing:
                lines.append(f"{where}: the study has no such result")
        elif not _is_same(found[key], row):
            ours, verdict = found[key].ours, found[key].verdict
            there = digits(float(row["ours"]), 6)
            lines.append(f"{where}: {digits(float(ours), 6)}, {verdict}; reference: {there}, "
                         f"{row['verdict']}")  # fmt: skip
    new = [key for key in found if key not in kept and not math.isnan(found[key].ours)]
    return lines + [
        f"{version or log}, {words}: not in the reference" for log, version, words in new
    ]


def _key(row: Mapping[str, str]) -> tuple[str, str, str]:
    return row["log"], row["version"], f"{row['quantity']} ({row['place']})"


def _key_of(result: Result) -> tuple[str, str, str]:
    claim, log = result.claim, result.log
    return log.name, log.version, f"{claim.quantity} ({claim.place})"


def _is_same(result: Result, row: Mapping[str, str]) -> bool:
    ours, kept = result.ours, float(row["ours"])
    if math.isnan(ours) or math.isnan(kept):
        return math.isnan(ours) and math.isnan(kept)
    low, high = (math.nan if end is None else end for end in (result.low, result.high))
    kept_low, kept_high = (float(row[end] or "nan") for end in ("low", "high"))
    if any(map(math.isnan, (low, high, kept_low, kept_high))):  # nothing is random, or unknown
        return math.isclose(ours, kept, rel_tol=TOLERANCE, abs_tol=1e-12)
    return kept_low <= high and low <= kept_high
