"""Fixtures and settings that all tests share."""

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("workloadkit", deadline=None)  # a first call compiles
settings.load_profile("workloadkit")


@pytest.fixture
def rng() -> np.random.Generator:
    """A generator with a fixed seed."""
    return np.random.default_rng(20260101)
