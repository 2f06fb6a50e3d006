"""Print the page of the manual, workloadkit(1), made from the help of the commands."""

import re
from collections.abc import Iterator
from typing import Any

import typer
from typer.testing import CliRunner

from workloadkit import __version__
from workloadkit.cli import app

EXIT = (
    ("0", "done"),
    ("1", "the input is at fault, or what was checked does not hold"),
    ("2", "wrong usage"),
)


def as_roff(text: str) -> str:
    """Return text in which nothing is a request or an escape."""
    text = text.replace("\\", r"\e").replace("-", r"\-")
    return re.sub(r"^(?=[.'])", r"\\&", text, flags=re.M)


def commands(program: Any) -> Iterator[tuple[str, ...]]:
    """Yield the words of each command."""
    for name, command in program.commands.items():
        inner = getattr(command, "commands", None)
        yield from ((name, word) for word in inner) if inner else ((name,),)


def help_of(*words: str) -> str:
    """Return the whole help of a command."""
    how = {"prog_name": "workloadkit", "env": {"COLUMNS": "78"}}
    return CliRunner().invoke(app, [*words, "--help-all"], **how).stdout.rstrip()


def main() -> None:
    """Print the page."""
    program = typer.main.get_command(app)
    lines = [
        f'.TH WORKLOADKIT 1 "" "workloadkit {__version__}"',
        ".SH NAME",
        rf"workloadkit \- {as_roff(program.help.partition('.')[0].lower())}",
        ".SH SYNOPSIS",
        r"\fBworkloadkit\fR [\fIoptions\fR] \fIcommand\fR [\fIarguments\fR]",
        ".SH DESCRIPTION",
        "\n.PP\n".join(map(as_roff, program.help.split("\n\n"))),
        ".SH COMMANDS",
    ]
    for words in commands(program):
        lines += [f".SS {' '.join(words)}", ".nf", as_roff(help_of(*words)), ".fi"]
    lines.append(".SH EXIT STATUS")
    for code, meaning in EXIT:
        lines += [".TP", f".B {code}", meaning]
    print("\n".join(lines))


if __name__ == "__main__":
    main()
