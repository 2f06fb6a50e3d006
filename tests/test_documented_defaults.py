"""Documented defaults are those that a call has."""

import importlib
import inspect
import pkgutil
import re
from ast import literal_eval
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields
from typing import Any

import pytest

import workloadkit

PARAMETER = re.compile(r"^([\w, ]+) : .*\bdefault (.+)$", re.MULTILINE)
IN_WORDS = {"inf": float("inf"), "range(1, 201)": range(1, 201)}


def documented() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield all functions, classes and methods by their names."""
    for module in pkgutil.walk_packages(workloadkit.__path__, "workloadkit."):
        if module.name.endswith("__main__"):
            continue
        for name, thing in vars(importlib.import_module(module.name)).items():
            if callable(thing) and getattr(thing, "__module__", None) == module.name:
                yield name, thing
                for part, method in vars(thing).items() if inspect.isclass(thing) else ():
                    if inspect.isfunction(method):
                        yield f"{name}.{part}", method


def stated_values(text: str) -> list[Any]:
    """Values that are stated in figures, or in words that are known here."""
    try:
        text = text.replace(",000", "000")
        values = [text] if text in IN_WORDS else text.split(" and ")
        return [IN_WORDS[value] if value in IN_WORDS else literal_eval(value) for value in values]
    except (SyntaxError, ValueError):
        return []  # as "one week"


def test_documented_defaults_are_those_of_the_call():
    seen, wrong = 0, []
    for name, thing in documented():
        for parameters, text in PARAMETER.findall(inspect.getdoc(thing) or ""):
            known, names = inspect.signature(thing).parameters, parameters.split(", ")
            values = stated_values(text)
            values = values * len(names) if len(values) == 1 else values
            seen += len(values)
            for parameter, value in zip(names, values, strict=False):
                if known[parameter].default != value:
                    wrong.append(f"{name}: {parameter} is {known[parameter].default}, not {value}")
    assert not wrong
    assert seen > 120


RULE = {"spare": "extra", "strict": False}
EASY = {"backfill": "same", "reservations": 1} | RULE
VARYING = {"backfill": "same"} | RULE
INF = float("inf")
NAMED_SCORES = (
    *("lcfs", "saf", "laf", "sqf", "lqf", "srf", "lrf", "exp", "sexp", "lxf", "f2", "f3", "f4"),
)
JOBS = {"run": 1.0, "law": None, "procs": 1, "jobs": None, "until": None}
SITE = {
    "weeks": 26.0,
    "workpool": "independent",
    "pools": "one",
    "classes": "one",
    "repeat": None,
    "longest": INF,
}

#: What a name without parameters stands for; those without a default are left out.
BY_NAME = {
    "schedulers": {
        "fcfs": {},
        "recorded": {},
        **dict.fromkeys(("easy", "sjf", "ljf", "smallest", "largest"), EASY),
        "f1": {"since": "log"} | EASY,
        **dict.fromkeys(NAMED_SCORES, {"oldest_first": INF} | EASY),
        "order": {"score": "submit", "oldest_first": INF, "half_life": 604800.0, "parameters": ()}
        | EASY,
        **dict.fromkeys(("wfp3", "unicef"), VARYING),
        "conservative": {"compression": "full"},
        "reservations": {"depth": 1},
        "lookahead": {"depth": 50},
        "selective": {"threshold": 2.0},
        "slack": {"factor": 1.0, "cost": "wait", "queues": "", "depth": 50},
        "priority-fifo": {"queues": ""} | EASY,
        "creasy": {"alpha": 6000.0, "light": INF, "fairness": 0.0, "experience": 0.0}
        | {"half_life": INF}
        | RULE,
        "user-priority": {"alpha_user": 0.5, "by": "load"} | RULE,
        "multi-queue": {"partitions": 4},
        "self-adaptive": {"threshold": 10.0, "weeks": 1, "most": 4, "forecast": "replay"}
        | {"measure": "bounded_slowdown", "family": "multi-queue", "candidates": ()}
        | {"run_times": "estimated"},
        "genetic": {"window": 50, "individuals": 20, "generations": 100, "mutation": 0.1}
        | {"queues": ""},
    },
    "users": {
        "open": {},
        "dependent": {},
        "adjusted": {"threshold": 3600},
        "closed": {"think": "none"},
        "distribution": {"response": "last"},
        "fluid": {
            "end": "threshold",
            "skipped": "recycle",
            "patience": INF,
            "leave": INF,
            "overtime": False,
        },
        "poisson": JOBS,
        "think": JOBS | {"think_law": "exponential"},
        "cautious": JOBS | {"think_law": "exponential", "limit": 10, "pause": 3600.0},
        "mixed": JOBS | {"think_law": "exponential", "again": None, "step": None},
        "reopen": JOBS | {"think": 1.0, "think_law": "exponential", "step": None},
        "site": SITE
        | {
            "users": 50,
            "patience": INF,
            "leave": INF,
            "going_on": "published",
            "fairness": 0.0,
            "distributions": None,
        },
        "static-site": SITE | {"sessions": 10, "distributions": None},
    },
}


@pytest.mark.parametrize("kind", BY_NAME)
def test_a_name_alone_stands_for_the_usual_parameters(kind):
    known = importlib.import_module(f"workloadkit.simulation.{kind}").known()
    found = {
        name: {field.name: field.default for field in fields(made) if field.default is not MISSING}
        for name, made in known.items()
    }
    assert found == BY_NAME[kind]
