"""Bounds on what a case may take: seconds of the processor, and memory."""

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from numba.core.compiler_lock import global_compiler_lock

#: Memory that a case may take beyond what was in use before. [bytes]
MOST_MEMORY = 300 << 20

# Beyond this allocation itself fails: a case never takes the machine. [bytes]
_NEVER = 4 << 30

_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")
_RESET_PEAK = b"5"  # see proc(5)


class TooMuch(BaseException):
    """A case took too long or too much; no handler of ordinary exceptions swallows it."""


@contextmanager
def bounded(seconds: float, patience: int = 1) -> Iterator[None]:
    """Raise `TooMuch` once so much time of the processor has passed, or so much memory is in use.

    Both are multiplied by `patience`.

    Time is the processor's, so that what else runs on a machine fails no case; memory is seen on
    Linux, where the peak can be set back.
    """
    handler = signal.signal(signal.SIGPROF, _too_long)
    before = _reset_peak()
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (_in_use("VmSize") + _NEVER or limits[0], limits[1]))
    signal.setitimer(signal.ITIMER_PROF, seconds * patience)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, handler)
        resource.setrlimit(resource.RLIMIT_AS, limits)
    taken = _in_use("VmHWM") - before if before else 0
    if taken > MOST_MEMORY * patience:
        raise TooMuch(f"took {taken >> 20} MiB of memory")


def _too_long(*_: Any) -> None:
    if global_compiler_lock.is_locked():  # its callbacks bear no exception
        signal.setitimer(signal.ITIMER_PROF, 1)
        return
    raise TooMuch("took too long")


def _reset_peak() -> int:
    """Forget the most memory used so far; give what is in use, or 0 where that is not known."""
    with suppress(OSError):
        _CLEAR.write_bytes(_RESET_PEAK)
        return _in_use("VmRSS")
    return 0


def _in_use(name: str) -> int:
    """Return a quantity of memory that the system knows of this process; 0 where it does not."""
    with suppress(OSError):
        for line in _STATUS.read_text().splitlines():
            if line.startswith(name + ":"):
                return int(line.split()[1]) << 10
    return 0
