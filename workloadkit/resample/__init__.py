"""New logs from old ones: resampled, mixed, shaken, cut into segments, their locality changed."""

from workloadkit.resample.runs import resample

__all__ = ["resample"]
