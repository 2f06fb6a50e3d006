"""Adapt the pools of one or several logs to the machine of the new log."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from workloadkit.columns import Columns
from workloadkit.distinct import distinct
from workloadkit.errors import ParameterError, WorkloadError, check_number, plural, quoted
from workloadkit.fields import MAX_PROCS, NAMES, UNKNOWN
from workloadkit.header import Header
from workloadkit.record_fields import BY_NAME
from workloadkit.resample.pools import ResamplingPools
from workloadkit.trace import Trace
from workloadkit.units import joined_counting, words_of

if TYPE_CHECKING:
    import pandas as pd

#: Fields with numbers that have a different meaning in each log.
NUMBERED = ("group", "executable", "queue", "partition")

_SIZES = ("procs", "requested_procs")

_SINCE_1970 = ("submit", "eligible", "start", "end")


def joined_logs(traces: Sequence[Trace]) -> Trace:
    """Join the jobs of logs in one, in their order and in the time of the first.

    It has a machine if that of all logs is the same.
    """
    first = traces[0]
    if len(traces) == 1:
        return first
    jobs = {name: np.concatenate([t.column(name) for t in traces]) for name in NAMES}
    rows = np.cumsum([0, *(trace.n_jobs for trace in traces)])
    points = [trace.table("utility") for trace in traces]
    utility = {
        name: np.concatenate([np.asarray(table[name]) for table in points])
        for name in ("row", "time", "value")
    }
    utility["row"] += np.repeat(rows[:-1], [len(table) for table in points])
    machine = first.machine
    dropped = first.dropped
    if any(trace.machine != machine for trace in traces):
        machine, dropped = None, (*dropped, "machine")
    return first.replaced(
        jobs=Columns(jobs),
        bursts=first.no_bursts,
        utility=Columns(utility),
        sidecar=_joined_sidecars(traces),
        machine=machine,
        dropped=dropped,
        counting=joined_counting(traces),
    )


def _joined_sidecars(traces: Sequence[Trace]) -> "pd.DataFrame | None":
    """Join what logs know beyond the standard; the rest is unknown. Instants are of the first."""
    if all(trace.sidecar is None for trace in traces):
        return None
    import pandas as pd

    from workloadkit.io.sidecar import with_kinds

    parts = []
    for trace in traces:
        part = pd.DataFrame(index=range(trace.n_jobs)) if trace.sidecar is None else trace.sidecar
        later = (traces[0].header.start or 0) - (trace.header.start or 0)
        instants = {name: part[name] + later for name in _SINCE_1970 if name in part}
        words = part.select_dtypes("category").astype(object)
        parts.append(part.assign(**words, **instants))
    joined = pd.concat(parts, ignore_index=True)
    for name in joined.columns[joined.isna().any()]:
        if name in BY_NAME and BY_NAME[name].kind == "whole":
            joined[name] = joined[name].fillna(UNKNOWN)
        elif joined[name].dtype.kind not in "biuf":
            joined[name] = joined[name].fillna("")
    return with_kinds("the joined side-cars", joined)


def fit_machine(
    pools: ResamplingPools, procs: int | None = None, rescale: bool = False
) -> ResamplingPools:
    """Adapt the pools to one machine.

    Parameters
    ----------
    pools : ResamplingPools
    procs : int, optional
        Processors of the machine; by default those of the largest machine in the logs.
    rescale : bool, default False
        Whether to scale the used and requested processors of jobs by the ratio of the machine to
        that of their log (rounded half up, at least 1).

    Returns
    -------
    ResamplingPools
        The header's MaxProcs is the machine. With several logs, groups, executables, queues and
        partitions of each log get separate numbers, which follow those of the previous logs; a
        note records the offsets.

    Raises
    ------
    ParameterError
        If `procs` is invalid, or a job is larger than the machine.
    WorkloadError
        If sizes are rescaled and the header of a log does not state its machine.
    """
    if not isinstance(rescale, bool):
        raise ParameterError("rescale", f"is {quoted(rescale)}; it must be True or False")
    several = len(pools.logs) > 1
    own = [log.header.procs for log in pools.logs]
    if procs is None:
        machine = max((size for size in own if size), default=None)
    else:
        check_number("procs", procs)
        if not (procs % 1 == 0 and 1 <= procs <= MAX_PROCS):
            raise ParameterError(
                "procs", f"is {procs:g}; it must be a whole number from 1 to {MAX_PROCS:,}"
            )
        machine = int(procs)
    if procs is None and not several:
        return pools  # machine and sizes are unchanged
    log = np.repeat(pools.members.log, pools.members.n_jobs)
    names = ("job", *_SIZES, *(NUMBERED if several else ()))
    columns = {name: pools.trace.column(name) for name in names}
    if several:  # logs without field 5 have processors in field 8
        columns["procs"] = np.where(columns["procs"] > 0, *(columns[name] for name in _SIZES))
    if rescale:
        factor = np.array([_factor(pools, i, machine) for i in range(len(own))])[log]
        for name in _SIZES:
            columns[name] = _rescaled(columns[name], factor)
    header = pools.logs[0].header
    if machine is not None:
        _check_sizes(pools, columns, log, machine)
        header = header.with_procs(machine)
    if several:
        header = _number_apart(pools, columns, log, header)
    logs = (replace(pools.logs[0], header=header), *pools.logs[1:])
    trace = pools.trace if machine is None else pools.trace.with_procs(machine)
    if trace.counting is not None and {*own} != {machine}:
        trace = trace.replaced(counting=trace.counting.of_another_machine())
    return replace(pools, logs=logs, trace=trace.with_columns(**columns))


def _factor(pools: ResamplingPools, log: int, machine: int | None) -> float:
    own = pools.logs[log].header.procs
    if not own or not machine:
        raise WorkloadError(
            f"{pools.logs[log].name}: the header has no MaxProcs, so sizes cannot be rescaled"
        )
    return machine / own


def _rescaled(sizes: NDArray, factor: NDArray) -> NDArray[np.float64]:
    """Return scaled sizes, rounded half up, at least 1; unknown sizes are unchanged."""
    with np.errstate(invalid="ignore"):
        return np.where(sizes > 0, np.maximum(np.floor(sizes * factor + 0.5), 1), sizes)


def _check_sizes(
    pools: ResamplingPools, columns: dict[str, NDArray], log: NDArray[np.int64], machine: int
) -> None:
    """Check that no job needs more processors than the machine has."""
    used, requested = (columns[name] for name in _SIZES)
    needed = np.where(requested > 0, requested, used)
    large = np.flatnonzero(needed > machine)
    if large.size:
        worst = large[np.argmax(needed[large])]
        name, job = pools.logs[log[worst]].name, columns["job"][worst]
        unit = words_of(pools.trace).one
        raise ParameterError(
            f"{name}: job {job} needs {plural(needed[worst], unit)}, the machine has "
            f"{machine} ({plural(large.size, 'such job')}); increase procs, or rescale",
        )


def _number_apart(
    pools: ResamplingPools, columns: dict[str, NDArray], log: NDArray[np.int64], header: Header
) -> Header:
    """Separate the numbers of the logs by offsets."""
    raised = np.zeros((len(pools.logs), len(NUMBERED)), np.int64)
    for i, name in enumerate(NUMBERED):
        values = columns[name].copy()
        following = 0
        for number in range(len(pools.logs)):
            known = (log == number) & (columns[name] >= 0)
            if known.any():
                raised[number, i] = following
                values[known] += following
                following = int(values[known].max()) + 1
        columns[name] = values
    for by, of in zip(raised[1:].tolist(), pools.logs[1:], strict=True):
        raised_by = ", ".join(f"{name} {n}" for name, n in zip(NUMBERED, by, strict=True) if n)
        if raised_by:
            header = header.appended(("Note", f"numbers of {of.name} raised by: {raised_by}"))
        header = _with_names(header, of.header, dict(zip(NUMBERED, by, strict=True)))
    for label in ("Queue", "Partition"):
        if header.get(f"Max{label}s") is not None:
            n_used = distinct(columns[label.lower()][columns[label.lower()] >= 0]).size
            n_known = max(n_used, len(header.listed(label)))
            header = header.replaced(f"Max{label}s", str(n_known))
    return header


def _with_names(header: Header, of: Header, raised: Mapping[str, int]) -> Header:
    """Return a header that also lists the queues and partitions of another one, raised."""
    for label in ("Queue", "Partition"):
        by = raised[label.lower()]
        named = of.names(label).items() if by else ()
        header = header.appended(*((label, f"{number + by} {name}") for number, name in named))
    return header
