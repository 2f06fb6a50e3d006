"""Long-range dependence: fractional noise and estimators of the Hurst parameter."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
