"""Exports of `sacct` in columns of fixed width: the line of dashes shows where they are."""

import re

from workloadkit.io.lines import Lines
from workloadkit.io.records import Records
from workloadkit.io.slurm.columns import ExportColumns, is_free
from workloadkit.io.slurm.splitting import Row

_DASHES = re.compile(rb"-+(?: +-+)*+ *+")

# Cells that are used although their end is cut; the rest of a list would be lost.
_KEPT = frozenset(
    ("jobid", "jobidraw", "state", "user", "group", "account", "cluster", "partition", "qos")
)

_CUT = "text cut at the width of its column (+)"
_SHIFTED = "wider than the columns"


class FixedColumns(ExportColumns):
    """ExportColumns of fixed width.

    Parameters
    ----------
    line : str
        The names of the columns.
    dashes : bytes
        The line below it.

    Attributes
    ----------
    spans : list of slice
        The bytes of each column in a line.
    """

    def __init__(self, line: str, dashes: bytes) -> None:
        self.spans = [slice(*match.span()) for match in re.finditer(rb"-+", dashes)]
        text = line.encode()
        titles = (text[span].decode(errors="replace").strip() for span in self.spans)
        super().__init__("|".join(titles), "|")
        self.line = line  # to recognize it, if files are joined


def are_dashes(line: bytes) -> bool:
    """Return whether a line consists of the dashes below the names of columns.

    Examples
    --------
    >>> are_dashes(b"------------ ---------- "), are_dashes(b"-- a")
    (True, False)
    """
    return _DASHES.fullmatch(line.rstrip(b"\r")) is not None


def with_widths(columns: ExportColumns, lines: Lines, at: int) -> ExportColumns:
    """Return columns of fixed width, if dashes follow the line of their names."""
    below = lines.data[lines.begin[at + 1] : lines.end[at + 1]] if at + 1 < lines.end.size else b""
    return FixedColumns(columns.line, below) if are_dashes(below) else columns


def fixed_rows(
    lines: Lines, part: range, first: int, columns: FixedColumns, records: Records
) -> list[Row]:
    """Split some lines, the first one at a place; count those that do not fit, and cut text.

    Blank lines and those of dashes are no rows.
    """
    found = []
    for place, i in enumerate(part, first + part.start):
        line = lines.data[lines.begin[i] : lines.end[i]]
        if not line.strip() or are_dashes(line):
            continue
        records.rows += 1
        parts = _cells(line.rstrip(b"\r"), columns)
        if parts is None:
            records.leave_out(_SHIFTED, place)
            continue
        cut = [len(part) == _width(span) and part.endswith(b"+") for part, span in parts]
        cells = [_decoded(part) for part, _ in parts]
        if any(cut):
            records.note(_CUT, place)
            for i, name in enumerate(columns.names):
                if cut[i] and name not in _KEPT and not is_free(name):
                    cells[i] = ""
        found.append(Row(cells, place))
    return found


def _cells(line: bytes, columns: FixedColumns) -> list[tuple[bytes, slice]] | None:
    """Return the cells of a line and their columns; None if they are not below the names."""
    between = [line[span.stop : span.stop + 1] for span in columns.spans]
    if all(char in (b" ", b"") for char in between):
        return [(line[span].strip(), span) for span in columns.spans]
    words = line.split()  # a number that is too wide moves all others
    if len(words) != len(columns.spans):
        return None
    return list(zip(words, columns.spans, strict=True))


def _width(span: slice) -> int:
    return int(span.stop - span.start)


def _decoded(text: bytes) -> str:
    """Decode a cell; a character may be cut at its end."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        return text.decode("latin-1")
