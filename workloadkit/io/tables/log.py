"""Write the jobs of a table as a log, batch by batch: a long table need not fit into memory."""

import hashlib
from typing import IO, Any


class FractionError(Exception):
    """A column of whole numbers has a fraction in a later batch."""

    def __init__(self, column: str) -> None:
        super().__init__(column)
        self.column = column


class _Digesting:
    """A file that digests what is written to it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.digest = hashlib.sha256()
        self.closed = False

    def write(self, data: Any) -> int:
        self.digest.update(data)
        return self._stream.write(data)

    def flush(self) -> None:
        pass
