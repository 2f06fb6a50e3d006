"""The Standard Workload Format (S. J. Chapin et al., JSSPP 1999, section 2.3)."""

from workloadkit.io.swf.reading import looks_like, read_swf
from workloadkit.io.swf.writing import write_swf

__all__ = ["looks_like", "read_swf", "write_swf"]
