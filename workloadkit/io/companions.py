"""Files that stand next to a log: which may be replaced, and which are removed."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from warnings import warn

from workloadkit.errors import FormatError, WorkloadError, WorkloadWarning
from workloadkit.io.files import exists


class Companion(NamedTuple):
    """A kind of file next to a log.

    Parameters
    ----------
    what : str
        What it is, for messages.
    path_of : callable
        Returns its path, for the path of a log.
    log_of : callable
        Returns the digest of the log that a file was written with, empty if it states none; raises
        a FormatError if the file is of another kind.
    """

    what: str
    path_of: Callable[[str | os.PathLike[str]], Path]
    log_of: Callable[[Path], str]


def check_replaceable(companion: Companion, path: str | os.PathLike[str]) -> None:
    """Check that writing a log to `path` replaces no file that was not written with a log."""
    file = companion.path_of(path)
    if exists(file) and not _is_ours(companion, file):
        raise WorkloadError(
            f"{file}: exists and is not {companion.what} of a log; move it away, or write the log "
            "under another name"
        )


def remove_stale(companion: Companion, path: str | os.PathLike[str]) -> None:
    """Remove the companion of the log that a log without one has replaced.

    A file that was not written with a log stays. A warning reports either.
    """
    file = companion.path_of(path)
    if not exists(file):
        return
    if _is_ours(companion, file):
        file.unlink()
        outcome = f"removed: {companion.what} of the log that was replaced"
    else:
        outcome = f"not changed: it is not {companion.what} of a log"
    warn(f"{file}: {outcome}", WorkloadWarning, stacklevel=3)


def _is_ours(companion: Companion, file: Path) -> bool:
    try:
        return bool(companion.log_of(file))
    except FormatError:
        return False
