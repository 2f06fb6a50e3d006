"""Simulations in both engines, which must agree."""

import workloadkit as wk

ENGINES = ("compiled", "python")


def agree(trace, scheduler, users="open", **how):
    """Simulate in both engines, which must agree in all columns and runs; return the schedule."""
    compiled, plain = (
        wk.simulate(trace, scheduler, users, rng=1, engine=engine, **how) for engine in ENGINES
    )
    assert compiled.jobs.equals(plain.jobs)
    assert list(compiled.runs) == list(plain.runs)
    return compiled


def starts(trace, scheduler, users="open", **how):
    """Return the starts in both engines, which must agree."""
    return agree(trace, scheduler, users, **how).start.tolist()
