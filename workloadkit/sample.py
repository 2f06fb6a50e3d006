"""The built-in sample log, used by every command without a log."""

from functools import cache
from importlib.resources import as_file, files

from workloadkit.io.swf import read_swf
from workloadkit.trace import Trace

#: The name of its file.
NAME = "sample.swf.gz"


def load_sample() -> Trace:
    """Read the built-in sample log.

    It is synthetic: half a year of some 60 users on a machine of 96 processors, with sessions,
    daily and weekly cycles, users' estimates and the waits of EASY. ``make sample`` generates it
    from its seed.

    Returns
    -------
    trace : Trace

    Examples
    --------
    >>> sample = load_sample()
    >>> sample.name, sample.header.number("MaxProcs")
    ('sample.swf.gz', 96)
    """
    with as_file(files("workloadkit") / "data" / NAME) as path:
        return read_swf(path)


def is_sample(trace: Trace) -> bool:
    """Whether a log is the built-in sample, as it was read."""
    return trace.name == NAME and trace.digest == _digest()


@cache
def _digest() -> str:
    return load_sample().digest
