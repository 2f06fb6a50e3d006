"""`workloadkit generate`: what is made and what wrong usage gets."""

from functools import partial

import numpy as np
import pytest

import workloadkit as wk
from workloadkit import models
from workloadkit.cli.topics import TOPICS
from workloadkit.parameters import written


@pytest.fixture
def run(run):
    return partial(run, "generate")


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.swf"
    wk.write_swf(wk.load_sample().take(range(1500)), path)
    return path


@pytest.mark.parametrize("name", models.known())
def test_a_model_is_written_and_said(run, tmp_path, name):
    path = tmp_path / "made.swf.gz"
    code, out, err = run(name, "--jobs", 300, "--procs", 64, "--seed", 4, "-o", path)
    assert (code, out) == (0, "")
    made = wk.read_swf(path, strict=True)
    assert made.jobs.equals(models.known()[name](300, 64, rng=4).jobs)
    load = models.offered_load(made)
    assert err == f"wrote {path}\njobs 300, processors 64, load {load:.4g}, seed 4\n"


def test_the_log_goes_to_stdout_where_no_file_is_named(run, tmp_path):
    code, out, err = run("lublin", "--jobs", 50, "--seed", 1)
    assert code == 0
    (tmp_path / "out.swf").write_text(out)
    assert wk.read_swf(tmp_path / "out.swf").n_jobs == 50
    assert err.startswith("jobs 50, processors 128, load ")


def test_the_same_seed_gives_the_same_bytes(run, tmp_path):
    paths = [tmp_path / f"{i}.swf.gz" for i in range(3)]
    for path, seed in zip(paths, (7, 7, 8), strict=True):
        run("lublin:types=two", "--jobs", 500, "--load", 0.7, "--seed", seed, "-o", path)
    first, again, other = (path.read_bytes() for path in paths)
    assert first == again != other


def test_a_seed_that_was_not_given_is_in_the_header(run):
    _, out, _ = run("feitelson96:gap=50", "--jobs", 40)
    note = next(line for line in out.splitlines() if line.startswith("; Note:"))
    seed = note.partition("seed ")[2].partition(",")[0]
    assert "gap 50.0" in note
    assert run("feitelson96:gap=50", "--jobs", 40, "--seed", seed)[1] == out


@pytest.mark.parametrize("by", ["arrivals", "machine"])
def test_the_load_is_set(run, tmp_path, by):
    path = tmp_path / "made.swf"
    arguments = ("jann97", "--jobs", 2000, "--procs", 512, "--seed", 3, "-o", path)
    run(*arguments)
    plain = wk.read_swf(path)
    code, _, _ = run(*arguments, "--load", 0.25, "--load-by", by)
    assert code == 0
    made = wk.read_swf(path)
    assert models.offered_load(made) == pytest.approx(0.25, rel=0.01)
    assert (made.header.procs == 512) == (by == "arrivals")
    assert (made.column("submit") == plain.column("submit")).all() == (by == "machine")


def test_a_model_is_fitted_to_a_log(run, tmp_path, log):
    path = tmp_path / "made.swf"
    code, _, _ = run("jann97", "--like", log, "--jobs", 400, "--procs", 96, "--seed", 3, "-o", path)
    assert code == 0
    made = wk.read_swf(path)
    assert made.jobs.equals(models.jann97(400, 96, 3, like=wk.read_swf(log)).jobs)
    assert f"like {log.name} (sha256 " in made.header.get("Note")


def test_a_model_fitted_to_a_log_is_of_its_machine(run, tmp_path, log):
    path = tmp_path / "made.swf"
    code, _, err = run("jann97", "--like", log, "--jobs", 40, "--seed", 3, "-o", path)
    assert code == 0
    assert "jobs 40, processors 96, load " in err
    assert wk.read_swf(path).header.procs == 96


def test_what_a_log_does_not_contain_is_unknown(run, tmp_path, log):
    trace = wk.read_swf(log).take(range(50))
    wk.write_swf(wk.Trace(trace.jobs), tmp_path / "nameless.swf")
    over = ("tsafrir:max_estimate=172800", "--over", tmp_path / "nameless.swf")
    code, _, err = run(*over, "--seed", 3, "-o", tmp_path / "made.swf")
    assert code == 0
    assert err.endswith("jobs 50, processors unknown, load unknown, seed 3\n")


def test_estimates_are_laid_over_a_log(run, tmp_path, log):
    path = tmp_path / "made.swf"
    arguments = ("tsafrir:max_estimate=172800", "--over", log, "--seed", 3, "-o", path)
    code, _, err = run(*arguments)
    assert code == 0
    made, before = wk.read_swf(path), wk.read_swf(log)
    assert np.array_equal(made.column("run"), before.column("run"), equal_nan=True)
    assert (made.column("requested_time") == 172800).mean() > 0.2
    assert "jobs 1,500, processors 96" in err
    run(*arguments, "--load", 0.1, "--load-by", "users")
    fewer = wk.read_swf(path)
    assert fewer.jobs["user"].nunique() < before.jobs["user"].nunique()
    run(*arguments, "--load", 0.1)
    assert models.offered_load(wk.read_swf(path)) == pytest.approx(0.1, rel=1e-4)


def test_wrong_usage_is_2_and_writes_nothing(run, tmp_path, log):
    for arguments, message in (
        (
            ("lublin2", "--jobs", 5),
            "unknown model 'lublin2'; did you mean lublin? known: lublin, feitelson96",
        ),
        (("lublin",), "--jobs is missing"),
        (("lublin:types=3", "--jobs", 5), "types is '3'; known: one, two, batch, interactive"),
        (("lublin:size=3", "--jobs", 5), "model lublin has no parameter 'size'; known: types"),
        (("cirne:gap=long", "--jobs", 5), "model cirne: gap is 'long'; it is a number"),
        (("lublin", "--jobs", 0), "jobs is 0"),
        (("lublin", "--jobs", 5, "--procs", -1), "procs is -1"),
        (("lublin", "--jobs", 5, "--load", 0), "load is 0; it must be positive"),
        (("lublin", "--jobs", 1, "--load", 1), "it cannot be set"),
        (("lublin", "--jobs", 99, "--load", 1e9), "at most 3: write 0.9 for 90 %"),
        (
            ("lublin", "--jobs", 3, "--procs", 1024, "--load", 3, "--seed", 1),
            "all jobs would arrive within a second",
        ),
        (
            ("lublin", "--jobs", 5, "--load-by", "machine"),
            "--load-by requires --load, which",
        ),
        (("lublin", "--jobs", 5, "--load", 1, "--load-by", "users"), "requires --over"),
        (("cirne:gap=1e300", "--jobs", 5), "model cirne generates times of up to"),
        (
            ("lublin", "--jobs", 5, "--load-by", "x"),
            "--load-by is 'x'; known: arrivals, users",
        ),
        (("lublin", "--jobs", 5, "--like", "LOG"), "--like requires the model jann97, not lublin"),
        (("lublin", "--jobs", 5, "--over", "LOG"), "--over requires the model tsafrir, not lublin"),
        (("tsafrir", "--jobs", 5, "--over", "LOG"), "--over excludes --jobs and --procs"),
        (("tsafrir", "--procs", 5, "--over", "LOG"), "--over excludes --jobs and --procs"),
    ):
        path = tmp_path / "made.swf"
        code, out, err = run(*(log if a == "LOG" else a for a in arguments), "-o", path)
        assert (code, out) == (2, "")
        assert err.startswith("error: ") and message in err and err.count("\n") == 1
        assert not path.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("jann97", "--like", "none.swf", "--jobs", 5), "none.swf: no such file"),
        (("lublin", "--jobs", 500, "--load", 3, "--load-by", "machine"), "requires a machine of"),
        (("lublin", "--jobs", 5, "-o", "nowhere/made.swf"), "nowhere/made.swf: cannot be written"),
    ],
)
def test_what_is_at_fault_is_1(run, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    code, out, err = run("-o", "made.swf", *arguments)
    assert (code, out) == (1, "")
    assert err.startswith("error: ") and message in err and err.count("\n") == 1
    assert [*tmp_path.iterdir()] == []


def test_no_log_is_written_over(run, log):
    before = log.read_bytes()
    assert run("tsafrir", "--over", log, "-o", log)[0] == 2
    assert log.read_bytes() == before


def test_a_result_that_cannot_be_finished_leaves_nothing(run, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise KeyboardInterrupt

    path = tmp_path / "made.swf"
    monkeypatch.setattr(np, "cumsum", fail)
    assert run("lublin", "--jobs", 50, "-o", path)[0] == 130
    assert [*tmp_path.iterdir()] == []


def test_the_help_lists_all_models_within_80_columns(run):
    text = TOPICS["models"].text()
    listed = {line.split()[0] for line in text.splitlines() if line[:1].isalpha()}
    assert set(models.known()) <= listed
    assert max(map(len, text.splitlines())) <= 76
    _, help_text, _ = run("--help-all")
    for line in text.strip().splitlines():
        assert line.rstrip() in help_text
    for name, model in models.known().items():
        for parameter in set(written(model)) - {"load"}:
            assert parameter in text, f"{name}: {parameter}"


def test_the_users_of_a_log_are_changed_by_the_seed_before_estimates_are_laid_over(
    run, tmp_path, log
):
    path = tmp_path / "made.swf"
    words = ("tsafrir:max_estimate=172800", "--over", log, "--seed", 3, "-o", path)
    assert run(*words, "--load", 0.1, "--load-by", "users")[0] == 0
    fewer = models.scale_load(wk.read_swf(log), 0.1, "users", rng=3)
    assert wk.read_swf(path).jobs.equals(models.add_estimates(fewer, 3, max_estimate=172800).jobs)
