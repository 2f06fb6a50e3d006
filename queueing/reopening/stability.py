"""Stability of the re-open model.

Users leave after long response times, so p at long response times decides: the model is stable if
and only if lam < c (1 - p(∞)) / S, for any think time.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from workloadkit.queueing.arguments import Condition, Flags, Floats
from workloadkit.queueing.errors import QueueingError
from workloadkit.queueing.probability import Probability
from workloadkit.queueing.spare_capacity import idle_share


def stability_rules(p: Probability, S: Any, servers: Any) -> list[Condition]:
    """Return the conditions of stability; an error if p has no parameters and tends to 1."""
    if not p.names and float(p.limit) == 1:
        raise QueueingError(f"p is a {p} that tends to 1 for long responses, so users never leave")

    def leave_at_once(at: Mapping[str, Floats]) -> Flags:
        return (at["S"] > 0) | (p.with_values(at).first < 1)

    def leave(at: Mapping[str, Floats]) -> Flags:
        return (at["S"] == 0) | (p.with_values(at).limit < 1)

    def stable(at: Mapping[str, Floats]) -> Flags:
        leaving = np.maximum(1.0 - p.with_values(at).limit, 1e-300)
        return (at["S"] == 0) | (idle_share(at["lam"], at["S"], at["servers"] * leaving) > 0)

    rules = [Condition("S", leave_at_once, "be above 0 if p(0) is 1, or users never leave")]
    if p.names:
        condition = "be such that p is below 1 for long response times, or users never leave"
        rules.append(Condition(p.names[-1], leave, condition))
    try:
        most = f" = {float(servers) * (1.0 - float(p.limit)) / float(S):g}"
    except (TypeError, ValueError, ArithmeticError):  # arrays, or not numbers
        most = ""
    condition = f"be below servers (1 - p after long response times) / S{most}"
    return [*rules, Condition("lam", stable, condition)]


def most_load(p: Probability, S: Floats, servers: Floats) -> Floats:
    """Return the smallest unstable lam; infinite if S is 0."""
    most = servers * (1.0 - p.limit)
    return np.divide(most, S, out=np.full(S.shape, np.inf), where=S > 0)
