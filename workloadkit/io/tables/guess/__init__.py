"""Propose a mapping for a table, from the names, units and values of its columns.

`names` is what names mean; `sample` reads the first rows; `columns` is what values are;
`relations` is what columns say of each other; `fields` chooses and confirms; `proposal` is the
result. A unit is never guessed: it is in the values, or other columns confirm it, or it is ``?``.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from workloadkit.errors import FormatError
from workloadkit.io.tables.guess.fields import Fields
from workloadkit.io.tables.guess.proposal import Line, Proposal
from workloadkit.io.tables.guess.sample import Sample, read_sample
from workloadkit.io.tables.mapping import TIMES, mapping_names, read_mapping

__all__ = ["Line", "Proposal", "guessed", "propose"]


def propose(files: Sequence[str | os.PathLike[str]]) -> Proposal:
    """Propose a mapping for a table.

    Parameters
    ----------
    files : sequence of str or path
        The first of them that is found is looked at, in its first rows.

    Raises
    ------
    FormatError
        If it is not a table.
    """
    sample = read_sample([os.fspath(file) for file in files])
    fields = Fields(sample.columns)
    chosen = list(fields.lines())
    lines = [*_source(sample, fields), *_times(fields), *chosen, *fields.states()]
    if not any(line.key in ("submit", "start") for line in chosen):
        why = "no column looks like the submission or the start; one is required"
        lines.append(Line("fields", "", "", "unsure", why))
    return Proposal(Path(sample.name).name, tuple(_remarks(sample)), tuple(lines))


def guessed(files: Sequence[str | os.PathLike[str]]) -> Proposal:
    """Return a proposal of which all that is required is sure.

    Raises
    ------
    FormatError
        If it is not sure.
    """
    proposal = propose(files)
    if proposal.unsure:
        why = (
            f"not sure: {', and '.join(proposal.unsure)}; write a mapping, or edit the proposed one"
        )
        raise FormatError(proposal.name, why)
    return proposal


def _remarks(sample: Sample) -> Iterator[str]:
    yield f"Proposed from {len(sample.columns)} columns and the first {sample.n_rows:,} rows."
    yield "sure: name and values agree; likely: the name; unsure: check it, and replace each ?."
    names = {column.name for column in sample.columns}
    for known in mapping_names():
        by = read_mapping(known).provenance
        if not read_mapping(known).source.names and {*by.published, *by.documented} <= names:
            yield f"All columns of the trace {known} are there: perhaps --mapping {known}"


def _source(sample: Sample, fields: Fields) -> Iterator[Line]:
    """Yield the lines of the section of the source."""
    if sample.delimiter not in ("", ","):
        yield Line("source", "delimiter", sample.delimiter, "sure", "between the columns")
    if sample.records:
        yield Line("source", "records", sample.records, "sure", "the first list of records")
    used = (chosen.column for chosen in fields.chosen.values())
    missing = list(dict.fromkeys(text for column in used for text in column.missing))
    if missing and sample.delimiter:
        yield Line("source", "null", ["", *missing], "likely", "texts without a value")


def _times(fields: Fields) -> Iterator[Line]:
    """Yield the line of the zone, if times have none."""
    times = [fields.chosen[name].column for name in TIMES if name in fields.chosen]
    if any(column.kind == "time" and not column.has_offset for column in times):
        why = "times have no offset; give the zone of the site"
        yield Line("times", "zone", "UTC", "unsure", why)
    if times and all(column.kind == "number" for column in times):
        why = "second 0 is not known"
        yield Line("times", "origin", "unknown", "likely", why)
