"""Logs that lack users, waits or jobs: a measure gives numbers and draws, or says what it needs."""

import importlib
import json

import pytest
from matplotlib.figure import Figure

import workloadkit as wk
from workloadkit import (
    ParameterError,
    Trace,
    WorkloadError,
    analysis,
    delimit_sessions,
    think_times,
)

MEASURES = {
    "compare": analysis.compare,
    "compare_batches": analysis.sessions.compare_batches,
    "compare_predictors": analysis.reactions.compare_predictors,
    "compare_session_methods": analysis.sessions.compare_session_methods,
    "correlations": analysis.distributions.correlations,
    "daily_concentration": lambda log: analysis.locality.daily_concentration(log, "run", rng=1),
    "feedback_signature": analysis.reactions.feedback_signature,
    "fit_continuation": analysis.reactions.fit_continuation,
    "fit_marginals": analysis.fits.fit_marginals,
    "hurst_of": analysis.memory.hurst_of,
    "measure_reactions": analysis.reactions.measure_reactions,
    "nearer_is_more_alike": analysis.locality.nearer_is_more_alike,
    "shuffled_similarity": lambda log: analysis.locality.shuffled_similarity(
        log, n_shuffles=3, rng=1
    ),
    "similarity_by_distance": lambda log: analysis.locality.similarity_by_distance(
        log, attribute="run"
    ),
    "site_distributions": wk.site.site_distributions,
    "stack_depths": analysis.locality.stack_depths,
    "suggest_threshold": analysis.sessions.suggest_threshold,
    "working_hours": analysis.load.working_hours,
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


@pytest.mark.slow
@pytest.mark.parametrize("logs", [["one job", "no users", "none awaited"], LOGS])
def test_a_log_that_lacks_something_is_measured_or_refused(logs):
    for measure in MEASURES:
        for lacking in logs:
            trace = Trace.from_columns(LOGS[lacking], name="poor")
            if measure in REFUSED[lacking]:
                with pytest.raises(WorkloadError, match="poor"):
                    MEASURES[measure](trace)
                continue
            found = MEASURES[measure](trace)
            parts = type(found).__module__.split(".")
            group = importlib.import_module(".".join(parts[: 3 if "analysis" in parts else 2]))
            assert type(found).__name__ in group.__all__
            json.dumps(found.to_dict(), allow_nan=False)
            if measure == "compare" and not found.curves:
                with pytest.raises(WorkloadError, match="no jobs"):
                    found.plot()
                continue
            ax = Figure().subplots()
            assert found.plot(ax) is ax
            ax.figure.canvas.draw()


OF_SEVERAL = (
    analysis.reactions.compare_predictors,
    analysis.reactions.feedback_signature,
    analysis.reactions.fit_continuation,
    analysis.reactions.followed_jobs,
    analysis.reactions.measure_reactions,
    wk.site.site_distributions,
    analysis.load.working_hours,
)


def test_what_is_no_log_is_refused():
    for given, said in (
        ([], "no log given"),
        ("log.swf", "read it first"),
        (["log.swf"], "read it first"),
    ):
        for measure in OF_SEVERAL:
            with pytest.raises(ParameterError, match=said):
                measure(given)


OF_ONE_LOG = {
    **{
        measure.__name__: measure
        for measure in (
            analysis.characterize,
            analysis.sessions.compare_batches,
            analysis.sessions.compare_session_methods,
            analysis.distributions.correlations,
            analysis.load.coverage,
            analysis.fits.fit_marginals,
            analysis.memory.hurst_of,
            analysis.sessions.inter_arrivals,
            analysis.locality.nearer_is_more_alike,
            analysis.distributions.quantities,
            analysis.distributions.run_over_estimate,
            analysis.sessions.session_lengths,
            analysis.locality.shuffled_similarity,
            analysis.locality.stack_depths,
            analysis.sessions.suggest_threshold,
            analysis.load.summarize_load,
            analysis.users.user_shares,
            analysis.load.weekly_cycle,
        )
    },
    "daily_concentration": lambda log: analysis.locality.daily_concentration(log, "run"),
    "similarity_by_distance": lambda log: analysis.locality.similarity_by_distance(
        log, attribute="run"
    ),
    "delimit_sessions": delimit_sessions,
    "think_times": think_times,
}


def test_what_is_no_log_is_refused_with_what_to_do():
    for given, message in (
        ("log.swf", "trace is 'log.swf'; read it first"),
        (None, "trace is None; it must be a Trace"),
    ):
        for name in OF_ONE_LOG:
            with pytest.raises(ParameterError, match=message):
                OF_ONE_LOG[name](given)


def test_a_log_without_jobs_has_no_load_and_no_week():
    for measure in (analysis.load.summarize_load, analysis.load.weekly_cycle):
        with pytest.raises(WorkloadError, match="trace has no jobs"):
            measure(Trace.from_columns({"submit": []}))
