"""Derive new logs from logs: resampled, mixed, shaken, in segments, or with changed locality."""

from workloadkit.resample.runs import resample

__all__ = ["resample"]
