"""Good tables of jobs, as CSV and as lines of JSON, and the mapping of their columns."""

import json
from random import Random

MAPPING = {
    "source": {"where": "queue IS NULL OR queue <> 'test'"},
    "times": {"unit": "s", "unknown": [0]},
    "durations": {"unit": "s"},
    "fields": {
        **{name: name for name in ("id", "submit", "start", "run", "procs", "gpus", "queue")},
        "end": '"end"',
        "user": '"user"',
        "requested_time": {"sql": '"limit"', "unit": "clock", "unknown": ["UNLIMITED"]},
        "requested_memory": {"sql": "mem", "unit": "suffix", "per": "job"},
        "state": "state",
    },
    "states": {"done": "completed", "bad": "failed", "gone": "cancelled"},
}


def _jobs(rng: Random) -> list[dict[str, object]]:
    begin, found = 1_700_000_000, []
    for number in range(rng.randrange(1, 30)):
        begin += rng.randrange(600)
        start = begin + rng.randrange(900)
        run, ran = rng.randrange(7200), rng.random() < 0.8
        found.append(
            {
                "id": f"j{number}",
                "submit": begin,
                "start": start if ran else 0,
                "end": start + run if ran else 0,
                "run": run if ran else None,
                "limit": rng.choice(["01:00:00", "2-00:00:00", "UNLIMITED", "30:00"]),
                "procs": rng.choice([1, 4, 12.5, 64]),
                "gpus": rng.choice([0, 2, None]),
                "mem": rng.choice(["4G", "500M", "0", ""]),
                "state": rng.choice(["done", "bad", "gone"]),
                "user": rng.choice(["ann", "bob", "Zoë"]),
                "queue": rng.choice(["day", "night", "test"]),
            }
        )
    return found


def as_csv(rng: Random) -> bytes:
    """A table with a line of names."""
    jobs = _jobs(rng)
    rows = [",".join("" if v is None else str(v) for v in job.values()) for job in jobs]
    return "\n".join([",".join(jobs[0]), *rows, ""]).encode()


def as_lines(rng: Random) -> bytes:
    """The same as lines of JSON."""
    return "".join(f"{json.dumps(job, ensure_ascii=False)}\n" for job in _jobs(rng)).encode()
