"""A proposed mapping: lines, each with how sure it is and why."""

import json
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from workloadkit.errors import printable

Sureness = Literal["sure", "likely", "unsure"]

_COMMENT_AT = 44


@dataclass(frozen=True)
class Line:
    """One line of a proposed mapping.

    Parameters
    ----------
    section, key : str
        An empty key makes a remark.
    value : object
        A text, a list or a table of them.
    sureness : {"sure", "likely", "unsure"}
    why : str
    """

    section: str
    key: str
    value: Any
    sureness: Sureness
    why: str

    def text(self) -> str:
        """Return the line as TOML, with its comment."""
        comment = f"# {self.sureness}: {printable(self.why)}"
        if not self.key:
            return comment
        return f"{f'{_key(self.key)} = {toml(self.value)}':<{_COMMENT_AT}} {comment}"


@dataclass(frozen=True)
class Proposal:
    """A proposed mapping.

    Parameters
    ----------
    name : str
        The file.
    remarks : tuple of str
    lines : tuple of Line
    """

    name: str
    remarks: tuple[str, ...]
    lines: tuple[Line, ...]

    def line(self, field: str) -> Line | None:
        """Return the line of a field."""
        found = (each for each in self.lines if (each.section, each.key) == ("fields", field))
        return next(found, None)

    @property
    def unsure(self) -> tuple[str, ...]:
        """What is required, and not sure."""

        def is_sure(field: str) -> bool:
            line = self.line(field)
            return line is not None and line.sureness == "sure"

        missing = [] if is_sure("submit") or is_sure("start") else ["submit or start"]
        if not (is_sure("run") or (is_sure("start") and is_sure("end"))):
            missing.append("run, or start and end")
        return tuple(missing)

    @property
    def lacks_zone(self) -> bool:
        """Whether times have no offset, so that a zone must be given."""
        return any((line.section, line.key) == ("times", "zone") for line in self.lines)

    def text(self) -> str:
        """Return the mapping as TOML to edit."""
        remarks = [f"# {printable(remark)}" for remark in self.remarks]
        return "\n".join([*remarks, *_sections(self.lines, self.name)]) + "\n"

    def mapping(self) -> dict[str, Any]:
        """Return what is sure or likely as the sections of a mapping."""
        kept = [line for line in self.lines if line.sureness != "unsure" or line.key == "zone"]
        return tomllib.loads("\n".join(_sections(kept, self.name)))

    def left_out(self) -> tuple[str, ...]:
        """Return the fields that are not sure enough to be read unconfirmed."""
        unsure = (each for each in self.lines if each.section == "fields" and each.key)
        return tuple(each.key for each in unsure if each.sureness == "unsure")


def _sections(lines: Sequence[Line], name: str) -> Iterable[str]:
    yield f"title = {toml(name)}"
    for section in dict.fromkeys(line.section for line in lines):
        yield ""
        yield f"[{section}]"
        yield from (line.text() for line in lines if line.section == section)


def _key(key: str) -> str:
    plain = key.isascii() and key.replace("_", "a").replace("-", "a").isalnum()
    return key if plain else json.dumps(key, ensure_ascii=True)


def toml(value: Any) -> str:
    r"""Return a value as TOML has it.

    Examples
    --------
    >>> print(toml({"sql": '"made"', "unknown": [0, "-"]}))
    { sql = '"made"', unknown = [0, "-"] }
    """
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{_key(k)} = {toml(v)}' for k, v in value.items())} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml, value))}]"
    if not isinstance(value, str):
        return json.dumps(value)
    is_literal = '"' in value and "'" not in value and value.isprintable()
    return f"'{value}'" if is_literal else json.dumps(value, ensure_ascii=True)
