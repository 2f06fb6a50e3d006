"""Whether kernels run as plain Python."""

import os
import warnings
from functools import cache

from workloadkit._kernels import object_code
from workloadkit.errors import WorkloadWarning

#: Whether everything stays plain Python, on request.
DISABLE_JIT = os.environ.get("NUMBA_DISABLE_JIT", "0").strip() not in ("", "0")


@cache
def lacks_compiler() -> bool:
    """Whether this is another compiler than those that are known here; one line says so."""
    if DISABLE_JIT:
        return False
    try:
        object_code.check_loader()
        if not object_code.is_in_use():
            from workloadkit._kernels import compiler

            compiler.check()
    except (ImportError, AttributeError) as problem:
        warnings.warn(
            f"kernels are not compiled, and all runs in slow plain Python: {problem}",
            WorkloadWarning,
            stacklevel=2,
        )
        return True
    return False


def interpreted() -> bool:
    """Whether kernels are plain Python, on request or for lack of the compiler."""
    return DISABLE_JIT or lacks_compiler()
