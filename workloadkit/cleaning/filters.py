"""Filters that select jobs to remove, in the syntax of the Parallel Workloads Archive.

Headers of the archive's cleaned logs contain them, such as
``user=374 and (job>=14969 and job<=28552) (11740 jobs removed)``.
"""

import re
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.display import Displayed
from workloadkit.select import Condition, Jobs, parse
from workloadkit.trace import Trace, check_trace

_COUNT = re.compile(r"\(\s*(\d[\d,]{0,20})\s+jobs?\s+removed\s*\)\s*\Z", re.IGNORECASE)


@dataclass(frozen=True)
class Filter(Displayed):
    """Condition that selects the jobs to remove from a log, in the archive's syntax.

    An unknown value compares as -1, its code in a file. Job numbers are those of the raw log.

    Parameters
    ----------
    condition : Condition
        True for the jobs to remove, see `workloadkit.select`.
    count : int, optional
        Number of jobs that it removed, as stated with it.

    Examples
    --------
    >>> found = Filter.parse("user=3 AND (proc == 1 and app = 1) (24,025 jobs removed)")
    >>> print(found)
    user=3 and (proc=1 and app=1) (24025 jobs removed)
    >>> found.count
    24025
    """

    condition: Condition
    count: int | None = None

    @classmethod
    def parse(cls, text: str) -> "Filter":
        """Parse a filter as the archive writes it.

        It is an expression as in `Trace.where`; case and blanks do not matter, and fields may have
        the names of the archive: ``proc``, ``app``, ``subtime``, ``runtime``. An unknown value
        compares as -1. The number of removed jobs may follow at the end.

        Raises
        ------
        ParameterError
                If the text is no filter; the message has the position of the first wrong character.
        """
        stated = _COUNT.search(text) if isinstance(text, str) else None
        count = int(stated[1].replace(",", "")) if stated else None
        return cls(parse(text, end=stated.start() if stated else None), count)

    def __str__(self) -> str:
        if self.count is None:
            return str(self.condition)
        return f"{self.condition} ({self.count} jobs removed)"

    def _summary(self) -> str:
        return repr(str(self))

    def _table(self) -> pd.DataFrame:
        return pd.DataFrame({"filter": [str(self.condition)], "count": [self.count]})

    def counted(self, count: int | None) -> "Filter":
        """Return the same filter with another number of removed jobs."""
        return replace(self, count=count)

    def mask(self, trace: Trace) -> NDArray[np.bool_]:
        """Return the jobs of a log that the filter removes, as a mask.

        Parameters
        ----------
        trace : Trace

        Returns
        -------
        ndarray of bool, shape (n_jobs,)

        Raises
        ------
        WorkloadError
            If the filter uses the hour of the day or a date, and the log's local time is unknown,
            or a field or names that the log does not have.

        Examples
        --------
        >>> trace = Trace.from_columns({"submit": [0, 5, 9], "user": [3, 3, 4]})
        >>> Filter.parse("user=3 and job>1").mask(trace).tolist()
        [False, True, False]
        """
        check_trace(trace)
        return self.condition.of(Jobs(trace, as_coded=True)).yes
