"""Documented defaults are those that a call has."""

import importlib
import inspect
import pkgutil
import re
from ast import literal_eval
from collections.abc import Callable, Iterator
from typing import Any

import pytest

PARAMETER = re.compile(r"^([\w, ]+) : .*\bdefault (.+)$", re.MULTILINE)
IN_WORDS = {"inf": float("inf"), "range(1, 201)": range(1, 201)}


def documented(package: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield all functions, classes and methods of the package by their names."""
    for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
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


@pytest.mark.parametrize(
    ("package", "least"), [("analysis", 20), ("queueing", 10), ("workloadkit", 90)]
)
def test_documented_defaults_are_those_of_the_call(package, least):
    seen, wrong = 0, []
    for name, thing in documented(package):
        for parameters, text in PARAMETER.findall(inspect.getdoc(thing) or ""):
            known, names = inspect.signature(thing).parameters, parameters.split(", ")
            values = stated_values(text)
            values = values * len(names) if len(values) == 1 else values
            seen += len(values)
            for parameter, value in zip(names, values, strict=False):
                if known[parameter].default != value:
                    wrong.append(f"{name}: {parameter} is {known[parameter].default}, not {value}")
    assert not wrong
    assert seen > least
