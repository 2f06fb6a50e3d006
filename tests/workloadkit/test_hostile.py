"""Whatever the file, only a trace or the toolkit's own error comes out, and memory stays small."""

import gzip
import io
import random
import tracemalloc

import pytest

from workloadkit import FormatError, Trace, WorkloadError, read_swf
from workloadkit.io import swf

N_MUTATIONS = 4000

TOKENS = [
    b"NaN", b"inf", b"-inf", b"1e300", b"-1e300", b"-0", b"-0.0", b"1e-300", b"text", b"", b";",
    str(2**31).encode(), str(2**63).encode(), str(-(2**63)).encode(), str(2**64).encode(),
    b"9" * 400, b"0x1F", b"1_000", b"1,5", b"\xff", b"\xc3\xa9", b"1\r", b"\r\n", b"\0", b"-1",
]  # fmt: skip


def small_log(rng):
    """A log with a header, decimals, bursts, a utility function and a comment at the end."""
    lines = [b"; Version: 2.2", b"; Computer: caf\xe9", b"; MaxProcs: 128 (64, 64)", b""]
    submit = 0
    for number in range(1, 41):
        submit += rng.randrange(100)
        run = rng.randrange(1, 5000)
        cpu = f"{run * rng.random():.2f}"
        procs = 2 ** rng.randrange(7)
        user = rng.randrange(1, 6)
        line = (
            f"{number} {submit} 9 {run} {procs} {cpu} -1 {procs} 5000 -1 1 {user} 1 -1 1 -1 -1 -1"
        )
        lines.append(line.encode())
    lines.insert(9, lines[8].replace(b" 5000 -1 1 ", b" 5000 -1 2 "))
    lines[20] += b" 0 5 60 2.5"
    lines.append(b"; the end")
    return b"\n".join(lines) + b"\n"


def mutated(text, rng):
    """Change a log in one to three places."""
    for _ in range(rng.randrange(1, 4)):
        lines = text.split(b"\n")
        place = rng.randrange(len(lines))
        tokens = lines[place].split(b" ")
        match rng.randrange(10):
            case 0:  # flip bits of a byte
                data = bytearray(text)
                data[rng.randrange(len(data))] ^= rng.randrange(1, 256)
                text = bytes(data)
                continue
            case 1:  # cut a line
                lines[place] = lines[place][: rng.randrange(len(lines[place]) + 1)]
            case 2:  # join two lines
                lines[place : place + 2] = [b" ".join(lines[place : place + 2])]
            case 3:  # repeat a line
                lines.insert(rng.randrange(len(lines)), lines[place])
            case 4 | 5 | 6:  # another token
                tokens[rng.randrange(len(tokens))] = rng.choice(TOKENS)
                lines[place] = b" ".join(tokens)
            case 7:  # a token more
                lines[place] += b" " + rng.choice(TOKENS)
            case 8:  # the file of another system
                text = text.replace(b"\n", rng.choice([b"\r\n", b"\r", b"\n\n"]))
                continue
            case 9:  # cut the file
                text = text[: rng.randrange(len(text) + 1)]
                continue
        text = b"\n".join(lines)
    return text


@pytest.mark.parametrize("compiled_from", [0, 1 << 30], ids=["compiled", "plain"])
@pytest.mark.parametrize("strict", [False, True])
def test_mutated_logs_give_a_trace_or_an_error_of_ours(compiled_from, strict, monkeypatch):
    monkeypatch.setattr(swf, "COMPILED_FROM", compiled_from)
    rng = random.Random(20260101)
    log = small_log(rng)
    assert read_swf(io.BytesIO(log)).n_jobs == 40
    n_read = 0
    for _ in range(N_MUTATIONS // 4):
        try:
            trace = read_swf(io.BytesIO(mutated(log, rng)), strict=strict)
        except WorkloadError as error:
            assert "\n" not in str(error)
            assert len(str(error)) < 300
        else:
            assert isinstance(trace, Trace)
            assert trace.jobs["submit"].is_monotonic_increasing
            n_read += 1
    assert strict or N_MUTATIONS / 40 < n_read < N_MUTATIONS / 4  # some of each


def test_mutated_compressed_logs(rng):
    whole = gzip.compress(small_log(random.Random(1)))
    for i in range(500):
        data = bytearray(whole)
        if i % 2:
            del data[int(rng.integers(len(data))) :]
        else:
            data[int(rng.integers(len(data)))] ^= int(rng.integers(1, 256))
        try:
            read_swf(io.BytesIO(bytes(data)))
        except WorkloadError as error:
            assert "\n" not in str(error)


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
    stream = io.BytesIO()
    with gzip.GzipFile(fileobj=stream, mode="wb", mtime=0) as compressed:
        for _ in range(n_pieces):
            compressed.write(piece)
    stream.seek(0)
    return stream


@pytest.mark.parametrize("byte", [b"1", b" ", b";", b"\r", b"-", b"\xff"])
def test_an_endless_line_is_refused_early(byte):
    stream = bomb(byte * (1 << 20), 64)
    assert peak_while_refused(stream, "a line of more than 1 MiB") < 20 << 20


def test_an_endless_binary_file_is_refused_early():
    assert peak_while_refused(bomb(bytes(1 << 20), 64), "binary file") < 20 << 20


def test_a_large_file_is_not_believed_to_be_full_of_jobs(tmp_path):
    path = tmp_path / "log.swf"
    with path.open("wb") as stream:
        stream.write((b"1 0 5 60 4" + b" -1" * 13 + b"\n") * 10_000)
        stream.write(b"\n" * (128 << 20))
    tracemalloc.start()
    assert read_swf(path).n_jobs == 10_000
    assert tracemalloc.get_traced_memory()[1] < 30 << 20
    tracemalloc.stop()


def test_an_endless_file_of_nothing_takes_no_memory():
    assert peak_while_refused(bomb(b"\n" * (1 << 20), 64), "is empty") < 20 << 20


@pytest.mark.parametrize("line", [b"1 " * 600_000, b"x" * 1_100_000, b"; " + b"x" * (1 << 20)])
@pytest.mark.parametrize("compiled_from", [0, 1 << 30])
def test_a_line_of_more_than_a_mebibyte_is_refused_by_its_number(line, compiled_from, monkeypatch):
    monkeypatch.setattr(swf, "COMPILED_FROM", compiled_from)
    job = b"1 0 5 60 4" + b" -1" * 13 + b"\n"
    with pytest.raises(FormatError, match="line of more than 1 MiB") as caught:
        read_swf(io.BytesIO(job + line + b"\n" + job))
    assert caught.value.line == 2


def test_ordinary_numbers_far_apart_are_a_line_too_long(monkeypatch):
    job = b"1 0 5 60 4" + b" -1" * 13
    for compiled_from in (0, 1 << 30):
        monkeypatch.setattr(swf, "COMPILED_FROM", compiled_from)
        with pytest.raises(FormatError, match="line of more than 1 MiB"):
            read_swf(io.BytesIO(job.replace(b" ", b" " * (1 << 16), 17) + b"\n"))
        longest = job + b" " * ((1 << 20) - len(job)) + b"\n"
        assert read_swf(io.BytesIO(longest * 2)).n_jobs == 2


def test_a_header_without_end_is_refused():
    line = b"; " + b"x" * ((1 << 18) - 3) + b"\n"
    peak = peak_while_refused(bomb(line, 300), "more than 64 MiB of comments")
    assert peak < 100 << 20


def test_a_header_of_countless_lines_is_refused(monkeypatch):
    monkeypatch.setattr(swf, "MAX_COMMENT_LINES", 1000)
    peak_while_refused(bomb(b";\n" * 1001, 1), "comments")
