"""Errors of the engine as errors of a mapping: at which key, in which SQL, in plain words."""

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from workloadkit.errors import FormatError
from workloadkit.io.tables.declared import TableMapping

_KIND = re.compile(r"^(?:[A-Z]\w+ )+Error: ")
_NO_FUNCTION = re.compile(
    r"(?:Scalar |Aggregate |Table )?Function with name (\S+) (?:does not exist|is not)"
)
_NO_MATCH = re.compile(r"No function matches the given name and argument types '([^']*)'")
_MEANT = re.compile(r'Did you mean "([^"]+)"')
_CAST = re.compile(r"(.*?) when casting from source column (\S+)")
_ADVICE = re.compile(r"\. You might need to.*| ?- an explicit cast is required.*|\. Use TRY.*")
_OF_NUMBERS = "list columns of text that hold numbers in source.numbers, or write TRY_CAST"


class Check(NamedTuple):
    """A query by which an expression can be judged alone.

    Parameters
    ----------
    key : str
        Of the mapping.
    sql : str
        The expression.
    values : str
        The query, of one column `_v`.
    note : str
        What may be the reason.
    """

    key: str
    sql: str
    values: str
    note: str = ""


def is_of_engine(error: Exception) -> bool:
    """Whether an error is one of the engine."""
    return type(error).__module__.startswith(("duckdb", "_duckdb"))


def engine_error(
    mapping: TableMapping, key: str, error: Exception, sql: str | None = None, note: str = ""
) -> FormatError:
    """Return an error of the engine as one of a key; other errors are raised."""
    if not is_of_engine(error):
        raise error
    plain = _plain(str(error), has_group=bool(mapping.source.group))
    return mapping.error(key, "; ".join(filter(None, (plain, note))), sql)


def fault_of(
    con: Any, mapping: TableMapping, checks: Iterable[Check], error: Exception, *, runs: bool
) -> FormatError:
    """Return an error of the engine as one of the first key that has it alone.

    `runs` is whether it arose from values, rather than from the expressions themselves.
    """
    if not is_of_engine(error):
        raise error
    column = _CAST.search(str(error))
    for check in checks:
        query = f"SELECT bit_xor(hash(_v)) FROM ({check.values})" if runs else check.values
        try:
            con.execute(query if runs else f"DESCRIBE {query}").fetchall()
        except Exception as alone:
            return engine_error(mapping, check.key, alone, check.sql, check.note)
        if column and runs and re.search(rf"\b{re.escape(column[2])}\b", check.sql):
            return engine_error(mapping, check.key, error, check.sql)
    return engine_error(mapping, "source", error)


def _plain(message: str, *, has_group: bool) -> str:
    """Return the message of the engine without its terms."""
    first = _KIND.sub("", message.splitlines()[0])
    meant = _MEANT.search(message)
    if found := _NO_FUNCTION.search(first):
        return f"unknown function {found[1]}" + (f"; did you mean {meant[1]}?" if meant else "")
    if "must appear in the GROUP BY clause" in first:
        of_group = "with source.group, it must be an aggregate, as min(...) or any_value(...)"
        return of_group if has_group else "an aggregate, as of events, requires source.group"
    if "in COALESCE operator" in first:
        return "is not a condition"
    if "cannot contain aggregates" in first:
        return "must not be an aggregate"
    first = first.replace("_LITERAL", "").replace("STRING", "VARCHAR")
    if found := _NO_MATCH.search(first):
        first = f"no function takes these types: {found[1]}"
    elif found := _CAST.search(first):
        first = f"{found[1]} in column {found[2]}; TRY_CAST makes it unknown"
    text = _ADVICE.sub("", first)[:200].rstrip(". ")
    texts = "VARCHAR" in text and not text.startswith("Could not")
    return f"{text}; {_OF_NUMBERS}" if texts else text
