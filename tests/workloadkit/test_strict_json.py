"""Strict JSON: what is read, and what is refused with one line."""

import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis.strategies import (
    booleans,
    dictionaries,
    floats,
    integers,
    lists,
    none,
    recursive,
    text,
)

from workloadkit.errors import FormatError
from workloadkit.io.strict_json import MAX_DEPTH, read_json, read_json_file

TEXTS = text(max_size=8)
LEAVES = none() | booleans() | integers(-(10**300), 10**300) | TEXTS
VALUES = recursive(
    LEAVES | floats(allow_nan=False, allow_infinity=False),
    lambda inner: lists(inner, max_size=3) | dictionaries(TEXTS, inner, max_size=3),
    max_leaves=12,
)


@given(VALUES, booleans())
def test_what_json_writes_is_read(value, ascii_only):
    written = json.dumps(value, ensure_ascii=ascii_only)
    assert read_json(written, "a.json") == value
    assert read_json(b"\xef\xbb\xbf" + written.encode(), "a.json") == value


REFUSED = [
    ("", "is empty"),
    (" \n", "is empty"),
    ('{"a": 1, "b": 2, "a": 1}', "repeated key: 'a'"),
    ('[{"a": {"b": 1, "b": 1}}]', "repeated key: 'b'"),
    ("[NaN]", "not a JSON number: 'NaN'"),
    ('{"a": Infinity}', "not a JSON number: 'Infinity'"),
    ("-Infinity", "not a JSON number: '-Infinity'"),
    ("[1e999]", "a number is out of range: '1e999'"),
    ("-1e400", "a number is out of range: '-1e400'"),
    ("9" * 400, "a number is out of range: '9999"),
    ("[" + "9" * 5000 + "]", "a number is out of range: '9999"),
    ("-" + "9" * 5000, "a number is out of range: '-9999"),
    (r'["\ud800"]', r"a lone surrogate is no character: '\ud800'"),
    (r'{"\uDFFF": 1}', r"a lone surrogate is no character: '\udfff'"),
    ('["\ud800"]', "is not UTF-8"),
    (b'\n["\xff"]', "line 2: is not UTF-8"),
    ("[1]".encode("utf-16"), "is not UTF-8"),
    ('{\n"a" 8}', "line 2: not JSON at column 5: Expecting ':' delimiter"),
    ("[1] 2", "not JSON at column 5: Extra data"),
    ("[" * 100_000, "nested too deeply"),
    ('{"a":' * 100_000, "nested too deeply"),
    ("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), "nested too deeply"),
    ("{" + ", ".join(f'"{"x" * 9000}": 1' for _ in range(2)) + "}", "repeated key: 'xxx"),
]


def test_what_no_json_is_is_refused_with_one_line():
    for given_text, words in REFUSED:
        with pytest.raises(FormatError) as error:
            read_json(given_text, "a.json")
        message = str(error.value)
        assert message.startswith("a.json"), message
        assert words in message, (given_text[:80], message)
        assert len(message) <= 400 and "\n" not in message, message


def test_the_limits_themselves_are_read():
    assert read_json(r'"\ud83d\ude00"', "a") == "😀"
    assert read_json("[" * MAX_DEPTH + "]" * MAX_DEPTH, "a")
    assert read_json("1e308", "a") == 1e308
    assert read_json("1" + "0" * 308, "a") == 10**308


def test_files_have_a_limit(tmp_path: Path):
    path = tmp_path / "a.json"
    path.write_bytes(b"[1]" + b" " * (1 << 20))
    assert read_json_file(path) == [1]
    with pytest.raises(FormatError, match=r"a\.json: has more than 1 MiB of JSON"):
        read_json_file(path, most=1 << 20)
    assert read_json_file(io.BytesIO(b"{}")) == {}
