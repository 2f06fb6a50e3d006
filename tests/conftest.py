"""Fixtures and settings that all tests share."""

import signal

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("workloadkit", deadline=None)  # a first call compiles
settings.load_profile("workloadkit")


@pytest.fixture(autouse=True, scope="session")
def interruptible() -> None:
    """A shell that starts the tests in the background lets them ignore interrupts."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def rng() -> np.random.Generator:
    """A generator with a fixed seed."""
    return np.random.default_rng(20260101)
