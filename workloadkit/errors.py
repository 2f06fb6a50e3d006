"""The errors and warnings of the toolkit: one family, so that a caller can catch it."""

import re
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import partial, wraps
from math import inf
from numbers import Real
from typing import Any, TypeVar, cast, get_args

Function = TypeVar("Function", bound=Callable[..., Any])

_LONGEST = 390  # characters of a message, which commands show after "error: "
_END = 120  # of these, characters kept of the end of a longer one
_MOST_QUOTED = 80  # characters of a value
_MOST_KNOWN = 220  # characters of the known words


class WorkloadError(Exception):
    """The input is at fault: a log, a schedule or what they hold.

    The message is one line with the problem, the value and the place. It has the words of Python;
    the command line has those of its options, see `parameter`.
    """

    def __str__(self) -> str:
        """Return the message; names of files and words of logs may hold what no line shows."""
        return self.worded(_in_python)

    def worded(self, write: Callable[[str, str], str]) -> str:
        """Return the message with parameters in the words of an interface.

        Parameters
        ----------
        write : callable
            Returns the words for the name of a parameter and its value, which may be empty.

        Examples
        --------
        >>> error = ParameterError("outages", f"requires {parameter('claim', 'nodes')}")
        >>> print(error)
        outages requires claim='nodes'
        >>> error.worded(lambda name, value: f"--{name} {value}".rstrip())
        '--outages requires --claim nodes'
        """
        return one_line(_MARKED.sub(lambda found: write(found[1], found[2]), self._marked()))

    def _marked(self) -> str:
        """Return the message with marked parameters."""
        return super().__str__()


class FormatError(WorkloadError):
    """A file cannot be read as what it claims to be.

    Parameters
    ----------
    path : str
        The file, or ``-`` for standard input.
    message : str
        What is wrong.
    line : int, optional
        Line of the file, from 1.
    field : str, optional
        The field at fault, as `workloadkit.fields` names it.
    text : str, optional
        What stands there.

    Examples
    --------
    >>> print(FormatError("a.swf", "not a number", line=3, field="run", text="ten"))
    a.swf, line 3, field run: not a number: 'ten'
    """

    def __init__(
        self,
        path: str,
        message: str,
        *,
        line: int | None = None,
        field: str | None = None,
        text: str | None = None,
    ) -> None:
        self.path, self.line, self.field, self.text = path, line, field, text
        self.message = message
        where = path
        if line is not None:
            where += f", line {line}"
        if field is not None:
            cut = field if len(field) <= _MOST_QUOTED else f"{field[: _MOST_QUOTED - 1]}…"
            where += f", field {cut}"
        shown = "" if text is None else f": {quoted(text)}"
        super().__init__(f"{where}: {message}{shown}")

    def __reduce__(self) -> tuple[object, ...]:  # keyword arguments survive pickling
        place: dict[str, Any] = {"line": self.line, "field": self.field, "text": self.text}
        return partial(type(self), self.path, self.message, **place), ()


class ParameterError(WorkloadError):
    """A parameter has a value that cannot be used, or a name is not known.

    Parameters
    ----------
    *message : str
        The name of the parameter, and what is wrong with it; without a name, the whole message.

    Attributes
    ----------
    parameter : str
        The name; empty if there is none.

    Examples
    --------
    >>> print(ParameterError("procs", "is 0; it must be positive"))
    procs is 0; it must be positive
    """

    def __init__(self, *message: str) -> None:
        super().__init__(*message)
        self.parameter = message[0] if len(message) > 1 else ""

    def _marked(self) -> str:
        if not self.parameter:
            return super()._marked()
        text = self.args[1]
        return f"{parameter(self.parameter)}{'' if text.startswith(':') else ' '}{text}"


class WorkloadWarning(UserWarning):
    """Odd, but legal: the result stands, and the user should know."""


def parameter(name: str, value: str = "") -> str:
    """Return a parameter for the message of an error: its name, or with its value.

    Python writes ``procs`` and ``claim='nodes'``, the command line ``--procs`` and ``--claim
    nodes``. The marks are characters that no text contains.
    """
    return f"\ufdd0{name}={value}\ufdd1"


_MARKED = re.compile("\ufdd0([^=\ufdd0\ufdd1]*)=([^\ufdd0\ufdd1]*)\ufdd1")


def _in_python(name: str, value: str) -> str:
    return f"{name}={value!r}" if value else name


class MissingFileError(FormatError, FileNotFoundError):
    """A file does not exist; an `OSError`, too.

    Parameters
    ----------
    path : str

    Examples
    --------
    >>> try:
    ...     raise MissingFileError("a.swf")
    ... except OSError as error:
    ...     print(error)
    a.swf: no such file
    """

    def __init__(self, path: str, message: str = "no such file", **_: Any) -> None:
        super().__init__(path, message)

    def _marked(self) -> str:
        """Return the message; an `OSError` would write its number."""
        return str(self.args[0])

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.path, self.message)


def check_no_seed(keywords: Mapping[str, Any]) -> None:
    """Check that no `seed` is among the keywords of a function that takes `rng`."""
    if "seed" in keywords:
        raise ParameterError("seed", f"is not a parameter; give rng={keywords['seed']!r}")


def takes_rng(function: Function) -> Function:
    """Let a function that draws random numbers answer `seed=` with the name `rng`.

    Examples
    --------
    >>> @takes_rng
    ... def draw(*, rng=None):
    ...     return rng
    >>> draw(seed=3)
    Traceback (most recent call last):
        ...
    workloadkit.errors.ParameterError: seed is not a parameter; give rng=3
    """

    @wraps(function)
    def taking(*given: Any, **keywords: Any) -> Any:
        check_no_seed(keywords)
        return function(*given, **keywords)

    return cast("Function", taking)


def among(word: object, known: Iterable[str]) -> str:
    """Return the known words for an error message, after those that `word` may be meant to be.

    Parameters
    ----------
    word : object
        What was given.
    known : iterable of str

    Examples
    --------
    >>> among("eazy", ["fcfs", "easy"]), among("x", ["fcfs"]), among("x", [])
    ('did you mean easy? known: fcfs, easy', 'known: fcfs', 'known: none')
    """
    words = list(known)
    meant = near(word, words)
    text = ", ".join(words)
    most = _MOST_KNOWN - len(meant)
    if len(text) > most:
        text = f"{text[:most].rpartition(',')[0]}, … ({len(words):,} in all)"
    return f"{meant}{' ' * bool(meant)}known: {text or 'none'}"


def near(word: object, known: Iterable[str]) -> str:
    """Return the known words that `word` may be meant to be, as a question; empty without any.

    Examples
    --------
    >>> near("eazy", ["fcfs", "easy"]), near("x", ["fcfs"])
    ('did you mean easy?', '')
    """
    by_lower = {each.lower(): each for each in known}
    found = [by_lower[each] for each in get_close_matches(str(word).lower(), by_lower)]
    return f"did you mean {' or '.join(found)}?" if found else ""


def plural(number: float, one: str, many: str = "") -> str:
    """Return a number with its noun; numbers below 100 with up to three digits.

    Parameters
    ----------
    number : float
    one : str
        The noun, or several words, in the singular.
    many : str, optional
        The same in the plural; by default with an "s".

    Examples
    --------
    >>> plural(1, "job"), plural(1200, "job"), plural(1.5, "batch", "batches")
    ('1 job', '1,200 jobs', '1.5 batches')
    """
    whole = abs(number) >= 100 or number % 1 == 0
    shown = f"{number:,.0f}" if whole else f"{number:.3g}"
    return f"{shown} {one if number == 1 else many or one + 's'}"


def check_choice(name: str, value: object, choices: object) -> None:
    """Refuse a parameter's value that is not one of several words.

    Parameters
    ----------
    name : str
        Of the parameter.
    value : object
    choices : Literal or iterable of str

    Examples
    --------
    >>> check_choice("backfill", "sfj", ["arrival", "sjf"])
    Traceback (most recent call last):
        ...
    workloadkit.errors.ParameterError: backfill is 'sfj'; did you mean sjf? known: arrival, sjf
    """
    known = get_args(choices) or tuple(cast("Iterable[str]", choices))
    if value not in known:
        raise ParameterError(name, f"is {quoted(value)}; {among(value, known)}")


def check_number(name: str, value: object) -> None:
    """Refuse a parameter's value that is no number.

    Examples
    --------
    >>> check_number("warmup", "1w")
    Traceback (most recent call last):
        ...
    workloadkit.errors.ParameterError: warmup is '1w'; it is a number
    """
    if not isinstance(value, Real) or isinstance(value, bool):
        raise ParameterError(name, f"is {quoted(value)}; it is a number")
    try:
        float(value)
    except OverflowError:
        raise ParameterError(name, f"is {quoted(value)}; it is too large") from None


def check_positive(**parameters: Any) -> None:
    """Refuse parameters that are not finite numbers above 0.

    Examples
    --------
    >>> check_positive(load=0)
    Traceback (most recent call last):
        ...
    workloadkit.errors.ParameterError: load is 0; it must be positive
    """
    for name, value in parameters.items():
        check_number(name, value)
        if not 0 < value < inf:
            raise ParameterError(name, f"is {value:g}; it must be positive")


#: The largest offered load: a larger number is meant as a percentage.
MOST_LOAD = 3


def check_load(name: str, value: Any) -> None:
    """Refuse a load, as a fraction of the capacity, that is not positive or above 3.

    Examples
    --------
    >>> check_load("load", 90)
    Traceback (most recent call last):
        ...
    workloadkit.errors.ParameterError: load is 90; it is a fraction, at most 3: write 0.9 for 90 %
    """
    check_positive(**{name: value})
    if value > MOST_LOAD:
        raise ParameterError(
            name, f"is {value:g}; it is a fraction, at most {MOST_LOAD}: write 0.9 for 90 %"
        )


def check_not_negative(**parameters: Any) -> None:
    """Refuse parameters that are not finite numbers of 0 or more."""
    for name, value in parameters.items():
        check_number(name, value)
        if not 0 <= value < inf:
            raise ParameterError(name, f"is {value:g}; it must be 0 or more, and finite")


def check_count(name: str, value: Any, *, least: int = 0, most: int | None = None) -> int:
    """Return a parameter that is a number of things, whole and within its bounds.

    Examples
    --------
    >>> check_count("count", 3.0, least=1)
    3
    """
    check_number(name, value)
    if not (least <= value < inf and value == int(value)) or (most is not None and value > most):
        bounds = f", {least:,} or more" if most is None else f" from {least:,} to {most:,}"
        raise ParameterError(name, f"is {value:.15g}; it is a whole number{bounds}")
    return int(value)


def quoted(value: object, most: int = 60) -> str:
    """Return a value as Python writes it, cut to `most` characters, for an error message.

    Of a text, `most` characters of its own are shown, between quotes.

    Examples
    --------
    >>> quoted(3), quoted("easy"), quoted("x" * 99, 10)
    ('3', "'easy'", "'xxxxxxxxx…'")
    """
    if isinstance(value, str):
        shown = repr(value if len(value) <= most else value[: most - 1] + "…")
        return shown if len(shown) <= _MOST_QUOTED else f"{shown[: _MOST_QUOTED - 2]}…{shown[-1]}"
    try:
        text = repr(value)
    except ValueError:  # Python writes no integers of more than 4,300 digits
        return "a number of thousands of digits"
    except RecursionError:
        return "a deeply nested value"
    return text if len(text) <= most else text[: most - 1] + "…"


def one_line(text: str, most: int = _LONGEST) -> str:
    """Escape what is no printable character, and leave out the middle of a very long text."""
    text = printable(text)
    return text if len(text) <= most else f"{text[: most - _END - 1]}…{text[-_END:]}"


def printable(text: str) -> str:
    r"""Escape what is no printable character, so that a text is one line and moves no cursor.

    Examples
    --------
    >>> print(printable("a\nb\x1b[31m"))
    a\nb\x1b[31m
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
