"""Files that belong to a log and stand next to it: whether they may be replaced."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

from workloadkit.errors import FormatError, WorkloadError
from workloadkit.io.files import text_chunks


def check_replaceable(
    file: Path, what: str, log_of: Callable[[Path], str], path: str | os.PathLike[str], digest: str
) -> None:
    """Check that writing a log does not replace a file that does not belong to it.

    Parameters
    ----------
    file : Path
        Path of the companion.
    what : str
        What it is to be, for messages.
    log_of : callable
        Returns the digest of the log that an existing companion belongs to; raises a FormatError if
        it is none.
    path : str or path
        Path of the log.
    digest : str
        SHA-256 of the new text of the log. The companions of this text and of the existing text may
        be replaced.

    Raises
    ------
    WorkloadError
    """
    if not file.exists():
        return
    try:
        of = log_of(file)
        there = hashlib.sha256()
        if of != digest and Path(path).is_file():
            for chunk in text_chunks(path):
                there.update(chunk)
    except FormatError:
        of = ""
    if not of or of not in (digest, there.hexdigest()):
        raise WorkloadError(
            f"{file}: exists and is not {what} of {path}; move it away, or write the "
            "log under another name"
        )
