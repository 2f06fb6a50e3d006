"""Run independent tasks in this process or in an executor."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from itertools import islice
from typing import TypeVar

from workloadkit.errors import WorkloadError

Task = TypeVar("Task")
Result = TypeVar("Result")

_AT_ONCE = 64  # maximum number of submitted tasks


def each_done(
    function: Callable[[Task], Result],
    tasks: Iterable[Task],
    executor: Executor | None = None,
) -> Iterator[tuple[Task, Result]]:
    """Call a function for each task and yield the results as they become available.

    Parameters
    ----------
    function : callable
    tasks : iterable
        Consumed lazily, as capacity becomes available.
    executor : Executor, optional
        By default the tasks run in this process, in order.

    Yields
    ------
    task, result

    Raises
    ------
    WorkloadError
        If a worker process ends before its task is done.

    Examples
    --------
    >>> list(each_done(abs, [-1, 2]))
    [(-1, 1), (2, 2)]
    """
    if executor is None:
        for task in tasks:
            yield task, function(task)
        return
    left = iter(tasks)
    running: dict[Future[Result], Task] = {}
    try:
        while True:
            for task in islice(left, _AT_ONCE - len(running)):
                running[executor.submit(function, task)] = task
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(future), future.result()
    except BrokenExecutor:
        raise WorkloadError(
            "a worker ended before its task was done; it may have run out of memory"
        ) from None
