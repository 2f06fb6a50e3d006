"""Loads are fractions of the capacity, and the same words refuse percentages everywhere."""

from functools import partial

import pytest

import workloadkit as wk
from workloadkit import models

SAID = "; it is a fraction, at most 3: write 0.9 for 90 %"


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "log.swf"
    wk.write_swf(wk.load_sample().take(range(300)), path)
    return path


@pytest.mark.parametrize("load", [3.001, 90, 120])
def test_a_percentage_is_no_load_on_the_command_line(run, small, tmp_path, load):
    made = ("--jobs", 20, "--procs", 8)
    for words, option in (
        (("simulate", small), "--offered-load"),
        (("check", small, small), "--offered-load"),
        (("sweep", small), "--load"),
        (("generate", "lublin", *made), "--load"),
        (("generate", "lublin", *made, "--load-by", "machine"), "--load"),
        (("generate", "tsafrir", "--over", small), "--load"),
    ):
        code, out, err = run(*words, option, load)
        assert (code, out, err) == (2, "", f"error: {option} is {load:g}{SAID}\n")
    file = tmp_path / "grid.toml"
    for key in ("loads = [0.5, LOAD]", "offered_load = LOAD"):
        content = f'logs = ["{small}"]\nschedulers = ["easy"]\n' + key.replace("LOAD", str(load))
        file.write_text(content)
        code, _, err = run("experiment", "run", file, "--out", tmp_path / "results")
        assert code == 2
        if key.startswith("loads"):
            assert err == f"error: {file}: loads is {load:g}{SAID}\n"


@pytest.mark.parametrize("load", [3.001, 90])
def test_a_percentage_is_no_load_in_python(load):
    log = wk.load_sample()
    made = [
        partial(getattr(models, name), 20, 8, rng=1, load=load)
        for name in ("cirne", "downey97", "feitelson96", "jann97", "lublin", "tsafrir")
    ]
    for call in (
        *made,
        *(lambda by=by: models.scale_load(log, load, by) for by in ("arrivals", "users")),
        lambda: models.scale_load(log, load, "machine"),
        lambda: wk.simulate(log, offered_load=load),
        lambda: wk.sweep(log, ["easy"], [0.5, load]),
        lambda: wk.Experiment({"a": log}, ["easy"], loads=[load]),
    ):
        with pytest.raises(wk.ParameterError, match=f"is {load:g}{SAID}"):
            call()


def test_three_is_a_load_and_a_factor_of_users_has_no_limit(run, small):
    assert run("simulate", small, "--offered-load", 3)[0] == 0
    for words in (("--users-factor", 4), ("--load", 4)):
        wk.Experiment(
            {"a": wk.load_sample()},
            ["easy"],
            loads=[words[1]],
            settings=wk.settings.ExperimentSettings(load_by="users"),
        )
    for wrong, said in (
        (("--users-factor", 1), "--users-factor requires --load-by users"),
        (
            ("--load-by", "users", "--users-factor", 1, "--load", 1),
            "--users-factor and --load are both given; give one",
        ),
    ):
        code, _, err = run("sweep", small, *wrong)
        assert (code, err) == (2, f"error: {said}\n")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (
            "simulate",
            "number of users, with --resampled: 1.2 for 20 % more, not an offered load",
        ),
        ("resample", "Factor of the number of users, not an offered load"),
        ("generate", "Offered load as a fraction of capacity, at most 3"),
        ("sweep", "Offered load: 0.9 for 90 % of capacity, at most 3"),
    ],
)
def test_the_help_says_what_load_is(run, command, said):
    text = "".join(run(command, "--help-all")[1].split())
    assert "".join(said.split()) in text
