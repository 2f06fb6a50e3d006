"""Results that are written from time to time."""

import time
from collections.abc import Callable
from typing import Self

_SHARE_OF_TIME = 0.02  # that writing may take
_SELDOM = 2.0  # [s] between two writes, at the least


class Checkpoints:
    """Write what changes: every few seconds, and at the end of a context, also after a failure.

    Parameters
    ----------
    write : callable
    is_written : bool, default True
        Whether there is nothing to write yet.
    """

    def __init__(self, write: Callable[[], None], *, is_written: bool = True) -> None:
        self._write, self._is_written = write, is_written
        self._next = time.monotonic() + _SELDOM

    def changed(self) -> None:
        """Note a change; write if the last time is some while ago."""
        self._is_written = False
        begin = time.monotonic()
        if begin >= self._next:
            self.write()
            end = time.monotonic()
            self._next = end + max(_SELDOM, (end - begin) / _SHARE_OF_TIME)

    def write(self) -> None:
        """Write, if something has changed."""
        if not self._is_written:
            self._write()
            self._is_written = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.write()
