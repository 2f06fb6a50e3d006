"""Imports for workers, loaded once by their parent process."""

import workloadkit.simulation.policies.compiled
import workloadkit.simulation.simulate  # noqa: F401
from workloadkit._kernels.starting import start_compiler

start_compiler()
