"""The sources of which kernels are made, as a digest."""

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

#: Folders of the package with compiled code.
COMPILED = ("_kernels", "metasystem/kernels", "simulation")

_COMMENT = re.compile(rb"\n[ \t]*#.*")


def sources_digest() -> str:
    """Digest of the sources of all kernels without their comments."""
    package = Path(__file__).parent.parent
    sources = [package / "fields.py"]  # limits of fields
    for folder in COMPILED:
        sources += sorted((package / folder).rglob("*.py"))
    return digest_of(sources)


def digest_of(sources: Iterable[Path]) -> str:
    """Digest of the contents of files, without comments."""
    digest = hashlib.sha256()
    for source in sources:
        # Compiled code has no strings of several lines, other than docstrings.
        code = b"".join(source.read_bytes().split(b'"""')[::2])
        digest.update(_COMMENT.sub(b"", code))
    return digest.hexdigest()
