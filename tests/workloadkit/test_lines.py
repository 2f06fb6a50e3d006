"""Lines of files, a block of them at a time."""

import hashlib
import io

import pytest

from workloadkit import FormatError, ParameterError
from workloadkit.io import lines
from workloadkit.io.lines import line_blocks


def blocks(*texts, **more):
    return list(line_blocks([io.BytesIO(text) for text in texts], **more))


def test_lines_are_counted_in_their_file_and_through_all():
    found = blocks(b"a\nb\n", b"", b"c")
    assert [(b.first_line, b.place, b.lines) for b in found] == [(1, 1, ["a", "b"]), (1, 3, ["c"])]


def test_the_byte_order_mark_of_each_file_is_skipped():
    mark = b"\xef\xbb\xbf"
    assert [b.lines for b in blocks(mark + b"a\n", mark + b"b\n")] == [["a"], ["b"]]


@pytest.mark.parametrize("block", [3, 4, 7, 1000])
def test_blocks_hold_whole_lines_however_long_they_are(monkeypatch, block):
    monkeypatch.setattr(lines, "BLOCK", block)
    text = b"\xef\xbb\xbfone\r\n\r\ntwo, which is longer\nthr\ree"
    digest = hashlib.sha256()
    found = blocks(text, digest=digest)
    assert [line for b in found for line in b.lines] == [
        "one",
        "",
        "two, which is longer",
        "thr\ree",
    ]
    n_before = 1
    for some in found:
        assert some.first_line == some.place == n_before
        n_before += len(some.lines)
    assert digest.digest() == hashlib.sha256(text).digest()


def test_only_a_line_that_is_no_utf8_is_latin1():
    assert blocks("é\n".encode() + b"\xe9\n")[0].lines == ["é", "é"]


@pytest.mark.parametrize("end", [b"\n", b""])
def test_a_line_may_have_16_mebibytes_and_no_more(end):
    found = blocks(b"a\n" + b"x" * (1 << 24) + end)
    assert [len(line) for some in found for line in some.lines] == [1, 1 << 24]
    with pytest.raises(FormatError, match="line 2: a line of more than 16 MiB"):
        blocks(b"a\n" + b"x" * ((1 << 24) + 1) + end)


@pytest.mark.parametrize("block", [3, 7, 10])
@pytest.mark.parametrize("end", [b"\n", b""])
def test_lines_that_are_too_long_are_counted_and_those_around_them_are_read(
    monkeypatch, block, end
):
    monkeypatch.setattr(lines, "BLOCK", block)
    monkeypatch.setattr(lines, "LONGEST_LINE", 10)
    counted = []
    text = b"a\n" + b"x" * 11 + b"\nb\n" + b"y" * 99 + b"\n" + b"z" * 10 + b"\n" + b"w" * 40 + end
    found = blocks(text, text, leave_out=lambda *what: counted.append(what))
    assert [line for b in found for line in b.lines] == ["a", "b", "z" * 10] * 2
    kind = "a line of more than 16 MiB"
    assert counted == [(kind, line, 1) for line in (2, 4, 6, 8, 10, 12)]
    assert {b.place - b.first_line for b in found} == {0, 6}


@pytest.mark.parametrize("block", [2, 3, 5, 1000])
def test_nul_characters_are_counted_and_end_a_torn_line(monkeypatch, block):
    monkeypatch.setattr(lines, "BLOCK", block)
    counted = []
    text = b"a\n" + bytes(9) + b"b\nto" + bytes(7) + b"c\n" + bytes(4) + b"d\ne\0f\n" + bytes(8)
    found = blocks(text, note=lambda *what: counted.append(what))
    assert [line for b in found for line in b.lines] == ["a", "b", "to", "c", "d", "ef"]
    assert {kind for kind, _, _ in counted} == {"NUL characters left out"}
    assert (counted[0][1], sum(count for _, _, count in counted)) == (2, 29)
    with pytest.raises(FormatError, match="NUL characters"):
        blocks(text)


@pytest.mark.parametrize("sources", [[], 7, None])
def test_no_source_is_wrong_usage(sources):
    with pytest.raises(ParameterError, match="it must be a path"):
        list(line_blocks(sources))
