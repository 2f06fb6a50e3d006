"""`workloadkit traces`: public traces that can be read."""

from textwrap import fill
from typing import TYPE_CHECKING, Annotated

import typer

from workloadkit.cli import configuration
from workloadkit.cli.common import (
    JsonOption,
    check_outputs,
    write_json,
)
from workloadkit.errors import ParameterError, among, quoted

if TYPE_CHECKING:
    from workloadkit.io.tables.mapping import TableMapping

EXAMPLES = """
workloadkit traces
workloadkit traces kestrel
workloadkit traces --json - | jq '.traces[].trace'
"""

_WIDTH = 80


def traces(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            show_default=False,
            autocompletion=configuration.traces,
            help="Trace to describe. By default all are listed.",
        ),
    ] = None,
    json: JsonOption = None,
) -> None:
    """List public traces that can be read, or describe one.

    A mapping ships for each of them; nothing is downloaded. A description has the columns that the
    mapping uses, with the evidence for each, and the steps from the download to a report. Drafts
    were made from a description alone, and warn when they are used.
    """
    from workloadkit.io.tables import catalogue

    check_outputs(json=json)
    known = catalogue.traces()
    if name is not None and name not in known:
        raise ParameterError(f"no trace {quoted(name)}; {among(name, known)}")
    shown = known if name is None else {name: known[name]}
    if json:
        listed = [catalogue.as_dict(each, mapping) for each, mapping in shown.items()]
        write_json(json, {"traces": listed})
    if str(json) != "-":
        typer.echo(_described(name, known[name]) if name else _list(known))


def _list(known: "dict[str, TableMapping]") -> str:
    """List the traces: name, how far each is tried, what it is and how large."""
    lines = [f"{'trace':<19}{'tried on':<18}what it is"]
    for name, mapping in known.items():
        by = mapping.provenance
        lines.append(f"{name:<19}{by.tried:<18}{mapping.title}")
        if by.size:
            lines.append(f"{'':37}{by.size}")
    return "\n".join(lines)


def _described(name: str, mapping: "TableMapping") -> str:
    from workloadkit.io.tables.catalogue import TRIED, UNKNOWN, steps, used_columns

    by = mapping.provenance
    facts = {
        "size": by.size,
        "address": by.url,
        "licence": by.licence,
        "citation": by.cite,
        "tried on": TRIED[by.tried],
    }
    lines = [f"{name}: {mapping.title}" + ", a draft" * mapping.is_draft]
    lines += [_indented(f"{fact:<10}{value or UNKNOWN}", 12) for fact, value in facts.items()]
    columns = list(used_columns(mapping))
    width = max(len(column.name) for column in columns) + 2
    lines += ["", "Columns", f"  {'column':<{width}}{'evidence':<18}fields"]
    for column in columns:
        fields = ", ".join(column.fields) or "choice of rows"
        lines.append(_indented(f"{column.name:<{width}}{column.evidence:<18}{fields}", width + 20))
    lines += ["", "Notes", *(_indented(note, 2) for note in by.notes)]
    lines += ["", "Steps"]
    lines += [f"  {number}. {step}" for number, step in enumerate(steps(name, mapping), 1)]
    return "\n".join(lines)


def _indented(text: str, rest: int) -> str:
    """Return a text after two blanks, with its further lines further to the right."""
    return fill(
        text,
        _WIDTH,
        initial_indent="  ",
        subsequent_indent=" " * rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
