"""Provenance: what produced a result, recorded in everything that the toolkit writes."""

import math
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import numpy as np

from workloadkit import __version__
from workloadkit.errors import ParameterError, quoted
from workloadkit.header import Header
from workloadkit.trace import Trace

# The note of `Trace.where`.
_CHOSEN = re.compile(r"chosen: workloadkit \S+, log .* \(((?:content )?sha256 [0-9a-f]{64})\)")

# Operations that keep the recorded times of jobs.
_KEEP_TIMES = ("chosen", "dependencies", "estimates of a model", "segment", "utility functions")

_REMOVED = re.compile(r"\((\d{1,18}) jobs? removed\)")


def jobs_removed(header: Header) -> int:
    """Return how many jobs the filters that a header names removed."""
    return sum(map(int, _REMOVED.findall("\n".join(header.lines))))


def provenance(trace: Trace, **parameters: Any) -> dict[str, Any]:
    """Return what produced a result: version, log, digest of the log's text, and parameters.

    It contains no date, path, host or number of workers, so equal input and parameters give equal
    provenance. A log that was changed after reading has the digest of its content, and a record
    of its origin: the text it was read from, the changes, and the note in its header.

    Examples
    --------
    >>> trace = Trace.from_columns({"submit": [0]}, name="a.swf")
    >>> provenance(trace, scheduler="easy")["parameters"]
    {'scheduler': 'easy'}
    >>> sorted(provenance(trace))
    ['content_sha256', 'log', 'parameters', 'sha256', 'workloadkit']
    """
    return {
        "workloadkit": __version__,
        "log": trace.name,
        "sha256": trace.digest or None,
        **({} if trace.digest else _of_content(trace)),
        "parameters": plain(parameters),
    }


def _of_content(trace: Trace) -> dict[str, Any]:
    """Return the origin of a log that is not as it was read."""
    notes = [note for note in trace.header.get_all("Note") if ": workloadkit " in note]
    return {
        "content_sha256": trace.content_digest,
        **({"made_from_sha256": trace.made_from} if trace.made_from else {}),
        **({"changes": list(trace.changes)} if trace.changes else {}),
        **({"note": notes[-1]} if notes else {}),
    }


def noted(made: Trace, header: Header, what: str, note: str) -> Trace:
    """Return a made log whose header notes the operation, and what it left out.

    Parameters
    ----------
    made : Trace
    header : Header
        The header of the log, without the note.
    what, note : str
        The operation, and its provenance as text.

    Examples
    --------
    >>> made = Trace.from_columns({"submit": [0]}).replaced(dropped=("node_list",))
    >>> noted(made, made.header, "shaken", "workloadkit 0.2.0, log a.swf").header.lines[-1]
    '; Note: no longer true, left out (shaken): node_list'
    """
    header = header.appended(("Note", f"{what}: {note}"))
    if made.dropped:
        gone = ", ".join(dict.fromkeys(made.dropped))
        header = header.appended(("Note", f"no longer true, left out ({what}): {gone}"))
    return made.replaced(header=header, repairs=())


#: Upper bound of drawn seeds: larger whole numbers are not exact in JSON.
MOST_SEEDS = 2**53


def seed_of(rng: np.random.Generator | int | None) -> int:
    """Return a reproducible seed: the one given, one drawn from `rng`, or a new one.

    Raises
    ------
    ParameterError
        If the seed is negative, or `rng` cannot be converted to a numpy Generator.

    Examples
    --------
    >>> seed_of(7)
    7
    """
    if isinstance(rng, int | np.integer) and not isinstance(rng, bool):
        if rng < 0:
            raise ParameterError("rng", f"is {rng}; a seed must be 0 or more")
        return int(rng)
    try:
        if isinstance(rng, bool):
            raise TypeError
        return int(np.random.default_rng(rng).integers(MOST_SEEDS))
    except (TypeError, ValueError):
        raise ParameterError(
            "rng", f"is {quoted(rng)}; it must be a seed or a numpy Generator"
        ) from None


def as_note(provenance: Mapping[str, Any]) -> str:
    """Format a provenance as one line for a header.

    Examples
    --------
    >>> trace = Trace.from_columns({"submit": [0]}, name="a.swf")
    >>> as_note(provenance(trace, scheduler="easy"))  # doctest: +ELLIPSIS
    'workloadkit 0.2.0, log a.swf (content sha256 ...), scheduler easy'
    """
    identity = ""
    if provenance["sha256"]:
        identity = f" (sha256 {provenance['sha256']})"
    elif "content_sha256" in provenance:
        source = provenance.get("made_from_sha256", "")
        made = [f"content sha256 {provenance['content_sha256']}"]
        made += [f"of sha256 {source}"] * bool(source) + provenance.get("changes", [])
        identity = f" ({'; '.join(made)})"
    parts = [f"workloadkit {provenance['workloadkit']}", f"log {provenance['log']}{identity}"]
    parts += [f"{name} {value}" for name, value in provenance["parameters"].items()]
    return ", ".join(parts)


def plain(value: Any) -> Any:
    """Return `value` for JSON: without numpy types, and with None for values that are not finite.

    Examples
    --------
    >>> plain({"mean": np.float64("nan"), "n_jobs": np.int64(3)})
    {'mean': None, 'n_jobs': 3}
    """
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, (str, int)):
        return value
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, datetime):
        return value.isoformat()
    return value


def source_of(trace: Trace) -> str:
    """Return the identity of the log that a trace is, or that its jobs were chosen from.

    Examples
    --------
    >>> log = Trace.from_columns({"submit": [0, 60]})
    >>> source_of(log.where("submit=0")) == source_of(log) == log.identity
    True
    """
    found = [m[1] for note in trace.header.get_all("Note") if (m := _CHOSEN.match(note))]
    if found:
        return found[0]
    return f"sha256 {trace.made_from}" if trace.made_from else trace.identity


def operations(header: Header) -> list[str]:
    """Return the operations applied to a log according to its header, in order.

    Examples
    --------
    >>> operations(Header(("; Note: resampled: workloadkit 0.2.0, log a.swf", "; Note: by Ann")))
    ['resampled']
    """
    notes = (note.partition(": workloadkit ") for note in header.get_all("Note"))
    return [what for what, by, _ in notes if by]


def moved_times(header: Header) -> list[str]:
    """Return the operations in a header that changed the times of jobs."""
    return [what for what in operations(header) if what not in _KEEP_TIMES]
