"""The history of HTCondor in JSON."""

import re
from collections.abc import Iterator
from typing import Any

from workloadkit.io.htcondor import STATES, job_of
from workloadkit.io.json_stream import json_values, printable_text
from workloadkit.io.lines import Sources
from workloadkit.io.mapped_records import Job, log_of_documents
from workloadkit.io.records import ImportOptions, Records
from workloadkit.trace import Trace

__all__ = ["looks_like", "read_htcondor_json"]


_OF_CONDOR = {"AutoClusterId", "ClusterId", "CommittedTime", "CompletionDate", "CondorVersion"}
_OF_CONDOR |= {"CumulativeSlotTime", "GlobalJobId", "JobStatus", "ProcId", "QDate"}


def read_htcondor_json(
    source: Sources,
    *,
    tz: str = "UTC",
    procs: int | None = None,
    attempts: bool = False,
    anonymize: bool = False,
    key: bytes | None = None,
) -> Trace:
    """Read the output of ``condor_history -json`` or ``-jsonl`` [1]_.

    Jobs are read as those of `read_htcondor`. Attributes that are expressions are unknown. Not
    tried on a real history.

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
    .. [1] HTCondor Manual, "condor_history", https://htcondor.readthedocs.io.

    Examples
    --------
    >>> import io
    >>> text = b'''[{"ClusterId": 7, "ProcId": 0, "JobStatus": 4, "QDate": 1664571163,
    ...   "JobCurrentStartDate": 1664571173, "CompletionDate": 1664571183, "RequestCpus": 2}]'''
    >>> read_htcondor_json(io.BytesIO(text)).jobs[["wait", "run", "procs"]].to_numpy().tolist()
    [[10.0, 10.0, 2.0]]
    """
    options = ImportOptions(tz, procs, attempts, anonymize, key)
    return log_of_documents(
        source, _found, _job, options, kind="HTCondor history in JSON", states=STATES.values()
    )


def looks_like(first_lines: list[str]) -> bool:
    """Whether the first lines of a file are those of HTCondor's jobs in JSON.

    Examples
    --------
    >>> looks_like(["[", "{", '  "AutoClusterId": 3,', '  "ClusterId": 7,'])
    True
    """
    text = "\n".join(first_lines).lstrip()
    keys = set(re.findall(r'"(\w+)"\s*:', text))
    return text.startswith(("[", "{")) and len(keys & _OF_CONDOR) > 1


def _found(sources: list[Any], records: Records) -> Iterator[Any]:
    for source in sources:
        yield from json_values(source, records.digest)


def _job(record: Any) -> Job | str:
    """Return a job that has ended, or why it is none."""
    if not isinstance(record, dict):
        return "not an object of JSON"
    texts = {name: _text(value) for name, value in record.items() if value is not None}
    return job_of({name: text for name, text in texts.items() if not text.startswith("/Expr(")})


def _text(value: Any) -> str:
    """Return a value as the text form of a record has it."""
    if isinstance(value, bool):
        return str(value).lower()
    is_whole = isinstance(value, float) and value.is_integer()
    return printable_text(int(value) if is_whole else value)
