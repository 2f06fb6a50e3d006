"""What takes time once on a machine: compiling, or plain Python in its place."""

from collections.abc import Callable

#: Called with one line each time.
notices: list[Callable[[str], object]] = []

COMPILING = "compiling code for this task, once on this machine: usually 1 to 16 s"
IN_PYTHON = (
    "the first simulations run in plain Python, for at most 5 s in all; later ones are compiled"
)


def notify(line: str) -> None:
    """Report what takes time."""
    for report in notices:
        report(line)
