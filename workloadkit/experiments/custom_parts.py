"""Custom schedulers, users and metrics that a word names: ``module:Class``, ``module:function``.

A class may be followed by its parameters.

The module is an installed one, or lies in the working directory. There only source is read: no
compiled file, which might not be that of the source.
"""

import re
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from importlib.machinery import FileFinder, ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from workloadkit.errors import ParameterError, WorkloadError, among, quoted
from workloadkit.parameters import read_choice

_FORM = re.compile(r"([A-Za-z_]\w*(?:\.\w+)*):([A-Za-z_]\w*)(?::(.*))?", re.ASCII)

_trusts: ContextVar[bool] = ContextVar("trusts", default=True)

#: The modules that were imported, which workers need as well.
IMPORTED: list[str] = []


def scheduler_named(text: str) -> Any:
    """Return the custom scheduler that a word names, or the word for a built-in scheduler.

    Raises
    ------
    ParameterError
        For an unknown name or a wrong parameter.
    WorkloadError
        If the module cannot be imported.
    """
    from workloadkit.simulation import schedulers

    found = _named("scheduler", text, schedulers.known())
    if isinstance(found, str):
        schedulers.parse(found)
    return found


def users_named(text: str) -> Any:
    """Return the custom users that a word names, or the word for built-in users.

    Raises
    ------
    ParameterError
        For an unknown name or a wrong parameter.
    WorkloadError
        If the module cannot be imported.
    """
    from workloadkit.simulation import users

    found = _named("users", text, users.known())
    if isinstance(found, str):
        users.parse(found)
    is_batch_user = isinstance(found, type) and issubclass(found, users.BatchUser)
    return users.CustomUsers(found) if is_batch_user else found


def meta_scheduler_named(text: str) -> Any:
    """Return the custom meta-scheduler that a word names, or the word for a built-in one.

    Raises
    ------
    ParameterError
        For an unknown name or a wrong parameter.
    WorkloadError
        If the module cannot be imported.
    """
    from workloadkit.metasystem import policies

    found = _named("meta-scheduler", text, policies.known())
    if isinstance(found, str):
        policies.parse(found)
    return found


def metrics_named(words: Iterable[str]) -> dict[str, Any]:
    """Return metrics by name; the name of a custom one, ``module:function``, is the function's.

    Raises
    ------
    ParameterError
        For an unknown name, or two metrics of the same name.
    WorkloadError
        If the module cannot be imported.
    """
    from workloadkit.experiments.measuring import KNOWN

    found: dict[str, Any] = {}
    for word in dict.fromkeys(words):
        metric = metric_named(word)
        name = word if metric == word else word.rpartition(":")[2]
        if name in found or (name != word and name in KNOWN):
            raise ParameterError(f"metric {word}: another metric has the name {name}")
        found[name] = metric
    return found


def metric_named(word: str) -> Any:
    """Return the custom metric that a word names, or the word for a built-in one.

    Raises
    ------
    ParameterError
        For an unknown name.
    WorkloadError
        If the module cannot be imported.
    """
    from workloadkit.experiments.measuring import KNOWN

    return _named("metric", word, KNOWN)


@contextmanager
def built_in_alone(*, trust: bool) -> Iterator[None]:
    """Refuse the modules that words name, unless `trust`: those of a file may be another user's."""
    before = _trusts.set(trust)
    try:
        yield
    finally:
        _trusts.reset(before)


def import_modules(names: Iterable[str]) -> None:
    """Import custom modules, also from the working directory."""
    with _working_directory():
        for name in names:
            import_module(name)


def _named(kind: str, text: str, known: Collection[str]) -> Any:
    match = _FORM.fullmatch(text)
    if match is None or match[1] in known:
        return text
    module, name, settings = match.groups()
    if not _trusts.get():
        raise ParameterError(f"{kind} {quoted(text)}: a module is imported with --trust only")
    try:
        import_modules([module])
    except Exception as error:  # whatever the module raises
        missing = isinstance(error, ModuleNotFoundError) and error.name
        if missing and f"{module}.".startswith(f"{missing}."):
            raise ParameterError(
                f"unknown {kind} {quoted(module, 40)}, and no module of this name; "
                f"{among(module, known)}"
            ) from None
        why = f"{type(error).__name__}: {error}"
        raise WorkloadError(f"{kind} {text}: {module} cannot be imported: {why}") from None
    if module not in IMPORTED:
        IMPORTED.append(module)
    there = vars(sys.modules[module])
    if name not in there:
        what = FunctionType if kind == "metric" else type
        parts = [each for each in there if isinstance(there[each], what)]
        raise ParameterError(
            f"{kind} {text}: module {module} has no {quoted(name)}; {among(name, parts)}"
        )
    return _made(kind, text, there[name], settings)


def _made(kind: str, text: str, thing: Any, settings: str | None) -> Any:
    """Make an object of a class; of users of a log, who are made one by one, return the class."""
    from workloadkit.simulation.users import BatchUser

    if not isinstance(thing, type) or issubclass(thing, BatchUser):
        if settings:
            raise ParameterError(f"{kind} {text}: it takes no parameters")
        return thing
    name = thing.__name__
    make, values = read_choice(kind, {name: thing}, f"{name}:{settings or ''}")
    try:
        return make(**values)
    except WorkloadError:
        raise
    except Exception as error:  # whatever the class raises
        why = f"{type(error).__name__}: {error}"
        raise ParameterError(f"{kind} {text}: {name} cannot be made: {why}") from None


class _SourceOnly(SourceFileLoader):
    """Loads a module from its source; compiled files are neither read nor written."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        code: CodeType = self.source_to_code(self.get_data(path), path)
        return code


class _Finder:
    """Finds modules in a folder, unless they are installed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: object = None
    ) -> ModuleSpec | None:
        """Return how a module is loaded; None if it is not here."""
        parent = sys.modules.get(name.rpartition(".")[0])
        if path is None:
            installed = PathFinder.find_spec(name)
            if installed is not None and not self._is_here(installed.origin):
                return None
            places = [str(self.folder)]
        elif isinstance(getattr(parent, "__loader__", None), _SourceOnly):
            places = list(path)
        else:
            return None
        for place in places:
            spec = FileFinder(place, (_SourceOnly, [".py"])).find_spec(name)
            if spec is not None and spec.loader is not None:
                return spec
        return None

    def _is_here(self, origin: str | None) -> bool:
        file = Path(origin or "")
        return self.folder in (file.parent, file.parent.parent)


@contextmanager
def _working_directory() -> Iterator[None]:
    """Let modules in the working directory be imported."""
    finder: Any = _Finder(Path.cwd())
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
