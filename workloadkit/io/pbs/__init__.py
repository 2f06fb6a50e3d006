"""Accounting of PBS Pro, OpenPBS, Torque and Moab.

`reader` puts the parts together: `jobs` decides what becomes of each line, `layouts` parts lines
into keys and their values, `requests` and `values` know what these mean, and `rows` makes columns
of records of them.
"""

from workloadkit.io.pbs.reader import looks_like, read_pbs

__all__ = ["looks_like", "read_pbs"]
