"""The history of HTCondor: ClassAds of jobs that left the queue."""

import re
from collections.abc import Iterator
from math import nan
from typing import Any

from workloadkit.fields import CANCELLED, COMPLETED, FAILED, UNKNOWN
from workloadkit.io.files import source_path
from workloadkit.io.lines import Sources, list_of_sources
from workloadkit.io.mapped_records import Job, ended, log_of_records, positive, words
from workloadkit.io.records import ImportOptions, Records
from workloadkit.trace import Trace

__all__ = ["looks_like", "read_htcondor"]


#: States of jobs by their numbers.
STATES = {1: "IDLE", 2: "RUNNING", 3: "REMOVED", 4: "COMPLETED", 5: "HELD", 6: "TRANSFERRING"}
STATES |= {7: "SUSPENDED"}
_WORDS = {"user": "Owner", "queue": "QueueName", "executable": "Cmd", "exit_code": "ExitCode"}
_PARALLEL = 11  # the universe of jobs on several machines

_ATTRIBUTE = re.compile(r"([A-Za-z_]\w*) = (.*)")
_BANNER = re.compile(r"\*\*\* ")
_MARKS = re.compile(r"(?:ClusterId|ProcId|JobStatus|QDate|GlobalJobId) = |\*\*\* .*ClusterId = \d")
_NO_ATTRIBUTE = "lines that are no attribute"


def read_htcondor(
    source: Sources,
    *,
    tz: str = "UTC",
    procs: int | None = None,
    attempts: bool = False,
    anonymize: bool = False,
    key: bytes | None = None,
) -> Trace:
    """Read the history of HTCondor: its file, or ``condor_history -long`` [1]_.

    Each job is a list of ``Attribute = value``, up to a line ``***`` in the file and a blank line
    in the output. A job that was evicted and started again has its last run: it waits until
    ``JobCurrentStartDate``, and runs until ``CompletionDate``, or, if removed, until
    ``EnteredCurrentStatus``. A removed job that did not run when it was removed (``LastJobStatus``)
    has the run time ``RemoteWallClockTime``. Processors are ``CpusProvisioned``, else
    ``RequestCpus``, times ``MachineCount`` in the parallel universe. Not tried on a real history.

    Parameters
    ----------
    source : str, path, binary file, or several of them in a list
        ``-`` is standard input; compression is recognized from the content.
    tz : str, default "UTC"
        Time zone of the log; the times are independent of it.
    procs, attempts, anonymize, key
        See `read_slurm_json`.

    Raises
    ------
    FormatError
        If a file cannot be read, or contains no ended job.
    ParameterError

    References
    ----------
    .. [1] HTCondor Manual, "Job ClassAd Attributes", https://htcondor.readthedocs.io.

    Examples
    --------
    >>> import io
    >>> text = b'''ClusterId = 7
    ... ProcId = 0
    ... JobStatus = 4
    ... QDate = 1664571163
    ... JobCurrentStartDate = 1664571173
    ... CompletionDate = 1664571183
    ... RequestCpus = 2
    ... *** Offset = 0 ClusterId = 7 ProcId = 0 Owner = "al" CompletionDate = 1664571183
    ... '''
    >>> read_htcondor(io.BytesIO(text)).jobs[["wait", "run", "procs"]].to_numpy().tolist()
    [[10.0, 10.0, 2.0]]
    """
    options = ImportOptions(tz, procs, attempts, anonymize, key)
    records = Records()
    sources = list_of_sources(source)
    return log_of_records(
        _found(sources, records),
        job_of,
        records,
        options,
        path=source_path(sources[0]),
        kind="HTCondor history",
        states=STATES.values(),
    )


def looks_like(first_lines: list[str]) -> bool:
    """Whether several of the first lines of a file are attributes of HTCondor's jobs.

    Examples
    --------
    >>> looks_like(["ProcId = 0", "ClusterId = 7", 'Owner = "al"'])
    True
    """
    attributes = sum(map(bool, map(_ATTRIBUTE.match, first_lines)))
    return attributes > 1 and any(map(_MARKS.match, first_lines))


def _found(sources: list[Any], records: Records) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the attributes of each job, with its first line; a banner or a blank line ends it."""
    job: dict[str, str] = {}
    first = 0
    for block in records.line_blocks(sources):
        for place, line in enumerate(block.lines, block.place):
            if match := _ATTRIBUTE.match(line):
                first = first if job else place
                job[match[1]] = match[2].strip()
            elif _BANNER.match(line) or not line.strip():
                if job:
                    yield first, job
                job = {}
            else:
                records.note(_NO_ATTRIBUTE, place)
    if job:
        yield first, job


def job_of(record: dict[str, str]) -> Job | str:
    """Return a job that has ended, or why it is none."""
    code = positive(record.get("JobStatus"))
    state = STATES.get(int(code), "") if code < 100 else ""
    if state not in ("REMOVED", "COMPLETED"):
        return f"not ended: {state}" if state else "without a known JobStatus"
    record = {name: text.strip('"') for name, text in record.items()}
    start = positive(record.get("JobCurrentStartDate", record.get("JobStartDate")))
    end = positive(record.get("CompletionDate"))
    status = _exit_status(record)
    if state == "REMOVED":
        end, status = positive(record.get("EnteredCurrentStatus")), CANCELLED
    found = ended(start, end)
    if state == "REMOVED" and record.get("LastJobStatus", "2") != "2":
        found["run"] = positive(record.get("RemoteWallClockTime"))
    machines = positive(record.get("MachineCount"))
    times = machines if record.get("JobUniverse") == str(_PARALLEL) and machines > 0 else 1.0
    asked = positive(record.get("RequestCpus")) * times
    got = positive(record.get("CpusProvisioned")) * times
    procs = (got if got > 0 else asked) if start > 0 else nan
    cpu = [_amount(record.get(name)) for name in ("RemoteUserCpu", "RemoteSysCpu")]
    gpus = positive(record.get("RequestGpus", record.get("RequestGPUs")))
    host = record.get("LastRemoteHost", "").rpartition("@")[2]
    return {
        **words(record, _WORDS),
        **found,
        "id": f"{record.get('ClusterId', '')}.{record.get('ProcId', '0')}",
        "account": record.get("AcctGroup", ""),
        "submit": positive(record.get("QDate")),
        "suspended": positive(record.get("CumulativeSuspensionTime")),
        "procs": procs,
        "requested_procs": asked,
        "gpus": gpus if start > 0 else nan,
        "requested_gpus": gpus,
        "node_list": host if start > 0 else "",
        "cpu": sum(cpu) / procs,
        "memory": positive(record.get("ResidentSetSize")) / procs,
        "requested_memory": positive(record.get("RequestMemory")) * 1024 / asked,
        "requested_time": positive(record.get("AllowedJobDuration")),
        "status": status,
        "state": state,
        "attempts": positive(record.get("NumJobStarts")),
    }


def _exit_status(record: dict[str, str]) -> int:
    """Return the status of a job that completed."""
    if record.get("ExitBySignal", "").lower() == "true":
        return FAILED
    code = record.get("ExitCode", "")
    return UNKNOWN if not code else COMPLETED if code == "0" else FAILED


def _amount(text: str | None) -> float:
    """Return a number of 0 or more; NaN for anything else."""
    return 0.0 if text in ("0", "0.0") else positive(text)
