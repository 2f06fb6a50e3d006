"""Processors and licences: a machine of two pools in a file of its own, for both engines."""

import sys
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from workloadkit._kernels.compile import inline
from workloadkit.simulation.compiled.parts import register_functions
from workloadkit.simulation.machine.hardware import Hardware
from workloadkit.simulation.machine.ledger import FREE, PLANNED
from workloadkit.simulation.machine.plain import Machine


@dataclass(frozen=True)
class Licensed(Hardware):
    """A job of an odd number of processors takes a licence, too."""

    licences: int

    def plain(self):
        return Machine(self.procs, Both(self.procs, self.licences))

    def compiled(self, jobs, n_planned):
        level = np.empty((PLANNED + n_planned, 2), np.int64)
        level[FREE] = self.procs, self.licences
        return Pools(level, np.empty(1, jobs.submit.dtype))


class Both:
    """What is free of both, in plain Python."""

    def __init__(self, free, licences):
        self.free, self.licences = free, licences

    def fits(self, job):
        return job.procs <= self.free and job.procs % 2 <= self.licences

    def take(self, job):
        self.free -= job.procs
        self.licences -= job.procs % 2

    def give_back(self, job):
        self.free += job.procs
        self.licences += job.procs % 2

    def copy(self):
        return Both(self.free, self.licences)

    def __eq__(self, other):
        return (self.free, self.licences) == (other.free, other.licences)

    __hash__ = None

    def __str__(self):
        return f"{self.free} free processors and {self.licences} licences"


class Pools(NamedTuple):
    """What is free of both, by row."""

    level: Any
    shadow: Any


@inline
def need_of(state, job, now):
    procs = state.jobs.procs[job]
    return procs, procs % 2


@inline
def has_room(state, row, need):
    level = state.machine.level
    return level[row, 0] >= need[0] and level[row, 1] >= need[1]


@inline
def occupy(state, row, need):
    state.machine.level[row, 0] -= need[0]
    state.machine.level[row, 1] -= need[1]


@inline
def vacate(state, row, need):
    state.machine.level[row, 0] += need[0]
    state.machine.level[row, 1] += need[1]


@inline
def copy_row(state, row, other):
    level = state.machine.level
    level[row, 0], level[row, 1] = level[other, 0], level[other, 1]


@inline
def same_rows(state, row, other):
    level = state.machine.level
    return level[row, 0] == level[other, 0] and level[row, 1] == level[other, 1]


register_functions(Pools, sys.modules[__name__])
