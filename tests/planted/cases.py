"""A case: one planted log, made again from its seed and number alone; and logs without a plant."""

from dataclasses import replace
from random import Random

from tests.planted import (  # noqa: F401  the kinds add themselves
    grid_engine,
    lsf,
    pbs,
    plants_jobs,
    plants_parts,
    plants_text,
    plants_units,
    sites,
    slurm,
)
from tests.planted.judge import Planted
from tests.planted.plants import KINDS, Kind
from tests.planted.truth import truth


def case(seed: int, number: int, name: str | None = None) -> tuple[Kind, Planted]:
    """Draw a planted log; the kinds follow each other."""
    kinds = [kind for kind in KINDS if name in (None, kind.name)]
    kind = kinds[number % len(kinds)]
    rng = Random(f"{seed}/{number}/{kind.name}")
    return kind, replace(kind.draw(rng), named=rng.random() < 0.5)


def control(seed: int, name: str) -> Planted:
    """Draw an ordinary log in a format, which must be read right."""
    rng = Random(f"{seed}/{name}")
    jobs = sites.jobs(rng)
    if name == "slurm":
        return Planted(slurm.export(jobs, slurm.dialect(rng)), name, truth(jobs, "status", "names"))
    if name == "pbs":
        return Planted(pbs.export(jobs, pro=rng.random() < 0.5), name, truth(jobs, "status", "cpu"))
    if name == "lsf":
        return Planted(lsf.export(jobs), name, truth(jobs, "cpu", "names"))
    data = grid_engine.export(jobs, unit=rng.choice([1, 1000]))
    return Planted(data, name, truth(jobs, "status", "cpu", "names"))
