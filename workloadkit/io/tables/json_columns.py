"""The columns of JSON: their names, which are lists or objects, and the keys of these.

All is found in the first records.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from workloadkit.errors import FormatError, among
from workloadkit.io.tables.declared import TableMapping
from workloadkit.io.tables.engine import name, text
from workloadkit.io.tables.expressions import ITEM, Use
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


def check_keys(
    con: Any,
    mapping: TableMapping,
    used: Mapping[str, Iterable[Use]],
    parts: Sequence[Part],
    first_rows: Callable[[Part], str],
) -> None:
    """Check that some of the first rows have each key that is taken of a record in JSON."""
    missing = {
        use: key
        for key, uses in used.items()
        for use in sorted(uses)
        if {*use.keys} - {ITEM} and ".".join((use.column, *use.keys)) not in mapping.source.optional
    }
    for part in parts:
        if not missing:
            return
        having = ", ".join(f"coalesce(bool_or({_has(use)}), false)" for use in missing)
        try:
            (found,) = con.execute(f"SELECT [{having}] FROM {first_rows(part)}").fetchone()
        except Exception:  # values that cannot be read are reported where they are
            return
        missing = {u: k for has, (u, k) in zip(found, missing.items(), strict=True) if not has}
    for use, key in missing.items():
        column = name(use.column)
        sql = f"SELECT CAST({_as_json(column)} AS VARCHAR) FROM {first_rows(parts[0])} LIMIT 1000"
        records = [json.loads(value) for (value,) in con.execute(sql).fetchall() if value]
        what, known = _unknown_key(records, use)
        if not known:  # the first rows have no record in which it could be
            continue
        why = f"the first rows of {parts[0].name} have no such key; {among(what, known)}"
        raise mapping.error(key, why, ".".join((use.column, *use.keys)))


def _as_json(column: str) -> str:
    """Return the SQL of a column as JSON, which it may be as a text."""
    of_text = f"TRY_CAST(CAST({column} AS VARCHAR) AS JSON)"
    return f"CASE WHEN typeof({column}) = 'VARCHAR' THEN {of_text} ELSE to_json({column}) END"


def _has(use: Use) -> str:
    """Return the SQL whether a row has a key; of other types than JSON, the engine judges."""
    column = name(use.column)
    steps = ("[*]" if step == ITEM else f'."{step}"' for step in use.keys)
    path = text(f"${''.join(steps)}")
    of_json = f"json_exists({_as_json(column)}, {path})"
    if ITEM in use.keys:
        of_json = f"len(json_extract({_as_json(column)}, {path})) > 0"
    return f"typeof({column}) NOT IN ('JSON', 'JSON[]', 'VARCHAR') OR {of_json}"


def _unknown_key(records: list[Any], use: Use) -> tuple[str, list[str]]:
    """Return the first key that no record has, and those that some have in its place."""
    for step in use.keys:
        if step == ITEM:
            records = [item for record in records if isinstance(record, list) for item in record]
            continue
        objects = [record for record in records if isinstance(record, dict)]
        records = [record[step] for record in objects if step in record]
        if not records:
            return step, sorted({key for record in objects for key in record})
    return use.keys[-1], []
