"""Phases of PBS jobs that released nodes: their records, as parts of runs."""

from collections.abc import Iterator
from math import inf, nan
from typing import NamedTuple

from workloadkit.io.pbs.layouts import Values
from workloadkit.io.pbs.requests import GRANT_KEYS, grant
from workloadkit.io.pbs.rows import KEYS
from workloadkit.io.pbs.values import seconds, whole
from workloadkit.io.resizing import Part

#: Letters of records of phases: one that ended, the next one, and the last one.
ENDED, NEXT, LAST = "u", "c", "e"

_START, _WALLTIME = KEYS.index("start"), KEYS.index("resources_used.walltime")
_GRANT = [KEYS.index(key) for key in GRANT_KEYS]


class Phase(NamedTuple):
    """A record of a phase, with the second of its line."""

    second: float
    place: int
    letter: str
    id: str
    values: Values


def parts_of(phases: list[Phase]) -> Iterator[Part]:
    """Yield the parts of runs.

    A record contains what the job had in a phase. The phases that ended follow each other from the
    start of the job, each as long as its ``resources_used.walltime``, else up to the date of its
    line. The record of the end of a job has the nodes from which none had been released, therefore
    those of the last phase are yielded, too; without them, nothing is known.
    """
    runs: dict[tuple[str, float], list[Phase]] = {}
    for phase in sorted(phases, key=lambda phase: phase[:2]):
        runs.setdefault((phase.id, whole(phase.values[_START])), []).append(phase)
    for (_, start), some in runs.items():
        complete = some[-1].letter != ENDED
        ended = 0.0 if complete else nan
        known: dict[tuple[float, Values], tuple[float, float]] = {}  # in files that overlap
        for phase in some:
            if phase.letter != ENDED:
                continue
            if (record := (phase.second, phase.values)) not in known:
                lasted = seconds(phase.values[_WALLTIME])
                until = ended + lasted if lasted > 0 else phase.second - start
                known[record], ended = (ended, until), until
            yield _part(phase, start, *known[record])
        if complete:
            yield _part(some[-1], start, nan, inf)


def _part(phase: Phase, start: float, begins: float, ends: float) -> Part:
    got = grant(*(phase.values[at] for at in _GRANT))
    procs = got.vnode_procs if got.vnode_procs > 0 else got.host_procs
    return Part(
        phase.place, phase.id, start, begins, ends, procs, got.nodes, got.gpus, got.node_list
    )
