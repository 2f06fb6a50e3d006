"""The fields of a job, each defined once.

The names, columns and units are those of the Standard Workload Format [1]_. Measured and requested
quantities are floats with NaN for unknown, so that means are correct; identifiers and status are
integers with -1 for unknown. The submit time is never NaN.

References
----------
.. [1] S. J. Chapin et al., "Benchmarks and standards for the evaluation of parallel job
   schedulers", JSSPP 1999, section 2.3.
"""

from dataclasses import dataclass

import numpy as np

#: The value for "unknown" in a file.
UNKNOWN = -1

#: Status values of bursts of a checkpointed job (to be continued, last, last and killed).
BURST_STATUS = (2, 3, 4)

#: Status of a job that completed.
COMPLETED = 1

#: Status of a job that failed.
FAILED = 0

#: Status of a job that was cancelled or stopped.
CANCELLED = 5

#: Upper limit of plausible times: some 30,000 years. [s]
MAX_TIME = 10**12

#: Upper limit of plausible processor counts.
MAX_PROCS = 10**9

#: Upper limit of jobs, and of users, in generated logs.
MAX_JOBS_MADE = 20_000_000


@dataclass(frozen=True)
class Field:
    """One field of a job.

    Parameters
    ----------
    name : str
        Name of the column in `Trace.jobs`.
    column : int
        Column in a Standard Workload Format file, from 1.
    unit : str
        Unit, empty for a number without one.
    measured : bool
        True for a float column with NaN for unknown; False for an integer with -1.
    limit : int
        Upper limit of plausible magnitudes.
    title : str
        Description of the field, for headings and axes.
    """

    name: str
    column: int
    unit: str
    measured: bool
    limit: int
    title: str

    @property
    def dtype(self) -> np.dtype:
        """Type of the column."""
        return np.dtype(np.float64 if self.measured else np.int64)


_INT64 = 2**63 - 1
_MEMORY = 10**18

FIELDS = (
    Field("job", 1, "", False, _INT64, "job number"),
    Field("submit", 2, "s", True, MAX_TIME, "submit time"),
    Field("wait", 3, "s", True, MAX_TIME, "wait time"),
    Field("run", 4, "s", True, MAX_TIME, "run time"),
    Field("procs", 5, "", True, MAX_PROCS, "allocated processors"),
    Field("cpu", 6, "s", True, MAX_TIME, "CPU time per processor"),
    Field("memory", 7, "KB", True, _MEMORY, "memory per processor"),
    Field("requested_procs", 8, "", True, MAX_PROCS, "requested processors"),
    Field("requested_time", 9, "s", True, MAX_TIME, "requested time"),
    Field("requested_memory", 10, "KB", True, _MEMORY, "requested memory per processor"),
    Field("status", 11, "", False, _INT64, "status"),
    Field("user", 12, "", False, _INT64, "user"),
    Field("group", 13, "", False, _INT64, "group"),
    Field("executable", 14, "", False, _INT64, "executable"),
    Field("queue", 15, "", False, _INT64, "queue"),
    Field("partition", 16, "", False, _INT64, "partition"),
    Field("preceding_job", 17, "", False, _INT64, "preceding job"),
    Field("think_time", 18, "s", True, MAX_TIME, "think time"),
)

NAMES = tuple(field.name for field in FIELDS)
BY_NAME = {field.name: field for field in FIELDS}
