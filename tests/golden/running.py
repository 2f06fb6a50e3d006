"""Run many cases, in several processes."""

import multiprocessing
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import NamedTuple

from tests.golden.cases import ENGINES, Case
from tests.golden.play import play


class Played(NamedTuple):
    """What came of some cases.

    Parameters
    ----------
    values : dict
        What `play` returns, by key and engine.
    seconds : dict of str to float
        CPU time of each engine. [s]
    """

    values: dict[str, dict[str, str]]
    seconds: dict[str, float]


def play_all(cases: Iterable[Case], engine: str, processes: int) -> Iterator[Played]:
    """Play cases, those of a policy in one process, which loads its kernels once.

    Parameters
    ----------
    cases : iterable of Case
    engine : {"compiled", "python", "both"}
        ``both`` are those that the digest of a case is made by.
    processes : int
    """
    groups = defaultdict(list)
    for case in cases:
        groups[case.policy].append(case)
    tasks = list(groups.values())
    if processes == 1:
        yield from (_play_group(task, engine) for task in tasks)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, context, _leave_interrupts) as pool:
        try:
            futures = {pool.submit(_play_group, task, engine): task[0].policy for task in tasks}
            for n_done, future in enumerate(as_completed(futures), 1):
                yield future.result()
                print(f"{n_done} of {len(tasks)}: {futures[future]}", file=sys.stderr, flush=True)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for child in multiprocessing.active_children():
                child.terminate()
            raise


def _leave_interrupts() -> None:
    """Leave Ctrl-C to the process that waits for this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _play_group(cases: Iterable[Case], engine: str) -> Played:
    played = Played({}, dict.fromkeys(ENGINES, 0.0))
    for case in cases:
        played.values[case.key] = {}
        for one in case.engines if engine == "both" else (engine,):
            begin = time.process_time()
            played.values[case.key][one] = play(case, one)
            played.seconds[one] += time.process_time() - begin
    return played
