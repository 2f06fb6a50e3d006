"""The columns of JSON: their names, and which are lists or objects, from the first records."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from workloadkit.errors import FormatError
from workloadkit.io.tables.engine import text
from workloadkit.io.tables.parts import Part

#: Rows of each file that are looked at beforehand.
SEEN = 10_000

#: As what values of these types are read: `len` counts the items of a list, not characters.
_READ_AS = {"ARRAY": "JSON[]", "OBJECT": "JSON"}


def json_form(part: Part) -> str:
    """Return the options with which the engine reads a part of JSON."""
    form = "'newline_delimited', ignore_errors = true" if part.is_lines else "'array'"
    return f"compression = '{part.compression}', format = {form}"


def with_json_columns(con: Any, parts: Sequence[Part]) -> list[Part]:
    """Return the parts, those of JSON with their columns, each of one type in all parts."""
    columns: list[tuple[str, ...]] = []
    types: dict[str, set[str]] = {}
    for part in parts:
        found = _types(con, part) if part.format == "json" else {}
        columns.append(tuple(found) or part.columns)
        for column, of_part in found.items():
            types.setdefault(column, set()).update(of_part)
    kinds = {
        column: _READ_AS[kind]
        for column, (kind, *others) in ((c, sorted(t - {"NULL"}) or [""]) for c, t in types.items())
        if kind in _READ_AS and not others
    }
    return [
        replace(part, columns=names, kinds=kinds) if part.format == "json" else part
        for part, names in zip(parts, columns, strict=True)
    ]


def _types(con: Any, part: Part) -> dict[str, list[str]]:
    """Return the types of the values of each column, in the order of the first record."""
    import duckdb

    pointer = "replace(replace(key, '~', '~0'), '/', '~1')"
    sql = f"""
            SELECT key, list(DISTINCT json_type(json, '/' || {pointer}))
            FROM (SELECT json, unnest(json_keys(json)) AS key, row_number() OVER () AS place
                  FROM (FROM read_json_objects({text(part.path)}, {json_form(part)}) LIMIT {SEEN}))
            GROUP BY key ORDER BY min(place)"""
    try:
        return dict(con.execute(sql).fetchall())
    except duckdb.Error as error:
        raise FormatError(part.name, str(error).splitlines()[0][:200]) from None
