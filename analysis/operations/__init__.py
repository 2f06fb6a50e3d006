"""What a site wants to know of its accounting: hours, waits, failures, efficiency, shares, size."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
