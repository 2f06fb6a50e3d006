"""How kernels are compiled and kept."""

import ast
import errno
import os
from importlib import import_module
from pathlib import Path
from shutil import copytree, ignore_patterns

import numba.core.caching
import pytest
from numba.core import config

import workloadkit
from workloadkit._kernels import compile as compiling
from workloadkit.errors import WorkloadWarning

PACKAGE = Path(workloadkit.__file__).parent

needs_compiler = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="the compiler is off")


def double(x):
    return 2 * x


@pytest.fixture(autouse=True)
def forget():
    """Directories are looked at once in a process, and warned of once."""
    caches = compiling.cache_directory, compiling._kept_in, compiling._warn_of
    for cached in caches:
        cached.cache_clear()
    yield
    for cached in caches:
        cached.cache_clear()


def keep_in(folder, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(folder))
    for cached in (compiling.cache_directory, compiling._kept_in):
        cached.cache_clear()


@needs_compiler
def test_the_cache_is_named_by_the_sources_of_the_kernels(tmp_path, monkeypatch):
    keep_in(tmp_path, monkeypatch)
    assert compiling.kernel(double)(4) == 8
    (kept,) = tmp_path.iterdir()
    assert len(kept.name) == 16
    assert list(kept.rglob("*.nbc"))
    assert kept.name not in config.CACHE_DIR  # kernels of the user's own go where they went


def world_writable(folder):
    folder.chmod(0o777)
    return folder


def another_users(folder):
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    kept = folder / Path(compiling.cache_directory()).name
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
        (world_writable, "is not safe: others may write to"),
        (another_users, "belongs to another user"),
        (no_folder, "cannot be created: Not a directory"),
    ],
)
def test_kernels_compile_without_a_cache(make, problem, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = make(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    keep_in(folder, monkeypatch)
    with pytest.warns(WorkloadWarning, match=f"compiled code is not cached, and .* {problem}"):
        kernel = compiling.kernel(double)
    assert kernel(4) == 8
    assert compiling.kernel(double)(5) == 10  # it is said once
    assert not [path for path in tmp_path.rglob("*.nb?") if path not in before]


@needs_compiler
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_a_disk_that_cannot_be_written_costs_no_more_than_time(number, tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(number, os.strerror(number))

    keep_in(tmp_path, monkeypatch)
    monkeypatch.setattr(numba.core.caching.IndexDataCacheFile, "save", fail)
    kernel = compiling.kernel(double)
    with pytest.warns(WorkloadWarning, match=f"cannot be written: {os.strerror(number)}"):
        assert kernel(4) == 8
    monkeypatch.setattr(numba.core.caching.IndexDataCacheFile, "load", fail)
    compiling._warn_of.cache_clear()
    with pytest.warns(WorkloadWarning, match=f"cannot be (read|written): {os.strerror(number)}"):
        assert compiling.kernel(double)(4) == 8


@needs_compiler
@pytest.mark.parametrize("compiled", [compiling.helper, compiling.bare, compiling.inline])
def test_parts_of_kernels_cannot_be_called_from_python(compiled):
    part = compiled(double)
    assert compiling.uncached(lambda x: part(x))(4) == 8
    with pytest.raises(TypeError, match="double is compiled as a part of kernels"):
        part(4)


def test_an_edit_of_any_source_gives_another_name(tmp_path):
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text(name)
    sources = sorted(tmp_path.iterdir())
    before = compiling.digest_of(sources)
    assert compiling.digest_of(sources) == before
    sources[1].write_text("edited")
    assert compiling.digest_of(sources) != before


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
    modules = [f"{module}.{name}" for module, name in imports(source)]
    return any(m.startswith(("numba.", "workloadkit._kernels.compile.")) for m in modules)


SOURCES = sorted(source for source in PACKAGE.rglob("*.py") if compiles(source))


KEPT = {
    ("numba", "njit"),
    ("numba", None),
    ("workloadkit._kernels.compile", "kernel"),
    ("workloadkit._kernels.compile", "native"),
    ("workloadkit._kernels.compile", "shared"),
}


def is_covered(module):
    return module.startswith(tuple(f"workloadkit.{folder}." for folder in compiling.COMPILED))


def test_all_compiled_code_lies_where_the_digest_looks():
    found = {source.relative_to(PACKAGE).parts[0] for source in SOURCES}
    assert found == set(compiling.COMPILED)
    # parts of one's own are compiled with what calls them, in each process, and are never kept
    parts = {("workloadkit._kernels.compile", name) for name in ("bare", "inline")}
    for source in (PACKAGE.parent / "analysis").rglob("*.py"):
        assert not compiles(source) or parts & {*imports(source)}, source
        assert not {*imports(source)} & KEPT, source


def test_compiled_code_takes_no_constant_from_elsewhere():
    """The compiler makes constants part of its code; the digest covers these folders and fields."""
    for source in SOURCES:
        for module, name in imports(source):
            if module.startswith("workloadkit.") and module != "workloadkit.fields":
                known = is_covered(f"{module}.") or is_covered(f"{module}.{name}")
                assert known or isinstance(getattr(import_module(module), name), type), source


def test_an_edit_of_any_compiled_file_gives_another_directory(tmp_path, monkeypatch):
    package = tmp_path / "workloadkit"
    copytree(PACKAGE, package, ignore=ignore_patterns("__pycache__"))
    monkeypatch.setattr(compiling, "__file__", str(package / "_kernels" / "compile.py"))
    directory = compiling.cache_directory.__wrapped__
    seen = {directory()}
    deep = package / "simulation" / "policies" / "easy" / "kernel.py"
    edited = [package / source.relative_to(PACKAGE) for source in SOURCES]
    assert deep in edited
    for source in (*edited, package / "fields.py"):
        source.write_text(source.read_text() + "\n")
        assert directory() not in seen, source
        seen.add(directory())
