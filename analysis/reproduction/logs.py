"""Logs that sources used, the available versions, and axes that studies of one source share."""

import csv
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workloadkit.analysis.reproduction.study import Axis, Plan, Reading
from workloadkit.clock import DAY
from workloadkit.errors import WorkloadError, WorkloadWarning
from workloadkit.io.files import is_folder

if TYPE_CHECKING:
    from workloadkit.resample.runs import Resampling
    from workloadkit.trace import Trace


def data_folder() -> Path:
    """Return the data folder, whose subfolder `traces` contains the real logs."""
    return Path(os.environ.get("WORKLOADKIT_DATA", "../shared"))


@dataclass(frozen=True)
class Log:
    """A log that a study uses.

    Parameters
    ----------
    name : str
        Name in the source.
    published : str
        Version that the source used.
    path : Path, optional
        The available file; None if the log is missing.
    strict : bool
        Whether to stop at the first violation of the SWF standard.
    """

    name: str
    published: str
    path: Path | None = None
    strict: bool = False

    @property
    def version(self) -> str:
        """The available version; an empty string if the log is missing."""
        return "" if self.path is None else _version(self.path)

    @property
    def is_other(self) -> bool:
        """Whether the available version differs from the one that the source used."""
        return self.path is not None and self.version != self.published

    def read(self) -> "Trace":
        """Read the log; the last four are cached, because many tasks read the same log."""
        if self.path is None:
            raise WorkloadError(f"{self.name}: {self.published} is missing")
        return _read(self.path, self.strict)


#: The log of results about several logs together, or about none.
ALL_LOGS = Log("all", "")


def find_logs(names: Mapping[str, str], folder: Path, *, strict: bool = False) -> list[Log]:
    """Find logs in a folder; of several versions, the one most similar to the published one.

    Parameters
    ----------
    names : mapping of str to str
        Names of the logs in the source, and the versions that it used.
    folder : Path
    strict : bool, default False

    Returns
    -------
    list of Log
        All logs; a missing log has no path.

    Raises
    ------
    WorkloadError
        If the folder does not exist, or contains none of the logs.

    Warns
    -----
    WorkloadWarning
        For each missing log.
    """
    if not names:
        return []
    if not is_folder(folder):
        raise WorkloadError(
            f"{folder}: no such folder of logs; specify it with --traces or WORKLOADKIT_DATA"
        )
    logs = []
    for name, published in names.items():
        versions = {_version(path): path for path in sorted(folder.glob(_any_version(published)))}
        nearest = get_close_matches(published, versions, n=1, cutoff=0)
        logs.append(Log(name, published, versions[nearest[0]] if nearest else None, strict))
    missing = [log for log in logs if log.path is None]
    if len(missing) == len(logs):
        looked_for = ", ".join(_any_version(log.published) for log in logs)
        raise WorkloadError(f"{folder}: no log of this study; looked for {looked_for}")
    for log in missing:
        pattern = _any_version(log.published)
        warnings.warn(f"{folder}: no {pattern}, left out", WorkloadWarning, stacklevel=2)
    return logs


def read_table(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV table of published numbers."""
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def _any_version(published: str) -> str:
    """Return the file pattern of all versions of a log: the name up to the year.

    Examples
    --------
    >>> _any_version("SDSC-Par-1995-3.1-cln")
    'SDSC-Par-1995-*.swf*'
    """
    return "-".join(published.removesuffix("-cln").split("-")[:-1]) + "-*.swf*"


def _version(path: Path) -> str:
    return path.name.split(".swf")[0]


@lru_cache(maxsize=4)
def _read(path: Path, strict: bool) -> "Trace":
    import workloadkit as wk

    return wk.read_swf(path, strict=strict)


#: The logs of N. Zakay's thesis (2018), and their versions by its Table 1.1.
ZAKAY_LOGS: Mapping[str, str] = {
    "LANL-CM5": "LANL-CM5-1994-3.1-cln",
    "SDSC-Par": "SDSC-Par-1995-3.1-cln",
    "CTC-SP2": "CTC-SP2-1996-2.1-cln",
    "KTH-SP2": "KTH-SP2-1996-2",
    "SDSC-SP2": "SDSC-SP2-1998-3.1-cln",
    "SDSC-BLUE": "SDSC-BLUE-2000-3.1-cln",
    "HPC2N": "HPC2N-2002-1.1-cln",
    "SDSC-DS": "SDSC-DS-2004-1",
    "ANL-Intrepid": "ANL-Intrepid-2009-1",
    "PIK-IPLEX": "PIK-IPLEX-2009-1",
    "CEA-Curie": "CEA-Curie-2011-2.1-cln",
}


#: Axes of N. Zakay's simulations. `SPARE` applies to all schedulers that are based on EASY.
SPARE = Axis(
    "spare",
    '"EASY" backfills what "does not delay" the first job: the source gives no details',
    {
        "none": "a job is backfilled only if it ends by the shadow time",
        "strict": "a job is backfilled only if it ends before the shadow time",
        "extra": "or if it requests no more than the spare processors at that time",
    },
)
OVERRUN = Axis(
    "overrun",
    "the source does not mention jobs that outlive their estimates",
    {
        "late": "the scheduler expects them to end at the current second until they do",
        "raise": "their estimates are raised to the run times from the start",
        "kill": "they are stopped",
    },
)
SESSION_END = Axis(
    "end",
    "the source does not specify when a session of the fluid model ends",
    {
        "threshold": "60 min after its last submission",
        "end": "at the latest end of its jobs",
        "submit": "at its last submission",
    },
)
SKIPPED = Axis(
    "skipped",
    "the source gives two rules for skipped sessions",
    {
        "recycle": "all sessions are repeated, as many weeks later as they last",
        "reinsert": "a session in which nothing was submitted is repeated a week later",
    },
)
TEMPORARY = Axis(
    "temporary",
    '"the first and last 4 weeks": but the numbers in Table V correspond to 60 days',
    {
        "60 days": "the ends of the log that define temporary users are 60 days, from second 0",
        "4 weeks": "the ends of the log that define temporary users are 4 weeks",
    },
)
CTC_NODES = Axis(
    "ctc",
    "CTC was simulated with 430 nodes, then with 336 (2018, chapter on TBUOS, Figure 7)",
    {"430": "430 nodes", "338": "338 nodes, as in the header of the available log"},
)
START = Axis(
    "start",
    '"we start each such user from an arbitrary week in the trace"',
    {
        "period": "any week from the first job to the regeneration, so that some users pause",
        "activity": "any week from the first job to the last, so that the first weeks are heavier",
    },
)

#: The logs of E. Shmueli's thesis (2008), and their versions by its Table 2.1.
SHMUELI_LOGS: Mapping[str, str] = {
    "SDSC-Par": "SDSC-Par-1995-2.1-cln",
    "CTC-SP2": "CTC-SP2-1996-2.1-cln",
    "KTH-SP2": "KTH-SP2-1996-2",
    "SDSC-SP2": "SDSC-SP2-1998-3.1-cln",
    "SDSC-BLUE": "SDSC-BLUE-2000-3.1-cln",
}

#: Axes of E. Shmueli's site-level simulations, on a machine of 128 processors.
SHMUELI_SIZE = Axis(
    "size",
    '"the number of processors": no details on SDSC-BLUE, which allocates whole nodes',
    {
        "nodes": "the size of a job of SDSC-BLUE is its number of nodes, of 8 processors each",
        "processors": "the size of a job of SDSC-BLUE is its number of processors",
    },
)
SHMUELI_SPARE = replace(
    SPARE.preferring("extra"),
    words='EASY backfills what "will not conflict with" the start of the first job: no details',
)
SHMUELI_REPEAT = Axis(
    "repeat",
    '"jobs of the same size appear successively": but also "users tend to submit the same jobs"',
    {
        "size": "the size is repeated, with another run time",
        "job": "the size is repeated with the same run time",
    },
)
SHMUELI_CANCELLED = Axis(
    "cancelled",
    "the source does not specify which jobs count",
    {
        "without": "cancelled jobs are left out, also as next submissions; chosen by trial",
        "with": "all jobs that ran count",
    },
)


def without_cancelled(log: Log, cancelled: str) -> "Trace":
    """Return the jobs of a log that count under an option of `SHMUELI_CANCELLED`."""
    from workloadkit.fields import CANCELLED

    trace = log.read()
    return trace if cancelled == "with" else trace.select(trace.column("status") != CANCELLED)


#: Parameters of backfilling schedulers, by option of `SPARE`.
_RULES = {"none": "spare=none", "strict": "spare=none,strict=yes", "extra": ""}


def backfilling(scheduler: str, reading: Reading) -> str:
    """Return EASY, or a scheduler based on it, with the backfilling rule of a reading.

    Examples
    --------
    >>> backfilling("creasy", {"spare": "none"}), backfilling("creasy:500", {"spare": "strict"})
    ('creasy:spare=none', 'creasy:500,spare=none,strict=yes')
    """
    rule = _RULES[reading["spare"]]
    return scheduler + ("," if ":" in scheduler else ":") + rule if rule else scheduler


def easy(reading: Reading) -> str:
    """Return EASY with the backfilling rule of a reading."""
    return backfilling("easy", reading)


def procs_of(log: Log, reading: Reading) -> int | None:
    """Return the machine size of a log under a reading; None for that of its header."""
    return int(reading["ctc"]) if log.name == "CTC-SP2" else None


def fluid(reading: Reading) -> str:
    """Return fluid users with the parameters of a reading."""
    return f"fluid:end={reading['end']},skipped={reading['skipped']}"


def temporary(reading: Reading) -> dict[str, Any]:
    """Return the settings of `classify_users` for temporary users under a reading."""
    return {"edge": 60 * DAY, "begin": 0} if reading["temporary"] == "60 days" else {}


def resampling_of(traces: "Sequence[Trace]", reading: Reading, **how: Any) -> "Resampling":
    """Prepare the resampling of logs under a reading, with settings of `workloadkit.resample`."""
    import warnings

    from workloadkit.errors import WorkloadWarning
    from workloadkit.resample.runs import prepare

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorkloadWarning)  # an empty pool is expected
        return prepare(traces, **{"start": reading["start"], **temporary(reading), **how})


def without(plan: Plan) -> str:
    """Return the note for results of all logs together: the names of the missing logs.

    Examples
    --------
    >>> from workloadkit.analysis.reproduction import Log
    >>> without(Plan([], [Log("KTH-SP2", "KTH-SP2-1996-2")], 1, {}))
    'without KTH-SP2'
    """
    names = ", ".join(log.name for log in plan.missing)
    return f"without {names}" if names else ""
