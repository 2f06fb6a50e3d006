"""Which engine plays where the choice is free: plain Python as long as compiling would take."""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from workloadkit._kernels import object_code
from workloadkit._kernels.compile import (
    DISABLE_JIT,
    NotLoadedError,
    interpreted,
    lacks_compiler,
    loaded_only,
)
from workloadkit._kernels.notices import IN_PYTHON, notify
from workloadkit._kernels.prebuilt import library
from workloadkit._kernels.trust import UntrustedError
from workloadkit.simulation.plain.simulation import OutOfTimeError, within

Result = TypeVar("Result")

#: What compiling a kernel takes. [s]
PATIENCE = 5.0

#: Longer logs are not tried in the plain engine.
MOST_JOBS = 50_000

_SPENT = "plain-seconds"


def play_native(compiled: Callable[[], Result], plain: Callable[[], Result]) -> Result:
    """Return the result of the compiled engine, or of the plain one if it lacks native code."""
    if DISABLE_JIT or library() is None:
        return compiled()
    with suppress(NotLoadedError), loaded_only():
        return compiled()
    return plain() if lacks_compiler() else compiled()


def play_soonest(
    compiled: Callable[[], Result],
    plain: Callable[[], Result],
    n_jobs: int,
    asked: str | None = None,
) -> Result:
    """Return the result of the compiled engine, or the equal one of the plain engine if sooner.

    Native code that is there is run. Where there is none, the plain engine plays until it has
    taken, in all simulations of this user together, as long as compiling takes; from then on
    kernels are compiled. So the wait is at most twice that of who knows what will be simulated.
    The compiled engine that was `asked` for is taken at once.
    """
    if asked == "compiled" or interpreted():
        return play_native(compiled, plain)
    with suppress(NotLoadedError), loaded_only():
        return compiled()
    if lacks_compiler():
        return plain()
    left = PATIENCE - _spent() if n_jobs <= MOST_JOBS else 0.0
    if left > 0:
        if not _spent():
            notify(IN_PYTHON)
        begin = time.thread_time()
        try:
            with suppress(OutOfTimeError), within(left):
                return plain()
        finally:
            _spend(time.thread_time() - begin)
    return compiled()


_here = 0.0  # of this process


def _spent() -> float:
    with suppress(OSError, ValueError, UntrustedError):
        return max(_here, float((object_code.cache_folder() / _SPENT).read_text()))
    return _here


def _spend(seconds: float) -> None:
    global _here
    _here = _spent() + seconds
    with suppress(OSError, UntrustedError):
        (object_code.cache_folder() / _SPENT).write_text(f"{_here:.3f}\n")
