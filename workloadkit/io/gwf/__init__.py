"""Read and write the Grid Workloads Format (A. Iosup et al., "The Grid Workloads Archive", 2008).

Its first 16 columns are those of the Standard Workload Format; the 13 others are kept in the
side-car, under their names.
"""

from workloadkit.io.gwf.reading import looks_like, read_gwf
from workloadkit.io.gwf.writing import write_gwf

__all__ = ["looks_like", "read_gwf", "write_gwf"]
