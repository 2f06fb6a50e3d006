"""Small tables as text, with a line of titles: CSV, or cells between other marks."""

import csv
import io
from typing import NamedTuple

from workloadkit.errors import FormatError, plural
from workloadkit.io.files import Source, source_path, text_chunks

_LARGEST = 1 << 28  # [bytes]


class Delimited(NamedTuple):
    """A table as text.

    Parameters
    ----------
    titles : list of str
        Without surrounding blanks, as are the cells.
    rows : list of list of str
        Each with as many cells as there are titles; blank lines are left out.
    lines : list of int
        The line of each row in the file.
    """

    titles: list[str]
    rows: list[list[str]]
    lines: list[int]


def read_delimited(source: Source, *, marks: str = ",") -> Delimited:
    r"""Read a table with a line of titles; cells may be quoted as in RFC 4180.

    Parameters
    ----------
    source : str, path or binary file
        Compressed or not; a byte-order mark is skipped.
    marks : str, default ","
        What may separate cells: the first of these that the line of titles has.

    Raises
    ------
    FormatError
        If the file cannot be read, a title is there twice, or a row has other cells than titles.

    Examples
    --------
    >>> read_delimited(io.BytesIO(b"account|shares\nbio|3\n"), marks="|,").rows
    [['bio', '3']]
    """
    path, data = source_path(source), bytearray()
    for chunk in text_chunks(source):
        data += chunk
        if len(data) > _LARGEST:
            raise FormatError(path, f"has more than {_LARGEST >> 20} MiB")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FormatError(path, "is not UTF-8 text", line=line) from None
    head = text[: text.find("\n")]
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=next((m for m in marks if m in head), marks[-1])
    )
    found: list[list[str]] = []
    lines: list[int] = []
    while True:
        line = reader.line_num + 1
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise FormatError(path, str(error), line=line) from None
        if row is None:
            break
        cells = [cell.strip() for cell in row]
        if not any(cells):
            continue
        if found and len(cells) != len(found[0]):
            raise FormatError(
                path, f"has {plural(len(cells), 'cell')}, not {len(found[0])}", line=line
            )
        found.append(cells)
        lines.append(line)
    if not found:
        raise FormatError(path, "is empty")
    titles = [title.lower() for title in found[0]]
    for title in titles:
        if title and titles.count(title) > 1:
            raise FormatError(path, "has two columns of one title", line=lines[0], text=title)
    return Delimited(found[0], found[1:], lines[1:])
