"""The job archive of ClusterCockpit: a file ``meta.json`` for each job."""

import re
import tarfile
from collections.abc import Iterator
from math import nan
from pathlib import Path
from typing import Any

from workloadkit.errors import FormatError
from workloadkit.io.files import Source, source_path
from workloadkit.io.json_stream import printable_text
from workloadkit.io.lines import Sources
from workloadkit.io.mapped_records import Job, ended, log_of_documents, positive, words
from workloadkit.io.records import ImportOptions, Records
from workloadkit.io.slurm import values
from workloadkit.io.strict_json import json_text, read_json
from workloadkit.trace import Trace

__all__ = ["looks_like", "read_clustercockpit"]


_META = "meta.json"
_LARGEST = 1 << 24  # file of a job [bytes]
_WORDS = {
    "id": "jobId",
    "user": "user",
    "account": "project",
    "cluster": "cluster",
    "partition": "partition",
}
_TITLE = "ClusterCockpit's job archive"


def read_clustercockpit(
    source: Sources,
    *,
    tz: str = "UTC",
    procs: int | None = None,
    attempts: bool = False,
    anonymize: bool = False,
    key: bytes | None = None,
) -> Trace:
    """Read the job archive of ClusterCockpit [1]_: files ``meta.json``, folders or tars of them.

    Processors are hardware threads (``numHwthreads``). Archives of earlier versions lack
    ``submitTime``: the start replaces it, and the wait is unknown. The use of GPUs is the average
    of ``acc_utilization``, else ``acc_used``, in percent. States are those of Slurm. A
    ``meta.json`` that is no JSON is counted. Not tried on the archive of a site.

    Parameters
    ----------
    source : str, path, binary file, or several of them in a list
        Of a folder, all files ``meta.json`` in it are read, in the order of their paths; ``-`` is
        standard input.
    tz : str, default "UTC"
        Time zone of the log; the times are independent of it.
    procs, attempts, anonymize, key
        See `read_slurm_json`.

    Raises
    ------
    FormatError
        If a file cannot be read, or there is no ended job.
    ParameterError

    References
    ----------
    .. [1] ClusterCockpit, "Job meta data", https://clustercockpit.org, schema job-meta.

    Examples
    --------
    >>> import io
    >>> text = b'''{"jobId": 7, "user": "al", "jobState": "completed", "submitTime": 1664571163,
    ...   "startTime": 1664571173, "duration": 10, "numNodes": 1, "numHwthreads": 4}'''
    >>> read_clustercockpit(io.BytesIO(text)).jobs[["wait", "run", "procs"]].to_numpy().tolist()
    [[10.0, 10.0, 4.0]]
    """
    options = ImportOptions(tz, procs, attempts, anonymize, key)
    states = [state.lower() for state in values.STATES]
    return log_of_documents(source, _found, _job, options, kind=_TITLE, states=states)


def looks_like(first_lines: list[str]) -> bool:
    """Whether the first lines of a file are those of a ``meta.json``.

    Examples
    --------
    >>> looks_like(['{"jobId": 7, "jobState": "completed", "numNodes": 1, "startTime": 1664571173'])
    True
    """
    text = "\n".join(first_lines).lstrip()
    keys = set(re.findall(r'"(\w+)"\s*:', text))
    return text.startswith("{") and {"jobId", "startTime", "numNodes"} <= keys


def _found(sources: list[Source], records: Records) -> Iterator[Any]:
    """Yield the jobs of files, folders and tars; None for what is no JSON."""
    for source in sources:
        if isinstance(source, str) and Path(source).is_dir():
            for path in sorted(Path(source).rglob(_META)):
                yield _parsed(json_text(path, most=_LARGEST), str(path), records)
        elif isinstance(source, str) and source != "-" and _is_tar(source):
            yield from _of_tar(source, records)
        else:
            text = json_text(source, most=_LARGEST)
            records.digest.update(text)
            yield read_json(text, source_path(source))


def _is_tar(path: str) -> bool:
    try:
        return tarfile.is_tarfile(path)
    except OSError:
        return False  # the reader of text reports it


def _of_tar(path: str, records: Records) -> Iterator[Any]:
    """Yield the jobs of a tar; nothing is unpacked."""
    try:
        with tarfile.open(path) as archive:
            for member in archive:
                if member.isfile() and member.name.rpartition("/")[2] == _META:
                    stream = archive.extractfile(member)
                    if stream is not None:
                        yield _parsed(stream.read(_LARGEST), path, records)
    except (tarfile.TarError, EOFError, OSError) as error:
        raise FormatError(path, f"its archive is corrupt or truncated: {error}") from None


def _parsed(text: bytes, path: str, records: Records) -> Any:
    """Return the JSON of a job; None if it is none."""
    records.digest.update(text)
    try:
        return read_json(text, path)
    except FormatError:
        return None


def _job(record: Any) -> Job | str:
    """Return a job that has ended, or why it is none."""
    if not isinstance(record, dict):
        return "not an object of JSON"
    state = printable_text(record.get("jobState"))
    if state.upper() in values.NOT_ENDED and state != "stopped":
        return f"not ended: {state}"
    start, lasted = positive(record.get("startTime")), positive(record.get("duration"))
    submit = positive(record.get("submitTime"))
    hosts = record.get("resources")
    names = [
        printable_text(host.get("hostname"))
        for host in (hosts if isinstance(hosts, list) else ())
        if isinstance(host, dict)
    ]
    array = positive(record.get("arrayJobId"))
    more = record.get("metaData")
    whole = record.get("shared") == "none" or record.get("exclusive") == 1
    return {
        **words(record, _WORDS),
        **ended(start, start + lasted),
        "array_job": f"{array:.0f}" if array > 0 else "",
        "submit": submit if submit > 0 else start,
        "submit_by": "" if submit > 0 else "start",
        "procs": positive(record.get("numHwthreads")),
        "nodes": positive(record.get("numNodes")),
        "gpus": positive(record.get("numAcc")),
        "node_list": ",".join(filter(None, names)),
        "exclusive": "yes" if whole else "",
        "requested_time": positive(record.get("walltime")),
        "gpu_use": _gpu_use(record.get("statistics")),
        "energy": positive(record.get("energy")),
        "executable": printable_text(more.get("jobName")) if isinstance(more, dict) else "",
        "state": state,
        "status": values.status(state.upper()),
    }


def _gpu_use(statistics: Any) -> float:
    """Return the share of their time in which GPUs were busy; NaN if it was not measured."""
    for name in ("acc_utilization", "acc_used"):
        metric = statistics.get(name) if isinstance(statistics, dict) else None
        percent = metric.get("avg") if isinstance(metric, dict) else None
        if isinstance(percent, int | float) and not isinstance(percent, bool):
            return percent / 100 if 0 <= percent <= 100 else nan
    return nan
