"""Split JOB_FINISH records into fields, all lines of a block at once.

Lines of another form, with quotes within quoted text, an unknown order of fields or characters
outside ASCII, are split one by one.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.cells import SIGNED_DECIMAL, SIGNED_WHOLE, WHOLE
from workloadkit.io.cells import Cells
from workloadkit.io.lines import Lines, eights_of
from workloadkit.io.lsf import record
from workloadkit.io.lsf.record import hosts_of

_START = b'"JOB_FINISH" "'
_MOST_COUNTED = 1000  # hosts, for which positions are computed


class Finished(NamedTuple):
    """Records, by the names of `Finish`.

    Parameters
    ----------
    lines : ndarray of int64, shape (n_records,)
        In their block, from 0.
    numbers : dict of str to ndarray, shape (n_records,)
    cells : Cells
        The texts.
    """

    lines: NDArray[np.int64]
    numbers: dict[str, NDArray[np.float64]]
    cells: Cells


class _Fields:
    """Fields of some lines, by position."""

    def __init__(self, lines: Lines) -> None:
        self.lines, self.fields = lines, lines.fields(b" ", quotes=True)
        usual = ~self.fields.odd & (self.fields.n_fields > record.N_ASKED) & _are_records(lines)
        self.rows = np.flatnonzero(usual)
        self.n_fields = self.fields.n_fields[self.rows].astype(np.int64)

    def count(self, at: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the stated numbers of following fields, and which of them are plain."""
        begin, end = self.fields._replace(quotes=False).pick(self.rows, [0], at)
        cells = Cells(self.lines.data, {"": begin[0]}, {"": end[0]}, at.size)
        number, plain = cells.read("", WHOLE)
        plain &= number < _MOST_COUNTED
        return np.where(plain, number, 0).astype(np.int64), plain

    def hosts(
        self, before: NDArray[np.int64], after: NDArray[np.int64]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return where the fields between two others begin and end, with quotes."""
        first, bounds = self.fields.first, self.fields.bounds
        at, last = (np.minimum(first[self.rows] + i, first[-1]) for i in (before + 1, after))
        return bounds[at] + np.int32(1), bounds[last]


def lex(lines: Lines) -> Finished:
    """Split the lines for which `workloadkit.io.lsf.record.parse` gives the same fields."""
    fields = _Fields(lines)
    start = np.zeros(fields.rows.size, np.int64)
    n_asked, good = fields.count(start + record.N_ASKED)
    hosts_at = record.N_ASKED + 1 + n_asked
    n_hosts, plain = fields.count(hosts_at)
    rest = hosts_at + 1 + n_hosts
    n_rest = fields.n_fields - rest
    good &= plain & (n_rest > record.EXIT_INFO)

    # the run limit follows the usage of each host
    has_tail = n_rest > record.N_EXTENSIONS
    n_of_usage, known = fields.count(rest + record.N_EXTENSIONS)
    usage_at = rest + record.N_EXTENSIONS + 1 + 2 * n_of_usage
    n_used, plain = fields.count(usage_at)
    known &= plain
    tail = usage_at + 1 + record.HOST_FIELDS[0] * n_used
    n_networks, counted = fields.count(tail + record.N_NETWORKS)
    slots_at = tail + record.N_NETWORKS + 1 + 2 * n_networks + 6
    n_slots, plain = fields.count(slots_at)
    ineligible_at = slots_at + 1 + n_slots
    counted &= plain

    resize = {"last_resize": record.LAST_RESIZE}
    of_tail = {f"tail {place}": place for place in record.WHOLE_IN_TAIL}
    places = {"hosts": fields.hosts(hosts_at, rest)}
    for at, positions in (
        (start, record.NUMBERS | record.TEXTS),
        (rest, record.NUMBERS_BEHIND | record.TEXTS_BEHIND | resize),
        (tail, of_tail),
        (ineligible_at, {"ineligible": 0}),
    ):
        found = fields.fields.pick(fields.rows, positions.values(), at)
        places |= dict(zip(positions, zip(*found, strict=True), strict=True))
    begin, end = (np.stack(each) for each in zip(*places.values(), strict=True))
    cells = Cells.of_lines(lines, places, begin, end)

    numbers: dict[str, NDArray[np.float64]] = {}
    for name in (*record.NUMBERS, *record.NUMBERS_BEHIND):
        numbers[name], plain = cells.read(name, SIGNED_DECIMAL)
        good &= plain
    for name, place in of_tail.items():
        number, plain = cells.read(name, SIGNED_WHOLE)
        known &= plain
        if (what := record.NUMBERS_OF_TAIL.get(place)) is not None:
            numbers[what] = np.where(has_tail, number, -1.0)
    good &= known | ~has_tail
    for name, recorded, certain in (
        ("last_resize", n_rest > record.LAST_RESIZE, True),
        ("ineligible", has_tail & (ineligible_at < fields.n_fields), counted),
    ):
        number, plain = cells.read(name, SIGNED_DECIMAL)
        good &= plain & certain | ~recorded
        numbers[name] = np.where(recorded, number, -1.0)
    n_tail = np.where(has_tail, fields.n_fields - tail, 0)
    numbers["extent"] = np.minimum(n_rest, record.N_EXTENSIONS) + np.minimum(
        n_tail, record.RUN_TIME + 2
    )
    numbers["known_order"] = np.ones(start.size)

    cells = cells.only(*record.TEXTS, *record.TEXTS_BEHIND, "hosts").take(good)
    numbers = {name: column[good].astype(np.float64) for name, column in numbers.items()}
    numbers["slots"] = numbers["nodes"] = np.zeros(0)
    if good.any():
        numbers["slots"], numbers["nodes"], _ = cells.combined(("hosts",), hosts_of).rows()
    return Finished(fields.rows[good], numbers, cells)


def _are_records(lines: Lines) -> NDArray[np.bool_]:
    """Return which lines begin with the start of a record, and contain no other one."""
    eights, last = eights_of(lines.data), len(_START) - 8
    first_eight, last_eight = (int.from_bytes(_START[i:][:8], "little") for i in (0, last))
    begin = (eights[lines.begin] == first_eight) & (eights[lines.begin + last] == last_eight)
    if lines.data.count(_START) > begin.sum():
        for line in np.flatnonzero(begin).tolist():
            at, end = lines.begin[line], lines.end[line]
            begin[line] = lines.data.find(_START, at + 1, end) < 0
    return begin
