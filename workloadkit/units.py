"""A job's amount, and the machine's, in processors, nodes or GPUs, and a log as seen in one.

All parts count the sizes of jobs in processors. A log that is seen in nodes or GPUs has their
numbers in the place of processors, so that all parts count in them. Jobs that hold none are left
out of it, and counted.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import WorkloadError, check_choice, plural
from workloadkit.record_fields import OWN_SIZES
from workloadkit.settings.common import JobUnit

if TYPE_CHECKING:
    from workloadkit.machine.description import MachineDescription
    from workloadkit.trace import Trace


class UnitWords(NamedTuple):
    """How a unit is written: one, several, and the hour of one."""

    one: str
    many: str
    hour: str


#: How units are written.
WORDS: Mapping[JobUnit, UnitWords] = {
    "procs": UnitWords("processor", "processors", "processor-hour"),
    "nodes": UnitWords("node", "nodes", "node-hour"),
    "gpus": UnitWords("GPU", "GPUs", "GPU-hour"),
}

_PROCESSORS = re.compile(r"\b(p|P)rocessor(s|-hours?|-seconds?)?\b")
_LABELS = ("MaxProcs", "MaxNodes")


@dataclass(frozen=True)
class Counting:
    """How a log is seen that does not count processors, and what it was.

    Parameters
    ----------
    unit : {"nodes", "gpus"}
    n_jobs : int
        Jobs of the log.
    none, unknown : int
        Jobs that hold none of the unit, and those of which it is unknown. They are left out.
    sizes : mapping of str to str
        MaxProcs and MaxNodes in the header of the log.
    machine : MachineDescription, optional
        The description of its machine.
    """

    unit: JobUnit
    n_jobs: int
    none: int
    unknown: int
    sizes: Mapping[str, str]
    machine: "MachineDescription | None"

    @property
    def left_out(self) -> int:
        """Jobs that are left out."""
        return self.none + self.unknown

    def of_another_machine(self) -> "Counting":
        """Return the same of jobs on another machine: its processors are unknown."""
        return replace(self, sizes={}, machine=None)

    def __str__(self) -> str:
        left = [f"{self.none:,} that hold{'s' * (self.none == 1)} none"] * (self.none > 0)
        left += [f"{self.unknown:,} of which they are unknown"] * (self.unknown > 0)
        without = f" Left out: {', '.join(left)}." if left else ""
        held = f"held by {self.n_jobs - self.left_out:,} of {plural(self.n_jobs, 'job')}"
        return f"Sizes are counted in {WORDS[self.unit].many}, {held}.{without}"


def text_in_words(words: UnitWords, text: Any) -> Any:
    """Return a text with a unit instead of processors; what is no text does not change.

    Examples
    --------
    >>> text_in_words(WORDS["gpus"], "Processors: 8 processors for 2 processor-hours")
    'GPUs: 8 GPUs for 2 GPU-hours'
    """

    def of_unit(match: re.Match[str]) -> str:
        end = match[2] or ""
        found = words.many if end == "s" else words.one + end
        return found[0].upper() + found[1:] if match[1] == "P" else found

    return _PROCESSORS.sub(of_unit, text) if isinstance(text, str) else text


def words_of(trace: "Trace") -> UnitWords:
    """Return how the unit is written in which a log counts sizes.

    Examples
    --------
    >>> from workloadkit import Trace
    >>> words_of(Trace.from_columns({"submit": [0]})).many
    'processors'
    """
    return WORDS[trace.unit]


def amounts_of(trace: "Trace", unit: JobUnit) -> NDArray[np.float64]:
    """Return what each job holds of a unit: what it was allocated, else what it requested.

    Parameters
    ----------
    trace : Trace
    unit : {"procs", "nodes", "gpus"}
        Processors are those of the log. Nodes and GPUs are those of the side-car. In a log without
        one whose header has MaxNodes, and no other MaxProcs, processors are nodes.

    Returns
    -------
    ndarray of float, shape (n_jobs,)
        NaN for unknown.

    Raises
    ------
    WorkloadError
        If the log does not have them.

    Examples
    --------
    >>> import pandas as pd
    >>> from workloadkit import Trace
    >>> log = Trace.from_columns({"submit": [0, 9], "procs": [16, 4]})
    >>> log = log.replaced(sidecar=pd.DataFrame({"gpus": [2.0, None], "requested_gpus": [2.0, 0]}))
    >>> amounts_of(log, "gpus").tolist(), amounts_of(log, "procs").tolist()
    ([2.0, 0.0], [16.0, 4.0])
    """
    held, requested = _columns(trace, unit)
    return np.where(np.isnan(held), requested, held)


def machine_amount(trace: "Trace", unit: JobUnit) -> int | None:
    """Return what the machine of a log has of a unit; None if that is unknown.

    Processors are MaxProcs, else MaxNodes. Nodes are MaxNodes, else those of the description of the
    machine, which has the GPUs. What the description infers from jobs is not the machine's size.

    Examples
    --------
    >>> from workloadkit import Header, MachineDescription, NodeType, Trace
    >>> log = Trace.from_columns({"submit": [0]}, header=Header(("; MaxNodes: 4", "; MaxProcs: 8")))
    >>> log = log.replaced(machine=MachineDescription(nodes=(NodeType(count=4, cores=2, gpus=1),)))
    >>> machine_amount(log, "procs"), machine_amount(log, "nodes"), machine_amount(log, "gpus")
    (8, 4, 4)
    """
    if unit == trace.unit or unit == "procs":
        return trace.header.procs
    machine, nodes = trace.machine, trace.header.number("MaxNodes")
    if unit == "nodes" and nodes:
        return nodes
    if machine is None or machine.is_inferred:
        return None
    return described_amount(machine, unit) or None


def described_amount(machine: "MachineDescription", unit: JobUnit) -> int:
    """Return what a described machine has of a unit."""
    return {"procs": machine.procs, "nodes": machine.n_nodes, "gpus": machine.gpus}[unit]


def in_unit(trace: "Trace", unit: JobUnit) -> "Trace":
    """Return a log as seen in a unit: the sizes of its jobs and of its machine are counted in it.

    Fields of the standard that are per processor do not change. The description of the machine and
    bursts are left out. `in_processors` returns the log's own sizes, which `write_log` writes.

    Parameters
    ----------
    trace : Trace
    unit : {"procs", "nodes", "gpus"}

    Raises
    ------
    WorkloadError
        If no job is known to hold any.

    Examples
    --------
    >>> import pandas as pd
    >>> from workloadkit import Trace
    >>> log = Trace.from_columns({"submit": [0, 9], "run": [60, 5], "procs": [16, 4]})
    >>> seen = in_unit(log.replaced(sidecar=pd.DataFrame({"gpus": [2.0, 0]})), "gpus")
    >>> seen.column("procs").tolist(), str(seen.counting)
    ([2.0], 'Sizes are counted in GPUs, held by 1 of 2 jobs. Left out: 1 that holds none.')
    >>> in_processors(seen).column("procs").tolist()
    [16.0]
    """
    check_choice("unit", unit, JobUnit)
    if unit == trace.unit:
        return trace
    trace = in_processors(trace)
    if unit == "procs":
        return trace
    import pandas as pd

    held, requested = _columns(trace, unit)
    amounts = np.where(np.isnan(held), requested, held)
    holds = amounts > 0  # False for NaN
    if not holds.any():
        raise WorkloadError(f"{trace.name}: no job holds a {WORDS[unit].one}")
    sizes = {label: text for label in _LABELS if (text := trace.header.get(label)) is not None}
    none = int((amounts == 0).sum())
    unknown = int(np.isnan(amounts).sum())
    counting = Counting(unit, trace.n_jobs, none, unknown, sizes, trace.machine)
    rows = np.flatnonzero(holds)
    kept = trace if holds.all() else trace.take(rows)
    own = dict(zip(OWN_SIZES, (kept.column(name) for name in OWN_SIZES.values()), strict=True))
    table = pd.DataFrame(index=range(rows.size)) if kept.sidecar is None else kept.sidecar
    size, header = machine_amount(trace, unit), trace.header
    if size is None:
        header = header.without("MaxProcs").without("MaxNodes")
    else:
        header = header.replaced("MaxProcs", str(size))
    seen = {"procs": held[rows], "requested_procs": requested[rows]}
    return kept.replaced(
        **_origin(trace),
        jobs=_with(kept.table("jobs"), seen),
        bursts=kept.no_bursts,
        sidecar=table.assign(**own),
        header=header,
        machine=None,
        counting=counting,
    )


def in_known_unit(trace: "Trace", unit: JobUnit = "procs") -> "Trace":
    """Return a log as seen in a unit; instead of processors in nodes if only these are known.

    Examples
    --------
    >>> import pandas as pd
    >>> from workloadkit import Trace
    >>> log = Trace.from_columns({"submit": [0], "run": [60]})
    >>> in_known_unit(log).unit
    'procs'
    >>> seen = in_known_unit(log.replaced(sidecar=pd.DataFrame({"nodes": [2.0]})))
    >>> seen.unit, seen.ran.tolist()
    ('nodes', [True])
    """
    if unit != "procs" or trace.unit != "procs" or (trace.used_procs > 0).any():
        return in_unit(trace, unit)
    nodes = (_of_sidecar(trace, name) for name in ("nodes", "requested_nodes"))
    return in_unit(trace, "nodes") if any((held > 0).any() for held in nodes) else trace


def in_processors(trace: "Trace") -> "Trace":
    """Return the own sizes of the jobs of a log that was seen in another unit, see `in_unit`.

    Where sizes have been scaled since, the own ones are in proportion.
    """
    counting, sidecar = trace.counting, trace.sidecar
    if counting is None or sidecar is None:
        return trace
    own = {name: sidecar[column].to_numpy() for column, name in OWN_SIZES.items()}
    kept = sidecar.drop(columns=list(OWN_SIZES))
    kept = kept.assign(**{name: own[name] for name in own if name in kept})
    header = trace.header
    for label in _LABELS:
        text = counting.sizes.get(label)
        header = header.without(label) if text is None else header.replaced(label, text)
    return trace.replaced(
        **_origin(trace),
        jobs=_with(trace.table("jobs"), own),
        sidecar=kept if len(kept.columns) else None,
        header=header,
        machine=counting.machine if trace.machine is None else trace.machine,
        counting=None,
    )


def counted_log(trace: "Trace", settings: Any) -> "Trace":
    """Return a log as its jobs are served: seen in the unit of the settings, if they name one.

    On a described machine, jobs have their own processors, and are placed by these and by all that
    they hold of its nodes.
    """
    if getattr(settings, "machine", None) is None:
        return trace if settings.unit == "procs" else in_unit(trace, settings.unit)
    amounts_of(trace, settings.unit)  # an error if they are unknown
    return in_unit(trace, "procs")


def joined_counting(traces: "Sequence[Trace]") -> Counting | None:
    """Return how logs are seen that are joined; their own machine stays if all have the same.

    Raises
    ------
    WorkloadError
        If they are not seen in the same unit.
    """
    first, *others = (trace.counting for trace in traces)
    if any(trace.unit != traces[0].unit for trace in traces):
        raise WorkloadError("the logs count sizes in different units; give all in the same one")
    for other in others:
        if first is not None and other is not None:
            same = (first.sizes, first.machine) == (other.sizes, other.machine)
            first = replace(
                first if same else first.of_another_machine(),
                n_jobs=first.n_jobs + other.n_jobs,
                none=first.none + other.none,
                unknown=first.unknown + other.unknown,
            )
    return first


def _origin(trace: "Trace") -> dict[str, Any]:
    """Return what a log was read from: seen in another unit, it is the same log."""
    names = ("digest", "made_from", "changes")
    return {name: getattr(trace, name) for name in names} | {"_read": ()}


def _with(table: Any, columns: Mapping[str, NDArray]) -> Any:
    """Return a table of jobs with other columns."""
    return type(table)({**table, **columns})


def _columns(trace: "Trace", unit: JobUnit) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what jobs were allocated, and what they requested, of a unit."""
    if unit == trace.unit:
        return trace.used_procs, trace.column("requested_procs")
    if unit == "procs":
        own = [_of_sidecar(trace, column) for column in OWN_SIZES]
        return cast("tuple[NDArray[np.float64], NDArray[np.float64]]", tuple(own))
    held, requested = (_of_sidecar(trace, name) for name in (unit, f"requested_{unit}"))
    if not np.isnan(held).all() or not np.isnan(requested).all():
        return held, requested
    nodes = trace.header.number("MaxNodes")
    if unit == "nodes" and nodes and trace.header.number("MaxProcs") in (None, nodes):
        return trace.used_procs, trace.column("requested_procs")
    what = WORDS[unit].many
    raise WorkloadError(
        f"{trace.name}: the {what} of its jobs are unknown; they are imported from accounting"
    )


def _of_sidecar(trace: "Trace", name: str) -> NDArray[np.float64]:
    """Return a column of numbers of the side-car, NaN for unknown."""
    if trace.sidecar is None or name not in trace.sidecar:
        return np.full(trace.n_jobs, np.nan)
    return trace.sidecar[name].to_numpy(np.float64)
