"""Accounting of Slurm, as printed by `sacct`.

`reader` is the entry point: `rows` splits lines according to their `columns`, `jobs` converts them
to records using `values` and `times`, and `attempts` sums up the rows of steps
and distinguishes requeued jobs from reused ids.
"""

from workloadkit.io.slurm.columns import EXPORT
from workloadkit.io.slurm.reader import looks_like, read_slurm

__all__ = ["EXPORT", "looks_like", "read_slurm"]
