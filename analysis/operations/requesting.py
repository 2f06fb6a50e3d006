"""Report section on the machine: its nodes and partitions, and what jobs request of it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from workloadkit.analysis import style
from workloadkit.analysis.formats import UNKNOWN, count, duration, number, printable, share
from workloadkit.analysis.operations.accounting import hours_unit
from workloadkit.analysis.operations.needs import partitions, requested
from workloadkit.analysis.operations.parts import hours, listed
from workloadkit.analysis.section import Columns, Figure, Section, Table, facts, shown
from workloadkit.errors import plural
from workloadkit.machine.description import MachineDescription
from workloadkit.trace import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NAME, _TITLE = "machine", "Machine and requests"
_GB = 1 << 20  # KB
_LEAST = "≥ "  # before what is inferred
_INFERRED = (
    "≥ is inferred from the jobs: the most that was in use at once. What no job used is missing."
)

_MOST_DRAWN = 10

# Requests that some jobs make and others do not, in the order of the figure
_DRAWN = (
    *("more than one node", "memory per processor", "memory per node"),
    *("more memory than its share", "GPUs", "features", "whole nodes"),
)


def section(trace: Trace) -> Section | None:
    """Report the machine and what jobs request; None without its description and a side-car."""
    machine = trace.machine
    if machine is None and trace.sidecar is None:
        return None
    table = requested(trace)
    tables: list[Table] = []
    values: dict[str, Any] = {}
    notes, gaps, sentences = [], [], []
    if machine is None:
        gaps.append(
            "The nodes and partitions of the machine are unknown: accounting with the nodes of "
            "each job, or a description next to the log, shows them."
        )
    else:
        values = _values(machine)
        sentences.append(_in_words(machine))
        tables += _of_machine(machine)
        parts = partitions(trace)
        if len(parts):
            tables.append(_of_partitions(trace, parts))
    sentences.append(_main_requests(table))
    tables.append(_of_requests(table))
    missing = [name for name in ("GPUs", "features", "whole nodes") if name not in table.index]
    if missing:
        notes.append(f"No job requests {' or '.join(missing)}, or accounting does not show it.")
    notes.append(
        "Processors and nodes are those requested, else those allocated; GPUs whichever are more. "
        "Processors per node are requested, else processors / nodes. A job's share of memory is "
        "that of its processors in a node of its partition. Whole nodes are requested, or given by "
        "a partition. A percentile is left out (–) if fewer than five jobs exceed it."
    )
    figure = _figure(table)
    return Section(
        _NAME,
        _TITLE,
        " ".join(sentences),
        (*notes, *gaps),
        values,
        tuple(tables),
        () if figure is None else (figure,),
        gaps=tuple(gaps),
    )


def _values(machine: MachineDescription) -> dict[str, Any]:
    memory = sum(kind.count * (kind.memory or 0) for kind in machine.nodes)
    return {
        "inferred": machine.is_inferred,
        "nodes": machine.n_nodes,
        "node_types": len(machine.nodes),
        "processors": machine.procs,
        "memory": memory or None,
        "gpus": machine.gpus,
        "partitions": len(machine.partitions),
        "pools": dict(machine.pools),
        "switches": len(machine.switches),
    }


def _in_words(machine: MachineDescription) -> str:
    """Return the size of the machine as a sentence."""
    has = [plural(machine.procs, "processor")]
    if machine.n_nodes:
        has.append(plural(machine.n_nodes, "node"))
    if machine.gpus:
        has.append(plural(machine.gpus, "GPU"))
    if machine.partitions:
        has.append(plural(len(machine.partitions), "partition"))
    text = _enumerated(has)
    if machine.is_inferred:
        return f"As inferred from the jobs, the machine has at least {text}."
    return f"The machine has {text}."


def _enumerated(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))


def _of_machine(machine: MachineDescription) -> list[Table]:
    """Return the node types, pools and switches."""
    tables = []
    if machine.nodes:
        names = [kind.names or f"type {i}" for i, kind in enumerate(machine.nodes, start=1)]
        columns = ["count", "cores", "memory", "gpus", "partitions", "features", "inferred"]
        data = pd.DataFrame([vars(kind) for kind in machine.nodes])[columns]
        for words in ("partitions", "features", "inferred"):
            data[words] = [", ".join(each) for each in data[words]]
        data.index = pd.Index(names, name="nodes", dtype=object)
        text = pd.DataFrame(
            {
                "nodes": [_size(kind, "count", kind.count) for kind in machine.nodes],
                "processors each": [_size(kind, "cores", kind.cores) for kind in machine.nodes],
                "memory each, GB": [_size(kind, "memory", _gb(kind)) for kind in machine.nodes],
                "GPUs each": [_size(kind, "gpus", kind.gpus) for kind in machine.nodes],
                "partitions": [printable(each, 40) or UNKNOWN for each in data["partitions"]],
                "features": [printable(each, 40) or UNKNOWN for each in data["features"]],
            },
            index=[printable(name, 40) for name in names],
            dtype=object,
        )
        text = text.loc[:, (text != UNKNOWN).any()]
        inferred = f" {_INFERRED}" if any(kind.inferred for kind in machine.nodes) else ""
        tables.append(Table("nodes", f"Node types.{inferred}", data, text))
    if machine.pools:
        rows = {name: (amount, count(amount)) for name, amount in machine.pools.items()}
        tables.append(facts("pools", "Resources without a place, such as licences.", rows))
    return tables


def _gb(kind: Any) -> float:
    return np.nan if kind.memory is None else kind.memory / _GB


def _size(kind: Any, name: str, amount: float) -> str:
    """Format a number of a node type: marked if it is inferred; an inferred 0 is unknown."""
    if name not in kind.inferred:
        return number(amount)
    return f"{_LEAST}{number(amount)}" if amount > 0 else UNKNOWN


def _of_partitions(trace: Trace, data: pd.DataFrame) -> Table:
    columns: Columns = {
        "nodes": ("nodes", count),
        "procs": ("processors", count),
        "gpus": ("GPUs", count),
        "max_time": ("longest time", duration),
        "exclusive": ("whole nodes", lambda x: {True: "yes", False: "no"}.get(x, UNKNOWN)),
        "jobs": ("jobs", count),
        "core_hours": (hours_unit(trace), hours),
        "core_share": ("share", share),
        "gpu_hours": ("GPU-hours", hours),
    }
    caption = "Partitions, and what their jobs used. Nodes of several partitions count in each."
    table = listed("partitions", caption, data, columns)
    inferred = data["inferred"].to_numpy(bool)[: len(table.shown)]
    for title in ("nodes", "processors", "GPUs"):
        if title in table.shown:
            cells = table.shown[title]
            table.shown[title] = cells.where(~inferred | cells.eq(UNKNOWN), _LEAST + cells)
    return table


def _of_requests(data: pd.DataFrame) -> Table:
    columns: Columns = {
        "jobs": ("jobs", count),
        "share": ("of the jobs", share),
        "core_share": ("of the work", share),
        "distinct": ("distinct", count),
    }
    text = shown(data, columns)
    titles = {"least": "least", "p50": "median", "p90": "90th percentile", "most": "most"}
    for name, title in titles.items():
        text[title] = [_amount(kind, value) for kind, value in data[name].items()]
    caption = "What jobs request: how many jobs do, and how much a job requests."
    return Table("requests", caption, data, text)


def _amount(kind: Any, value: float) -> str:
    """Format an amount of a request."""
    if str(kind).startswith("memory") and not np.isnan(value):
        return f"{number(value / _GB)} GB"
    return number(value)


def _main_requests(table: pd.DataFrame) -> str:
    """Return the shares of the jobs with the main requests as a sentence."""
    names = ("more than one node", "GPUs", "whole nodes", "more memory than its share")
    found = [
        f"{share(table.loc[name, 'share'])} {'of the jobs request ' * (not i)}{name}"
        for i, name in enumerate(name for name in names if name in table.index)
    ]
    if not found:
        return "No job is known to request more than processors and memory of one node."
    return f"{_enumerated(found)}."


def _figure(table: pd.DataFrame) -> Figure | None:
    pools = [name for name in table.index if str(name).startswith("pool ")]
    drawn = [name for name in (*_DRAWN, *pools) if name in table.index][:_MOST_DRAWN]
    if not drawn:
        return None
    data = table.loc[drawn, ["share", "core_share"]]
    most = data["share"].idxmax()
    return Figure(
        "requests",
        "Jobs with each request",
        "Share of the jobs that make each request, and of the work of these jobs.",
        data,
        plot_requests,
        alt=f"{share(data['share'].max())} of the jobs request {most}; "
        f"{plural(len(data), 'request')} in total.",
    )


def plot_requests(data: pd.DataFrame, ax: "Axes | None" = None) -> "Axes":
    """Draw the shares of jobs and work with each request.

    Parameters
    ----------
    data : DataFrame
        By request: `share` and `core_share`.
    """
    ax = style.current_axes(ax)
    place = np.arange(len(data))
    bars = (
        ("share", "jobs", style.BLUE, -0.19),
        ("core_share", "work", style.ORANGE, 0.19),
    )
    for column, title, colour, shift in bars:
        ax.barh(place + shift, np.nan_to_num(data[column]), 0.34, color=colour, label=title)
    ax.set_yticks(place, [printable(str(name), 30) for name in data.index])
    ax.invert_yaxis()
    ax.set_xlim(0, 1)
    ax.set_xlabel("share")
    style.share_axis(ax.xaxis)
    style.legend_above(ax)
    return ax
