"""Logs as Parquet files of this package, small and fast to read: ``.wkt.parquet``."""

from workloadkit.io.wkt.reading import looks_like, read_wkt
from workloadkit.io.wkt.writing import write_wkt

__all__ = ["looks_like", "read_wkt", "write_wkt"]
