"""Simulation: who is present × how they behave × who serves them."""

from workloadkit.simulate.engine import Job
from workloadkit.simulate.schedule import Schedule
from workloadkit.simulate.schedulers import Scheduler
from workloadkit.simulate.simulate import simulate
from workloadkit.simulate.users import User

__all__ = ["Job", "Schedule", "Scheduler", "User", "simulate"]
