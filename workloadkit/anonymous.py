"""Anonymize a log: other numbers, no names, another date; the workload stays as it is."""

import hmac
import re
import secrets
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workloadkit import __version__
from workloadkit.clock import WEEK, span
from workloadkit.columns import Columns
from workloadkit.errors import ParameterError, WorkloadError
from workloadkit.fields import UNKNOWN
from workloadkit.header import Header
from workloadkit.io.names import numbers_of
from workloadkit.machine.description import MachineDescription, Switch
from workloadkit.machine.hostlists import compress, expand_counted
from workloadkit.machine.requests import field_of_partitions, partitions_of
from workloadkit.provenance import jobs_removed, moved_times
from workloadkit.record_fields import BY_NAME
from workloadkit.trace import Trace, check_trace

if TYPE_CHECKING:
    import pandas as pd

#: Fields of the standard with names, as numbers.
_NUMBERED = ("user", "group", "executable", "queue", "partition")

#: Fields of which the numbers follow from the key, if one is given.
_KEYED = ("user", "group", "executable")

#: Columns of the side-car with further names.
_ALSO_NUMBERED = ("account", "qos")

#: Columns of the side-car without names or instants.
_KEPT = (
    *("suspended", "nodes", "gpus", "requested_nodes", "requested_gpus", "procs_per_node"),
    *("gpu_use", "energy", "attempts"),
)

#: Words of the side-car that stay; other words of these columns become unknown.
_CHOICES = {"exclusive": ("yes",), "requested_memory_per": ("node", "cpu", "job")}

#: A feature in a request such as ``[a*2&b|c]``, or a count, which stays.
_FEATURE = re.compile(r"(\*[0-9]+(?![^&,|()\[\]*!]))|[^&,|()\[\]*!]+")

#: Labels of the header whose number is kept, or one of whose words.
_COUNTS = (
    *("MaxJobs", "MaxRecords", "MaxNodes", "MaxProcs", "MaxRuntime", "MaxMemory"),
    *("MaxQueues", "MaxPartitions"),
)
_WORDS = {
    "Preemption": ("No", "Yes", "Double", "TS"),
    "AllowOveruse": ("No", "Yes", "True", "False"),
}

#: The log begins this many weeks earlier: more than a year, at most some twenty.
_FEWEST_WEEKS, _MOST_WEEKS = 53, 1040


def anonymize(trace: Trace, *, key: bytes | None = None) -> Trace:
    """Return a log without names, ids and dates, and with the same workload.

    Jobs, users, groups, executables, queues and partitions are numbered from 1 in the order of
    their numbers, accounts and QOS by their first job. Of the machine's description, nodes,
    switches, features and pools are numbered in its order, partitions and queues as those of the
    jobs. The log begins at the same hour of the same weekday, one to twenty years earlier, and
    local time becomes its only time. Times, sizes, memory and status of the jobs are kept, and so
    are sessions, batches, loads and schedules: policies break ties by the order of numbers.

    Parameters
    ----------
    trace : Trace
    key : bytes, optional
        Secret from which the numbers of users, groups, executables, accounts and QOS, and the
        number of weeks are derived: the same in every log.

    Returns
    -------
    Trace
        Of the header, counts are kept, and that times are not those that were recorded; of the
        side-car, amounts, `eligible`, and the nodes, features and pools of the jobs. All else is
        left out.

    Raises
    ------
    ParameterError
        If the key is empty, or gives two names the same number.

    Examples
    --------
    >>> header = Header(("; Computer: Deep Thought", "; MaxProcs: 8"))
    >>> columns = {"job": [70, 71], "submit": [0, 60], "run": [90, 30], "user": [1042, 1007]}
    >>> log = anonymize(Trace.from_columns(columns, header=header, name="thought.swf"))
    >>> log.jobs[["job", "submit", "run", "user"]].to_numpy().astype(int).tolist()
    [[1, 0, 90, 2], [2, 60, 30, 1]]
    >>> log.name, log.header.get("MaxProcs"), log.header.get("Computer")
    ('anonymous', '8', None)
    """
    check_trace(trace)
    if key is not None and (not isinstance(key, bytes) or not key):
        raise ParameterError("key", "must be non-empty bytes")
    numbers = {name: _numbers(trace, name, key) for name in _NUMBERED}
    jobs, bursts = _renumbered(trace, numbers)
    header, shift = _header(trace, key or secrets.token_bytes())
    names = _Names(trace, numbers)
    machine = names.machine()  # before the side-car: names are numbered in its order
    return trace.replaced(
        jobs=jobs,
        bursts=bursts,
        header=header,
        name="anonymous",
        digest="",
        made_from="",
        changes=(),
        repairs=(),
        dropped=(),
        sidecar=_sidecar(trace, numbers, key, shift, names),
        intake=None,
        machine=machine,
    )


def _numbers(trace: Trace, name: str, key: bytes | None) -> NDArray[np.int64]:
    """Return the new numbers of jobs, then of bursts: in the order of the old ones, or keyed."""
    import pandas as pd

    old = np.concatenate([trace.column(name), np.asarray(trace.table("bursts")[name])])
    kept = (old < 0) | ((old == 0) & (name == "queue"))  # unknown, and the interactive queue
    known, code = np.unique(old[~kept], return_inverse=True)
    new = old.copy()
    if key is None or name not in _KEYED:
        new[~kept] = 1 + code
    else:
        words = pd.Series(pd.Categorical.from_codes(code, categories=known.astype(str)))
        new[~kept] = numbers_of(words, name, key=key)[0]
    return new


def _renumbered(trace: Trace, numbers: dict[str, NDArray[np.int64]]) -> tuple[Any, Any]:
    """Return the tables of jobs and bursts with new numbers."""
    jobs, bursts = trace.table("jobs"), trace.table("bursts")
    ids = {
        name: np.concatenate([np.asarray(jobs[name]), np.asarray(bursts[name])])
        for name in ("job", "preceding_job")
    }
    known = np.unique(np.concatenate([*ids.values()]))
    known = known[known >= 0]
    new = {
        name: np.where(old < 0, old, 1 + np.searchsorted(known, old)) for name, old in ids.items()
    } | numbers
    of_jobs = {name: column[: trace.n_jobs] for name, column in new.items()}
    of_bursts = {name: column[trace.n_jobs :] for name, column in new.items()}
    return _with(jobs, of_jobs), _with(bursts, of_bursts)


def _header(trace: Trace, secret: bytes) -> tuple[Header, float | None]:
    """Return the new header, and by how much instants in seconds since 1970 UTC are shifted."""
    old = trace.header
    start, shift = _start(old, secret)
    entries = [("Version", "2.2"), ("Conversion", f"workloadkit {__version__}, anonymized")]
    counts = ((label, old.number(label)) for label in _COUNTS)
    entries += [(label, str(number)) for label, number in counts if number is not None]
    for label, words in _WORDS.items():
        given = (old.get(label) or "").lower()
        entries += [(label, word) for word in words if word.lower() == given]
    if start is not None:
        entries.append(("UnixStartTime", str(start)))
        if old.time_zone is not None or old.wall_start is not None:
            entries += [("TimeZone", "0"), ("TimeZoneString", "UTC")]
            dates = Header().appended(*entries)
            last = span(trace)[1] if trace.n_jobs else 0.0
            for label, second in (("StartTime", 0.0), ("EndTime", last)):
                if old.get(label) is not None and (date := dates.date(second)):
                    entries.append((label, date))
    if old.window is not None:
        entries.append(("Window", Header().window_text(*old.window)))
    if removed := jobs_removed(old):
        entries.append(("Note", f"filters ({removed} jobs removed)"))
    if made := moved_times(old):
        what = "simulated" if made[-1] == "simulated" else "resampled"
        entries.append(("Note", f"{what}: workloadkit {__version__}"))
    return Header().appended(*entries), shift


def _start(old: Header, secret: bytes) -> tuple[int | None, float | None]:
    """Return the new second 0, in local time, and by how much instants since 1970 are shifted.

    The number of weeks follows from the secret, so that logs of one secret keep their distances.
    """
    begin = old.start
    wall = old.wall_start
    if begin and old.time_zone is not None:
        with suppress(ValueError, OverflowError, OSError):  # outside the range of dates
            wall = datetime.fromtimestamp(begin, old.time_zone).replace(tzinfo=None)
    if wall is None and not begin:
        return None, None
    local = int(wall.replace(tzinfo=UTC).timestamp()) if wall else int(begin or 0)
    digest = hmac.digest(secret, b"weeks", "sha256")
    weeks = _FEWEST_WEEKS + int.from_bytes(digest[:8], "big") % (_MOST_WEEKS - _FEWEST_WEEKS)
    new = local - WEEK * weeks
    if new <= 0:  # 0 is an unknown start
        new = WEEK + local % WEEK
    return new, new - begin if begin else None


class _Words(dict[str, str]):
    """New names of one kind: a letter, and numbers from 1 in the order in which they are met."""

    def __init__(self, letter: str) -> None:
        super().__init__()
        self.letter = letter

    def __missing__(self, word: str) -> str:
        return self.setdefault(word, f"{self.letter}{len(self) + 1}")


class _Names:
    """The new names of what a log's machine has, for its description and for the side-car."""

    def __init__(self, trace: Trace, numbers: dict[str, NDArray[np.int64]]) -> None:
        self.node, self.feature, self.pool, self.switch = map(_Words, "nfps")
        self.old = trace.machine
        self.partition: dict[str, str] = {}
        #: Words of the jobs in the field that names partitions, if not the numbers of the field.
        self.field, self.words = field_of_partitions(trace), np.empty(0, object)
        if self.old is not None and self.old.partitions:
            self._name_partitions(trace, self.old, numbers[self.field])

    def _name_partitions(
        self, trace: Trace, machine: MachineDescription, numbers: NDArray[np.int64]
    ) -> None:
        """Name each partition by a number that its jobs alone have, or by an unused one."""
        parts = machine.partitions
        no_default = replace(machine, partitions=tuple(replace(p, default=False) for p in parts))
        place, number = partitions_of(trace, no_default), numbers[: trace.n_jobs]
        places: dict[int, list[int]] = {}
        for one, its in np.unique(np.stack([number, place], axis=1), axis=0).tolist():
            places.setdefault(one, []).append(its)
        unused = max(numbers.max(initial=0), 0) + 1
        for i, part in enumerate(parts):
            own = [one for one, its in places.items() if its == [i]]
            self.partition[part.name] = str(own[0] if own else unused + i)
        shown = np.where(number == UNKNOWN, "", number.astype(str)).astype(object)
        names = np.array([*self.partition.values(), ""], object)
        words = np.where(place >= 0, names[place], shown)
        if (words != shown).any():
            self.words = words

    def nodes(self, text: str) -> str:
        """Return a list of nodes; empty if the text is none."""
        with suppress(WorkloadError):
            groups = groupby(expand_counted(text), key=lambda node: node[1])
            lists = ((procs, compress(self.node[name] for name, _ in its)) for procs, its in groups)
            return ",".join(f"{procs}*{nodes}" if procs else nodes for procs, nodes in lists)
        return ""

    def features(self, text: str) -> str:
        """Return a request for features."""
        return _FEATURE.sub(lambda found: found[1] or self.feature[found[0]], text)

    def pools(self, text: str) -> str:
        """Return requested amounts such as ``matlab=2,bb=10``."""
        amounts = (part.partition("=") for part in text.split(","))
        return ",".join(f"{self.pool[name]}={n}" for name, _, n in amounts if n.isdecimal())

    def machine(self) -> MachineDescription | None:
        """Return the description of the machine."""
        if self.old is None:
            return None
        nodes = (
            replace(
                kind,
                names=self.nodes(kind.names),
                features=tuple(self.feature[name] for name in kind.features),
                partitions=tuple(self.partition[name] for name in kind.partitions),
            )
            for kind in self.old.nodes
        )
        switches = (
            Switch(
                name=self.switch[switch.name],
                nodes=self.nodes(switch.nodes),
                switches=tuple(self.switch[name] for name in switch.switches),
            )
            for switch in self.old.switches
        )
        parts = (replace(part, name=self.partition[part.name]) for part in self.old.partitions)
        pools = {self.pool[name]: amount for name, amount in self.old.pools.items()}
        return MachineDescription(
            nodes=tuple(nodes), partitions=tuple(parts), pools=pools, switches=tuple(switches)
        )


def _sidecar(
    trace: Trace,
    numbers: dict[str, NDArray[np.int64]],
    key: bytes | None,
    shift: float | None,
    names: _Names,
) -> "pd.DataFrame | None":
    """Return the side-car: amounts, new names, and when jobs became eligible."""
    import pandas as pd

    if trace.sidecar is None and not names.words.size:
        return None
    known = pd.DataFrame(index=range(trace.n_jobs)) if trace.sidecar is None else trace.sidecar
    made: dict[str, Any] = {name: known[name] for name in _KEPT if name in known}
    for name in (*_NUMBERED, *_ALSO_NUMBERED):
        if name in known:
            words = pd.Series(pd.Categorical(known[name].astype(str)))
            further = name in _ALSO_NUMBERED
            number = numbers_of(words, name, key=key)[0] if further else numbers[name]
            number = number[: trace.n_jobs]
            shown = np.where(number == UNKNOWN, "", number.astype(str))
            made[name] = pd.Series(pd.Categorical(shown))
    if names.words.size:
        made[names.field] = pd.Series(pd.Categorical(names.words))
    for name in ("node_list", "features", "pools", *_CHOICES):
        if name in known:
            code, old = pd.factorize(known[name].astype(object).fillna(""))
            if name in _CHOICES:
                new = [word if word in _CHOICES[name] else "" for word in old]
            else:
                rename = names.nodes if name == "node_list" else getattr(names, name)
                new = [rename(word) for word in old]
            made[name] = pd.Series(pd.Categorical(np.array(new, object)[code]))
    if shift is not None and "eligible" in known:
        made["eligible"] = known["eligible"] + shift
    columns = [name for name in BY_NAME if name in made]
    return pd.DataFrame({name: made[name].array for name in columns})


def _with(table: Any, columns: dict[str, NDArray[np.int64]]) -> Columns:
    return Columns({name: columns.get(name, np.asarray(table[name])) for name in table})
