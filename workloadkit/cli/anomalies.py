"""`workloadkit anomalies`: unrepresentative parts of a log, and filters that remove them."""

from functools import partial
from pathlib import Path
from shlex import quote
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated

import typer

from workloadkit.cli.common import (
    JsonOption,
    check_outputs,
    figure_option,
    output_option,
    write,
    write_json,
)
from workloadkit.cli.output import note, progress
from workloadkit.cli.reading import (
    StrictOption,
    TraceArgument,
    load,
)

if TYPE_CHECKING:
    from workloadkit.cleaning.anomalies import Anomalies
    from workloadkit.cleaning.anomaly import Anomaly
    from workloadkit.trace import Trace

EXAMPLES = """
workloadkit anomalies log.swf.gz
workloadkit anomalies log.swf.gz -o filters.txt --plot anomalies.svg
workloadkit clean log.swf.gz --filters-of filters.txt -o cleaned.swf.gz
"""

_WIDTH = 80


def anomalies(
    trace: TraceArgument = None,
    output: Annotated[
        Path | None,
        output_option(
            "the filters, which `clean --filters-of` reads,",
            "Filters of slight anomalies and of changes are comments.",
        ),
    ] = None,
    json: JsonOption = None,
    plot: Annotated[Path | None, figure_option("the jobs of each day with the anomalies")] = None,
    strict: StrictOption = False,
) -> None:
    """Find unrepresentative parts of a log, with filters for them.

    In a flurry, one user submits more jobs than all others together: the lead is as large as at
    least ten ordinary days of the others. Flurries with a tenth of all jobs of the log are
    dominating, others notable; from a lead of five ordinary days on, a flurry is slight. Start-up
    and wind-down are ends of the log with few jobs for the weekly cycle. Dead periods have no
    arrivals for at least two ordinary days. Changes are lasting steps in the size of the machine,
    in requested sizes and limits, and in the set of queues. No filter is applied.
    """
    import workloadkit as wk

    check_outputs(plot, table=output, json=json, inputs=[trace])
    log = load(trace, strict=strict)
    with progress(f"searching {log.name}"):
        found = wk.find_anomalies(log)
    if output:
        write(output, _filters(log, found))
    if json:
        from workloadkit.provenance import provenance

        write_json(json, found.to_dict() | {"provenance": provenance(log)})
    if plot:
        from workloadkit import analysis

        draw = partial(analysis.load.plot_anomalies, found)
        analysis.save_figure(draw, plot, title=log.name, tables={"Each day.": found.daily})
        note(f"wrote {plot}")
    if not any(str(target) == "-" for target in (output, json)):
        typer.echo(_table(found, trace))


def _table(found: "Anomalies", trace: Path | None) -> str:
    """Lay out the anomalies, then each with its evidence and the command that removes it."""
    parts = [str(found)]
    log = "" if trace is None else f" {quote(str(trace))}"
    for one in found.items:
        lines = [f"{one.strength} {one.kind}: {one.title}"]
        lines += wrap(one.reason, _WIDTH, initial_indent="  ", subsequent_indent="  ")
        if one.filter:
            lines.append(f"  workloadkit clean{log} -o cleaned.swf.gz \\")
            lines.append(f"    --filter {quote(str(one.filter.counted(None)))}")
        parts.append("\n".join(lines))
    counts = found.sensitivity()
    if counts[0.5]["notable"] or counts[0.5]["dominating"]:
        counted = [
            f"{counts[factor]['dominating']} and {counts[factor]['notable']}{words}"
            for factor, words in ((1.0, ""), (0.5, " with both limits halved"), (2.0, " doubled"))
        ]
        parts.append(
            "\n".join(wrap(f"Dominating and notable flurries: {', '.join(counted)}.", _WIDTH))
        )
    return "\n\n".join(parts)


def _filters(log: "Trace", found: "Anomalies") -> str:
    """Write the offered filters as lines, the others as comments."""
    from workloadkit.cleaning.cleaned import removals

    offered = [one for one in found.items if one.offered]
    counted = removals(log, [one.filter for one in offered if one.filter])
    written = dict(zip(map(id, offered), (removed.filter for removed in counted), strict=True))
    name = " ".join(log.name.split())
    lines = [
        f"# Anomalies of {name}, found by `workloadkit anomalies`.",
        "# To apply the filters: workloadkit clean LOG --filters-of THIS -o CLEANED",
        "# Lines that begin with # are not applied.",
    ]
    for one in found.items:
        lines += ["", *_comment(one)]
        lines.append(str(written[id(one)]) if id(one) in written else f"# {one.filter}")
        if not one.filter:
            lines.pop()
    return "\n".join(lines) + "\n"


def _comment(one: "Anomaly") -> list[str]:
    text = f"{one.strength} {one.kind}, {one.title}: {one.reason}"
    return wrap(text, _WIDTH, initial_indent="# ", subsequent_indent="# ")
