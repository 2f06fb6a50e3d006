"""What is done with a file that was read: all that its users would do."""

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd

import workloadkit as wk
from tests.fuzz import certificates, good, promises
from tests.fuzz.formats import FORMATS
from workloadkit import analysis

#: Share of the logs that go on once read: one in ten of all cases are used, one in a thousand
#: characterized, as less than one in four is a log that can be read.
WRITTEN, USED, CHARACTERIZED = 0.1, 0.45, 0.0045

#: Seconds of the processor for what a case is put through.
SECONDS, SECONDS_TO_CHARACTERIZE = 5, 60


def check(name: str, data: bytes, options: dict[str, Any], result: Any, folder: Path) -> None:
    """Hold a result to what its reader claims."""
    if (use := FORMATS[name].use) is not None:
        try:
            use(result, Random(len(data)), folder)
        except wk.WorkloadError as error:
            promises.of_error(error, usage=True)
    elif isinstance(result, wk.Trace):
        promises.of_trace(result)
    elif isinstance(result, wk.Outages):
        promises.of_outages(result)
    elif isinstance(result, wk.ReservationRequests):
        promises.of_reservations(result)
    elif isinstance(result, wk.MachineDescription):
        promises.of_machine(result)
    elif isinstance(result, pd.DataFrame):
        promises.of_sidecar(result)
    elif isinstance(result, tuple):
        promises.of_filters(result)
    elif isinstance(result, dict):
        certificates.of_certificate(result)
    else:
        promises.of_site(result, folder)
    if name == "swf" and len(data) % 3 == 0:  # the two parsers agree
        other = FORMATS["swf"].read(data, options | {"compiled": not options["compiled"]}, folder)
        promises.same_trace(result, other)
        promises.keep(result.repairs == other.repairs, "both parsers put the same right")


def use(result: Any, rng: Random, seen: Counter[str], folder: Path) -> None:
    """Validate, delimit sessions and simulate a log; simulate the sample with outages."""
    if isinstance(result, wk.Trace):
        for stage in (_validate, _sessions, _simulate, _find_filters):
            stage(result, rng, seen)
        if rng.random() < 0.1:
            _find(result, rng, seen)
            _write_others(result, folder)
    elif isinstance(result, wk.Outages):
        _simulate_outages(result, rng, seen)
    elif type(result) is tuple:
        _clean(good.first_jobs(), result, seen)


def characterize(trace: wk.Trace) -> None:
    """Say what is in a log, as a page and as JSON."""
    report = analysis.characterize(trace)
    promises.of_json(report.to_dict(), "a characterisation")
    page = report.to_html()
    promises.keep("<script>alert" not in page and "&lt;!doctype" not in page, "a page is safe")


def _validate(trace: wk.Trace, rng: Random, seen: Counter[str]) -> None:
    found = wk.validate(trace)
    promises.of_json(found.to_dict(), "a validation")
    promises.keep(len(str(found)) < 100_000, "a validation is a table to read")
    for finding in found.findings:
        counts = len(finding.offenders) <= finding.count <= finding.checked
        promises.keep(finding.count > 0 and counts, f"what is found is counted: {finding}")
        promises.keep(finding.shown.isprintable(), f"a line to print: {finding.shown!r}")
    errors = [finding for finding in found.findings if finding.severity == "error"]
    promises.keep(found.holds == (not errors), "a log holds if no finding is an error")
    seen["validated"] += 1


def _find_filters(trace: wk.Trace, rng: Random, seen: Counter[str]) -> None:
    try:
        wk.filters_of(trace.header)
    except wk.WorkloadError as error:
        promises.of_error(error)


def _find(trace: wk.Trace, rng: Random, seen: Counter[str]) -> None:
    """Look for what is odd in a log, and take its parts for jobs."""
    try:
        promises.of_json(wk.find_anomalies(trace).to_dict(), "anomalies")
        promises.of_json(wk.infer_outages(trace, rng.choice([None, 128])).to_dict(), "outages")
        trace.as_bursts()
    except wk.WorkloadError as error:
        promises.of_error(error)
        return
    seen["searched"] += 1


def _write_others(trace: wk.Trace, folder: Path) -> None:
    """Write the other formats, and read them back."""
    for name, suffix in (("gwf", "gwf"), ("batsim", "json")):
        path = folder / f"written.{suffix}"
        try:
            getattr(wk, f"write_{name}")(trace, path)
        except wk.WorkloadError as error:
            promises.of_error(error)
            continue
        again = getattr(wk, f"read_{name}")(path)
        promises.of_trace(again)
        promises.keep(again.n_jobs <= trace.n_jobs, f"no more jobs than before in {name}")


def _clean(trace: wk.Trace, filters: tuple[wk.Filter, ...], seen: Counter[str]) -> None:
    try:
        cleaned = wk.clean(trace, filters)
    except wk.WorkloadError as error:
        promises.of_error(error)
        return
    gone = np.logical_or.reduce([one.mask(trace) for one in filters])
    promises.keep(cleaned.n_jobs == trace.n_jobs - gone.sum(), "filters remove what they name")
    named = [one.condition for one in wk.filters_of(cleaned.header)]
    promises.keep(named == [one.condition for one in filters], "a header names the filters used")
    seen["cleaned"] += 1


def _sessions(trace: wk.Trace, rng: Random, seen: Counter[str]) -> None:
    try:
        found = wk.delimit_sessions(trace, method=rng.choice(["arrival", "last", "max"]))
    except wk.WorkloadError as error:
        promises.of_error(error)
        return
    promises.keep(len(found) == trace.ran.sum(), "a session for each job that ran")
    promises.keep(bool((found["session"] >= 0).all()), "sessions are numbered from 0")
    think = found["think_time"].to_numpy()
    promises.keep(bool((np.isnan(think) | (think > 0)).all()), "think times are positive")
    seen["sessions"] += 1


def _simulate(trace: wk.Trace, rng: Random, seen: Counter[str]) -> None:
    chosen: Any = {
        "procs": rng.choice([None, 128]),
        "oversize": rng.choice(["error", "drop", "drop"]),
        "estimates": rng.choice(["user", "exact"]),
        "overrun": rng.choice(["raise", "kill", "late"]),
        "engine": rng.choice(["compiled", "python"]),
    }
    try:
        schedule = wk.simulate(trace, rng.choice(["easy", "fcfs"]), **chosen)
    except wk.WorkloadError as error:
        promises.of_error(error)
        return
    _check_schedule(schedule)
    if rng.random() < 0.1:
        report = wk.check_schedule(trace, schedule)
        promises.keep(report.ok, f"a schedule is what it claims: {report}")
    seen["simulated"] += 1


def _simulate_outages(outages: wk.Outages, rng: Random, seen: Counter[str]) -> None:
    trace = good.first_jobs()
    try:
        schedule = wk.simulate(trace, outages=outages, oversize="drop", overrun="kill")
    except wk.WorkloadError as error:
        promises.of_error(error)
        return
    _check_schedule(schedule)
    seen["simulated"] += 1


def _check_schedule(schedule: wk.Schedule) -> None:
    jobs = schedule.jobs
    times = jobs[["submit", "start", "end", "wait", "run"]].to_numpy(dtype=np.float64)
    promises.keep(bool(np.isfinite(times).all()), "a schedule has finite times")
    promises.keep(bool((jobs["start"] >= jobs["submit"]).all()), "no job starts before it is there")
    promises.of_json(schedule.to_dict(), "a schedule")
