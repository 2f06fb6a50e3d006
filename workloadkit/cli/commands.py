"""How commands are listed, explained and run: headings, help of one screen, errors in one line."""

import os
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from platform import python_version
from textwrap import indent, wrap
from time import monotonic
from typing import Any, get_args

import typer
import typer.core

from workloadkit import __version__
from workloadkit.cli.configuration import note_configured
from workloadkit.cli.output import (
    detail,
    noted_once,
    set_verbosity,
    warn_in_one_line,
    write_message,
)
from workloadkit.cli.topics import TOPICS
from workloadkit.errors import ParameterError, WorkloadError, one_line, quoted

#: Headings of options that only the whole help explains.
RARE = "More options"
CHOICE = "Job selection"
SHARED = "Options of every command"

#: The group of commands that the help of the program shows as lines at its end.
MORE = "More help"

#: Names of options elsewhere, without hyphens, by ours.
_ELSEWHERE = {
    "tz": ("timezone", "zone"),
    "procs": ("processors", "cores", "cpus", "size"),
    "scheduler": ("policy", "algorithm"),
    "seed": ("rng", "randomstate", "random"),
    "runs": ("replications", "repetitions", "samples"),
    "workers": ("jobs", "processes", "threads"),
    "from": ("format", "input", "informat"),
    "output": ("out", "file", "outfile"),
    "load": ("factor", "usersfactor", "scale"),
    "where": ("filter", "select", "query"),
}

_LONGEST_REASON = 300  # characters
_WrongUsage: type[Exception] = typer.BadParameter.__mro__[1]  # typer itself does not name it

_WHOLE = "workloadkit.whole_help"  # in the context: all options are explained


def panel_of(parameter: Any) -> str:
    """Return the heading under which the help shows a parameter."""
    if parameter.param_type_name == "argument":
        return "Arguments"
    usual = SHARED if "--help" in parameter.opts else "Options"
    return getattr(parameter, "rich_help_panel", None) or usual


class _PlainValues:
    """Converts values in the usual form without pydantic, which takes as long to load as numpy."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, with this conversion."""
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for parameter in parameters:
            parameter.get_runtime_param = _Conversion
        return parameters


class _Conversion:
    """The conversion of values of parameters."""

    def coerce(self, value: Any, *, param: Any, ctx: Any) -> Any:
        """Convert a value; typer converts all that are not in the usual form."""
        kind, info = param.type_descriptor.annotation, param.type_descriptor.parameter_info
        several = param.multiple or param.nargs == -1
        if value is None:
            return () if several else None
        if value == param.default and type(value) is kind:
            return value
        if info.parser is not None:
            return [info.parser(each) for each in value] if several else info.parser(value)
        if several:
            items = [_usual(get_args(kind)[0], info, item) for item in value]
            if None not in items:
                return items
        elif (converted := _usual(kind, info, value)) is not None:
            return converted
        return type(param).get_runtime_param(param).coerce(value, param=param, ctx=ctx)


_NUMBERS = {int: "a whole number", float: "a number"}


def _usual(kind: Any, info: Any, text: Any) -> str | Path | float | None:
    """Return the value of a text, or a path that can be read; None for other types and paths."""
    if type(text) is not str:
        return None
    if kind is Path:
        readable = not info.readable or os.access(text, os.R_OK) or not os.path.lexists(text)
        return Path(text) if readable else None
    if kind in _NUMBERS:
        return _number(kind, info.min, text)
    return text if kind is str else None


def _number(kind: type[float], least: float | None, text: str) -> float:
    try:
        value = kind(text.replace("_", "?"))  # Python would read 1_000
    except ValueError:
        raise typer.BadParameter(f"{quoted(text)} is not {_NUMBERS[kind]}") from None
    if least is not None and not value >= least:
        raise typer.BadParameter(f"{quoted(value)} is less than {least:g}")
    return value


class Command(_PlainValues, typer.core.TyperCommand):
    """A command: its help fits a screen; an empty name is wrong usage."""

    @property
    def examples(self) -> list[str]:
        """The lines of its examples."""
        return str(getattr(self.callback, "examples", "")).strip().splitlines()

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics that explain more."""
        found: tuple[str, ...] = getattr(self.callback, "topics", ())
        return found

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments; refuse those that are empty."""
        if not ctx.resilient_parsing:
            given, _, _ = self.make_parser(ctx).parse_args(args=list(args))
            for parameter in self.params:
                value = given.get(parameter.name)
                if "" in (value if isinstance(value, list | tuple) else [value]):
                    what = parameter.metavar or parameter.name.upper()
                    is_option = parameter.param_type_name == "option"
                    raise ParameterError(f"{parameter.opts[0] if is_option else what} is empty")
        rest: list[str] = super().parse_args(ctx, args)
        return rest

    def invoke(self, ctx: Any) -> Any:
        """Run the command; with --verbose, report versions and the time that it took."""
        begin = monotonic()
        note_configured(ctx)
        detail(lambda: f"workloadkit {__version__}, Python {python_version()}, {_versions()}")
        result = super().invoke(ctx)
        detail(f"total: {monotonic() - begin:.1f} s")
        return result

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the usual options, and the names of the others; or all in full."""
        panels: dict[str, list[Any]] = {"Arguments": [], "Options": []}
        folded: dict[str, list[Any]] = {RARE: [], CHOICE: [], SHARED: []}
        panels |= folded
        for parameter in self.get_params(ctx):
            panels.setdefault(panel_of(parameter), []).append(parameter)
        whole = ctx.meta.get(_WHOLE)
        shown = panels if whole else {**panels, **{heading: [] for heading in folded}}
        for heading, parameters in shown.items():
            records = [r for p in parameters if (r := p.get_help_record(ctx)) is not None]
            if records:
                with formatter.section(heading):
                    if whole:
                        formatter.write_dl(records)
                    else:
                        short = [(name, _in_short(text)) for name, text in records]
                        formatter.write_dl(short, col_max=22, col_spacing=1)
        if not whole:
            with formatter.section(RARE):
                names = [
                    max(p.opts, key=len) for folded_panel in folded.values() for p in folded_panel
                ]
                text = ", ".join(names)
                _write_lines(formatter, wrap(text, formatter.width - 2, break_on_hyphens=False))

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write examples, and where more is explained; or that itself."""
        if ctx.meta.get(_WHOLE):
            for topic in self.topics:
                with formatter.section(TOPICS[topic].title):
                    _write_lines(formatter, TOPICS[topic].text().strip().splitlines())
        with formatter.section("Examples"):
            _write_lines(formatter, self.examples[: None if ctx.meta.get(_WHOLE) else 3])
        if not ctx.meta.get(_WHOLE):
            name = ctx.command_path.removeprefix("workloadkit ")
            topics = ", ".join((*self.topics, f"{name} --all"))
            with formatter.section("More help"):
                _write_lines(formatter, [f"workloadkit help TOPIC: {topics}"])


def _write_lines(formatter: Any, lines: list[str]) -> None:
    """Write lines as they are, indented."""
    formatter.write(indent("\n".join(lines), "  ") + "\n")


def _in_short(text: str) -> str:
    """Return the first sentence of a help text, and its sentences on the default.

    Examples
    --------
    >>> _in_short("Processors. As in B. By default the header's.  [x>=1]")
    "Processors. By default the header's.  [x>=1]"
    """
    sentences, gap, extra = text.partition("  [")
    first, *others = re.split(r"(?<=[.;]) (?=[A-Z])", sentences)
    return " ".join([first, *(x for x in others if x.startswith("By default"))]) + gap + extra


def _versions() -> str:
    from importlib.metadata import version

    return ", ".join(f"{name} {version(name)}" for name in ("numpy", "pandas", "numba"))


def show_whole_help(ctx: typer.Context, wanted: bool) -> None:
    """Print the help of a command with all options in full, or of all commands, and end."""
    if wanted and not ctx.resilient_parsing:
        ctx.meta[_WHOLE] = True
        typer.echo(ctx.get_help())
        raise typer.Exit


def help_of(ctx: typer.Context, words: list[str], *, whole: bool) -> str | None:
    """Return the help of the command that the words name; None where there is none."""
    found: Any = ctx.find_root()
    for word in words:
        command = getattr(found.command, "commands", {}).get(word)
        if command is None:
            return None
        found = type(ctx)(command, info_name=word, parent=found)
    found.meta[_WHOLE] = whole
    return str(found.get_help())


class Commands(_PlainValues, typer.core.TyperGroup):
    """The commands under headings; warnings and errors become one line each."""

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        """Read the arguments in front of the command."""
        try:
            return super().make_context(*arguments, **options)
        except _WrongUsage as error:
            raise _refusal(error) from None

    def invoke(self, ctx: Any) -> Any:
        """Run the command; exit 1 if the input is at fault, 2 for wrong usage."""
        if ctx.parent is not None:
            return super().invoke(ctx)
        with warnings.catch_warnings(), noted_once():
            warn_in_one_line()
            try:
                return super().invoke(ctx)
            except WorkloadError as error:
                write_message(
                    f"error: {in_options(error, self.commands.get(ctx.invoked_subcommand))}"
                )
                raise typer.Exit(2 if isinstance(error, ParameterError) else 1) from None
            except _WrongUsage as error:
                raise _refusal(error) from None
            except KeyboardInterrupt:
                from workloadkit.cli.stopping import exit_code, report_interrupt

                report_interrupt()
                raise typer.Exit(exit_code() or 130) from None
            finally:
                set_verbosity(quiet=False, verbose=False)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the commands, then the options."""
        self.format_commands(ctx, formatter)
        records = [r for p in self.get_params(ctx) if (r := p.get_help_record(ctx)) is not None]
        with formatter.section("Options"):
            formatter.write_dl(records)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands in their groups: the first of each, and the names of the others."""
        groups: dict[str, list[str]] = {}
        for name, command in self.commands.items():
            group = getattr(command, "rich_help_panel", None)
            groups.setdefault(group if isinstance(group, str) else "Commands", []).append(name)
        whole = ctx.meta.get(_WHOLE) or "Commands" in groups
        width = max(map(len, self.commands))

        def described(name: str) -> tuple[str, str]:
            return name.ljust(width), self.commands[name].get_short_help_str(limit=_LONGEST_REASON)

        for group, names in groups.items():
            if group != MORE:
                rows = [described(name) for name in (names if whole else names[:1])]
                if names[1:] and not whole:
                    rows.append(("", f"also {', '.join(names[1:])}"))
                with formatter.section(group):
                    formatter.write_dl(rows)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write where more is explained."""
        if ctx.parent is None:
            with formatter.section(MORE):
                rows = [
                    ("workloadkit COMMAND --help", "The options of a command, with examples."),
                    ("workloadkit --help-all", "What each command does."),
                    ("workloadkit help", "The topics: schedulers, users, formats, ..."),
                    ("workloadkit info", "Versions and platform, to report a problem."),
                ]
                formatter.write_dl(rows)


def _refusal(error: Any) -> typer.Exit:
    """Write what is wrong with the arguments, help if there are none; return the program's end."""
    if type(error).__name__ == "NoArgsIsHelpError":  # of click, or of typer's copy of it
        typer.echo(error.ctx.get_help(), err=True)
        return typer.Exit(2)
    meant = _meant(error)
    text = error.message if meant else error.format_message()
    text = re.sub("^Invalid value for '(.*?)'", r"\1", text).rstrip(".")
    text = one_line(text[:1].lower() + text[1:], most=_LONGEST_REASON)
    command = f"; see {error.ctx.command_path} -h" if error.ctx else ""
    write_message(f"error: {text}{meant}{command}")
    return typer.Exit(2)


def _meant(error: Any) -> str:
    """Return in brackets the option that others call by the unknown name; empty without one."""
    name = getattr(error, "option_name", "").strip("-").replace("-", "")
    option = next((f"--{ours}" for ours, others in _ELSEWHERE.items() if name in others), "")
    known = option and option in error.ctx.command.make_parser(error.ctx)._long_opt
    return f" (did you mean {option}?)" if known else ""


def in_options(error: WorkloadError, command: Any) -> str:
    """Return the message of an error with the parameters of Python as the options of a command."""
    options = {parameter.name: parameter.opts[-1] for parameter in _options(command)}

    def write(name: str, value: str) -> str:
        if name in options:
            return f"{options[name]} {value}".rstrip()
        return f"{name}={value!r}" if value else name

    return error.worded(write)


def _options(command: Any) -> Iterator[Any]:
    for parameter in getattr(command, "params", ()):
        if parameter.param_type_name == "option":
            yield parameter
    for inner in getattr(command, "commands", {}).values():
        yield from _options(inner)
