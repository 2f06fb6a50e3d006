"""The Standard Workload Format (S. J. Chapin et al., JSSPP 1999, section 2.3)."""

import os

from workloadkit.io.files import Source, digested_chunks, file_size, source_path
from workloadkit.io.machine import with_machine
from workloadkit.io.sidecar import with_sidecar
from workloadkit.io.swf.further import NUMBER
from workloadkit.io.swf.reading import SwfReader
from workloadkit.io.swf.writing import write_swf
from workloadkit.trace import Trace

__all__ = ["looks_like", "read_swf", "write_swf"]


def read_swf(source: Source, *, strict: bool = False) -> Trace:
    r"""Read a log in the Standard Workload Format [1]_.

    Repairs are made where possible and listed in `Trace.repairs`; nothing is dropped silently.
    Jobs out of order are sorted by submit time, missing trailing columns become unknown, comments
    among the jobs move to the end of the header. Columns beyond the 18th are the points of a
    utility function (``0 v1 t2 v2 …``, times increasing, values not increasing), or else are kept
    in `Trace.sidecar` as ``field_19`` to ``field_50`` at most. A side-car of the file (suffix
    ``.parquet``) is read, too. Lines of status 2, 3 and 4 are the bursts of a checkpointed job if
    exactly one other line has the same job number (the summary line), and exit codes otherwise. A
    last line without newline that lacks columns, or the end of a number, is left out as truncated
    (unless no line has all columns).

    Parameters
    ----------
    source : str, path or binary file
        ``-`` is standard input. gzip, bzip2, xz and Zstandard are recognized from the content.
    strict : bool, default False
        Raise an error at the first violation of the standard's form: a number of columns other
        than 18, decimals except in the average CPU time, negative numbers other than -1, job
        numbers or submit times out of order, comments among the jobs, a truncated file.

    Raises
    ------
    FormatError
        With the line, the field and the text of an invalid value or a number out of range; for a
        line over 1 MiB or comments over 64 MiB; for a file that is missing, truncated, binary or
        without jobs.

    References
    ----------
    .. [1] S. J. Chapin et al., "Benchmarks and standards for the evaluation of parallel job
       schedulers", JSSPP 1999, section 2.3.

    Examples
    --------
    >>> import io
    >>> text = b"; MaxProcs: 8\n1 60 5 30 4\n2 0 0 90 8\n"
    >>> trace = read_swf(io.BytesIO(text))
    >>> trace.jobs["job"].tolist()
    [2, 1]
    >>> for repair in trace.repairs:
    ...     print(repair)
    missing columns at the end taken as unknown (2 times, first on line 2)
    jobs out of order sorted by submit time (once, on line 3)
    """
    reader = SwfReader(source_path(source), file_size(source), strict=strict)
    reader.read_all(digested_chunks(source, reader.digest))
    trace = reader.trace()
    if not isinstance(source, str | os.PathLike):
        return trace
    return with_machine(with_sidecar(trace, source), source)


def looks_like(first_lines: list[str]) -> bool:
    """Whether the first line of a file is a comment or begins with a number; so if there is none.

    Examples
    --------
    >>> looks_like(["", "; Version: 2.2"]), looks_like(["7 0 5"]), looks_like(["a,b"])
    (True, True, False)
    """
    tokens = next((line.split() for line in first_lines if line.strip()), [";"])
    return tokens[0][0] == ";" or NUMBER.fullmatch(tokens[0].encode()) is not None
