"""Where jobs are placed on nodes, in plain Python.

The room of a node for a job is the number of the job's processors that fit there; a job that gets
whole nodes has room on empty nodes only. A job fits if there is room for all its processors. It
takes the nodes that come first in the order of the placement: as many processors on each as there
is room for, and a node only if the others can be placed on the nodes behind it, which matters if
the number of its nodes is limited.
"""

from collections.abc import Sequence

from workloadkit.simulation.machine.shapes import CORES, GPUS, MEMORY, Shape

#: Orders of nodes: by number; fewest free processors first; most first; from the smallest run of
#: neighbours that holds the job, or the largest runs; from one run that must hold it.
PLACEMENTS = ("first", "packed", "spread", "consecutive", "contiguous")
FIRST, PACKED, SPREAD, CONSECUTIVE, CONTIGUOUS = PLACEMENTS

#: Free cores, memory and GPUs of each node.
Free = Sequence[Sequence[int]]


def find_place(
    shape: Shape, free: Free, capacity: Free, kinds: Sequence[int], placement: str
) -> dict[int, int] | None:
    """Return the processors that a job takes on nodes, None if it does not fit.

    Parameters
    ----------
    shape : Shape
        What it needs.
    free, capacity : sequence of (int, int, int)
        Cores, memory and GPUs of each node: free, and all.
    kinds : sequence of int
        Type of each node.
    placement : str
        One of `PLACEMENTS`.

    Examples
    --------
    >>> job = Shape(5, 8, 1, 8, 0, 0, 0, 0, 1)
    >>> free = [(2, 0, 0), (0, 0, 0), (3, 0, 0), (4, 0, 0), (1, 0, 0)]
    >>> [find_place(job, free, free, [0] * 5, placement) for placement in PLACEMENTS[:3]]
    [{0: 2, 2: 3}, {4: 1, 0: 2, 2: 2}, {3: 4, 2: 1}]
    """
    room = {
        node: fitting
        for node, left in enumerate(free)
        if (fitting := _room(shape, left, capacity[node], kinds[node])) > 0
    }
    if placement == CONTIGUOUS:
        for run in sorted(_runs(room), key=lambda run: sum(room[node] for node in run)):
            for begin in range(len(run)):
                taken = _fill(shape, run[begin:], room, skips=False)
                if taken is not None:
                    return taken
        return None
    return _fill(shape, _order(shape, free, room, placement), room, skips=True)


def _room(shape: Shape, free: Sequence[int], capacity: Sequence[int], kind: int) -> int:
    """Return how many processors of a job fit on a node."""
    if not shape.kinds >> kind & 1 or (shape.whole and free[CORES] < capacity[CORES]):
        return 0
    if free[MEMORY] < shape.node_memory or free[GPUS] < shape.gpus:
        return 0
    room = min(free[CORES], shape.per_node)
    return min(room, free[MEMORY] // shape.memory) if shape.memory else room


def _runs(room: dict[int, int]) -> list[list[int]]:
    """Return the nodes with room as runs of neighbours."""
    runs: list[list[int]] = []
    for node in room:
        if runs and runs[-1][-1] == node - 1:
            runs[-1].append(node)
        else:
            runs.append([node])
    return runs


def _order(shape: Shape, free: Free, room: dict[int, int], placement: str) -> list[int]:
    """Return the nodes with room in the order of a placement; equal ones by number."""
    if placement == PACKED:
        return sorted(room, key=lambda node: free[node][CORES])
    if placement == SPREAD:
        return sorted(room, key=lambda node: -free[node][CORES])
    if placement == FIRST:
        return list(room)
    runs = _runs(room)
    size = {run[0]: sum(room[node] for node in run) for run in runs}
    runs.sort(key=lambda run: size[run[0]])
    holding = [run for run in runs if size[run[0]] >= shape.procs]
    if holding:
        runs.remove(holding[0])
        runs.insert(0, holding[0])
    else:
        runs.sort(key=lambda run: -size[run[0]])
    return [node for run in runs for node in run]


def _fill(
    shape: Shape, order: Sequence[int], room: dict[int, int], *, skips: bool
) -> dict[int, int] | None:
    """Take processors of nodes in their order, without or with nodes that are skipped."""
    if not shape.limits_nodes and skips and sum(room.values()) < shape.procs:
        return None
    left = shape.procs
    taken: dict[int, int] = {}
    for place, node in enumerate(order):
        if left == 0:
            break
        further = max(shape.fewest - len(taken) - 1, 0)  # each of these takes at least one
        number = min(room[node], left - further)
        taken[node] = number
        left -= number
        if number <= 0 or len(taken) > shape.most:
            suits = False
        else:
            suits = not (skips and shape.limits_nodes) or _can_follow(
                shape, left, [room[other] for other in order[place + 1 :]], len(taken)
            )
        if not suits:
            if not skips:
                return None
            del taken[node]
            left += number
    return taken if left == 0 and len(taken) >= shape.fewest else None


def _can_follow(shape: Shape, left: int, rooms: list[int], n_taken: int) -> bool:
    """Whether the rest of a job fits on nodes that come later."""
    best = sorted(rooms, reverse=True)[: shape.most - n_taken]
    return left <= sum(best) and shape.fewest - n_taken <= min(left, len(rooms))
