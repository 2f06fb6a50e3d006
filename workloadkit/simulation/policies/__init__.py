"""Scheduling policies, in the forms of both engines."""
