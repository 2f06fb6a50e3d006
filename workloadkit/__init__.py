"""Workloads of parallel systems: read them, make them, simulate them."""

import sys
from types import ModuleType
from typing import Any

import lazy_loader

__version__ = "0.1.0"

# Submodules load when first used (SPEC 1): `import workloadkit` costs next to nothing.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


class _Package(ModuleType):
    """A module in which a function outranks the submodule of the same name that holds it.

    Python binds a submodule to its package when it is imported; without this, `simulate` would be
    the function or the module, depending on who imported what before.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, ModuleType):
            value = getattr(value, name, value)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
