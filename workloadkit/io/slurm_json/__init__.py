"""Jobs as printed by ``sacct --json`` and ``squeue --json`` of Slurm 21.08 to 25.11.

`cells` has the columns of `sacct` for a job of either; from there on they are read as its rows.
"""

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from workloadkit.io.cells import Cells
from workloadkit.io.files import source_path
from workloadkit.io.json_stream import json_records
from workloadkit.io.lines import Sources, list_of_sources
from workloadkit.io.records import ImportOptions, Records
from workloadkit.io.slurm.log import log_of_rows
from workloadkit.io.slurm.rows import Rows
from workloadkit.io.slurm_json.cells import COLUMNS, of_queue, rows_of
from workloadkit.trace import Trace

__all__ = ["looks_like", "read_queue_state", "read_slurm_json"]


_AT_ONCE = 2000  # jobs
_OF_JOBS = {"job_id", "allocation_nodes", "accrue_time", "association"}
_IN_QUEUE = ("RUNNING", "PENDING", "SUSPENDED", "CONFIGURING", "COMPLETING", "STOPPED")


def read_slurm_json(
    source: Sources,
    *,
    tz: str | None = None,
    procs: int | None = None,
    attempts: bool = False,
    anonymize: bool = False,
    key: bytes | None = None,
) -> Trace:
    """Read the output of ``sacct --json`` or ``squeue --json`` [1]_.

    The layouts of all versions are read, from those of the first plugins (``openapi/dbv0.0.36``)
    to ``data_parser/v0.0.44``: numbers as such, or as objects with ``set`` and ``infinite``;
    states as texts or lists. Jobs are read as rows of `sacct`, see `read_slurm`, and their steps as
    rows of steps. Jobs that run or wait are counted; `read_queue_state` returns them.

    Memory does not grow with the text of the file; the records of 100,000 jobs take some 100 MB.

    Parameters
    ----------
    source : str, path, binary file, or several of them in a list
        ``-`` is standard input; compression is recognized from the content.
    tz : str, optional
        Time zone of the log, by default UTC; the times are independent of it.
    procs : int, optional
        Processors of the machine, for the header.
    attempts : bool, default False
        Whether each attempt of a requeued job, and each part of a suspended one, becomes one of its
        partial executions.
    anonymize : bool, default False
        Whether to leave out all names and ids.
    key : bytes, optional
        With `anonymize`: secret that makes the numbers of names the same in every log.

    Raises
    ------
    FormatError
        If a file is no JSON, has no list of jobs, or contains no ended job.
    ParameterError

    References
    ----------
    .. [1] SchedMD, "Slurm REST API", schemas of jobs, https://slurm.schedmd.com/rest_api.html.

    Examples
    --------
    >>> import io
    >>> text = '''{"jobs": [{"job_id": 7, "user": "al", "state": {"current": ["COMPLETED"]},
    ...   "time": {"submission": 1714982400, "start": 1714982460, "end": 1714982520,
    ...            "elapsed": 60, "limit": {"set": true, "infinite": false, "number": 5}},
    ...   "tres": {"allocated": [{"type": "cpu", "name": "", "count": 4}]}}]}'''
    >>> trace = read_slurm_json(io.BytesIO(text.encode()))
    >>> trace.jobs[["wait", "run", "procs", "requested_time"]].to_numpy().tolist()
    [[60.0, 60.0, 4.0, 300.0]]
    """
    options = ImportOptions(tz, procs, attempts, anonymize, key)
    records = Records()
    records.unit = "job"
    path = source_path(list_of_sources(source)[0])
    return log_of_rows(
        _rows(source, records), records, options, path, kind="Slurm accounting in JSON"
    )


def read_queue_state(source: Sources) -> pd.DataFrame:
    """Return the jobs that run or wait, from ``squeue --json`` or ``sacct --json``.

    Parameters
    ----------
    source : str, path, binary file, or several of them in a list

    Returns
    -------
    DataFrame
        A row for each job in the order of the file: ``id``, ``state``, ``reason``, ``user``,
        ``account``, ``partition``, ``qos``, ``node_list``, ``submit``, ``eligible``, ``start``
        (NaN if the job waits) [s since 1970], ``procs``, ``nodes``, ``requested_time`` [s], and
        ``priority``.

    Raises
    ------
    FormatError
        If a file is no JSON, or has no list of jobs.

    Examples
    --------
    >>> import io
    >>> text = b'''{"jobs": [{"job_id": 7, "job_state": ["PENDING"], "submit_time": 1714982400,
    ...   "cpus": {"set": true, "number": 4}, "time_limit": {"set": true, "number": 5}}]}'''
    >>> read_queue_state(io.BytesIO(text))[["id", "state", "procs", "requested_time"]].T[0].tolist()
    ['7', 'PENDING', 4.0, 300.0]
    """
    found = []
    for _, job in _jobs(source, Records()):
        if isinstance(job, dict) and (row := of_queue(job))["state"] in _IN_QUEUE:
            found.append(row)
    table = pd.DataFrame(found, columns=[*_QUEUE])
    return table.astype({name: kind for name, kind in _QUEUE.items() if kind is float})


_QUEUE: dict[str, type] = {
    **dict.fromkeys(("id", "state", "reason", "user", "account", "partition", "qos"), str),
    "node_list": str,
    **dict.fromkeys(("submit", "eligible", "start", "procs", "nodes"), float),
    **dict.fromkeys(("requested_time", "priority"), float),
}


def looks_like(first_lines: list[str]) -> bool:
    """Whether the first lines of a file are those of an object with a list of Slurm's jobs.

    Examples
    --------
    >>> looks_like(['{"jobs": [', '{"account": "bio", "allocation_nodes": 1, "job_id": 7}'])
    True
    >>> looks_like(['{"nb_res": 4, "jobs": [{"id": "w0!4", "subtime": 10}]}'])
    False
    """
    text = "\n".join(first_lines).lstrip()
    if not text.startswith("{"):
        return False
    keys = set(re.findall(r'"(\w+)"\s*:', text))
    of_slurm = "jobs" in keys and not keys.isdisjoint(_OF_JOBS)
    return of_slurm and keys.isdisjoint(("nb_res", "profiles", "subtime"))


def _jobs(source: Sources, records: Records) -> Iterator[tuple[int, Any]]:
    """Yield the jobs of some files, with their places."""
    place = 0
    for one in list_of_sources(source):
        for job in json_records(one, ("jobs",), records.digest):
            place += 1
            yield place, job


def _rows(source: Sources, records: Records) -> Iterator[Rows]:
    """Yield the jobs of some files, with their steps, as rows of `sacct`."""
    texts: list[list[str]] = []
    places: list[int] = []
    for place, job in _jobs(source, records):
        if not isinstance(job, dict):
            records.leave_out_row("not an object of JSON", place)
            continue
        rows = rows_of(job)
        records.rows += len(rows)
        texts += rows
        places += [place] * len(rows)
        if len(texts) >= _AT_ONCE:
            yield _as_rows(texts, places)
            texts, places = [], []
    if texts:
        yield _as_rows(texts, places)


def _as_rows(texts: list[list[str]], places: list[int]) -> Rows:
    cells = Cells.none().with_texts(texts, COLUMNS, np.arange(len(texts)))
    return Rows(cells, np.array(places, np.int64))
