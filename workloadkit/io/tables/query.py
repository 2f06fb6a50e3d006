"""The one query of a mapping: parts of files to jobs, with what is not understood, in order."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from workloadkit.errors import FormatError, WorkloadError, among
from workloadkit.intake import FILE_AT
from workloadkit.io.tables.declared import TIMES, Table, TableMapping
from workloadkit.io.tables.engine import FRAME, JOINED, columns_in, name, text
from workloadkit.io.tables.json_columns import SEEN, json_form, with_json_columns
from workloadkit.io.tables.parts import Part
from workloadkit.io.tables.values import conversion, number_of_text, utc

_MICROSECONDS = {"s": 1_000_000, "ms": 1000, "us": 1, "ns": 0.001}


@dataclass(frozen=True)
class Query:
    """SQL that gives a row for each job, in order of submission.

    Parameters
    ----------
    sql : str
        Columns: the fields, and `_at` (submission or what replaces it), `_place`, `_n` (rows of the
        job), `_kept`, `_odd` (bits of what is not understood), `_same` (equal for repeated rows).
    odd : tuple of str
        What each bit of `_odd` stands for.
    fields : tuple of str
        Names of the fields.
    from_ : str
        SQL of the rows of the table.
    """

    sql: str
    odd: tuple[str, ...]
    fields: tuple[str, ...]
    from_: str


def query_of(
    con: Any, mapping: TableMapping, parts: Sequence[Part], others: Sequence[Part]
) -> Query:
    """Return the query of a mapping for some parts.

    Raises
    ------
    FormatError
        If an expression is invalid, a column is missing, a value lacks its unit, or the first rows
        of a part are not as expected.
    """
    source = mapping.source
    parts, others = with_json_columns(con, parts), with_json_columns(con, others)
    used, of_joined = _used(con, mapping)
    for key, found in used.items():
        _check_there(mapping, key, found, source, parts)
    names = sorted(set().union(*used.values()))
    _check_expected(con, mapping, parts, names)
    rows = _rows(source, mapping.times.zone, parts, names)
    from_ = f"FROM ({rows}) AS _rows"
    if mapping.joined is not None:
        from_ += _join(con, mapping, others, of_joined)
    numbers = [n for n in names if n in source.numbers]
    expressions = {key: f"(\n{value.sql}\n)" for key, value in mapping.fields.items()}
    raw = _raw(source.where, source.group, expressions, from_)
    kinds = _kinds(con, mapping, expressions, from_)
    odd, values = [f"column {n}" for n in numbers], []
    bits = ["_odd"]
    for key in expressions:
        made = conversion(mapping, key, f"_{key}", kinds[key])
        if made.odd:
            bits.append(f"CASE WHEN {made.odd} THEN {1 << len(odd)} ELSE 0 END")
            odd.append(key)
        values.append(f"{made.value} AS {name(key)}")
    at = ", ".join(name(n) for n in ("submit", "eligible", "start") if n in expressions)
    same = ", ".join(name(n) for n in ("id", *TIMES) if n in expressions)
    repeats = "id" in expressions and not source.shared_ids
    sql = f"""
        SELECT *, coalesce({at}) AS _at{f", hash({same}) AS _same" if repeats else ""}
        FROM (SELECT CAST(_place AS BIGINT) AS _place, CAST(_n AS BIGINT) AS _n, _kept,
                     CAST({" + ".join(bits)} AS BIGINT) AS _odd, {", ".join(values)}
              FROM ({raw}))
        ORDER BY _at, _place"""
    return Query(sql, tuple(odd), tuple(expressions), from_)


def _used(con: Any, mapping: TableMapping) -> tuple[dict[str, set[str]], set[str]]:
    """Return the columns that each key uses, and those of the second table."""
    source, joined = mapping.source, mapping.joined
    given = {f"fields.{key}": value.sql for key, value in mapping.fields.items()}
    given |= {f"source.{n}": getattr(source, n) for n in ("where", "group") if getattr(source, n)}
    if joined:
        given["joined.to"] = joined.to or joined.key
    found = {key: _columns(con, mapping, key, sql) for key, sql in given.items()}
    for expression in source.expect:
        expected = found.setdefault("source.expect", set())
        expected |= _columns(con, mapping, "source.expect", expression)
    known = set(joined.columns) if joined else set()
    for key, columns in found.items():
        for column in columns:
            if column[0] == JOINED and (len(column) < 2 or column[1] not in known):
                what = ".".join(column)
                raise mapping.error(key, f"unknown column; {among(what, known)}", what)
    of_joined: set[str] = set()
    if joined:
        of_joined = {c[0] for c in _columns(con, mapping, "joined.key", joined.key)}
        for key, sql in joined.columns.items():
            of_joined |= {c[0] for c in _columns(con, mapping, f"joined.columns.{key}", sql)}
    of_main = {key: {c[0] for c in cs if c[0] != JOINED} for key, cs in found.items()}
    return of_main, of_joined


def _columns(con: Any, mapping: TableMapping, key: str, sql: str) -> set[tuple[str, ...]]:
    try:
        return columns_in(con, sql)
    except WorkloadError as error:
        raise mapping.error(key, str(error)[:200], sql) from None


def _check_there(
    mapping: TableMapping, key: str, used: set[str], table: Table, parts: Sequence[Part]
) -> None:
    """Check that columns are in some part, or may be missing."""
    there = dict.fromkeys(c for part in parts for c in (*part.columns, *part.keys))
    lower = {column.lower() for column in (*there, *table.optional)}
    for column in sorted(used):
        if column.lower() not in lower:
            why = f"{parts[0].name} has no such column; {among(column, there)}"
            raise mapping.error(key, why, column)


def _check_expected(
    con: Any, mapping: TableMapping, parts: Sequence[Part], names: Sequence[str]
) -> None:
    """Check that the first rows of each part are as the mapping expects."""
    for part in parts if mapping.source.expect else ():
        rows = _rows(mapping.source, mapping.times.zone, [part], names)
        for expression in mapping.source.expect:
            sql = f"SELECT (\n{expression}\n) FROM ({rows} LIMIT {SEEN})"
            try:
                (holds,) = con.execute(sql).fetchone()
            except Exception as error:
                raise engine_error(mapping, "source.expect", error) from None
            if not holds:
                why = f"{part.name} is not as the mapping expects"
                raise mapping.error("source.expect", why, expression)


def engine_error(mapping: TableMapping, key: str, error: Exception) -> FormatError:
    """Return an error of the engine as one of a key; other errors are raised."""
    import duckdb

    if not isinstance(error, duckdb.Error):
        raise error
    message = str(error).splitlines()[0]
    if "must appear in the GROUP BY clause" in message and not mapping.source.group:
        message = "an aggregate, as of events or attempts, requires source.group"
    return mapping.error(key, message[:200])


def _rows(table: Table, zone: str, parts: Sequence[Part], names: Sequence[str]) -> str:
    """Return the SQL of the rows of some parts, in the same columns."""
    aware = frozenset(c for part in parts for c, kind in part.kinds.items() if kind == "aware")
    selects = []
    for _, group in groupby(enumerate(parts), _read_together):
        of_group = list(group)
        first, part = of_group[0]
        columns = _typed_columns(part, names, zone, aware)
        if part.format == "frame":
            scan, place = FRAME, "_row"
        elif part.format == "parquet":
            paths = ", ".join(text(each.path) for _, each in of_group)
            scan = f"read_parquet([{paths}], file_row_number = true)"
            place = f"{first * FILE_AT + 1} + file_index * {FILE_AT} + file_row_number"
        else:
            scan, skipped = _scan(part, table, names)
            place = f"{first * FILE_AT + skipped} + row_number() OVER ()"
        selects.append(_selected(table, columns, scan, place))
    return " UNION ALL ".join(selects)


def _read_together(numbered: tuple[int, Part]) -> tuple[object, ...]:
    """Return what parts that are read together share; those of text are read one by one."""
    number, part = numbered
    alone = -1 if part.format == "parquet" else number
    return alone, part.columns, tuple(part.kinds.items()), tuple(part.keys.items())


def _scan(part: Part, table: Table, names: Sequence[str]) -> tuple[str, int]:
    """Return the SQL that reads a part of text as it is, and the lines before its first row."""
    if part.format == "json":
        columns = ", ".join(
            f"{text(n)}: '{part.kinds.get(n, 'VARCHAR')}'" for n in names if n not in part.keys
        )
        given = f"auto_detect = false, columns = {{{columns}}}"
        return f"read_json({text(part.path)}, {given}, {json_form(part)})", 0
    columns = ", ".join(f"{text(n)}: 'VARCHAR'" for n in part.columns)
    null = ", ".join(map(text, table.null))
    return (
        f"read_csv({text(part.path)}, auto_detect = false, delim = {text(table.delimiter)}, "
        f"quote = {text(table.quote)}, escape = {text(table.quote)}, "
        f"header = {str(not table.names).lower()}, columns = {{{columns}}}, "
        f"nullstr = [{null}], encoding = {text(table.encoding)}, "
        f"compression = '{part.compression}', store_rejects = true, rejects_limit = 0)"
    ), int(not table.names)


def _selected(table: Table, columns: Mapping[str, str], scan: str, place: str) -> str:
    """Return the SQL that selects columns, those of numbers as such, with bits for odd values."""
    bits: list[str] = []
    chosen = []
    for column, sql in columns.items():
        if column in table.numbers:
            number = number_of_text(f"CAST({sql} AS VARCHAR)")
            odd = f"{sql} IS NOT NULL AND CAST({sql} AS VARCHAR) <> '' AND {number} IS NULL"
            bits.append(f"CASE WHEN {odd} THEN {1 << len(bits)} ELSE 0 END")
            sql = number
        chosen.append(f"{sql} AS {name(column)}")
    return (
        f"SELECT {place} AS _place, {' + '.join(bits) or '0'} AS _odd"
        f"{''.join(f', {each}' for each in chosen)} FROM {scan}"
    )


def _typed_columns(
    part: Part, names: Sequence[str], zone: str, aware: frozenset[str]
) -> dict[str, str]:
    """Return the SQL of each column of a part: durations as such, times with an offset in all."""
    lower = {column.lower(): column for column in part.columns}
    keys = part.keys
    found: dict[str, str] = {}
    for column in names:
        there = lower.get(column.lower(), "")
        kind = part.kinds.get(there, "")
        sql = name(there or column)
        if not there and column in keys:
            sql = text(keys[column])
        elif not there and part.format != "json":
            sql = "NULL"
        elif kind in _MICROSECONDS and part.format == "parquet":  # the type is lost in reading
            counts = f"CAST({sql} AS BIGINT)"
            sql = f"to_microseconds(CAST({counts} * {_MICROSECONDS[kind]} AS BIGINT))"
        elif kind == "naive" and there in aware:
            local = f"(epoch_us({sql}::TIMESTAMP) / 1e6)"
            sql = f"make_timestamptz(CAST({utc(local, zone)} * 1e6 AS BIGINT))"
        found[column] = sql
    return found


def _raw(where: str, group: str, expressions: Mapping[str, str], from_: str) -> str:
    """Return the SQL of the expressions, for each row or group."""
    kept = f"coalesce((\n{where}\n), false)" if where else "true"
    values = "".join(f", {sql} AS _{key}" for key, sql in expressions.items())
    if not group:
        return f"SELECT _place, _odd, 1 AS _n, {kept} AS _kept{values} {from_}"
    return (
        "SELECT min(_place) AS _place, bit_or(_odd) AS _odd, count(*) AS _n, "
        f"{kept} AND (\n{group}\n) IS NOT NULL AS _kept{values} {from_} "
        f"GROUP BY (\n{group}\n), {kept}"
    )


def _join(con: Any, mapping: TableMapping, parts: Sequence[Part], used: Iterable[str]) -> str:
    """Return the SQL that adds the second table, aggregated by its key."""
    joined = mapping.joined
    assert joined is not None  # only called for one
    names = sorted(used)
    _check_there(mapping, "joined.columns", set(names), joined, parts)
    rows = _rows(joined, mapping.times.zone, parts, names)
    values = "".join(f", (\n{sql}\n) AS {name(key)}" for key, sql in joined.columns.items())
    return (
        f" LEFT JOIN (SELECT (\n{joined.key}\n) AS _key{values} FROM ({rows}) GROUP BY 1) "
        f"AS {JOINED} ON (\n{joined.to or joined.key}\n) = {JOINED}._key"
    )


def _kinds(
    con: Any, mapping: TableMapping, expressions: Mapping[str, str], from_: str
) -> dict[str, str]:
    """Return the type of each expression, as the engine names it."""
    try:
        return {row[0][1:]: row[1] for row in _described(con, mapping, expressions, from_)}
    except Exception as error:
        fault = ("source", error)
        for key, sql in expressions.items():
            try:
                _described(con, mapping, {key: sql}, from_)
            except Exception as of_field:
                fault = (f"fields.{key}", of_field)
                break
        raise engine_error(mapping, *fault) from None


def fields_at_fault(
    con: Any, mapping: TableMapping, query: Query, error: Exception
) -> tuple[str, Exception]:
    """Return the key at which reading fails, and its error."""
    import duckdb

    source = mapping.source
    for key, value in mapping.fields.items() if isinstance(error, duckdb.Error) else ():
        raw = _raw(source.where, source.group, {key: f"(\n{value.sql}\n)"}, query.from_)
        try:
            con.execute(f"SELECT bit_xor(hash(_{key})) FROM ({raw})").fetchall()
        except duckdb.Error as of_field:
            return f"fields.{key}", of_field
    return "source", error


def _described(
    con: Any, mapping: TableMapping, expressions: Mapping[str, str], from_: str
) -> list[tuple[str, ...]]:
    source = mapping.source
    raw = _raw(source.where, source.group, expressions, from_)
    found: list[tuple[str, ...]] = con.execute(f"DESCRIBE {raw}").fetchall()
    return found
