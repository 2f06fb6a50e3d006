"""Parts of JSON with their places: each is checked where it is read, and errors name it."""

import re
from collections.abc import Iterable
from math import isfinite
from typing import Any, NoReturn

from workloadkit.errors import FormatError, among

_LONGEST_TEXT = 4096
_SHA256 = re.compile(r"[0-9a-f]{64}")


class Part:
    """A value with its place in a file, for messages."""

    def __init__(self, path: str, place: str, value: Any) -> None:
        self.path, self.place, self.value = path, place, value

    def refuse(self, message: str) -> NoReturn:
        """Raise an error about this part."""
        shown = None
        if not isinstance(self.value, dict | list):
            shown = self.value if isinstance(self.value, str) else repr(self.value)
        raise FormatError(self.path, message, field=self.place or None, text=shown)

    def of(self, kind: type) -> Any:
        """Return the value, which is of this type."""
        if type(self.value) is not kind:
            self.refuse(f"is not {_CALLED[kind]}")
        return self.value

    def member(self, name: str) -> "Part":
        """Return a member of an object."""
        given, place = self.of(dict), f"{self.place}.{cut(name)}".lstrip(".")
        if name not in given:
            raise FormatError(self.path, "is missing", field=place)
        return Part(self.path, place, given[name])

    def members(self, required: Iterable[str], optional: Iterable[str] = ()) -> dict[str, "Part"]:
        """Return the members of an object, which has these and no others."""
        given, known = self.of(dict), [*required, *optional]
        for name in required:
            self.member(name)
        for name in given:
            if name not in known:
                raise FormatError(
                    self.path,
                    f"is not known; {among(name[:80], known)}",
                    field=self.member(name).place,
                )
        return {name: self.member(name) for name in given}

    def named(self) -> dict[str, "Part"]:
        """Return the members of an object by names, of which there is at least one."""
        given = self.of(dict)
        if not given:
            self.refuse("is empty")
        return {name: self.member(name) for name in given}

    def items(self) -> list["Part"]:
        """Return the items of a list."""
        return [
            Part(self.path, f"{self.place}[{i}]", value) for i, value in enumerate(self.of(list))
        ]

    def text(self, known: Iterable[str] | None = None) -> str:
        """Return a text: one of several, or one line that can be shown."""
        found: str = self.of(str)
        if known is not None and found not in known:
            self.refuse("is not known here")
        if not (found.strip() and found.isprintable() and len(found) <= _LONGEST_TEXT):
            self.refuse("is not a line of printable characters")
        return found

    def matching(self, pattern: re.Pattern[str], what: str) -> re.Match[str]:
        """Return the match of a text."""
        match = pattern.fullmatch(self.of(str))
        if match is None:
            self.refuse(f"is not {what}")
        return match

    def digest(self) -> None:
        """Check that the value is a SHA-256."""
        self.matching(_SHA256, "a SHA-256")

    def whole(self, *, least: int, most: int | None = None) -> int:
        """Return a whole number."""
        found: int = self.of(int)
        if found < least or (most is not None and found > most):
            self.refuse(
                f"is not from {least} to {most}" if most is not None else f"is below {least}"
            )
        return found

    def number(self, *, least: float | None = None, most: float | None = None) -> float:
        """Return a finite number."""
        found: float = self.value
        if type(found) not in (int, float) or not isfinite(found):
            self.refuse("is not a number")
        if (least is not None and found < least) or (most is not None and found > most):
            self.refuse("is out of range")
        return found

    def interval(self, n_values: int, *, signed: bool) -> None:
        """Check a mean over runs, and the ends of its interval; null where there is none."""
        mean, low, high = self.items()
        for part, known in ((mean, n_values > 0), (low, n_values > 1), (high, n_values > 1)):
            if not known:
                if part.value is not None:
                    part.refuse("is not null, although there are too few values")
            else:
                part.number(least=None if signed else 0)
        if n_values > 1 and not low.value <= mean.value <= high.value:
            self.refuse("the interval does not contain the mean")


_CALLED = {dict: "an object", list: "a list", str: "a text", int: "a whole number"}


def cut(name: str) -> str:
    """Return a name as a place in messages shows it."""
    return name if len(name) <= 60 else f"{name[:59]}…"
