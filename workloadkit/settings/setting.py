"""Settings: each is declared once, and so checked, made an option, recorded and explained.

The settings of an operation are the fields of a frozen dataclass. The type of a field determines
its values; its `Setting`, in the annotation, contains its meaning.
"""

from collections.abc import Callable, Collection, Mapping, Sized
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import cache
from inspect import Parameter, signature
from textwrap import fill
from types import UnionType
from typing import Any, Literal, NamedTuple, Self, TypeVar, get_args, get_origin, get_type_hints

from workloadkit.errors import (
    ParameterError,
    among,
    check_choice,
    check_count,
    check_no_seed,
    check_not_negative,
    check_positive,
    parameter,
    quoted,
)
from workloadkit.parameters import Duration, read_duration

Function = TypeVar("Function", bound=Callable[..., Any])
Explained = TypeVar("Explained")
Others = TypeVar("Others", bound="Settings")

#: The line of a docstring that is replaced by the settings of the operation.
PLACE = "    {settings}\n"

_WIDTH = 99


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A setting, except for its name, type and default.

    Parameters
    ----------
    help : str
        Its meaning, in a sentence or two; what None stands for, where that is the default.
    more : str
        Further text for the reference.
    unit : str
        In Python; a command takes durations in all units.
    option : str or None
        The name of the command's option, if it differs; None for a setting without option.
    metavar : str
        What stands for the value in the help, where the type does not determine it.
    read : callable, optional
        Reads the value from a word, where the type does not determine how.
    names : collection of str
        Names that are known, for the completion in a shell; others may be valid.
    check : callable, optional
        Raises ParameterError for a wrong value; called with name and value.
    goes_with : str
        Another setting without which it makes no difference.
    excludes : str
        Another setting that cannot be given as well.
    recorded : {"changed", "always", "never"}
        When results and the headers of logs record it: where it differs from the default, always,
        or never, since it makes no difference to them.
    rare : bool
        Whether the short help of a command lists its option by name only.
    """

    help: str
    more: str = ""
    unit: str = ""
    option: str | None = ""
    metavar: str = ""
    read: Callable[[str], Any] | None = None
    names: Collection[str] = ()
    check: Callable[[str, Any], Any] | None = None
    goes_with: str = ""
    excludes: str = ""
    recorded: Literal["changed", "always", "never"] = "changed"
    rare: bool = False


class Declared(NamedTuple):
    """A declared setting of an operation.

    Parameters
    ----------
    name : str
    type : object
        Without None.
    optional : bool
        Whether it may be None.
    default : object
    setting : Setting
    """

    name: str
    type: Any
    optional: bool
    default: Any
    setting: Setting

    @property
    def choices(self) -> tuple[str, ...]:
        """The words that are its values, if these are few."""
        return get_args(self.type) if get_origin(self.type) is Literal else ()

    def check(self, value: Any) -> None:
        """Check a value."""
        if value is None and self.optional:
            return
        if self.setting.check is not None:
            self.setting.check(self.name, value)
        elif self.choices:
            check_choice(self.name, value, self.type)
        elif self.type is Duration:
            check_not_negative(**{self.name: value})
        elif self.type is float:
            check_positive(**{self.name: value})
        elif self.type is int:
            check_count(self.name, value, least=1)
        elif self.type is bool and not isinstance(value, bool):
            raise ParameterError(self.name, f"is {quoted(value)}; it is True or False")

    def differs(self, value: Any) -> bool:
        """Whether a value differs from the default."""
        if self.default is None:
            return value is not None
        if self.default == ():
            return not isinstance(value, Sized) or len(value) > 0
        return bool(value != self.default)

    @property
    def kind(self) -> str:
        """Its type, as docstrings write it."""
        words = ", ".join(f'"{word}"' for word in self.choices)
        if words:
            return f"{{{words}}}"
        kinds = get_args(self.type) if isinstance(self.type, UnionType) else (self.type,)
        special = {Duration: "float", Any: "object"}
        return " or ".join(special.get(kind, getattr(kind, "__name__", "")) for kind in kinds)

    @property
    def reference(self) -> str:
        """Its entry in a docstring."""
        default = "optional" if self.default in (None, ()) else f"default {self.default!r}"
        meaning = " ".join(filter(None, (self.setting.help, self.setting.more)))
        unit = f" [{self.setting.unit}]" if self.setting.unit else ""
        text = fill(meaning + unit, _WIDTH, initial_indent=" " * 8, subsequent_indent=" " * 8)
        return f"    {self.name} : {self.kind}, {default}\n{text}\n"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of an operation: a base class.

    Raises
    ------
    ParameterError
        For a wrong value.
    """

    def __post_init__(self) -> None:
        for name, declared in settings_of(type(self)).items():
            if declared.type is Duration and isinstance(value := getattr(self, name), str):
                object.__setattr__(self, name, _seconds(name, value))
        changed = self.changed
        for name, declared in settings_of(type(self)).items():
            declared.check(getattr(self, name))
            needed = declared.setting.goes_with
            if needed and name in changed and needed not in changed:
                raise ParameterError(name, f"requires {parameter(needed)}, which is not given")
            excluded = declared.setting.excludes
            if excluded and name in changed and excluded in changed:
                raise both_given(name, excluded)

    @classmethod
    def of(cls, settings: "Settings | None", keywords: Mapping[str, Any]) -> Self:
        """Return settings given as one object, by keywords, or both: keywords take precedence.

        Raises
        ------
        ParameterError
            For an unknown name or a wrong value.
        """
        known = settings_of(cls)
        if "seed" not in known:
            check_no_seed(keywords)
        for name in keywords:
            if name not in known:
                raise ParameterError(f"unknown setting {quoted(name, 40)}; {among(name, known)}")
        if settings is None:
            return cls(**keywords)
        if not isinstance(settings, cls):
            raise ParameterError(f"settings is {quoted(settings)}; give a {cls.__qualname__}")
        return replace(settings, **keywords) if keywords else settings

    def into(self, cls: type[Others], **others: Any) -> Others:
        """Return the settings of another operation, with the values of the common ones."""
        ours, its = settings_of(type(self)), settings_of(cls)
        return cls(**({name: getattr(self, name) for name in its if name in ours} | others))

    @property
    def changed(self) -> dict[str, Any]:
        """Settings that differ from their defaults, by name."""
        return {
            name: value
            for name, declared in settings_of(type(self)).items()
            if declared.differs(value := getattr(self, name))
        }

    @property
    def recorded(self) -> dict[str, Any]:
        """Settings that results and headers record, by name."""
        changed = self.changed
        return {
            name: getattr(self, name)
            for name, declared in settings_of(type(self)).items()
            if declared.setting.recorded == "always"
            or (declared.setting.recorded == "changed" and name in changed)
        }


def _seconds(name: str, text: str) -> float:
    with suppress(ValueError):
        return read_duration(text)
    raise ParameterError(name, f"is {quoted(text)}; write 90 or 90s, 20min, 1.5h, 2d or 1w")


def both_given(name: str, excluded: str) -> ParameterError:
    """Return the error of two settings that exclude each other."""
    return ParameterError(name, f"and {parameter(excluded)} are both given; give one")


def settings_of(cls: type[Settings]) -> dict[str, Declared]:
    """Return the settings of an operation, in their order."""
    known: dict[str, Declared] = _settings_of(cls)  # type: ignore[arg-type]  # a class is hashable
    return known


@cache
def _settings_of(cls: Any) -> dict[str, Declared]:
    hints = get_type_hints(cls, include_extras=True)
    found = {}
    for field in fields(cls):
        kind, *marks, setting = get_args(hints[field.name])  # of an Annotated
        optional = type(None) in get_args(kind)
        if optional:
            kind = next(part for part in get_args(kind) if part is not type(None))
        if "duration" in marks:
            kind = Duration
        found[field.name] = Declared(field.name, kind, optional, field.default, setting)
    return found


def explains(cls: type[Settings]) -> Callable[[Explained], Explained]:
    """Replace the line `PLACE` of a docstring by the settings."""

    def explained(thing: Explained) -> Explained:
        text = "".join(declared.reference for declared in settings_of(cls).values())
        thing.__doc__ = (thing.__doc__ or "").replace(PLACE, text)
        return thing

    return explained


def takes(cls: type[Settings]) -> Callable[[Function], Function]:
    """Add settings to the docstring of a function, which takes them as keywords.

    It takes them as one object named `settings`, too; see `Settings.of`. Its signature, as `help`
    and completion show it, has the names and defaults of all.
    """

    def taking(function: Function) -> Function:
        own = signature(function)
        short = [each.replace(annotation=Parameter.empty) for each in own.parameters.values()]
        settings = [
            Parameter(name, Parameter.KEYWORD_ONLY, default=declared.default)
            for name, declared in settings_of(cls).items()
        ]
        shown: Any = function
        returned = getattr(own.return_annotation, "__name__", own.return_annotation)
        shown.__signature__ = own.replace(
            parameters=sorted([*short, *settings], key=lambda each: each.kind),
            return_annotation=returned,
        )
        return explains(cls)(function)

    return taking
