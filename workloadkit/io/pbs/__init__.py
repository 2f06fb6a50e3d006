"""Accounting of PBS Pro, OpenPBS, Torque and Moab.

`reader` is the entry point: `jobs` decides what each line contributes, `lexer` splits lines into
keys and values, `requests` and `values` interpret these, and `rows` builds columns of records.
"""

from workloadkit.io.pbs.reader import looks_like, read_pbs

__all__ = ["looks_like", "read_pbs"]
