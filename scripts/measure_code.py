"""Measure how much of this code a reader must hold in the head.

python scripts/measure_code.py prints one table: files, lines, long modules and functions, circles
of imports, and what a plain simulation loads and runs.
"""

import ast
import io
import os
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

ROOT = Path(__file__).parent.parent
PACKAGES = ("workloadkit", "analysis", "queueing")
LONG_MODULE, LONG_BODY, MANY_PARAMETERS = 400, 60, 8
# Functions with many parameters, and why.
MEANT = {
    f"workloadkit.models.{name}": "the parameters of the published model, each an option"
    for name in ("cirne.cirne", "downey97.downey97", "feitelson96.feitelson96")
}
Function = ast.FunctionDef | ast.AsyncFunctionDef

# Of a plain simulation without the compiler: own modules loaded, own functions called.
SIMULATION = """
import sys
called = set()
def profile(frame, event, argument):
    if event == "call" and str(frame.f_globals.get("__name__")).startswith("workloadkit."):
        called.add((frame.f_code.co_filename, frame.f_code.co_qualname))
import workloadkit as wk
from workloadkit.sample import load_sample
sys.setprofile(profile)
wk.simulate(load_sample(), "easy")
sys.setprofile(None)
print(sum(name.split(".")[0] == "workloadkit" for name in sys.modules))
print(sum("<" not in name.rpartition(".")[2] for _, name in called))
"""


def modules() -> dict[str, Path]:
    """Return the files of the packages by the names of their modules."""
    found = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            if package == "workloadkit" and parts[1] in PACKAGES:  # a link to the top
                continue
            name = ".".join(parts if package == "workloadkit" else ("workloadkit", *parts))
            found[name.removesuffix(".__init__")] = path
    return found


def lines_of_code(text: str) -> int:
    """Count lines without docstrings, comments and blanks."""
    tree, lines = ast.parse(text), set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.ENDMARKER):
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree):
        if (doc := docstring(node)) is not None:
            lines -= set(range(doc.lineno, (doc.end_lineno or 0) + 1))
    return len(lines)


def docstring(node: ast.AST) -> ast.stmt | None:
    """Return the statement that is the docstring of a module, class or function."""
    holds = isinstance(node, ast.Module | ast.ClassDef | Function)
    return node.body[0] if holds and ast.get_docstring(node) is not None else None  # type: ignore[attr-defined]


def functions(tree: ast.Module) -> Iterator[Function]:
    """Return all functions of a module."""
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def body_lines(function: Function) -> int:
    """Count the lines of a function's body without its docstring."""
    first = docstring(function)
    statements = function.body[first is not None :]
    if not statements:
        return 0
    return (statements[-1].end_lineno or 0) - statements[0].lineno + 1


def parameters(function: Function) -> int:
    """Count the parameters of a function, without ``self``."""
    given = function.args
    names = [a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return len([name for name in names if name not in ("self", "cls")])


def imported(tree: ast.Module, known: dict[str, Path]) -> set[str]:
    """Return the own modules that a module imports, also within functions, not only for types."""
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            node.body = []
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            for name in node.names:
                full = f"{node.module}.{name.name}"
                found.add(full if full in known else str(node.module))
        elif isinstance(node, ast.Import):
            found.update(name.name for name in node.names)
    return found & known.keys()


def circles(imports: dict[str, set[str]]) -> list[list[str]]:
    """Return the sets of modules that import each other."""
    names = [*imports]
    rows, columns = zip(
        *((names.index(a), names.index(b)) for a in names for b in imports[a]), strict=True
    )
    links = coo_array((np.ones(len(rows)), (rows, columns)), shape=(len(names),) * 2)
    _, label = connected_components(links, connection="strong")
    sizes = np.bincount(label)
    return [[names[i] for i in np.flatnonzero(label == k)] for k in np.flatnonzero(sizes > 1)]


def main() -> None:
    """Print the table, then what exceeds a limit."""
    known = modules()
    texts = {name: path.read_text(encoding="utf-8") for name, path in known.items()}
    trees = {name: ast.parse(text) for name, text in texts.items()}
    lengths = {name: text.count("\n") for name, text in texts.items()}
    long_modules = [name for name in known if lengths[name] > LONG_MODULE]
    all_functions = [(name, each) for name, tree in trees.items() for each in functions(tree)]
    long_bodies = [f"{m}.{f.name}" for m, f in all_functions if body_lines(f) > LONG_BODY]
    many = [
        f"{m}.{f.name}"
        for m, f in all_functions
        if parameters(f) > MANY_PARAMETERS and not m.startswith("workloadkit.cli.")
    ]
    in_circles = circles({name: imported(ast.parse(texts[name]), known) for name in known})
    ran = subprocess.run(
        [sys.executable, "-c", SIMULATION],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
    ).stdout.split()
    rows = {
        "files": len(known),
        "lines": sum(lengths.values()),
        "lines of code": sum(map(lines_of_code, texts.values())),
        f"modules over {LONG_MODULE} lines": len(long_modules),
        f"functions over {LONG_BODY} lines": len(long_bodies),
        f"functions with over {MANY_PARAMETERS} parameters": len(many),
        "circles of imports": len(in_circles),
        "own modules loaded by a simulation of EASY": int(ran[0]),
        "own functions called by it": int(ran[1]),
    }
    for name, value in rows.items():
        print(f"{name:<44} {value:>8,}")
    for title, names in (
        ("long modules", [f"{name} {lengths[name]}" for name in long_modules]),
        ("long functions", long_bodies),
        ("many parameters", [f"{name} {MEANT.get(name, '')}".strip() for name in many]),
        ("circles", [" ".join(names) for names in in_circles]),
    ):
        print(f"\n{title}:", *(names or ["none"]), sep="\n  ")


if __name__ == "__main__":
    main()
