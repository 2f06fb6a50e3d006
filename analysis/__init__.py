"""Analysis of logs and schedules, as tables and plots."""

import lazy_loader

# Submodules load when first used (SPEC 1): `import workloadkit.analysis` costs next to nothing.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
