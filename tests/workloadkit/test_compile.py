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
    before = config.CACHE_DIR
    assert compiling.kernel(double)(4) == 8
    compiling.cache_directory.cache_clear()
    (kept,) = tmp_path.iterdir()
    assert len(kept.name) == 16
    assert list(kept.rglob("*.nbc"))
    assert before == config.CACHE_DIR  # the user's own kernels go where they went before


@needs_compiler
def test_kernels_compile_where_nothing_can_be_kept(monkeypatch):
    monkeypatch.setattr(numba.core.caching.CacheImpl, "_locator_classes", [])
    assert compiling.kernel(double)(4) == 8
