"""Reports of reading: repairs, and how the rows of accounting data became jobs."""

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from workloadkit.display import Displayed
from workloadkit.errors import printable, quoted

if TYPE_CHECKING:
    import pandas as pd

#: Begin of the note in the header of an imported log that counts irregular rows of its jobs.
IRREGULAR = "irregular rows: "

#: Begin of the note in the header of an imported log that counts the rows that were read.
ROWS_READ = "rows read "

#: Kinds of repairs that several formats share.
SHORT = "missing columns at the end taken as unknown"
TORN = "the file is truncated: its incomplete last line is left out"


@dataclass(frozen=True)
class Repair:
    """A repair made while reading.

    Parameters
    ----------
    kind : str
        The problem and the repair.
    count : int
        Number of occurrences.
    first_line : int
        Line of the first occurrence, from 1; 0 in formats without lines.
    file : str
        File of this line, of a table in several files.
    example : str
        What stands there, of a value that is not understood.

    Examples
    --------
    >>> print(Repair("run not understood", 2, 3, "b.csv", "soon"))
    run not understood (2 times, first on line 3 of b.csv: 'soon')
    """

    kind: str
    count: int
    first_line: int
    file: str = ""
    example: str = ""

    def __str__(self) -> str:
        return self.text()

    def text(self, unit: str = "line") -> str:
        """Return the repair with its place, counted in lines or other units."""
        times, on = ("once", "on") if self.count == 1 else (f"{self.count:,} times", "first on")
        line = f", {on} {self.place(unit)}" if self.first_line else ""
        return f"{self.kind} ({times}{line})"

    def place(self, unit: str = "line") -> str:
        """Return where it first occurs, counted in lines or other units, and what stands there."""
        of_file = f" of {printable(self.file)}" if self.file else ""
        shown = f": {quoted(self.example)}" if self.example else ""
        return f"{unit} {self.first_line:,}{of_file}{shown}"


@dataclass(frozen=True)
class Intake(Displayed):
    """How the rows of accounting data became jobs: rows left out, and oddities.

    Parameters
    ----------
    kind : str
        Format that was read.
    rows : int
        Rows read, without comments and headers.
    jobs : int
        Jobs of the log.
    left_out : tuple of Repair
        Rows that are not jobs of the log, by kind; rows = jobs + rows left out.
    noted : tuple of Repair
        Oddities in the rows of jobs, and how they were handled.
    settings : tuple of (str, str)
        Settings of the reader, such as the time zone.
    unit : str
        What the places of rows count: lines, or records in formats without lines.

    Notes
    -----
    If several files were read, line numbers continue from file to file; in tables, each file has
    its own (`Repair.file`).

    Examples
    --------
    >>> print(Intake("Slurm accounting", 3, 2, (Repair("not ended: RUNNING", 1, 3),)))
    Slurm accounting
      rows read             3
      not ended: RUNNING   -1  first on line 3
      jobs                  2
    """

    kind: str
    rows: int
    jobs: int
    left_out: tuple[Repair, ...] = ()
    noted: tuple[Repair, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()
    unit: str = "line"

    def __str__(self) -> str:
        """Return the table of rows read, left out and kept, and of oddities."""
        counts = [("rows read", f"{self.rows:,}", "")]

        def row(repair: Repair, sign: str = "") -> tuple[str, str, str]:
            where = f"first on {repair.place(self.unit)}"
            return repair.kind, f"{sign}{repair.count:,}", where

        counts += [row(repair, "-") for repair in self.left_out]
        counts += [("jobs", f"{self.jobs:,}", "")]
        noted = [row(repair) for repair in self.noted]
        widths = [max(len(row[column]) for row in counts + noted) for column in range(2)]
        lines = [
            f"  {kind:{widths[0]}}  {count:>{widths[1]}}  {where}".rstrip()
            for kind, count, where in counts
        ]
        if noted:
            lines += [
                "of these jobs",
                *(
                    f"  {kind:{widths[0]}}  {count:>{widths[1]}}  {where}"
                    for kind, count, where in noted
                ),
            ]
        settings = "; ".join(f"{name}: {value}" for name, value in self.settings)
        return "\n".join([f"{self.kind} ({settings})" if settings else self.kind, *lines])

    def _table(self) -> "pd.DataFrame":
        import pandas as pd

        rows = [{"what": "left out", **vars(repair)} for repair in self.left_out]
        rows += [{"what": "noted", **vars(repair)} for repair in self.noted]
        return pd.DataFrame(rows, columns=["what", *(f.name for f in fields(Repair))])

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain Python values."""
        return {
            "kind": self.kind,
            "rows": self.rows,
            "jobs": self.jobs,
            "left_out": [vars(repair) for repair in self.left_out],
            "noted": [vars(repair) for repair in self.noted],
            "settings": dict(self.settings),
        }
