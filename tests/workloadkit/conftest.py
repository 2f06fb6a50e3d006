"""Fixtures that several tests share: of the command line, and of the plain engine."""

import pytest

import workloadkit as wk
from tests.commands import run_command
from tests.data import TRACES


@pytest.fixture(scope="module", params=TRACES, ids=lambda path: path.name.removesuffix(".swf.gz"))
def whole_log(request):
    """Each real log."""
    return wk.read_swf(request.param)


@pytest.fixture
def run(capsys):
    """Run a command in this process; returns its exit code, stdout and stderr."""

    def run(*arguments):
        code = run_command(*arguments)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture
def seen():
    return []


@pytest.fixture
def note(seen):
    """Write down in `seen`: a function, which the copies made for a simulation share."""
    return lambda entry: seen.append(entry)
