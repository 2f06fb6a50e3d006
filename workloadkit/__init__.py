"""Read, generate, transform and simulate workloads of parallel systems."""

import sys
from types import ModuleType
from typing import Any

import lazy_loader

__version__ = "0.2.0"

# Submodules load on first use (SPEC 1), so `import workloadkit` is fast.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


class _Package(ModuleType):
    """A module whose function takes precedence over the submodule of the same name.

    Python binds a submodule to its package on import; without this class, `simulate` would be the
    function or the module, depending on the order of imports.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, ModuleType):
            value = getattr(value, name, value)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
