"""Output: files that are hidden until they are complete, and standard output.

Their names contain the machine and the process, so that files left behind by a killed process are
recognized, and removed by the next process that writes to the folder.
"""

import io
import os
import platform
import re
import shutil
import stat
import sys
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from workloadkit.errors import ParameterError, WorkloadError

_LONGEST = 100  # maximum number of characters of the original name
_MOST_SHOWN = 80  # characters of a value in a message

# Process ids are unique on one machine only, and a folder may be shared by several.
_MACHINE = f"{zlib.crc32(platform.node().encode()):08x}"
_UNFINISHED = re.compile(rf"\..*\.{_MACHINE}-(\d+)-[0-9a-f]{{8}}\.part", re.DOTALL)


def unfinished(target: Path) -> Path:
    """Return the temporary path of a file or folder until it is complete.

    Examples
    --------
    >>> re.sub("[0-9a-f]+-[0-9]+-[0-9a-f]+", "...", unfinished(Path("logs/a.swf")).name)
    '.a.swf.....part'
    """
    token = f"{_MACHINE}-{os.getpid()}-{os.urandom(4).hex()}"
    return target.with_name(f".{target.name[:_LONGEST]}.{token}.part")


@cache
def remove_left_over(folder: Path) -> None:
    """Remove files and folders left behind by killed processes from a folder, once per process."""
    for path in folder.glob(f".*.{_MACHINE}-*.part"):
        match = _UNFINISHED.fullmatch(path.name)
        if match and not _lives(int(match[1])):
            with suppress(OSError):
                shutil.rmtree(path) if path.is_dir() else path.unlink()


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock a folder for this process, if the file system supports it.

    Raises
    ------
    WorkloadError
        If another process writes results to the folder.
    """
    try:
        import fcntl
    except ImportError:  # not available on this system
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise WorkloadError(
                f"{folder}: another process writes results to it; use another folder"
            ) from None
        except OSError:
            pass  # a file system without locks
        yield
    finally:
        os.close(handle)


def check_own(left: Path) -> None:
    """Check that what an interrupted command left belongs to this user.

    Raises
    ------
    WorkloadError
        If others can write to it.
    OSError
    """
    found = left.stat()
    if found.st_uid != os.geteuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise WorkloadError(f"{left}: others can write to it; remove it")


def check_continues(
    left: Path,
    there: Mapping[str, Any],
    ours: Mapping[str, Any],
    instead: str = "use another folder",
) -> None:
    """Check that a command may continue with what an interrupted one left.

    Parameters
    ----------
    left : Path
        What it left.
    there, ours : mapping of str to object
        Everything that the results of both depend on.
    instead : str
        What to do, if it is not to be removed.
    """
    for name in dict.fromkeys((*ours, *there)):
        if there.get(name) != ours.get(name):
            raise ParameterError(
                f"{left}: left by a command with {name} {_shown(there.get(name))}, not "
                f"{_shown(ours.get(name))}; remove it, or {instead}"
            )


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= _MOST_SHOWN else text[: _MOST_SHOWN - 1] + "…"


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # the process belongs to another user
        return True
    return True


# Standard output with errors of its own, so that errors of files are not taken for them.


class StandardOutputError(OSError):
    """Standard output cannot be written."""


class StandardOutput(io.FileIO):
    """The file behind standard output."""

    def write(self, data: Any) -> int:
        """Write bytes."""
        try:
            return super().write(data)
        except BrokenPipeError:  # the reader has enough, which is no error
            raise
        except OSError as error:
            raise StandardOutputError(error.errno, error.strerror) from None


def name_errors_of_stdout() -> None:
    """Replace standard output, so that it raises its own errors; a Windows console stays."""
    old = sys.stdout
    buffer = getattr(old, "buffer", None)
    if type(getattr(buffer, "raw", buffer)) is not io.FileIO:
        return
    old.flush()
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(StandardOutput(old.fileno(), "w", closefd=False)),
        encoding=old.encoding,
        errors=old.errors,
        line_buffering=bool(old.line_buffering or getattr(old, "write_through", False)),
    )
