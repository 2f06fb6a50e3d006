"""The public names with their parameters and members, which the file next to this one lists.

python -m tests.public_api writes the list. Within a minor version it refuses to change what is
listed: names, parameters and members may only be added, and new parameters have a default.
"""

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import workloadkit

PATH = Path(__file__).with_name("public_api.tsv")


class Name(NamedTuple):
    """A public name: its parameters, those with a default as `name=`, and members of a class."""

    parameters: tuple[str, ...]
    members: tuple[str, ...]


def things(module: ModuleType = workloadkit, path: str = "wk") -> Iterator[tuple[str, Any]]:
    """Yield what packages that list their names export, by full names."""
    for name in getattr(module, "__all__", ()):
        thing = getattr(module, name)
        full = f"{path}.{name}"
        if isinstance(thing, ModuleType):
            yield from things(thing, full)
        else:
            yield full, thing


def current() -> dict[str, Name]:
    """Return the public names of the code."""
    found = {full: Name(_parameters(thing), _members(thing)) for full, thing in things()}
    # parts of the compiled loop are functions only without the compiler
    parts = [full for full in found if re.match(r"wk\.bases\.[a-z]", full)]
    return found | {full: Name((), ()) for full in parts}


def _parameters(thing: Any) -> tuple[str, ...]:
    if not (inspect.isfunction(thing) or inspect.isclass(thing)):
        return ()
    try:
        known = inspect.signature(thing).parameters.values()
    except (TypeError, ValueError):
        return ()
    found = []
    for each in (each for each in known if each.name[0] != "_"):
        kind = {each.KEYWORD_ONLY: "*", each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}
        mark = "=" if each.default is not each.empty or each.kind in kind else ""
        required = each.kind is each.KEYWORD_ONLY and each.default is each.empty
        found.append(kind.get(each.kind, "") + each.name + ("" if required else mark))
    return tuple(found)


def _members(thing: Any) -> tuple[str, ...]:
    if not inspect.isclass(thing):
        return ()
    ours = [each for each in thing.__mro__ if each.__module__.startswith("workloadkit")]
    return tuple(sorted({name for each in ours for name in vars(each) if name[0] != "_"}))


def listed() -> tuple[str, dict[str, Name]]:
    """Return the minor version of the list, and its names."""
    version, *lines = PATH.read_text("utf-8").splitlines()
    rows = (line.split("\t") for line in lines)
    return version, {
        full: Name(tuple(one.split()), tuple(other.split())) for full, one, other in rows
    }


def breaks(before: dict[str, Name], after: dict[str, Name]) -> list[str]:
    """Return which names of a list are no longer as listed."""
    return [full for full, name in before.items() if not _as_before(name, after.get(full))]


def _as_before(before: Name, after: Name | None) -> bool:
    if after is None or not set(before.members) <= set(after.members):
        return False
    places = [p.rstrip("=") for p in before.parameters if p[0] != "*"]
    kept = [p.rstrip("=") for p in after.parameters if p[0] != "*"][: len(places)] == places
    loosened = {p + "=" for p in before.parameters if p[-1] != "="}  # a default was added
    new = set(after.parameters) - set(before.parameters) - loosened
    gone = {
        p for p in set(before.parameters) - set(after.parameters) if p + "=" not in after.parameters
    }
    return kept and not gone and all(p[-1] == "=" for p in new)


def minor(version: str) -> str:
    """Return the minor version of a version: 0.2 of 0.2.1."""
    return ".".join(version.split(".")[:2])


def main() -> int:
    """Write the list."""
    now = current()
    version = minor(workloadkit.__version__)
    if PATH.exists():
        written, before = listed()
        if written == version and (broken := breaks(before, now)):
            print(
                "not written; within a minor version these do not change:", *broken, file=sys.stderr
            )
            return 1
    rows = ("\t".join((full, *map(" ".join, name))) for full, name in sorted(now.items()))
    PATH.write_text("\n".join([version, *rows]) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
