"""The signals that stop the program."""

import os
import signal
from collections.abc import Callable
from typing import Any

#: The exit code of a stopped program is 128 more.
STOPPING = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]


def handle(handler: Callable[..., Any]) -> None:
    """Handle these signals, except those that the caller of the program ignores, such as nohup."""
    for number in STOPPING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


def end_at_once(number: int, _: object) -> None:
    """End the program before it does anything that would have to be cleaned up."""
    if number == signal.SIGINT:
        os.write(2, b"interrupted\n")
    os._exit(128 + number)
