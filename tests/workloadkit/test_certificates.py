"""Certificates: what is forged in one is refused, differs, or is named as not verified."""

import json
import sys
from copy import deepcopy

import pytest

import workloadkit as wk
from workloadkit.benchmark import (
    Entry,
    canonical,
    cases,
    certificate,
    differences,
    entries_of,
    metasystems,
    nearest_cases,
    not_verified,
    read_certificate,
    run_benchmark,
)
from workloadkit.benchmark.certificate import seal
from workloadkit.errors import FormatError
from workloadkit.experiments import custom_parts

CASES = ("device", "busy", "grid")
REFUSED = {"kind": "process", "command": "false", "files": {}}


def results(names, chosen=CASES, runs=2):
    """The certificate of policies in some cases, and of a process that is refused."""
    kinds = {True: "meta-policy", False: "policy"}
    entries = [Entry(name, kinds[name in ("home", "random")], name) for name in names]
    among = cases(chosen=chosen)
    return certificate(
        run_benchmark([*entries, Entry("no", "process", "false")], among=among, runs=runs)
    )


@pytest.fixture(scope="module")
def genuine():
    """Results on a machine and in a metasystem of few jobs; the program of the process is ours."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(metasystems, "_JOBS", 60)
        made = results(("easy", "sjf", "home", "random"))
    return signed(made)


@pytest.fixture(scope="module")
def part():
    """Some of these results."""
    return signed(results(("easy", "sjf"), ("device", "busy")) | {"refused": {}}, without=["no"])


def signed(content, without=()):
    """A certificate with its digest."""
    content = json.loads(json.dumps(content))
    for name in without:
        del content["entries"][name]
    return content | {"sha256": seal(content)}


def outcome(forged, made):
    """What comes of a certificate: "refused", "differs" or the parts that are not verified."""
    return outcomes(forged, made)[0]


def outcomes(forged, *several):
    """The same for each of several results made again; a certificate is read once."""
    try:
        claimed = read_certificate(json.dumps(signed(forged)), "c.json")
    except FormatError as error:
        message = str(error)
        assert message.startswith("c.json") and len(message) <= 400, message
        return [("refused", message)] * len(several)
    found = []
    for made in several:
        lines = differences(claimed, made)
        kind = "differs" if lines else "verified"
        if not lines and (lines := not_verified(claimed, made)):
            kind = "not verified"
        assert all(len(line) <= 400 and line.isprintable() for line in lines), lines
        found.append((kind, "\n".join(lines)))
    return found


def test_results_made_again_verify_a_certificate(genuine, part):
    assert outcome(genuine, genuine) == ("verified", "")
    kind, rest = outcome(genuine, part)
    assert kind == "not verified"
    assert rest.splitlines() == [
        "2 results, not made again: device.grid.open, home; device.grid.open, random",
        "the workloads of 1 case: device.grid.open",
        "ranks in 1 case, where not all entries were played: device.grid.open",
        "scores of metasystems, which depend on all results there",
        "the numbers of rank reversals, which depend on all results",
        "what 3 entries are: home; random; no",
        "that 1 entry is refused: no",
    ]


def leaves(value, place=()):
    """Every value that holds no other, with its place."""
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(item, (*place, key))
    else:
        yield place, value


def holders(value, place=()):
    """Every object and list that is not empty, with its place."""
    if isinstance(value, dict | list) and value:
        yield place, value
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from holders(item, (*place, key))


def at(content, place):
    for key in place:
        content = content[key]
    return content


def others(value):
    """Other values in the place of one."""
    if isinstance(value, str):
        return [value[::-1], 7] if len(value) == 64 else [f"{value}x", "", "a\nb", 7]
    if isinstance(value, int | float):
        return [value * 1.001 + 0.001, value + 1, -value - 1, None, "7", True, [value], 10**300]
    return [0, 1.5, ""]


#: What names a part that was not made again, by the top of its place.
NAMED = {
    "entries": "what 3 entries are",
    "refused": "that 1 entry is refused",
    "workloads": "the workloads of 1 case",
    "results": "2 results, not made again",
    "scores": "scores of metasystems",
    "reversals": "the numbers of rank reversals",
    "workloadkit": "the version of workloadkit",
}


def test_no_value_of_a_certificate_can_be_replaced_without_notice(genuine, part):
    kinds, named = set(), set()
    for place, value in leaves(genuine):
        for other in others(value) if place != ("sha256",) else ():
            forged = deepcopy(genuine)
            at(forged, place[:-1])[place[-1]] = other
            (kind, why), (kind_of_part, why_of_part) = outcomes(forged, genuine, part)
            kinds.add(kind)
            assert kind in ("refused", "differs") or (kind, place[0]) in {
                ("not verified", "entries"),  # the command of the process
                ("not verified", "workloadkit"),
            }, (place, value, other, kind, why)
            if kind_of_part == "not verified":
                named.add(place[0])
                assert NAMED[place[0]] in why_of_part, (place, other, why_of_part)
    assert kinds == {"refused", "differs", "not verified"}
    assert named >= {"entries", "refused", "workloads", "results", "scores", "workloadkit"}


def test_no_part_of_a_certificate_can_be_left_out_or_repeated(genuine):
    for place, holder in holders(genuine):
        for key in list(holder) if isinstance(holder, dict) else range(len(holder)):
            if (*place, key) == ("sha256",):
                continue
            forged = deepcopy(genuine)
            held = at(forged, place)
            if isinstance(held, list):
                held.append(deepcopy(held[key]))
            else:
                held[f"{key}.other"] = held[key]
            files = place == ("entries", "no", "files")
            kind, why = outcome(forged, genuine)
            assert kind == ("not verified" if files else "refused"), (place, key, kind, why)
            forged = deepcopy(genuine)
            del at(forged, place)[key]
            kind, why = outcome(forged, genuine)
            expected = ("not verified",) if files else ("refused", "differs")
            assert kind in expected, (place, key, kind, why)


def test_forgeries_are_noticed(genuine, part):
    grid_row = next(i for i, row in enumerate(genuine["results"]) if "grid" in row["case"])
    reversal = {"metric": "mean_wait", "other": "wait_p98", "pairs": 1}
    twice = genuine["results"][0] | {"mean_wait": [1, 1, 1, 1, 1]}
    for change, made, kind, words in (
        ({"benchmark": 7}, genuine, "refused", "is of version 7 of the benchmark, not 1"),
        ({"benchmark": 1.0}, genuine, "refused", "field benchmark: is not a whole number: '1.0'"),
        ({"benchmark": True}, genuine, "refused", "field benchmark: is not a whole number"),
        ({"workloadkit": "0.0.9"}, genuine, "not verified", "the version of workloadkit, 0.0.9"),
        ({"seed": 2000}, genuine, "differs", "seed is 1999, in the certificate 2000"),
        ({"seed": -1}, genuine, "refused", "field seed: is below 0: '-1'"),
        ({"runs": 3}, genuine, "refused", "has 2 digests of 3 runs"),
        ({"runs": 0}, genuine, "refused", "field runs: is not from 1 to"),
        ({"host": "cluster"}, genuine, "refused", "field host: is not known"),
        ({"wall_time": 3}, genuine, "refused", "field wall_time: is not known"),
        ({"provenance": {"configured": {}}}, genuine, "not verified", "the provenance"),
        ({"provenance": {"host": "x"}}, genuine, "refused", "provenance.configured: is missing"),
        ({"refused": {}}, genuine, "refused", "the row of device.busy.open, no is missing"),
        ({"refused": {"sjf": "slow"}}, genuine, "refused", "is not a reason with its case and run"),
        ({"refused": {"x": "a, run 0: b"}}, genuine, "refused", "field refused.x: is no entry"),
        (
            {"refused": {"no": "device.grid.open, run 0: x"}},
            genuine,
            "refused",
            "is not of a run that it played",
        ),
        (
            {"refused": {"no": "device.busy.open, run 0: x"}},
            genuine,
            "differs",
            "no: is refused: 'device.busy.open, run 0: at 0 s the process gives no answer', in",
        ),
        ({"entries": {}}, genuine, "refused", "field entries: is empty"),
        ({"workloads": {}}, genuine, "refused", "field workloads: is empty"),
        ({"results": []}, genuine, "refused", "the row of device.busy.open, easy is missing"),
        ({"scores": []}, genuine, "refused", "field scores: mean_wait of easy is missing"),
        ({"results": [*genuine["results"], twice]}, genuine, "refused", "easy is there twice"),
        ({"results": [twice, *genuine["results"]]}, part, "refused", "easy is there twice"),
        ({"reversals": [reversal]}, genuine, "differs", "wait_p98: is only in the certificate"),
        ({"reversals": [reversal] * 2}, genuine, "refused", "is there twice, or no pair"),
        ({"reversals": [reversal]}, part, "not verified", "the numbers of rank reversals"),
        ({("results", 0, "mean_wait"): None}, genuine, "refused", "mean_wait: is not a list"),
        ({("results", 0, "mean_wait"): [1, 1, 1]}, genuine, "refused", "has 3 values, not 5"),
        ({("results", 0, "mean_wait", 3): 3}, genuine, "refused", "is not from 1 to 2: '3'"),
        ({("results", 0, "mean_wait", 1): None}, part, "refused", "is not a number: 'None'"),
        ({("results", 0, "mean_wait", 1): 0}, part, "differs", "mean_wait, low end, is"),
        ({("results", 0, "mean_wait", 4): 1}, part, "differs", "mean_wait, worst rank, is 2"),
        ({("results", 0, "schedules"): "0" * 64}, part, "differs", "the schedules differ"),
        ({("results", grid_row, "cost", 0): 1e9}, part, "refused", "does not contain the mean"),
        ({("scores", 0, "score"): 0.5}, genuine, "refused", "does not contain the mean"),
        (
            {
                ("scores", 5, name): value
                for name, value in (("score", 0.001), ("low", 0.0009), ("high", 0.0011))
            },
            part,
            "differs",
            "score of sjf, mean_wait: score is",
        ),
        ({("scores", 0, "baseline"): "sjf"}, genuine, "refused", "is not known here: 'sjf'"),
        ({("scores", 0, "cases"): 18}, genuine, "refused", "is not from 0 to 1: '18'"),
        ({("workloads", "device.busy.open", "features", "load"): 0.9}, part, "differs", "features"),
        (
            {("workloads", "device.grid.open", "features"): {"load": 1}},
            part,
            "refused",
            "load: is not known",
        ),
        (
            {("workloads", "device.busy.open", "digests", 1): "0" * 64},
            part,
            "differs",
            "device.busy.open: the jobs differ",
        ),
        ({("workloads", "mine.busy.open"): {}}, part, "refused", "is not a case of the benchmark"),
        ({("entries", "sjf", "policy"): "fcfs"}, part, "refused", "has the name of a built-in"),
        ({("entries", "no", "command"): "true"}, genuine, "not verified", "files, which are other"),
        ({("entries", "no", "kind"): "schedules"}, genuine, "refused", "is not known"),
        ({("entries", "home"): REFUSED}, part, "refused", "is not known here: 'home'"),
        ({("entries", "easy"): REFUSED}, genuine, "refused", "has the name of a built-in policy"),
        ({("entries", "x" * 5000): REFUSED}, genuine, "refused", "not a line of printable"),
        ({("entries", "a\nverified"): REFUSED}, genuine, "refused", "not a line of printable"),
    ):
        forged = deepcopy(genuine)
        for place, value in change.items():
            *above, last = (place,) if isinstance(place, str) else place
            at(forged, above)[last] = value
        found = outcome(forged, made)
        assert found[0] == kind and words in found[1], (change, found)


def test_a_certificate_is_strict_json(genuine):
    text = json.dumps(genuine)
    assert read_certificate(text) == genuine
    assert read_certificate("\ufeff" + text) == genuine
    for changed, why in (
        (text.replace('"low": ', '"low": NaN, "x": ', 1), "not a JSON number: 'NaN'"),
        (text.replace('"runs": 2', '"runs": 2, "runs": 2'), "repeated key: 'runs'"),
        (text.replace('"runs": 2', '"runs": 1e999'), "a number is out of range"),
        (text.replace('"runs": 2', f'"runs": {"9" * 5000}'), "a number is out of range"),
        (text.replace('"sjf"', r'"\ud800"'), "a lone surrogate is no character"),
        ("[" * 5000, "nested too deeply"),
        ('{"benchmark": 1, "sha256": "0"}', "workloadkit: is missing"),
        (text.replace('"seed": 1999', '"seed": 7'), "has been changed"),
        (text[:-9], "not JSON at column"),
        ("[]", "is not a certificate"),
        ("", "is empty"),
    ):
        with pytest.raises(FormatError, match=r"^c\.json") as error:
            read_certificate(changed, "c.json")
        assert why in str(error.value) and len(str(error.value)) <= 400


IMPORTING = (
    *("evil:S", "evil:S:x=1", "order:score=evil:S", "order:evil.S", "easy:backfill=evil:S"),
    *("easy:evil:S", "self-adaptive:measure=evil:S", "recorded:evil.swf", "recorded:schedule=evil"),
    *("genetic:evil:S", "slack:cost=evil:S", "evil", "evil.S", "./evil.py", "evil.py:S", " evil:S"),
)


def test_a_certificate_imports_and_runs_nothing(genuine, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source = (
        "from pathlib import Path\nfrom workloadkit.simulation.schedulers import OrderedScheduler\n"
        "Path('ran').touch()\nclass S(OrderedScheduler):\n    name = 's'\n"
    )
    (tmp_path / "evil.py").write_text(source)
    for policy in IMPORTING:
        for kind in ("policy", "meta-policy"):
            for more in ({}, {"source": "0" * 16}):
                forged = deepcopy(genuine)
                forged["entries"] |= {policy: {"kind": kind, "policy": policy} | more}
                forged["refused"] |= {policy: "device.busy.open, run 0: x"}
                forged = signed(forged)
                try:
                    found = read_certificate(json.dumps(forged))
                except FormatError:
                    assert not more or policy != "evil:S" or kind != "policy"
                else:
                    assert policy not in {entry.name for entry in entries_of(found)}
    assert "evil" not in sys.modules and not (tmp_path / "ran").exists()

    some = ("--only", "device", "--only", "busy", "--workers", 1)
    made = (*("run", "evil:S", "easy", "--runs", 2), *some, "--json", "c.json")
    assert run("benchmark", *made)[0] == 0
    (tmp_path / "ran").unlink()
    monkeypatch.delitem(sys.modules, "evil")
    code, out, _ = run("benchmark", "verify", "c.json", *some)
    assert (code, out.splitlines()[-1]) == (0, "verified in part: 1 result made again")
    assert "not verified: 1 result, not made again: device.busy.open, evil:S\n" in out
    assert not (tmp_path / "ran").exists()
    assert run("benchmark", "verify", "c.json", "--trust", *some)[:2] == (
        0,
        "verified: 2 results made again\n",
    )
    assert (tmp_path / "ran").exists()
    (tmp_path / "evil.py").write_text(source.replace("'s'", "'t'"))
    monkeypatch.delitem(sys.modules, "evil")
    code, out, _ = run("benchmark", "verify", "c.json", "--trust", *some)
    assert "others here, of: evil:S\nverified in part: 2 results made again\n" in out
    custom_parts.IMPORTED.clear()  # workers of other tests would not find it
    monkeypatch.delitem(sys.modules, "evil")


@pytest.mark.slow
def test_verify_names_what_it_did_not_verify(genuine, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.json").write_text(json.dumps(genuine))
    verify = ("benchmark", "verify", "c.json", "--workers", 1)
    code, out, _ = run(*verify, "--only", "busy")
    assert code == 0
    assert out.splitlines()[-1] == "verified in part: 2 results made again"
    assert "not verified: scores of metasystems, which depend on all results there\n" in out
    code, out, _ = run(*verify, "--only", "busy", "--json", "-")
    found = json.loads(out)
    assert (found["status"], found["results"], found["differences"]) == ("verified in part", 2, [])
    assert "scores of metasystems, which depend on all results there" in found["not_verified"]
    assert found["certificate"] == genuine["sha256"]
    code, out, _ = run(*verify, "--only", "busy", "--process", "no=false")
    assert (code, "refused" in out) == (0, False)
    code, out, _ = run(*verify, "--only", "busy", "--process", "no=true")
    assert "not verified: the source, command or files, which are others here, of: no\n" in out
    for arguments, status, why in (
        (("--only", "roomy"), 1, "c.json: none of its results can be made again here"),
        (("--process", "other=awk"), 2, "the certificate has no entry 'other'"),
    ):
        code, _, err = run(*verify, *arguments)
        assert code == status and why in err


def test_files_that_are_no_certificates_are_named(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "latin.json").write_bytes(b'\n"\xff"')
    (tmp_path / "zip.json").write_bytes(b"\x1f\x8b\x08")
    (tmp_path / "folder.json").mkdir()
    for name, why in (
        ("none.json", "none.json: no such file"),
        ("latin.json", "latin.json, line 2: is not UTF-8"),
        ("zip.json", "zip.json: is truncated"),
        ("folder.json", "folder.json: is a directory"),
    ):
        for command in (("verify", name), ("nearest", "--certificate", name)):
            code, _, err = run("benchmark", *command)
            assert code == 1 and f"error: {why}" in err, (command, err)


def test_the_nearest_case_of_another_certificate_is_not_verified(
    genuine, run, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.json").write_text(json.dumps(genuine))
    (tmp_path / "same.json").write_text(json.dumps(canonical()))
    nearest = ("benchmark", "nearest", "--json", "-", "--certificate")
    code, out, err = run(*nearest, "c.json")
    assert (code, json.loads(out)["not_verified"]) == (0, ["the results of c.json"])
    assert "c.json: its results are not verified here" in err
    assert json.loads(run(*nearest, "same.json")[1])["not_verified"] == []
    only_grid = {"workloads": {"device.grid.open": genuine["workloads"]["device.grid.open"]}}
    for submit in ([5, 5, 5, 5], [0, 9, 18, 27]):  # all at once, or without any variation
        jobs = {"submit": submit, "run": [9] * 4, "procs": [1] * 4, "user": [1, 2, 3, 3]}
        with pytest.raises(wk.WorkloadError, match=r"undefined|has no burstiness: "):
            nearest_cases(wk.Trace.from_columns(jobs), canonical(), procs=4)
    with pytest.raises(wk.WorkloadError, match="the certificate has no case on a machine"):
        nearest_cases(wk.load_sample(), genuine | only_grid)


def test_entries_that_the_benchmark_does_not_take(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    some = ("--only", "device", "--only", "busy", "--runs", 1, "--workers", 1, "--json", "c.json")
    for arguments, code, why in (
        (("--process", "easy=false"), 2, "the entry easy has the name of a built-in policy"),
        (("--process", "sjf:x=false"), 2, "the entry sjf:x has the name of a built-in policy"),
        (("--process", "x='a"), 2, 'the command is "\'a": No closing quotation'),
        (("--process", f"x={'y' * 300}"), 1, ""),
        (("--process", "x=false"), 1, ""),
        (("--schedules", f"x={'y' * 300}"), 1, "is not a folder"),
    ):
        found, _, err = run("benchmark", "run", *arguments, *some)
        assert found == code and why in err, (arguments, err)
    assert read_certificate((tmp_path / "c.json").read_text())["refused"].keys() == {"x"}
