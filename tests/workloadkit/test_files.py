"""Inputs of every kind are opened; outputs are whole or not there."""

import bz2
import gzip
import io
import lzma
import os
import stat
import sys
import zipfile
from pathlib import Path

import pytest
import zstandard

from workloadkit.errors import FormatError, ParameterError, WorkloadError
from workloadkit.io.files import source_path, text_chunks, write_text, writing

TEXT = b"one line\n" * 500
COMPRESSED = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.compress,
}
DECOMPRESSED = {
    "": bytes,
    ".gz": gzip.decompress,
    ".bz2": bz2.decompress,
    ".xz": lzma.decompress,
    ".zst": lambda data: zstandard.ZstdDecompressor().decompressobj().decompress(data),
}


def read(source, **options):
    return b"".join(text_chunks(source, **options))


@pytest.mark.parametrize("suffix", COMPRESSED)
def test_compression_is_known_by_the_first_bytes_not_by_the_name(tmp_path, suffix):
    path = tmp_path / "log.txt"
    path.write_bytes(COMPRESSED[suffix](TEXT))
    assert read(path) == TEXT


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zst"])
def test_files_put_one_behind_the_other_are_one(tmp_path, suffix):
    path = tmp_path / "log"
    path.write_bytes(COMPRESSED[suffix](TEXT) + COMPRESSED[suffix](b"more\n"))
    assert read(path) == TEXT + b"more\n"


def archive(**members):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as made:
        for name, text in members.items():
            made.writestr(name, text)
    return data.getvalue()


def test_a_zip_archive_of_one_log_is_read(tmp_path, monkeypatch):
    added = {"logs/": b"", "__MACOSX/logs/._a.swf": b"x", "logs/.DS_Store": b"y"}
    for data in (
        archive(**{"a.swf": TEXT}),
        archive(**{"logs/a.swf": TEXT} | added),
        archive(**{"a.swf.gz": gzip.compress(TEXT)}),
        archive(**{"a.swf.zst": zstandard.compress(TEXT)}),
    ):
        path = tmp_path / "log.txt"  # the content counts
        path.write_bytes(data)
        assert read(path) == read(io.BytesIO(data)) == TEXT
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        assert read("-") == TEXT


def test_other_zip_archives_are_refused(tmp_path):
    whole = archive(**{"a.swf": os.urandom(9999).hex()})
    encrypted = bytearray(archive(**{"a.swf": TEXT}))
    for head, flags in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        encrypted[encrypted.index(head) + flags] |= 1
    corrupt = bytearray(whole)
    corrupt[500:600] = bytes(100)
    for data, message in (
        (archive(), "zip archive of 0 files, not of one log"),
        (archive(**{"a.swf": TEXT, "b.swf": TEXT}), "zip archive of 2 files, not of one log"),
        (archive(**{"a.zip": whole}), "zip archive of a zip archive"),
        (archive(**{"a.swf": b"1\n" * (100 << 20)}), "expands to more than 300 times its size"),
        (encrypted, "cannot be read: .*encrypted"),
        (whole[:5000], "corrupt"),
        (corrupt, "corrupt"),
    ):
        path = tmp_path / "log.zip"
        path.write_bytes(data)
        with pytest.raises(FormatError, match=message) as caught:
            read(path)
        assert str(caught.value).startswith(str(path)) and "\n" not in str(caught.value)


def test_a_compressed_file_cut_short_is_refused(tmp_path):
    for kept in (0.3, 0.7, 0.98):
        for suffix in COMPRESSED:
            path = tmp_path / "log"
            data = COMPRESSED[suffix](os.urandom(999).hex().encode())
            path.write_bytes(data[: int(len(data) * kept)])
            with pytest.raises(FormatError, match="truncated"):
                read(path)


@pytest.mark.parametrize("suffix", COMPRESSED)
def test_corrupt_data_are_refused(tmp_path, suffix):
    path = tmp_path / "log"
    data = bytearray(COMPRESSED[suffix](os.urandom(999).hex().encode()))
    data[20:200] = bytes(180)
    path.write_bytes(data)
    with pytest.raises(FormatError, match=r"corrupt|truncated"):
        read(path)


def test_every_chunk_but_the_last_has_the_size_requested():
    for data in (TEXT, zstandard.compress(TEXT)):
        sizes = [len(chunk) for chunk in text_chunks(io.BytesIO(data), size=1000)]
        assert sum(sizes) == len(TEXT)
        assert min(sizes[:-1], default=1000) >= 1000


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(TEXT))))
    assert read("-") == TEXT


def test_a_pipe_that_gives_a_byte_at_a_time():
    class Slow(io.RawIOBase):
        def __init__(self, data):
            self.data = data

        def readable(self):
            return True

        def read(self, size=-1):
            head, self.data = self.data[:1], self.data[1:]
            return head

    assert read(Slow(TEXT[:99])) == TEXT[:99]
    assert read(Slow(gzip.compress(TEXT))) == TEXT


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: None, "no such file"),
        (lambda path: path.mkdir(), "is a directory"),
        (lambda path: path.write_bytes(b"\x7fELF\0\0"), "binary file"),
        (lambda path: path.write_bytes(bytes(1000)), "binary file"),
        (lambda path: path.write_bytes(b"a\nb\0c"), "line 2: contains NUL characters"),
    ],
)
def test_what_is_no_text_is_refused_in_one_line(tmp_path, make, message):
    path = tmp_path / "log"
    make(path)
    with pytest.raises(FormatError, match=message) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("size", [4, 1000])
def test_text_of_wide_characters_is_read_as_utf8(encoding, size):
    text = "JobID|User\n7|Zoë\n"
    chunks = text_chunks(io.BytesIO(text.encode(encoding)), size=size)
    whole = size > 4 or encoding in ("utf-16", "utf-32")  # without a mark, enough is needed to tell
    assert not whole or b"".join(chunks) == text.encode()


@pytest.mark.skipif(os.getuid() == 0, reason="root may read everything")
def test_a_file_without_permission(tmp_path):
    path = tmp_path / "log"
    path.touch(mode=0)
    with pytest.raises(FormatError, match="permission"):
        read(path)


def test_a_path_with_a_null_character_does_not_exist():
    with pytest.raises(FormatError, match="no such file"):
        read("a\0b")


def test_a_stream_opened_as_text_is_refused():
    with pytest.raises(WorkloadError, match="opened as text"):
        read(io.StringIO("1 0 5"))


def test_names(tmp_path):
    assert source_path(tmp_path) == str(tmp_path)
    assert source_path("-") == "-"
    assert source_path(io.BytesIO()) == "<stream>"
    with (tmp_path / "log").open("wb") as stream:
        assert source_path(stream) == str(tmp_path / "log")


@pytest.mark.parametrize("suffix", DECOMPRESSED)
def test_the_suffix_says_how_to_compress(tmp_path, suffix):
    path = tmp_path / f"log{suffix}"
    with writing(path) as stream:
        stream.write(TEXT)
    assert DECOMPRESSED[suffix](path.read_bytes()) == TEXT
    assert read(path) == TEXT


def test_a_suffix_may_be_in_capitals(tmp_path):
    write_text(tmp_path / "LOG.SWF.GZ", "text")
    assert gzip.decompress((tmp_path / "LOG.SWF.GZ").read_bytes()) == b"text"


@pytest.mark.parametrize("suffix", DECOMPRESSED)
def test_the_same_content_gives_the_same_bytes_under_any_name(tmp_path, suffix):
    first, second = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"
    for path in (first, second):
        write_text(path, "ü\n")
    assert first.read_bytes() == second.read_bytes()


def test_a_failure_leaves_what_was_there_and_nothing_else(tmp_path):
    for failure in (ValueError, KeyboardInterrupt, SystemExit):
        for suffix in DECOMPRESSED:
            folder = tmp_path / f"{failure.__name__}{suffix}"
            folder.mkdir()
            path = folder / f"log{suffix}"
            path.write_bytes(b"before")
            with pytest.raises(failure), writing(path) as stream:
                stream.write(TEXT)
                raise failure
            assert path.read_bytes() == b"before"
            assert list(folder.iterdir()) == [path]


def test_a_new_file_has_the_usual_permissions(tmp_path):
    (tmp_path / "usual").touch()
    write_text(tmp_path / "ours", "text")
    usual, ours = (stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("usual", "ours"))
    assert usual == ours


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").touch()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_text(tmp_path / "link", "text")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "text"


def test_a_device_is_written_to_not_replaced(tmp_path):
    write_text(os.devnull, "text")
    assert Path(os.devnull).is_char_device()


@pytest.mark.parametrize("name", ["", "missing/log", "a" * 300])
def test_what_cannot_be_written_is_an_error_in_one_line(tmp_path, name):
    with pytest.raises(WorkloadError, match="cannot be written"):
        write_text(tmp_path / name, "text")
    assert not list(tmp_path.iterdir())


def test_standard_output(capfdbinary, monkeypatch):
    with writing("-") as stream:
        stream.write(TEXT)
    assert capfdbinary.readouterr().out == TEXT
    monkeypatch.setattr(sys, "stdout", io.StringIO())  # as in a notebook
    write_text("-", "text")
    assert sys.stdout.getvalue() == "text"


def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path):
    target = tmp_path / "private.swf"
    target.write_text("before")
    target.chmod(0o600)
    write_text(target, "after")
    assert (target.read_text(), target.stat().st_mode & 0o777) == ("after", 0o600)


def test_a_read_only_file_is_not_replaced(tmp_path):
    target = tmp_path / "kept.swf"
    target.write_text("before")
    target.chmod(0o444)
    with pytest.raises(WorkloadError, match="read-only"):
        write_text(target, "after")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["before"]


def test_closed_streams_are_errors_of_ours(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(FormatError, match="standard input is closed"):
        list(text_chunks("-"))
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(WorkloadError, match="standard output is closed"):
        write_text("-", "text")


@pytest.mark.parametrize("name", ["a.zip", "a.swf.ZIP", "a.7z", "a.tgz", "a.Z"])
def test_what_a_suffix_promises_is_written_or_refused(tmp_path, name):
    with pytest.raises(ParameterError, match=r"is not supported; use \.gz, \.bz2, \.xz or \.zst"):
        write_text(tmp_path / name, "a")
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize(
    "compress",
    [
        gzip.compress,
        bz2.compress,
        lzma.compress,
    ],
)
def test_what_is_blown_up_is_no_log(compress, tmp_path):
    """Of 65 MiB of blank lines no more is read, though they are correct."""
    path = tmp_path / "bomb"
    path.write_bytes(compress(b"\n" * (65 << 20)))
    with pytest.raises(FormatError, match="is not a log: it expands to more than 300 times"):
        list(text_chunks(path))
    with path.open("rb") as stream, pytest.raises(FormatError, match="is not a log"):
        list(text_chunks(stream))


def test_a_short_text_may_be_compressed_however_well():
    text = b";\n" * (1 << 18)
    assert len(text) > 300 * len(gzip.compress(text))
    assert read(io.BytesIO(gzip.compress(text))) == text


def test_a_text_that_is_not_compressed_may_be_as_long_as_it_is(tmp_path):
    path = tmp_path / "blank"
    path.write_bytes(b"\n" * (65 << 20))
    assert sum(map(len, text_chunks(path))) == 65 << 20
