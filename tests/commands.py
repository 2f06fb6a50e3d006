"""Commands run in the process of the tests."""

import warnings
from functools import cache

import pytest
import typer

from workloadkit import cli


@cache
def program():
    """The command line, put together once: that takes longer than most commands."""
    return typer.main.get_command(cli.app)


def run_command(*arguments) -> int:
    """Run a command as a process of its own would; return its exit code."""
    with pytest.raises(SystemExit) as end, warnings.catch_warnings():
        program()([str(argument) for argument in arguments], prog_name="workloadkit")
    return end.value.code
