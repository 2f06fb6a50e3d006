"""What takes time once on a machine: compiling, or plain Python in its place."""

from collections.abc import Callable

from workloadkit._kernels import notebook

#: Called with one line each time.
notices: list[Callable[[str], object]] = []

COMPILING = "compiling code for this task, once on this machine: usually 1 to 16 s"
IN_PYTHON = "the first runs are in plain Python, for some 5 s in all; what comes later is compiled"


#: Called with how much is done, and of how much, while a long loop runs.
watching: list[Callable[[int, int], object]] = []


def report_progress(done: int, total: int) -> None:
    """Report how much of a loop is done."""
    for report in watching or [notebook.show]:
        report(done, total)


def notify(line: str) -> None:
    """Report what takes time."""
    for report in notices:
        report(line)
