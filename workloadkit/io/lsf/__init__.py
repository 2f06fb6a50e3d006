"""Accounting of LSF, lsb.acct.

`reader` is the entry point: `record` splits a record into its fields, `jobs` converts records to
columns, with the job states and termination reasons of LSF.
"""

from workloadkit.io.lsf.reader import looks_like, read_lsf

__all__ = ["looks_like", "read_lsf"]
