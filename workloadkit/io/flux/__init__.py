"""Jobs as printed by ``flux jobs --json`` of Flux."""

import re
from collections.abc import Iterator
from math import nan
from typing import Any

from workloadkit.fields import CANCELLED, COMPLETED, FAILED, UNKNOWN
from workloadkit.io.json_stream import json_records, printable_text
from workloadkit.io.lines import Sources
from workloadkit.io.mapped_records import Job, ended, log_of_documents, positive, words
from workloadkit.io.records import ImportOptions, Records
from workloadkit.trace import Trace

__all__ = ["looks_like", "read_flux"]


_STATUS = {"COMPLETED": COMPLETED, "CANCELED": CANCELLED, "FAILED": FAILED, "TIMEOUT": FAILED}
_WORDS = {
    "id": "id",
    "node_list": "nodelist",
    "queue": "queue",
    "executable": "name",
    "exit_code": "returncode",
}


def read_flux(
    source: Sources,
    *,
    tz: str = "UTC",
    procs: int | None = None,
    attempts: bool = False,
    anonymize: bool = False,
    key: bytes | None = None,
) -> Trace:
    """Read the output of ``flux jobs -a --json`` [1]_.

    A job runs from ``t_run`` to ``t_cleanup``; it could start from ``t_sched`` on. ``duration`` is
    the requested time, and 0 is none. Processors are cores. The account is the bank, else the
    project. Jobs that are not ``INACTIVE`` are counted. Not tried on the output of a cluster.

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
        If a file is no JSON, or contains no ended job.
    ParameterError

    References
    ----------
    .. [1] Flux, manual page flux-jobs(1), https://flux-framework.readthedocs.io.

    Examples
    --------
    >>> import io
    >>> text = b'''{"jobs": [{"id": "f2AR", "t_submit": 1664571163.5, "t_run": 1664571173.5,
    ...   "t_cleanup": 1664571183.5, "state": "INACTIVE", "result": "COMPLETED", "ncores": 4}]}'''
    >>> read_flux(io.BytesIO(text)).jobs[["wait", "run", "procs"]].to_numpy().tolist()
    [[10.0, 10.0, 4.0]]
    """
    options = ImportOptions(tz, procs, attempts, anonymize, key)
    return log_of_documents(source, _found, _job, options, kind="Flux's jobs", states=_STATUS)


def looks_like(first_lines: list[str]) -> bool:
    """Whether the first lines of a file are those of an object with a list of Flux's jobs.

    Examples
    --------
    >>> looks_like(['{"jobs": [{"t_depend": 0.0, "t_submit": 1664571163.9, "id": "f2AR"'])
    True
    """
    text = "\n".join(first_lines).lstrip()
    keys = set(re.findall(r'"(\w+)"\s*:', text))
    return text.startswith("{") and {"jobs", "t_submit"} <= keys


def _found(sources: list[Any], records: Records) -> Iterator[Any]:
    for source in sources:
        yield from json_records(source, ("jobs",), records.digest)


def _job(record: Any) -> Job | str:
    """Return a job that has ended, or why it is none."""
    if not isinstance(record, dict):
        return "not an object of JSON"
    state = printable_text(record.get("state"))
    if state != "INACTIVE":
        return f"not ended: {state[:20]}" if state.isalpha() else "without a state"
    start = positive(record.get("t_run"))
    end = positive(record.get("t_cleanup"))
    if not end > 0:
        end = positive(record.get("t_inactive"))
    result = printable_text(record.get("result"))
    cores, nodes = positive(record.get("ncores")), positive(record.get("nnodes"))
    ran = start > 0
    return {
        **words(record, _WORDS),
        **ended(start, end),
        "submit": positive(record.get("t_submit")),
        "eligible": positive(record.get("t_sched")),
        "procs": cores if ran else nan,
        "requested_procs": cores,
        "nodes": nodes if ran else nan,
        "requested_nodes": nodes,
        "requested_time": positive(record.get("duration")),
        "user": printable_text(record.get("username") or record.get("userid")),
        "account": printable_text(record.get("bank") or record.get("project")),
        "state": result,
        "status": _STATUS.get(result, UNKNOWN),
    }
