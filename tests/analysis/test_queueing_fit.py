"""Queueing models fitted to logs that a queue made, and to logs that no queue made."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import workloadkit as wk
from workloadkit import queueing
from workloadkit.analysis.queue_models import fit_queueing_model
from workloadkit.analysis.queue_models.fit_result import describe_fit
from workloadkit.cli import app

N = 3000


def first_come(submit, run, servers):
    """Waits by the definition of first come, first served."""
    free, waits = [0.0] * servers, []
    for at, lasts in zip(submit, run, strict=True):
        k = min(range(servers), key=free.__getitem__)
        start = max(at, free[k])
        free[k] = start + lasts
        waits.append(start - at)
    return waits


def log_of(submit, run, servers=2, **columns):
    wait = first_come(submit, run, servers)
    jobs = {"submit": submit, "run": run, "wait": wait, "procs": np.ones(N)} | columns
    return wk.Trace.from_columns(jobs)


@pytest.fixture(scope="module")
def draws():
    rng = np.random.default_rng(1)
    return np.cumsum(rng.exponential(100, N)), rng.exponential(150, N), rng


def test_a_log_of_a_queue_is_fitted_by_its_model(draws):
    submit, run, _ = draws
    found = fit_queueing_model(log_of(submit, run), procs=2, rng=1)
    assert found.accepted
    assert found.model == "mmc"
    of = queueing.mmc(N / submit[-1], run.mean(), 2)
    assert found.predictions.loc["mmc", "mean_wait"] == pytest.approx(of.W, rel=0.01)
    row = found.predictions.loc["mmc"]
    median = row["median_wait"]
    assert float(np.asarray(of.p_wait)) * np.exp(-median * (2 / run.mean() - N / submit[-1])) == (
        pytest.approx(0.5, abs=0.01)
    )
    assert row["mean_wait_low"] < found.predictions.loc["record", "mean_wait"]
    assert found.predictions.loc["record", "mean_wait"] < row["mean_wait_high"]
    assert found.verdict.startswith("M/M/c fits: mean wait")


@pytest.mark.parametrize(
    ("change", "broken"),
    [
        ({"run": 150.0}, "exponential run times"),
        ({"submit": 100.0}, "Poisson arrivals"),
        ({"procs": True}, "one size"),
    ],
)
def test_the_assumption_that_fails_is_named_with_its_measure(draws, change, broken):
    submit, run, rng = draws
    run = np.full(N, 150.0) if "run" in change else run
    submit = 100.0 * np.arange(N) if "submit" in change else submit
    columns = {"procs": rng.integers(1, 3, N)} if "procs" in change else {}
    found = fit_queueing_model(log_of(submit, run, **columns), procs=4, rng=1)
    assert broken in found.refused["mmc"]
    (test,) = (test for test in found.assumptions if test.name == broken)
    assert test.violated
    assert test.low <= test.high
    assert f"required {test.required:g}" in test.text


def test_general_service_is_fitted_by_the_wider_model(draws):
    submit, _, _ = draws
    found = fit_queueing_model(log_of(submit, np.full(N, 150.0)), procs=2, rng=1)
    assert found.model == "mgc"
    assert found.accepted
    mmc, mgc = (found.predictions.loc[name, "mean_wait"] for name in ("mmc", "mgc"))
    assert mgc == pytest.approx(mmc / 2)


def test_no_model_is_a_refusal_that_says_why(draws):
    submit, run, _ = draws
    day = submit % 86400 < 43200  # no arrivals in the afternoon
    shifted = np.sort(np.where(day, submit, submit - 43200))
    found = fit_queueing_model(log_of(shifted, run), procs=2, rng=1)
    assert not found.accepted
    assert found.verdict.startswith("No model fits; G/G/c is closest")
    assert "constant rate: the SCV of the rate of arrivals per hour is" in found.verdict
    assert found.to_dict()["accepted"] is False


def test_how_many_processors_is_answered_twice(draws):
    submit, run, _ = draws
    trace = log_of(submit, run)
    found = fit_queueing_model(trace, procs=2, target="mean_wait=10s", scheduler="fcfs", rng=1)
    answer = found.target
    enough, few = (np.mean(first_come(submit, run, answer.simulation - k)) for k in (0, 1))
    assert enough <= 10 < few
    assert answer.too_few == answer.simulation - 1
    W = [queueing.mmc(N / submit[-1], run.mean(), answer.theory - k).W for k in (0, 1)]
    assert W[0] <= 10 < W[1]
    assert answer.theory_low <= answer.theory <= answer.theory_high


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"target": "wait=1h"}, "target is 'wait=1h'; did you mean"),
        ({"target": "mean_wait=soon"}, "write mean_wait=1h"),
        ({"procs": 0}, "procs is 0"),
    ],
)
def test_wrong_parameters_are_named(draws, given, message):
    submit, run, _ = draws
    with pytest.raises(wk.ParameterError, match=message):
        fit_queueing_model(log_of(submit, run), **{"procs": 2} | given)


def test_too_few_jobs_and_an_unknown_machine_are_errors(draws):
    submit, run, _ = draws
    with pytest.raises(wk.WorkloadError, match="neither MaxProcs nor MaxNodes"):
        fit_queueing_model(log_of(submit, run))
    few = wk.Trace.from_columns({"submit": [0, 9], "run": [1, 1], "procs": [1, 1]})
    with pytest.raises(wk.WorkloadError, match="2 jobs ran; a fit needs 100"):
        fit_queueing_model(few, procs=2)


def test_the_command_prints_one_page(draws, tmp_path):
    submit, run, _ = draws
    path, target = tmp_path / "log.swf", tmp_path / "found.json"
    whole = np.floor(submit), np.maximum(np.rint(run), 1)
    wk.write_log(log_of(*whole), path)
    words = ["queueing", "fit", str(path), "--procs", "2", "--seed", "1", "--json", str(target)]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert len(lines) <= 50
    assert all(len(line) <= 80 for line in lines), max(lines, key=len)
    assert json.loads(target.read_text())["model"] in ("mmc", "mgc", "ggc")
    result = CliRunner().invoke(app, ["queueing", "fit", str(path), str(path)])
    assert result.exit_code == 2


def test_without_a_log_the_sample_is_fitted():
    result = CliRunner().invoke(app, ["queueing", "fit", "--seed", "1"])
    assert result.exit_code == 0, result.output
    assert "sample.swf.gz" in result.stdout
    assert "No model fits" in result.stdout


def test_the_page_has_all_models_and_tests(draws):
    submit, run, _ = draws
    lines = describe_fit(fit_queueing_model(log_of(submit, run), procs=2, rng=1))
    for name in ("record", "M/M/c", "M/G/c", "G/G/c", "Poisson arrivals", "stable"):
        assert any(line.startswith(name) for line in lines)
