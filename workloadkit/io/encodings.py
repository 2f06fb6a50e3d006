"""Text in encodings of several bytes per character, and what is no text."""

import codecs
from collections.abc import Iterable, Iterator
from itertools import chain

# Characters that text does not contain; a file with more of them is binary.
_CONTROLS = bytes({*range(32), 127} - {*b"\0\b\t\n\v\f\r\x1b"})
_FEW_CONTROLS = 1 / 20

# UTF-32 first: its mark begins with that of UTF-16.
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
_HEAD = 64  # bytes that show UTF-16 without a mark


def as_utf8(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield text as UTF-8 if it begins as UTF-16 or UTF-32, else as it is.

    Examples
    --------
    >>> b"".join(as_utf8(["a|b".encode("utf-16")])), b"".join(as_utf8([b"a|b"]))
    (b'a|b', b'a|b')
    """
    chunks = iter(chunks)
    first = next(chunks, b"")
    encoding = _encoding(first)
    if encoding is None:
        yield from chain([first] * bool(first), chunks)
        return
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    yield decoder.decode(first).removeprefix("\ufeff").encode()
    for chunk in chunks:
        yield decoder.decode(chunk).encode()


def _encoding(head: bytes) -> str | None:
    """Return the encoding of a text of two or four bytes per character; None for any other."""
    for mark, encoding in _MARKS.items():
        if head.startswith(mark):
            return encoding
    head = head[:_HEAD]
    for encoding, chars, others in (
        ("utf-16-le", head[::2], head[1::2]),
        ("utf-16-be", head[1::2], head[::2]),
    ):
        if len(others) > 2 and all(chars) and not any(others):
            return encoding
    return None


def is_text(chunk: bytes) -> bool:
    """Whether few characters other than NUL are control characters."""
    n_chars = len(chunk) - chunk.count(b"\0")
    n_controls = len(chunk) - len(chunk.translate(None, _CONTROLS))
    return n_controls <= _FEW_CONTROLS * n_chars
