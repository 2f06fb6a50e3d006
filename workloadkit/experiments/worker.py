"""What workers need, imported once by the process that they are copies of."""

import workloadkit.simulation.policies.compiled
import workloadkit.simulation.simulate  # noqa: F401
from workloadkit._kernels.starting import start_compiler

start_compiler()
