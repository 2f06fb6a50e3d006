"""Workloads of parallel systems: read them, make them, simulate them."""

import lazy_loader

__version__ = "0.1.0"

# Submodules load when first used (SPEC 1): `import workloadkit` costs next to nothing.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
