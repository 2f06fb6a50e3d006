"""`workloadkit outages`: outages inferred from a log."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workloadkit.cli.common import (
    JsonOption,
    aligned,
    check_outputs,
    output_option,
    write,
    write_json,
)
from workloadkit.cli.options import procs_option
from workloadkit.cli.output import note, progress
from workloadkit.cli.reading import (
    StrictOption,
    TraceArgument,
    load,
)
from workloadkit.errors import plural

if TYPE_CHECKING:
    from workloadkit.inferred_outages.infer import InferredOutages

EXAMPLES = """
workloadkit outages log.swf.gz
workloadkit outages log.swf.gz --min-confidence 0.99 -o found.outages
workloadkit simulate log.swf.gz --scheduler easy --outages found.outages
"""


def outages(
    trace: TraceArgument = None,
    procs: Annotated[int | None, procs_option()] = None,
    output: Annotated[Path | None, output_option("the outages, for simulate --outages,")] = None,
    json: JsonOption = None,
    min_confidence: Annotated[
        float,
        typer.Option(min=0, max=1, metavar="C", help="Lowest confidence of an outage, 0 to 1."),
    ] = 0.9,
    strict: StrictOption = False,
) -> None:
    """Infer unrecorded outages from a log.

    An outage is likely where jobs waited and none ran, where none was submitted, or where no job
    started although the first in the queue fitted. The confidence follows from how long jobs that
    fitted had to wait elsewhere in the log. The log does not change.
    """
    import workloadkit as wk

    check_outputs(table=output, json=json, inputs=[trace])
    log = load(trace, strict=strict)
    with progress(f"searching for outages in {log.name}"):
        found = wk.infer_outages(log, procs)
    for line in found.notes:
        note(line)
    chosen = found.rows(min_confidence)
    if output:
        write(output, found.outages(min_confidence=min_confidence).text())
    if json:
        write_json(json, found.to_dict(min_confidence=min_confidence))
    if "-" not in (str(output), str(json)):
        if chosen:
            typer.echo(_table(found, chosen))
        n = plural(len(chosen), "outage")
        less = len(found.rows(0)) - len(chosen)
        less_sure = f"; {less:,} with less confidence" if less else ""
        typer.echo(f"{n} of confidence {min_confidence:g} or more{less_sure}")


def _table(found: "InferredOutages", chosen: list[dict[str, Any]]) -> str:
    from workloadkit.analysis.formats import duration
    from workloadkit.clock import Clock
    from workloadkit.inferred_outages.infer import EVIDENCE, shown

    clock = Clock.of(found.trace)
    rows = [["start", "length", "evidence", "waiting", "would fit", "confidence"]]
    rows += [
        [
            f"{row['start']:,.0f} s",
            duration(row["end"] - row["start"]),
            row["evidence"],
            f"{row['waiting']:,}",
            f"{row['would_fit']:,}",
            shown(row["confidence"]),
        ]
        for row in chosen
    ]
    if clock.known:
        dates = [f"{x:%Y-%m-%d %H:%M}" for x in clock.datetimes([row["start"] for row in chosen])]
        for row, date in zip(rows, ["local time", *dates], strict=True):
            row.insert(1, date)
    kinds = {row["evidence"] for row in chosen}
    used = [f"{kind}: {text}" for kind, text in EVIDENCE.items() if kind in kinds]
    return "\n".join([aligned(rows, words={rows[0].index("evidence")}), *used])
