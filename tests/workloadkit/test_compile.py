"""How kernels are compiled and kept."""

import ast
import errno
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from shutil import copytree, ignore_patterns
from typing import NamedTuple

import numba
import numpy as np
import pytest

import workloadkit
from tests.data import needs_compiler
from workloadkit._kernels import compile as compiling
from workloadkit._kernels import object_code
from workloadkit._kernels import sources as sources_of_kernels
from workloadkit.errors import WorkloadWarning

PACKAGE = Path(workloadkit.__file__).parent


def double(x):
    return 2 * x


@pytest.fixture(autouse=True)
def forget(monkeypatch):
    """The folder is named once in a process, and a problem is reported once."""
    object_code.cache_directory.cache_clear()
    monkeypatch.setattr(object_code, "_has_warned", False)
    yield
    object_code.cache_directory.cache_clear()


def keep_in(folder, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(folder))
    object_code.cache_directory.cache_clear()


@needs_compiler
def test_the_cache_is_named_by_the_sources_of_the_kernels(tmp_path, monkeypatch):
    keep_in(tmp_path, monkeypatch)
    assert compiling.kernel(double)(4) == 8
    (kept,) = tmp_path.iterdir()
    assert len(kept.name) == 16
    assert list(kept.rglob("*.kernel"))


@needs_compiler
def test_folders_of_other_versions_are_removed_when_long_unused(tmp_path, monkeypatch):
    keep_in(tmp_path, monkeypatch)
    old, recent, foreign = (tmp_path / name for name in ("0" * 16, "1" * 16, "numba's own"))
    for folder in (old, recent, foreign):
        folder.mkdir()
        (folder / "a.kernel").write_text("")
    (tmp_path / ("2" * 16)).symlink_to(foreign)
    for folder in (old, foreign):
        os.utime(folder, (0, 0))
    assert compiling.kernel(double)(4) == 8
    assert not old.exists()
    assert recent.exists()
    assert (foreign / "a.kernel").exists()


@needs_compiler
def test_a_folder_is_in_use_where_its_code_is_loaded(tmp_path, monkeypatch):
    keep_in(tmp_path, monkeypatch)
    compiling.kernel(double)(4)
    kept = Path(object_code.cache_directory())
    os.utime(kept, (0, 0))
    object_code._keep_tidy.cache_clear()
    assert compiling.kernel(double)(5) == 10
    assert kept.stat().st_mtime > 0


def world_writable(folder):
    folder.chmod(0o777)
    return folder


def another_users(folder):
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    kept = folder / Path(object_code.cache_directory()).name
    kept.mkdir()
    os.chown(kept, 54321, 54321)
    return folder


def no_folder(folder):
    (folder / "file").write_text("")
    return folder / "file"


@needs_compiler
@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda _: Path("here"), "is relative to the working directory"),
        (world_writable, "others can write to .*; `chmod go-w"),
        (another_users, "belongs to another user"),
        (no_folder, "cannot be used: Not a directory"),
    ],
)
def test_kernels_compile_without_a_cache(make, problem, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = make(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    keep_in(folder, monkeypatch)
    with pytest.warns(WorkloadWarning, match=f"compiled code is not cached, and .* {problem}"):
        assert compiling.kernel(double)(4) == 8
    assert compiling.kernel(double)(5) == 10  # it is said once
    assert not [path for path in tmp_path.rglob("*.kernel") if path not in before]


@needs_compiler
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_a_disk_that_cannot_be_written_costs_no_more_than_time(number, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise OSError(number, os.strerror(number))

    keep_in(tmp_path, monkeypatch)
    monkeypatch.setattr(tempfile, "mkstemp", fail)
    kernel = compiling.kernel(double)
    problem = f"kernel cannot be used: {os.strerror(number)}"
    with pytest.warns(WorkloadWarning, match=problem):
        assert kernel(4) == 8
    monkeypatch.setattr(os, "open", fail)
    object_code._has_warned = False
    with pytest.warns(WorkloadWarning, match=os.strerror(number)):
        assert compiling.kernel(double)(4) == 8


def halves(x, n, rng, nothing):
    if n < 0:
        raise ValueError("fewer than none")
    y = np.empty(n)
    for i in range(n):
        y[i] = x[i] / 2 + rng.random()
    return y[1:], n, n > 2, y[0]


def play_halves():
    """What a kernel returns, and what it raises."""
    kernel = compiling.kernel(halves)
    array, *numbers = kernel(np.arange(4), 3, np.random.default_rng(7), None)
    with pytest.raises(ValueError, match="fewer than none"):
        kernel(np.arange(4), -1, np.random.default_rng(7), None)
    return array.tolist(), numbers


@needs_compiler
def test_cached_code_does_what_compiled_code_does(tmp_path, monkeypatch):
    keep_in(tmp_path, monkeypatch)
    compiled = play_halves()
    monkeypatch.setattr(compiling, "start_compiler", None)  # it is not loaded
    assert play_halves() == compiled
    array, *numbers = halves(np.arange(4), 3, np.random.default_rng(7), None)
    assert compiled == (array.tolist(), numbers)


def with_digest(rest):
    return object_code.digest_line(rest) + rest


@needs_compiler
@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: b"",
        lambda whole: whole[:-1],
        lambda whole: whole.replace(b'"result": "q"', b'"result": "d"', 1),
        lambda whole: whole.replace(b"name", b"game", 1),
        lambda whole: whole + bytes(object_code._LONGEST),
        lambda whole: with_digest(b"no head"),
        lambda whole: with_digest(b'{"name": "run"}\n'),
        lambda whole: with_digest(b'{"name": "run", "needs": [1], "result": "q"}\n'),
        lambda whole: with_digest(b"[" * 100_000),
    ],
)
def test_a_damaged_file_is_compiled_again(damage, tmp_path, monkeypatch):
    keep_in(tmp_path, monkeypatch)
    compiling.kernel(double)(4)
    (file,) = tmp_path.rglob("*.kernel")
    file.write_bytes(damage(file.read_bytes()))
    with pytest.warns(WorkloadWarning, match=f"{file.name} is damaged"):
        assert compiling.kernel(double)(4) == 8
    line, end, rest = file.read_bytes().partition(b"\n")
    assert line + end == object_code.digest_line(rest)


@needs_compiler
def test_code_that_needs_absent_functions_is_compiled_again(tmp_path, monkeypatch):
    keep_in(tmp_path, monkeypatch)
    compiling.kernel(double)(4)
    (file,) = tmp_path.rglob("*.kernel")
    _, _, rest = file.read_bytes().partition(b"\n")
    rest = rest.replace(b'"needs": []', b'"needs": ["no_such_function"]', 1)
    file.write_bytes(with_digest(rest))
    assert compiling.kernel(double)(4) == 8


@needs_compiler
def test_values_of_other_types_are_left_to_the_compiler(tmp_path, monkeypatch):
    keep_in(tmp_path, monkeypatch)
    assert compiling.kernel(double)(2j) == 4j
    assert not list(tmp_path.rglob("*.kernel"))


LOADED = """
import sys
from workloadkit.cli import main
try:
    main()
finally:
    slow = ("numba", "pandas", "scipy", "rich", "pydantic")
    print(*[name for name in slow if name in sys.modules])
"""


@needs_compiler
@pytest.mark.parametrize(
    "command",
    [
        "simulate --scheduler fcfs --procs 200",
        "simulate --scheduler fcfs --procs 200 -o x.swf",
        "shake -o x.swf",
        "augment --priority 0=0 -o x.swf",
        "dependencies -o x.swf",
        "validate",
        "outages --json -",
        "anomalies",
        "sessions -o x",
        "sessions -o x --where user=3 --since 2021-03",
        "resample --count 1 -o .",
    ],
)
def test_quick_commands_load_neither_compiler_nor_pandas(command, tmp_path, monkeypatch):
    """Except for what was never compiled before: so it runs twice."""
    name, *options = command.split()
    run = [sys.executable, "-c", LOADED, name, "--quiet", *options]
    for i in range(2):
        (tmp_path / str(i)).mkdir()
        monkeypatch.chdir(tmp_path / str(i))
        done = subprocess.run(run, capture_output=True, text=True, check=True)
        if not (loaded := done.stdout.splitlines()[-1]):
            break
    assert loaded == ""


@needs_compiler
@pytest.mark.parametrize("compiled", [compiling.helper, compiling.bare, compiling.inline])
def test_parts_of_kernels_are_plain_python_to_python(compiled):
    part = compiled(double)
    assert compiling.uncached(lambda x: part(x))(4) == part(4) == 8


def spin(n):
    x = 1
    for _ in range(n):
        x = (x * 1103515245 + 12345) & 0x7FFFFFFF
    return x


@needs_compiler
def test_other_threads_run_while_a_kernel_does():
    kernel, ticks, is_over = compiling.uncached(spin), [], threading.Event()
    kernel(1)  # compiles

    def tick():
        while not is_over.wait(0.001):
            ticks.append(None)

    thread = threading.Thread(target=tick)
    thread.start()
    before = len(ticks)
    kernel(300_000_000)  # most of a second
    found = len(ticks) - before  # nothing else runs between these two lines
    is_over.set()
    thread.join()
    assert found > 10


def wait(values, place):
    while values[0] == 0:
        values[place] += 1


@needs_compiler
def test_a_kernel_of_many_values_is_interrupted_while_it_runs():
    kernel, values = compiling.uncached(wait), np.zeros(compiling.MANY_VALUES, np.int64)
    kernel(np.ones(1, np.int64), 0)  # compiles
    moment = threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT))
    moment.start()
    with pytest.raises(KeyboardInterrupt):
        kernel(values, 1)
    assert compiling.is_working()
    values[0] = 1
    for worker in [*compiling._abandoned]:
        worker.join()
    assert not compiling.is_working() and values[1] > 0


@pytest.mark.slow
@needs_compiler
def test_kernels_in_threads_do_not_disturb_each_other():
    log = workloadkit.load_sample()

    def starts(scheduler):
        return workloadkit.simulate(log, scheduler).start

    schedulers = ["easy", "fcfs", "conservative"]
    alone = list(map(starts, schedulers))
    with ThreadPoolExecutor(6) as pool:
        together = list(pool.map(starts, 8 * schedulers))
    for i, found in enumerate(together):
        assert (found == alone[i % len(schedulers)]).all()


SOURCE = '''"""What is here."""

# Why.
PLACE = 1  # of two


def f(x):
    """Return more.

    At length.
    """
    # as x: see there
    return x + PLACE
'''


@pytest.mark.parametrize(
    ("old", "new", "is_same"),
    [
        ("", "", True),
        ("What", "All that", True),
        ("Why.", "For a reason.", True),
        ("# Why.\n", "", True),
        ("more.", "more: much.\n", True),
        ("# as", "# since", True),
        ("PLACE = 1", "PLACE = 2", False),
        ("x + PLACE", "x - PLACE", False),
        ("    return", "        return", False),
        ("f(x)", "f(x, *_)", False),
    ],
)
def test_an_edit_of_code_gives_another_name_and_one_of_comments_none(old, new, is_same, tmp_path):
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text(SOURCE)
    sources = sorted(tmp_path.iterdir())
    before = sources_of_kernels.digest_of(sources)
    sources[1].write_text(SOURCE.replace(old, new) if old else SOURCE)
    assert (sources_of_kernels.digest_of(sources) == before) == is_same


def imports(source):
    """What a file imports anywhere, as (module, name)."""
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{source}: relative imports are not looked through here"
            yield from ((node.module, alias.name) for alias in node.names)


def compiles(source):
    """Whether something is compiled in a file."""
    if not re.search("numba|_kernels", source.read_text()):  # faster than parsing each
        return False
    return any(
        f"{module}.".startswith("numba.")
        or (module == "workloadkit._kernels.compile" and name not in ASKED)
        for module, name in imports(source)
    )


ASKED = ("are_there", "interpreted", "lacks_compiler", "loaded_only", "NotLoadedError")


def names_in_compiled_code(source):
    """Names in functions that are compiled, and in what a module is made of."""
    tree = ast.parse(source.read_text())
    makers = {name for module, name in imports(source) if module.endswith("_kernels.compile")}
    made = {
        argument.id
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") in makers
        for argument in call.args
        if isinstance(argument, ast.Name)
    }
    for node in ast.walk(tree):
        decorators = {
            name.id
            for decorator in getattr(node, "decorator_list", ())
            for name in ast.walk(decorator)
            if isinstance(name, ast.Name)
        }
        if decorators & makers or getattr(node, "name", "") in made:
            yield from (name.id for name in ast.walk(node) if isinstance(name, ast.Name))
    for statement in tree.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            yield from (name.id for name in ast.walk(statement) if isinstance(name, ast.Name))


@pytest.fixture(scope="module")
def sources():
    """The files in which something is compiled."""
    return sorted(source for source in PACKAGE.rglob("*.py") if compiles(source))


KEPT = {
    ("numba", "njit"),
    ("numba", None),
    ("workloadkit._kernels.compile", "kernel"),
    ("workloadkit._kernels.compile", "native"),
    ("workloadkit._kernels.compile", "shared"),
}


def is_covered(module):
    folders = (folder.replace("/", ".") for folder in sources_of_kernels.COMPILED)
    return f"{module}.".startswith(tuple(f"workloadkit.{folder}." for folder in folders))


def test_compiled_code_has_no_strings_of_several_lines(sources):
    """Of which the name of the cache knows nothing; docstrings apart."""
    for source in sources:
        tree = ast.parse(source.read_text())
        documented = ast.Module | ast.FunctionDef | ast.ClassDef
        docstrings = {
            id(node.body[0].value)
            for node in ast.walk(tree)
            if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                assert id(node) in docstrings or "\n" not in node.value.strip(), source


def test_all_compiled_code_lies_where_the_digest_looks(sources):
    folders = sources_of_kernels.COMPILED
    found = {next((f for f in folders if (PACKAGE / f) in s.parents), str(s)) for s in sources}
    assert found == set(folders)
    # parts of one's own are compiled with what calls them, in each process, and are never kept
    parts = {("workloadkit._kernels.compile", name) for name in ("bare", "inline")}
    for source in (PACKAGE.parent / "analysis").rglob("*.py"):
        assert not compiles(source) or parts & {*imports(source)}, source
        assert not {*imports(source)} & KEPT, source


def test_compiled_code_takes_no_constant_from_elsewhere(sources):
    """The compiler makes constants part of its code; the digest covers these folders and fields."""
    for source in sources:
        names = {*names_in_compiled_code(source)}
        for module, name in imports(source):
            outside = module.startswith("workloadkit.") and module != "workloadkit.fields"
            if outside and name in names:
                known = is_covered(f"{module}.") or is_covered(f"{module}.{name}")
                assert known or isinstance(getattr(import_module(module), name), type), source


def test_an_edit_of_any_compiled_file_gives_another_directory(sources, tmp_path, monkeypatch):
    package = tmp_path / "workloadkit"
    copytree(PACKAGE, package, ignore=ignore_patterns("__pycache__"))
    monkeypatch.setattr(sources_of_kernels, "__file__", str(package / "_kernels" / "sources.py"))
    directory = object_code.cache_directory.__wrapped__
    seen = {directory()}
    deep = package / "simulation" / "policies" / "easy" / "kernel.py"
    edited = [package / source.relative_to(PACKAGE) for source in sources]
    assert deep in edited
    for source in (*edited[::5], deep, package / "fields.py"):
        source.write_text(source.read_text() + "pass\n")
        assert directory() not in seen, source
        seen.add(directory())


class Outer(NamedTuple):
    part: NamedTuple


@needs_compiler
def test_parts_of_equal_names_in_two_modules_are_different_types():
    from workloadkit._kernels.native_calls import Reference

    kinds = [NamedTuple("Memory", [("number", int)]) for _ in range(2)]
    for kind, module in zip(kinds, ("one", "two"), strict=True):
        kind.__module__ = module
    first, second = (Reference(numba.typeof(Outer(kind(1)))) for kind in kinds)
    assert first != second and str(first) != str(second)
