"""What reading found: what was put right, and how the rows of other formats became jobs."""

from dataclasses import dataclass
from typing import Any

#: Kinds of repairs that several formats know.
SHORT = "missing columns at the end taken as unknown"
TORN = "the file ends within a line, which is left out: it is truncated"


@dataclass(frozen=True)
class Repair:
    """Something that reading put right.

    Parameters
    ----------
    kind : str
        What was found and what was done about it.
    count : int
        How often.
    first_line : int
        Line of the first case, from 1; 0 in a format without lines.
    """

    kind: str
    count: int
    first_line: int

    def __str__(self) -> str:
        times, on = ("once", "on") if self.count == 1 else (f"{self.count:,} times", "first on")
        line = f", {on} line {self.first_line}" if self.first_line else ""
        return f"{self.kind} ({times}{line})"


@dataclass(frozen=True)
class Intake:
    """How the rows of a site's accounting became jobs: what is left out of the log, and why.

    Parameters
    ----------
    kind : str
        What was read.
    rows : int
        Rows that were read, comments and headers apart.
    jobs : int
        Jobs of the log.
    left_out : tuple of Repair
        Rows that are no job of the log, each kind once; with the jobs they make up the rows.
    noted : tuple of Repair
        What is odd in rows of jobs, and what was done about it.
    settings : tuple of (str, str)
        How it was read, such as the time zone.

    Notes
    -----
    Where several files were read, their lines are counted on.

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

    def __str__(self) -> str:
        """Return the table of rows read, left out and kept, and what was noted."""
        counts = [("rows read", f"{self.rows:,}", "")]
        counts += [
            (r.kind, f"-{r.count:,}", f"first on line {r.first_line:,}") for r in self.left_out
        ]
        counts += [("jobs", f"{self.jobs:,}", "")]
        noted = [(r.kind, f"{r.count:,}", f"first on line {r.first_line:,}") for r in self.noted]
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

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain Python values."""
        return {
            "kind": self.kind,
            "rows": self.rows,
            "jobs": self.jobs,
            "left_out": [vars(repair) for repair in self.left_out],
            "noted": [vars(repair) for repair in self.noted],
            "settings": dict(self.settings),
        }
