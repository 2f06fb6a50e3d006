"""Places of jobs in saved states of the compiled engine: where they run, and what they claim.

A place is a list of *parts* of two numbers, as kernels keep them: of a node and the processors on
it, or of a word and the bits in it. Running jobs have theirs in a history, waiting ones in claims.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: A part of many places: both numbers.
Pair = tuple[NDArray[np.int64], NDArray[np.int64]]


def parts_of(held: Any, pair: Pair, jobs: NDArray[np.int64]) -> list[Pair]:
    """Return the parts of some jobs; `held` has their `first` and `last`."""
    spans = [slice(*span) for span in zip(held.first[jobs], held.last[jobs], strict=True)]
    return [(pair[0][span], pair[1][span]) for span in spans]


def set_parts(held: Any, pair: Pair, jobs: NDArray[np.int64], places: Sequence[Pair]) -> int:
    """Write the parts of some jobs one behind the other; return their number."""
    end = 0
    for job, place in zip(jobs.tolist(), places, strict=True):
        held.first[job], end = end, end + place[0].size
        held.last[job] = end
        for numbers, values in zip(pair, place, strict=True):
            numbers[held.first[job] : end] = values
    return end


def set_claim(claims: Any, pair: Pair, job: int, times: Sequence[Any], place: Pair) -> None:
    """Write the claim of a job where it has room: begin and end, and the parts."""
    claims.begin[job], claims.end[job] = times
    first, size = claims.first[job], place[0].size
    claims.last[job] = first + size
    for numbers, values in zip(pair, place, strict=True):
        numbers[first : first + size] = values


def list_claims(machine: Any, jobs: NDArray[np.int64]) -> None:
    """Add claims to the existing ones, behind those of the same times."""
    claims, at = machine.claims, machine.at
    for order, time in ((claims.by_begin, claims.begin), (claims.by_end, claims.end)):
        every = np.append(order[: at.n_claims], jobs)
        order[: every.size] = every[np.argsort(time[every], kind="stable")]
    at.n_claims += jobs.size
    at.n_stakes += jobs.size
