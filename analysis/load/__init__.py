"""Load over time: utilization, arrivals, cycles, working hours, and what the log covers."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
