"""The plain-Python engine by its ideas: jobs, events, schedulers, users, the simulation of all."""
