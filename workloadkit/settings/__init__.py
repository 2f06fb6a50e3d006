"""The settings of each operation, declared once: see `setting`.

A class of settings defines the keywords of a function and their checks, the options of a command
and their help, what results record, and a page of the reference.
"""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from workloadkit.settings.common import Characterize, Compare, Crosscheck, Queueing
    from workloadkit.settings.making import Augment, Generate, Kinds, Site, StaticSiteSettings
    from workloadkit.settings.resampling import Classify, Resample
    from workloadkit.settings.simulation import Check, ExperimentSettings, Simulate, Sweep

__all__ = [
    "Augment",
    "Characterize",
    "Check",
    "Classify",
    "Compare",
    "Crosscheck",
    "ExperimentSettings",
    "Generate",
    "Kinds",
    "Queueing",
    "Resample",
    "Simulate",
    "Site",
    "StaticSiteSettings",
    "Sweep",
]

__getattr__, _, _ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "common": ["Characterize", "Compare", "Crosscheck", "Queueing"],
        "making": ["Augment", "Generate", "Kinds", "Site", "StaticSiteSettings"],
        "resampling": ["Classify", "Resample"],
        "simulation": ["Check", "ExperimentSettings", "Simulate", "Sweep"],
    },
)


def __dir__() -> list[str]:
    return __all__
