"""Signals stop the program in order: nothing half written and no process is left."""

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from workloadkit.cli.common import say

#: Signals that stop the program; its exit code is 128 more.
_NUMBERS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]

_AGAIN = 0.05  # [s]
_LOOKED_AT = 0.5  # how often a worker sees whether its parent is there [s]

_stopped_by = 0  # the first signal, once there is one
_waits = False


class Stop(KeyboardInterrupt):
    """What a signal makes of the program, wherever it is: it unwinds."""


def stop_at_signals() -> None:
    """Let signals unwind the program.

    They may come while Python runs within code that swallows what it raises, as the compiler does
    while it loads what it has compiled: such a signal comes again.
    """
    for number in _NUMBERS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup has it
            signal.signal(number, _stop)
    sys.unraisablehook = _swallowed


@contextmanager
def undisturbed() -> Iterator[None]:
    """Let signals wait while processes are started.

    Ctrl-C is for this one alone: the others inherit that it is blocked.
    """
    global _waits
    _waits = True
    mask = getattr(signal, "pthread_sigmask", lambda *_: ())
    before = mask(getattr(signal, "SIG_BLOCK", 0), [signal.SIGINT])
    try:
        yield
    finally:
        mask(getattr(signal, "SIG_SETMASK", 0), before)
        _waits = False
    if _stopped_by:
        raise Stop


def exit_code() -> int:
    """Return the exit code of a program that a signal stopped; 0 of another."""
    return _stopped_by and 128 + _stopped_by


def say_stopped() -> None:
    """Tell the user why the program ends, if he asked for it at the terminal."""
    if _stopped_by in (0, signal.SIGINT):
        say("interrupted")


def end_with(parent: int) -> None:
    """End this process when its parent has gone, however that came about."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_LOOKED_AT)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _stop(number: int, _: Any) -> None:
    global _stopped_by  # what follows from it may be another exception
    _stopped_by = _stopped_by or number
    if not _waits:
        raise Stop


def _swallowed(told: Any) -> None:
    if not isinstance(told.exc_value, Stop):
        if not _stopped_by:  # else it was half made as the signal came, and complains as it goes
            sys.__unraisablehook__(told)
        return
    again = threading.Timer(_AGAIN, os.kill, (os.getpid(), _stopped_by))
    again.daemon = True
    again.start()
