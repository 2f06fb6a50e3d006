"""Simulation: who is present × how they behave × who serves them."""

from workloadkit.simulation.engine import Job
from workloadkit.simulation.schedule import Schedule
from workloadkit.simulation.schedulers import Scheduler
from workloadkit.simulation.simulate import simulate
from workloadkit.simulation.users import User

__all__ = ["Job", "Schedule", "Scheduler", "User", "simulate"]
