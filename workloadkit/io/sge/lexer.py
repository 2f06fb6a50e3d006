"""Split lines of Grid Engine's accounting into fields, all lines of a block at once.

Lines of another form, with colons in names, as JSON or with characters outside ASCII, are split one
by one.
"""

from math import nan

import numpy as np
from numpy.typing import NDArray

from workloadkit.io.cells import Cells, Lines
from workloadkit.io.sge.lines import FEWEST, NOTHING, PLACES

# Other fields that must have their usual form.
_CHECKED = {"priority": 7, "iow": 40, "reservation": 43, "reserved": 44}
_QDELINFO, _MAXRSS = PLACES["qdelinfo"], PLACES["maxrss"]
_TIMES = ("submission_time", "start_time", "end_time")
_CODES = ("failed", "exit_status")


def lex(lines: Lines) -> tuple[NDArray[np.int64], Cells]:
    """Split the lines for which `workloadkit.io.sge.lines.parted` gives the same fields.

    Returns
    -------
    found : ndarray of int64, shape (n_found,)
        The lines, from 0.
    cells : Cells
        By the fields of `AccountingLine`.
    """
    chars = lines.chars
    places = np.flatnonzero((chars == ord(":")) | (chars == ord("\n")))
    last = np.searchsorted(places, lines.end)
    first = np.append(0, last[:-1] + 1)[: last.size]
    n_fields = last - first + 1
    usual = ~lines.odd() & (n_fields >= FEWEST)
    usual &= (chars[lines.begin] != ord("#")) & (chars[lines.begin] != ord("{"))
    begin = {name: lines.begin.copy() for name in PLACES}
    end = {name: begin[name] - 1 for name in PLACES}
    for number in np.unique(n_fields[usual]).tolist():
        rows = np.flatnonzero(usual & (n_fields == number))
        # places before the first field, between fields and after the last one
        at = {name: place for name, place in (PLACES | _CHECKED).items() if place < number}
        begins = {
            name: places[first[rows] + place - 1] + 1 if place else lines.begin[rows]
            for name, place in at.items()
        }
        ends = {name: places[first[rows] + place] for name, place in at.items()}
        good = _are_usual(Cells(lines.data, begins, ends, rows.size))
        usual[rows] = good
        if number <= _MAXRSS:
            at.pop("qdelinfo", None)
        for name in PLACES.keys() & at:
            begin[name][rows], end[name][rows] = begins[name], ends[name]
    found = np.flatnonzero(usual)
    return found, Cells(lines.data, begin, end, lines.end.size).take(found)


def _are_usual(cells: Cells) -> NDArray[np.bool_]:
    """Return which lines have numbers where there must be, and no colons in names."""
    usual = cells.digits("job_number") & cells.digits("priority")
    usual &= cells.lengths("priority") <= 9
    for name in _TIMES:
        length = cells.lengths(name)
        zero = (length == 1) & (cells.numbers(name, lambda text: nan) == 0)
        usual &= cells.digits(name) & (zero | (length >= 9))
    for name in _CODES:
        usual &= cells.digits(name) & (cells.lengths(name) <= 4)
    for name in ("iow", "maxvmem", "reservation", "reserved", "maxrss"):
        if name in cells.begin:
            usual &= cells.plain_decimals(name)[1]
    of_task = cells.combined(("pe_taskid",), lambda text: text in NOTHING or "." in text)
    return usual & of_task.column(bool)
