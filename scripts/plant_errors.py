"""Plant errors of 1 % in the exact formulas of `queueing`, and report what finds each.

python scripts/plant_errors.py multiplies a returned value or a term by 1.01, in one function after
the other, and runs the daily tests of `queueing`, those near the function first, until one fails.
Each error is planted in a process that is forked after all tests are imported, so that most errors
take a second. With --kernels, the functions are the compiled ones, and nothing is compiled. With
--crosscheck FILE, what `workloadkit crosscheck all --json FILE` simulated judges the errors that
the tests miss. The exit code is 1 if fewer than 95 % are found.
"""

import argparse
import ast
import functools
import importlib
import inspect
import json
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any, NamedTuple

import pytest
from plant_faults import ROOT

ERROR = 1.01
ENOUGH = 0.95
#: CPU time of the tests of one error. [s]
PATIENCE = 15.0

#: Values of chains, for each class of models, in a second.
FIRST = "test_exact_values.py"

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


def spread(found: list[list[Site]], count: int, seed: int) -> list[Site]:
    """Choose errors: one of each function, of functions at equal distances; then second ones."""
    draw = random.Random(seed)
    shuffled = [draw.sample(here, len(here)) for here in found]
    rounds = [[here[k] for here in shuffled if k < len(here)] for k in range(count)]
    chosen: list[Site] = []
    for these in rounds:
        left = min(count - len(chosen), len(these))
        chosen += [these[i * len(these) // left] for i in range(left)]
    draw.shuffle(chosen)
    return chosen


def plant(site: Site) -> None:
    """Replace the code of the function in this process."""
    module = importlib.import_module(site.module)
    source = Path(str(module.__file__)).read_text()
    tree = ast.parse(source)
    function = dict(functions(tree))[site.function]
    node = formulas(function)[site.number]

    class Planter(ast.NodeTransformer):
        def visit(self, other: ast.AST) -> ast.AST:
            found = super().visit(other)
            return ast.BinOp(ast.Constant(ERROR), ast.Mult(), node) if other is node else found

    whole = ast.fix_missing_locations(Planter().visit(tree))
    code = compile(whole, str(module.__file__), "exec", dont_inherit=True)
    live = functools.reduce(_part, site.function.split("."), module)
    live.__code__ = _code_of(code, site.function)


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

    def __init__(self, chosen: list[Site], judged: Path | None) -> None:
        self.chosen, self.judged = chosen, judged
        self.found: list[tuple[Site, str]] = []
        self.failed = ""
        self.reached: dict[str, list[str]] = {}

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
            self.failed = report.nodeid

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Plant one error after the other, each in a process of its own."""
        chains = [item for item in session.items if item.path.name == FIRST]
        self.reached = json.loads(_in_a_child(lambda: json.dumps(_reached(chains))))
        for site in self.chosen:
            begun = time.monotonic()
            by = _in_a_child(functools.partial(self._judge, site, session))
            self.found.append((site, by))
            where = f"{site.module.removeprefix('workloadkit.')}.{site.function}"
            words = f"{len(self.found):3} {where}: {' '.join(site.text.split())[:60]}"
            took = f"{time.monotonic() - begun:.0f} s"
            print(f"{words}\n    {by or 'NOT FOUND'} ({took})", file=sys.stderr, flush=True)
        return True

    def _judge(self, site: Site, session: pytest.Session) -> str:
        with Path(os.devnull).open("w") as nowhere:
            os.dup2(nowhere.fileno(), 1)
            os.dup2(nowhere.fileno(), 2)
        plant(site)
        items = _near(site, session.items, self.reached)
        for item, after in zip(items, [*items[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            if self.failed:
                return self.failed.rpartition("/")[2]
            if time.process_time() > PATIENCE:
                break
        return _by_simulation(self.judged) if self.judged else ""


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


def _reached(chains: list[pytest.Item]) -> dict[str, list[str]]:
    """Return the functions that each class of chains calls, by file and name."""
    found = {}
    for item in chains:
        assert isinstance(item, pytest.Function)
        called = set[str]()

        def note(frame: FrameType, event: str, _: Any, called: set[str] = called) -> None:
            if event == "call":
                code = frame.f_code
                called.add(f"{Path(code.co_filename).name}:{code.co_qualname}")

        values, _ = item.module.CLASSES[item.callspec.params["name"]]
        sys.setprofile(note)
        list(values())
        sys.setprofile(None)
        found[item.nodeid] = sorted(called)
    return found


def _near(site: Site, items: list[pytest.Item], reached: dict[str, list[str]]) -> list[pytest.Item]:
    """Return the tests: chains that call it, then others, those that mention its module first."""
    here = f"{site.module.rpartition('.')[2]}.py:{site.function}"
    items = [item for item in items if here in reached.get(item.nodeid, [here])]
    names = _users_of(site.module)
    cases: Counter[str] = Counter()

    def distance(item: pytest.Item) -> tuple[bool, bool, int, float]:
        name = item.nodeid.partition("[")[0]
        cases[name] += 1
        text = _text(item)
        mentions = sum(text.count(name) for name in names)
        example, dense = isinstance(item, pytest.DoctestItem), mentions / max(len(text), 400)
        return item.path.name != FIRST, example, cases[name], -dense

    return sorted(items, key=distance)


@functools.cache
def _text(item: pytest.Item) -> str:
    return inspect.getsource(item.function) if isinstance(item, pytest.Function) else ""


def _users_of(module: str) -> set[str]:
    """Return the public functions of a module, and of the modules that import from it."""
    found = set()
    for path in (ROOT / "queueing").rglob("*.py"):
        text = path.read_text()
        own = path == Path(str(importlib.import_module(module).__file__)).resolve()
        if own or f"from {module} import" in text:
            found |= {name for name, _ in functions(ast.parse(text))}
    return {name for name in found if "." not in name and name[0] != "_"}


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
    chosen = parser.parse_args()
    if chosen.kernels:
        os.environ["NUMBA_DISABLE_JIT"] = "1"
    os.chdir(ROOT)
    errors = spread(sites(kernels=chosen.kernels), chosen.count, chosen.seed)
    errors = [site for site in errors if chosen.only in f"{site.module}.{site.function}"]
    runner = Runner(errors, chosen.crosscheck)
    how = ["-qs", "--tb=no", "-p", "no:cacheprovider"]
    pytest.main([*how, "tests/queueing", "workloadkit/queueing"], plugins=[runner])
    missed = [site for site, by in runner.found if not by]
    by_tests = sum(bool(by) and not by.startswith("crosscheck") for _, by in runner.found)
    by_runs = len(runner.found) - by_tests - len(missed)
    print(f"{len(runner.found)} errors: {by_tests} found by tests, {by_runs} by simulation")
    for site in missed:
        print(f"not found: {site.module}.{site.function}: {site.text}")
    return int(len(missed) > (1 - ENOUGH) * len(runner.found))


if __name__ == "__main__":
    sys.exit(main())
