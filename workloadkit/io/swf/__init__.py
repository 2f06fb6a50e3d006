"""The Standard Workload Format (S. J. Chapin et al., JSSPP 1999, section 2.3)."""

from workloadkit.io.swf.reading import read_swf
from workloadkit.io.swf.writing import write_swf

__all__ = ["read_swf", "write_swf"]
