"""Signals stop the program in order: no half-written file and no process remains."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from workloadkit.cli.output import write_message
from workloadkit.signals import STOPPING, handle

#: Signals that a terminal sends to all processes of a command.
_OF_TERMINAL = [number for number in STOPPING if number != signal.SIGTERM]

_AGAIN = 0.05  # [s]
_COMPILER = str(Path("llvmlite", "binding"))

_stopped_by = 0  # the first signal received
_waits = False
_is_due = True  # whether a signal raises Stop: the first one, and one that is sent again
_is_handled = False


class Stop(KeyboardInterrupt):
    """A signal was received: the program unwinds, and further signals do not disturb this.

    Some compiled code discards exceptions, or prints them. Then this one is deleted before it is
    handled, and the signal is sent again.
    """

    def __init__(self) -> None:
        global _is_due
        _is_due = False

    def __del__(self) -> None:
        if not (_is_handled or sys.is_finalizing()):
            _send_again()


def stop_at_signals() -> None:
    """Install the handlers of signals."""
    handle(_stop)
    sys.unraisablehook, sys.excepthook = _complain, _print
    threading.excepthook = _complain_in_a_thread


@contextmanager
def undisturbed() -> Iterator[None]:
    """Defer signals while processes are started.

    They inherit that signals of the terminal are blocked: this process alone handles them.
    """
    global _waits
    _waits = True
    mask = getattr(signal, "pthread_sigmask", lambda *_: ())
    before = mask(getattr(signal, "SIG_BLOCK", 0), _OF_TERMINAL)
    try:
        yield
    finally:
        mask(getattr(signal, "SIG_SETMASK", 0), before)
        _waits = False
    if _stopped_by and _is_due:
        raise Stop


def exit_code() -> int:
    """Return the exit code if a signal stopped the program, else 0."""
    return _stopped_by and 128 + _stopped_by


def ignore_signals() -> None:
    """Let the program end: from now on no signal stops it, not even while Python shuts down."""
    global _is_handled
    _is_handled = True
    for number in STOPPING:
        if signal.getsignal(number) is _stop:
            signal.signal(number, signal.SIG_IGN)


def report_interrupt() -> None:
    """Report an interrupt from the terminal; the program ends."""
    ignore_signals()
    if _stopped_by in (0, signal.SIGINT):
        write_message("interrupted")


def end_with_parent() -> None:
    """End this process as soon as the process that started it has ended."""
    from multiprocessing import connection, parent_process

    parent = parent_process()
    if parent is None:
        return

    def watch() -> None:
        connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _stop(number: int, frame: FrameType | None) -> None:
    global _stopped_by  # later exceptions may follow from it
    if _is_handled:
        return
    _stopped_by = _stopped_by or number
    if _waits or not _is_due:
        return
    if _is_in_compiler(frame):
        _send_again()
    else:
        raise Stop


def _is_in_compiler(frame: FrameType | None) -> bool:
    """Whether native code of the compiler is running, which must not be unwound."""
    while frame is not None:
        if _COMPILER in frame.f_code.co_filename:
            return True
        frame = frame.f_back
    return False


def _send_again() -> None:
    """Send the signal again in a moment."""

    def send() -> None:
        global _is_due
        _is_due = True
        os.kill(os.getpid(), _stopped_by)

    again = threading.Timer(_AGAIN, send)
    again.daemon = True
    again.start()


def _complain(unraisable: Any) -> None:
    """Report an exception that could not be raised, unless it follows from a signal."""
    if not _stopped_by:
        sys.__unraisablehook__(unraisable)


def _complain_in_a_thread(exception: Any) -> None:
    """Report an exception that ends a thread, unless it follows a signal, as those of pools may."""
    if not _stopped_by:
        threading.__excepthook__(exception)


def _print(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print an exception that nothing handles, unless it is a signal."""
    if not issubclass(kind, Stop):
        sys.__excepthook__(kind, error, trace)
