"""Each rule against a log that violates this rule only, and against logs that violate none."""

import io
import json
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import workloadkit as wk
from workloadkit.fields import NAMES
from workloadkit.intake import Intake, Repair
from workloadkit.rules.rule import SEVERITIES
from workloadkit.rules.validation import RULES

# A log of three jobs with all fields and labels, which follows the standard.
HEADER = {
    "Version": "2.2",
    "Computer": "Abacus",
    "Installation": "Somewhere",
    "Acknowledge": "Ada",
    "Information": "http://abacus.example/",
    "Conversion": "Ada (ada@abacus.example)",
    "MaxJobs": "3",
    "MaxRecords": "3",
    "Preemption": "No",
    "UnixStartTime": "1000000000",
    "TimeZoneString": "Europe/Paris",
    "StartTime": "Sun Sep  9 03:46:40 CEST 2001",
    "EndTime": "Sun Sep  9 03:52:30 CEST 2001",
    "MaxNodes": "2",
    "MaxProcs": "8",
    "MaxRuntime": "200",
    "MaxMemory": "2000",
    "AllowOveruse": "No",
    "MaxQueues": "2",
    "Queue": "0 interactive",
    "Queue ": "1 batch",
    "MaxPartitions": "2",
    "Partition": "1 front",
    "Partition ": "2 back",
}
JOBS = (
    "1   0 10 100 4 90 1000 4 200 2000 1 1 1 1 1 1 -1 -1",
    "2  50 60 100 8 90 1000 8 200 2000 0 2 2 2 0 1 -1 -1",
    "3 300  0  50 2 40 1000 2 100 2000 1 1 1 1 1 2  2 90",
)
FILTER = {"Note ": "cleaned by\n;   user=9 (2 jobs removed)"}
# Job 2 in two bursts: it waits 60 s, runs 30, waits 0 and runs 70, and ends when it did.
PARTS = (
    "2 50 60 30 8 20 1000 8 200 2000 2 2 2 2 0 1 -1 -1",
    "2 -1  0 70 8 60 1000 8 200 2000 4 2 2 2 0 1 -1 -1",
)
DOUBLE = {"Preemption": "Double", "MaxRecords": "5"}


def text(header=(), jobs=(), extra=()):
    """The log above, with labels and fields of jobs changed and lines added."""
    labels = {**HEADER, **dict(header)}
    lines = [f"; {label.strip()}: {value}" for label, value in labels.items() if value is not None]
    rows = [dict(zip(NAMES, job.split(), strict=True)) for job in JOBS]
    for row, fields in dict(jobs).items():
        rows[row - 1] |= {name: str(value) for name, value in fields.items()}
    lines += [" ".join(row.values()) for row in rows]
    return "\n".join([*lines, *extra]) + "\n"


def read(log):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wk.WorkloadWarning)
        return wk.read_swf(io.BytesIO(log.encode()))


def found(trace):
    return {f.rule: (f.severity, f.count) for f in wk.validate(trace).findings}


def log(header=(), jobs=(), extra=()):
    return read(text(header, jobs, extra))


def parts(*changed, header=DOUBLE, jobs=()):
    """The log with job 2 in parts, fields of these changed."""
    rows = [dict(zip(NAMES, part.split(), strict=True)) for part in PARTS]
    for row, fields in zip(rows, changed, strict=False):
        row |= {name: str(value) for name, value in fields.items()}
    return log(header, jobs, [" ".join(row.values()) for row in rows])


def beside(**changed):
    """The log with a side-car of records, as a site's accounting contains them."""
    jobs = log().jobs
    records = {"submit": jobs["submit"] + 1e9, "run": jobs["run"], "procs": jobs["procs"]}
    return replace(log(), sidecar=pd.DataFrame({**records, **changed}))


def valued(*points):
    frame = pd.DataFrame(points, columns=["row", "time", "value"])
    return replace(log(), utility=frame.astype({"row": np.int64, "time": float, "value": float}))


def noted(*notes):
    """Labels of what was done to the log."""
    return {"Note" + i * " ": note for i, note in enumerate(notes)}


E, W, N = SEVERITIES
NO_WAY = {"preceding_job": -1, "think_time": -1}
LEFT_OUT = noted("jobs left out of the simulation: 3 of 6")
SHAKEN, SIMULATED = (f"{what}: workloadkit 0.1.0, log a.swf" for what in ("shaken", "simulated"))
VALUED = "utility functions: workloadkit 0.1.0, log a.swf"
SWAPPED = {1: {"job": 2}, 2: {"job": 1}, 3: {"preceding_job": 1}}
CROWDED = {2: {"wait": 59}, 3: {"think_time": 91}}

# Logs with the rules that they violate: severity and number of violations.
CASES = [
    # repairs made while reading
    (lambda: read(swapped()), {"submit-order": (E, 1)}),
    (lambda: read(text().replace("1 1 1 1 -1 -1\n2 ", "1 1 1 1\n2 ")), {"columns": (E, 1)}),
    (lambda: read(text().replace("1 -1 -1\n2 ", "1 -1 -1 7\n2 ")), {"columns": (E, 1)}),
    (lambda: log(jobs={1: {"user": "1.0"}}), {"identifiers-whole": (E, 1)}),
    (lambda: read(text().replace("\n2 50", "\n; second\n2 50")), {"comments-first": (W, 1)}),
    (lambda: read("\ufeff" + text()), {"plain-text": (W, 1)}),
    (lambda: parts({"think_time": "-1 0 9 8 4"}), {"reading": (W, 1)}),
    # job numbers and submissions
    (
        lambda: log(jobs={1: {"job": 0}, 2: {"job": 1}, 3: {"job": 2, "preceding_job": 1}}),
        {"job-from-1": (E, 1)},
    ),
    (
        lambda: log(jobs={3: {"job": 2, "preceding_job": 1, "think_time": 190}}),
        {"job-unique": (E, 1)},
    ),
    (lambda: log(jobs={3: {"job": 6}}), {"job-gaps": (W, 3)}),
    (
        lambda: log(jobs={1: {"job": 4}, 2: {"job": 5}, 3: {"job": 6, "preceding_job": 5}}),
        {"job-gaps": (W, 3)},
    ),
    (
        lambda: log({**FILTER, "MaxJobs": "5"}, {3: {"job": 5}}),
        {"job-gaps": (N, 2), "max-jobs": (N, 1)},
    ),
    (
        lambda: log({**FILTER, "MaxJobs": "5"}, {3: {"job": 6}}),
        {"job-gaps": (W, 3), "max-jobs": (N, 1)},
    ),
    (
        lambda: log(jobs={1: {"job": 2}, 2: {"job": 1}, 3: {"preceding_job": 1}}),
        {"job-order": (W, 1)},
    ),
    (
        lambda: log(jobs={1: {"submit": -1}, 2: {"submit": 0, "wait": 110}}),
        {"submit-known": (E, 1)},
    ),
    # what was done to the log explains its numbers
    (lambda: log(LEFT_OUT, {3: {"job": 6}}), {"job-gaps": (N, 3)}),
    (lambda: log(LEFT_OUT, {3: {"job": 7}}), {"job-gaps": (W, 4)}),
    (lambda: log(LEFT_OUT, {3: {"user": 4}}), {"numbered-densely": (N, 1)}),
    (lambda: log(noted(VALUED), {3: {"user": 4}}), {"numbered-densely": (N, 1)}),
    (lambda: log(noted(SHAKEN), SWAPPED), {"job-order": (N, 1)}),
    (lambda: log(noted(VALUED), SWAPPED), {"job-order": (W, 1)}),
    (lambda: log(noted(SHAKEN), CROWDED), {"machine-used-once": (N, 1)}),
    (lambda: log(noted(SHAKEN, SIMULATED), CROWDED), {"machine-used-once": (W, 1)}),
    (lambda: log(noted(VALUED), CROWDED), {"machine-used-once": (W, 1)}),
    (lambda: log(noted(SIMULATED, SHAKEN), CROWDED), {"machine-used-once": (N, 1)}),
    (
        lambda: log({"Note ": "cleaned by\n;   user=9 (1 job removed)", "MaxJobs": "4"}),
        {"max-jobs": (N, 1)},
    ),
    # submissions
    (lambda: log(jobs={1: {"submit": 5, "wait": 5}}), {"submit-from-0": (N, 1)}),
    (
        lambda: log(
            {"EndTime": None},
            {i: {"submit": 31_549_000 + i, "wait": i * 190, **NO_WAY} for i in (1, 2, 3)},
        ),
        {"submit-from-0": (W, 1), "labels-present": (N, 1)},
    ),
    (  # after a year to the second
        lambda: log(
            {"EndTime": None},
            {i: {"submit": 31_535_999 + i, "wait": i * 190, **NO_WAY} for i in (1, 2, 3)},
        ),
        {"submit-from-0": (N, 1), "labels-present": (N, 1)},
    ),
    # numbers of users and the like
    (lambda: log(jobs={1: {"user": 0}}), {"numbered-from-1": (E, 1)}),
    (lambda: log(jobs={1: {"group": 0}, 2: {"executable": 0}}), {"numbered-from-1": (E, 2)}),
    (lambda: log(jobs={3: {"user": 4}}), {"numbered-densely": (W, 1)}),
    (lambda: log(jobs={3: {"group": 4}}), {"numbered-densely": (W, 1)}),
    (lambda: log(jobs={3: {"executable": 4}}), {"numbered-densely": (W, 1)}),
    (
        lambda: log(jobs={3: {"queue": 3}}),
        {"numbered-densely": (W, 1), "queues-listed": (W, 1), "max-queues": (E, 1)},
    ),
    (
        lambda: log(jobs={3: {"partition": 0}}),
        {"numbered-from-1": (E, 1), "partitions-listed": (W, 1)},
    ),
    (
        lambda: log(FILTER | {"MaxJobs": "5"}, {3: {"user": 4}}),
        {"numbered-densely": (N, 1), "max-jobs": (N, 1)},
    ),
    # what fields hold
    (
        lambda: log(jobs={1: {"cpu": -5}, 2: {"memory": "-0.5", "cpu": -2}}),
        {"not-negative": (E, 2)},
    ),
    (lambda: log(jobs={1: {"procs": 3.5, "requested_procs": 3.5}}), {"procs-whole": (E, 1)}),
    (
        lambda: log(jobs={1: {"requested_procs": 4.5}}),
        {"procs-whole": (E, 1), "procs-fewer": (N, 1)},
    ),
    (lambda: log(jobs={1: {"run": 99.5}}), {"times-whole": (N, 1)}),
    (
        lambda: log(jobs={3: {"think_time": 400_000_000}}),
        {"times-plausible": (W, 1), "think-time": (W, 1)},
    ),
    (
        lambda: log({"MaxRuntime": None}, {1: {"requested_time": 400_000_000}}),
        {"times-plausible": (W, 1)},
    ),
    (lambda: log({"MaxRuntime": None}, {1: {"requested_time": 315_360_000}}), {}),  # ten years
    (
        lambda: log({"AllowOveruse": "Yes"}, {1: {"requested_time": 0, "requested_procs": 0}}),
        {"request-zero": (W, 1)},
    ),
    (
        lambda: log(jobs={1: {"requested_time": -5}}),
        {"not-negative": (E, 1), "run-requested": (E, 1)},
    ),
    (lambda: log(jobs={1: {"wait": -1}}), {"wait-known": (N, 1)}),
    (lambda: log(jobs={1: {"run": -1, "cpu": -1, "status": 5}}), {"run-known": (N, 1)}),
    (lambda: log(jobs={1: {"procs": 0, "run": 0, "cpu": 0}}), {"procs-known": (N, 1)}),
    (lambda: log(jobs={1: {"user": -1}}), {"user-known": (N, 1)}),
    (lambda: log(jobs={1: {"requested_time": -1}}), {"estimate-known": (N, 1)}),
    # how jobs ended
    (
        lambda: log(jobs={1: {"status": 6}, 2: {"status": -2}}),
        {"status-values": (E, 2), "not-negative": (E, 1)},
    ),
    (lambda: log(jobs={1: {"status": 3}}), {"status-parts": (W, 1)}),
    (lambda: log(jobs={1: {"run": -1, "cpu": -1}}), {"completed-ran": (W, 1), "run-known": (N, 1)}),
    (lambda: log(jobs={1: {"procs": -1}}), {"ran-on-procs": (W, 1), "procs-known": (N, 1)}),
    (
        lambda: log(jobs={1: {"run": -1, "cpu": -1, "status": 0}}),
        {"never-ran": (N, 1), "run-known": (N, 1)},
    ),
    (
        lambda: log(jobs={1: {"run": -1, "cpu": -1, "status": -1}}),
        {"never-ran": (N, 1), "run-known": (N, 1)},
    ),
    (lambda: log(jobs={1: {"status": 5}}), {"cancelled-ran": (N, 1)}),
    (
        lambda: log(jobs={1: {"status": 5, "procs": -1}}),  # a job without processors never ran
        {"ran-on-procs": (W, 1), "procs-known": (N, 1)},
    ),
    # the machine
    (
        lambda: log(jobs={2: {"procs": 9, "requested_procs": 9}}),
        {"procs-machine": (E, 1), "procs-machine-requested": (W, 1), "machine-used-once": (W, 1)},
    ),
    (
        lambda: log({"MaxProcs": None, "MaxNodes": "2"}),
        {
            "procs-machine": (W, 2),
            "procs-machine-requested": (W, 2),
            "machine-used-once": (W, 2),
            "labels-present": (N, 1),
        },
    ),
    (
        lambda: log(jobs={2: {"requested_procs": 9}}),
        {"procs-machine-requested": (W, 1), "procs-fewer": (N, 1)},
    ),
    (lambda: log({"MaxProcs": "8 (7, 2)"}), {"procs-partition": (W, 1)}),
    (lambda: log({"MaxProcs": "8 (7, 1)"}), {"procs-partition": (W, 2)}),
    (lambda: log({"MaxProcs": "8 (8, 2)"}), {}),
    (lambda: log({"MaxProcs": "8 (3)"}), {}),
    (lambda: log({"MaxProcs": "8 (1, 2, 3)"}), {}),
    (lambda: log(jobs={2: {"wait": 59}, 3: {"think_time": 91}}), {"machine-used-once": (W, 1)}),
    (  # a job that takes no time needs no room, though it begins while job 2 has all processors
        lambda: log(
            {"EndTime": "Sun Sep  9 03:50:10 CEST 2001"},
            {3: {"submit": 120, "run": 0, "cpu": 0, **NO_WAY}},
        ),
        {},
    ),
    # requests
    (lambda: log(jobs={1: {"requested_time": 99}}), {"run-requested": (E, 1)}),
    (lambda: log(jobs={1: {"requested_time": 100, "requested_memory": 1000}}), {}),  # no more
    (lambda: log({"AllowOveruse": None}, {1: {"requested_time": 99}}), {"run-requested": (W, 1)}),
    (lambda: log({"AllowOveruse": "True"}, {1: {"requested_time": 99}}), {}),
    (lambda: log(jobs={1: {"requested_procs": 3}}), {"procs-requested": (E, 1)}),
    (lambda: log(jobs={1: {"requested_memory": 999}}), {"memory-requested": (E, 1)}),
    (lambda: log(jobs={1: {"requested_procs": 5}}), {"procs-fewer": (N, 1)}),
    (lambda: log(jobs={1: {"cpu": 101.5}, 2: {"cpu": 101}}), {"cpu-run": (W, 1)}),
    (lambda: log({"MaxRuntime": "99"}), {"max-runtime": (E, 2), "max-runtime-requested": (W, 3)}),
    (lambda: log({"MaxRuntime": "0"}), {}),
    (lambda: log({"MaxRuntime": "100"}), {"max-runtime-requested": (W, 2)}),
    (lambda: log({"MaxRuntime": "150"}), {"max-runtime-requested": (W, 2)}),
    (lambda: log({"MaxMemory": "999"}), {"max-memory": (E, 3), "max-memory-requested": (W, 3)}),
    (lambda: log({"MaxMemory": "1000"}), {"max-memory-requested": (W, 3)}),
    (lambda: log({"MaxMemory": "1999"}), {"max-memory-requested": (W, 3)}),
    # the preceding job
    (lambda: log(jobs={3: {"preceding_job": 99}}), {"preceding-present": (E, 1)}),
    (lambda: log(jobs={3: {"preceding_job": 0, "think_time": -1}}), {"preceding-from-1": (E, 1)}),
    (lambda: log(jobs={3: {"preceding_job": 3}}), {"preceding-earlier": (E, 1)}),
    (
        lambda: log(jobs={1: {"preceding_job": 2}}),
        {"preceding-earlier": (E, 1), "think-time": (W, 1)},
    ),
    (  # of jobs of one second, the first in the file is the first
        lambda: log(jobs={1: {"preceding_job": 2}, 2: {"submit": 0, "wait": 110}}),
        {"preceding-earlier": (E, 1), "think-time": (W, 1)},
    ),
    (  # the preceding job has a higher number, but stands before
        lambda: log(jobs={2: {"job": 4}, 3: {"preceding_job": 4}, 1: {"job": 1}}),
        {"job-order": (W, 1), "job-gaps": (W, 1)},
    ),
    (lambda: log(jobs={1: {"think_time": 0}}), {"think-without-preceding": (E, 1)}),
    (lambda: log(jobs={3: {"think_time": 92}}), {"think-time": (W, 1)}),
    (lambda: log(jobs={3: {"think_time": 91}}), {}),  # rounded
    (lambda: log(jobs={3: {"think_time": 89}}), {}),
    (lambda: log(jobs={3: {"think_time": 88}}), {"think-time": (W, 1)}),
    (lambda: log(jobs={3: {"think_time": -1}}), {}),
    # checkpointed jobs
    (parts, {}),
    (lambda: replace(parts(), bursts=parts().bursts.assign(job=9)), {"part-summary": (E, 1)}),
    (lambda: parts({}, {"run": 69}), {"part-run": (E, 1)}),
    (lambda: parts({}, {"run": -1}), {}),  # cancelled in the queue
    (lambda: parts({"run": 101}, {"run": -1}), {"part-run": (E, 1)}),
    (
        lambda: parts(jobs={2: {"run": -1}}),
        {"part-run": (E, 1), "never-ran": (N, 1), "run-known": (N, 1)},
    ),
    (lambda: parts({"status": 3}), {"part-status": (E, 1)}),
    (lambda: parts({}, {"status": 2}), {"part-status": (E, 1)}),
    (lambda: parts({}, {"status": 3}), {"part-end": (E, 1)}),
    (lambda: parts(jobs={2: {"status": 1}}), {"part-end": (E, 1)}),
    (lambda: parts(jobs={2: {"status": 5}}), {"cancelled-ran": (N, 1)}),
    (lambda: parts({"submit": -1}), {"part-submit": (E, 1)}),
    (lambda: parts({}, {"submit": 50}), {"part-submit": (E, 1)}),
    (lambda: parts({"user": 1, "queue": 1}, {"group": 1}), {"part-fields": (W, 2)}),
    (lambda: parts({"user": -1, "queue": -1}), {}),
    # unknown of the job, known of its parts
    *((lambda name=name: parts(jobs={2: {name: -1}}), {}) for name in ("group", "executable")),
    *(
        (lambda name=name: parts({}, {name: 1}), {"part-fields": (W, 1)})
        for name in ("procs", "requested_procs", "user", "group", "executable", "queue")
    ),
    (lambda: parts({}, {"partition": 2}), {"part-fields": (W, 1)}),
    # the header
    (
        lambda: log({"MaxProcs": None, "MaxNodes": None}),
        {"machine-known": (W, 1), "labels-present": (N, 2)},
    ),
    (lambda: log({"TimeZoneString": None}), {"clock-known": (W, 1), "labels-present": (N, 1)}),
    (lambda: log({"Computer": None, "Version": None}), {"labels-present": (N, 2)}),
    (lambda: log({"MaxProc": "8"}), {"labels-spelt": (W, 1)}),
    (lambda: log({"Copyright": "Ada", "Copyright ": "Bob"}), {"labels-known": (N, 1)}),
    (lambda: log({"MaxProcs ": "9"}), {"labels-once": (W, 1)}),
    (lambda: log({"MaxProcs ": "8", "Note": "a", "Note ": "b"}), {}),
    (lambda: log({"Installation": "Some where", "Installation ": "Some  where"}), {}),
    (lambda: log({f"{label} ": "b" for label in ("Acknowledge", "Information", "Conversion")}), {}),
    (lambda: log({"Window": "0 300", "RareUsers": "2"}), {}),  # of this toolkit
    (lambda: log({"AllowOveruse": None, "MaxRuntime": None, "MaxMemory": None}), {}),
    *((lambda v=v: log({"Version": v}), {}) for v in ("1", "1.0", "2", "2.0", "2.1")),
    (lambda: log({"Preemption": "TS", "AllowOveruse": "No, as the site says"}), {}),
    (lambda: log({"UnixStartTime": "soon"}), {"label-values": (E, 1), "clock-known": (W, 1)}),
    (lambda: log({"UnixStartTime": "0"}), {"clock-known": (W, 1)}),  # as synthetic logs have it
    (lambda: log({"Version": "3"}), {"label-values": (E, 1)}),
    (lambda: log({"Preemption": "Sometimes"}), {"label-values": (E, 1)}),
    (lambda: log({"AllowOveruse": "maybe"}), {"label-values": (E, 1)}),
    (lambda: log({"MaxRuntime": "-1"}), {"label-values": (E, 1)}),
    (lambda: log({"MaxMemory": "2GB"}), {"label-values": (E, 1)}),
    (lambda: log({"StartTime": "yesterday"}), {"label-values": (E, 1)}),
    (lambda: log({"TimeZoneString": "Paris"}), {"label-values": (E, 1), "clock-known": (W, 1)}),
    # its counts
    (lambda: log({"MaxJobs": "4"}), {"max-jobs": (E, 1)}),
    (lambda: log({"MaxJobs": "5", **FILTER}), {"max-jobs": (N, 1)}),
    (lambda: log({"MaxJobs": "4", **FILTER}), {"max-jobs": (E, 1)}),
    (lambda: log({"MaxRecords": "4"}), {"max-records": (E, 1)}),
    (lambda: log({"MaxRecords": "5", **FILTER}), {"max-records": (N, 1)}),
    (lambda: log({"MaxRecords": "4", **FILTER}), {"max-records": (E, 1)}),
    (lambda: parts(header={**DOUBLE, "MaxRecords": "3"}), {"max-records": (E, 1)}),
    (lambda: log({"MaxNodes": "9"}), {"max-nodes": (E, 1)}),
    (lambda: log({"MaxNodes": "8"}), {}),
    (lambda: parts(header={"MaxRecords": "5"}), {"preemption": (E, 1)}),
    (lambda: parts(header={"MaxRecords": "5", "Preemption": "Yes"}), {"preemption": (E, 1)}),
    (lambda: parts(header={"MaxRecords": "5", "Preemption": "TS"}), {}),
    (lambda: log({"Preemption": "Double"}), {"preemption": (W, 1)}),
    (lambda: log({"MaxQueues": "1"}), {"max-queues": (E, 1)}),
    (lambda: log({"MaxQueues": "3"}), {"max-queues": (W, 1)}),
    (lambda: log({"MaxQueues": None}, {3: {"queue": 2}}), {"queues-listed": (W, 1)}),
    (lambda: log({"Queue": "2 night"}), {"queues-listed": (W, 1)}),  # queue 0 is none of them
    (lambda: log({"MaxPartitions": "1"}), {"max-partitions": (E, 1)}),
    (lambda: log({"MaxPartitions": None}, {2: {"partition": 3}}), {"partitions-listed": (W, 1)}),
    (lambda: log({"Queue  ": "batch 2"}), {"lists-numbered": (W, 1)}),
    (lambda: log({"Queue  ": "1 another"}), {"lists-numbered": (W, 1)}),
    # its dates
    (lambda: log({"StartTime": "Sun Sep  9 03:46:41 CEST 2001"}), {"start-time": (E, 1)}),
    (lambda: log({"StartTime": "Sunday, 9 Sep 2001, 03:46:40"}), {}),
    (lambda: log({"EndTime": "Sun Sep  9 03:52:28 CEST 2001"}), {"end-time": (E, 1)}),
    (lambda: log({"EndTime": "Sun Sep  9 03:52:31 CEST 2001"}), {}),  # rounded
    (lambda: log({"EndTime": "Sun Sep  9 03:52:29 CEST 2001"}), {}),
    (  # an hour that the clock shows twice: here it is the second
        lambda: log(
            {
                "UnixStartTime": "1004232000",
                "StartTime": "Sun Oct 28 02:20:00 CET 2001",
                "EndTime": "Sun Oct 28 02:25:50 CET 2001",
            }
        ),
        {},
    ),
    (
        lambda: log({"EndTime": "Sun Sep  9 04:52:30 CEST 2001", **FILTER, "MaxJobs": "5"}),
        {"end-time": (N, 1), "max-jobs": (N, 1)},
    ),
    (
        lambda: log({"EndTime": "Sun Sep  9 03:52:20 CEST 2001", **FILTER, "MaxJobs": "5"}),
        {"end-time": (E, 1), "max-jobs": (N, 1)},
    ),
    (lambda: log({"TimeZone": "0"}), {"time-zones": (W, 1)}),
    (lambda: log({"TimeZone": "3600"}), {}),  # of winter, as the archive writes it
    (lambda: log({"TimeZone": "+7200"}), {}),  # at second 0, in summer
    (
        lambda: log({"TimeZone": "7200", "TimeZoneString": None}),
        {"time-zone-named": (W, 1), "labels-present": (N, 1)},
    ),
    *(  # the last job left the queue at second 400 and never ran; the one before ended at 210
        (
            lambda end=end: log(
                {"EndTime": f"Sun Sep  9 03:{end} CEST 2001"},
                {3: {"wait": 100, "run": -1, "cpu": -1, "status": 5}},
            ),
            {"run-known": (N, 1), **broken},
        )
        for end, broken in (
            ("53:20", {}),  # second 400
            ("51:40", {}),  # 300, when it was submitted
            ("50:10", {"submit-before-end": (E, 1)}),  # 210
            ("50:08", {"submit-before-end": (E, 1), "end-time": (E, 1)}),
            ("53:22", {"end-time": (E, 1)}),
        )
    ),
    (
        lambda: log({"EndTime": "Sun Sep  9 03:51:38 CEST 2001"}),  # second 298
        {"end-time": (E, 1), "submit-before-end": (E, 1)},
    ),
    (
        lambda: log({"EndTime": "Sun Sep  9 03:51:39 CEST 2001"}),  # a second before a submission
        {"end-time": (E, 1)},
    ),
    # side-cars
    (lambda: valued((0, 0, 5), (0, 9, 6)), {"utility-functions": (E, 1)}),
    (lambda: valued((0, 0, 5), (0, 9, 4)), {}),
    (beside, {}),
    (lambda: beside(run=[100.0, 103.0, 50.0]), {"records-agree": (E, 1)}),
    (lambda: beside(run=[101.0, 100.0, 49.0]), {}),  # rounded
    (lambda: beside(procs=[4.0, 6.0, 2.0]), {"records-agree": (E, 1)}),
    (lambda: beside(procs=beside().sidecar["procs"] + [0, 1, 0]), {"records-agree": (E, 1)}),
    (lambda: beside(submit=[1e9, 1e9, 1e9]), {"records-agree": (E, 2)}),
    (lambda: beside(submit=beside().sidecar["submit"] + [0, 1, -1]), {}),  # rounded
    (lambda: replace(beside(), sidecar=beside().sidecar.iloc[:1]), {"records-agree": (E, 2)}),
    (lambda: replace(log(), intake=Intake("Slurm", 5, 3, (Repair("steps", 2, 1),))), {}),
    (lambda: replace(log(), intake=Intake("Slurm", 5, 3)), {"rows-accounted": (E, 1)}),
    (
        lambda: replace(log(), intake=Intake("Slurm", 4, 3, (Repair("steps", 2, 1),))),
        {"rows-accounted": (E, 1)},
    ),
]


def swapped():
    """The file with the lines of jobs 1 and 2 in the wrong order."""
    lines = text().splitlines(keepends=True)
    return "".join([*lines[:-3], lines[-2], lines[-3], lines[-1]])


def test_logs_violate_the_expected_rules_and_no_others():
    wrong = [(place, broken, found(trace())) for place, (trace, broken) in enumerate(CASES)]
    assert [case for case in wrong if case[1] != case[2]] == [], "(place in CASES, expected, found)"


def test_every_rule_is_violated_in_a_case():
    assert {rule.name for rule in RULES} == {name for _, broken in CASES for name in broken}


def test_names_of_rules_differ():
    names = [rule.name for rule in RULES]
    assert len(set(names)) == len(names)
    assert all(rule.sentence.endswith(".") for rule in RULES)
    assert max(map(len, names)) <= 24  # for 80 columns


def test_a_log_that_follows_the_standard():
    report = wk.validate(log())
    assert report.findings == ()
    assert report.holds
    assert report
    assert report.jobs == report.records == 3
    said = " ".join(str(report).split())
    assert said.endswith("0 errors, 0 warnings, 0 notes: follows the standard.")


def test_with_warnings_and_notes_a_log_follows_the_standard():
    assert wk.validate(log(jobs={1: {"status": 3, "wait": -1}}))
    assert not wk.validate(log(jobs={1: {"status": 9}}))


def test_a_check_fails_from_the_requested_severity_on():
    for fields, failing in (
        ({"wait": -1}, []),
        ({"status": 3}, ["warning"]),
        ({"status": 9}, ["error", "warning"]),
    ):
        report = wk.validate(log(jobs={1: fields}))
        assert [on for on in ("error", "warning", "never") if report.fails(on)] == failing, fields
    with pytest.raises(wk.ParameterError, match="fail_on is 'note'; known: error, warning, never"):
        report.fails("note")


def test_offenders_are_the_first_three_with_their_numbers_and_values():
    report = wk.validate(
        log({"AllowOveruse": None}, {i: {"requested_time": 40} for i in (1, 2, 3)})
    )
    finding = report["run-requested"]
    assert (finding.count, finding.checked) == (3, 3)
    assert [(o.job, o.row, o.line) for o in finding.offenders] == [
        (1, 1, None),
        (2, 2, None),
        (3, 3, None),
    ]
    assert finding.offenders[1].values == (("run", 100), ("requested time", 40))
    assert str(finding.offenders[1]) == "job 2: run 100, requested time 40"
    many = wk.Trace.from_columns({"submit": np.zeros(9), "status": np.full(9, 7)})
    assert len(wk.validate(many)["status-values"].offenders) == 3


def test_more_offenders_than_are_named_are_counted_in_words():
    def text(n_jobs):
        return wk.validate(wk.Trace.from_columns({"submit": [0.5] * n_jobs}))["times-whole"].text

    assert text(3) == ""  # the offenders are enough
    assert text(4).startswith("submit 4; job 1: submit 0.5; ")


def test_repairs_are_found_with_their_line():
    offender = wk.validate(read(swapped()))["submit-order"].offenders[0]
    assert offender.line == len(HEADER) + 2
    assert offender.job is None


def test_only_jobs_that_could_violate_a_rule_are_counted_as_checked():
    report = wk.validate(log({"AllowOveruse": None}, {1: {"requested_time": 9}, 2: {"run": -1}}))
    assert report["run-requested"].checked == 2


def test_jobs_with_unknown_fields_are_not_counted_as_checked():
    for rule, header, jobs, checked in (
        ("procs-machine-requested", {}, {1: {"requested_procs": 0}, 2: {"requested_procs": 9}}, 2),
        ("procs-partition", {"MaxProcs": "8 (7, 2)"}, {1: {"procs": -1}}, 2),
        ("preceding-present", {}, {3: {"preceding_job": 99}}, 1),
        ("preceding-earlier", {}, {3: {"preceding_job": 3}}, 1),
        ("think-without-preceding", {}, {1: {"think_time": 0}}, 2),
        ("think-time", {}, {3: {"think_time": 92}}, 1),
        ("procs-requested", {}, {1: {"requested_procs": 3}, 2: {"requested_procs": -1}}, 2),
        ("memory-requested", {}, {1: {"requested_memory": 999}, 2: {"memory": -1}}, 2),
        ("procs-fewer", {}, {1: {"requested_procs": 5}, 2: {"requested_procs": -1}}, 2),
        ("cpu-run", {}, {1: {"cpu": 102}, 2: {"cpu": -1}}, 2),
        ("max-runtime", {"MaxRuntime": "99"}, {2: {"run": -1}}, 2),
        ("max-runtime-requested", {"MaxRuntime": "99"}, {2: {"requested_time": -1}}, 2),
        ("max-memory", {"MaxMemory": "999"}, {2: {"memory": -1}}, 2),
        ("max-memory-requested", {"MaxMemory": "999"}, {2: {"requested_memory": -1}}, 2),
        ("completed-ran", {}, {1: {"run": -1, "cpu": -1}}, 2),
        ("ran-on-procs", {}, {1: {"procs": -1}, 2: {"run": -1}}, 2),
        ("never-ran", {}, {2: {"run": -1}}, 1),
        ("cancelled-ran", {}, {1: {"status": 5}}, 1),
        ("queues-listed", {}, {1: {"queue": -1}, 3: {"queue": 3}}, 2),
        ("partitions-listed", {}, {1: {"partition": -1}, 3: {"partition": 3}}, 2),
    ):
        finding = wk.validate(log(header, jobs))[rule]
        assert (finding.count <= checked, finding.checked) == (True, checked), rule


def test_jobs_that_filters_removed_are_part_of_the_explanation():
    for label, what in (("MaxJobs", "3 jobs"), ("MaxRecords", "3 job lines")):
        explained = wk.validate(log({label: "5", **FILTER})).findings[-1]
        assert explained.text == f"{label} is 5, but the log has {what} and filters removed 2"
        unexplained = wk.validate(log({label: "4", **FILTER})).findings[0]
        assert unexplained.text == f"{label} is 4, but the log has {what}"


def test_missing_wrong_and_repeated_labels_are_named():
    for header, rule, text in (
        (
            {"UnixStartTime": None, "TimeZoneString": None},
            "clock-known",
            "no UnixStartTime and no TimeZoneString: local time is only that of StartTime",
        ),
        (
            {"UnixStartTime": None, "TimeZoneString": None, "StartTime": None},
            "clock-known",
            "no UnixStartTime and no TimeZoneString: local time is unknown",
        ),
        ({"Version": None, "Computer": None}, "labels-present", "no Version, Computer"),
        ({"MaxProc": "8"}, "labels-spelt", "MaxProc (for MaxProcs)"),
        ({"Copyright": "Ada", "Licence": "none"}, "labels-known", "Copyright, Licence"),
        ({"MaxProcs": "9", "MaxProcs ": "8"}, "labels-once", "MaxProcs is '8' and '9'"),
        ({"MaxRuntime": "-1"}, "label-values", "MaxRuntime is '-1', not a whole number"),
        ({"MaxProcs": "7", "MaxNodes": "9"}, "max-nodes", "MaxNodes is 9, more than MaxProcs, 7"),
        ({"Queue  ": "1 another"}, "lists-numbered", "Queue: '1 another'"),
    ):
        assert wk.validate(log(header))[rule].text == text, rule


def test_parts_that_violate_a_rule_are_named_by_job_and_place():
    (offender,) = wk.validate(parts({}, {"status": 2}))["part-status"].offenders
    assert (offender.job, offender.row, offender.line) == (2, 2, None)
    assert offender.values == (("status", 2), ("last", True))
    (offender,) = wk.validate(parts({}, {"run": 69}))["part-run"].offenders
    assert (offender.job, offender.row) == (2, 1)
    assert offender.values == (("run", 100), ("parts together", 99))


def test_fields_that_violate_a_rule_together_are_counted_one_by_one():
    text = wk.validate(log(jobs={1: {"cpu": -5}, 2: {"memory": "-0.5"}}))["not-negative"].text
    assert text == "cpu 1, memory 1; job 1: cpu -5; job 2: memory -0.5"


def test_numbers_are_shown_without_their_last_digits():
    report = wk.validate(log(jobs={1: {"requested_procs": "4.1000000000000005"}}))
    assert str(report["procs-whole"].offenders[0]) == "job 1: requested procs 4.1"


def test_the_frame_of_an_empty_report_has_its_columns():
    broken = wk.validate(log(jobs={1: {"status": 9}})).to_frame()
    none = wk.validate(log()).to_frame()
    assert (len(none), list(none)) == (0, list(broken))


def test_the_report_as_table_frame_and_json():
    report = wk.validate(log({"Computer": None}, {1: {"status": 9, "wait": -1}, 2: {"cpu": 500}}))
    assert [f.severity for f in report.findings] == ["error", "warning", "note", "note"]
    shown = str(report)
    assert max(map(len, shown.splitlines())) <= 80
    assert "job 1: status 9" in shown
    assert "  status-values: " in shown
    assert "  cpu-run: " in shown  # a warning
    assert "labels-present: " not in shown  # what is only noted is not explained
    assert shown.splitlines()[-1].endswith("standard.")
    order = [rule.name for rule in RULES]
    places = [(SEVERITIES.index(f.severity), order.index(f.rule)) for f in report.findings]
    assert places == sorted(places)
    frame = report.to_frame()
    assert frame["rule"].tolist() == [f.rule for f in report.findings]
    assert frame["first_job"].tolist() == [1, 2, 1, pd.NA]
    data = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert data["errors"] == data["warnings"] == 1
    assert data["holds"] is False
    assert data["findings"][0]["offenders"] == [{"row": 1, "job": 1, "values": {"status": 9}}]
    assert "status-values" in report
    assert "cpu-run" in report
    assert "columns" not in report
    with pytest.raises(KeyError):
        report["columns"]


def test_the_first_second_of_a_machine_used_twice():
    finding = wk.validate(log(jobs={2: {"wait": 59}, 3: {"think_time": 91}}))["machine-used-once"]
    assert "up to 12 busy, but MaxProcs is 8" in finding.text
    assert str(finding.offenders[0]) == "job 2: second 109, busy 12"
    more = {2: {"wait": 0}, 3: {"submit": 60, **NO_WAY}}
    finding = wk.validate(log(jobs=more))["machine-used-once"]
    assert "up to 14 busy, but MaxProcs is 8; first: job 2: second 50, busy 12" in finding.text


@pytest.mark.parametrize("at_once", [1, 2, 7, 40])
def test_a_machine_used_twice_is_found_in_any_parts(at_once, monkeypatch):
    rng, n_crowded = np.random.default_rng(at_once), 0
    for _ in range(20):
        jobs = {name: rng.integers(0, 9, 40) for name in ("wait", "run", "procs")}
        jobs["submit"] = np.sort(rng.integers(0, 60, 40))
        crowded = wk.Trace.from_columns(jobs, header=wk.Header(("; MaxProcs: 16",)))
        monkeypatch.setattr("workloadkit.rules.machine._AT_ONCE", 1 << 22)
        whole = wk.validate(crowded)
        monkeypatch.setattr("workloadkit.rules.machine._AT_ONCE", at_once)
        assert wk.validate(crowded).findings == whole.findings
        n_crowded += "machine-used-once" in whole
    assert n_crowded > 9


def test_lines_of_jobs_are_counted_with_their_parts():
    report = wk.validate(replace(parts(), bursts=parts().bursts.assign(job=9)))
    assert (report.jobs, report.records) == (3, 5)
    assert report["part-summary"].offenders[0].values == (("parts", 2),)


def test_a_first_submission_after_a_day_is_reported_in_days():
    late = wk.Trace.from_columns({"submit": [86_400]})
    assert "second 86400 (1.0 days)" in wk.validate(late)["submit-from-0"].text


def test_a_checkpointed_job_is_busy_in_its_parts_only():
    late = {"wait": 60}, {"wait": 200}  # the second runs from second 340 to 410
    third = {3: {"wait": 45, **NO_WAY}}  # from 345 to 395
    end = {"EndTime": "Sun Sep  9 03:53:30 CEST 2001"}
    assert found(parts(*late, jobs=third, header={**DOUBLE, **end})) == {
        "machine-used-once": (W, 1)
    }


def test_parts_without_a_line_that_sums_them_up():
    """Preemption: Yes, where the parts of a job are all that there is of it."""
    bursts = parts().as_bursts()
    assert bursts.n_jobs == 4
    assert found(bursts) == {}
    exit_codes = replace(bursts, header=bursts.header.replaced("Preemption", "No"))
    assert found(exit_codes)["status-parts"] == (W, 2)
    assert found(exit_codes)["job-unique"] == (E, 1)


def test_logs_that_no_file_contains_have_a_report():
    header = wk.Header(
        (
            "; MaxProcs: 1",
            "; UnixStartTime: 1",
            "; TimeZoneString: UTC",
            "; EndTime: Sun Sep  9 02:52:30 CEST 2001",
        )
    )
    for columns in (
        {"submit": []},
        {"submit": [0]},
        {"submit": [0, 0], "wait": [np.inf, 1], "run": [np.inf, -np.inf], "procs": [1, np.inf]},
        {"submit": [0, 0], "wait": [np.inf, 0], "run": [1, 1], "procs": [2, np.inf]},
        {"submit": [1e300], "run": [1e300], "job": [2**62], "preceding_job": [2**62]},
        {"submit": [-1, -1], "job": [0, 0], "status": [-(2**62), 2**62]},
    ):
        report = wk.validate(wk.Trace.from_columns(columns, header=header))
        json.dumps(report.to_dict(), allow_nan=False)
        assert str(report)
        assert len(report.to_frame()) == len(report.findings)


def test_what_is_no_log_is_refused():
    with pytest.raises(wk.ParameterError, match="read it first"):
        wk.validate("log.swf")


def test_a_request_of_nothing_is_found_and_named():
    for field in ("requested_procs", "requested_time"):
        finding = wk.validate(log({"AllowOveruse": "Yes"}, {2: {field: 0}}))["request-zero"]
        assert (finding.severity, finding.count) == ("warning", 1)
        assert dict(finding.offenders[0].values) == {field.replace("_", " "): 0}


def test_a_job_of_run_time_0_takes_no_processors_from_those_after_it():
    assert "machine-used-once" not in found(log(jobs={1: {"run": 0, "procs": 8, "cpu": 0}}))


def test_jobs_without_processors_are_not_checked_for_the_size_of_the_machine():
    broken = {f.rule: f for f in wk.validate(log(jobs={1: {"procs": 0}, 2: {"procs": 9}})).findings}
    assert (broken["procs-machine"].count, broken["procs-machine"].checked) == (1, 2)
