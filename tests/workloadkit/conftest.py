"""Fixtures of the tests of the plain engine."""

import pytest


@pytest.fixture
def seen():
    return []


@pytest.fixture
def note(seen):
    """Write down in `seen`: a function, which the copies made for a simulation share."""
    return lambda entry: seen.append(entry)
