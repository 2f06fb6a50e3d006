"""What a scheduler decides step by step, and the sentence of each rule."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

#: The sentence of each rule: what it decides, and why.
SENTENCES = {
    "in order": "starts: it is the first in the queue and needs {procs} (free: {free})",
    "blocks": "waits: it is the first in the queue and needs {procs} (free: {free}); no job may "
    "overtake it",
    "behind": "waits: no job may overtake job {head}",
    "reserved": "waits: it is the first in the queue and needs {procs} (free: {free}); its start "
    "is reserved for {begin} (spare then: {spare})",
    "in time": "starts: it needs {procs} (free: {free}), and it ends by {end}, not after the start "
    "reserved for job {head}, {begin}",
    "spare": "starts: it needs {procs} (free: {free}); it may run until {end}, beyond the start "
    "reserved for job {head}, {begin}, on spare processors (spare then: {spare})",
    "too long": "waits: it needs {procs} (free: {free}), but it may run until {end}, beyond the "
    "start reserved for job {head}, {begin} (spare then: {spare})",
    "too long, no spare": "waits: it needs {procs} (free: {free}), but it may run until {end}, "
    "beyond the start reserved for job {head}, {begin}, and no job uses spare processors",
    "slot now": "starts: its slot, the earliest with {procs} for its whole estimate, begins now "
    "(free: {free})",
    "slot later": "waits: its slot, the earliest that was found with {procs} for its whole "
    "estimate, begins at {begin} (free now: {free})",
    "held": "waits: its slot began at {begin}, but a job that has outlived its estimate holds the "
    "processors; it needs {procs} (free: {free})",
    "around": "starts: it needs {procs} (free: {free}), and until {end} no reservation needs them",
    "in the way": "waits: it needs {procs} (free: {free}), but until {end} a reservation needs "
    "some of them",
    "does not fit": "waits: it needs {procs} (free: {free})",
    "starts": "starts; the policy gives no reason",
    "waits": "waits; the policy gives no reason",
}


@dataclass(frozen=True)
class Decision:
    """What a scheduler decides on one job, and why.

    Parameters
    ----------
    job : int
        Number of the job.
    starts : bool
        Whether it starts; otherwise it waits.
    rule : str
        Name of the rule, see `SENTENCES`.
    values : dict of str to float
        What the rule compares: `procs`, the processors that the job needs, and `free`, those that
        are free before the decision; `end`, its planned end [s]; `head`, the job with a
        reservation; `begin`, the reserved start [s]; `spare`, processors that are free then.
    sentence : str
        The decision and its reason in words.
    """

    job: int
    starts: bool
    rule: str
    values: Mapping[str, Any]
    sentence: str


@dataclass(frozen=True)
class Step:
    """One step of a schedule: events, decisions, and the state after them.

    Parameters
    ----------
    time : int or float
        [s]
    submitted, ended, cancelled : tuple of int
        Jobs of which the scheduler learns before its decisions; empty in further steps of an
        instant.
    decisions : tuple of Decision
        One start, or all jobs about which the scheduler decides in a row that they wait.
    queue : tuple of int
        The waiting jobs, in the order of the policy.
    planned_ends : dict of int to float
        The running jobs, with their ends by the estimates. [s]
    free : int
        Free processors.
    reserved : dict of int to float
        Waiting jobs with a reservation, and its begin: in EASY the shadow time. [s]
    """

    time: Any
    submitted: tuple[int, ...]
    ended: tuple[int, ...]
    cancelled: tuple[int, ...]
    decisions: tuple[Decision, ...]
    queue: tuple[int, ...]
    planned_ends: Mapping[int, Any]
    free: int
    reserved: Mapping[int, Any]
