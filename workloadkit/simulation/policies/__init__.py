"""Scheduling policies: what each decides, for both engines."""
