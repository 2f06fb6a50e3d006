"""Columns within columns: keys of nested records, and lists such as ``cpu=4,mem=16G``."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from workloadkit.io.tables.engine import name as quoted_name
from workloadkit.io.tables.engine import text
from workloadkit.io.tables.guess.columns import Column, column_of

_DEEPEST = 4  # keys of a record
_AMOUNTS = re.compile(r"[\w/.:-]+=[^=,]+(,[\w/.:-]+=[^=,]+)*")

#: Keys of lists of amounts, and what the name of a column of them would be.
_OF_LIST = {"cpu": "cpus", "node": "nodes", "gres/gpu": "gpus", "mem": "mem"}


def expanded(name: str, cells: Sequence[Any]) -> Iterator[Column]:
    """Yield the columns within a column; the column itself if there are none.

    Examples
    --------
    >>> for column in expanded("ReqTRES", ["cpu=4,mem=8G", "cpu=2,gres/gpu=1"]):
    ...     print(column.name, column.kind)
    req cpus number
    req gpus number
    req mem amount
    >>> [column.sql for column in expanded("job", [{"times": {"start": 5}}, None])]
    ['"job"."times"."start"']
    """
    known = [cell for cell in cells if cell is not None and cell != ""]
    if known and all(isinstance(cell, dict) for cell in known):
        yield from _of_records((name,), cells)
    elif known and all(isinstance(cell, str) and _AMOUNTS.fullmatch(cell) for cell in known):
        yield from _of_amounts(name, ["" if cell is None else cell for cell in cells])
    else:
        yield column_of(name, cells)


def _of_records(path: tuple[str, ...], cells: Sequence[Any]) -> Iterator[Column]:
    """Yield the columns of the keys of records."""
    records = [cell if isinstance(cell, dict) else {} for cell in cells]
    for key in dict.fromkeys(key for record in records for key in record):
        values = [record.get(key) for record in records]
        known = [value for value in values if value is not None]
        inner = (*path, str(key))
        if known and all(isinstance(v, dict) for v in known) and len(inner) < _DEEPEST:
            yield from _of_records(inner, values)
        else:
            sql = ".".join(map(quoted_name, inner))
            yield replace(column_of(".".join(inner), values), sql=sql)


def _of_amounts(name: str, cells: Sequence[str]) -> Iterator[Column]:
    """Yield a column for each amount of a list that has a meaning."""
    requested = "req" if "req" in name.lower() else "alloc"
    for key, word in _OF_LIST.items():
        pattern = rf"(?:^|,){key}=([^,]*)"
        found = [re.search(pattern, cell) for cell in cells]
        if any(found):
            sql = f"regexp_extract({quoted_name(name)}, {text(pattern)}, 1)"
            column = column_of(f"{requested} {word}", [m[1] if m else None for m in found])
            of = (
                column.name if word != "mem" or requested == "req" else "memory"
            )  # not what is used
            yield replace(column, name=of, sql=sql, why=f"{key} of the list {name}")
