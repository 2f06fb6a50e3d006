"""At which load the re-open model is stable.

Long responses drive users away, so it is p after long responses that decides: it is stable if and
only if lam < c (1 - p(∞)) / S, for any think time.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from queueing.arguments import Flags, Floats, Rule
from queueing.errors import QueueingError
from queueing.probability import Probability
from queueing.spare_capacity import idle_share


def stability_rules(p: Probability, S: Any, servers: Any) -> list[Rule]:
    """Return what must hold for users to leave faster than they come.

    Raises
    ------
    QueueingError
        If p has no parameters and tends to 1.
    """
    if not p.names and float(p.limit) == 1:
        raise QueueingError(f"p is a {p} that tends to 1 for long responses; users never leave")

    def leave_at_once(at: Mapping[str, Floats]) -> Flags:
        return (at["S"] > 0) | (p.with_values(at).first < 1)

    def leave(at: Mapping[str, Floats]) -> Flags:
        return (at["S"] == 0) | (p.with_values(at).limit < 1)

    def stable(at: Mapping[str, Floats]) -> Flags:
        leaving = np.maximum(1.0 - p.with_values(at).limit, 1e-300)
        return (at["S"] == 0) | (idle_share(at["lam"], at["S"], at["servers"] * leaving) > 0)

    rules = [Rule("S", leave_at_once, "be above 0 where p(0) is 1, or users never leave")]
    if p.names:
        condition = "be such that p falls below 1 for long responses, or users never leave"
        rules.append(Rule(p.names[-1], leave, condition))
    try:
        most = f" = {float(servers) * (1.0 - float(p.limit)) / float(S):g}"
    except (TypeError, ValueError, ArithmeticError):  # arrays, or no numbers at all
        most = ""
    condition = f"be below servers (1 - p after long responses) / S{most}"
    return [*rules, Rule("lam", stable, condition)]


def most_load(p: Probability, S: Floats, servers: Floats) -> Floats:
    """Return the least lam that is too much; infinite where S is 0."""
    most = servers * (1.0 - p.limit)
    return np.divide(most, S, out=np.full(S.shape, np.inf), where=S > 0)
