"""The processors left in each partition of a machine over time."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from math import inf
from typing import Any, NamedTuple


class Reservation(NamedTuple):
    """Processors of each partition that are reserved for a job for some time.

    Parameters
    ----------
    begin, end : int or float
        [s]
    procs : int
        Needs of the job.
    taken : list of int, shape (n_partitions,)
        Its processors by partition; less than `procs` in all if partitions exceed their shares.
    """

    begin: Any
    end: Any
    procs: int
    taken: list[int]


class PartitionProfile:
    """Processors left, by partition and in the whole machine, as a function of time.

    Parameters
    ----------
    now : int or float
        [s]
    left : sequence of int, shape (n_partitions,)
        Processors left in each partition now, without those in use.
    machine_left : int
        The same of the whole machine.
    """

    def __init__(self, now: Any, left: Sequence[int], machine_left: int) -> None:
        self.times = [now]
        self.left = [[*left, machine_left]]  # one row per step; the last column is the machine's

    def copy(self) -> "PartitionProfile":
        """Return an independent copy."""
        other = PartitionProfile(self.times[0], self.left[0][:-1], self.left[0][-1])
        other.times, other.left = list(self.times), [list(row) for row in self.left]
        return other

    def change(self, begin: Any, end: Any, by: Sequence[int], of_machine: int) -> None:
        """Add processors to each partition, and to the machine, from `begin` to `end`."""
        first, last = self._step(begin), len(self.times) if end == inf else self._step(end)
        for row in self.left[first:last]:
            for place, count in enumerate((*by, of_machine)):
                row[place] += count

    def _step(self, time: Any) -> int:
        """Return the place of the step that begins at `time`; add it if necessary."""
        place = bisect_left(self.times, time)
        if place == len(self.times) or self.times[place] > time:
            self.times.insert(place, time)
            self.left.insert(place, list(self.left[place - 1]))
        return place

    def least(self, begin: Any, end: Any) -> tuple[list[int], int]:
        """Return the least that is left from the step at `begin` to `end`: by partition, in all."""
        first = self.times.index(begin)
        last = max(bisect_left(self.times, end), first + 1)
        *partitions, machine = map(min, zip(*self.left[first:last], strict=True))
        return partitions, machine

    def earliest(self, needed: int, length: Any, among: Iterable[int] | None = None) -> Any:
        """Return the first time with room for so long; inf if there is none.

        With `among`: room on these partitions together; without: on the whole machine alone.
        """
        for time in self.times:
            partitions, room = self.least(time, time + length)
            if among is not None:
                room = min(room, sum(max(partitions[place], 0) for place in among))
            if needed <= room:
                return time
        return inf

    def reserve(self, reservation: Reservation, sign: int = 1) -> None:
        """Subtract the processors of a reservation; with a `sign` of -1 add them."""
        begin, end, procs, taken = reservation
        self.change(begin, end, [-sign * count for count in taken], -sign * procs)


def share_out(needed: int, first: int, offers: Sequence[int]) -> list[int]:
    """Take the needed processors from the offers of partitions: `first`, then in their order.

    Examples
    --------
    >>> share_out(5, 1, [2, 1, 4])
    [2, 1, 2]
    """
    taken = [0] * len(offers)
    for place in sorted(range(len(offers)), key=lambda place: place != first):
        taken[place] = min(offers[place], needed)
        needed -= taken[place]
    return taken


def shares(machine: int, n_partitions: int) -> list[int]:
    """Divide a machine equally; the first partitions receive the remainder.

    Examples
    --------
    >>> shares(10, 4)
    [3, 3, 2, 2]
    """
    share, remainder = divmod(machine, n_partitions)
    return [share + (place < remainder) for place in range(n_partitions)]
