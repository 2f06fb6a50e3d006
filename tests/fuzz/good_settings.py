"""Good inputs that commands take next to a log: metasystems, tables, shares, expressions."""

import json
from random import Random
from typing import Any

_SCHEDULERS = ("easy", "fcfs", "conservative", "easy:backfill=sjf", "order:score=-procs*wait")
_POLICIES = ("home", "random", "least-work", "shortest-wait", "cheapest", "redundant:sites=2")


def metasystem(rng: Random) -> bytes:
    """A few sites with few jobs of models, logs, users or graphs; `log.swf` is next to it."""
    names = ["north", "south", "east"][: rng.randrange(1, 4)]
    sites: list[dict[str, Any]] = [_site(name, rng) for name in names]
    links = [
        {"between": [names[0], name], "latency": rng.choice([0, 0.2, 5]), "bandwidth": 1e8}
        for name in names[1:]
    ]
    sources = [_source(names, rng) for _ in range(rng.randrange(1, 3))]
    whole = {
        "format": 1,
        "sites": sites,
        "links": links,
        "meta_schedulers": [{"name": "grid", "policy": rng.choice(_POLICIES), "jobs": sources}],
        "seed": rng.randrange(99),
        "oversize": "drop",
    }
    return json.dumps(whole, indent=rng.choice([None, 1])).encode()


def _site(name: str, rng: Random) -> dict[str, Any]:
    site: dict[str, Any] = {
        "name": name,
        "procs": 2 ** rng.randrange(4, 9),
        "scheduler": rng.choice(_SCHEDULERS),
        "price": rng.choice([0, 0.02]),
        "speed": rng.choice([1, 1, 1.5]),
    }
    match rng.randrange(5):
        case 0:
            site["jobs"] = {"model": "lublin", "jobs": 8, "load": 0.8, "share": 0.5}
        case 1:
            site["jobs"] = {"log": "log.swf", "where": "procs<=64", "users": "fluid"}
        case 2:
            site["jobs"] = {"users": "think:users=2,think=1h,run=60,procs=4,jobs=8"}
        case 3:
            site["waits"] = {"mean": 600, "law": "exponential", "error": 0.5}
        case _:
            site["access"] = {"max_procs": 64, "users": [1, 2, 3], "groups": [1, -1]}
            site["publishes"] = {"every": rng.choice(["10min", 60]), "what": ["work", "plan"]}
    return site


def _source(names: list[str], rng: Random) -> dict[str, Any]:
    match rng.randrange(4):
        case 0:
            tasks = [
                {"name": "a", "run": 60, "procs": 2},
                {"name": "b", "run": 90.5, "after": {"a": 1e9}, "estimate": 100},
                {"name": "c", "run": 5, "after": ["a", "b"]},
            ]
            return {"graph": {"tasks": tasks}, "submit": [0, 50], "home": names[0]}
        case 1:
            return {"log": "log.swf", "home": names[-1], "stage_in": 1e9, "parts": 2}
        case _:
            return {
                "model": "lublin",
                "jobs": 8,
                "home": names[0],
                "stage_in": rng.choice([0, 1e6]),
            }


def graph(rng: Random) -> bytes:
    """An application: tasks, each after some of those before it."""
    tasks: list[dict[str, Any]] = []
    for i in range(rng.randrange(1, 7)):
        after = {f"t{j}": rng.randrange(10**9) for j in range(i) if rng.random() < 0.4}
        kept: Any = after if rng.random() < 0.5 else [*after]
        tasks.append({"name": f"t{i}", "run": rng.randrange(9000), "procs": 2, "after": kept})
    return json.dumps({"tasks": tasks}).encode()


def table(rng: Random) -> bytes:
    """Utility functions of jobs, or shapes for queues and users."""
    keys = rng.choice([["job"], [], ["queue"], ["user"], ["queue", "user", "shape"], ["shape"]])
    lines = [",".join([*keys, "time", "value"])]
    for i in range(1, rng.randrange(2, 7)):
        named = ["low" if key == "shape" else str(i) for key in keys]
        end = rng.randrange(2, 9999)
        for time, value in ((0, 5), (end // 2, 2.5), (end, 0)):
            lines.append(",".join([*named, str(time), str(value)]))
        if not keys:
            break
    return "\n".join([*lines, ""]).encode()


def shares(rng: Random) -> bytes:
    """Shares of accounts: a table of two columns, or the output of sshare."""
    if rng.random() < 0.5:
        rows = [("bio", rng.randrange(1, 99)), ("art", 0.5), ("phys", 30)]
        return "\n".join(["account,shares", *(f"{a},{s}" for a, s in rows), ""]).encode()
    head = "Account|User|RawShares|NormShares|RawUsage|EffectvUsage|FairShare"
    rows_of_slurm = [
        "root|||0.000000|9000|1.000000|",
        " root|root|1|0.500000|0|0.000000|0.900000",
        " bio||1|0.250000|9000|0.900000|",
        "  bio|ann|1|0.125000|50|0.100000|0.500000",
        "  bio|bob|parent|0.125000|50|0.100000|0.500000",
        " art||1|0.250000|0|0.000000|",
    ]
    return "\n".join([head, *rows_of_slurm, ""]).encode()


_TESTS = (
    "procs>=16", "16 <= procs < 64", "user in (3, 5..9)", "not run>2h", "queue=1",
    "submit>=2d", "requested_memory<4GB", "status!=5", "group is not unknown", 'queue="a b"',
    "run=-1", "wait is unknown",
    "submit<2024-03-01", "start in (2024-03..2024-04-02)", "end>1h",
    "0<=submit<86400",
)  # fmt: skip


def where(rng: Random) -> bytes:
    """An expression that chooses jobs."""
    tests = rng.sample(_TESTS, rng.randrange(1, 5))
    joined = f" {rng.choice(['and', 'or'])} ".join(tests)
    return (f"({joined}) and user>0" if rng.random() < 0.3 else joined).encode()


_TERMS = (
    "wait", "-procs", "estimate*procs", "log2(procs+1)", "wait/estimate", "20h", "1.5e3", "since",
    "max(procs, 2, wait)", "where(procs>8, 1, 2)", "(now-submit)**2", "usage", "sqrt(abs(-wait))",
    "not procs<4", "user==3", "exp(-wait/3600)", "min(wait, 1d)", "queue != 2 and procs",
)  # fmt: skip


def score(rng: Random) -> bytes:
    """An expression by which jobs are ordered."""
    terms = rng.sample(_TERMS, rng.randrange(1, 5))
    text = terms[0]
    for term in terms[1:]:
        text += f" {rng.choice(['+', '-', '*', '/', '**', 'and', 'or', '<'])} ({term})"
    return text.encode()
