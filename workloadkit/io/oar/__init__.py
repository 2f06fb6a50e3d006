"""Jobs as printed by ``oarstat -f -J`` of OAR."""

import re
from collections.abc import Iterator
from math import nan
from typing import Any

from workloadkit.fields import COMPLETED, FAILED
from workloadkit.io.json_stream import json_members, printable_text
from workloadkit.io.lines import Sources
from workloadkit.io.mapped_records import Job, ended, log_of_documents, positive, words
from workloadkit.io.records import ImportOptions, Records
from workloadkit.trace import Trace

__all__ = ["looks_like", "read_oar"]


_STATUS = {"Terminated": COMPLETED, "Error": FAILED}
_WORDS = {"user": "owner", "account": "project", "queue": "queue", "executable": "name"}


def read_oar(
    source: Sources,
    *,
    tz: str = "UTC",
    procs: int | None = None,
    attempts: bool = False,
    anonymize: bool = False,
    key: bytes | None = None,
) -> Trace:
    """Read the output of ``oarstat -f -J`` [1]_: an object of jobs, by their ids.

    The end of a job is in the full view only (``-f``). Processors are the assigned resources, which
    are cores on most clusters. A terminated job whose exit code is not 0 has failed. Not tried on
    the output of a cluster.

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
        If a file is no object of JSON, or contains no ended job.
    ParameterError

    References
    ----------
    .. [1] OAR, manual page oarstat(1), https://oar.readthedocs.io.

    Examples
    --------
    >>> import io
    >>> text = b'''{"7": {"Job_Id": 7, "state": "Terminated", "submissionTime": 1664571163,
    ...   "startTime": 1664571173, "stopTime": 1664571183, "assigned_resources": [3, 4]}}'''
    >>> read_oar(io.BytesIO(text)).jobs[["wait", "run", "procs"]].to_numpy().tolist()
    [[10.0, 10.0, 2.0]]
    """
    options = ImportOptions(tz, procs, attempts, anonymize, key)
    return log_of_documents(source, _found, _job, options, kind="OAR's jobs", states=_STATUS)


def looks_like(first_lines: list[str]) -> bool:
    """Whether the first lines of a file are those of an object of OAR's jobs.

    Examples
    --------
    >>> looks_like(['{', '   "7" : {', '      "assigned_network_address" : ['])
    True
    """
    text = "\n".join(first_lines).lstrip()
    keys = set(re.findall(r'"(\w+)"\s*:', text))
    of_oar = ("assigned_network_address", "cpuset_name", "submissionTime", "launchingDirectory")
    return re.match(r'\{\s*"\d+"\s*:\s*\{', text) is not None and not keys.isdisjoint(of_oar)


def _found(sources: list[Any], records: Records) -> Iterator[Any]:
    for source in sources:
        for _, job in json_members(source, records.digest):
            yield job


def _job(record: Any) -> Job | str:
    """Return a job that has ended, or why it is none."""
    if not isinstance(record, dict):
        return "not an object of JSON"
    state = printable_text(record.get("state"))
    if state not in _STATUS:
        return f"not ended: {state[:20]}" if state.isalpha() else "without a state"
    start, end = positive(record.get("startTime")), positive(record.get("stopTime"))
    if not end > 0:
        return "without an end: export with oarstat -f"
    resources, hosts = record.get("assigned_resources"), record.get("assigned_network_address")
    hosts = hosts if isinstance(hosts, list) else []
    n_procs = float(len(resources)) if isinstance(resources, list) and resources else nan
    code = positive(record.get("exit_code"))
    of_array = printable_text(record.get("array_id"))
    name = printable_text(record.get("Job_Id"))
    in_array = of_array not in ("", name) or positive(record.get("array_index")) > 1
    return {
        **words(record, _WORDS),
        **ended(start, end),
        "id": name,
        "array_job": of_array if in_array else "",
        "array_task": positive(record.get("array_index")) if in_array else nan,
        "submit": positive(record.get("submissionTime")),
        "procs": n_procs if start > 0 else nan,
        "nodes": float(len(set(map(printable_text, hosts)))) if hosts and start > 0 else nan,
        "node_list": ",".join(map(printable_text, hosts)),
        "requested_time": positive(record.get("walltime")),
        "state": state,
        "status": FAILED if code > 0 else _STATUS[state],
    }
