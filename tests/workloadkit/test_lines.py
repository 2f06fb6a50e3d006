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
def test_a_line_may_have_a_mebibyte_and_no_more(end):
    found = blocks(b"a\n" + b"x" * (1 << 20) + end)
    assert [len(line) for some in found for line in some.lines] == [1, 1 << 20]
    with pytest.raises(FormatError, match="line 2: a line of more than 1 MiB"):
        blocks(b"a\n" + b"x" * ((1 << 20) + 1) + end)


@pytest.mark.parametrize("sources", [[], 7, None])
def test_no_source_is_wrong_usage(sources):
    with pytest.raises(ParameterError, match="it must be a path"):
        list(line_blocks(sources))
