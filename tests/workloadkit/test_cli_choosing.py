"""`--where`, `--since` and `--until` of every command that reads a log."""

import json

import numpy as np
import pytest

import workloadkit as wk
from tests.commands import program
from tests.workloadkit.test_cli_frame import commands

LINES = ("; MaxProcs: 8", "; UnixStartTime: 1709247600", "; TimeZoneString: Europe/Stockholm")
WHOLE = (("study",), ("experiment", "run"))  # they read whole logs; experiments have keys


@pytest.fixture
def log(tmp_path, monkeypatch):
    """A log of six weeks from March 2024 in the working directory."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    submit = np.sort(rng.integers(0, 45 * 86400, 300))
    columns = {
        "submit": submit,
        "wait": rng.integers(0, 60, 300),
        "run": rng.integers(1, 900, 300),
        "procs": rng.integers(1, 9, 300),
        "user": rng.integers(1, 4, 300),
        "status": np.ones(300, int),
    }
    wk.write_swf(wk.Trace.from_columns(columns, header=wk.Header(LINES)), "log.swf")
    return "log.swf"


def test_every_command_that_reads_a_log_has_the_options():
    for words, command in commands(program()):
        options = {option for parameter in command.params for option in parameter.opts}
        chooses = {"--where", "--since", "--until"} <= options
        assert chooses == ("--strict" in options and words not in WHOLE), words


READING = (
    ["anomalies", "LOG"],
    ["anonymize", "LOG"],
    ["augment", "LOG"],
    ["benchmark", "nearest", "LOG"],
    ["characterize", "LOG"],
    ["check", "LOG", "LOG"],
    ["clean", "LOG", "--filter", "user=1"],
    ["compare", "LOG", "LOG"],
    ["convert", "LOG", "-o", "out.swf"],
    ["dependencies", "LOG"],
    ["generate", "jann97", "--like", "LOG", "--jobs", "5"],
    ["generate", "tsafrir", "--over", "LOG"],
    ["job", "1", "LOG"],
    ["metrics", "LOG"],
    ["outages", "LOG"],
    ["queueing", "--trace", "LOG"],
    ["resample", "LOG"],
    ["reservations", "LOG"],
    ["sessions", "LOG"],
    ["shake", "LOG"],
    ["simulate", "LOG"],
    ["site", "--from", "LOG"],
    ["sweep", "LOG"],
    ["validate", "LOG"],
)


def test_the_choice_of_no_job_is_an_error_of_every_command(run, log, tmp_path):
    named = {words[0] for words in READING}
    assert named == {
        words[0]
        for words, command in commands(program())
        if any("--where" in parameter.opts for parameter in command.params)
    }
    for words in READING:
        arguments = [log if word == "LOG" else word for word in words]
        for choice, code, message in (
            (("--where", "user=9"), 1, "error: log.swf: no job is chosen: where user=9"),
            (("--where", "usr=9"), 2, "error: --where: 'usr=9', character 1: a field such as user"),
            (("--since", "2024-06"), 1, "no job is chosen: since 2024-06; jobs were submitted"),
            (("--until", "Monday"), 2, "error: --until is 'Monday'; it must be a date"),
        ):
            found, out, err = run(*arguments, *choice)
            assert (found, out) == (code, ""), (words, err)
            assert message in err, words
            assert "Traceback" not in err
    assert [path.name for path in tmp_path.iterdir()] == [log]


@pytest.mark.parametrize(
    "command",
    [
        ("simulate", "LOG", "-o", "-"),
        ("sessions", "LOG"),
        ("validate", "LOG", "--fail-on", "never"),
        ("dependencies", "LOG"),
        ("resample", "LOG", "--seed", "1", "--weeks", "1"),
        ("queueing", "--trace", "LOG", "--seed", "1"),
    ],
    ids=lambda words: words[0],
)
def test_commands_see_the_chosen_jobs(run, log, command):
    """As they would see a log of these jobs, but for what a header says of its origin."""
    choice = ("--where", "user in (1, 2) and procs<8", "--since", "2024-03-04", "--until", "43d")
    assert run("convert", log, "-o", "new.swf", *choice)[0] == 0

    def shown(name, *options):
        code, out, _ = run(*(name if word == "LOG" else word for word in command), *options)
        assert code == 0
        lines = [line for line in out.splitlines() if not line.startswith("; Note")]
        return "\n".join(lines).replace(name, "LOG")

    assert shown(log, *choice) == shown("new.swf")


def test_the_number_of_chosen_jobs_is_reported(run, log):
    code, _, err = run("sessions", log, "--where", "user=1", "-o", "out.csv")
    n_jobs = wk.read_swf(log).where("user=1").n_jobs
    assert (code, err.splitlines()[0]) == (0, f"log.swf: jobs chosen {n_jobs} of 300")
    assert run("sessions", log, "--where", "user=1", "-o", "out.csv", "-q") == (0, "", "")


def test_the_schedule_of_chosen_jobs_is_checked_against_them(run, log):
    choice = ("--where", "user=1 and run>100")
    assert run("simulate", log, *choice, "-o", "easy.swf")[0] == 0
    code, out, _ = run("check", log, "easy.swf", "--policy", "easy", *choice)
    assert (code, out.splitlines()[-1]) == (
        0,
        "proved: the log and the policy allow no other schedule",
    )
    assert run("check", log, "easy.swf", "--policy", "easy")[0] == 1


def test_results_record_what_was_chosen(run, log):
    _, out, _ = run("simulate", log, "--since", "2024-03-04", "--json", "-")
    made = json.loads(out)["provenance"]
    assert made["sha256"] is None
    assert made["made_from_sha256"] == wk.read_swf(log).digest
    assert made["note"].startswith("chosen: ")
    assert "since 2024-03-04, jobs " in made["note"]


def test_a_choice_without_a_log_is_reported(run):
    code, _, err = run("queueing", "closed", "N=5", "Z=2", "S=1", "--where", "user=1")
    assert (code, err) == (0, "warning: --where: no log was read, no jobs chosen\n")


def test_names_of_imported_accounting(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "slurm.txt").write_text(
        "JobIDRaw|User|Account|QOS|Submit|Eligible|Start|End|State|AllocCPUS\n"
        "1|ann|bio|high|2024-03-04T08:00:00|2024-03-04T08:30:00|2024-03-04T09:00:00"
        "|2024-03-04T10:00:00|COMPLETED|4\n"
        "2|bob|chem|low|2024-03-04T08:10:00|2024-03-04T08:10:00|2024-03-04T09:10:00"
        "|2024-03-04T09:30:00|FAILED|4\n"
    )
    assert run("convert", "slurm.txt", "-o", "site.swf")[0] == 0
    for expression, job in (
        ("account=bio", "1"),
        ("user=bob", "2"),
        ("user=2", "2"),
        ("state=FAILED and qos in (low, high)", "2"),
        ("eligible>2024-03-04T08:15", "1"),
        ("end<2024-03-04T10:00", "2"),
        ("reason is unknown and account!=bio", "2"),
    ):
        code, out, err = run("sessions", "site.swf", "--where", expression)
        assert code == 0, err
        assert [line.split(",")[0] for line in out.splitlines()[1:]] == [job], expression
    assert run("convert", "slurm.txt", "-o", "bio.swf", "--where", "account=bio")[0] == 0
    assert wk.read_swf("bio.swf").sidecar["account"].tolist() == ["bio"]


def test_experiments_choose_jobs(log, tmp_path):
    (tmp_path / "x.toml").write_text(
        'logs = ["log.swf"]\nschedulers = ["easy"]\nwhere = "user=1"\nsince = 2024-03-04\n'
    )
    (chosen,) = wk.read_experiment("x.toml").logs.values()
    expected = wk.read_swf(log).where("user=1", since="2024-03-04")
    assert chosen.content_digest == expected.content_digest
    (tmp_path / "x.toml").write_text('logs = ["log.swf"]\nschedulers = ["easy"]\nwhere = "usr=1"\n')
    with pytest.raises(wk.ParameterError, match=r"x.toml: where: 'usr=1', character 1"):
        wk.read_experiment("x.toml")
