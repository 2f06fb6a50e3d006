"""Standard output with errors of its own, so that errors of files are not taken for them."""

import io
import sys
from typing import Any


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
