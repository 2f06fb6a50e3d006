"""SQL that converts the value of an expression to that of a field, by its type."""

from datetime import UTC, datetime
from typing import NamedTuple

from workloadkit.io.tables.declared import (
    DURATIONS,
    JOULES,
    KILOBYTES,
    MEMORY,
    SECONDS,
    TIMES,
    WORDS,
    TableMapping,
    Value,
)
from workloadkit.io.tables.engine import text
from workloadkit.io.tables.local_times import clock_change, utc

_INTEGERS = (
    "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER",
    "UBIGINT", "UHUGEINT",
)  # fmt: skip
_REALS = ("FLOAT", "DOUBLE")
_ZONED = "TIMESTAMP WITH TIME ZONE"
_HAS_OFFSET = r":\d\d([.,]\d+)? ?(Z|[+-]\d\d(:?\d\d)?|[A-Z]{3,4})$"


class Conversion(NamedTuple):
    """SQL of a field.

    Parameters
    ----------
    value : str
        Null where it is unknown.
    present : str
        Condition: there is a value, which is not understood if `value` is null or infinite; empty
        if all values are understood.
    local : str
        Of times without an offset: their local seconds, which `value` and `change` have as a column
        named after the field (`local_name`).
    change : str
        Of such times: 0 in an hour that the clock skips, 1 in one that it repeats, else null.
    """

    value: str
    present: str = ""
    local: str = ""
    change: str = ""


def local_name(field: str) -> str:
    """Return the name of the column of a field's local seconds."""
    return f"_local_{field}"


def conversion(mapping: TableMapping, name: str, raw: str, kind: str) -> Conversion:
    """Return the SQL of a field from a column `raw` of the engine's type `kind`.

    Raises
    ------
    FormatError
        If a time or duration is a number without a unit.
    """
    value = mapping.fields[name]
    if kind == '"NULL"':  # of a column that no part has
        raw, kind = f"CAST({raw} AS VARCHAR)", "VARCHAR"
    if kind == "JSON":  # a text without its quotes
        raw, kind = f"({raw}->>'$')", "VARCHAR"
    if name in WORDS:
        return Conversion(_unless_unknown(_word(raw, kind), f"{raw}::VARCHAR", value, kind))
    if name in MEMORY and value.unit == "suffix":
        return Conversion(_unless_unknown(f"{raw}::VARCHAR", f"{raw}::VARCHAR", value, kind))
    local, change = "", ""
    if name in TIMES:
        known, _, local, change = _time(mapping, name, raw, kind)
    elif name in DURATIONS:
        known = _duration(mapping, name, raw, kind)
    else:
        known = _number(raw, kind)
        if kind != "VARCHAR" and not _is_number(kind):
            why = f"has the type {kind[:40]}, which is not a number"
            raise mapping.error(f"fields.{name}", why, value.sql)
        factor = (KILOBYTES | JOULES).get(value.unit, 1.0)
        known = known if factor == 1 else f"{known} * {factor!r}::DOUBLE"
    present = f"{raw} IS NOT NULL"
    if kind == "VARCHAR":
        present += f" AND {raw} <> ''"
    if unknown := _is_unknown(raw, kind, value):
        known = f"CASE WHEN {unknown} THEN NULL ELSE {known} END"
        present += f" AND NOT coalesce({unknown}, false)"
        change = f"CASE WHEN NOT {unknown} THEN {change} END" if change else ""
    if kind in _INTEGERS:  # all of them are understood
        present = ""
    return Conversion(known, present, local, change)


def _is_number(kind: str) -> bool:
    return kind in (*_INTEGERS, *_REALS, "BOOLEAN") or kind.startswith("DECIMAL")


def number_of_text(raw: str) -> str:
    """Return the SQL of the number in a text; the engine would accept ``1_000``."""
    return f"CASE WHEN NOT contains({raw}, '_') THEN TRY_CAST({raw} AS DOUBLE) END"


def _number(raw: str, kind: str) -> str:
    if kind == "VARCHAR":
        return number_of_text(raw)
    return f"TRY_CAST({raw} AS DOUBLE)"


def _word(raw: str, kind: str) -> str:
    """Return the SQL of a text; whole numbers have no decimals."""
    if kind in _REALS:
        whole = f"CAST(CAST({raw} AS BIGINT) AS VARCHAR)"
        is_whole = f"{raw} = trunc({raw}) AND abs({raw}) < 9e15"
        return f"CASE WHEN {is_whole} THEN {whole} ELSE CAST({raw} AS VARCHAR) END"
    return raw if kind == "VARCHAR" else f"CAST({raw} AS VARCHAR)"


def _unless_unknown(known: str, compared: str, value: Value, kind: str) -> str:
    texts = ", ".join(text(str(u)) for u in value.unknown)
    del kind
    return f"CASE WHEN {compared} NOT IN ({texts}) THEN {known} END" if texts else known


def _is_unknown(raw: str, kind: str, value: Value) -> str:
    """Return the condition that a value is one of those that mean unknown."""
    numbers = ", ".join(f"{u!r}::DOUBLE" for u in map(_as_float, value.unknown) if u is not None)
    texts = ", ".join(text(u) for u in value.unknown if isinstance(u, str))
    found = []
    if numbers and kind == "INTERVAL":
        found.append(f"epoch({raw}) IN ({numbers})")
    elif numbers and (kind == "VARCHAR" or _is_number(kind)):
        found.append(f"TRY_CAST({raw} AS DOUBLE) IN ({numbers})")
    if texts and kind == "VARCHAR":
        found.append(f"{raw} IN ({texts})")
    return "(" + " OR ".join(f"coalesce({each}, false)" for each in found) + ")" if found else ""


def _as_float(value: float | str) -> float | None:
    return None if isinstance(value, str) else float(value)


def _time(mapping: TableMapping, name: str, raw: str, kind: str) -> Conversion:
    """Return the SQL of a time. [s since 1970, or since an unknown origin]."""
    value, times = mapping.fields[name], mapping.times
    if kind == _ZONED:
        return Conversion(f"epoch_us({raw}) / 1e6")
    if kind.startswith("TIMESTAMP") or kind == "DATE":
        return _local_time(name, f"epoch_us({raw}::TIMESTAMP) / 1e6", times.zone)
    if value.unit and (kind == "VARCHAR" or _is_number(kind)):
        since = f"{_number(raw, kind)} * {SECONDS[value.unit]!r}::DOUBLE"
        return Conversion(f"({origin(mapping)!r}::DOUBLE + {since})")
    if kind != "VARCHAR":
        what = f"has the type {kind[:40]} and no unit; give unit = one of {', '.join(SECONDS)}"
        raise mapping.error(f"fields.{name}", what, value.sql)
    if value.format:
        parsed = f"try_strptime({raw}, {text(value.format)})"
        local = f"(epoch_us({parsed}) / 1e6)"
        has_zone = "%z" in value.format or "%Z" in value.format
        return Conversion(local) if has_zone else _local_time(name, local, times.zone)
    seconds = f"(epoch_us(TRY_CAST({raw} AS TIMESTAMPTZ)) / 1e6)"
    if times.zone == "UTC":
        return Conversion(seconds)
    offset = f"regexp_matches({raw}, {text(_HAS_OFFSET)})"
    made = _local_time(name, seconds, times.zone)
    value_of = f"CASE WHEN {offset} THEN {local_name(name)} ELSE {made.value} END"
    change = f"CASE WHEN NOT {offset} THEN {made.change} END" if made.change else ""
    return made._replace(value=value_of, change=change)


def _local_time(name: str, local: str, zone: str) -> Conversion:
    column = local_name(name)
    return Conversion(utc(column, zone), "", local, clock_change(column, zone))


def origin(mapping: TableMapping) -> float:
    """Return second 0 of times that are numbers; 0 if it is unknown. [s since 1970]."""
    if mapping.times.origin == "unknown":
        return 0.0
    try:
        begin = datetime.fromisoformat(mapping.times.origin)
    except ValueError:
        why = "is not a date, a time, or unknown"
        raise mapping.error("times.origin", why, mapping.times.origin) from None
    return (begin if begin.tzinfo else begin.replace(tzinfo=UTC)).timestamp()


def _duration(mapping: TableMapping, name: str, raw: str, kind: str) -> str:
    """Return the SQL of a duration. [s]."""
    unit = mapping.fields[name].unit
    if kind == "INTERVAL":
        return f"epoch({raw})"
    if unit == "clock" and kind == "VARCHAR":
        return _clock(raw)
    if unit in SECONDS and (kind == "VARCHAR" or _is_number(kind)):
        return f"{_number(raw, kind)} * {SECONDS[unit]!r}::DOUBLE"
    wrong = f"unit = {unit}, and" if unit else "no unit;"
    units = ", ".join((*SECONDS, "clock"))
    why = f"has {wrong} the type {kind[:40]}; give unit = one of {units}"
    raise mapping.error(f"fields.{name}", why, mapping.fields[name].sql)


def _clock(raw: str) -> str:
    """Return the SQL of ``[d-]hh:mm:ss`` and ``N days hh:mm:ss``; ``mm:ss`` without hours."""
    days = (
        f"CASE WHEN contains({raw}, ' day') THEN split_part({raw}, ' day', 1) "
        f"WHEN contains({raw}, '-') THEN split_part({raw}, '-', 1) ELSE '0' END"
    )
    parts = f"string_split(string_split(string_split({raw}, ' ')[-1], '-')[-1], ':')"
    hours = f"CASE len({parts}) WHEN 3 THEN {parts}[1] WHEN 2 THEN '0' END"
    terms = ((days, 86400), (hours, 3600), (f"{parts}[-2]", 60), (f"{parts}[-1]", 1))
    return "(" + " + ".join(f"{number_of_text(f'({t})')} * {f}::DOUBLE" for t, f in terms) + ")"
