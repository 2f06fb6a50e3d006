"""Imports for workers, loaded once by their parent process."""

from contextlib import suppress

with suppress(ImportError):
    import llvmlite.binding  # noqa: F401 loads compiled code

import workloadkit.simulation.policies.compiled
import workloadkit.simulation.simulate  # noqa: F401
