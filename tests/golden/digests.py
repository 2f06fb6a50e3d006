"""The file of digests: a case a line, sorted; its key, its digest, and what one engine refuses."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

PATH = Path(__file__).with_suffix(".tsv")


class Digest(NamedTuple):
    """What comes of a case.

    Parameters
    ----------
    value : str
        The first 16 characters of the SHA-256 of the schedule, number of jobs and mean wait; or
        type and first line of the error.
    compiled : str
        What the compiled engine gives, where that is something else.
    """

    value: str
    compiled: str = ""

    @classmethod
    def of(cls, values: Mapping[str, str]) -> "Digest":
        """Join what the engines give."""
        value = values.get("python", values.get("compiled", ""))
        compiled = values.get("compiled", value)
        return cls(value, compiled if compiled != value else "")

    def expected(self, engine: str) -> str:
        """Return what an engine is to give."""
        return self.compiled or self.value if engine == "compiled" else self.value


def read() -> dict[str, Digest]:
    """Return the digests by the keys of their cases."""
    lines = (line.split("\t") for line in PATH.read_text().splitlines())
    return {key: Digest(*values) for key, *values in lines}


def write(digests: Mapping[str, Digest]) -> None:
    """Write the file, whole or not at all."""
    lines = ("\t".join(filter(None, (key, *digests[key]))) for key in sorted(digests))
    partial = PATH.with_suffix(".part")
    try:
        partial.write_text("".join(f"{line}\n" for line in lines))
        partial.replace(PATH)
    finally:
        partial.unlink(missing_ok=True)


def differences(found: Mapping[str, Mapping[str, str]], digests: Mapping[str, Digest]) -> list[str]:
    """List what differs, as text: key, engine, what is on file and what came.

    Parameters
    ----------
    found : mapping
        By key and engine.
    digests : mapping
        By key.
    """
    return [
        f"{key} ({engine})\n  on file: {expected}\n  now:     {value}"
        for key, values in found.items()
        for engine, value in values.items()
        if value != (expected := digests[key].expected(engine) if key in digests else "nothing")
    ]
