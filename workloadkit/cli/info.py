"""`workloadkit info`: what a report of a problem should name."""

import os
import platform
import re
from importlib.metadata import PackageNotFoundError, requires, version

import typer

from workloadkit import __version__
from workloadkit.cli.common import (
    JsonOption,
    check_outputs,
    write_json,
)
from workloadkit.cli.executors import usable_processors

EXAMPLES = """
workloadkit info
workloadkit info --json -
"""

_REQUIREMENT = re.compile(r"([\w.-]+)(?:.*extra == ['\"](\w+)['\"])?")

#: Extras of those who work on the toolkit itself.
_OURS = ("dev", "docs", "peers")


def info(json: JsonOption = None) -> None:
    """Show versions, platform, engine and extras.

    A report of a problem should contain this. No name of a user, host or file is in it.
    """
    check_outputs(json=json)
    found = _described()
    if json:
        write_json(json, found)
    if str(json) != "-":
        for label, value in found.items():
            lines = (
                [value] if isinstance(value, str) else [f"{n:<13} {v}" for n, v in value.items()]
            )
            for i, line in enumerate(lines):
                typer.echo(f"{'' if i else label:<13} {line}")


def _described() -> dict[str, str | dict[str, str]]:
    """Return what is described, by label."""
    from workloadkit.simulation.selection import engine_in_words

    packages: dict[str, str] = {}
    extras: dict[str, str] = {}
    for requirement in sorted(_requirements()):
        match = _REQUIREMENT.match(requirement)
        assert match is not None
        name, extra = match.groups()
        if extra is None:
            packages[name] = _version(name) or "not installed"
        elif extra not in _OURS:
            hint = f"not installed: pip install 'workloadkit[{extra}]'"
            installed = _version(name)
            extras[extra] = f"{name} {installed}" if installed else hint
    return {
        "workloadkit": __version__,
        "Python": f"{platform.python_version()}, {platform.python_implementation()}",
        "platform": f"{platform.system()} {platform.release()}, {platform.machine()}, "
        f"{usable_processors()} processors",
        "engine": engine_in_words(),
        "settings": _settings(),
        "packages": packages,
        "extras": extras,
    }


def _requirements() -> list[str]:
    """Return the requirements of the installed package; none where it is not installed."""
    try:
        return requires("workloadkit") or []
    except PackageNotFoundError:
        return []


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _settings() -> str:
    """Return the names of the environment variables that matter and are set."""
    names = sorted(name for name in os.environ if name.startswith(("NUMBA_", "WORKLOADKIT_")))
    return ", ".join(names) or "no variable of the environment is set"
