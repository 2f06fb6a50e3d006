"""Progress of long loops, as a bar in notebooks."""

import sys
from time import monotonic
from typing import Any

#: Shorter loops have no bar. [s]
SHORT = 2.0

_is_on = True
_begin: float | None = None
_display: Any = None


def show_progress(on: bool = True) -> None:
    """Choose whether notebooks show a bar while a long simulation runs; by default they do.

    Parameters
    ----------
    on : bool, default True

    Examples
    --------
    >>> show_progress(False)
    >>> show_progress()
    """
    global _is_on
    _is_on = on


def show(done: int, total: int) -> None:
    """Draw the bar, if this is a notebook and the loop lasts."""
    global _begin, _display
    ipython: Any = sys.modules.get("IPython")
    if not _is_on or ipython is None or not hasattr(ipython.get_ipython(), "kernel"):
        return
    _begin = monotonic() if _begin is None else _begin
    if monotonic() - _begin > SHORT:
        bar = f'<progress value="{done}" max="{total}"></progress> {done:,} of {total:,} jobs'
        if _display is None:
            _display = ipython.display.display(ipython.display.HTML(bar), display_id=True)
        else:
            _display.update(ipython.display.HTML(bar))


def clear() -> None:
    """Remove the bar, as the loop has ended."""
    global _begin, _display
    if _display is not None:
        _display.update(sys.modules["IPython"].display.HTML(""))
    _begin = _display = None
