"""The public traces for which mappings ship: what is known of each, from its mapping alone."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from workloadkit.io.tables.mapping import TableMapping, mapping_names, read_mapping

#: What is not in a mapping.
UNKNOWN = "not known here"

#: On what a mapping was tried, in words.
TRIED = {
    "publisher's file": "a file of the publisher",
    "sample": "a sample with the described columns and synthetic values",
    "description": "synthetic tables only, made from the description",
}


class UsedColumn(NamedTuple):
    """A column that a mapping uses.

    Parameters
    ----------
    name : str
    evidence : {"published sample", "documented"}
        Seen in a sample or schema of the publisher, or known from documents and public programs.
    fields : tuple of str
        Fields that use it; empty if it only selects or joins rows.
    """

    name: str
    evidence: str
    fields: tuple[str, ...]


def traces() -> dict[str, TableMapping]:
    """Return the mappings that ship, by name; drafts are last."""
    names = sorted(mapping_names(), key=lambda name: (name.startswith("draft-"), name))
    return {name: read_mapping(name) for name in names}


def used_columns(mapping: TableMapping) -> Iterator[UsedColumn]:
    """Yield the columns that a mapping uses, with the evidence for each."""
    joined = mapping.joined.columns if mapping.joined else {}
    by = mapping.provenance
    for evidence, names in (("published sample", by.published), ("documented", by.documented)):
        for name in names:
            through = [f"joined.{key}" for key, sql in joined.items() if _has(sql, name)]
            fields = (
                field
                for field, value in mapping.fields.items()
                if any(_has(value.sql, each) for each in (name, *through))
            )
            yield UsedColumn(name, evidence, tuple(fields))


def _has(sql: str, name: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", sql) is not None


def steps(name: str, mapping: TableMapping) -> tuple[str, ...]:
    """Return the steps from the download of a trace to its report."""
    by = mapping.provenance
    address = by.url or f"address {UNKNOWN}"
    return (
        f"Download {by.download} ({address}).",
        f"workloadkit convert {by.input} -o {name}.wkt.parquet --mapping {name}",
        f"workloadkit characterize {name}.wkt.parquet -o {name}.html",
    )


def as_dict(name: str, mapping: TableMapping) -> dict[str, Any]:
    """Return what is known of a trace; what is not known is null."""
    by = mapping.provenance
    return {
        "trace": name,
        "title": mapping.title,
        "draft": mapping.is_draft,
        "size": by.size or None,
        "tried": by.tried,
        "address": by.url or None,
        "licence": by.licence or None,
        "cite": by.cite or None,
        "columns": [
            {"column": c.name, "evidence": c.evidence, "fields": list(c.fields)}
            for c in used_columns(mapping)
        ],
        "notes": list(by.notes),
        "steps": list(steps(name, mapping)),
    }
