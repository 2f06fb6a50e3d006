"""Read and write specifications ``name:param=value,...``.

Schedulers, users, populations and models are chosen by such a specification. Each is a frozen
dataclass, with its fields as parameters, or a function, with its keyword-only arguments as
parameters.
"""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from inspect import Parameter, isclass, signature
from math import inf, isnan
from numbers import Integral, Real
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, get_args, get_origin

from workloadkit.errors import ParameterError, among, quoted

Made = TypeVar("Made")

#: Longest accepted specification or expression. [characters]
MAX_LENGTH = 20_000


class _Kind(NamedTuple):
    """How values of one type are read from a specification and recognized."""

    read: Callable[[str], Any]
    type: type
    words: str


def _yes_or_no(text: str) -> bool:
    answer = {"yes": True, "true": True, "no": False, "false": False}.get(text.lower())
    if answer is None:
        raise ValueError(text)
    return answer


_DURATION = re.compile(r"((?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)\s*([a-z]*)", re.ASCII | re.IGNORECASE)
_SIZE = re.compile(r"(\d+(?:\.\d+)?)([KMGT]?)(?:i?B)?", re.ASCII | re.IGNORECASE)
_POWERS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}
_UNITS = {"": 1, "s": 1, "min": 60, "h": 3600, "d": 86400, "w": 604800}

#: A time in seconds; in a word as `read_duration` reads it.
Duration = Annotated[float, "duration"]


def read_duration(text: str) -> float:
    """Seconds of a duration such as 90, 90s, 20min, 1.5h, 2d, 1w or inf.

    Examples
    --------
    >>> read_duration("90"), read_duration("20min"), read_duration("1.5h"), read_duration("1e6")
    (90.0, 1200.0, 5400.0, 1000000.0)
    """
    text = text.strip().lower()
    match = _DURATION.fullmatch(text)
    if match is None or match[2] not in _UNITS:
        if text == "inf":
            return inf
        raise ValueError(text)
    return float(match[1]) * _UNITS[match[2]]


def read_size(text: str) -> int:
    """Bytes of a size such as 512M or 4G.

    Examples
    --------
    >>> read_size("4G"), read_size("0.5 kB")
    (4294967296, 512)
    """
    match = _SIZE.fullmatch(text.replace(" ", ""))
    if match is None or (size := float(match[1]) * (1 << _POWERS[match[2].upper()])) == inf:
        raise ValueError(text)
    return int(size)


def read_float(text: str | Real) -> float:
    """Return a number as people write it: `float` also reads ``1_000`` and the digits of others.

    Examples
    --------
    >>> read_float("1e3")
    1000.0
    """
    if isinstance(text, str) and ("_" in text or not text.isascii()):
        raise ValueError(text)
    return float(text)


def read_number(text: str) -> float:
    """Return a number that is not NaN."""
    value = read_float(text)
    if isnan(value):
        raise ValueError(text)
    return value


def read_whole(text: str) -> int:
    """Return a whole number of at most 64 bits."""
    if not _WHOLE.fullmatch(text.strip()) or not -(2**63) <= (value := int(text)) < 2**63:
        raise ValueError(text)
    return value


_WHOLE = re.compile(r"[-+]?0*[0-9]{1,19}", re.ASCII)

_KINDS: dict[Any, _Kind] = {
    int: _Kind(read_whole, Integral, "a whole number"),
    float: _Kind(read_number, Real, "a number"),
    Duration: _Kind(read_duration, Real, "a time, such as 90, 20min, 1.5h or 2d"),
    str: _Kind(str, str, "a word"),
    bool: _Kind(_yes_or_no, bool, "yes or no"),
    int | None: _Kind(read_whole, Integral, "a number"),
    float | None: _Kind(read_number, Real, "a number"),
    Duration | None: _Kind(read_duration, Real, "a time, such as 90, 20min, 1.5h or 2d"),
}


def read_choice(
    kind: str,
    known: Mapping[str, Callable[..., Made]],
    text: str,
    *,
    besides: Collection[str] = (),
    unnamed: bool = True,
) -> tuple[Callable[..., Made], dict[str, Any]]:
    """Find one of several things by its name, and the parameters to call it with.

    A value that has a colon of its own takes in what follows, up to the next ``param=``.

    Parameters
    ----------
    kind : str
        What they are, for messages.
    known : mapping of str to callable
        Dataclasses, or functions. What cannot be written in a word is for Python.
    text : str
        ``name`` or ``name:param=value,...``
    besides : collection of str
        Parameters that are not given so.
    unnamed : bool
        Whether one value without ``param=`` is the first parameter.

    Returns
    -------
    make : callable
    values : dict

    Raises
    ------
    ParameterError
        For an unknown name, parameter or value; it names the known ones. For a text of more than
        `MAX_LENGTH` characters.

    Examples
    --------
    >>> def constant(*, rate: float = 1.0, curve: str = "flat"): ...
    >>> read_choice("law", {"constant": constant}, "constant:2,curve=steps:1,2")[1]
    {'rate': 2.0, 'curve': 'steps:1,2'}
    """
    if len(text) > MAX_LENGTH:
        raise ParameterError(f"{kind} has {len(text):,} characters; the maximum is {MAX_LENGTH:,}")
    name, _, settings = text.partition(":")
    if name not in known:
        raise ParameterError(f"unknown {kind} {quoted(name, 40)}; {among(name, known)}")
    make = known[name]
    kinds = {p: k for p, k in written(make).items() if p not in besides}
    values: dict[str, Any] = {}
    for setting in _settings(settings):
        parameter, equals, value = _halves(setting)
        if unnamed and not equals and kinds:
            if values:
                raise ParameterError(
                    f"{kind} {name}: {quoted(setting)} names no parameter; only the first value "
                    "may omit the name"
                )
            parameter, value = next(iter(kinds)), setting
        if parameter in values:
            raise ParameterError(f"{kind} {name}: {parameter} is given twice")
        if parameter not in kinds:
            raise ParameterError(
                f"{kind} {name} has no parameter {quoted(parameter)}; {among(parameter, kinds)}"
            )
        try:
            values[parameter] = kinds[parameter].read(value)
        except ValueError:
            raise ParameterError(
                f"{kind} {name}: {parameter} is {quoted(value)}; it is {kinds[parameter].words}"
            ) from None
    for parameter in _needed(make):
        if parameter not in values:
            raise ParameterError(f"{kind} {name} needs {parameter}: {name}:{parameter}=...")
    return make, values


def describe(thing: Any) -> str:
    """Name a thing and those of its parameters that differ from the defaults.

    Parameters
    ----------
    thing : object
        With an attribute `name`; its parameters are the fields of a dataclass.
    """
    parameters: tuple[Field, ...] = fields(thing) if is_dataclass(thing) else ()
    settings = [
        f"{parameter.name}={_word(value)}"
        for parameter in parameters
        if (value := getattr(thing, parameter.name)) != parameter.default
    ]
    return f"{thing.name}:{','.join(settings)}" if settings else thing.name


def _word(value: Any) -> Any:
    """Write the value of a parameter as `read_choice` reads it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return getattr(value, "__name__", value)


def check_types(kind: str, thing: Any) -> None:
    """Refuse parameters that are of another type than the dataclass declares.

    Parameters
    ----------
    kind : str
        What it is, for messages.
    thing : dataclass instance
        With an attribute `name`.
    """
    for parameter, declared in written(type(thing)).items():
        value = getattr(thing, parameter)
        number = declared.type in (Integral, Real)
        fits = isinstance(value, declared.type) and not (number and isinstance(value, bool))
        if not fits and not _something_else(type(thing), parameter, value):
            raise ParameterError(
                f"{kind} {thing.name}: {parameter} is {quoted(value)}; it is {declared.words}"
            )


def _settings(text: str) -> list[str]:
    """Split at the commas that no value has to itself; those in parentheses belong to it."""
    settings: list[str] = []
    for piece in filter(None, split_outside(text, ",")):
        if settings and "=" not in piece and ":" in settings[-1]:
            settings[-1] += f",{piece}"
        else:
            settings.append(piece)
    return settings


def split_outside(text: str, mark: str) -> list[str]:
    """Split a text at a character outside of parentheses.

    Examples
    --------
    >>> split_outside("score=max(procs,2),backfill=sjf", ",")
    ['score=max(procs,2)', 'backfill=sjf']
    """
    pieces, depth, begin = [], 0, 0
    for at, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == mark and depth <= 0:
            pieces.append(text[begin:at])
            begin = at + 1
    return [*pieces, text[begin:]]


_NAMED = re.compile(r"([A-Za-z_]\w*)(=)(?!=)(.*)", re.ASCII | re.DOTALL)


def _halves(setting: str) -> tuple[str, str, str]:
    """Return the name of a parameter, the sign and its value; without a name the whole is first."""
    found = _NAMED.fullmatch(setting)
    return (found[1], "=", found[3]) if found else (setting, "", "")


def written(make: Callable[..., Any]) -> dict[str, _Kind]:
    """Find the parameters that can be written in a word, in their order."""
    kinds = {}
    for name, parameter in signature(make).parameters.items():
        annotation = _bare(parameter.annotation)
        if annotation is Parameter.empty and parameter.default is not Parameter.empty:
            annotation = type(parameter.default)  # custom classes need not declare types
        declared = str if _is_word(annotation) else annotation
        if (isclass(make) or parameter.kind is Parameter.KEYWORD_ONLY) and declared in _KINDS:
            kinds[name] = _KINDS[declared]
    return kinds


def _bare(annotation: Any) -> Any:
    """Return the declared type, without the metadata of its annotation."""
    if get_origin(annotation) is not Annotated:
        return annotation
    return Duration if "duration" in annotation.__metadata__ else annotation.__origin__


def _is_word(declared: Any) -> bool:
    """Whether a parameter may be a string, or one of several strings."""
    return any(x is str or get_origin(x) is Literal for x in (declared, *get_args(declared)))


def _needed(make: Callable[..., Any]) -> list[str]:
    """Find the parameters of a dataclass that have no default."""
    if not is_dataclass(make):
        return []
    return [f.name for f in fields(make) if f.default is MISSING and f.default_factory is MISSING]


def _something_else(make: Callable[..., Any], parameter: str, value: object) -> bool:
    """Whether a parameter may be what no word is: None, or what the thing itself looks at."""
    others = get_args(_bare(signature(make).parameters[parameter].annotation))
    return type(None) in others if value is None else str in others
