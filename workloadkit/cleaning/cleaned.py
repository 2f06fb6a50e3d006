"""Clean a log by filters in the archive's syntax, and record them in the header."""

import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.display import Displayed
from workloadkit.errors import FormatError, ParameterError, WorkloadError, WorkloadWarning, plural
from workloadkit.header import Header
from workloadkit.io.files import Source
from workloadkit.io.lines import line_blocks
from workloadkit.io.swf.reading import MAX_COMMENT_LINES
from workloadkit.select import Condition, LogJobs, parse
from workloadkit.trace import Trace, check_trace, lost_predecessors

if TYPE_CHECKING:
    import pandas as pd

# Filters that select jobs to remove, in the syntax of the Parallel Workloads Archive.
#
# Headers of the archive's cleaned logs contain them, such as
# ``user=374 and (job>=14969 and job<=28552) (11740 jobs removed)``.

_COUNT = re.compile(r"\(\s*(\d[\d,]{0,20})\s+jobs?\s+removed\s*\)\s*\Z", re.IGNORECASE)


@dataclass(frozen=True)
class Filter(Displayed):
    """Condition that selects the jobs to remove from a log, in the archive's syntax.

    An unknown value compares as -1, its code in a file. Job numbers are those of the raw log.

    Parameters
    ----------
    condition : Condition
        True for the jobs to remove, see `workloadkit.select`.
    count : int, optional
        Number of jobs that it removed, as stated with it.

    Examples
    --------
    >>> found = Filter.parse("user=3 AND (proc == 1 and app = 1) (24,025 jobs removed)")
    >>> print(found)
    user=3 and (proc=1 and app=1) (24025 jobs removed)
    >>> found.count
    24025
    """

    condition: Condition
    count: int | None = None

    @classmethod
    def parse(cls, text: str) -> "Filter":
        """Parse a filter as the archive writes it.

        It is an expression as in `Trace.where`; case and blanks do not matter, and fields may have
        the names of the archive: ``proc``, ``app``, ``subtime``, ``runtime``. An unknown value
        compares as -1. The number of removed jobs may follow at the end.

        Raises
        ------
        ParameterError
                If the text is no filter; the message has the position of the first wrong character.
        """
        stated = _COUNT.search(text) if isinstance(text, str) else None
        count = int(stated[1].replace(",", "")) if stated else None
        return cls(parse(text, end=stated.start() if stated else None), count)

    def __str__(self) -> str:
        if self.count is None:
            return str(self.condition)
        return f"{self.condition} ({self.count} jobs removed)"

    def _summary(self) -> str:
        return repr(str(self))

    def _table(self) -> "pd.DataFrame":
        import pandas as pd

        return pd.DataFrame({"filter": [str(self.condition)], "count": [self.count]})

    def counted(self, count: int | None) -> "Filter":
        """Return the same filter with another number of removed jobs."""
        return replace(self, count=count)

    def mask(self, trace: Trace) -> NDArray[np.bool_]:
        """Return the jobs of a log that the filter removes, as a mask.

        Parameters
        ----------
        trace : Trace

        Returns
        -------
        ndarray of bool, shape (n_jobs,)

        Raises
        ------
        WorkloadError
            If the filter uses the hour of the day or a date, and the log's local time is unknown,
            or a field or names that the log does not have.

        Examples
        --------
        >>> trace = Trace.from_columns({"submit": [0, 5, 9], "user": [3, 3, 4]})
        >>> Filter.parse("user=3 and job>1").mask(trace).tolist()
        [False, True, False]
        """
        check_trace(trace)
        return self.condition.of(LogJobs(trace, as_coded=True)).yes


CLEANED = "; Note: THIS IS A CLEANED VERSION OF THE LOG!"
ONE_FILTER = ";       The filter used to produce it was"
SEVERAL_FILTERS = ";       The filters used to produce it were"
_INDENT = ";         "

# A phrase that introduces filters, such as "The filters used to produce it were", and its rest.
_INTRODUCED = re.compile(
    r"\bfilters?\b(?:[^<>=!]*?\b(?:was|were|is|are|by)\b|[^<>=!:]*:)\s*:?(.*)", re.I
)
_LABEL = re.compile(r"[A-Za-z]\w*:")
_LIKE_A_FILTER = re.compile(r"[A-Za-z]\w*\s*[<>=!]+\s*[-+]?[\d.]|\bjobs? removed\b", re.I)
_GOES_ON = re.compile(r"(?:and|or)\b", re.I)


class Removed(NamedTuple):
    """The rows that a filter removes."""

    filter: Filter
    rows: NDArray[np.int64]


def filters_of(header: Header) -> tuple[Filter, ...]:
    """Return the filters named in the header of a cleaned log, in order.

    They follow a line such as "The filters used to produce it were", one per line; a filter may
    also span several lines or follow on the introducing line itself.

    Parameters
    ----------
    header : Header

    Raises
    ------
    WorkloadError
        If a filter in the header cannot be parsed.

    Examples
    --------
    >>> header = Header((
    ...     "; Note: THIS IS A CLEANED VERSION OF THE LOG!",
    ...     ";       The filters used to produce it were",
    ...     ";         user=2 (305178 jobs removed)",
    ...     ";         job<=10 (5 jobs removed)",
    ... ))
    >>> [str(one) for one in filters_of(header)]
    ['user=2 (305178 jobs removed)', 'job<=10 (5 jobs removed)']
    """
    texts: list[str] = []
    within = False  # within the lines that name filters
    for line in header.lines:
        text = line.strip().lstrip(";").strip()
        introduced = _INTRODUCED.search(text)
        if introduced:
            within, text = True, introduced[1].strip()
        elif not text or _LABEL.match(text):
            within = False
        if not within or not text:
            continue
        if not introduced and texts and (_GOES_ON.match(text) or _unfinished(texts[-1])):
            texts[-1] += f" {text}"
        elif _LIKE_A_FILTER.search(text):
            texts.append(text)
        else:  # ordinary text
            within = False
    try:
        return tuple(map(Filter.parse, texts))
    except ParameterError as error:
        raise WorkloadError(f"the header contains an invalid filter: {error}") from None


def _unfinished(text: str) -> bool:
    """Whether a filter continues on the next header line."""
    return bool(re.search(r"\b(?:and|or|not)\Z", text, re.I)) or text.count("(") > text.count(")")


def read_filters(source: Source) -> tuple[Filter, ...]:
    r"""Read filters from a cleaned log's header, or from a file with one filter per line.

    Parameters
    ----------
    source : str, path or binary file
        ``-`` is standard input. In a file of filters, ``#`` starts a comment.

    Raises
    ------
    FormatError
        If a line is not a filter (with its line number), or if there are no filters.

    Examples
    --------
    >>> import io
    >>> text = b"# pings\nuser=3 and proc=1 and app=1\n"
    >>> print(*read_filters(io.BytesIO(text)))
    user=3 and proc=1 and app=1
    """
    filters: list[Filter] = []
    comments: list[str] = []
    path = "-"
    for block in line_blocks(source):
        path = block.path
        if not filters and (comments or block.lines[0].lstrip().startswith(";")):
            head = list(
                takewhile(lambda line: not line.strip() or line.lstrip()[0] == ";", block.lines)
            )
            comments += [line for line in head if line.strip()]
            if len(comments) > MAX_COMMENT_LINES:
                raise FormatError(path, "too many comment lines", line=block.first_line)
            if len(head) < len(block.lines):
                break
            continue
        for number, line in enumerate(block.lines, block.first_line):
            if text := line.partition("#")[0].strip():
                try:
                    filters.append(Filter.parse(text))
                except ParameterError as error:
                    raise FormatError(path, f"not a filter: {error}", line=number) from None
    if comments:
        try:
            filters = list(filters_of(Header(tuple(comments))))
        except WorkloadError as error:
            raise FormatError(path, str(error)) from None
        if not filters:
            raise FormatError(path, "the header contains no filter")
    elif not filters:
        raise FormatError(path, "contains no filter outside of comments (#)")
    return tuple(filters)


def removals(trace: Trace, filters: Iterable[Filter]) -> tuple[Removed, ...]:
    """Return which jobs each filter removes after the filters before it.

    Parameters
    ----------
    trace : Trace
    filters : iterable of Filter

    Returns
    -------
    tuple of Removed
        Each filter with its count for this log, and the rows of `trace.jobs` it removes.
    """
    left = np.ones(trace.n_jobs, bool)
    removed = []
    for one in filters:
        rows = np.flatnonzero(one.mask(trace) & left)
        left[rows] = False
        removed.append(Removed(one.counted(rows.size), rows))
    return tuple(removed)


def clean(trace: Trace, filters: Filter | str | Iterable[Filter | str]) -> Trace:
    r"""Remove jobs from a log and record the filters in its header, as the archive does.

    The filters are applied in order, and each is recorded with the number of jobs that it removed
    from this log. Filters already in the header are kept. MaxRecords becomes the number of lines;
    MaxJobs stays that of the raw log, and jobs keep their numbers. Bursts, utility functions and
    the side-car are reduced to the remaining jobs.

    Parameters
    ----------
    trace : Trace
    filters : Filter, str, or several of them
        They select the jobs to remove.

    Raises
    ------
    ParameterError
        If no filter is given, or a text is not a filter.
    WorkloadError
        If no job would remain.

    Warns
    -----
    WorkloadWarning
        If a filter removes no jobs, or not as many as it states; if remaining jobs name a removed
        job as their preceding job.

    Examples
    --------
    >>> trace = Trace.from_columns({"submit": [0, 5, 9], "user": [3, 3, 4]})
    >>> cleaned = clean(trace, "user=3 and job>1")
    >>> cleaned.jobs["job"].tolist()
    [1, 3]
    >>> print(*cleaned.header.lines, sep="\n")
    ; Note: THIS IS A CLEANED VERSION OF THE LOG!
    ;       The filter used to produce it was
    ;         user=3 and job>1 (1 jobs removed)
    """
    check_trace(trace)
    given = [filters] if isinstance(filters, Filter | str) else list(filters)
    if not given:
        raise ParameterError("no filter given; give at least one, such as 'user=3 and proc=1'")
    parsed = [one if isinstance(one, Filter) else Filter.parse(one) for one in given]
    removed = removals(trace, parsed)
    keep = np.ones(trace.n_jobs, bool)
    for stated, (counted, rows) in zip(parsed, removed, strict=True):
        keep[rows] = False
        if stated.count not in (None, counted.count):
            states = plural(stated.count, "removed job")
            _warn(f"{stated.condition}: states {states}, removes {rows.size:,}")
        elif not rows.size:
            _warn(f"{stated.condition}: removes no job")
    if not keep.any():
        raise WorkloadError(f"{trace.name}: the filters remove every job")
    kept = trace.select(keep)
    if lost := lost_predecessors(trace, keep):
        name = plural(lost, "remaining job names", "remaining jobs name")
        _warn(f"{trace.name}: {name} a removed job as preceding job")
    header = trace.header if kept.n_bursts else trace.header.without_parts()
    if header.get("MaxRecords") is not None or header.get("MaxJobs") is not None:
        header = header.replaced("MaxRecords", str(kept.n_jobs + len(kept.bursts)))
    if _is_filtered(header) and header.number("MaxJobs") == trace.n_jobs:
        header = header.replaced("MaxJobs", str(kept.n_jobs))  # it does not count removed jobs
    return replace(kept, header=_named(header, [one.filter for one in removed]))


def _is_filtered(header: Header) -> bool:
    """Whether a header has filters."""
    return any(line.strip() in (ONE_FILTER, SEVERAL_FILTERS) for line in header.lines)


def _warn(message: str) -> None:
    warnings.warn(message, WorkloadWarning, stacklevel=3)


def _named(header: Header, filters: list[Filter]) -> Header:
    """Return the header with filters added after those already in it."""
    written = [f"{_INDENT}{one}" for one in filters]
    lines = list(header.lines)
    known = [i for i, line in enumerate(lines) if line.strip() in (ONE_FILTER, SEVERAL_FILTERS)]
    if not known:
        first = ONE_FILTER if len(filters) == 1 else SEVERAL_FILTERS
        space = [";"] if lines and lines[-1].strip() != ";" else []
        return Header((*lines, *space, CLEANED, first, *written))
    at = known[-1]
    lines[at] = SEVERAL_FILTERS
    end = at + 1
    while end < len(lines) and lines[end].startswith(_INDENT):
        end += 1
    return Header((*lines[:end], *written, *lines[end:]))
