"""Which engine plays where the choice is free: plain Python as long as compiling would take."""

from collections.abc import Callable
from contextlib import suppress
from math import inf
from typing import TypeVar

from workloadkit._kernels.compile import (
    DISABLE_JIT,
    NotLoadedError,
    lacks_compiler,
    loaded_only,
)
from workloadkit._kernels.patience import seconds_left, spending
from workloadkit._kernels.prebuilt import library
from workloadkit.simulation.plain.simulation import OutOfTimeError, within

Result = TypeVar("Result")

#: Longer logs are not tried in the plain engine.
MOST_JOBS = 50_000


def play_soonest(
    compiled: Callable[[], Result],
    plain: Callable[[], Result],
    n_jobs: float = inf,
    asked: str | None = None,
) -> Result:
    """Return the result of the compiled engine, or the equal one of the plain engine if sooner.

    Native code that is there is run. Where there is none, the plain engine plays while patience
    lasts, or if there is no compiler. The compiled engine that was `asked` for is taken at once.
    """
    is_short = n_jobs <= MOST_JOBS and asked != "compiled" and not DISABLE_JIT
    if library() is not None or (is_short and seconds_left() > 0):
        with suppress(NotLoadedError), loaded_only():
            return compiled()
    if is_short and (left := seconds_left()) > 0:
        with suppress(OutOfTimeError), within(left), spending():
            return plain()
    return plain() if lacks_compiler() else compiled()
