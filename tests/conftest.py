"""Fixtures and settings that all tests share."""

import gc
import os
import signal
import sys
from collections.abc import Generator, Iterator

import numpy as np
import pytest
from hypothesis import settings

from tests.compiled import interpreting
from tests.data import needs_compiler
from tests.examples import SEARCH

# No deadline: a first call compiles. Few cases, and the same each time, so that who changed nothing
# meets nothing new; `make test-all` searches on, with the profile "search".
settings.register_profile("workloadkit", deadline=None, derandomize=True, max_examples=10)
settings.register_profile(SEARCH, deadline=None, max_examples=40)
settings.load_profile("workloadkit")


def pytest_collection() -> None:
    """Thousands of tests and all that they import stay: nobody need look there for garbage."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Look for garbage again, but not among them."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Look for no examples in the docstrings of tests, which have none."""
    return [found for found in (yield) if type(found) is pytest.Module]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Let simulations run as plain Python, unless the test is a slow one or needs more."""
    needed = needs_compiler.mark in item.iter_markers()
    if needed or any(item.get_closest_marker(mark) for mark in ("slow", "compiled")):
        return (yield)
    with interpreting():
        return (yield)


@pytest.fixture(autouse=True, scope="session")
def interruptible() -> None:
    """A shell that starts the tests in the background lets them ignore some signals."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(autouse=True, scope="session")
def one_name_each() -> Iterator[None]:
    """In a checkout, the folders at the top can be imported by two names: only one is ours."""
    yield
    assert not {"analysis", "queueing"} & sys.modules.keys()


@pytest.fixture(autouse=True, scope="session")
def no_configuration(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The defaults of options do not depend on who runs the tests."""
    os.environ["XDG_CONFIG_HOME"] = str(tmp_path_factory.mktemp("configuration"))


@pytest.fixture(autouse=True, scope="session")
def one_process() -> Iterator[None]:
    """Commands that run in the process of the tests start no others by themselves."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("workloadkit.cli.reports.usable_processors", lambda: 1)
        yield


@pytest.fixture(autouse=True, scope="session")
def compiled_by_default() -> Iterator[None]:
    """Tests that compile compare the engines, also where the plain one would be sooner."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("workloadkit._kernels.patience.PATIENCE", 0.0)
        yield


@pytest.fixture(autouse=True, scope="session")
def no_notices() -> Iterator[None]:
    """What commands print does not depend on what was compiled before."""
    with pytest.MonkeyPatch.context() as patch:
        for module in ("_kernels.compile", "_kernels.patience"):
            patch.setattr(f"workloadkit.{module}.notify", lambda line: None)
        yield


@pytest.fixture(autouse=True)
def no_figure_left() -> Iterator[None]:
    """What draws on the current axes must not meet those of another test."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


@pytest.fixture
def rng() -> np.random.Generator:
    """A generator with a fixed seed."""
    return np.random.default_rng(20260101)
