"""DuckDB, locked: no files but the named ones, no extensions, no network, bounded memory."""

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from workloadkit.errors import WorkloadError

#: Memory for sorting and grouping; more goes to temporary files.
MEMORY = "1500MB"

#: Name of a second table's columns in expressions.
JOINED = "joined"


#: Name of a data frame.
FRAME = "_frame"


def connect(paths: Iterable[str], folder: str, *, frame: Any = None) -> Any:
    """Return a connection that may read `paths`, and write temporary files to `folder`.

    `frame` is an Arrow table that it may read as `FRAME`.

    Raises
    ------
    WorkloadError
        If DuckDB is not installed.
    """
    try:
        import duckdb
    except ImportError:
        raise WorkloadError(
            "reading tables requires DuckDB: pip install 'workloadkit[tables]'"
        ) from None
    con = duckdb.connect(
        config={
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "python_enable_replacements": "false",
            "preserve_insertion_order": "true",
            "memory_limit": MEMORY,
            "threads": str(min(os.cpu_count() or 1, 8)),
            "temp_directory": folder,
        }
    )
    if frame is not None:
        con.register(FRAME, frame)
    with suppress(duckdb.InvalidInputException):  # in notebooks that cannot show a bar
        con.execute("SET enable_progress_bar = false")
    allowed = ", ".join(text(path) for path in paths)
    for setting in (
        "TimeZone = 'UTC'",
        f"allowed_paths = [{allowed}]",
        "enable_external_access = false",
        "lock_configuration = true",
    ):
        con.execute(f"SET {setting}")
    return con


def text(value: str) -> str:
    """Return a text as SQL has it."""
    return "'" + value.replace("'", "''") + "'"


def name(value: str) -> str:
    """Return the name of a column as SQL has it."""
    return '"' + value.replace('"', '""') + '"'


def columns_in(con: Any, expression: str) -> set[tuple[str, ...]]:
    """Return the columns of an expression, each with its parts.

    Raises
    ------
    WorkloadError
        If it is not one expression.

    Examples
    --------
    >>> con = connect([], "")
    >>> sorted(columns_in(con, "joined.n + list_sum(list_transform(a, x -> x.b))"))
    [('a',), ('joined', 'n')]
    """
    # a line end, because the expression may end with a comment
    parsed = _tree(con, f"SELECT (\n{expression}\n)")
    statements = parsed.get("statements", [])
    node = statements[0]["node"] if len(statements) == 1 else {}
    table = node.get("from_table") or {}
    if len(node.get("select_list", [])) != 1 or table.get("type") != "EMPTY":
        raise WorkloadError("it must be one expression")
    if any(part.get("class") == "SUBQUERY" for part in _parts(node)):
        raise WorkloadError("it must not contain SELECT")
    return set(_columns(node["select_list"][0], frozenset()))


def _tree(con: Any, query: str) -> dict[str, Any]:
    (found,) = con.execute("SELECT json_serialize_sql(?::VARCHAR)", [query]).fetchone()
    parsed: dict[str, Any] = json.loads(found)
    if parsed.get("error"):
        raise WorkloadError(str(parsed.get("error_message", "it cannot be read")))
    return parsed


def _parts(node: Any) -> Iterator[dict[str, Any]]:
    """Yield all parts of a tree."""
    if isinstance(node, dict):
        yield node
        node = list(node.values())
    if isinstance(node, list):
        for inner in node:
            yield from _parts(inner)


def _columns(node: Any, bound: frozenset[str]) -> Iterator[tuple[str, ...]]:
    """Yield the columns below a node; parameters of lambdas are none."""
    if isinstance(node, list):
        for inner in node:
            yield from _columns(inner, bound)
    elif isinstance(node, dict):
        if node.get("class") == "COLUMN_REF":
            names = tuple(node["column_names"])
            if names[0] not in bound:
                yield names[:2] if names[0] == JOINED else names[:1]
        elif node.get("class") == "LAMBDA":
            given = {n for names in _columns(node["lhs"], frozenset()) for n in names}
            yield from _columns(node["expr"], bound | given)
        else:
            yield from _columns([*node.values()], bound)
