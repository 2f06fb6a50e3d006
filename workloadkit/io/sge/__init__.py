"""Accounting of Grid Engine, of any version and form.

`reader` puts the parts together: `jobs` decides what becomes of each line, `lines` parts them into
fields, and `rows` makes columns of records of these.
"""

from workloadkit.io.sge.reader import looks_like, read_sge

__all__ = ["looks_like", "read_sge"]
