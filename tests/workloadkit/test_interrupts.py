"""A signal at any moment stops each kernel and both engines at once, and leaves nothing partial."""

import doctest
import gc
import importlib
import io
import os
import pkgutil
import random
import re
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

import workloadkit as wk
from tests.data import needs_compiler
from tests.small_logs import busy_log
from tests.workloadkit.test_prebuilt import the_maker
from tests.workloadkit.test_stopping import ends
from workloadkit import metasystem
from workloadkit._kernels import compile as compiling
from workloadkit._kernels.object_code import Code
from workloadkit.analysis.locality import stack_depth
from workloadkit.analysis.report import OPERATIONS, SECTIONS
from workloadkit.metasystem.policies import known as meta_schedulers
from workloadkit.settings import Simulate
from workloadkit.simulation.in_chunks import simulate_in_chunks

LONGEST = 5.0  # s from a signal to its effect: most take a thousandth, but the machine may be busy
AGAIN = 1.0  # s after which it is sent again: Python loses those that come while it frees objects
#: Modules of which the examples are interrupted.
EXAMPLES = (
    r"workloadkit\.(queueing|resample|models|augment|gym|io\.swf|analysis\.(locality|memory)"
    r"|simulation\.(in_chunks|continuing|queue_state|stepping))(\..*)?"
)
N_PARTS = 10  # of the table


class Task(NamedTuple):
    """Something to be interrupted, and what it does if it is not."""

    name: str
    run: Callable[[], object]
    content: str
    files: dict[str, bytes]
    n_calls: int  # of native code
    seconds: float


def kernels():
    """All kernels of the package, without those for custom parts, which have the same source."""
    for module in pkgutil.walk_packages(wk.__path__, "workloadkit."):
        if not module.name.endswith("__main__"):
            things = vars(importlib.import_module(module.name)).values()
            found = (thing for thing in things if isinstance(thing, compiling.Kernel))
            yield from (kernel for kernel in found if kernel.is_cached)


def table():
    """What calls the kernels: the tasks of `make kernels`, and what has a registry of its own."""
    maker, sample = the_maker(), wk.load_sample()
    swf = b"".join(
        f"{i} {i} 0 1 1 -1 -1 1 1 -1 1 3 1 -1 1 -1 -1 -1\n".encode() for i in range(20_000)
    )
    log = wk.with_dependencies(sample).take(np.arange(150))
    valued = wk.add_utility(log, deadline="wait+run", rng=1)
    yield from maker.readings()
    yield from maker.simulations()
    in_python = partial(wk.simulate, rng=1, engine="python")
    for name in wk.schedulers.known():
        yield f"{name}, plain", partial(in_python, valued if name == "genetic" else log, name)
    for name in wk.users.known():
        yield f"{name} users, plain", partial(in_python, log, "easy", name)
    for name in meta_schedulers():
        for engine in ("compiled", "python"):
            yield f"meta-scheduler {name}, {engine}", partial(play_metasystem, name, engine)
    for name, section in (SECTIONS | OPERATIONS).items():
        yield f"section {name}", partial(section, sample.take(np.arange(1000)))
    for module in pkgutil.walk_packages(wk.__path__, "workloadkit."):
        if re.fullmatch(EXAMPLES, module.name):
            yield f"examples of {module.name}", partial(run_examples, module.name)
    shapes = pd.DataFrame({"shape": ["a", "a"], "time": [0, 1], "value": [1, 0]})
    yield "shapes of utility", partial(wk.add_utility, log, table=shapes, rng=1)
    yield "stack depths", partial(stack_depth, sample.column("run"), 0)
    yield "in chunks", partial(play_in_chunks, log)
    yield "read SWF", lambda: wk.read_swf(io.BytesIO(swf))
    yield "write SWF", partial(wk.write_swf, wk.read_swf(io.BytesIO(swf)), "out.swf")


def play_metasystem(name, engine):
    sites = [
        metasystem.Site(
            place, procs=8, scheduler=scheduler, jobs=metasystem.JobSource(log=busy_log(i))
        )
        for i, (place, scheduler) in enumerate({"a": "easy", "b": "conservative"}.items())
    ]
    jobs = metasystem.JobSource(log=busy_log(3), home="a") if name == "home" else None
    grid = metasystem.MetaScheduler("grid", name, [jobs or metasystem.JobSource(log=busy_log(3))])
    system = metasystem.Metasystem(sites=sites, meta_schedulers=[grid])
    return metasystem.simulate_metasystem(system, engine=engine, rng=1)


def play_in_chunks(log):
    """Simulate a log in chunks: each begins with what the one before has left."""
    begin, end = map(int, log.column("submit")[[20, 40]])
    outages = wk.Outages((wk.Outage(begin, begin, end, 3),))
    wk.write_log(log, "log.wkt.parquet")
    settings = Simulate(predictor="last-two", outages=outages)
    opened = wk.open_log("log.wkt.parquet")
    return simulate_in_chunks(opened, "easy", "open", settings, chunk=50).describe()


def run_examples(module):
    """Run the examples in the docstrings of a module."""
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    for test in doctest.DocTestFinder().find(importlib.import_module(module)):
        runner.run(test, out=lambda _: None)
    assert not runner.failures
    return runner.tries


def content(value):
    """A result as text."""
    if isinstance(value, metasystem.MetaSchedule | wk.Schedule | wk.Trace):
        return value.jobs.to_csv()
    if isinstance(value, pd.DataFrame):
        return value.to_csv()
    return re.sub(r" at 0x\w+", "", repr(value))


def outcome(run):
    try:
        return content(run())
    except wk.WorkloadError as error:  # what does not go together is refused
        return str(error)


@contextmanager
def native_calls(before):
    """Call `before` with the number of each call in another thread; yield those in the main one."""
    call, count, short = Code.__call__, iter(range(10**9)), []

    def counting(code, arguments):
        if threading.current_thread() is threading.main_thread():
            short.append(code)
        else:
            before(next(count))
        return call(code, arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Code, "__call__", counting)
        yield short


def files():
    """The files in the working directory, which are removed."""
    found = {path.name: path.read_bytes() for path in Path().iterdir()}
    for name in found:
        Path(name).unlink()
    return found


def played(name, run):
    """Play a task; what it compiles is compiled before."""
    outcome(run)
    numbers, begin = [], time.monotonic()
    with native_calls(numbers.append) as short:
        found = outcome(run)
    assert not short or re.search("gym|stepping", name), name  # from one decision to the next
    return Task(name, run, found, files(), len(numbers), time.monotonic() - begin)


def seconds_to_stop(run, moment):
    """Repeat a task until a signal stops it; return how long after the signal."""
    is_over, sent = threading.Event(), []

    def send():
        is_over.wait(moment)
        sent.append(time.monotonic())
        while not is_over.is_set():
            os.kill(os.getpid(), signal.SIGINT)
            is_over.wait(AGAIN)

    def handle(*_):
        if not is_over.is_set():
            raise KeyboardInterrupt

    before, sender = signal.signal(signal.SIGINT, handle), threading.Thread(target=send)
    try:
        sender.start()
        while True:
            outcome(run)
    except KeyboardInterrupt:
        return time.monotonic() - sent[0]
    finally:
        is_over.set()
        sender.join()
        signal.signal(signal.SIGINT, before)


def stops_for(run, place):
    """Whether a signal stops a repeated task while the call of native code at a place lasts."""
    is_stopped, found = threading.Event(), []

    def before(number):
        if number == place:
            os.kill(os.getpid(), signal.SIGINT)
            found.append(is_stopped.wait(LONGEST))

    with native_calls(before), suppress(KeyboardInterrupt):
        while not found:
            outcome(run)
    gc.collect()
    is_stopped.set()
    assert ends(lambda: not compiling.is_working())
    return found == [True]


def check(task, rng):
    """Interrupt a task at a random moment, and in a random call of native code."""
    assert seconds_to_stop(task.run, rng.uniform(0, 2 * task.seconds)) < LONGEST, task.name
    assert files().items() <= task.files.items(), task.name
    if task.n_calls:
        assert stops_for(task.run, rng.randrange(task.n_calls)), task.name
    assert ends(lambda: not compiling.is_working()), task.name
    files()
    assert outcome(task.run) == task.content, task.name
    assert files() == task.files, task.name


pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def where(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)  # of signals while objects are freed
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.freeze()  # what other tests left: to collect it takes seconds, while a task waits to stop
    yield
    gc.unfreeze()
    signal.signal(signal.SIGINT, before)


@needs_compiler
@pytest.mark.parametrize("name", ["section locality", "easy, plain", "easy open"])
def test_a_signal_at_any_moment_stops(name):
    run = next(run for found, run in table() if found == name)
    check(played(name, run), random.Random(1))


@cache
def tasks():
    return [played(*task) for task in table()]


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("part", range(N_PARTS))
def test_a_signal_at_any_moment_stops_each_kernel_and_engine(part):
    for i, task in enumerate(tasks()):
        if i % N_PARTS == part:
            check(task, random.Random(i))


@pytest.mark.slow
@needs_compiler
def test_each_kernel_is_in_the_table():
    tasks()
    for kernel in kernels():
        assert kernel._codes, f"{kernel.py_func.__module__}.{kernel.__name__}"
