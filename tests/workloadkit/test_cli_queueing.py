"""The command that solves queueing models."""

import json
from functools import partial

import pytest
from typer.testing import CliRunner

import workloadkit as wk
from workloadkit import analysis, queueing
from workloadkit.cli import app
from workloadkit.cli.queueing_parameters import read_arrays
from workloadkit.queueing import closed, mixed, networks


def run(*words):
    return CliRunner().invoke(app, ["queueing", *words])


def test_one_point_shows_measures_and_percentiles():
    done = run("closed", "N=10", "Z=5", "S=1", "--quantile", "0.9")
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert lines[:2] == ["closed: exact, product form", "N 10, Z 5, S 1, servers 1"]
    model = closed(10, 5, 1)
    assert [float(x) for x in lines[4].split()] == [
        float(f"{x:.6g}") for x in (model.X, model.R, model.Q, model.U)
    ]
    assert lines[-1].split() == ["closed", "jobs", f"{model.ppf(0.9):.6g}"]


def test_distributions_of_jobs_and_waits():
    words = ("mmc", "lam=2.2", "S=1", "servers=3", "--distribution")
    model = queueing.mmc(2.2, 1, 3)
    lines = run(*words).stdout.splitlines()
    place = lines.index(" n       P(n)")
    known = [float(f"{p:.6g}") for p in model.pmf([0, 1, 2])]
    assert [float(line.split()[1]) for line in lines[place + 1 : place + 4]] == known
    assert lines[-8].split() == ["t", "P(wait", "of", "open", "jobs", ">", "t)"]
    assert [float(line.split()[1]) for line in lines[-6:]] == [0.5, 0.25, 0.1, 0.05, 0.01, 0.001]
    (answer,) = json.loads(run(*words, "--json", "-").stdout)["answers"]
    found = answer["distribution"]
    assert found["at"][12] == 0
    assert found["probability"][12] == pytest.approx(model.p_wait)
    for refused, message in (
        (("mm1", "lam=0.1,0.2", "S=1"), "--distribution shows one point"),
        (("mg1", "lam=0.1", "S=1", "scv=2"), "no formula is known for the distributions"),
    ):
        done = run(*refused, "--distribution")
        assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
        assert message in done.stderr


def test_a_grid_shows_a_line_a_point():
    done = run("mixed", "lam=0.1,0.5", "N=1:3", "Z=5", "S=1")
    lines = done.stdout.splitlines()
    assert lines[1] == "Z 5, S 1, servers 1"
    assert lines[3].split() == ["lam", "N", "Xc", "Rc", "Qc", "Uc", "Ro", "Qo", "Uo"]
    assert len(lines) == 4 + 6
    assert float(lines[-1].split()[3]) == pytest.approx(mixed(0.5, 3, 5, 1).Rc, rel=1e-5)


def test_each_function_has_a_table_of_its_own_within_a_terminal():
    done = run("reopen", "lam=0.1:0.5:0.1", "p=exp:1", "p=zakay", "Z=1", "S=1", "method=mm1")
    assert done.exit_code == 0
    assert done.stdout.count("reopen: ") == 2
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_points_without_an_answer_keep_their_parameters(tmp_path):
    target = tmp_path / "q.json"
    done = run("mixed", "lam=0.5,1", "N=3", "Z=1", "S=1", "--json", str(target))
    assert done.exit_code == 0
    assert "warning: 1 of 2 points have no solution and are nan: lam is 1 at [1]" in done.stderr
    good, bad = json.loads(target.read_text())["answers"][0]["points"]
    assert (good["lam"], bad["lam"]) == (0.5, 1.0)
    assert (bad["N"], bad["Z"], bad["S"]) == (3.0, 1.0, 1.0)
    assert good["Xc"] == mixed(0.5, 3, 1, 1).Xc
    assert bad["Xc"] is None


def test_a_network_has_a_line_a_station():
    done = run("network", "demands=0.2,0.1", "N=1", "method=mva")
    assert [line.split()[:3] for line in done.stdout.splitlines()[-2:]] == [
        ["0", "3.33333", "0.3"],
        ["1", "3.33333", "0.3"],
    ]


@pytest.mark.parametrize(
    ("method", "solve"),
    [
        ("mva", networks.mva),
        ("bard-schweitzer", networks.bard_schweitzer),
        ("linearizer", networks.linearizer),
    ],
)
def test_a_network_is_solved_by_the_method_that_is_named(method, solve):
    words = ("demands=0.5,0.3", "N=3", "Z=1", "servers=2,1", f"method={method}")
    (answer,) = json.loads(run("network", *words, "--json", "-").stdout)["answers"]
    expected = solve([0.5, 0.3], 3, 1, servers=[2, 1]).X
    assert [point["X"] for point in answer["points"]] == pytest.approx([expected] * 2, rel=1e-12)


def test_a_network_has_no_think_time_and_is_solved_exactly_by_default():
    (answer,) = json.loads(run("network", "demands=0.5,0.3", "N=3", "--json", "-").stdout)[
        "answers"
    ]
    expected = networks.mva([0.5, 0.3], 3, 0).X
    assert [point["X"] for point in answer["points"]] == pytest.approx([expected] * 2, rel=1e-12)


def test_the_json_says_what_was_solved_and_how_exactly():
    reported = json.loads(run("closed", "N=3", "Z=1", "S=1", "--json", "-").stdout)
    assert (reported["model"], reported["provenance"]) == (
        "closed",
        {"workloadkit": wk.__version__},
    )
    (answer,) = reported["answers"]
    exact = closed(3, 1, 1)
    assert (answer["exactness"], answer["error"]) == (str(exact.exactness), {})
    (point,) = answer["points"]
    assert [point[name] for name in "XRQU"] == [exact.X, exact.R, exact.Q, exact.U]


@pytest.mark.parametrize(
    ("words", "shares"),
    [([], [0.5, 0.9, 0.99]), (["--quantile", "0.25", "--quantile", "0.75"], [0.25, 0.75])],
)
def test_percentiles_are_those_requested(words, shares):
    model = closed(4, 5, 1)
    words = ("closed", "N=4", "Z=5", "S=1", *words)
    head, row = (line.split() for line in run(*words).stdout.splitlines()[-2:])
    assert head == ["responses", *(x for share in shares for x in (f"{100 * share:g}", "%"))]
    assert row == ["closed", "jobs", *(f"{model.ppf(share):.6g}" for share in shares)]
    (answer,) = json.loads(run(*words, "--json", "-").stdout)["answers"]
    assert answer["percentiles"]["closed"] == {str(x): model.ppf(x) for x in shares}


def test_a_log_is_measured_on_the_machine_and_with_the_seed_that_are_given(tmp_path, monkeypatch):
    quick = partial(analysis.queueing_from_trace, runs=0, n_resamples=20)
    monkeypatch.setattr(analysis, "queueing_from_trace", quick)
    users = wk.users.Mixed(0.5 / 3600, 2, 3600, run=3600, jobs=300)
    path, target = tmp_path / "log.swf", tmp_path / "q.json"
    wk.write_swf(wk.simulate(None, "fcfs", users, procs=1, rng=1).trace(), path)
    done = run("--trace", str(path), "--procs", "3", "--seed", "5", "--json", str(target))
    assert done.exit_code == 0
    expected = quick(wk.read_swf(path), procs=3, rng=5)
    data = json.loads(target.read_text())
    made = data.pop("provenance")
    assert made["parameters"] == {"procs": 3, "unit": "procs", "seed": 5}
    assert made["sha256"] == wk.read_swf(path).digest
    assert data == json.loads(json.dumps(expected.to_dict()))
    assert done.stdout.startswith("log.swf, seed 5: parameters of queueing models, and their ")
    reported = " ".join(done.stdout.split())
    assert all(
        " ".join(said.split()) in reported for said in (*expected.statements, *expected.notes)
    )
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_figures_are_drawn(tmp_path):
    target = tmp_path / "q.svg"
    done = run("closed", "N=1:30", "Z=5", "S=1", "--plot", str(target))
    assert done.exit_code == 0
    assert target.read_text().startswith("<?xml")


def points_of(*words):
    done = run(*words, "--json", "-")
    assert done.exit_code == 0, done.stderr
    return [answer["points"] for answer in json.loads(done.stdout)["answers"]]


def test_networks_have_several_classes_and_open_jobs():
    (points,) = points_of("network", "demands=0.2,0.1;0.1,0.3", "N=5,5")
    assert [point["X"] for point in points[::2]] == pytest.approx([3.3793, 2.1594], abs=5e-5)
    words = ("open_demands=0.75,0.25", "lam=2", "servers=2,1")
    (points,) = points_of("network", *words)
    assert points[0]["R"] == pytest.approx(31 / 14, rel=1e-12)
    closed_ones, opened = points_of("network", "demands=1,0.2", "N=4", "Z=3", *words)
    known = networks.mixed_mva([1, 0.2], 4, 3, [0.75, 0.25], 2.0, servers=[2, 1])
    assert closed_ones[0]["X"] == pytest.approx(known.X, rel=1e-12)
    assert opened[0]["R"] == pytest.approx(known.open.R, rel=1e-12)
    two = points_of("network", "open_demands=0.2,0.1;0.4,0.3", "lam=1,0.5")
    assert [point["class"] for point in two[0]] == [0, 0, 1, 1]


def test_one_station_has_the_quantiles_of_the_mixed_model():
    words = ("network", "demands=1", "N=3", "Z=5", "open_demands=1", "lam=.4")
    rows = run("mixed", "lam=.4", "N=3", "Z=5", "S=1").stdout.splitlines()[-2:]
    shown = run(*words).stdout
    assert [" ".join(row.split()) in " ".join(shown.split()) for row in rows] == [True, True]
    assert "network, closed jobs: exact" in shown
    assert "network, open jobs: exact" in shown
    several = run("network", "demands=1,1", "N=3", "open_demands=1,1", "lam=.2").stdout
    assert several.count("no quantiles: no formula is known") == 2
    wide = run("network", "open_demands=1,.2,1", "lam=.4", "servers=1,2,1").stdout
    assert "quantiles are an approximation: jobs overtake each other" in wide


def test_networks_are_written_as_for_crosscheck():
    """One name and one separator of rows for both commands; one station is one number."""
    rows = "1,0.5", "0.5,0.2"
    for cut in ";/":
        (points,) = points_of("network", f"demands={cut.join(rows)}", "N=3,2", "Z=1,1")
        assert len(points) == 4
        found = read_arrays([f"demands={cut.join(rows)}"], ["demands"])["demands"]
        assert found.tolist() == [[1, 0.5], [0.5, 0.2]]
    one = ("demands=1", "N=3", "Z=5", "open_demands=1", "lam=.4")
    assert points_of("mixed_mva", *one) == points_of("network", *one)
    assert read_arrays(["open_demands=1", "lam=.4"], ["open_demands", "lam"])[
        "open_demands"
    ].shape == (1,)


def test_quantiles_are_answered_or_refused():
    done = run("network", "open_demands=0.75,0.25", "lam=2", "servers=2,1", "--quantile", "0.9")
    open_one = networks.open_network([0.75, 0.25], 2.0, servers=[2, 1])
    assert done.stdout.splitlines()[-1].split()[-1] == f"{networks.sojourn(open_one).ppf(0.9):.6g}"
    grid = run("closed", "N=1:3", "Z=5", "S=1", "--quantile", "0.9").stdout.splitlines()
    assert grid[3].endswith("closed 90 %")
    assert grid[-1].split()[-1] == f"{closed(3, 5, 1).ppf(0.9):.6g}"
    for words in (
        ("network", "demands=0.2,0.1", "N=3"),
        ("network", "demands=1,1", "N=2", "Z=1", "open_demands=1,1", "lam=0.2"),
        ("priorities", "lam=0.1,0.2", "S=1"),
        ("mg1", "lam=0.1", "S=1", "scv=2"),
    ):
        assert run(*words).exit_code == 0
        done = run(*words, "--quantile", "0.5")
        assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)


def test_a_list_is_one_class_each_for_models_of_classes():
    (points,) = points_of("priorities", "lam=0.3,0.5", "S=1", "servers=2", "order=preemptive")
    users = points_of("closed_priorities", "N=2,3", "Z=4,9", "S=1,2")[0]
    assert [p["R"] for p in users] == queueing.closed_priorities([2, 3], [4, 9], [1, 2]).R.tolist()
    known = queueing.priorities([0.3, 0.5], 1, servers=2, order="preemptive")
    assert [point["R"] for point in points] == pytest.approx(known.R, rel=1e-12)
    (points,) = points_of("dps", "lam=0.3,0.5", "S=1", "weight=4,1")
    assert [point["class"] for point in points] == [0, 1]


def test_think_times_that_depend_on_the_response_are_solved():
    (points,) = points_of("mixed", "lam=0.2", "N=3", "Z=breaks:1,20,3", "S=1")
    known = mixed(0.2, 3, queueing.breaks(1, 20, 3), 1)
    assert points[0]["Xc"] == pytest.approx(known.Xc, rel=1e-9)


def test_wrong_usage_is_one_line():
    for words, expected in (
        ([], "MODEL is missing; known: closed, mixed, reopen"),
        (["open"], "unknown model 'open'; did you mean reopen? known: closed"),
        (["closed", "N=3", "S=1"], "closed needs N, Z, S; missing: Z"),
        (["closed", "N=3", "Z=1", "S=-1"], "S is -1; it must be finite, 0 or more"),
        (["mixed", "lam=1", "N=3", "Z=1", "S=1"], "lam is 1; it must be below servers / S"),
        (["network", "demands=1", "N=1", "method=x"], "method is 'x'; known: mva"),
        (["network", "N=1"], "network needs demands and N, or open_demands and lam"),
        (["network", "demands=1;2,3", "N=1,1"], "demands is '1;2,3'; its rows must have one"),
        (
            ["network", "open_demands=1", "lam=0.5", "method=linearizer"],
            "method is 'linearizer'; with lam it must be mva",
        ),
        (["priorities", "lam=0.5,0.6", "S=1"], "lam: all classes together use 1.1 of 1 servers"),
        (["closed", "N=3", "Z=1", "S=1", "--quantile", "2"], "--quantile is 2; it lies between"),
        (["closed", "N=3", "Z=1", "S=1", "--quantile", "0"], "--quantile is 0; it lies between"),
        (["closed", "N=3", "Z=1", "S=1", "--quantile", "1"], "--quantile is 1; it lies between"),
        (
            ["reopen", "lam=0.1", "p=0.2", "p=exp:1", "Z=1", "S=1", "--plot", "nowhere.svg"],
            "--plot draws one answer, and there are 2",
        ),
        (["closed", "--trace", "a.swf"], "--trace measures the parameters itself"),
        (["reopen", "lam=1", "p=0.2", "p=0.5", "p=exp:1", "Z=1", "S=1"], "lam is 1"),
    ):
        done = run(*words)
        assert done.exit_code == 2
        assert done.stdout == ""
        assert done.stderr.startswith(f"error: {expected}")
        assert done.stderr.count("\n") == 1
