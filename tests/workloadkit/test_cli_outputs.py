"""The name of a result says what is written to it, in every command."""

import numpy as np
import pytest

import workloadkit as wk
from tests.commands import run_command

#: Commands that make a log.
MAKING = (
    ["augment", "LOG"],
    ["clean", "LOG", "--filter", "user=1"],
    ["convert", "LOG"],
    ["dependencies", "LOG"],
    ["generate", "jann97", "--jobs", "5", "--seed", "1"],
    ["resample", "LOG", "--seed", "1"],
    ["shake", "LOG", "--seed", "1"],
    ["simulate", "LOG"],
    ["site", "--from", "LOG", "--seed", "1", "--weeks", "1"],
)
#: Commands with other results.
OTHERS = (
    (["characterize", "LOG", "-o"], ".html"),
    (["characterize", "LOG", "--json"], ".json"),
    (["compare", "LOG", "LOG", "-o"], ".html"),
    (["sessions", "LOG", "-o"], ".csv"),
    (["sweep", "LOG", "-o"], ".csv"),
    (["validate", "LOG", "--json"], ".json"),
)


@pytest.fixture
def log(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    columns = {
        "submit": np.sort(rng.integers(0, 45 * 86400, 200)),
        "wait": rng.integers(0, 60, 200),
        "run": rng.integers(1, 900, 200),
        "procs": rng.integers(1, 9, 200),
        "user": rng.integers(1, 4, 200),
        "status": np.ones(200, int),
    }
    header = wk.Header(("; MaxProcs: 16", "; UnixStartTime: 900000000"))
    wk.write_swf(wk.Trace.from_columns(columns, header=header), "log.swf")
    return tmp_path / "log.swf"


@pytest.mark.parametrize("words", MAKING, ids=lambda words: words[0])
def test_the_name_of_a_log_determines_its_format(words, log, capsys):
    command = [str(log) if word == "LOG" else word for word in words]
    for name, read in (
        ("x.swf.gz", wk.read_swf),
        ("x.wkt.parquet", wk.read_wkt),
        ("x.gwf", wk.read_gwf),
    ):
        assert run_command(*command, "-o", name) == 0, capsys.readouterr().err
        assert read(name).n_jobs > 0
    for name in ("x.parquet", "x.txt", "x", "x.zip"):
        before = sorted(log.parent.iterdir())
        capsys.readouterr()
        assert run_command(*command, "-o", name) == 2
        err = capsys.readouterr().err
        assert name in err and (".swf" in err or name == "x.zip")
        assert sorted(log.parent.iterdir()) == before


@pytest.mark.parametrize("words", MAKING, ids=lambda words: words[0])
@pytest.mark.parametrize("name", ["x.json", "x.csv"])
def test_only_convert_writes_for_other_programs(name, words, log, capsys):
    command = [str(log) if word == "LOG" else word for word in words]
    code = run_command(*command, "-o", name)
    assert code == (0 if words[0] == "convert" else 2)
    assert (log.parent / name).exists() == (code == 0)
    err = capsys.readouterr().err
    made = "for Batsim 5" if name == "x.json" else "wrote x.csv and x.csv.toml"
    assert (made if code == 0 else f"{name}: the suffix does not determine a format") in err


@pytest.mark.parametrize(("words", "suffix"), OTHERS)
def test_a_name_that_says_another_kind_of_result_is_refused(words, suffix, log, capsys):
    command = [str(log) if word == "LOG" else word for word in words]
    for other in {".html", ".json", ".csv", ".swf", ".swf.gz", ".parquet", ".png"} - {suffix}:
        assert run_command(*command, f"x{other}") == 2
        err = capsys.readouterr().err
        assert f"x{other}: " in err and suffix in err
        assert not (log.parent / f"x{other}").exists()
