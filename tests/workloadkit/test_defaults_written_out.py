"""A parameter that is written out with its default is the part without it."""

from dataclasses import fields

import pytest

import workloadkit as wk
from tests.small_logs import random_log
from workloadkit.simulation import predictors, schedulers, users

NEEDED = {
    "user-priority": "alpha_user=0.5",
    "factor": "times=2",
    "f-model": "f=2",
    "poisson": "rate=1",
    "think": "users=2,think=3",
    "cautious": "users=2,think=3",
    "mixed": "rate=1,users=2,think=3",
    "reopen": "rate=1,again=0.5",
}


def written(value):
    """A value as on the command line."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "/".join(map(str, value)) if isinstance(value, tuple) else value


@pytest.mark.parametrize("kind", [schedulers, predictors, users])
def test_a_default_written_out_changes_nothing(kind):
    n_tested = 0
    for name in kind.known():
        text = f"{name}:{NEEDED[name]}" if name in NEEDED else name
        part = kind.parse(text)
        for field in fields(part):
            value = getattr(part, field.name)
            if not field.init or value is None or value == () or f"{field.name}=" in text:
                continue
            sign = "," if ":" in text else ":"
            assert kind.parse(f"{text}{sign}{field.name}={written(value)}") == part
            n_tested += 1
    assert n_tested > 5


@pytest.mark.parametrize(
    ("name", "order"),
    [("easy", "arrival"), *((name, name) for name in ("sjf", "ljf", "smallest", "largest"))],
)
def test_backfilling_in_the_order_of_the_queue_is_the_same(name, order):
    for reservations in (1, 3):
        same, written_out = (
            wk.simulate(
                random_log(4, 200),
                f"{name}:{how}reservations={reservations}",
                procs=16,
                engine="python",
            ).start.tolist()
            for how in ("", f"backfill={order},")
        )
        assert same == written_out
