"""Users: their shares of jobs and work, and when they are active."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
