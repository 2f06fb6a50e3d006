"""The layout of a log as a Parquet file.

One row per job, in the order of the log. Columns have the names of `workloadkit.fields`; a column
that is unknown for all jobs is left out, and null is unknown. Measured columns are integers if all
their values are. Further columns, where the log has them: ``bursts``, a list of the partial
executions of a job (``place`` is the position in `Trace.bursts`); ``utility``, a list of the points
of its utility function; and the side-car, each name prefixed by ``sidecar_``.

The metadata under the key ``workloadkit`` is JSON: ``wkt`` is the version of the layout,
``version`` that of the package, ``header`` lists the lines of the header, ``log_sha256`` is the
digest of the text from which the log was read (empty for a log that was changed or made),
``seal`` is the SHA-256 of the rows as stored, the header and that digest, and ``machine`` is the
description of the machine, if there is one (`workloadkit.io.machine`).
"""

import hashlib
from collections.abc import Sequence

#: First bytes of a Parquet file.
MAGIC = b"PAR1"

#: Version of the layout.
LAYOUT = "1"

#: Prefix of the columns of the side-car.
SIDECAR = "sidecar_"

#: Columns whose values increase, which are stored as differences.
ASCENDING = ("job", "submit")

#: Columns with few values, each of which is stored once.
REPEATING = (
    "procs", "requested_procs", "requested_time", "requested_memory", "status", "user", "group",
    "queue", "partition",
)  # fmt: skip


def seal(rows: bytes | memoryview, header: Sequence[str], digest: str) -> str:
    """Return the digest that connects the rows of a file with its header and origin."""
    found = hashlib.sha256(rows)
    for text in (*header, digest):
        found.update(b"\n" + text.encode(errors="surrogatepass"))
    return found.hexdigest()
