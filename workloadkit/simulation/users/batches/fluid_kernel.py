"""The common part of users whose sessions keep their times, compiled.

The behaviour defines the sessions by its functions `latest_end`, `next_begin` and `use`, see
`parts`.
"""

from math import inf

from workloadkit._kernels.compile import bare, inline
from workloadkit.simulation.parts import by_part
from workloadkit.simulation.users.batches.drawing_kernel import (
    ABORTED,
    CONTINUED,
    LEFT,
    WITHIN,
    continues_session,
    draw,
    response,
)


@inline
def _nothing(users, who, now):
    pass


#: (users, who, now): latest end of the user's sessions that have begun by now; `-inf` for none.
_latest_end = by_part("behaviour", "latest_end", how="bare")

#: (users, who, now): when the next session begins, after now.
_next_begin = by_part("behaviour", "next_begin", how="bare")

#: (users, who, arrival): a batch arrives, and uses the present session.
_use = by_part("behaviour", "use", _nothing, "bare")


@bare
def begins_again(users, who, shift):
    """Move the sessions of a user who begins again."""
    users.behaviour.shift[who] = shift


@bare
def returns(users, who, now):
    """Whether a user who has finished begins again, and has not left."""
    waited = response(users, who, users.progress.next_batch[who] - 1, False, now)
    return not _leaves(users, waited)


@bare
def arrival(users, released, now):
    """Return when a batch that is released now arrives; `inf` for never."""
    who, batch, by_end = released
    behaviour = users.behaviour
    counts = behaviour.drawing.counts
    waited = response(users, who, batch - 1, False, now)
    if _leaves(users, waited):
        return inf
    end = _latest_end(users, who, now)
    at_work = end >= now
    planned = inf
    if waited <= behaviour.patience and (at_work or behaviour.overtime):
        planned = now + draw(users, who, WITHIN + by_end)
    goes_on = planned <= end
    if not goes_on:
        begin = _next_begin(users, who, now)
        goes_on = behaviour.overtime and planned < begin and continues_session(users, waited)
        if not goes_on:
            planned = begin
    if goes_on:
        counts[CONTINUED] += 1
    elif at_work:
        counts[ABORTED] += 1
    _use(users, who, planned)
    return planned


@bare
def _leaves(users, waited):
    """Whether a user leaves for good after waiting this long."""
    if waited > users.behaviour.leave:
        users.behaviour.drawing.counts[LEFT] += 1
        return True
    return False
