"""Parse values as printed by `sacct`: durations, memory, counts, resources, ids and states."""

import re
from collections.abc import Callable
from math import inf, nan
from typing import NamedTuple

from workloadkit.fields import CANCELLED, FAILED, UNKNOWN
from workloadkit.io.names import n_tasks

#: Marks an invalid value until it is counted and becomes unknown.
UNREADABLE = inf

#: Texts for missing values.
NO_VALUE = frozenset(
    {"", "None", "none", "N/A", "NA", "Unknown", "unknown", "None assigned", "(null)", "Not set"}
)

#: Status in the Standard Workload Format of jobs that have ended, by state.
ENDED = {
    "COMPLETED": 1,
    "CANCELLED": CANCELLED,
    **dict.fromkeys(("FAILED", "TIMEOUT", "OUT_OF_MEMORY", "NODE_FAIL"), FAILED),
    **dict.fromkeys(("BOOT_FAIL", "DEADLINE", "PREEMPTED", "REVOKED"), FAILED),
    "LAUNCH_FAILED": FAILED,
}

#: States of jobs that have not ended.
NOT_ENDED = (
    *("PENDING", "RUNNING", "REQUEUED", "RESIZING", "SUSPENDED", "CONFIGURING", "COMPLETING"),
    *("REQUEUE_HOLD", "REQUEUE_FED", "RESV_DEL_HOLD", "SIGNALING", "SPECIAL_EXIT"),
    *("STAGE_OUT", "STOPPED", "POWER_UP_NODE", "EXPEDITING", "RECONFIG_FAIL"),
)

STATES = (*ENDED, *NOT_ENDED)

_DURATION = re.compile(r"(?:(\d{1,9})-)?(?:(\d{1,9}):)?(\d{1,9}):(\d{1,9}(?:\.\d{1,9})?)")
_SECONDS = re.compile(r"\d{1,12}(?:\.\d{1,9})?")
_UNLIMITED = frozenset({"UNLIMITED", "Partition_Limit", "PARTITION_LIMIT", "INVALID"})
_AMOUNT = re.compile(r"(\d{1,25})(?:\.(\d{1,9}))?([KMGTPE]?)([nc]?)")
_COUNT = re.compile(r"(\d{1,12})(?:\.(\d{1,4}))?([KMG]?)")
_GPUS = re.compile(r"(?:^|,)(?:gres[/:])?gpu(?::([^=:,]+))?[=:](\d{1,9})(?=$|[,(])")
_ENERGY = re.compile(r"(\d{1,20}(?:\.\d{1,9})?)([KMGTPE]?)")
_JOULES = {unit: 10.0 ** (3 * power) for power, unit in enumerate(["", *"KMGTPE"])}
_ENERGY_OF = re.compile(r"(?:^|,)energy=([^,]*)")
_CPU_OF = re.compile(r"(?:^|,)cpu=([^,]*)")
_MEMORY_OF = re.compile(r"(?:^|,)mem=([^,]*)")
_POOLS = re.compile(r"(?:^|,)(?:license|bb)/([^=,]+)=([^,]*)")
_KB = {"K": 1, "M": 1 << 10, "G": 1 << 20, "T": 1 << 30, "P": 1 << 40, "E": 1 << 50}
_MB = 1 << 10  # [KB]

# The bit for "per processor" in a memory request in MB, before and since Slurm 17.
_OLD_FLAG, _FLAG = 1 << 31, 1 << 63


def duration(text: str) -> float:
    """Return the seconds of ``[days-][hours:]minutes:seconds[.fraction]``, or of seconds.

    Examples
    --------
    >>> duration("451-06:00:24"), duration("06:57.815"), duration("UNLIMITED")
    (38988024.0, 417.815, nan)
    """
    if match := _DURATION.fullmatch(text):
        days, hours, minutes, seconds = match.groups()
        whole = int(days or 0) * 86400 + int(hours or 0) * 3600 + int(minutes) * 60
        return whole + float(seconds)
    if _SECONDS.fullmatch(text):
        return float(text)
    return nan if text in NO_VALUE or text in _UNLIMITED else UNREADABLE


def time_limit(text: str) -> float:
    """Return the seconds of a time limit: ``[days-]hours:minutes:seconds``, or minutes; 0 is none.

    Examples
    --------
    >>> time_limit("1-06:00:00"), time_limit("90"), time_limit("Partition_Limit")
    (108000.0, 5400.0, nan)
    """
    value = duration(text) or nan
    return value if ":" in text else 60 * value


def used_memory(text: str) -> float:
    """Return used memory in KB; without a unit, the text is in bytes.

    Examples
    --------
    >>> used_memory("3228K"), used_memory("438.50M"), used_memory("2048"), used_memory("20H")
    (3228.0, 449024.0, 2.0, inf)
    """
    match = _AMOUNT.fullmatch(text)
    if not match or match[4]:
        return nan if text in NO_VALUE else UNREADABLE
    amount = float(f"{match[1]}.{match[2] or 0}")
    return amount * _KB[match[3]] if match[3] else amount / 1024


class RequestedMemory(NamedTuple):
    """Requested memory: amount [KB], and unit of the request: node, cpu or job."""

    amount: float
    per: str


def requested_memory(text: str) -> RequestedMemory:
    """Parse a memory request.

    ``n`` and ``c`` mean per node and per processor; without a letter, the amount is for the whole
    job (as in Slurm 21 and later). Without a unit it is in megabytes. A number of 2^31 MB or more
    contains the bit for "per processor", which is removed. 0, all memory of a node, is unknown.

    Examples
    --------
    >>> requested_memory("31000Mn")
    RequestedMemory(amount=31744000.0, per='node')
    >>> requested_memory("2147486648Mn")
    RequestedMemory(amount=3072000.0, per='cpu')
    """
    match = _AMOUNT.fullmatch(text)
    if not match:
        return RequestedMemory(nan if text in NO_VALUE else UNREADABLE, "")
    whole, fraction, unit, letter = match.groups()
    amount: float = int(whole) * _KB[unit or "M"]  # exact: a float loses precision near 2^63
    if fraction:
        amount += float(f"0.{fraction}") * _KB[unit or "M"]
    per = {"n": "node", "c": "cpu", "": "job"}[letter]
    for flag in (_FLAG, _OLD_FLAG):
        if flag * _MB <= amount < 2 * flag * _MB:
            amount, per = amount - flag * _MB, "cpu"
    if amount >= _OLD_FLAG * _MB:
        return RequestedMemory(UNREADABLE, "")
    return RequestedMemory(float(amount), per) if amount else RequestedMemory(nan, "")


def count(text: str) -> float:
    """Parse a count; units are powers of 1,024.

    Examples
    --------
    >>> count("256"), count("2K"), count("")
    (256.0, 2048.0, nan)
    """
    match = _COUNT.fullmatch(text)
    if not match:
        return nan if text in NO_VALUE else UNREADABLE
    value = float(f"{match[1]}.{match[2] or 0}") * (1024 * _KB[match[3]] if match[3] else 1)
    return value if value <= 1e9 else UNREADABLE


def energy(text: str) -> float:
    """Return energy in J; units are powers of 1,000.

    0 is unknown: `sacct` prints it if nothing was measured. So are the codes for no value, 2^32 − 2
    and 2^64 − 2.

    Examples
    --------
    >>> energy("52320"), energy("1.29M"), energy("0"), energy("18446744073709551614")
    (52320.0, 1290000.0, nan, nan)
    """
    match = _ENERGY.fullmatch(text)
    if not match:
        return nan if text in NO_VALUE else UNREADABLE
    joules = float(match[1]) * _JOULES[match[2]]
    return joules if 0 < joules < _FLAG and joules != 2**32 - 2 else nan


def energy_of(resources: str) -> float:
    """Return the energy [J] in a list of allocated resources.

    Examples
    --------
    >>> energy_of("billing=4,cpu=4,energy=52320,mem=16G,node=1"), energy_of("cpu=4")
    (52320.0, nan)
    """
    match = _ENERGY_OF.search(resources)
    return energy(match[1]) if match else nan


def cpu_of(resources: str) -> float:
    """Return the CPU time [s] in a list of used resources.

    Examples
    --------
    >>> cpu_of("cpu=1-00:04:59,energy=0,mem=2136K"), cpu_of("energy=0")
    (86699.0, nan)
    """
    match = _CPU_OF.search(resources)
    return duration(match[1]) if match else nan


def memory_of(resources: str) -> float:
    """Return the memory [KB] in a list of used resources; without a unit it is in bytes.

    Examples
    --------
    >>> memory_of("cpu=00:04:59,mem=2136K"), memory_of("cpu=4,vmem=2048")
    (2136.0, nan)
    """
    match = _MEMORY_OF.search(resources)
    return used_memory(match[1]) if match else nan


def tres(resource: str) -> Callable[[str], float]:
    """Return a parser of one countable resource in a list such as ``cpu=12,mem=4G,node=1``.

    Examples
    --------
    >>> tres("cpu")("billing=48,cpu=12,node=1")
    12.0
    """
    pattern = re.compile(rf"(?:^|,){resource}=([^,]*)")

    def read(text: str) -> float:
        match = pattern.search(text)
        return count(match[1]) if match else nan

    return read


def gpus(text: str) -> float:
    """Count the GPUs in a list of resources; GPUs listed with and without type count once.

    Examples
    --------
    >>> gpus("cpu=4,gres/gpu=2,gres/gpu:a100=2"), gpus("gpu:tesla:1,gpu:k80:2"), gpus("cpu=4")
    (2.0, 3.0, 0.0)
    """
    found = _GPUS.findall(text)
    plain = [float(number) for kind, number in found if not kind]
    if found:
        return sum(plain) if plain else sum(float(number) for _, number in found)
    return nan if text in NO_VALUE else 0.0


def names_nodes(text: str) -> int:
    """Return 1 if a list names nodes, -1 if the job had none, and 0 if it is not known.

    Examples
    --------
    >>> names_nodes("c[1-4]"), names_nodes("None assigned"), names_nodes("")
    (1, -1, 0)
    """
    if text.lower() in ("none assigned", "none", "(null)", "n/a"):
        return -1
    return 0 if text in NO_VALUE else 1


def pools(text: str) -> str:
    """Return the licences and burst buffers in a list of resources, with their amounts.

    Examples
    --------
    >>> pools("cpu=4,license/matlab=2,bb/cray=10G"), pools("cpu=4")
    ('matlab=2,cray=10737418240', '')
    """
    found = []
    for name, amount in _POOLS.findall(text):
        if match := _AMOUNT.fullmatch(amount):
            number = int(match[1]) * (1024 * _KB[match[3]] if match[3] else 1)
            found += [f"{name}={number}"] * (0 < number < _OLD_FLAG**2)
    return ",".join(found)


def state(text: str) -> str:
    """Return a state without the user who cancelled the job, completed if it is truncated.

    Examples
    --------
    >>> state("CANCELLED by 129276"), state("OUT_OF_ME+"), state("FOO")
    ('CANCELLED', 'OUT_OF_MEMORY', 'FOO')
    """
    word = text.strip().partition(" ")[0]
    known = word.rstrip("+").upper()
    if known in STATES:
        return known
    if word.endswith("+") and len(known) >= 5:
        longer = [s for s in STATES if s.startswith(known)]
        if len(longer) == 1:
            return longer[0]
    return word


def status(state: str) -> int:
    """Return the status of a state, -1 if the state is unknown."""
    return ENDED.get(state, UNKNOWN)


class JobId(NamedTuple):
    """Parts of an id: job, array or het job, index, number of tasks, and step."""

    job: str
    parent: str
    task: float
    n_tasks: int
    step: str


_ID = re.compile(
    r"(?P<job>(?P<parent>\d{1,19})(?:_(?:(?P<task>\d{1,18})|\[(?P<tasks>[^\]|]*)\]?)"
    r"|\+(?P<het>\d{1,9}))?)(?:\.(?P<step>[^|]{1,40}))?"
)


def is_id(text: str) -> bool:
    """Return whether a text is the id of a job or a step."""
    return _ID.fullmatch(text) is not None


def job_id(text: str) -> JobId | None:
    """Parse the id of a job or a step; None if it is invalid.

    Examples
    --------
    >>> job_id("123_4.batch")
    JobId(job='123_4', parent='123', task=4.0, n_tasks=1, step='batch')
    >>> job_id("123_[1-3,9%2]")
    JobId(job='123_[1-3,9%2]', parent='123', task=nan, n_tasks=4, step='')
    >>> job_id("123+1").parent
    '123'
    """
    match = _ID.fullmatch(text)
    if not match:
        return None
    several = match["task"] or match["tasks"] is not None or match["het"]
    return JobId(
        match["job"],
        match["parent"] if several else "",
        float(match["task"]) if match["task"] else nan,
        n_tasks(match["tasks"]) if match["tasks"] is not None else 1,
        match["step"] or "",
    )
