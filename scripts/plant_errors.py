"""Plant errors of 1 % in the exact formulas of `queueing`, and report what finds each.

python scripts/plant_errors.py multiplies a returned value or a term by 1.01, in one function after
the other, and runs the daily tests of `queueing` that call the function, the shortest first, until
one fails. Before, all tests run once, to see what each calls; --calls FILE keeps this. Each error
is planted in a process that is forked after all tests are imported, so that most errors take a
second. With --kernels, the functions are the compiled ones, and nothing is compiled. With
--crosscheck FILE, what `workloadkit crosscheck all --json FILE` simulated judges the errors that
the tests miss. The exit code is 1 if fewer than 95 % are found.

Not every product is a formula: steps of a search, tolerances, truncation bounds and factors that
cancel may change without changing a result. Measurement decides, not a list of names. The tests
that evaluated an expression whose error they missed run twice more, with and without the error,
and all that `queueing` returns or raises to the tests is compared: each number of each result, and
the text of each error. If no number differs by more than a thousandth of the planted error, 1e-5 of
itself, and no text differs, the error is without effect. It is listed, not counted, and another
error is planted instead. An expression that no test evaluates counts as not found. An error that
only fails by a TypeError, such as 1.01 times the length of an array, is no error of a formula
either, and is also replaced.
"""

import argparse
import ast
import functools
import importlib
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any, NamedTuple

import numpy as np
import pytest
from plant_faults import ROOT

INSIDE = str(ROOT / "workloadkit" / "queueing")
ERROR = 1.01
ENOUGH = 0.95
#: CPU time of the tests of one error, and of those whose results are compared. [s]
PATIENCE, COMPARING = 15.0, 8.0
#: Relative difference of results that counts as none: a thousandth of the error.
UNSEEN = 1e-5
WITHOUT_EFFECT, NO_NUMBER = "without effect", "no number"

#: Approximations, estimation from data, and what has no formula.
LEFT_OUT = ("approximate", "measured", "total_rate", "levels", "think_times", "checking", "errors")
LEFT_OUT += ("display", "arguments", "response_function", "expressions", "model", "__init__")
#: Their numbers are places, sizes and steps of a search, or only shown.
NO_FORMULA = {
    "range",
    "arange",
    "zeros",
    "ones",
    "empty",
    "full",
    "geomspace",
    "linspace",
    "brentq",
}
NO_FORMULAS = ("plot", "to_frame", "draw", "check", "warn", "bracket", "read", "vector", "others")


class Site(NamedTuple):
    """An expression of a function: module, name of the function, and number of the expression."""

    module: str
    function: str
    number: int
    text: str


def formulas(function: ast.AST) -> list[ast.expr]:
    """Return the arithmetic of a function: returned numbers, products and quotients."""
    found: list[ast.expr] = []

    def visit(node: ast.AST) -> None:
        if isinstance(node, ast.FunctionDef | ast.Lambda) and node is not function:
            return
        if isinstance(node, ast.Raise | ast.JoinedStr | ast.Compare | ast.Assert | ast.arguments):
            return
        if isinstance(node, ast.Call) and _name(node.func) in NO_FORMULA:
            return
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
            found.append(node)
        for name, child in ast.iter_fields(node):
            if name in ("slice", "decorator_list", "returns", "annotation", "test"):
                continue
            for each in child if isinstance(child, list) else [child]:
                if isinstance(each, ast.AST):
                    visit(each)

    visit(function)
    returns = getattr(function, "returns", None)
    if returns is not None and ast.unparse(returns) in ("Floats", "float", "Value"):
        found += [n.value for n in ast.walk(function) if isinstance(n, ast.Return) and n.value]
    # 0 times a parameter gives a number its shape
    return [n for n in found if not isinstance(n, ast.Constant) and ast.unparse(n)[:3] != "0.0"]


def _name(called: ast.expr) -> str:
    return getattr(called, "attr", getattr(called, "id", ""))


def functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Yield the functions and methods of a module by their qualified names."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            for part in node.body:
                if isinstance(part, ast.FunctionDef):
                    yield f"{node.name}.{part.name}", part


def sites(*, kernels: bool) -> list[list[Site]]:
    """Return the expressions of each function with formulas, compiled or not."""
    found = []
    for path in sorted((ROOT / "queueing").rglob("*.py")):
        if path.stem in LEFT_OUT:
            continue
        parts = path.relative_to(ROOT).with_suffix("").parts
        for name, function in functions(ast.parse(path.read_text())):
            if name.rpartition(".")[2].lstrip("_").startswith(NO_FORMULAS):
                continue
            if kernels == {"kernel", "helper"}.isdisjoint(map(_name, function.decorator_list)):
                continue
            here = [
                Site(".".join(("workloadkit", *parts)), name, number, ast.unparse(node))
                for number, node in enumerate(formulas(function))
            ]
            if here:
                found.append(here)
    return found


def spread(found: list[list[Site]], count: int, seed: int) -> Iterator[Site]:
    """Yield errors: one of each function, of functions at equal distances; then all others."""
    draw = random.Random(seed)
    shuffled = [draw.sample(here, len(here)) for here in found]
    rounds = [[here[k] for here in shuffled if k < len(here)] for k in range(count)]
    chosen: list[Site] = []
    for these in rounds:
        left = min(count - len(chosen), len(these))
        chosen += [these[i * len(these) // left] for i in range(left)]
    draw.shuffle(chosen)
    yield from chosen
    others = [site for here in found for site in here if site not in chosen]
    yield from draw.sample(others, len(others))


class Planted:
    """What takes the place of an expression: its value times a factor, and how often it ran."""

    def __init__(self, factor: float) -> None:
        self.factor, self.ran = factor, 0

    def __call__(self, value: Any) -> Any:
        """Return the value with the error."""
        self.ran += 1
        if self.factor == 1:
            return value
        try:
            return self.factor * value
        except TypeError:  # fractions of sympy
            return value + value / 100


def plant(site: Site, factor: float) -> Planted:
    """Replace the code of the function in this process."""
    module = importlib.import_module(site.module)
    source = Path(str(module.__file__)).read_text()
    tree = ast.parse(source)
    function = dict(functions(tree))[site.function]
    node = formulas(function)[site.number]

    class Planter(ast.NodeTransformer):
        def visit(self, other: ast.AST) -> ast.AST:
            found = super().visit(other)
            return (
                ast.Call(ast.Name("_planted", ast.Load()), [node], []) if other is node else found
            )

    whole = ast.fix_missing_locations(Planter().visit(tree))
    code = compile(whole, str(module.__file__), "exec", dont_inherit=True)
    live = functools.reduce(_part, site.function.split("."), module)
    live.__code__ = _code_of(code, site.function)
    planted = vars(module)["_planted"] = Planted(factor)
    return planted


def _part(owner: Any, name: str) -> Any:
    """Return a part of a module or class without its decorators."""
    found = vars(owner)[name]
    while not isinstance(found, FunctionType | type):
        found = next(
            getattr(found, each)
            for each in ("__func__", "fget", "func", "__wrapped__")
            if getattr(found, each, None) is not None
        )
    while hasattr(found, "__wrapped__"):
        found = found.__wrapped__
    return found


def _code_of(code: CodeType, name: str) -> CodeType:
    for part in name.split("."):
        code = next(c for c in code.co_consts if isinstance(c, CodeType) and c.co_name == part)
    return code


class Runner:
    """A plugin of pytest that plants the errors in place of running its tests once."""

    def __init__(
        self, errors: list[Site], count: int, judged: Path | None, calls: Path | None
    ) -> None:
        self.errors, self.count, self.judged, self.calls = errors, count, judged, calls
        self.found: list[tuple[Site, str]] = []
        self.replaced: list[tuple[Site, str]] = []
        self.failed = ""

    def pytest_configure(self) -> None:
        """Let Hypothesis look for no smaller examples of a failure."""
        from hypothesis import Phase, settings  # rewritten by pytest: not before it runs

        phases = [Phase.explicit, Phase.generate]
        few = {"deadline": None, "derandomize": True, "max_examples": 10}
        settings.register_profile("planting", phases=phases, **few)
        settings.load_profile("planting")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the first failure."""
        if report.failed and not self.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            by_type = getattr(crash, "message", "").startswith("TypeError")
            self.failed = NO_NUMBER if by_type else report.nodeid

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Plant one error after the other, each in a process of its own."""
        if self.calls and self.calls.exists():
            text = self.calls.read_text()
        else:
            text = _in_a_child(lambda: json.dumps(self._measure(session.items)))
            if self.calls:
                self.calls.write_text(text)
        measured = json.loads(text)
        by_name = {item.nodeid: item for item in session.items}
        for site in self.errors:
            if len(self.found) == self.count:
                break
            begun = time.monotonic()
            path = str(importlib.import_module(site.module).__file__).removeprefix(INSIDE)
            here = f"{path}:{site.function}"
            items = [by_name[test] for _, test, called in measured if here in called]
            by, ran = json.loads(_in_a_child(functools.partial(self._judge, site, items)))
            if not by and ran and _without_effect(site, [items[i] for i in ran]):
                by = WITHOUT_EFFECT
            (self.replaced if by in (WITHOUT_EFFECT, NO_NUMBER) else self.found).append((site, by))
            where = f"{site.module.removeprefix('workloadkit.')}.{site.function}"
            words = f"{len(self.found):3} {where}: {' '.join(site.text.split())[:60]}"
            took = f"{time.monotonic() - begun:.0f} s"
            print(f"{words}\n    {by or 'NOT FOUND'} ({took})", file=sys.stderr, flush=True)
        return True

    def _measure(self, items: list[pytest.Item]) -> list[tuple[float, str, list[str]]]:
        """Run all tests; return the time, name, and functions that each calls, shortest first.

        Tests that fail without an error are left out.
        """
        found = []
        called: dict[int, CodeType] = {}

        def note(frame: FrameType, event: str, _: Any) -> None:
            if event == "call":
                called[id(frame.f_code)] = frame.f_code

        stderr = os.dup(2)
        begun = time.process_time()
        sys.setprofile(note)
        for place in _run(items, np.inf):
            sys.setprofile(None)
            took = time.process_time() - begun
            if self.failed:
                os.write(stderr, f"left out, fails without an error: {self.failed}\n".encode())
                self.failed = ""
            else:
                names = sorted(
                    f"{c.co_filename.removeprefix(INSIDE)}:{c.co_qualname}"
                    for c in called.values()
                    if c.co_filename.startswith(INSIDE)
                )
                found.append((took, items[place].nodeid, names))
            called.clear()
            begun = time.process_time()
            sys.setprofile(note)
        sys.setprofile(None)
        return sorted(found)

    def _judge(self, site: Site, items: list[pytest.Item]) -> str:
        """Return what finds the error, and the places of the tests that evaluated it."""
        planted, ran, before = plant(site, ERROR), [], 0
        for place in _run(items):
            if planted.ran > before:
                ran.append(place)
            before = planted.ran
            if self.failed:
                return json.dumps([self.failed.removeprefix("tests/queueing/"), []])
        return json.dumps([_by_simulation(self.judged) if self.judged else "", ran])


def _run(items: list[pytest.Item], patience: float = PATIENCE) -> Iterator[int]:
    """Run tests in silence until the CPU time is over; yield the place of each."""
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    for place, (item, after) in enumerate(zip(items, [*items[1:], None], strict=False)):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
        yield place
        if time.process_time() > patience:
            break


def _in_a_child(answer: Callable[[], str]) -> str:
    """Return an answer that a forked process gives, which leaves no trace in this one."""
    read, write = os.pipe()
    if (child := os.fork()) == 0:
        with os.fdopen(write, "w") as pipe:
            pipe.write(answer())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        found = pipe.read()
    os.waitpid(child, 0)
    return found


def _without_effect(site: Site, items: list[pytest.Item]) -> bool:
    """Whether the tests see the same results of `queueing` with the error as without."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, name) for name in ("right.npy", "wrong.npy")]
        right = _in_a_child(functools.partial(_seen, site, 1.0, items, paths[0], COMPARING))
        items = items[: json.loads(right)[0]]
        if right != _in_a_child(functools.partial(_seen, site, ERROR, items, paths[1], np.inf)):
            return False
        a, b = map(np.load, paths)
    return bool(np.isclose(a, b, rtol=UNSEEN, atol=1e-25, equal_nan=True).all())


def _seen(site: Site, factor: float, items: list[pytest.Item], to: Path, patience: float) -> str:
    """Write the numbers that the tests see to a file; return the texts, and how many numbers."""
    from workloadkit.queueing.errors import QueueingError

    numbers: list[Any] = []
    texts: list[str] = []

    def note(frame: FrameType, event: str, value: Any) -> None:
        if event != "return" or not frame.f_code.co_filename.startswith(INSIDE):
            return
        above = frame.f_back
        while above is not None:
            if above.f_code.co_filename.startswith(INSIDE):
                return
            above = above.f_back
        _note(value, numbers, texts)

    def noted(error: QueueingError, *words: object) -> None:
        texts.append(str(words))

    plant(site, factor)
    QueueingError.__init__ = noted  # type: ignore[assignment, method-assign]
    sys.setprofile(note)
    places = list(_run(items, patience))
    sys.setprofile(None)
    whole = np.concatenate([np.zeros(0), *(np.ravel(n) for n in numbers)])
    np.save(to, whole)
    return json.dumps([len(places), whole.size, texts])


def _note(value: Any, numbers: list[Any], texts: list[str]) -> None:
    """Add the numbers and texts of a result."""
    if isinstance(value, str) or type(value).__module__.startswith("sympy"):
        texts.append(str(value))
    elif isinstance(value, np.ndarray | np.number | float | int):
        array = np.asarray(value)
        if array.dtype.kind in "biuf":
            numbers.append(array.astype(np.float64))
        elif array.dtype.kind == "c":
            numbers.extend((array.real, array.imag))
    elif isinstance(value, Mapping):
        for each in value.values():
            _note(each, numbers, texts)
    elif isinstance(value, list | tuple):
        for each in value:
            _note(each, numbers, texts)
    elif type(value).__module__.startswith("workloadkit.queueing") and hasattr(value, "__dict__"):
        public = {name: each for name, each in vars(value).items() if name[0] != "_"}
        _note(public, numbers, texts)


def _by_simulation(judged: Path) -> str:
    """Return the first measure at which theory and simulation differ, of all models."""
    from workloadkit.analysis.queue_models.cross_check.checking import percentiles
    from workloadkit.analysis.queue_models.cross_check.declared import find_model
    from workloadkit.analysis.queue_models.cross_check.points import _points, _solved

    rows = json.loads(judged.read_text())["table"]
    for name in dict.fromkeys(row["model"] for row in rows):
        model = find_model(name)
        (point,) = _points(model, model.example)
        theory = _solved(model, point)
        values = {m.label: m.of_theory(theory) for m in model.measured(point)}
        for law in model.laws(point):
            shares = (0.5, 0.9, 0.99)
            named = (f"{law.name}_p{100 * share:g}" for share in shares)
            values |= dict(zip(named, percentiles(theory, shares, law.job), strict=True))
        for row in rows:
            if row["model"] != name or row["holds"] is None or row["measure"] not in values:
                continue
            if abs(values[row["measure"]] - row["simulation"]) > row["allowed"]:
                return f"crosscheck {name}: {row['measure']}"
    return ""


def main() -> int:
    """Plant the errors that the command line chooses."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="number of errors, default 100")
    parser.add_argument("--seed", type=int, default=0, help="another choice of expressions")
    parser.add_argument("--kernels", action="store_true", help="errors in compiled functions")
    parser.add_argument("--only", default="", help="only functions whose names contain this")
    parser.add_argument("--crosscheck", type=Path, help="result of `crosscheck all --json`")
    parser.add_argument("--part", default="1/1", help="one of several parts of the errors, as 1/2")
    parser.add_argument("--calls", type=Path, help="what the tests call; made if missing")
    chosen = parser.parse_args()
    if chosen.kernels:
        os.environ["NUMBA_DISABLE_JIT"] = "1"
    os.chdir(ROOT)
    found = sites(kernels=chosen.kernels)
    found = [here for here in found if chosen.only in f"{here[0].module}.{here[0].function}"]
    part, parts = map(int, chosen.part.split("/"))
    errors = list(spread(found, chosen.count, chosen.seed))[part - 1 :: parts]
    count = len(range(part - 1, chosen.count, parts))
    runner = Runner(errors, count, chosen.crosscheck, chosen.calls)
    how = ["-qs", "--tb=no", "-p", "no:cacheprovider"]
    pytest.main([*how, "tests/queueing", "workloadkit/queueing"], plugins=[runner])
    missed = [site for site, by in runner.found if not by]
    by_tests = sum(bool(by) and not by.startswith("crosscheck") for _, by in runner.found)
    by_runs = len(runner.found) - by_tests - len(missed)
    print(f"{len(runner.found)} errors: {by_tests} found by tests, {by_runs} by simulation")
    for site, why in runner.replaced:
        print(f"{why}, replaced: {site.module}.{site.function}: {site.text}")
    for site in missed:
        print(f"not found: {site.module}.{site.function}: {site.text}")
    return int(len(missed) > (1 - ENOUGH) * len(runner.found))


if __name__ == "__main__":
    sys.exit(main())
