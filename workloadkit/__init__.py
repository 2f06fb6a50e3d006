"""Read, generate, transform and simulate workloads of parallel systems.

- Read logs: `read_log`, `load_sample`, `validate`, `clean`, `write_log`.
- Describe them: `analysis.characterize`, `analysis.compare_two`, `analysis.compare_schedules`.
- Make more logs: `resample`, `models.lublin`, `models.scale_load`.
- Try schedulers: `simulate`, `sweep`, `Experiment`, with those of `schedulers`.
- Let users react: ``simulate(log, users="fluid")``, with those of `users` and `populations`.
- Ask theory: `queueing.closed`, `queueing.mixed`, `analysis.crosscheck`.

Reports are in `analysis` and models of queues in `queueing`; neither needs a further import.
"""

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
