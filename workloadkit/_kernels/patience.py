"""How long plain Python runs what is not compiled yet, before the compiler is started."""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from workloadkit._kernels import object_code
from workloadkit._kernels.notices import IN_PYTHON, notify
from workloadkit._kernels.trust import UntrustedError

#: What compiling takes; so the wait is at most twice that of who knows what will be run. [s]
PATIENCE = 5.0

_SPENT = "plain-seconds"
_here = 0.0  # of this process


def seconds_left() -> float:
    """Return for how long plain Python may run, in all processes of this user together."""
    return PATIENCE - _spent()


@contextmanager
def spending() -> Iterator[None]:
    """Count the time that plain Python takes."""
    global _here
    before = _spent()
    if not before:
        notify(IN_PYTHON)
    begin = time.thread_time()
    try:
        yield
    finally:
        _here = before + time.thread_time() - begin
        with suppress(OSError, ImportError, UntrustedError):
            (object_code.cache_folder() / _SPENT).write_text(f"{_here:.3f}\n")


def _spent() -> float:
    with suppress(OSError, ValueError, UntrustedError):
        try:
            return max(_here, float((object_code.cache_folder() / _SPENT).read_text()))
        except ImportError:  # there is no compiler to wait for
            return math.inf
    return _here
