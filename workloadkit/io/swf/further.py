"""Columns after the 18th of a log: the points of utility functions, and other fields of jobs."""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from workloadkit.fields import FIELDS
from workloadkit.utility import RULES, Utilities, broken_rules

if TYPE_CHECKING:
    import pandas as pd

# Possessive quantifiers keep the time linear for invalid numbers.
NUMBER = re.compile(rb"[-+]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][-+]?\d++)?")

# Faults of the columns after the 18th, including violated rules of utility functions.
_FAULTS = (*RULES, "not all are numbers", "an odd number of columns")
_NO_NUMBERS, _ODD = len(RULES), len(RULES) + 1
_MOST_MORE = 32  # maximum number of columns kept after the 18th


class FurtherColumns:
    """What follows the 18 columns of jobs while a log is read.

    Attributes
    ----------
    numbers : list of ndarray
        The numbers of all jobs, in file order; NaN for texts.
    n_of : ndarray of int64
        How many of them each job of the text has that is being read.
    """

    def __init__(self) -> None:
        self.numbers: list[NDArray[np.float64]] = []
        self.n_of = np.empty(0, np.int64)
        self._with_more: list[NDArray] = []  # jobs with such columns, in file order, and how many
        self._words: list[dict[int, str]] = []  # texts, by position and job
        self._room = np.empty(0)

    def begin(self, *, most: int) -> None:
        """Prepare to read a text of at most so many jobs."""
        if most > self.n_of.size:
            self.n_of = np.empty(most, np.int64)

    def room(self, most: int) -> NDArray[np.float64]:
        """Return room for so many numbers."""
        if self._room.size < most:
            self._room = np.empty(most)
        return self._room

    def keep(self, tokens: Sequence[bytes], job: int, first_job: int) -> None:
        """Keep the columns of a job; `first_job` is that of the text."""
        self.n_of[job - first_job] = len(tokens)
        if not tokens:
            return
        numbers = _numbers(tokens)
        self.numbers.append(numbers)
        for place in np.flatnonzero(np.isnan(numbers[:_MOST_MORE])).tolist():
            self._words += [{} for _ in range(place + 1 - len(self._words))]
            self._words[place][job] = tokens[place].decode("utf-8", "replace")

    def end(self, first_job: int, n_jobs: int) -> None:
        """Note the jobs of the text that have such columns."""
        if self.numbers and (jobs := np.flatnonzero(self.n_of[: n_jobs - first_job])).size:
            self._with_more.append(np.stack([first_job + jobs, self.n_of[jobs]]))

    def tables(
        self, rows: NDArray | slice, n_lines: int, repair: Callable[[str, int, int], None]
    ) -> "dict[str, pd.DataFrame]":
        """Return the tables of utility functions, and of other fields, where there are any.

        Parameters
        ----------
        rows : ndarray or slice
            The lines that are jobs, in the order of the table.
        n_lines : int
            Lines of jobs and bursts.
        repair : callable
            Notes a repair: what, how often, and in which line first.
        """
        if not self._with_more:
            return {}
        import pandas as pd

        jobs, place = np.arange(n_lines)[rows], np.full(n_lines, -1)
        place[jobs] = np.arange(jobs.size)
        job, n_more = np.concatenate(self._with_more, axis=1)
        numbers = np.concatenate(self.numbers)
        in_burst = place[job] < 0
        if in_burst.any():
            kind = "columns of bursts after the 18th left out"
            repair(kind, int(in_burst.sum()), int(job[in_burst][0]))
            numbers = numbers[np.repeat(~in_burst, n_more)]
            job, n_more = job[~in_burst], n_more[~in_burst]
        fault = _faults(n_more, numbers)
        for code in dict.fromkeys(fault[fault > 0].tolist()):  # in order of first lines
            found = job[fault == code]
            kind = "columns after the 18th kept in the side-car, no utility function"
            repair(f"{kind}: {_FAULTS[code]}", found.size, int(found[0]))
        right = fault == 0
        time, value = numbers[np.repeat(right, n_more)].reshape(-1, 2).T
        row = np.repeat(place[job[right]], n_more[right] // 2)
        order = np.argsort(row, kind="stable")
        points = {"row": row[order], "time": time[order], "value": value[order]}
        riding = {"utility": pd.DataFrame(points, copy=False)}
        if not right.all():
            others = numbers[np.repeat(~right, n_more)]
            riding["sidecar"] = self._fields(jobs, n_lines, job[~right], n_more[~right], others)
            if (beyond := n_more[~right] > _MOST_MORE).any():
                kind = f"columns after the {len(FIELDS) + _MOST_MORE}th left out"
                repair(kind, int(beyond.sum()), int(job[~right][beyond][0]))
        return riding

    def _fields(
        self,
        jobs: NDArray[np.int64],
        n_lines: int,
        job: NDArray[np.int64],
        n_more: NDArray[np.int64],
        numbers: NDArray[np.float64],
    ) -> "pd.DataFrame":
        """Return a column for each position after the 18th: numbers, or texts if any is not one.

        Parameters
        ----------
        jobs : ndarray of int64
            Jobs of the table, in order, as positions in the file like all arguments.
        n_lines : int
        job, n_more : ndarray of int64, shape (n_with_more,)
            Jobs with such columns, and their number.
        numbers : ndarray of float64
            Values of all these columns; NaN if not a number.
        """
        import pandas as pd

        place = np.arange(numbers.size) - np.repeat(np.cumsum(n_more) - n_more, n_more)
        of = np.repeat(job, n_more)
        columns: dict[str, NDArray] = {}
        for i in range(min(int(n_more.max()), _MOST_MORE)):
            here = place == i
            column = np.full(n_lines, np.nan)
            column[of[here]] = numbers[here]
            if i < len(self._words) and (words := self._words[i]):
                texts = ("" if np.isnan(x) else repr(x).removesuffix(".0") for x in column.tolist())
                column = np.array(list(texts), dtype=object)
                column[list(words)] = list(words.values())
            columns[f"field_{len(FIELDS) + 1 + i}"] = column[jobs]
        return pd.DataFrame(columns, copy=False)


def _numbers(words: Sequence[bytes]) -> NDArray[np.float64]:
    """Return the values of decimal numbers, NaN if invalid."""
    return np.array([float(word) if NUMBER.fullmatch(word) else np.nan for word in words])


def _faults(n_more: NDArray[np.int64], numbers: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return, for each job, the fault of its further columns as points of a utility function.

    Parameters
    ----------
    n_more : ndarray of int64, shape (n_jobs,)
        Number of columns per job, at least one.
    numbers : ndarray of float64
        NaN if not a number.

    Returns
    -------
    ndarray of int64, shape (n_jobs,)
        Indices into `_FAULTS`; 0 is none.
    """
    fault = np.where(n_more % 2 == 1, _ODD, 0)
    if not n_more.size:
        return fault
    fault[np.add.reduceat(np.isnan(numbers), np.cumsum(n_more) - n_more) > 0] = _NO_NUMBERS
    paired = np.flatnonzero(fault == 0)
    time, value = numbers[np.repeat(fault == 0, n_more)].reshape(-1, 2).T
    n_points = n_more[paired] // 2
    function = np.repeat(paired, n_points)
    rule = broken_rules(Utilities(np.append(0, np.cumsum(n_points)), time, value))
    broken = np.flatnonzero(rule)
    of_function, first = np.unique(function[broken], return_index=True)
    fault[of_function] = rule[broken[first]]
    return fault
