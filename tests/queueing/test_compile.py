"""Where compiled recursions are kept."""

import numba
import pytest

from workloadkit.queueing._kernels import kernel


def double(x):
    return 2 * x


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="the compiler is off")
def test_compiled_code_is_kept_next_to_its_source_or_nowhere(tmp_path, monkeypatch):
    """It is unpickled, and others may be able to write to a folder that numba chooses."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    assert kernel(double)(4) == 8
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
