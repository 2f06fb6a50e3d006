"""The kinds of users that a command simulates."""

from pathlib import Path
from typing import Any, Literal

from workloadkit.errors import ParameterError

#: Users who submit by the timestamps of a log, who react to its service, and who need no log.
Who = Literal["open", "reacting", "synthetic"]


def kind_of_users(users: Any, trace: Path | None, *, resampled: bool = False) -> Who:
    """Return the kind of users that a command simulates, by name or as an object.

    Raises
    ------
    ParameterError
        For an unknown name, or a log with users who need none.
    """
    from workloadkit.simulation.users import OpenUsers, parse
    from workloadkit.simulation.users.behaviour import Behaviour, LogBehaviour

    behaviour = parse(users) if isinstance(users, str) else users
    if isinstance(behaviour, OpenUsers):
        return "open"
    if isinstance(behaviour, Behaviour | LogBehaviour):
        return "reacting"
    if trace is not None or resampled:
        what = f"the log {trace}" if trace is not None else "--resampled"
        name = getattr(behaviour, "name", type(behaviour).__name__)
        raise ParameterError(
            f"users {name} submit their own jobs: {what} is for users who replay a log"
        )
    return "synthetic"
