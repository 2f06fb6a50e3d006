"""Run independent tasks in this process or in an executor."""

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    wait,
)
from itertools import islice
from typing import Any, TypeVar

from workloadkit.errors import ParameterError, WorkloadError, quoted

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


def check_reach_workers(executor: Executor | None, kind: str, things: Mapping[str, Any]) -> None:
    """Check that the processes of a pool can receive custom things.

    Parameters
    ----------
    executor : Executor or None
        Only processes of a `ProcessPoolExecutor` are checked.
    kind : str
        What the things are, for messages.
    things : mapping of str to object

    Raises
    ------
    ParameterError
        If one cannot be pickled, or a worker cannot import it.
    """
    if executor is None:
        return
    from concurrent.futures import ProcessPoolExecutor

    if not isinstance(executor, ProcessPoolExecutor):
        return
    for name, thing in things.items():
        try:
            ((_, why),) = each_done(_why_unreadable, [pickle.dumps(thing)], executor)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            why = str(error)
        if why:
            raise ParameterError(
                f"{kind} {quoted(name)} cannot be sent to worker processes: {why}; define it in "
                "a module"
            )


def _why_unreadable(pickled: bytes) -> str:
    """Return why this process cannot read something pickled; empty if it can."""
    try:
        pickle.loads(pickled)
    except Exception as error:  # importing a module may raise anything
        return f"{type(error).__name__}: {error}"
    return ""
