"""Executors for the tasks of a command: this process, several, or a Dask cluster."""

import gc
import os
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workloadkit.cli.commands import RARE
from workloadkit.cli.output import warn_in_one_line
from workloadkit.errors import ParameterError, WorkloadError
from workloadkit.experiments.custom_parts import IMPORTED, import_modules

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Executor, Future
    from multiprocessing.synchronize import Lock

WorkersOption = Annotated[int, typer.Option(min=1, metavar="N", help="Number of processes.")]
DaskOption = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        show_default=False,
        rich_help_panel=RARE,
        help="Run on the workers of a Dask scheduler, such as tcp://head:8786. All files must have "
        "the same paths there.",
    ),
]


def usable_processors() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def executor(
    workers: int, *, dask: str | None = None, loaded: str = "workloadkit.experiments.worker"
) -> "Iterator[Executor | None]":
    """Yield an executor: processes, or a Dask cluster; None for this process alone.

    On Linux, `loaded` is what the workers have in common: a module that is imported once.
    """
    if dask is not None and workers > 1:
        raise ParameterError("--workers and --dask exclude each other")
    if dask is not None:
        with _cluster(dask) as cluster:
            yield cluster
    elif workers == 1:
        yield None
    else:
        with _processes(workers, loaded) as pool:
            yield pool


@contextmanager
def _processes(workers: int, loaded: str) -> "Iterator[Executor]":
    """Yield a pool of processes that end with this one.

    On Linux they are forks of one server process, which loads the program while this one reads its
    input.
    """
    from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
    from multiprocessing import active_children, forkserver, get_context

    from workloadkit._kernels import compile as compiling
    from workloadkit.cli.stopping import undisturbed

    class Pool(ProcessPoolExecutor):
        """Signals wait while a submission starts a worker."""

        def submit(self, /, *call: Any, **keywords: Any) -> "Future[Any]":
            with undisturbed():
                try:
                    return super().submit(*call, **keywords)
                except (EOFError, OSError) as error:  # the server was killed
                    raise BrokenExecutor from error

    with undisturbed():
        _start_tracker()  # first, as it unblocks Ctrl-C
    context: Any = get_context("spawn")
    if sys.platform == "linux":
        context = get_context("forkserver")
        context.set_forkserver_preload([loaded])
        with undisturbed(), _safe_path():
            forkserver.ensure_running()
    warned = context.Lock()
    if not compiling.warned.acquire(False):
        warned.acquire()
    compiling.warned = warned
    pool = Pool(workers, context, initializer=_begin_work, initargs=(IMPORTED, warned))
    try:
        yield pool
    except BaseException:  # also an interrupt: do not wait for the workers
        for process in active_children():
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _start_tracker() -> None:
    """Start the process of Python that cleans up after killed ones, once.

    Python would start it again if it is killed. The new one would then print an error for each
    thing that the first one was to clean up.
    """
    from multiprocessing import resource_tracker

    tracker: Any = resource_tracker._resource_tracker
    if "_send" in vars(tracker):
        return
    tracker.ensure_running()
    send = tracker._send

    def send_if_it_runs(*message: str) -> None:
        with suppress(OSError):
            os.write(tracker._fd, b"PROBE:0:noop\n")
            send(*message)

    tracker._send = send_if_it_runs
    tracker.ensure_running = resource_tracker.ensure_running = lambda: None


@contextmanager
def _safe_path() -> "Iterator[None]":
    """Start Python so that it imports nothing from the working directory."""
    before = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONSAFEPATH"]
        else:
            os.environ["PYTHONSAFEPATH"] = before


def _begin_work(modules: list[str], warned: "Lock") -> None:
    """Prepare a worker; custom modules are those imported by the time it starts.

    One process warns of a kernel that is missing, the first that has taken the lock.
    """
    from workloadkit._kernels import compile as compiling
    from workloadkit.cli.stopping import end_with_parent

    compiling.warned = warned

    end_with_parent()
    gc.freeze()  # what is shared stays shared, and is not searched for garbage
    import_modules(modules)
    warn_in_one_line()


@contextmanager
def _cluster(address: str) -> "Iterator[Executor]":
    """Yield a Dask cluster."""
    import logging
    from concurrent.futures import CancelledError

    try:
        from distributed import Client, KilledWorker
    except ImportError:
        raise ParameterError(
            "--dask needs the package distributed: pip install 'workloadkit[dask]'"
        ) from None
    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # errors are one line here
    try:
        client = Client(address, timeout="10s")
    except (OSError, ValueError, TypeError) as error:
        raise WorkloadError(f"{address}: no Dask scheduler answers: {error}") from None
    try:
        with client:
            cluster = client.get_executor(pure=False)
            try:
                yield cluster
            finally:
                cluster.shutdown(wait=False)  # cancels what has not ended
    except (CancelledError, KilledWorker, OSError) as error:
        why = str(error) or "the scheduler has gone"
        raise WorkloadError(f"{address}: {why}; the same command continues") from None
