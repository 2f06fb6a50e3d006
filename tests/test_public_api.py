"""Public names are listed, do not change within a minor version, are typed and have examples."""

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest
from numba.core import config

import workloadkit
from tests.public_api import Name, breaks, current, listed, minor, things
from workloadkit.deprecation import deprecated

ROOT = Path(__file__).parents[1]
FUNCTIONS = {full: thing for full, thing in things() if inspect.isfunction(thing)}

#: What a compiled policy asks of its machine: kernels alone call these, and need a whole State.
#: docs/howto/write-a-scheduler.md simulates with them.
_ASKED = ("changes_ahead", "fits", "is_full", "may_pass", "passes", "release_all", "reserve")
OF_KERNELS = {f"wk.bases.{name}" for name in _ASKED}

#: Types without their arguments.
BARE = re.compile(
    r"\b(NDArray|ndarray|list|dict|tuple|set|Callable|Iterator|Iterable|Mapping)\b(?![\[(])"
)


def test_the_list_is_that_of_the_code():
    version, names = listed()
    now = current()
    assert version == minor(workloadkit.__version__), "python -m tests.public_api"
    assert not breaks(names, now)
    assert names == now, "python -m tests.public_api adds new names"


@pytest.mark.parametrize(
    ("after", "is_break"),
    [
        (Name(("a", "b=", "*c="), ("x",)), False),
        (Name(("a", "b=", "d=", "*c=", "*e="), ("x", "y")), False),
        (Name(("a=", "b=", "*c="), ("x",)), False),
        (Name(("b=", "a", "*c="), ("x",)), True),
        (Name(("a", "b", "*c="), ("x",)), True),
        (Name(("a", "b=", "*c"), ("x",)), True),
        (Name(("a", "b=", "*c=", "*d"), ("x",)), True),
        (Name(("a", "b="), ("x",)), True),
        (Name(("a", "b=", "*c="), ()), True),
        (None, True),
    ],
)
def test_what_is_a_break(after, is_break):
    before = {"f": Name(("a", "b=", "*c="), ("x",))}
    assert bool(breaks(before, {} if after is None else {"f": after})) == is_break


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="without the compiler, kernels are functions")
def test_every_public_function_has_an_example():
    without = [full for full, f in FUNCTIONS.items() if ">>>" not in (f.__doc__ or "")]
    assert {*without} == OF_KERNELS


def test_signatures_are_typed_in_full():
    for full, function in FUNCTIONS.items():
        if not full.startswith("wk.bases."):  # numba infers the types of kernels
            found = inspect.getsource(inspect.unwrap(function))
            head = found[: found.index('"""')]
            assert "->" in head, full
            assert not BARE.search(re.sub(r"^.*?def \w+", "", head, flags=re.S)), full


@pytest.mark.slow
def test_mypy_in_its_strict_mode_finds_nothing_in_public_signatures(tmp_path):
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    errors = re.findall(r"^(\S+?):(\d+): error: (.*)$", done.stdout, re.M)
    at = {((ROOT / path).resolve(), int(line)): text for path, line, text in errors}
    assert at, done.stderr  # in the rest, strictness is not asked for
    wrong = []
    for full, function in public_functions():
        lines, first = inspect.getsourcelines(function)
        path = Path(inspect.getsourcefile(function)).resolve()
        head = next(i for i, line in enumerate(lines) if re.search(r":\s*(#.*)?$", line))
        wrong += [(full, at[path, n]) for n in range(first, first + head + 1) if (path, n) in at]
    assert not wrong


def public_functions():
    """Yield public functions, and the public methods of public classes, that stand in a file."""
    for full, thing in things():
        found = {full: thing}
        if inspect.isclass(thing):
            found = {f"{full}.{name}": m for name, m in vars(thing).items() if name[0] != "_"}
        for name, each in found.items():
            function = getattr(each, "fget", None) or getattr(each, "__func__", each)
            if inspect.isfunction(function) and function.__code__.co_filename[0] != "<":
                yield name, inspect.unwrap(function)


def test_what_is_deprecated_warns_and_goes_after_two_minor_versions():
    @deprecated("0.2", "use `other`")
    def old(a: int, *, b: int = 1) -> int:
        """Add.

        Parameters
        ----------
        a, b : int
        """
        return a + b

    with pytest.warns(DeprecationWarning, match=r"old is deprecated since 0\.2.*in 0\.4: use") as w:
        assert old(2) == 3
    assert w[0].filename == __file__
    assert old.__deprecated__ == "0.4"
    assert "Add.\n\n.. deprecated:: 0.2\n   old is" in old.__doc__
    assert "Parameters\n----------" in old.__doc__


def test_a_deprecated_parameter_warns_where_it_is_given():
    @deprecated("0.9", "leave it out", parameter="b")
    def old(a: int, b: int = 1) -> int:
        return a + b

    assert old(2) == 3
    for call in (lambda: old(2, 5), lambda: old(2, b=5)):
        with pytest.warns(DeprecationWarning, match=r"old: b is deprecated since 0\.9.*in 0\.11"):
            assert call() == 7


def test_nothing_deprecated_is_kept_longer():
    now = [int(part) for part in workloadkit.__version__.split(".")[:2]]
    removed = {full: getattr(thing, "__deprecated__", None) for full, thing in things()}
    late = {full for full, at in removed.items() if at and [*map(int, at.split("."))] <= now}
    assert not late
