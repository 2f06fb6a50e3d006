"""Schedulers: one file a policy, by the names of the command line.

A policy is a small frozen object: its parameters, a name, and two forms of the same decisions,
one for each engine. `known` lists those built in; `parse` reads ``name:param=value,...``.
"""

from dataclasses import fields
from typing import Any

from workloadkit.errors import ParameterError
from workloadkit.simulate.engine import Scheduler
from workloadkit.simulate.schedulers.easy import Easy
from workloadkit.simulate.schedulers.fcfs import Fcfs
from workloadkit.simulate.schedulers.policy import Policy

__all__ = ["Easy", "Fcfs", "Policy", "Scheduler", "known", "parse"]


def known() -> dict[str, type[Policy]]:
    """Return the policies built in, by name."""
    return {policy.name: policy for policy in (Fcfs, Easy)}


def parse(text: str) -> Policy:
    """Make a policy from its name and parameters.

    Parameters
    ----------
    text : str
        ``name`` or ``name:param=value,...``; one value without ``param=`` is the first parameter.

    Raises
    ------
    ParameterError
        For an unknown name, parameter or value; it names the known ones.

    Examples
    --------
    >>> parse("easy")
    Easy()
    """
    name, _, settings = text.partition(":")
    if name not in known():
        raise ParameterError(f"unknown scheduler {name!r}; known: {', '.join(known())}")
    policy: Any = known()[name]
    types: dict[str, Any] = {f.name: f.type for f in fields(policy)}
    values: dict[str, object] = {}
    for setting in filter(None, settings.split(",")):
        parameter, equals, value = setting.partition("=")
        if not equals and types:
            parameter, value = next(iter(types)), setting
        if parameter not in types:
            raise ParameterError(
                f"scheduler {name} has no parameter {parameter!r}; "
                f"known: {', '.join(types) or 'none'}"
            )
        convert = types[parameter]
        try:
            values[parameter] = convert(value)
        except ValueError:
            raise ParameterError(f"scheduler {name}: {parameter} is {value!r}") from None
    return policy(**values)
