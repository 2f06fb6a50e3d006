"""How kernels are compiled and kept."""

import ast
from importlib import import_module
from pathlib import Path
from shutil import copytree, ignore_patterns

import numba.core.caching
import pytest
from numba.core import config

import workloadkit
from workloadkit._kernels import compile as compiling

PACKAGE = Path(workloadkit.__file__).parent

needs_compiler = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="the compiler is off")


def double(x):
    return 2 * x


@needs_compiler
def test_the_cache_is_named_by_what_the_kernels_are(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    compiling.cache_directory.cache_clear()
    assert compiling.kernel(double)(4) == 8
    compiling.cache_directory.cache_clear()
    (kept,) = tmp_path.iterdir()
    assert len(kept.name) == 16
    assert list(kept.rglob("*.nbc"))
    assert kept.name not in config.CACHE_DIR  # kernels of the user's own go where they went


@needs_compiler
def test_kernels_compile_where_nothing_can_be_kept(monkeypatch):
    monkeypatch.setattr(numba.core.caching.CacheImpl, "_locator_classes", [])
    assert compiling.kernel(double)(4) == 8


@needs_compiler
@pytest.mark.parametrize("compiled", [compiling.helper, compiling.bare, compiling.inline])
def test_parts_of_kernels_are_called_by_kernels_alone(compiled):
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


def is_covered(module):
    return module.startswith(tuple(f"workloadkit.{folder}." for folder in compiling.COMPILED))


def test_all_compiled_code_lies_where_the_digest_looks():
    found = {source.relative_to(PACKAGE).parts[0] for source in SOURCES}
    assert found == set(compiling.COMPILED)
    analysis = PACKAGE.parent / "analysis"
    assert not any(compiles(source) for source in analysis.rglob("*.py"))


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
