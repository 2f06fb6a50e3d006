"""What the cells of an export may contain, by the names of their columns, in lower case."""

import re
from collections.abc import Callable

from workloadkit.io.slurm.dates import is_time
from workloadkit.io.slurm.values import NO_VALUE, STATES, is_id, state

_ISO = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d.{0,20}", re.ASCII)
_SHORT_NUMBER = re.compile(r"\d{1,8}(?:\.\d*)?", re.ASCII)
_DURATION = re.compile(r"-?(?:\d+-)?[\d:.]+|UNLIMITED|Partition_Limit|INVALID", re.ASCII)
_COUNT = re.compile(r"\d+(?:\.\d+)?[KMG]?", re.ASCII)
_AMOUNT = re.compile(r"\d+(?:\.\d+)?[KMGTPE]?[nc]?", re.ASCII)
_EXIT_CODE = re.compile(r"\d+:\d+", re.ASCII)
_RESOURCE = (
    r"(?:cpu|mem|energy|node|billing|vmem|pages|(?:gres|fs|ic|bb|license)/[^=,|;]+)=[^=,|;]*"
)
_RESOURCES = re.compile(rf"{_RESOURCE}(?:,{_RESOURCE})*")
_ONE_RESOURCE = re.compile(_RESOURCE)
# Repeated parts are possessive, so that no text takes exponential time.
_GENERIC = re.compile(r"(?:[A-Za-z][\w./]*+(?:[:=][\w.-]++)*+(?:\([^)]*+\))?(?:,|$))++|0")
_WORD = re.compile(r"[^\s|;\"]*")
_NODES = re.compile(r"(?:[\w.-]++|\[[\d,-]*+\]|(?<=[^,]),(?=[^,]))++")
_CONSTRAINTS = re.compile(
    r"[(\[]*[A-Za-z!][\w.:*!-]*[)\]]*(?:\*\d+)?(?:[&|,][(\[]*[A-Za-z!][\w.:*()\[\]!-]*)*"
)
_FLAGS = re.compile(r"[A-Z][A-Za-z]+(?:,[A-Z][A-Za-z]+)*")
_REASON = re.compile(r"[^,|]*(?:, [^,|]*)*")

#: Columns with free text, which may contain the delimiter or line ends.
FREE_TEXT = (
    *("JobName", "Comment", "AdminComment", "SystemComment", "SubmitLine", "WorkDir", "Extra"),
    *("StdOut", "StdErr", "StdIn"),
)

_RESOURCE_LISTS = (
    *("reqtres", "alloctres", "tresusageinmax", "tresusageinmaxnode", "tresusageinmaxtask"),
    *("tresusageinmin", "tresusageinminnode", "tresusageinmintask", "tresusageinave"),
    *("tresusageintot", "tresusageoutmax", "tresusageoutave", "tresusageouttot"),
)

# Columns with lists, by the delimiter that these may contain.
_LISTS: dict[str, tuple[str, ...]] = {
    ",": (*_RESOURCE_LISTS, "nodelist", "partition", "reason", "flags", "allocgres", "reqgres"),
    "|": ("constraints",),
}

_Fits = Callable[[str], object]


def _known_time(text: str) -> bool:
    if _SHORT_NUMBER.fullmatch(text):  # a count rather than seconds since 1970
        return text == "0"
    return _ISO.fullmatch(text) is not None or is_time(text)


KNOWN: dict[str, _Fits] = {
    **dict.fromkeys(("submit", "eligible", "start", "end"), _known_time),
    **dict.fromkeys(("elapsed", "elapsedraw", "timelimit", "timelimitraw"), _DURATION.fullmatch),
    **dict.fromkeys(("suspended", "cputime", "cputimeraw", "totalcpu"), _DURATION.fullmatch),
    **dict.fromkeys(("usercpu", "systemcpu", "mincpu", "avecpu"), _DURATION.fullmatch),
    **dict.fromkeys(("planned", "plannedcpu", "reserved", "resvcpu"), _DURATION.fullmatch),
    **dict.fromkeys(("nnodes", "allocnodes", "ncpus", "reqcpus", "alloccpus"), _COUNT.fullmatch),
    **dict.fromkeys(("reqnodes", "ntasks", "gid", "uid", "priority"), _COUNT.fullmatch),
    **dict.fromkeys(("reqmem", "maxrss", "averss", "maxvmsize", "avevmsize"), _AMOUNT.fullmatch),
    **dict.fromkeys(("consumedenergy", "consumedenergyraw"), _AMOUNT.fullmatch),
    **dict.fromkeys(("exitcode", "derivedexitcode"), _EXIT_CODE.fullmatch),
    **dict.fromkeys(_RESOURCE_LISTS, _RESOURCES.fullmatch),
    **dict.fromkeys(("allocgres", "reqgres"), _GENERIC.fullmatch),
    **dict.fromkeys(("cluster", "user", "group", "account", "qos", "partition"), _WORD.fullmatch),
    **dict.fromkeys(("jobid", "jobidraw"), is_id),
    "state": lambda text: state(text) in STATES,
    "nodelist": _NODES.fullmatch,
    "constraints": _CONSTRAINTS.fullmatch,
    "flags": _FLAGS.fullmatch,
    "reason": _REASON.fullmatch,
}
_NEVER_EMPTY = ("jobid", "jobidraw", "submit", "state")


def fits(name: str, cell: str) -> bool:
    """Return whether a text may be a cell of a column; any may, if the column is not known.

    Examples
    --------
    >>> fits("alloctres", "cpu=4,node=1"), fits("alloctres", "train"), fits("end", "Unknown")
    (True, False, True)
    """
    known = KNOWN.get(name)
    if known is None or (cell in NO_VALUE and name not in _NEVER_EMPTY):
        return True
    return bool(known(cell))


def may_contain(name: str, delimiter: str) -> bool:
    """Return whether cells of a column may contain the delimiter."""
    return name in _FREE or name in _LISTS.get(delimiter, ())


def is_free(name: str) -> bool:
    """Return whether a column contains free text."""
    return name in _FREE


def goes_on(name: str, text: str, other: str) -> bool:
    """Return whether text next to a list of resources belongs to it, not to the other column."""
    lists = name in _RESOURCE_LISTS and other not in _RESOURCE_LISTS
    return lists and _ONE_RESOURCE.fullmatch(text) is not None


_FREE = frozenset(name.lower() for name in FREE_TEXT)
