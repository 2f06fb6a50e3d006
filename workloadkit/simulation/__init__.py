"""Simulation: who is present × how they behave × who serves them."""

import lazy_loader

from workloadkit.simulation.engine import Job
from workloadkit.simulation.schedule import Schedule
from workloadkit.simulation.schedulers import Scheduler
from workloadkit.simulation.simulate import simulate
from workloadkit.simulation.users import User

__all__ = ["Job", "Schedule", "Scheduler", "User", "bases", "simulate"]

# The bases of custom parts load what most simulations do not need.
__getattr__, _, _ = lazy_loader.attach(__name__, submodules=["bases"])
