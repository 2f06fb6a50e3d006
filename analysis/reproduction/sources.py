"""Logs and axes that several studies of one source share."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workloadkit.analysis.reproduction.logs import Log
from workloadkit.analysis.reproduction.study import Axis, Reading, StudyInput
from workloadkit.clock import DAY

if TYPE_CHECKING:
    from workloadkit.resample.runs import Resampling
    from workloadkit.trace import Trace

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


def without(plan: StudyInput) -> str:
    """Return the note for results of all logs together: the names of the missing logs.

    Examples
    --------
    >>> from workloadkit.analysis.reproduction import Log
    >>> without(StudyInput([], [Log("KTH-SP2", "KTH-SP2-1996-2")], 1, {}))
    'without KTH-SP2'
    """
    names = ", ".join(log.name for log in plan.missing)
    return f"without {names}" if names else ""
