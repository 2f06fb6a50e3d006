"""Accounting of LSF, lsb.acct.

`reader` puts the parts together: `record` parts a record into its fields, `jobs` makes columns of
records, and `states` knows what LSF says of the end of a job.
"""

from workloadkit.io.lsf.reader import looks_like, read_lsf

__all__ = ["looks_like", "read_lsf"]
