"""Accounting of Slurm, as `sacct` prints it.

`reader` puts the parts together: `rows` splits lines by the names of their `columns`, `jobs` makes
records of them with the help of `values` and `times`, `steps` sums up the rows of steps, and
`attempts` tells requeued jobs from ids used again.
"""

from workloadkit.io.slurm.columns import EXPORT
from workloadkit.io.slurm.reader import looks_like, read_slurm

__all__ = ["EXPORT", "looks_like", "read_slurm"]
