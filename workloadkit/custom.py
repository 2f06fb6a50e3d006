"""Identify schedulers, users and functions that are defined outside this package.

A name is not enough: two lambdas have the same, and so do a class and its next version. The digest
therefore covers the source, and all values and functions that it refers to.
"""

import dis
import hashlib
import inspect
import pickle
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from workloadkit.errors import ParameterError, quoted

_OURS = "workloadkit"
_VALUES = (type(None), bool, int, float, complex, str, bytes, np.generic)


def is_custom(thing: Any) -> bool:
    """Whether an object, or one of its parameters, is defined outside this package.

    Examples
    --------
    >>> from workloadkit.simulation.schedulers import Easy, CustomOrder
    >>> is_custom(Easy()), is_custom(CustomOrder(max))
    (False, True)
    """
    if isinstance(thing, (*_VALUES, np.ndarray)):
        return False
    if isinstance(thing, Mapping):
        return any(map(is_custom, thing.values()))
    if isinstance(thing, list | tuple):
        return any(map(is_custom, thing))
    if function_of(thing) is None and not isinstance(thing, type | BuiltinFunctionType):
        parameters = fields(thing) if is_dataclass(thing) else ()
        return is_custom(type(thing)) or any(is_custom(getattr(thing, p.name)) for p in parameters)
    return _package(thing) != _OURS


def source_digest(thing: Any) -> str:
    """Return 16 hexadecimal digits that change with an object's source and parameters.

    The digest includes the values and functions that a function refers to, recursively.

    Examples
    --------
    >>> source_digest(min) == source_digest(max)
    False
    """
    return Source(thing).digest


class Source:
    """The digest of an object and of everything that it refers to.

    Parameters
    ----------
    thing : object

    Attributes
    ----------
    digest : str
        See `source_digest`.
    reached : list
        The functions, classes and objects, each once.
    """

    def __init__(self, thing: Any) -> None:
        self._hash = hashlib.sha256()
        self._places: dict[int, int] = {}
        self.reached: list[Any] = []  # keeps them alive, so that ids stay unique
        self._add(thing)
        self.digest = self._hash.hexdigest()[:16]

    def _text(self, text: str) -> None:
        self._hash.update(text.encode(errors="surrogatepass") + b"\n")

    def _all(self, kind: str, things: Iterable[Any]) -> None:
        self._text(kind)
        for thing in things:
            self._add(thing)
        self._text("end")

    def _add(self, thing: Any) -> None:
        if isinstance(thing, _VALUES):
            self._text(f"{type(thing).__name__} {thing!r}")
        elif id(thing) in self._places:
            self._text(f"again {self._places[id(thing)]}")
        else:
            self._places[id(thing)] = len(self.reached)
            self.reached.append(thing)
            self._add_new(thing)

    def _add_new(self, thing: Any) -> None:
        function = function_of(thing)
        if isinstance(thing, np.ndarray) and thing.dtype != object:
            self._text(f"array {thing.dtype} {thing.shape}")
            self._hash.update(thing.tobytes())
        elif isinstance(thing, Mapping):
            self._all("mapping", (x for item in thing.items() for x in item))
        elif isinstance(thing, list | tuple | np.ndarray):
            self._all(type(thing).__name__, thing)
        elif isinstance(thing, set | frozenset):
            self._all("set", sorted(thing, key=repr))
        elif isinstance(thing, partial):
            self._all("partial", (thing.func, thing.args, thing.keywords))
        elif isinstance(thing, MethodType):
            self._all("method", (thing.__func__, thing.__self__))
        elif isinstance(thing, ModuleType | BuiltinFunctionType):
            self._text(f"{type(thing).__name__} {thing.__name__}")
        elif function is not None:
            self._add_function(function)
        elif isinstance(thing, type):
            self._add_class(thing)
        else:
            self._add_object(thing)

    def _add_function(self, function: FunctionType) -> None:
        self._text(f"function {function.__module__}.{function.__qualname__}")
        if not _is_known_by_name(function):
            self._text(_source(function))
            self._add(_referred(function))
            self._all("defaults", (function.__defaults__, function.__kwdefaults__))

    def _add_class(self, kind: type) -> None:
        for base in kind.__mro__:
            self._text(f"class {base.__module__}.{base.__qualname__}")
            if not _is_known_by_name(base):
                for name, value in sorted(vars(base).items()):
                    if function_of(value) is not None or not name.startswith("__"):
                        self._all(name, [value])

    def _add_object(self, thing: Any) -> None:
        kind = type(thing)
        self._add(kind)
        if _package(kind) == _OURS and hasattr(kind, "identity"):  # a Trace
            self._text(thing.identity)
            return
        if _package(kind) == _OURS or not _is_known_by_name(kind):
            state = thing.__getstate__()  # works for classes with slots, too
            if isinstance(state, Mapping):
                state = {name: x for name, x in state.items() if name != "_simulation"}
            self._add(state)
            return
        try:
            self._hash.update(pickle.dumps(thing))
        except Exception:  # objects may raise anything
            self._text("which cannot be pickled")


def function_of(thing: Any) -> FunctionType | None:
    """Return the Python function of a function (compiled or not), method or property."""
    if isinstance(thing, staticmethod | classmethod):
        thing = thing.__func__
    if isinstance(thing, property):
        thing = thing.fget
    thing = getattr(thing, "py_func", thing)
    return thing if isinstance(thing, FunctionType) else None


def _package(thing: Any) -> str:
    return str(getattr(function_of(thing) or thing, "__module__", "")).partition(".")[0]


def _is_known_by_name(thing: Any) -> bool:
    """Whether the name suffices: objects of this package, of Python or of installed packages."""
    package = _package(thing)
    file = str(getattr(sys.modules.get(package), "__file__", ""))
    standard = package in sys.stdlib_module_names and package != "__main__"
    return package == _OURS or standard or "site-packages" in file


def _source(function: FunctionType) -> str:
    """Return the source text of a function, else its byte code."""
    code = function.__code__
    try:
        text = inspect.getsource(function)
    except (OSError, TypeError):
        return "\n".join(f"{c.co_code!r} {c.co_consts!r} {c.co_names}" for c in _codes(code))
    if function.__name__ == "<lambda>":  # there may be several on a line
        text += str([place[2:] for place in code.co_positions()])
    return text


def _referred(function: FunctionType) -> dict[str, Any]:
    """Return the global and captured values that a function refers to, by name."""
    names = {
        instruction.argval
        for code in _codes(function.__code__)
        for instruction in dis.get_instructions(code)
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME")
    }
    there = function.__globals__
    found = {name: there[name] for name in sorted(names) if name in there}
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return found | {name: _content(cell) for name, cell in cells}


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not yet assigned
        return None


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield the code of a function and of its inner functions."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def check_form(who: str, part: Any, form: str, other: str) -> None:
    """Refuse an inherited form of a part if a subclass overrides the other form only."""
    classes = type(part).__mro__
    newest = {
        name: next((place for place, c in enumerate(classes) if name in vars(c)), len(classes))
        for name in (form, other)
    }
    if newest[other] < newest[form]:
        engine = "python" if other == "plain" else "compiled"
        raise ParameterError(
            f"{who}: {classes[newest[other]].__name__} overrides the {other} form but not the "
            f"{form} one; define both in one class, or take engine={quoted(engine)}"
        )
