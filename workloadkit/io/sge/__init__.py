"""Accounting of Grid Engine, of any version and form.

`reader` is the entry point and decides what each line contributes, `lexer` splits lines into
fields, and `rows` converts them to columns of records.
"""

from workloadkit.io.sge.reader import looks_like, read_sge

__all__ = ["looks_like", "read_sge"]
