"""What the docstrings call a default is the default."""

import inspect
import re
from ast import literal_eval
from importlib import import_module
from pkgutil import walk_packages

import pytest

_LINE = re.compile(r"^(\w+(?:, \w+)*) : (?:.*?, )?default (.+)$", re.MULTILINE)


def stated_defaults(package):
    """Each parameter whose default a docstring gives in figures or words: the value, as stated."""
    for found in walk_packages(import_module(package).__path__, f"{package}."):
        if found.name.endswith("__main__"):
            continue
        for name, made in vars(import_module(found.name)).items():
            if getattr(made, "__module__", "") != found.name or not callable(made):
                continue
            for names, text in _LINE.findall(inspect.getdoc(made) or ""):
                names, stated = names.split(", "), text.replace(",000", "000").split(" and ")
                for place, parameter in enumerate(names):
                    one = stated[place if len(stated) == len(names) else 0]
                    yield f"{name}({parameter})", made, parameter, one


@pytest.mark.parametrize("package", ["analysis", "queueing", "workloadkit"])
def test_defaults_are_those_of_the_docstrings(package):
    seen, wrong = 0, {}
    for name, made, parameter, text in stated_defaults(package):
        try:
            stated = literal_eval(text)
        except (SyntaxError, ValueError):
            continue  # in words, as "one week"
        default = inspect.signature(made).parameters[parameter].default
        seen += 1
        if default != stated:
            wrong[name] = default, stated
    assert not wrong
    assert seen > 10
