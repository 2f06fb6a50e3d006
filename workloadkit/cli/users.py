"""The kinds of users that a command simulates."""

from pathlib import Path
from typing import Literal

from workloadkit.errors import ParameterError

#: Users who submit by the timestamps of a log, who react to its service, and who need no log.
Who = Literal["open", "reacting", "synthetic"]


def kind_of_users(users: str, trace: Path | None, *, resampled: bool = False) -> Who:
    """Return the kind of users that a command simulates.

    Raises
    ------
    ParameterError
        For an unknown name, or a log with users who need none.
    """
    from workloadkit.simulation.users import OpenUsers, parse
    from workloadkit.simulation.users.behaviour import Community

    behaviour = parse(users)
    if isinstance(behaviour, OpenUsers):
        return "open"
    if not isinstance(behaviour, Community):
        return "reacting"
    if trace is not None or resampled:
        what = f"the log {trace}" if trace is not None else "--resampled"
        raise ParameterError(
            f"users {behaviour.name} submit their own jobs: {what} is for users who replay a log"
        )
    return "synthetic"
