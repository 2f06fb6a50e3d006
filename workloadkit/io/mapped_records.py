"""The log of records that are mappings, one a job: each becomes the fields of a job or a reason."""

from collections.abc import Callable, Collection, Iterable
from itertools import islice
from math import isfinite, nan
from typing import Any

from workloadkit.io.assemble import assemble
from workloadkit.io.files import Source, source_path
from workloadkit.io.json_stream import printable_text
from workloadkit.io.lines import Sources, list_of_sources
from workloadkit.io.records import ImportOptions, Records
from workloadkit.record_fields import RECORD_FIELDS
from workloadkit.trace import Trace

#: Fields of a job by the names of `RECORD_FIELDS`; those that are missing are unknown.
Job = dict[str, Any]

_AT_ONCE = 5000  # jobs
_UNKNOWN = {"number": nan, "whole": -1, "word": "", "text": ""}


def log_of_records(
    found: Iterable[tuple[int, Any]],
    convert: Callable[[Any], Job | str],
    records: Records,
    options: ImportOptions,
    *,
    path: str,
    kind: str,
    states: Collection[str],
) -> Trace:
    """Build a log from records.

    Parameters
    ----------
    found : iterable of (int, object)
        Records with their places, in the unit of `records`.
    convert : callable
        Returns the job of a record, with `submit`, or the reason why it is none.
    records : Records
    options : ImportOptions
    path, kind : str
        See `assemble`.
    states : collection of str
    """
    rows = iter(found)
    while part := list(islice(rows, _AT_ONCE)):
        jobs = []
        for place, record in part:
            records.rows += 1
            job = convert(record)
            if not isinstance(job, str) and not isfinite(job["submit"]):
                job = "without a submit time"
            if isinstance(job, str):
                records.leave_out(job, place)
            else:
                jobs.append(job | {"place": place})
        columns: dict[str, Any] = {
            field.name: [job.get(field.name, _UNKNOWN[field.kind]) for job in jobs]
            for field in RECORD_FIELDS
            if any(field.name in job for job in jobs)
        }
        records.extend(len(jobs), **columns)
    return assemble(records, kind=kind, path=path, options=options, states=states)


def log_of_documents(
    source: Sources,
    find: Callable[[list[Source], Records], Iterable[Any]],
    convert: Callable[[Any], Job | str],
    options: ImportOptions,
    *,
    kind: str,
    states: Collection[str],
) -> Trace:
    """Build a log from documents without lines: `find` yields their jobs, which places number."""
    records = Records()
    records.unit = "job"
    sources = list_of_sources(source)
    return log_of_records(
        enumerate(find(sources, records), 1),
        convert,
        records,
        options,
        path=source_path(sources[0]),
        kind=kind,
        states=states,
    )


def positive(value: Any) -> float:
    """Return a number above 0, also from a text; NaN for anything else.

    Examples
    --------
    >>> positive(5), positive("5.5"), positive(0), positive(True), positive("undefined")
    (5.0, 5.5, nan, nan, nan)
    """
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return nan
    if isinstance(value, bool) or not isinstance(value, int | float):
        return nan
    return float(value) if 0 < value < _MOST else nan


_MOST = 1e18


def words(record: dict[str, Any], names: dict[str, str]) -> dict[str, str]:
    """Return texts of a record by the names of the log."""
    return {ours: printable_text(record.get(theirs)) for ours, theirs in names.items()}


def ended(start: float, end: float) -> dict[str, float]:
    """Return the times of a job."""
    return {"start": start, "end": end, "run": end - start}
