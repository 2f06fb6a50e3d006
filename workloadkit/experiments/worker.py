"""What workers need, imported once by the process that they are copies of."""

from numba.core.registry import cpu_target

import workloadkit.simulation.policies.compiled
import workloadkit.simulation.simulate  # noqa: F401

cpu_target.target_context.refresh()  # the compiler, which also loads what has been compiled
