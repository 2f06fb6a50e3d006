"""Logs that lack users, waits or jobs: a measure gives numbers and draws, or says what it needs."""

import json

import pytest
from matplotlib.figure import Figure

import analysis
from workloadkit import ParameterError, Trace, WorkloadError, delimit_sessions, think_times

MEASURES = {
    "compare": analysis.compare,
    "compare_batches": analysis.compare_batches,
    "compare_predictors": analysis.compare_predictors,
    "compare_session_methods": analysis.compare_session_methods,
    "correlations": analysis.correlations,
    "daily_concentration": lambda log: analysis.daily_concentration(log, "run", rng=1),
    "feedback_signature": analysis.feedback_signature,
    "fit_continuation": analysis.fit_continuation,
    "fit_marginals": analysis.fit_marginals,
    "hurst_of": analysis.hurst_of,
    "measure_reactions": analysis.measure_reactions,
    "nearer_is_more_alike": analysis.nearer_is_more_alike,
    "shuffled_similarity": lambda log: analysis.shuffled_similarity(log, n_shuffles=3, rng=1),
    "similarity_by_distance": lambda log: analysis.similarity_by_distance(log, attribute="run"),
    "site_distributions": analysis.site_distributions,
    "stack_depths": analysis.stack_depths,
    "suggest_threshold": analysis.suggest_threshold,
    "working_hours": analysis.working_hours,
}
LOGS = {
    "no jobs": {"submit": []},
    "one job": {"submit": [0], "wait": [3], "run": [5], "procs": [1], "user": [1]},
    "none ran": {"submit": [0, 5], "run": [-1, -1], "procs": [1, 1], "user": [1, 1]},
    "no users": {"submit": [0, 5, 90], "wait": [1, 1, 1], "run": [9, 5, 3], "procs": [1, 1, 2]},
    "no waits": {"submit": [0, 5, 90], "run": [9, 5, 3], "procs": [1, 1, 2], "user": [1, 2, 1]},
    "none awaited": {
        "submit": [0, 5, 9],
        "wait": [0, 0, 0],
        "run": [900, 500, 3],
        "procs": [1, 1, 2],
        "user": [1, 1, 1],
    },
}


# What each kind of log cannot tell; a few jobs are never enough for a Hurst parameter.
_OF_PAIRS = {"nearer_is_more_alike", "shuffled_similarity", "similarity_by_distance"}
_OF_JOBS = {"hurst_of", "site_distributions", "stack_depths", "daily_concentration"} | _OF_PAIRS
REFUSED = {lacking: {"hurst_of"} for lacking in LOGS} | {
    "no jobs": _OF_JOBS,
    "none ran": _OF_JOBS,
    "no users": {"hurst_of", "site_distributions"} | _OF_PAIRS,
}


@pytest.mark.parametrize("lacking", LOGS)
@pytest.mark.parametrize("measure", MEASURES)
def test_a_log_that_lacks_something_is_measured_or_refused(measure, lacking):
    trace = Trace.from_columns(LOGS[lacking], name="poor")
    if measure in REFUSED[lacking]:
        with pytest.raises(WorkloadError, match="poor"):
            MEASURES[measure](trace)
        return
    found = MEASURES[measure](trace)
    assert type(found).__name__ in analysis.__all__
    json.dumps(found.to_dict(), allow_nan=False)
    if measure == "compare" and not found.curves:
        with pytest.raises(WorkloadError, match="no jobs"):
            found.plot()
        return
    ax = Figure().subplots()
    assert found.plot(ax) is ax
    ax.figure.canvas.draw()


OF_SEVERAL = (
    analysis.compare_predictors,
    analysis.feedback_signature,
    analysis.fit_continuation,
    analysis.followed_jobs,
    analysis.measure_reactions,
    analysis.site_distributions,
    analysis.working_hours,
)


@pytest.mark.parametrize("measure", OF_SEVERAL)
@pytest.mark.parametrize(
    ("given", "said"),
    [([], "no log given"), ("log.swf", "read it first"), (["log.swf"], "read it first")],
)
def test_what_is_no_log_is_refused(measure, given, said):
    with pytest.raises(ParameterError, match=said):
        measure(given)


OF_ONE_LOG = {
    **{
        name: getattr(analysis, name)
        for name in (
            *("characterize", "compare_batches", "compare_session_methods"),
            *("correlations", "coverage", "fit_marginals", "hurst_of", "inter_arrivals"),
            *("nearer_is_more_alike", "quantities", "run_over_estimate", "session_lengths"),
            *("shuffled_similarity", "stack_depths", "suggest_threshold", "summarize_load"),
            *("user_shares", "weekly_cycle"),
        )
    },
    "daily_concentration": lambda log: analysis.daily_concentration(log, "run"),
    "similarity_by_distance": lambda log: analysis.similarity_by_distance(log, attribute="run"),
    "delimit_sessions": delimit_sessions,
    "think_times": think_times,
}


@pytest.mark.parametrize("name", OF_ONE_LOG)
@pytest.mark.parametrize(
    ("given", "message"),
    [("log.swf", "trace is 'log.swf'; read it first"), (None, "trace is None; give a Trace")],
)
def test_what_is_no_log_is_refused_with_what_to_do(name, given, message):
    with pytest.raises(ParameterError, match=message):
        OF_ONE_LOG[name](given)


@pytest.mark.parametrize("measure", [analysis.summarize_load, analysis.weekly_cycle])
def test_a_log_without_jobs_has_no_load_and_no_week(measure):
    with pytest.raises(WorkloadError, match="trace has no jobs"):
        measure(Trace.from_columns({"submit": []}))
