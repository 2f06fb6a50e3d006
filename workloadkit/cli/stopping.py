"""Signals stop the program in order: nothing half written and no process is left."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from workloadkit.cli.common import say

#: Signals that stop the program; its exit code is 128 more.
_NUMBERS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]

_AGAIN = 0.05  # [s]
_COMPILER = str(Path("llvmlite", "binding"))

_stopped_by = 0  # the first signal, once there is one
_waits = False
_is_handled = False


class Stop(KeyboardInterrupt):
    """What a signal makes of the program, wherever it is: it unwinds.

    Some compiled code discards what is raised within it. Then the exception is deleted before it
    has been handled, and the signal comes again.
    """

    def __del__(self) -> None:
        if not (_is_handled or sys.is_finalizing()):
            _send_again()


def stop_at_signals() -> None:
    """Let signals unwind the program."""
    for number in _NUMBERS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup has it
            signal.signal(number, _stop)
    sys.unraisablehook = _complain


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
    """Report why the program ends, if that was requested at the terminal; it is handled then."""
    global _is_handled
    _is_handled = True
    if _stopped_by in (0, signal.SIGINT):
        say("interrupted")


def end_with_parent() -> None:
    """End this process as soon as the process that started it has ended, for whatever reason."""
    from multiprocessing import connection, parent_process

    parent = parent_process()
    if parent is None:
        return

    def watch() -> None:
        connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _stop(number: int, frame: FrameType | None) -> None:
    global _stopped_by  # what follows from it may be another exception
    _stopped_by = _stopped_by or number
    if _waits:
        return
    if _is_in_compiler(frame):
        _send_again()
    else:
        raise Stop


def _is_in_compiler(frame: FrameType | None) -> bool:
    """Whether native code of the compiler is at work, which nothing may unwind half way."""
    while frame is not None:
        if _COMPILER in frame.f_code.co_filename:
            return True
        frame = frame.f_back
    return False


def _send_again() -> None:
    """Let the signal come again in a moment."""
    again = threading.Timer(_AGAIN, os.kill, (os.getpid(), _stopped_by))
    again.daemon = True
    again.start()


def _complain(unraisable: Any) -> None:
    """Report what could not be raised; after a signal it may be of objects that are half made."""
    if not _stopped_by:
        sys.__unraisablehook__(unraisable)
