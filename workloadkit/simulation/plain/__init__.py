"""The plain-Python engine: jobs, events, schedulers, users and the simulation."""
