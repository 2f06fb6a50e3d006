"""The jobs of a log arrive at their submit times, whatever happens: the functions of no users."""

import sys

from workloadkit._kernels.compile import bare
from workloadkit.simulation.events import arrive
from workloadkit.simulation.parts import register_functions
from workloadkit.simulation.state import ARRIVED


@bare
def next_coming(state, what, now):
    """When the next job is submitted."""
    submit, arrived = state.jobs.submit, state.at[ARRIVED]
    return submit[arrived] if arrived < submit.size else state.never


@bare
def submission_is_due(state, what, now):
    """Whether a job is submitted now."""
    submit, arrived = state.jobs.submit, state.at[ARRIVED]
    return arrived < submit.size and submit[arrived] <= now


@bare
def take_one(state, what, now):
    """Let the next job arrive."""
    arrive(state, now)


@bare
def look_ahead(state, what, now):
    """Nothing is planned."""


@bare
def act_on_all(state, what, now):
    """Let all jobs arrive that are due."""
    submit, at = state.jobs.submit, state.at
    while at[ARRIVED] < submit.size and submit[at[ARRIVED]] <= now:
        arrive(state, now)


@bare
def act_on_submissions(state, what, now):
    """Let all jobs arrive that are due."""
    act_on_all(state, what, now)


@bare
def notify_user(state, job, now):
    """Nobody wants to know."""


register_functions(type(None), sys.modules[__name__])
