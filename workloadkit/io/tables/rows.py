"""SQL of the rows of a table: the columns of its parts, and expressions of them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from workloadkit.io.records import FILE_AT
from workloadkit.io.tables.declared import Table
from workloadkit.io.tables.engine import FRAME, name, text
from workloadkit.io.tables.json_columns import json_form
from workloadkit.io.tables.local_times import utc
from workloadkit.io.tables.parts import Part
from workloadkit.io.tables.values import number_of_text

#: Types that are read as texts in all parts, where they differ between parts.
AS_TEXT = frozenset(("a number", "a text", "a time", "a truth value"))

_MICROSECONDS = {"s": 1_000_000, "ms": 1000, "us": 1, "ns": 0.001}


def rows_of(table: Table, zone: str, parts: Sequence[Part], names: Sequence[str]) -> str:
    """Return the SQL of the rows of some parts, in the same columns."""
    aware = frozenset(c for part in parts for c, kind in part.kinds.items() if kind == "aware")
    types: dict[str, set[str]] = {}
    for column, kind in (pair for part in parts for pair in part.types.items()):
        types.setdefault(column, set()).add(kind)
    mixed = frozenset(column for column, of_parts in types.items() if len(of_parts) > 1)
    selects = []
    for first, group in read_together(parts):
        part = group[0]
        columns = _typed_columns(group, names, zone, aware, mixed)
        if part.format == "frame":
            scan, place = FRAME, "_row"
        elif part.format == "parquet":
            scan = f"read_parquet([{_paths(group)}], file_row_number = true)"
            place = f"{first * FILE_AT + 1} + file_index * {FILE_AT} + file_row_number"
        else:
            scan = _scan(group, table, names)
            # the engine numbers the rows of all parts in a row: see `count_rows`
            place = f"{first * FILE_AT + lines_before(part, table)} + row_number() OVER ()"
        selects.append(_selected(table, columns, scan, place))
    return " UNION ALL ".join(selects)


def read_together(parts: Sequence[Part]) -> Iterator[tuple[int, list[Part]]]:
    """Yield the parts that one scan reads, with the number of the first.

    A scan of each part would need some 30 MB for each, all at the same time.
    """
    first = 0
    for _, group in groupby(parts, _alike):
        alike = list(group)
        yield first, alike
        first += len(alike)


def _alike(part: Part) -> tuple[object, ...]:
    """Return what parts that are read together have in common."""
    given = (tuple(each.items()) for each in (part.kinds, part.types))
    return part.format, part.compression, part.is_lines, part.columns, tuple(part.keys), *given


def count_rows(con: Any, table: Table, group: Sequence[Part]) -> list[int]:
    """Return the number of rows of each of some parts of text that are read together."""
    scan = _scan(group, table, group[0].columns, counting=True)
    sql = f"SELECT file_index, count(*) FROM {scan} GROUP BY ALL"
    found = dict(con.execute(sql).fetchall())
    return [found.get(i, 0) for i in range(len(group))]


def lines_before(part: Part, table: Table) -> int:
    """Return the number of lines before the first row of a part of text."""
    return int(part.format == "csv" and not table.names)


def _paths(parts: Iterable[Part]) -> str:
    return ", ".join(text(part.path) for part in parts)


def _scan(
    parts: Sequence[Part], table: Table, names: Sequence[str], *, counting: bool = False
) -> str:
    """Return the SQL that reads parts of text as they are."""
    part = parts[0]
    if part.format == "json":
        columns = ", ".join(
            f"{text(n)}: '{part.kinds.get(n, 'VARCHAR')}'" for n in names if n not in part.keys
        )
        given = f"auto_detect = false, columns = {{{columns}}}"
        return f"read_json([{_paths(parts)}], {given}, {json_form(part)})"
    columns = ", ".join(f"{text(n)}: 'VARCHAR'" for n in part.columns)
    null = ", ".join(map(text, table.null))
    faulty = "ignore_errors = true" if counting else "store_rejects = true, rejects_limit = 0"
    return (
        f"read_csv([{_paths(parts)}], auto_detect = false, delim = {text(table.delimiter)}, "
        f"quote = {text(table.quote)}, escape = {text(table.quote)}, "
        f"header = {str(not table.names).lower()}, columns = {{{columns}}}, "
        f"nullstr = [{null}], encoding = {text(table.encoding)}, "
        f"compression = '{part.compression}', {faulty})"
    )


def _selected(table: Table, columns: Mapping[str, str], scan: str, place: str) -> str:
    """Return the SQL that selects columns; those of numbers as such, with odd texts and bits."""
    bits: list[str] = []
    chosen = []
    for column, sql in columns.items():
        if column in table.numbers:
            parsed = number_of_text(f"CAST({sql} AS VARCHAR)")
            number = f"CASE WHEN isfinite({parsed}) THEN {parsed} END"
            odd = f"{sql} IS NOT NULL AND CAST({sql} AS VARCHAR) <> '' AND {number} IS NULL"
            chosen.append(f"CASE WHEN {odd} THEN CAST({sql} AS VARCHAR) END AS _text{len(bits)}")
            bits.append(f"CASE WHEN {odd} THEN {1 << len(bits)} ELSE 0 END")
            sql = number
        chosen.append(f"{sql} AS {name(column)}")
    return (
        f"SELECT {place} AS _place, {' + '.join(bits) or '0'} AS _odd"
        f"{''.join(f', {each}' for each in chosen)} FROM {scan}"
    )


def _typed_columns(
    group: Sequence[Part],
    names: Sequence[str],
    zone: str,
    aware: frozenset[str],
    mixed: frozenset[str],
) -> dict[str, str]:
    """Return the SQL of each column of alike parts: durations as such, times with an offset in all.

    Columns that have several types in the parts are texts in all.
    """
    part = group[0]
    lower = {column.lower(): column for column in part.columns}
    keys = part.keys
    found: dict[str, str] = {}
    for column in names:
        there = lower.get(column.lower(), "")
        kind = part.kinds.get(there, "")
        sql = name(there or column)
        if not there and column in keys:
            values = [text(each.keys[column]) for each in group]
            is_one = len(set(values)) == 1
            sql = values[0] if is_one else f"[{', '.join(values)}][CAST(file_index AS BIGINT) + 1]"
        elif not there and part.format != "json":
            sql = "NULL"
        elif there in mixed:
            sql = f"CAST({sql} AS VARCHAR)"
        elif kind in _MICROSECONDS and part.format == "parquet":  # the type is lost in reading
            counts = f"CAST({sql} AS BIGINT)"
            sql = f"to_microseconds(CAST({counts} * {_MICROSECONDS[kind]} AS BIGINT))"
        elif kind == "naive" and there in aware:
            local = f"(epoch_us({sql}::TIMESTAMP) / 1e6)"
            sql = f"make_timestamptz(CAST({utc(local, zone)} * 1e6 AS BIGINT))"
        found[column] = sql
    return found


def raw_of(
    where: str, group: str, expressions: Mapping[str, str], from_: str, n_texts: int = 0
) -> str:
    """Return the SQL of the expressions, for each row or group, and of some odd texts."""
    kept = f"coalesce((\n{where}\n), false)" if where else "true"
    values = "".join(f", {sql} AS _{key}" for key, sql in expressions.items())
    for text_of in (f"_text{i}" for i in range(n_texts)):
        values += f", {f'arg_min({text_of}, _place)' if group else text_of} AS {text_of}"
    if not group:
        return f"SELECT _place, _odd, 1 AS _n, {kept} AS _kept{values} {from_}"
    return (
        "SELECT min(_place) AS _place, bit_or(_odd) AS _odd, count(*) AS _n, "
        f"{kept} AND (\n{group}\n) IS NOT NULL AS _kept{values} {from_} "
        f"GROUP BY (\n{group}\n), {kept}"
    )
