"""The sources of several studies: their logs, and what their words leave open."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from analysis.reproduction.logs import Log
from analysis.reproduction.readings import Axis, Reading
from analysis.reproduction.study import Plan
from workloadkit.clock import DAY

if TYPE_CHECKING:
    from workloadkit.resample.runs import Resampling
    from workloadkit.trace import Trace

#: The logs of N. Zakay's thesis, and their versions as its Table 1.1 (2018) lists them.
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


#: Of N. Zakay's simulations. The rule is that of all schedulers that are based on EASY.
SPARE = Axis(
    "spare",
    '"EASY" backfills what "does not delay" the first job: no more is said',
    {
        "none": "a job is backfilled only if it ends by the shadow time",
        "strict": "a job is backfilled only if it ends before the shadow time",
        "extra": "or if it needs no more than the processors that are to spare then",
    },
)
OVERRUN = Axis(
    "overrun",
    "nothing is said of jobs that outlive their estimates",
    {
        "late": "they count as ending at this very second until they do",
        "raise": "their estimates are raised to the run times beforehand",
        "kill": "they are stopped",
    },
)
SESSION_END = Axis(
    "end",
    "nothing is said of when a session of the fluid model ends",
    {
        "threshold": "60 min after its last submission",
        "end": "at the latest end of its jobs",
        "submit": "at its last submission",
    },
)
SKIPPED = Axis(
    "skipped",
    "two rules are given for sessions that were skipped",
    {
        "recycle": "all sessions come again, as many weeks later as they last",
        "reinsert": "each in which nothing was submitted is there again a week later",
    },
)
TEMPORARY = Axis(
    "temporary",
    '"the first and last 4 weeks": but the numbers of Table V are those of 60 days',
    {
        "60 days": "temporary users are those of 60 days at the ends of the log, from second 0",
        "4 weeks": "temporary users are those of 4 weeks at the ends of the log",
    },
)
CTC_NODES = Axis(
    "ctc",
    "CTC was first simulated with 430 nodes, then with 336 (2018, chapter on TBUOS, Figure 7)",
    {"430": "430 nodes", "338": "338 nodes, those of the log here"},
)
START = Axis(
    "start",
    '"we start each such user from an arbitrary week in the trace"',
    {
        "period": "in any week from a first job to its regeneration, so that some pause",
        "activity": "in any week from a first job to the last, so that the first weeks are heavier",
    },
)

#: The logs of E. Shmueli's thesis, and their versions as its Table 2.1 (2008) lists them.
SHMUELI_LOGS: Mapping[str, str] = {
    "SDSC-Par": "SDSC-Par-1995-2.1-cln",
    "CTC-SP2": "CTC-SP2-1996-2.1-cln",
    "KTH-SP2": "KTH-SP2-1996-2",
    "SDSC-SP2": "SDSC-SP2-1998-3.1-cln",
    "SDSC-BLUE": "SDSC-BLUE-2000-3.1-cln",
}

#: Of E. Shmueli's site-level simulations, at a machine of 128 processors.
SHMUELI_SIZE = Axis(
    "size",
    '"the number of processors": nothing is said of SDSC-BLUE, which gives out whole nodes',
    {
        "nodes": "jobs of SDSC-BLUE are as large as they need nodes, of 8 processors each",
        "processors": "jobs of SDSC-BLUE are as large as they need processors",
    },
)
SHMUELI_SPARE = replace(
    SPARE.preferring("extra"),
    words='EASY backfills what "will not conflict with" the start of the first: no more is said',
)
SHMUELI_REPEAT = Axis(
    "repeat",
    '"jobs of the same size appear successively": but also "users tend to submit the same jobs"',
    {
        "size": "the size comes again, with another run time",
        "job": "the size comes again with the same run time",
    },
)
SHMUELI_CANCELLED = Axis(
    "cancelled",
    "nothing is said of which jobs count",
    {
        "without": "cancelled jobs are left out, also as the next submission; found by trying",
        "with": "all jobs that ran count",
    },
)


def without_cancelled(log: Log, cancelled: str) -> "Trace":
    """Return the jobs of a log that count, by an option of `SHMUELI_CANCELLED`."""
    from workloadkit.fields import CANCELLED

    trace = log.read()
    return trace if cancelled == "with" else trace.select(trace.column("status") != CANCELLED)


#: Parameters of schedulers that backfill, by the options of `SPARE`.
_RULES = {"none": "spare=none", "strict": "spare=none,strict=yes", "extra": ""}


def backfilling(scheduler: str, reading: Reading) -> str:
    """Return EASY, or a scheduler based on it, with the rule of backfilling of a reading.

    Examples
    --------
    >>> backfilling("creasy", {"spare": "none"}), backfilling("creasy:500", {"spare": "strict"})
    ('creasy:spare=none', 'creasy:500,spare=none,strict=yes')
    """
    rule = _RULES[reading["spare"]]
    return scheduler + ("," if ":" in scheduler else ":") + rule if rule else scheduler


def easy(reading: Reading) -> str:
    """Return the EASY of a reading."""
    return backfilling("easy", reading)


def procs_of(log: Log, reading: Reading) -> int | None:
    """Return the machine of a log where it is not that of its header."""
    return int(reading["ctc"]) if log.name == "CTC-SP2" else None


def fluid(reading: Reading) -> str:
    """Return the fluid users of a reading."""
    return f"fluid:end={reading['end']},skipped={reading['skipped']}"


def temporary(reading: Reading) -> dict[str, Any]:
    """Return the settings of `classify_users` that a reading has for temporary users."""
    return {"edge": 60 * DAY, "begin": 0} if reading["temporary"] == "60 days" else {}


def resampling_of(traces: "Sequence[Trace]", reading: Reading, **how: Any) -> "Resampling":
    """Return what resamples logs by a reading, with further settings of `workloadkit.resample`."""
    import warnings

    from workloadkit.errors import WorkloadWarning
    from workloadkit.resample.runs import prepare

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorkloadWarning)  # an empty pool is no news here
        return prepare(traces, **{"start": reading["start"], **temporary(reading), **how})


def without(plan: Plan) -> str:
    """Return the note for results of all logs together: which are not here.

    Examples
    --------
    >>> from analysis.reproduction import Log
    >>> without(Plan([], [Log("KTH-SP2", "KTH-SP2-1996-2")], 1, {}))
    'without KTH-SP2'
    """
    names = ", ".join(log.name for log in plan.missing)
    return f"without {names}" if names else ""
