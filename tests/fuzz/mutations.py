"""Ways to break a good file: bytes in, bytes out, all chance from a `random.Random`.

A mutation that does not fit what it meets (a file without lines, say) gives it back unchanged.
"""

import bz2
import gzip
import io
import lzma
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from random import Random

import zstandard

#: Breaks bytes by the chance it gets.
Mutation = Callable[[bytes, Random], bytes]

#: What stands where a number or a word should be.
TOKENS = [
    b"NaN", b"nan", b"inf", b"-inf", b"Infinity", b"1e300", b"-1e300", b"-0", b"-0.0", b"1e-300",
    b"1e-320", b"1e400", b"text", b"", b";", b"|", b":", b"=", b",", b'"', b"'", b"\\", b"{", b"[",
    b"null", b"true", b"None", b"Unknown", b"INVALID", b"UNLIMITED", b"0", b"1", b"-1", b"-2",
    b"0.5", b"1.", b".5", b"+1", b"00", b"1e12", b"1000000000000", b"999999999999", b"1000000000",
    str(2**31).encode(), str(2**32 - 1).encode(), str(2**53 + 1).encode(), str(2**63 - 1).encode(),
    str(2**63).encode(), str(-(2**63)).encode(), str(-(2**63) - 1).encode(), str(2**64).encode(),
    b"9" * 400, b"0." + b"0" * 400 + b"1", b"9" * 5000, b"0x1F", b"1_000", b"1,5", b"1.2.3", b"--1",
    b"\xff", b"\xc3\xa9", b"\xed\xa0\x80", b"\xef\xbf\xbf", b"1\r", b"\r\n", b"\0", b"\x1b[31m",
    b"\xd9\xa1\xd9\xa2", b"\xe2\x80\xae1", b"\xe2\x80\xa8", b"\x85", b"\x0b", b"\x0c", b"\xa0",
    b"$x^$", b"<script>alert(1)</script>", b"{{ 7*7 }}", b"%s%n", b"../../etc/passwd", b"x" * 3000,
    b"1-00:00:00", b"99999999-23:59:59", b"25:61:61", b"-00:00:01", b"1969-12-31T23:59:59",
    b"9999-12-31T23:59:59", b"0000-00-00T00:00:00", b"2021-03-28T02:30:00", b"2021-10-31T02:30:00",
    b"1614865446", b"1614865446.5", b"1K", b"1.5T", b"9999999P", b"2147486648Mn", b"1Gc",
]  # fmt: skip

#: Comments of the Standard Workload Format that other parts of the toolkit believe.
COMMENTS = [
    b"; MaxProcs: %s", b"; MaxNodes: %s", b"; UnixStartTime: %s", b"; TimeZone: %s",
    b"; TimeZoneString: %s", b"; MaxJobs: %s", b"; MaxRecords: %s", b"; StartTime: %s",
    b"; EndTime: %s", b"; Note: %s", b"; Queue: %s", b"; MaxQueues: %s", b"; MaxRuntime: %s",
    b"; Partition: %s", b"; AllowOveruse: %s", b"; Preemption: %s", b"; Version: %s", b";%s",
    b"; Computer: %s", b"; OutageFormat: %s", b"; OutageType: %s", b"; LogDigest: %s", b"# %s",
]  # fmt: skip

_WORD = re.compile(rb"[^\s|;:,=\"+/(){}\[\]]+")
_SEPARATORS = [b" ", b"\t", b"|", b";", b":", b",", b"^", b"=", b"\x1f", b"  "]
_ENDS = [b"\r\n", b"\r", b"\n\n", b"\n\r", b"\r\r\n", b"", b" \n", b"\x0b", b"\xe2\x80\xa8"]
_LONG_HEADERS = [
    *(b"; Note: all is well", b"; Queue: 1 q", b"; MaxProcs: 8", b";", b"", b"#", b"# x: y"),
    *(b";    and on", b";  the filters used were user=1 and", b"; OutageType: 7 x"),
]
_MEBIBYTE = 1 << 20


def flip_bits(data: bytes, rng: Random) -> bytes:
    if not data:
        return data
    flipped = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 8])):
        flipped[rng.randrange(len(flipped))] ^= rng.randrange(1, 256)
    return bytes(flipped)


def cut_line(data: bytes, rng: Random) -> bytes:
    lines, place = _lines(data, rng)
    lines[place] = lines[place][: rng.randrange(len(lines[place]) + 1)]
    return b"\n".join(lines)


def join_lines(data: bytes, rng: Random) -> bytes:
    lines, place = _lines(data, rng)
    lines[place : place + 2] = [rng.choice([b" ", b""]).join(lines[place : place + 2])]
    return b"\n".join(lines)


def repeat_line(data: bytes, rng: Random) -> bytes:
    lines, place = _lines(data, rng)
    at = rng.randrange(len(lines) + 1)
    lines[at:at] = [lines[place]] * rng.choice([1, 1, 2, 20])
    return b"\n".join(lines)


def swap_lines(data: bytes, rng: Random) -> bytes:
    lines, place = _lines(data, rng)
    other = rng.randrange(len(lines))
    lines[place], lines[other] = lines[other], lines[place]
    return b"\n".join(lines)


def last_line(data: bytes, rng: Random) -> bytes:
    """End in a line like another one, with shorter words, in another order or fewer."""
    lines, place = _lines(data, rng)
    separator = _separator(lines[place])
    words = lines[place].split(separator)
    match rng.randrange(3):
        case 0:
            at = rng.randrange(len(words))
            words[at:] = [word[: rng.randrange(3)] for word in words[at:]]
        case 1:
            rng.shuffle(words)
        case _:
            del words[rng.randrange(len(words))]
    line = separator.join(words)
    return data.rstrip(b"\n") + b"\n" + line + rng.choice([b"\n", b""])


def drop_lines(data: bytes, rng: Random) -> bytes:
    lines, place = _lines(data, rng)
    del lines[place : place + rng.choice([1, 1, 2, len(lines)])]
    return b"\n".join(lines)


def cut_file(data: bytes, rng: Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[at:] if rng.random() < 0.2 else data[:at]


def other_word(data: bytes, rng: Random) -> bytes:
    """Put another token in the place of a word of a line."""
    lines, place = _lines(data, rng)
    words = list(_WORD.finditer(lines[place]))
    if not words:
        return data
    word = rng.choice(words)
    token = rng.choice(TOKENS)
    lines[place] = lines[place][: word.start()] + token + lines[place][word.end() :]
    return b"\n".join(lines)


def other_number(data: bytes, rng: Random) -> bytes:
    """Change a number a little, so that it still is one."""
    lines, place = _lines(data, rng)
    numbers = list(re.finditer(rb"\d{1,18}", lines[place]))
    if not numbers:
        return data
    at = rng.choice(numbers)
    value = int(at[0])
    new = rng.choice([0, value + 1, -value, value * 10, value * 1000, value // 2, -1, value + 0.5])
    lines[place] = lines[place][: at.start()] + str(new).encode() + lines[place][at.end() :]
    return b"\n".join(lines)


def word_more(data: bytes, rng: Random) -> bytes:
    lines, place = _lines(data, rng)
    lines[place] += rng.choice(_SEPARATORS) + rng.choice(TOKENS)
    return b"\n".join(lines)


def insert_bytes(data: bytes, rng: Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice([*TOKENS, rng.randbytes(9)]) + data[at:]


def insert_comment(data: bytes, rng: Random) -> bytes:
    lines, place = _lines(data, rng)
    if rng.random() < 0.7:
        place = min(place, 1)
    lines.insert(place, rng.choice(COMMENTS).replace(b"%s", rng.choice(TOKENS)))
    return b"\n".join(lines)


def drop_column(data: bytes, rng: Random) -> bytes:
    return _columns(data, rng, lambda cells, at: cells[:at] + cells[at + 1 :])


def repeat_column(data: bytes, rng: Random) -> bytes:
    return _columns(data, rng, lambda cells, at: cells[: at + 1] + cells[at:])


def swap_columns(data: bytes, rng: Random) -> bytes:
    return _columns(data, rng, lambda cells, at: cells[:at] + cells[at:][1::-1] + cells[at + 2 :])


def fill_column(data: bytes, rng: Random) -> bytes:
    """Give every line the same token in one column; the first keeps its own, as a legend does."""
    token = rng.choice(TOKENS)
    return _columns(data, rng, lambda cells, at: [*cells[:at], token, *cells[at + 1 :]], since=1)


def rename_column(data: bytes, rng: Random) -> bytes:
    token = rng.choice(TOKENS)
    return _columns(data, rng, lambda cells, at: [*cells[:at], token, *cells[at + 1 :]], until=1)


def other_separator(data: bytes, rng: Random) -> bytes:
    return data.replace(_separator(data), rng.choice(_SEPARATORS))


def other_line_ends(data: bytes, rng: Random) -> bytes:
    return data.replace(b"\n", rng.choice(_ENDS))


def other_encoding(data: bytes, rng: Random) -> bytes:
    text = data.decode("utf-8", "replace")
    match rng.randrange(6):
        case 0:
            return b"\xef\xbb\xbf" + data
        case 1:
            return text.encode("utf-16")
        case 2:
            return text.encode("utf-16-be")
        case 3:
            return text.encode("latin-1", "replace") + b"\xe9\n"
        case 4:
            return text.encode("utf-7")
        case _:
            return text.encode("utf-32")


def compress(data: bytes, rng: Random) -> bytes:
    """Compress once or twice, perhaps cut, broken or with something behind."""
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        data = rng.choice(_COMPRESSIONS)(data)
    match rng.randrange(6):
        case 0:
            return data[: rng.randrange(len(data))]
        case 1:
            return flip_bits(data, rng)
        case 2:
            return data + rng.choice([b"\0" * 9, b"text\n", data, rng.randbytes(5)])
        case _:
            return data


def bomb(data: bytes, rng: Random) -> bytes:
    """Put a few kilobytes that become 32 MiB behind the text, or before it."""
    explosive = _bomb(rng.choice([b"\n", b" ", b"1", b"; x\n", b"1 ", b"\xff", b"\0", b"a|"]))
    whole = gzip.compress(data, 1, mtime=0)
    return whole + explosive if rng.random() < 0.5 else explosive + whole


def long_name(data: bytes, rng: Random) -> bytes:
    """Make a word of a line very long."""
    lines, place = _lines(data, rng)
    words = list(_WORD.finditer(lines[place]))
    if not words:
        return data
    word = rng.choice(words)
    length = rng.choice([300, 5000, 1 << 16, _MEBIBYTE - 99, _MEBIBYTE + 9, 3 * _MEBIBYTE])
    piece = rng.choice([b"x", b"9", b"-", b"\xc3\xa9", b"a b ", b"1:", b"[1-", b"(", b"a=b "])
    longer = piece * (length // len(piece))
    lines[place] = lines[place][: word.start()] + longer + lines[place][word.end() :]
    return b"\n".join(lines)


def long_header(data: bytes, rng: Random) -> bytes:
    """Put megabytes of comments, blank lines or first lines before the text."""
    first = data.partition(b"\n")[0][:200]
    line = rng.choice([*_LONG_HEADERS, first])
    return b"; Note: it goes on\n" + (line + b"\n") * rng.choice([1000, 100_000]) + data


#: All of them, each as often as it is to be drawn.
MUTATIONS: dict[Mutation, float] = {
    flip_bits: 10,
    cut_line: 8,
    join_lines: 5,
    repeat_line: 6,
    swap_lines: 5,
    last_line: 8,
    drop_lines: 5,
    cut_file: 4,
    other_word: 40,
    other_number: 25,
    word_more: 6,
    insert_bytes: 8,
    insert_comment: 10,
    drop_column: 4,
    repeat_column: 3,
    swap_columns: 4,
    fill_column: 10,
    rename_column: 3,
    other_separator: 2,
    other_line_ends: 4,
    other_encoding: 3,
    compress: 6,
    long_name: 1.5,
    long_header: 0.15,
    bomb: 0.05,
}

#: A mutation's name and the seed of what it draws.
Step = tuple[str, int]


def steps(rng: Random, mutations: Mapping[Mutation, float] = MUTATIONS) -> list[Step]:
    """Draw from one to six mutations; each has its own seed, so that any can be left out."""
    n_steps = rng.choice([1, 1, 1, 2, 2, 3, 6])
    names = [mutation.__name__ for mutation in mutations]
    drawn = rng.choices(names, [*mutations.values()], k=n_steps)
    return [(name, rng.getrandbits(32)) for name in drawn]


def apply(
    data: bytes, drawn: Sequence[Step], mutations: Mapping[Mutation, float] = MUTATIONS
) -> bytes:
    by_name = {mutation.__name__: mutation for mutation in mutations}
    for name, seed in drawn:
        data = by_name[name](data, Random(seed))
    return data


def mutated(data: bytes, rng: Random) -> bytes:
    """Break a good file in from one to six ways."""
    return apply(data, steps(rng))


def _lines(data: bytes, rng: Random) -> tuple[list[bytes], int]:
    lines = data.split(b"\n")
    return lines, rng.randrange(len(lines))


def _separator(data: bytes) -> bytes:
    """What separates columns: of the usual bytes the one that is there most often."""
    return max((b" ", b"|", b":", b";", b",", b"\t"), key=data.count)


def _columns(
    data: bytes,
    rng: Random,
    change: Callable[[list[bytes], int], list[bytes]],
    *,
    since: int = 0,
    until: int | None = None,
) -> bytes:
    """Change the lines that have enough columns, perhaps only some of them; comments stay."""
    separator = _separator(data)
    lines = data.split(b"\n")
    at = rng.randrange(30) % max(1, *(line.count(separator) for line in lines))
    wide = [
        i
        for i, line in enumerate(lines)
        if line.count(separator) >= at and not line.startswith((b";", b"#"))
    ]
    for i in wide[since:until]:
        lines[i] = separator.join(change(lines[i].split(separator), at))
    return b"\n".join(lines)


_COMPRESSIONS = (
    lambda data: gzip.compress(data, 1, mtime=0),
    bz2.compress,
    lambda data: lzma.compress(data, preset=0),
    zstandard.compress,
)


@cache
def _bomb(piece: bytes) -> bytes:
    return compressed_pieces(piece * (_MEBIBYTE // len(piece)), 32)


def compressed_pieces(piece: bytes, n_pieces: int) -> bytes:
    """A small gz of a large text."""
    stream = io.BytesIO()
    with gzip.GzipFile(fileobj=stream, mode="wb", compresslevel=1, mtime=0) as compressed:
        for _ in range(n_pieces):
            compressed.write(piece)
    return stream.getvalue()
