"""Mutations of Arrow tables: the content of a Parquet file is changed, and written as Parquet.

A table that Parquet cannot hold stays as it is.
"""

import io
from collections.abc import Callable
from functools import wraps
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.fuzz.mutations import Mutation
from tests.fuzz.trees import OF_JSON, shared

Mutate = Callable[[pa.Table, Random], pa.Table]
Make = Callable[[list[Any], Random], pa.Array]

#: What stands in a column of numbers.
_NUMBERS = [
    *(-1, 0, 1, -2, 0.5, -1.0, -0.0, 1e16, 1e30, 1e300, -1e300, 5e-324, float("nan"), float("inf")),
    *(float("-inf"), None, 2**31, -(2**31) - 1, 2**53 + 1, 2**63 - 1, -(2**63), 2**63 + 5),
    2**64 - 1,
]  # fmt: skip
_WORDS = ["", "x", "1", "-1", "NaN", "x" * 3000, "é", "\0", "a\nb", "\x1b[31m", None, "9" * 400]


def _whole(values: list[Any], least: int, most: int) -> list[int | None]:
    """Whole numbers of a type's range, in place of the values that are none."""
    kept = (
        value if isinstance(value, (int, float)) and value == value else None for value in values
    )
    return [
        None if value is None else int(min(max(value, least), most) if abs(value) < 1e300 else most)
        for value in kept
    ]


def _integers(kind: pa.DataType) -> Make:
    width = kind.bit_width
    unsigned = str(kind).startswith("u")
    least, most = (0, 2**width - 1) if unsigned else (-(2 ** (width - 1)), 2 ** (width - 1) - 1)
    return lambda values, rng: pa.array(_whole(values, least, most), kind)


def _floats(kind: pa.DataType) -> Make:
    def make(values: list[Any], rng: Random) -> pa.Array:
        floats = [float(v) if isinstance(v, (int, float)) else float("nan") for v in values]
        with np.errstate(over="ignore"):
            array = np.array(floats, kind.to_pandas_dtype())
        return pa.array(array, kind, from_pandas=rng.random() < 0.5)

    return make


def _of_type(kind: pa.DataType, change: Callable[[Any], Any]) -> Make:
    return lambda values, rng: pa.array([change(value) for value in values], kind)


def _large(values: list[Any], rng: Random) -> pa.Array:
    return pa.array([rng.choice([2**63 + 5, 2**64 - 1, 7]) for _ in values], pa.uint64())


def _dictionary(values: list[Any], rng: Random) -> pa.Array:
    return pa.array([str(value) for value in values]).dictionary_encode()


def _numbers_in_dictionary(values: list[Any], rng: Random) -> pa.Array:
    return pa.array(_whole(values, -(2**63), 2**63 - 1), pa.int64()).dictionary_encode()


def _constant(values: list[Any], rng: Random) -> pa.Array:
    """One number for all rows: −1.0, say, which is unknown in text."""
    number = rng.choice(_NUMBERS)
    if isinstance(number, int):
        return pa.array([number] * len(values), pa.uint64() if number >= 2**63 else pa.int64())
    return pa.array([number] * len(values), pa.float64())


def _second(value: Any) -> int | None:
    return int(value) % 2**40 if isinstance(value, (int, float)) and abs(value) < 1e15 else None


_TYPES: list[Make] = [
    *(_integers(kind) for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64())),
    *(_integers(kind) for kind in (pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())),
    *(_floats(kind) for kind in (pa.float16(), pa.float32(), pa.float64())),
    *(_large, _dictionary, _numbers_in_dictionary, _constant, _constant),
    _of_type(pa.map_(pa.string(), pa.int64()), lambda v: [("x", 1)]),
    _of_type(pa.list_(pa.int64()), lambda v: [1, 2]),
    _of_type(pa.list_(pa.int64(), 2), lambda v: [1, 2]),
    _of_type(pa.large_list(pa.float64()), lambda v: [1.5] if v else None),
    _of_type(pa.struct([("x", pa.int64())]), lambda v: {"x": 1}),
    _of_type(pa.list_(pa.struct([("time", pa.float64()), ("value", pa.float64())])), lambda v: []),
    _of_type(pa.list_(pa.map_(pa.string(), pa.string())), lambda v: [[("a", "b")]]),
    _of_type(pa.timestamp("s"), _second),
    _of_type(pa.timestamp("ns", "Asia/Kolkata"), lambda v: 10**18),
    _of_type(pa.timestamp("s"), lambda v: 10**18),  # pandas holds no such time
    _of_type(pa.date32(), lambda v: 10**6),
    _of_type(pa.time64("us"), lambda v: 10**6),
    _of_type(pa.duration("s"), _second),
    _of_type(pa.decimal128(38, 4), lambda v: None if v is None else 7),
    _of_type(pa.decimal256(70, 0), lambda v: 10**69),
    _of_type(pa.bool_(), bool),
    _of_type(pa.string(), str),
    _of_type(pa.large_string(), lambda v: None if v is None else str(v)),
    _of_type(pa.binary(), lambda v: b"\xff" + str(v).encode()),
    _of_type(pa.binary(4), lambda v: b"\xff\0\0\0"),
    _of_type(pa.null(), lambda v: None),
]


def drop_field(table: pa.Table, rng: Random) -> pa.Table:
    return table.remove_column(_place(table, rng))


def rename_field(table: pa.Table, rng: Random) -> pa.Table:
    names = list(table.column_names)
    names[_place(table, rng)] = _name(table, rng)
    return table.rename_columns(names)


def repeat_field(table: pa.Table, rng: Random) -> pa.Table:
    """Repeat a column, under its name or another."""
    at = _place(table, rng)
    name = rng.choice([table.column_names[at], _name(table, rng)])
    return table.add_column(rng.randrange(table.num_columns + 1), name, table.column(at))


def swap_fields(table: pa.Table, rng: Random) -> pa.Table:
    """Give columns the names of others."""
    names = list(table.column_names)
    one, other = rng.choices(range(len(names)), k=2)
    names[one], names[other] = names[other], names[one]
    return table.rename_columns(names)


def shuffle_fields(table: pa.Table, rng: Random) -> pa.Table:
    return table.select(rng.sample(range(table.num_columns), table.num_columns))


def other_field_type(table: pa.Table, rng: Random) -> pa.Table:
    """Store a column as another type."""
    at = _place(table, rng)
    made = rng.choice(_TYPES)(table.column(at).to_pylist(), rng)
    return table.set_column(at, table.column_names[at], made)


def add_field(table: pa.Table, rng: Random) -> pa.Table:
    made = rng.choice(_TYPES)([rng.choice(_NUMBERS) for _ in range(table.num_rows)], rng)
    return table.append_column(_name(table, rng), made)


def odd_cell(table: pa.Table, rng: Random) -> pa.Table:
    """Put odd values into some rows of a column."""
    if not table.num_rows:
        return table
    at = _place(table, rng)
    column = table.column(at)
    values = column.to_pylist()
    words = any(isinstance(value, str) for value in values)
    for _ in range(rng.choice([1, 1, 1, 3, len(values)])):
        values[rng.randrange(len(values))] = rng.choice(_WORDS if words else _NUMBERS)
    if words:
        made = pa.array([None if value is None else str(value) for value in values])
        made = made.dictionary_encode() if pa.types.is_dictionary(column.type) else made
    else:
        kinds = (pa.int64(), pa.uint64(), pa.float64())
        made = next(filter(None, (_array(values, kind) for kind in kinds)), column)
    return table.set_column(at, table.column_names[at], made)


def nulls(table: pa.Table, rng: Random) -> pa.Table:
    """Make all values of a column null, or some."""
    at = _place(table, rng)
    column = table.column(at)
    share = rng.choice([0.1, 1])
    values = [None if rng.random() < share else value for value in column.to_pylist()]
    return table.set_column(at, table.column_names[at], pa.array(values, column.type))


def repeat_rows(table: pa.Table, rng: Random) -> pa.Table:
    at = rng.randrange(table.num_rows + 1)
    repeated = table.slice(rng.randrange(table.num_rows + 1), rng.choice([1, 2, table.num_rows]))
    return pa.concat_tables([table.slice(0, at), repeated, table.slice(at)])


def drop_rows(table: pa.Table, rng: Random) -> pa.Table:
    at = rng.randrange(table.num_rows + 1)
    rest = table.slice(at + rng.choice([0, 1, 1, 2, table.num_rows]))
    return pa.concat_tables([table.slice(0, at if rng.random() < 0.9 else 0), rest])


def shuffle_rows(table: pa.Table, rng: Random) -> pa.Table:
    return table.take(rng.sample(range(table.num_rows), table.num_rows))


def other_metadata(table: pa.Table, rng: Random) -> pa.Table:
    """Mutate what the file says of itself; where it is JSON, as a tree."""
    metadata = dict(table.schema.metadata or {b"workloadkit": b"{}"})
    key = rng.choice([*metadata])
    match rng.randrange(8):
        case 0:
            del metadata[key]
        case 1:
            metadata[key] = rng.choice([b"", b"null", b"[]", b"1", b"\xff", b"{", b'"x"'])
        case 2:
            metadata[rng.choice([b"pandas", b"workloadkit", b"ARROW:schema"])] = metadata.pop(key)
        case _:
            mutate = rng.choices([*OF_JSON], [*OF_JSON.values()])[0]
            metadata[key] = mutate(metadata[key], rng)
    return table.replace_schema_metadata(metadata)


#: Mutations of tables, each as often as it is to be drawn.
OF_TABLES: dict[Mutate, float] = {
    drop_field: 8,
    rename_field: 8,
    repeat_field: 4,
    swap_fields: 4,
    shuffle_fields: 1,
    other_field_type: 30,
    add_field: 8,
    odd_cell: 30,
    nulls: 4,
    repeat_rows: 4,
    drop_rows: 4,
    shuffle_rows: 2,
    other_metadata: 12,
}


def parquet_bytes(table: pa.Table) -> bytes:
    """Write a table as Parquet."""
    stream = io.BytesIO()
    pq.write_table(table, stream, compression="none", write_statistics=False)
    return stream.getvalue()


def _of_table(mutate: Mutate) -> Mutation:
    @wraps(mutate)
    def mutation(data: bytes, rng: Random) -> bytes:
        try:
            file = pq.ParquetFile(pa.BufferReader(data))
            table = file.read().replace_schema_metadata(_metadata(file))
            return parquet_bytes(mutate(table, rng))
        except (pa.ArrowException, OSError, ValueError, TypeError, OverflowError, IndexError):
            return data  # broken before, or what Parquet cannot hold

    return mutation


def _metadata(file: pq.ParquetFile) -> dict[bytes, bytes]:
    """Return what the file says of itself, without what pyarrow says of the columns."""
    metadata = file.metadata.metadata or {}
    return {key: text for key, text in metadata.items() if key != b"ARROW:schema"}


def _array(values: list[Any], kind: pa.DataType) -> pa.Array | None:
    try:
        return pa.array(values, kind)
    except (pa.ArrowException, OverflowError, TypeError):
        return None


def _place(table: pa.Table, rng: Random) -> int:
    return rng.randrange(table.num_columns)  # without columns a ValueError: nothing to mutate


def _name(table: pa.Table, rng: Random) -> str:
    """Return a name of a column: odd, or one that the toolkit or the table has elsewhere."""
    odd = ["", "x", "x" * 3000, "job", "place", "row", "sidecar_", "sidecar_job", "sidecar_row"]
    names = [rng.choice(table.column_names), "submit", "run", "user", "nodes", "state"]
    return rng.choice([rng.choice(odd), rng.choice(names), f"sidecar_{rng.choice(names)}"])


_BY_TABLE = {_of_table(mutate): weight for mutate, weight in OF_TABLES.items()}

#: Mutations of Parquet files, for `Format.mutations`.
OF_PARQUET = _BY_TABLE | shared(_BY_TABLE, 0.15)
