"""Whatever the file, memory stays small."""

import io
import tracemalloc

import pytest

from tests.data import needs_compiler
from tests.fuzz.mutations import compressed_pieces
from workloadkit import FormatError, Header, Trace, rare_users, read_swf, validate
from workloadkit.cleaning.cleaned import read_filters
from workloadkit.io.swf import reading


@pytest.fixture(scope="module", autouse=True)
def loaded():
    """The compiler takes memory of its own, when it is first needed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "COMPILED_FROM", 0)
        read_swf(io.BytesIO(b"1 0 5 60 4" + b" -1" * 13 + b"\n"))


@pytest.fixture(scope="module", autouse=True)
def compiled():
    """Compiling the parser of long logs takes memory, too."""
    read_swf(io.BytesIO((b"1 0 5 60 4" + b" -1" * 13 + b"\n") * 10_000))


def peak_while_refused(stream, message, read=read_swf):
    """Most memory taken while a file is read and refused. [bytes]"""
    tracemalloc.start()
    try:
        with pytest.raises(FormatError, match=message):
            read(stream)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def bomb(piece, n_pieces):
    """A small gz of a large text."""
    return io.BytesIO(compressed_pieces(piece, n_pieces))


@pytest.mark.parametrize("byte", [b"1", b" ", b";", b"\r", b"-", b"\xff"])
def test_an_endless_line_is_refused_early(byte):
    stream = bomb(byte * (1 << 20), 32)
    assert peak_while_refused(stream, "a line of more than 1 MiB") < 20 << 20


def test_an_endless_binary_file_is_refused_early():
    stream = bomb(bytes(1 << 20), 32)
    assert peak_while_refused(stream, "binary file") < 20 << 20


@pytest.mark.slow
def test_a_large_file_is_not_believed_to_be_full_of_jobs(tmp_path):
    path = tmp_path / "log.swf"
    with path.open("wb") as stream:
        stream.write((b"1 0 5 60 4" + b" -1" * 13 + b"\n") * 10_000)
        stream.write(b"\n" * (40 << 20))
    tracemalloc.start()
    assert read_swf(path).n_jobs == 10_000
    assert tracemalloc.get_traced_memory()[1] < 30 << 20
    tracemalloc.stop()


@pytest.mark.slow
def test_an_endless_file_of_nothing_takes_no_memory():
    assert peak_while_refused(bomb(b"\n" * (1 << 20), 32), "is empty") < 20 << 20


@pytest.mark.parametrize("line", [b"1 " * 600_000, b"x" * 1_100_000, b"; " + b"x" * (1 << 20)])
@pytest.mark.parametrize("compiled_from", [0, 1 << 30])
def test_a_line_of_more_than_a_mebibyte_is_refused_by_its_number(line, compiled_from, monkeypatch):
    monkeypatch.setattr(reading, "COMPILED_FROM", compiled_from)
    job = b"1 0 5 60 4" + b" -1" * 13 + b"\n"
    with pytest.raises(FormatError, match="line of more than 1 MiB") as caught:
        read_swf(io.BytesIO(job + line + b"\n" + job))
    assert caught.value.line == 2


def test_ordinary_numbers_far_apart_are_a_line_too_long(monkeypatch):
    job = b"1 0 5 60 4" + b" -1" * 13
    for compiled_from in (0, 1 << 30):
        monkeypatch.setattr(reading, "COMPILED_FROM", compiled_from)
        with pytest.raises(FormatError, match="line of more than 1 MiB"):
            read_swf(io.BytesIO(job.replace(b" ", b" " * (1 << 16), 17) + b"\n"))
        longest = job + b" " * ((1 << 20) - len(job)) + b"\n"
        assert read_swf(io.BytesIO(longest * 2)).n_jobs == 2


def test_a_header_without_end_is_refused():
    line = b"; " + b"x" * ((1 << 18) - 3) + b"\n"
    peak = peak_while_refused(bomb(line, 300), "more than 64 MiB of comments")
    assert peak < 100 << 20


def test_a_header_of_countless_lines_is_refused(monkeypatch):
    monkeypatch.setattr(reading, "MAX_COMMENT_LINES", 1000)
    peak_while_refused(bomb(b";\n" * 1001, 1), "comments")


@needs_compiler  # Python's integers grow with each digit
@pytest.mark.parametrize("token", [b"9", b".", b"1e", b"-", b"1."])
def test_what_is_no_number_is_refused_in_time_that_grows_with_its_length(token):
    text = b"1 0 5 60 " + token * (1_000_000 // len(token)) + b"x" + b" -1" * 13 + b"\n"
    with pytest.raises(FormatError, match="line 1, field procs: not a number"):
        read_swf(io.BytesIO(text))


def test_a_label_continued_a_hundred_thousand_times_is_one_value():
    header = Header(("; Note: a", *[";    b"] * 100_000, "; MaxProcs: 8"))
    assert header.get("Note") == "a" + " b" * 100_000
    assert header.procs == 8


@pytest.mark.slow
def test_filters_behind_comments_without_end_are_not_looked_for():
    stream = bomb(b"; x\n" * 100_000, 12)
    peak_while_refused(stream, "too many comment lines", read_filters)


def test_rare_users_of_absurd_numbers_are_none():
    log = Trace.from_columns({"submit": [0]}, header=Header((f"; RareUsers: 7 {'9' * 5000} x",)))
    assert rare_users(log).tolist() == [7]


@pytest.mark.parametrize("name", ["a\nb.swf", "a\x1b[31m.swf", "\udcff.swf", "\u202eb.swf"])
def test_a_name_that_no_line_shows_is_escaped(name, tmp_path):
    with pytest.raises(FormatError, match="no such file") as caught:
        read_swf(tmp_path / name)
    assert str(caught.value).isprintable()
    (tmp_path / name).write_bytes(b"1 0 5 60 4\n")
    assert read_swf(tmp_path / name).name == repr(name)[1:-1]


def test_what_a_header_says_moves_no_cursor_when_its_breach_is_shown():
    log = b"; MaxProcs: 8\n; Preemption: \x1b[2J\xc2\x85\n" + b"1 0 5 60 4" + b" -1" * 13 + b"\n"
    found = validate(read_swf(io.BytesIO(log)))
    assert all(line.isprintable() for line in str(found).split("\n"))
