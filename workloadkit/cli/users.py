"""The users, as the help of commands lists them, and how a command finds out who is meant."""

from pathlib import Path
from typing import Literal

from workloadkit.errors import ParameterError

#: Users who submit by the timestamps of a log, who go through one and react, and who need none.
Who = Literal["open", "reacting", "made up"]

#: The names with their parameters and defaults, and what they do, within 76 columns.
USERS = """
open                      submit by their timestamps, whatever happens
closed:think=none|recorded
                          one job at a time, each after the last has ended
dependent                 wait for what fields 17 and 18 of the log say
adjusted                  wait for what a batch depends on, then take the
                          think or inter-arrival time that they took
distribution:response=last|end
                          likewise, with hours of work, and sessions that
                          go on by chance, the less so the worse the service
fluid:end=threshold|end|submit,skipped=recycle|reinsert,patience=T,leave=T
                          likewise, within the times of their sessions

Users who need no TRACE (times in seconds):
site:users=50,weeks=26    sessions that end by bad service, by day and night
                          (more parameters: patience, leave, workpool,
                          pools, repeat, longest; see `workloadkit site`)
static-site:sessions=10,weeks=26
                          sessions that never end
poisson:rate=R            jobs at random times; for all that follow:
                          run=1|LOG,law=exponential|fixed|drawn|listed,
                          procs=1|LOG,jobs=10000,until=T
think:users=N,think=Z     N users, one job each, think time Z
mixed:rate=R,users=N,think=Z,again=...
                          both on one machine; with again, which has the
                          forms below, the former may submit again
reopen:rate=R,again=0.5|exp:THETA|hyperbolic:A,B|table:T/P,T/P,...,think=1
                          users who submit again with a probability that
                          may fall with the response time; thinking, too,
                          may follow from it: think=breaks:SHORT,LONG,LIMIT
"""


def who_is_meant(users: str, trace: Path | None, *, resampled: bool = False) -> Who:
    """Find out what sort of users a command is to simulate.

    Raises
    ------
    ParameterError
        For an unknown name, or where a log is named for users who need none.
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
    return "made up"
