"""The one query of a mapping: parts of files to jobs, with what is not understood, in order."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from workloadkit.errors import WorkloadError, among
from workloadkit.io.tables.declared import TIMES, Table, TableMapping
from workloadkit.io.tables.engine import JOINED, name, text
from workloadkit.io.tables.expressions import Use, uses_of
from workloadkit.io.tables.faults import Check, engine_error, fault_of
from workloadkit.io.tables.json_columns import SEEN, check_keys, with_json_columns
from workloadkit.io.tables.local_times import CHANGES
from workloadkit.io.tables.parts import Part
from workloadkit.io.tables.rows import AS_TEXT, raw_of, rows_of
from workloadkit.io.tables.values import Conversion, conversion, local_name

_LONGEST = 100  # characters of an example


#: What replaces a missing submission, in order.
SUBMISSIONS = ("submit", "eligible", "start")

_NOT_UNDERSTOOD = "not understood, taken as unknown"


class Odd(NamedTuple):
    """What is odd about a value: of a field or column, and how it is read."""

    of: str
    kind: str

    @property
    def is_unknown(self) -> bool:
        """Whether the value is not understood."""
        return self.kind == _NOT_UNDERSTOOD


@dataclass(frozen=True)
class Query:
    """SQL that gives a row for each job, in order of submission.

    Parameters
    ----------
    sql : str
        Columns: the fields, and `_at` (submission or what replaces it), `_place`, `_n` (rows of the
        job), `_kept`, `_odd` (bits of what is not understood), `_example` (what stands there, a
        text for each bit), `_same` (equal for repeated rows).
    odd : tuple of Odd
        What each bit of `_odd` stands for.
    fields : tuple of str
        Names of the fields.
    checks : tuple of Check
        Queries of the expressions alone.
    parts : tuple of Part
        The parts as they are read, those of JSON with their columns.
    """

    sql: str
    odd: tuple[Odd, ...]
    fields: tuple[str, ...]
    checks: tuple[Check, ...]
    parts: tuple[Part, ...]


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
    _check_there(mapping, "source.numbers", set(map(Use, source.numbers)), source, parts)
    names = sorted({use.column for found in used.values() for use in found})
    differing = _check_types(mapping, used, parts)
    _check_formats(con, mapping)

    def first_rows(part: Part) -> str:
        return f"({rows_of(source, mapping.times.zone, [part], names)} LIMIT {SEEN})"

    check_keys(con, mapping, used, parts, first_rows)
    _check_expected(con, mapping, parts, first_rows)
    from_ = f"FROM ({rows_of(source, mapping.times.zone, parts, names)}) AS _rows"
    of_others = _rows_of_second(mapping, others, of_joined)
    if mapping.joined is not None:
        from_ += _join(mapping, of_others)
    numbers = [n for n in names if n in source.numbers]
    first: dict[str, str] = {}  # field of each expression: fields with the same one share it
    raw_name = {key: f"_{first.setdefault(v.sql, key)}" for key, v in mapping.fields.items()}
    expressions = {key: f"(\n{sql}\n)" for sql, key in first.items()}
    raw = raw_of(source.where, source.group, expressions, from_, len(numbers))
    checks = tuple(_checks(mapping, from_, of_others, differing))
    kinds = _kinds(
        con, mapping, f"SELECT {', '.join(f'_{key}' for key in expressions)} FROM ({raw})", checks
    )
    made = {key: conversion(mapping, key, of, kinds[of[1:]]) for key, of in raw_name.items()}
    sql, odd = _sql(mapping, raw, made, numbers, raw_name)
    return Query(sql, odd, tuple(made), checks, tuple(parts))


def _sql(
    mapping: TableMapping,
    raw: str,
    made: Mapping[str, Conversion],
    numbers: Sequence[str],
    raw_name: Mapping[str, str],
) -> tuple[str, tuple[Odd, ...]]:
    """Return the query, in steps so that nothing is computed twice, and what its bits stand for."""
    odd = [Odd(f"column {column}", _NOT_UNDERSTOOD) for column in numbers]
    bits, texts = ["_odd"], [f"_text{i}" for i in range(len(numbers))]
    locals_, finite = [], []
    values: dict[str, str] = {}  # names, by their SQL
    for key, of_field in made.items():
        column, value = name(key), values.setdefault(of_field.value, f"_value_{key}")
        if of_field.local:
            locals_.append(f", {of_field.local} AS {local_name(key)}")
        finite.append(f"{value} AS {column}")
        found = {}
        if of_field.present:
            finite[-1] = f"CASE WHEN isfinite({value}) THEN {value} END AS {column}"
            found[_NOT_UNDERSTOOD] = f"{column} IS NULL AND {of_field.present}"
        if of_field.change:
            values[of_field.change] = f"_change_{key}"
            found |= {kind: f"_change_{key} = {i}" for i, kind in enumerate(CHANGES)}
        for kind, condition in found.items():
            bits.append(f"CASE WHEN {condition} THEN {1 << len(odd)} ELSE 0 END")
            odd.append(Odd(key, kind))
            texts.append(raw_name[key])
    examples = ", ".join(f"left(CAST({each} AS VARCHAR), {_LONGEST})" for each in texts)
    at = ", ".join(name(n) for n in SUBMISSIONS if n in made)
    same = ", ".join(name(n) for n in ("id", *TIMES) if n in made)
    repeats = "id" in made and not mapping.source.shared_ids
    with_local = f"SELECT *{''.join(locals_)} FROM ({raw})" if locals_ else raw
    with_values = ", ".join(f"{value} AS {column}" for value, column in values.items())
    sql = f"""
        SELECT CAST(_place AS BIGINT) AS _place, CAST(_n AS BIGINT) AS _n, _kept, _bits AS _odd,
               CASE WHEN _bits <> 0 THEN [{examples}] END AS _example,
               {", ".join(map(name, made))}, coalesce({at}) AS _at
               {f", hash({same}) AS _same" if repeats else ""}
        FROM (SELECT *, CAST({" + ".join(bits)} AS BIGINT) AS _bits
              FROM (SELECT *, {", ".join(finite)}
                    FROM (SELECT *, {with_values} FROM ({with_local}))))
        ORDER BY _at, _place"""
    return sql, tuple(odd)


def columns_of(con: Any, mapping: TableMapping) -> set[str]:
    """Return the columns of the table of jobs that a mapping uses."""
    used, _ = _used(con, mapping)
    return {use.column for uses in used.values() for use in uses}


def _used(con: Any, mapping: TableMapping) -> tuple[dict[str, set[Use]], set[Use]]:
    """Return what each key uses, and what of the second table."""
    source, joined = mapping.source, mapping.joined
    given = {f"fields.{key}": value.sql for key, value in mapping.fields.items()}
    given |= {f"source.{n}": getattr(source, n) for n in ("where", "group") if getattr(source, n)}
    if joined:
        given["joined.to"] = joined.to or joined.key
    found = {key: _uses(con, mapping, key, sql) for key, sql in given.items()}
    for expression in source.expect:
        expected = found.setdefault("source.expect", set())
        expected |= _uses(con, mapping, "source.expect", expression)
    known = set(joined.columns) if joined else set()
    for key, uses in found.items():
        for use in uses:
            if use.column == JOINED and not {*use.keys[:1]} & known:
                what = ".".join((use.column, *use.keys))
                raise mapping.error(key, f"unknown column; {among(what, known)}", what)
    of_joined: set[Use] = set()
    if joined:
        of_joined = _uses(con, mapping, "joined.key", joined.key)
        for key, sql in joined.columns.items():
            of_joined |= _uses(con, mapping, f"joined.columns.{key}", sql)
    of_main = {key: {use for use in uses if use.column != JOINED} for key, uses in found.items()}
    return of_main, of_joined


def _uses(con: Any, mapping: TableMapping, key: str, sql: str) -> set[Use]:
    try:
        return uses_of(con, sql)
    except WorkloadError as error:
        raise mapping.error(key, str(error)[:200], sql) from None


def _check_there(
    mapping: TableMapping, key: str, used: set[Use], table: Table, parts: Sequence[Part]
) -> None:
    """Check that columns are in some part, or may be missing."""
    there = dict.fromkeys(c for part in parts for c in (*part.columns, *part.keys))
    lower = {column.lower() for column in (*there, *table.optional)}
    for column in sorted({use.column for use in used}):
        if column.lower() not in lower:
            why = f"{parts[0].name} has no such column; {among(column, there)}"
            raise mapping.error(key, why, column)


def _check_types(
    mapping: TableMapping, used: Mapping[str, set[Use]], parts: Sequence[Part]
) -> dict[str, str]:
    """Check that columns can be read as of one type; return those that have several, by key."""
    found: dict[str, str] = {}
    for key, uses in used.items():
        for column in sorted({use.column for use in uses}):
            seen: dict[str, Part] = {}
            for part in parts:
                if kind := part.types.get(column):
                    seen.setdefault(kind, part)
            if len(seen) > 1:
                (one, first), (other, second), *_ = seen.items()
                found[key] = f"{column} is {one} in {first.name}, but {other} in {second.name}"
                if not seen.keys() <= AS_TEXT:
                    raise mapping.error(key, found[key], mapping.sql_of(key))
    return found


def _check_formats(con: Any, mapping: TableMapping) -> None:
    """Check that the engine knows the formats of times."""
    for key, form in {f"fields.{k}": v.format for k, v in mapping.fields.items()}.items():
        try:
            con.execute(f"SELECT try_strptime('', {text(form)})") if form else None
        except Exception as error:
            raise engine_error(mapping, key, error, form) from None


def _check_expected(
    con: Any, mapping: TableMapping, parts: Sequence[Part], first_rows: Callable[[Part], str]
) -> None:
    """Check that the first rows of each part are as the mapping expects."""
    for part in parts if mapping.source.expect else ():
        for expression in mapping.source.expect:
            sql = f"SELECT (\n{expression}\n) FROM {first_rows(part)}"
            try:
                (holds,) = con.execute(sql).fetchone()
            except Exception as error:
                raise engine_error(mapping, "source.expect", error, expression) from None
            if holds is not True:
                why = f"{part.name} is not as the mapping expects"
                raise mapping.error("source.expect", why, expression)


def _rows_of_second(mapping: TableMapping, parts: Sequence[Part], used: set[Use]) -> str:
    """Return the SQL of the rows of the second table; empty without one."""
    if mapping.joined is None:
        return ""
    _check_there(mapping, "joined.columns", used, mapping.joined, parts)
    names = sorted({use.column for use in used})
    return rows_of(mapping.joined, mapping.times.zone, parts, names)


def _join(mapping: TableMapping, rows: str) -> str:
    """Return the SQL that adds the second table, aggregated by its key."""
    joined = mapping.joined
    assert joined is not None  # only called for one
    values = "".join(f", (\n{sql}\n) AS {name(key)}" for key, sql in joined.columns.items())
    return (
        f" LEFT JOIN (SELECT (\n{joined.key}\n) AS _key{values} FROM ({rows}) GROUP BY 1) "
        f"AS {JOINED} ON (\n{joined.to or joined.key}\n) = {JOINED}._key"
    )


def _checks(
    mapping: TableMapping, from_: str, of_others: str, differing: Mapping[str, str]
) -> Iterator[Check]:
    """Yield queries of the expressions alone, in the order in which they are evaluated."""
    source, joined = mapping.source, mapping.joined
    if joined is not None:
        given = {"joined.key": joined.key}
        given |= {f"joined.columns.{key}": sql for key, sql in joined.columns.items()}
        for key, sql in given.items():
            yield Check(key, sql, f"SELECT (\n{sql}\n) AS _v FROM ({of_others})")
        yield Check("joined.to", joined.to or joined.key, f"SELECT _place AS _v {from_}")
    if source.where:
        condition = f"coalesce((\n{source.where}\n), false)"
        values = f"SELECT {condition} AS _v {from_} GROUP BY 1"
        yield Check("source.where", source.where, values)
    if source.group:
        values = f"SELECT (\n{source.group}\n) AS _v {from_} GROUP BY 1"
        yield Check("source.group", source.group, values)
    for key, value in mapping.fields.items():
        raw = raw_of(source.where, source.group, {key: f"(\n{value.sql}\n)"}, from_)
        why = differing.get(f"fields.{key}", "")
        yield Check(f"fields.{key}", value.sql, f"SELECT _{key} AS _v FROM ({raw})", why)


def _kinds(
    con: Any, mapping: TableMapping, query: str, checks: Sequence[Check]
) -> Mapping[str, str]:
    """Return the type of each expression, as the engine names it."""
    try:
        return {row[0][1:]: row[1] for row in con.execute(f"DESCRIBE {query}").fetchall()}
    except Exception as error:
        raise fault_of(con, mapping, checks, error, runs=False) from None
