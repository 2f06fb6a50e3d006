"""Defaults of options from a TOML file, and completion of values in a shell.

The file has a table for each command, such as ``[simulate]`` or ``[experiment.run]``. Its keys are
the command's options without dashes. Keys before the first table apply to all commands with such an
option. The working directory is never searched.
"""

import os
import re
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import typer

from workloadkit.built_in import SCHEDULERS, USERS
from workloadkit.cli import topics
from workloadkit.cli.output import note
from workloadkit.errors import ParameterError, among, quoted

#: Options that cannot have defaults: they are about one run of the program.
_NEVER = ("help", "help-all", "config", "quiet", "verbose", "install-completion")

_FILE = "workloadkit.configuration"  # in the context: the file

_configured: dict[str, Any] = {}  # of the command that runs


def user_file() -> Path | None:
    """Return the user's configuration file; None where its folder depends on where one stands."""
    import platformdirs

    folder = Path(platformdirs.user_config_dir("workloadkit"))
    return folder / "config.toml" if folder.is_absolute() else None


def configure(ctx: typer.Context, file: Path | None) -> Path | None:
    """Take the defaults of a command from the file named, else from the user's, if there is one."""
    if ctx.resilient_parsing:
        return file
    file = file or ctx.meta.get(_FILE)
    ctx.meta[_FILE] = file
    if getattr(ctx.command, "commands", None):  # which command follows is not known yet
        return file
    usual = user_file()
    if file is None and usual is not None and usual.is_file():
        file = usual
    if file is not None:
        ctx.meta[_FILE] = file
        path = ctx.command_path.split()[1:]
        ctx.default_map = _read(file, typer.main.get_command(ctx.obj()), path)
    return file


def _read(file: Path, root: Any, path: list[str]) -> dict[str, Any]:
    """Return the defaults of the command with that path, by the names of its parameters."""
    from workloadkit.io.strict_json import read_toml

    table = read_toml(file)
    _check(file, table, root, "")
    found: dict[str, Any] = {}
    command = root
    for word in ("", *path):
        command = command.commands[word] if word else command
        table = table.get(word, {}) if word else table
        found |= {key: value for key, value in table.items() if not isinstance(value, dict)}
    options = _options(command)
    return {
        options[key].name: _as_given(f"{file}: {key}", options[key], value)
        for key, value in found.items()
        if key in options
    }


def _check(file: Path, table: dict[str, Any], command: Any, path: str) -> None:
    """Refuse names of commands and options that there are not."""
    commands = getattr(command, "commands", {})
    options = _options(command)
    where = f"{file}: [{path}]" if path else f"{file}"
    for key, value in table.items():
        if isinstance(value, dict):
            if key not in commands:
                raise ParameterError(
                    f"{where}: unknown command {quoted(key, 40)}; {among(key, commands)}"
                )
            _check(file, value, commands[key], f"{path}.{key}".strip("."))
        elif key not in options:
            raise ParameterError(
                f"{where}: unknown option {quoted(key, 40)}; {among(key, sorted(options))}"
            )


def _options(command: Any) -> dict[str, Any]:
    """Return the options of a command by their names without dashes; of a group, of all in it."""
    found: dict[str, Any] = {}
    for inner in getattr(command, "commands", {}).values():
        found |= _options(inner)
    if not hasattr(command, "commands"):
        for parameter in command.params:
            name = parameter.opts[-1].removeprefix("--")
            if parameter.param_type_name == "option" and name not in (*_NEVER, "-o"):
                found[name] = parameter
    return found


def _as_given(where: str, option: Any, value: Any) -> Any:
    """Return a value as a command line would contain it."""
    if getattr(option, "is_flag", False):
        if not isinstance(value, bool):
            raise ParameterError(f"{where} is {quoted(value)}; it is true or false")
        return value
    values = value if isinstance(value, list) else [value]
    if (isinstance(value, list) and not option.multiple) or not all(
        isinstance(each, str | int | float) and not isinstance(each, bool) for each in values
    ):
        kind = "a list of texts or numbers" if option.multiple else "a text or a number"
        raise ParameterError(f"{where} is {quoted(value)}; it is {kind}")
    words = [str(each) for each in values]
    return words if option.multiple else words[0]


def note_configured(ctx: Any) -> None:
    """Report which defaults of a command come from a file, and keep them for the provenance."""
    _configured.clear()
    for parameter in ctx.command.params:
        source = ctx.get_parameter_source(parameter.name)
        if source is not None and source.name == "DEFAULT_MAP":
            _configured[parameter.opts[-1].removeprefix("--")] = ctx.default_map[parameter.name]
    if _configured:
        note(f"defaults from {os.fspath(ctx.meta[_FILE])}: {as_words(_configured)}")


def as_words(options: dict[str, Any]) -> str:
    """Write options as on a command line.

    Examples
    --------
    >>> as_words({"procs": "64", "load": ["0.5", "0.7"], "strict": True})
    '--procs 64 --load 0.5 --load 0.7 --strict'
    """
    words = []
    for name, value in options.items():
        for each in value if isinstance(value, list) else [value]:
            flag = f"--{name}" if each is not False else f"no --{name}"
            words.append(flag if isinstance(each, bool) else f"--{name} {each}")
    return " ".join(words)


def configured() -> dict[str, Any]:
    """Return the defaults that the command which runs has from a file."""
    return dict(_configured)


# Completion of values in a shell.

#: Names at the beginning of a line of a list, before parameters and an explanation.
_NAMES = re.compile(r"^([a-z][a-z0-9-]*(?:, [a-z][a-z0-9-]*)*)(?::\S*)?(?:  |$)", re.MULTILINE)


def words(*known: str) -> Callable[[], list[str]]:
    """Return what completes one of a few words."""
    return lambda: list(known)


def listed(text: str) -> list[str]:
    r"""Return the names that a list of a topic explains.

    Examples
    --------
    >>> listed("sjf, ljf  EASY\nf1:x=1   a score")
    ['sjf', 'ljf', 'f1']
    """
    return [name for names in _NAMES.findall(text) for name in names.split(", ")]


def schedulers() -> list[str]:
    """Return the names of the schedulers."""
    return list(SCHEDULERS)


def users() -> list[str]:
    """Return the names of the users."""
    return list(USERS)


def models() -> list[str]:
    """Return the names of the models of workloads."""
    return listed(topics.TOPICS["models"].text())


def studies() -> list[str]:
    """Return the names of the studies, and the word for all."""
    from workloadkit.analysis.studies import study_names

    return ["all", *study_names()]


def traces() -> list[str]:
    """Return the names of the mappings of public traces."""
    folder = resources.files("workloadkit") / "io" / "tables" / "mappings"
    return sorted(each.name.removesuffix(".toml") for each in folder.iterdir())


def mappings() -> list[str]:
    """Return the words that `--mapping` knows."""
    return ["guess", *traces()]


def expression(incomplete: str) -> list[str]:
    """Return the expressions of --where that end with a field instead of its beginning.

    Examples
    --------
    >>> expression("user=3 and requested_p")
    ['user=3 and requested_procs']
    """
    from workloadkit.select import KINDS

    begun = re.search(r"\w*$", incomplete)[0]  # type: ignore[index]  # it always matches
    before = incomplete.removesuffix(begun)
    return [before + name for name in sorted(KINDS) if name.startswith(begun.lower())]
