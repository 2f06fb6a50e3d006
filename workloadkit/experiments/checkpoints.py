"""Write results periodically."""

import time
from collections.abc import Callable
from typing import Self

_SHARE_OF_TIME = 0.02  # maximum share for writing
_SELDOM = 2.0  # minimum time between two writes [s]


class Checkpoints:
    """Writes changes periodically, and at the end of a context even after a failure.

    Parameters
    ----------
    write : callable
    is_written : bool, default True
        Whether there is nothing to write so far.
    """

    def __init__(self, write: Callable[[], None], *, is_written: bool = True) -> None:
        self._write, self._is_written = write, is_written
        self._next = time.monotonic() + _SELDOM

    def changed(self) -> None:
        """Register a change, and write if enough time has passed."""
        self._is_written = False
        begin = time.monotonic()
        if begin >= self._next:
            self.write()
            end = time.monotonic()
            self._next = end + max(_SELDOM, (end - begin) / _SHARE_OF_TIME)

    def write(self) -> None:
        """Write if something has changed."""
        if not self._is_written:
            self._write()
            self._is_written = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.write()
