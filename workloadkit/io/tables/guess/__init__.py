"""Propose a mapping for a table, from the names, units and values of its columns.

`names` is what names mean; `sample` reads the first rows; `columns` is what values are;
`relations` is what columns say of each other; `fields` chooses and confirms; `proposal` is the
result. A unit is never guessed: it is in the values, or other columns confirm it, or it is ``?``.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from workloadkit.errors import FormatError, parameter
from workloadkit.io.tables.guess.columns import Column
from workloadkit.io.tables.guess.events import event_lines, events_of
from workloadkit.io.tables.guess.fields import Fields
from workloadkit.io.tables.guess.positions import by_position
from workloadkit.io.tables.guess.proposal import Line, Proposal
from workloadkit.io.tables.guess.sample import Sample, read_sample
from workloadkit.io.tables.mapping import mapping_names, read_mapping

__all__ = ["Line", "Proposal", "guessed", "propose"]


_SECTIONS = ("source", "times", "fields", "states")


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
    events = events_of(sample.columns)
    of_events = () if events is None else (events.job, events.event, events.time)
    fields = Fields(tuple(c for c in sample.columns if not any(c is each for each in of_events)))
    chosen, states = list(fields.lines()), list(fields.states())
    if events is not None:
        chosen = list(event_lines(events, chosen))
        states = list(fields.states(events.phases.get("end", ())))
    if sample.names:
        chosen += by_position(sample.columns)
    used = [*of_events, *(each.column for each in fields.chosen.values())]
    lines = [*_source(sample, used, fields.factors)]
    lines += [*_times(fields.times if events is None else [events.time]), *chosen, *states]
    if not any(line.key in ("submit", "start") for line in chosen):
        why = "no column looks like the submission or the start; one is required"
        lines.append(Line("fields", "", "", "unsure", why))
    lines.sort(key=lambda line: _SECTIONS.index(line.section))
    return Proposal(Path(sample.name).name, tuple(_remarks(sample)), tuple(lines))


def guessed(files: Sequence[str | os.PathLike[str]], *, tz: str | None = None) -> Proposal:
    """Return a proposal of which all that is required is sure.

    Parameters
    ----------
    files : sequence of str or path
    tz : str, optional
        Time zone of times without an offset, which is never guessed.

    Raises
    ------
    FormatError
        If it is not sure.
    """
    proposal = propose(files)
    unsure = list(proposal.unsure)
    if proposal.lacks_zone and tz is None:
        unsure.append(f"the time zone (give {parameter('tz')})")
    if unsure:
        why = f"not sure: {', and '.join(unsure)}; write a mapping, or edit the proposed one"
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


def _source(sample: Sample, used: Sequence[Column], factors: Sequence[str]) -> Iterator[Line]:
    """Yield the lines of the section of the source."""
    if sample.delimiter not in ("", ","):
        yield Line("source", "delimiter", sample.delimiter, "sure", "between the columns")
    if sample.names:
        why = "the first line has values; name the columns here and below"
        yield Line("source", "names", list(sample.names), "likely", why)
    if sample.records:
        yield Line("source", "records", sample.records, "sure", "the first list of records")
    missing = list(dict.fromkeys(text for column in used for text in column.missing))
    if factors:
        yield Line("source", "numbers", list(factors), "sure", "texts that are multiplied")
    if missing and sample.delimiter:
        yield Line("source", "null", ["", *missing], "likely", "texts without a value")


def _times(times: Sequence[Column]) -> Iterator[Line]:
    """Yield the line of the zone, if times have none."""
    if any(column.kind == "time" and not column.has_offset for column in times):
        why = "times have no offset; give the zone of the site"
        yield Line("times", "zone", "UTC", "unsure", why)
    if times and all(column.kind == "number" for column in times):
        why = "second 0 is not known"
        yield Line("times", "origin", "unknown", "likely", why)
