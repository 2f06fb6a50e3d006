"""What a repetition of the passes of a schedule finds."""

from typing import Any, NamedTuple


class ReplayResult(NamedTuple):
    """The result of the comparison.

    Parameters
    ----------
    passes : int
        Number of passes.
    differing : int
        Number of instants at which the schedule starts other jobs.
    undetermined : int
        Number of further instants of this kind, or possibly so, whose decision is not recorded.
    waits : int
        At the first difference, the first job that the policy starts and the schedule does not; -1
        for none.
    starts : int
        The first job that only the schedule starts; -1 for none.
    reserved : int
        The job with the first reservation then; -1 for none.
    now : int or float
        Time of that instant. [s]
    begin : int or float
        Begin of that reservation. [s]
    until : int or float
        If an instant was undetermined, the time from which kept reservations are unknown. [s]
    """

    passes: int
    differing: int
    undetermined: int
    waits: int
    starts: int
    reserved: int
    now: Any
    begin: Any
    until: Any
