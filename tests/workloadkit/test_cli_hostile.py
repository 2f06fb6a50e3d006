"""Odd files at the command line: one line says what is wrong, and nothing hangs."""

import os
import subprocess
import sys
import threading

import pytest

import workloadkit as wk

PROGRAM = [sys.executable, "-m", "workloadkit"]
JOB = "1 0 5 60 4" + " -1" * 13 + "\n"


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.swf"
    path.write_text(JOB)
    return path


def workloadkit(*arguments, **options):
    done = subprocess.run([*PROGRAM, *arguments], capture_output=True, timeout=60, **options)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_what_is_read_of_a_pipe_is_read_once(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(JOB,))
    writer.start()
    assert wk.read_log(pipe).n_jobs == 1
    writer.join()


def test_a_key_without_end_is_refused(log, tmp_path):
    arguments = ("convert", log, "-o", tmp_path / "out.swf", "--anonymize", "--key", "/dev/zero")
    error = "error: /dev/zero: not a key: it has more than 4,096 bytes\n"
    assert workloadkit(*arguments) == (1, "", error)


def test_an_output_that_would_not_be_what_its_name_says_is_wrong_usage(log, tmp_path):
    code, out, error = workloadkit("sessions", log, "-o", tmp_path / "out.zip")
    assert (code, out) == (2, "")
    assert error.endswith(".zip is not supported; use .gz, .bz2, .xz or .zst\n")
    assert list(tmp_path.iterdir()) == [log]


def test_a_name_too_long_for_a_file_is_refused_by_it(log, tmp_path):
    target = tmp_path / ("x" * 300)
    code, out, error = workloadkit("sessions", log, "-o", target)
    assert (code, out) == (1, "")
    line = error.splitlines()[-1]
    assert line.startswith(f"error: {tmp_path}/xxx") and len(line) <= 400
    assert line.endswith("xxx: cannot be written: File name too long")


def test_an_interrupt_while_the_program_loads_is_one_line():
    code = """
import os, signal, sys
class Interrupt:
    def find_spec(self, name, *_):
        if name == "typer":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupt())
from workloadkit.__main__ import main
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (130, b"interrupted\n")


def test_any_name_of_a_file_can_be_shown(tmp_path):
    path = os.path.join(os.fsencode(tmp_path), b"\xff\n\x1b[31m.swf")  # noqa: PTH118  # of bytes
    with open(path, "wb") as stream:  # noqa: PTH123
        stream.write(JOB.encode())
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "COLUMNS": "40"}
    target = tmp_path / "out.swf"
    code, out, error = workloadkit("convert", path, "-o", target, env=environment)
    assert (code, error) == (0, f"wrote {target}\n")
    assert out.startswith("\\udcff\\n\\x1b[31m.swf")
    code, out, error = workloadkit("validate", path + b"?", env=environment)
    assert (code, out) == (1, "")
    assert error.endswith(".swf?: no such file\n")
    assert error.count("\n") == 1
