"""How kernels are compiled and kept."""

import numba.core.caching
import pytest
from numba.core import config

from workloadkit._kernels import compile as compiling

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


def test_an_edit_of_any_source_gives_another_name(tmp_path):
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text(name)
    sources = sorted(tmp_path.iterdir())
    before = compiling.digest_of(sources)
    assert compiling.digest_of(sources) == before
    sources[1].write_text("edited")
    assert compiling.digest_of(sources) != before
