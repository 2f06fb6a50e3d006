"""DuckDB, locked: no files but the named ones, no extensions, no network, bounded memory."""

import os
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from workloadkit.errors import WorkloadError

#: Memory for sorting and grouping; more goes to temporary files.
MEMORY = "1500MB"

#: Name of a second table's columns in expressions.
JOINED = "joined"


#: Name of a data frame.
FRAME = "_frame"


def connect(paths: Iterable[str], folder: str) -> Any:
    """Return a connection that may read `paths`, and write temporary files to `folder`.

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
