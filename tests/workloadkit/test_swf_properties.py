"""What holds of every log: it comes back as written, and both parsers read the same."""

import io
import re
from functools import partial
from unittest import mock

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from tests.compiled import from_python
from workloadkit import FormatError, Header, Trace, read_swf, write_swf
from workloadkit._kernels import swf as parser
from workloadkit.fields import FIELDS
from workloadkit.io import files, swf
from workloadkit.io.swf import reading, writing

quotient = from_python(parser.quotient)

_INT64_MAX = 2**63 - 1


def values(field):
    """Values that a column can hold; unknown among them."""
    if not field.measured:
        return st.integers(-_INT64_MAX, _INT64_MAX) | st.integers(-1, 9)
    known = (
        st.integers(0, 10**6).map(float)
        | st.integers(-(10**5), 10**15)
        .map(lambda n: n / 10 ** (n % 5))
        .filter(lambda x: abs(x) <= field.limit and x != -1)
        | st.floats(-field.limit, field.limit).filter(lambda x: x != -1)
        | st.integers(0, field.limit).map(float)
    )
    return known if field.name == "submit" else known | st.just(np.nan)


JOBS = st.lists(st.tuples(*map(values, FIELDS)), min_size=1, max_size=8)
HEADERS = st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0\r\n")), max_size=4)


def written(trace, fast_from):
    """The text of a log, by the compiled writer from so many jobs on."""
    stream = io.BytesIO()
    fake = mock.MagicMock(__enter__=lambda _: stream)
    patches = {
        "writing": lambda path, *, companion: fake,
        "_WRITTEN_FAST_FROM": fast_from,
        "_ROWS_AT_A_TIME": 3,
    }
    with mock.patch.multiple(writing, **patches):
        write_swf(trace, "anywhere")
    return stream.getvalue()


@given(JOBS, HEADERS)
def test_what_is_written_reads_back_equal(jobs, lines):
    table = pd.DataFrame(dict(zip([f.name for f in FIELDS], zip(*jobs, strict=True), strict=True)))
    table = table.astype({f.name: f.dtype for f in FIELDS})
    columns = {name: table[name] for name in table}
    trace = Trace.from_columns(columns, header=Header(tuple(f";{line}" for line in lines)))
    text = written(trace, fast_from=len(jobs) + 1)
    assert written(trace, fast_from=0) == text
    for compiled_from in (0, len(text) + 1):
        with mock.patch.object(reading, "COMPILED_FROM", compiled_from):
            again = read_swf(io.BytesIO(text))
        together = pd.concat([again.jobs, again.bursts])  # status 2 to 4 may make bursts
        assert len(together) == trace.n_jobs
        if again.bursts.empty:
            pd.testing.assert_frame_equal(again.jobs, trace.jobs)
        assert again.header == trace.header


NUMBERS = (
    st.integers(-3, 3000).map(str)
    | st.integers(-(2**70), 2**70).map(str)
    | st.decimals(-3, 10**13, places=2).map(str)
    | st.from_regex(r"\A[-+]?[0-9]{0,25}\.?[0-9]{0,25}([eE][-+]?[0-9]{1,3})?\Z", fullmatch=False)
    | st.sampled_from(["nan", "-1", "-1.0", "-0", "1_0", "0x1", "é", "1;", ";", "1\r", ""])
)
BLANKS = st.sampled_from([" ", "  ", "\t", " \t "])
USUAL = st.integers(-1, 99).map(str)


@st.composite
def lines(draw):
    """A line of a log, mostly right."""
    kind = draw(st.integers(0, 9))
    if kind == 0:
        return draw(st.sampled_from(["", " ", "; Note", ";", "\r", "words"]))
    n_columns = 18 if kind < 8 else draw(st.integers(1, 22))
    tokens = draw(st.lists(USUAL, min_size=n_columns, max_size=n_columns))
    if kind % 2:
        tokens[draw(st.integers(0, n_columns - 1))] = draw(NUMBERS)
    return draw(st.sampled_from(["", " "])) + draw(BLANKS).join(tokens)


@given(
    st.lists(lines(), max_size=12),
    st.sampled_from(["\n", "\r\n", " \n"]),
    st.booleans(),
    st.sampled_from([1, 100, 1 << 18]),
    st.sampled_from([1, 2, reading.FIRST_ROOM]),
)
def test_both_parsers_read_the_same(text, end, strict, chunk, room):
    text = end.join(text).encode()
    small_chunks = partial(files.digested_chunks, size=chunk)

    def read(compiled_from):
        patches = {"COMPILED_FROM": compiled_from, "FIRST_ROOM": room}
        with (
            mock.patch.multiple(reading, **patches),
            mock.patch.object(swf, "digested_chunks", small_chunks),
        ):
            try:
                return read_swf(io.BytesIO(text), strict=strict)
            except FormatError as error:
                return str(error)

    compiled, plain = read(0), read(1 << 30)
    if isinstance(plain, str):
        assert compiled == plain
        return
    pd.testing.assert_frame_equal(compiled.jobs, plain.jobs, check_exact=True)
    pd.testing.assert_frame_equal(compiled.bursts, plain.bursts, check_exact=True)
    assert np.array_equal(np.signbit(compiled.jobs["wait"]), np.signbit(plain.jobs["wait"]))
    assert compiled.utility.equals(plain.utility)
    assert compiled.header == plain.header
    assert compiled.repairs == plain.repairs
    assert compiled.digest == plain.digest


@given(st.from_regex(re.compile(r"[0-9]{1,12}\.[0-9]{1,17}", re.ASCII), fullmatch=True))
def test_the_compiled_parser_rounds_decimals_as_float_does(text):
    log = f"1 0 -1 -1 1 {text}{' -1' * 12}\n".encode()
    with mock.patch.object(reading, "COMPILED_FROM", 0):
        value = read_swf(io.BytesIO(log)).jobs["cpu"][0]
    assert value == float(text)


@given(st.floats(0, 1e300) | st.from_regex(r"\A[0-9]{0,20}\.?[0-9]{1,24}\Z").map(str))
def test_compiled_points_are_read_as_float_reads_them(number):
    number = str(number)
    text = f"1 0 5 60 4{' -1' * 13} 0 {number} 9 0\n".encode()
    with mock.patch.object(reading, "COMPILED_FROM", 0):
        trace = read_swf(io.BytesIO(text))
    assert trace.utilities == {0: [(0, float(number)), (9, 0)]}


@given(st.integers(2**53, 10**18 - 1), st.integers(0, 22))
def test_quotients_of_long_numbers_are_those_of_float_or_in_doubt(mantissa, decimals):
    found = quotient(mantissa, parser.POWER[decimals])
    assert found in (float(f"{mantissa}e-{decimals}"), -1)


def test_doubt_is_rare():
    rng = np.random.default_rng(1)
    mantissas = rng.integers(2**53, 10**18, 2000)
    doubts = sum(quotient(int(mantissa), 1e11) < 0 for mantissa in mantissas)
    assert doubts <= 2


with_decimals = (st.floats(1e-4, 1e10) | st.floats(-1e16, 1e16)).filter(lambda x: x != int(x))


@given(st.lists(with_decimals, max_size=20))
def test_decimals_are_written_as_python_does(numbers):
    for some in (numbers, [number for number in numbers if 1e-4 <= abs(number) < 1e10]):
        texts, ends = writing._texts_of(np.array(some, np.float64))
        assert texts.tobytes().decode() == "".join(map(repr, some))
        assert ends.tolist() == np.cumsum([len(repr(number)) for number in some]).tolist()
