"""How long jobs waited, for what, and whose they were."""
