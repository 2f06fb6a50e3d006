"""Documented defaults are those that a call has."""

import importlib
import inspect
import pkgutil
import re
from ast import literal_eval
from collections.abc import Callable, Iterator
from typing import Any

import workloadkit as wk
from workloadkit.clock import DAY, WEEK

PARAMETER = re.compile(r"^([\w, ]+) : .*\bdefault (.+)$", re.MULTILINE)
IN_WORDS = {
    "inf": float("inf"),
    "12 weeks": 12 * WEEK,
    "4 weeks": 4 * WEEK,
    "48 h": 2 * DAY,
    "256 KiB": 2**18,
    "range(1, 201)": range(1, 201),
    "all three": ("jobs", "work", "users"),
}


def documented() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield all functions, classes and methods of the package by their names."""
    for module in pkgutil.walk_packages(wk.__path__, "workloadkit."):
        for name, thing in vars(importlib.import_module(module.name)).items():
            if callable(thing) and getattr(thing, "__module__", None) == module.name:
                yield name, thing
                for part, method in vars(thing).items() if inspect.isclass(thing) else ():
                    if inspect.isfunction(method):
                        yield f"{name}.{part}", method


def test_documented_defaults_are_those_of_the_call():
    stated, wrong = 0, []
    for name, thing in documented():
        for parameters, defaults in PARAMETER.findall(inspect.getdoc(thing) or ""):
            values = [defaults] if defaults in IN_WORDS else defaults.split(" and ")
            values = [IN_WORDS[v] if v in IN_WORDS else literal_eval(v) for v in values]
            known = inspect.signature(thing).parameters
            names = parameters.split(", ")
            stated += len(names)
            values = values * len(names) if len(values) == 1 else values
            for parameter, value in zip(names, values, strict=True):
                if known[parameter].default != value:
                    wrong.append(f"{name}: {parameter} is {known[parameter].default}, not {value}")
    assert not wrong
    assert stated > 100
