"""Arrivals of a log's jobs at their submit times: the functions for no users."""

import sys

from workloadkit._kernels.compile import bare
from workloadkit.simulation.compiled.events import arrive
from workloadkit.simulation.compiled.parts import register_functions


@bare
def next_coming(state, what, now):
    """Return the next submission."""
    submit, arrived = state.jobs.submit, state.at.arrived
    return submit[arrived] if arrived < submit.size else state.never


@bare
def submission_is_due(state, what, now):
    """Whether a submission is due."""
    submit, arrived = state.jobs.submit, state.at.arrived
    return arrived < submit.size and submit[arrived] <= now


@bare
def take_one(state, what, now):
    """Add the next job."""
    arrive(state, now)


@bare
def look_ahead(state, what, now):
    """Do nothing, as nothing is planned."""


@bare
def act_on_all(state, what, now):
    """Add all due jobs."""
    submit, at = state.jobs.submit, state.at
    while at.arrived < submit.size and submit[at.arrived] <= now:
        arrive(state, now)


@bare
def act_on_submissions(state, what, now):
    """Add all due jobs."""
    act_on_all(state, what, now)


@bare
def notify_user(state, job, now):
    """Do nothing, as there are no users."""


register_functions(type(None), sys.modules[__name__])
