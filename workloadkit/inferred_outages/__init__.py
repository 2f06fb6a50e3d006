"""Infer unrecorded outages from the jobs of a log, and propose them."""
