"""Read a planted log and compare it with the truth: right, said, or missed."""

import io
import re
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

import workloadkit as wk
from tests.fuzz.watching import TooMuch, bounded
from tests.planted.truth import Fact, Truth
from workloadkit import analysis
from workloadkit.analysis import operations

#: That a log may take, with its report. [s]
_SECONDS = 30

#: Words by which the report names the outcomes that `Truth.lost` has.
_OUTCOMES = {
    "NODE_FAIL": "node",
    "PREEMPTED": "preempt",
    "FAILED": "failed",
    "TIMEOUT": "timed out|time",
}


@dataclass(frozen=True)
class Planted:
    """A log with something planted in it.

    Parameters
    ----------
    data : bytes
    format : str
        Its reader: `read_slurm` of "slurm".
    truth : Truth
    says : str, default ""
        Pattern of the notes and warnings that count as noticing what is not read; "" if the log
        must be read right.
    refusal : str, default ""
        Pattern of the errors by which the whole log may be refused.
    must_say : bool, default False
        Whether the log must say it even if all of it is read right.
    affected : int, default 0
        Rows that may be wrong if the log says so.
    report : bool, default False
        Whether the findings of the report count as saying it.
    options : dict
        Options of the reader.
    named : bool, default True
        Whether the format is named; else it is recognized.
    read : callable, optional
        Reads the data in another way than by its reader.
    """

    data: bytes
    format: str
    truth: Truth
    says: str = ""
    refusal: str = ""
    must_say: bool = False
    affected: int = 0
    report: bool = False
    options: dict[str, Any] = field(default_factory=dict)
    named: bool = True
    read: Callable[[bytes], wk.Trace] | None = None


class Verdict(NamedTuple):
    """How a planted log was read, what was wrong, and what the reader said."""

    grade: Literal["right", "said", "missed"]
    wrong: tuple[str, ...] = ()
    said: tuple[str, ...] = ()


def judge(planted: Planted) -> Verdict:
    """Read the log and grade what comes of it."""
    said: list[str] = []
    try:
        with bounded(_SECONDS), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            trace = _read(planted)
            wrong = list(_differences(trace, planted.truth))
    except wk.WorkloadError as error:
        grade = "said" if _matches(planted.refusal, [str(error)]) else "missed"
        return Verdict(grade, ("refused",), (str(error),))
    except (Exception, TooMuch) as error:
        return Verdict("missed", (f"{type(error).__name__}: {error}",))
    said += [str(entry.message) for entry in caught if entry.category is wk.WorkloadWarning]
    repairs = [*trace.intake.left_out, *trace.intake.noted] if trace.intake else []
    said += [str(repair) for repair in repairs]
    if planted.report:
        report = analysis.characterize(trace, profile="operations").to_dict()
        said += [report["usage"]["finding"], *report["usage"]["notes"]]
    if planted.must_say and not _matches(planted.says, said):
        wrong.append(f"nothing said of {planted.says}")
    if not wrong:
        return Verdict("right", (), tuple(said))
    n_wrong = _n_wrong(trace, planted.truth)
    invented = _invented_names(trace, planted.truth)  # a row that is left out has no name
    counted = sum(repair.count for repair in repairs if _matches(planted.says, [repair.kind]))
    covered = not invented and (n_wrong <= min(planted.affected, counted) or n_wrong == 0)
    grade = "said" if covered and _matches(planted.says, said) else "missed"
    return Verdict(grade, tuple(wrong), tuple(said))


def _read(planted: Planted) -> wk.Trace:
    if planted.read:
        return planted.read(planted.data)
    read = getattr(wk, f"read_{planted.format}") if planted.named else wk.read_log
    return read(io.BytesIO(planted.data), **planted.options)


def _matches(pattern: str, texts: list[str]) -> bool:
    return bool(pattern) and any(re.search(pattern, text, re.IGNORECASE) for text in texts)


def _differences(trace: wk.Trace, true: Truth) -> list[str]:
    """Return what of the log is not true, one line each."""
    found = []
    intake = trace.intake
    if intake and intake.rows != intake.jobs + sum(repair.count for repair in intake.left_out):
        found.append(f"rows not accounted for: {intake.rows} read, {intake.jobs} jobs")
    if true.facts:
        spare, missing = _unmatched(trace, true)
        if len(facts := _facts(trace)) != len(true.facts):
            found.append(f"jobs: {len(facts)}, not {len(true.facts)}")
        if spare or missing:
            example = f"{sorted(spare, key=str)[:2]} instead of {missing[:2]}"
            found.append(f"{max(len(spare), len(missing))} jobs are not true: {example}")
    if true.core_hours is not None or true.gpu_hours is not None:
        usage = operations.usage(trace, "user")
        found += _compared("core-hours", usage["core_hours"].sum(), true.core_hours)
        found += _compared("GPU-hours", usage["gpu_hours"].sum(), true.gpu_hours)
    if true.cpu is not None:
        cpu = np.nansum(trace.column("cpu") * trace.column("procs"))
        found += _compared("CPU time", cpu, true.cpu, within=1.0 * trace.n_jobs * 48)
    if true.status is not None:
        found += _compared("status", Counter(trace.column("status").tolist()), true.status)
    if true.names is not None:
        found += _compared("names", _names(trace), true.names)
        found += [
            f"names that no job has: {names}" for names in [_invented_names(trace, true)] if names
        ]
    if true.lost or true.hours:
        found += list(_of_report(trace, true))
    return found


def _compared(what: str, read: Any, true: Any, within: float = 0.01) -> list[str]:
    if true is None or read == true:
        return []
    if isinstance(true, float) and abs(read - true) <= max(within, 1e-6 * abs(true)):
        return []
    return [f"{what}: {read}, not {true}"]


def _of_report(trace: wk.Trace, true: Truth) -> list[str]:
    """Compare what the report of the log shows."""
    report = analysis.characterize(trace, profile="operations").to_dict()
    found = []
    for state, hours in true.lost.items():
        outcomes = report["failures"]["tables"]["outcomes"]["rows"]
        shown = [
            row["core_hours"] for row in outcomes if re.search(_OUTCOMES[state], row["outcome"])
        ]
        found += _compared(f"hours lost as {state}", sum(shown), hours)
    if true.hours:
        rows = report["waiting"]["tables"].get("by_hour", {"rows": []})["rows"]
        hours_read = Counter({int(row["name"].split(":")[0]): row["jobs"] for row in rows})
        found += _compared("hours of submission", hours_read, true.hours)
    return found


def _facts(trace: wk.Trace) -> list[Fact]:
    """Return the jobs of the log as they are compared."""
    columns = [trace.column(name) for name in ("submit", "wait", "run", "procs")]
    columns[0] = columns[0] + trace.header.start
    return [
        (round(submit), _whole(wait), _whole(run), None if np.isnan(run) else _whole(procs))
        for submit, wait, run, procs in zip(*columns, strict=True)
    ]


def _names(trace: wk.Trace) -> Counter[str]:
    assert trace.sidecar is not None
    return Counter(trace.sidecar["executable"].astype(str))


def _invented_names(trace: wk.Trace, true: Truth) -> list[str]:
    """Return the names that were read of no job."""
    return [] if true.names is None else sorted((_names(trace) - true.names).elements())


def _whole(value: float) -> int | None:
    return None if np.isnan(value) else round(value)


def _unmatched(trace: wk.Trace, true: Truth) -> tuple[list[Fact], list[Fact]]:
    """Return the jobs read that are not true, and an example of each true job that was not read."""
    left = Counter(_facts(trace))
    missing = []
    for ways in sorted(true.facts, key=len):
        way = next((way for way in ways if left[way] > 0), None)
        if way is None:
            missing.append(min(ways, key=str))
        else:
            left[way] -= 1
    return list(left.elements()), missing


def _n_wrong(trace: wk.Trace, true: Truth) -> int:
    if not true.facts:
        return 0
    spare, missing = _unmatched(trace, true)
    return max(len(spare), len(missing))
