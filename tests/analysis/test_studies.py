"""The list of studies, and that of sessions on small logs and on the real ones."""

from pathlib import Path
from typing import get_args

import pytest

import workloadkit as wk
from tests.data import DATA, trace_path
from workloadkit.analysis import reproduction, studies
from workloadkit.analysis.reproduction.search import readings_of
from workloadkit.analysis.reproduction.study import CauseState

LOGS = ("SDSC-SP2-1998-4.2-cln", "SDSC-DS-2004-2.1-cln", "KTH-SP2-1996-2", "SDSC-BLUE-2000-4.2-cln")


def test_every_study_says_what_it_is():
    for name in studies.study_names():
        study = studies.load_study(name)
        assert study.name == name
        assert study.title
        assert len(study.title) <= 53  # the list of studies fits 80 columns
        assert study.source
        assert all(len(axis.options) > 1 and axis.words for axis in study.axes)
        assert len({axis.name for axis in study.axes}) == len(study.axes)


def test_kept_results_have_the_verdicts_that_are_kept():
    for name in studies.study_names():
        study = studies.load_study(name)
        rows = reproduction.reference_of(study, studies.REFERENCE)
        findings = reproduction.kept_findings(study, studies.REFERENCE)
        assert [r.verdict for r in findings.results] == [row["verdict"] for row in rows]
        assert {log.name for log in findings.logs} == set(study.logs)


def test_the_page_shows_the_kept_results():
    kept = [reproduction.kept_findings(s, studies.REFERENCE) for s in studies.load_studies("all")]
    page = Path(__file__).parents[2] / "docs" / "reference" / "reproduction.md"
    assert page.read_text(encoding="utf-8") == reproduction.scorecard(
        kept, "all", studies.known_causes()
    )


def test_each_contradicted_main_claim_has_a_cause_or_says_that_it_is_open():
    contradicted = {
        (name, result.claim.quantity)
        for name in studies.study_names()
        for result in reproduction.kept_findings(studies.load_study(name), studies.REFERENCE).main
        if result.verdict == "contradicted"
    }
    causes = studies.known_causes()
    assert sorted((cause.study, cause.quantity) for cause in causes) == sorted(contradicted)
    for cause in causes:
        assert cause.state in get_args(CauseState)
        assert cause.words
        assert cause.run or cause.state == "open"


def test_numbers_that_no_publication_prints_are_not_called_printed():
    for name in studies.study_names():
        for result in reproduction.kept_findings(
            studies.load_study(name), studies.REFERENCE
        ).results:
            outside = result.claim.place.startswith(("separate program", "log, field"))
            assert outside == (result.claim.kind == "computed"), result


def test_an_unknown_study_is_refused_with_the_known_ones():
    with pytest.raises(
        wk.ParameterError, match="no study 'nosuch'; known: carastan, chapin, creasy-ups, "
    ):
        studies.load_study("nosuch")


def test_zakay_sessions_on_a_small_log(tmp_path):
    trace = wk.Trace.from_columns(
        {
            "submit": [0, 60, 90, 3690, 7300],
            "run": [60, 10, -1, 5, 5],
            "procs": [1] * 5,
            "user": [1] * 5,
        }
    )
    wk.write_swf(trace, tmp_path / "KTH-SP2-1996-2.1-cln.swf")
    study = studies.load_study("zakay-sessions")
    with pytest.warns(wk.WorkloadWarning, match="left out"):
        logs = reproduction.find_logs(study.logs, tmp_path)
    results = [r for r in reproduction.run_study(study, logs).results if r.log.path]
    jobs, batches, sessions, *claims = results
    assert (jobs.claim.published, jobs.ours, jobs.verdict) == (28_489, 4, "contradicted")
    assert jobs.claim.agrees == pytest.approx((28_489 * 0.95, 28_489 * 1.05))  # another version
    assert (batches.claim.quantity, batches.ours) == ("batches", 3)
    assert (sessions.claim.quantity, sessions.ours) == ("sessions", 3)
    alone = [result.ours for result in claims if "with one job" in result.claim.quantity]
    assert alone == [2 / 3, 2 / 3]
    assert not any("jump" in result.claim.quantity for result in claims)  # too few sessions
    by_words = {result.claim.quantity: result for result in claims}
    skewed = by_words["mean number of jobs in a session over the median: skewed"]
    assert (skewed.ours, skewed.verdict) == (pytest.approx(4 / 3), "reproduced")
    assert by_words["most jobs in a session: very many"].ours == 2
    assert (
        by_words["share of think times below 20 min: most"].ours == 1 / 3
    )  # 0 s, and an hour twice
    best = by_words["faults of Arrival less the fewest of any other way: none has fewer"]
    assert best.note == "recommended: none, too few sessions"


@pytest.mark.slow
def test_zakay_sessions_on_the_real_logs():
    for name in LOGS:
        trace_path(name)
    study = studies.load_study("zakay-sessions")
    logs = reproduction.find_logs(study.logs, DATA / "traces")
    assert [log.version for log in logs] == [*LOGS]
    results = reproduction.run_study(study, logs).results
    counts = [result for result in results if result.claim.main]
    assert len(counts) == 12
    assert {result.verdict for result in counts} == {"reproduced"}
    of_kth = [result for result in counts if result.log.name == "KTH-SP2"]
    assert [result.ours for result in of_kth] == [28_489, 16_488, 10_303]
    assert all(result.claim.agrees == (result.ours, result.ours) for result in of_kth)
    words = "share of sessions over 1,000 min"
    long = [r for r in results if r.log.name == "SDSC-BLUE" and words in r.claim.quantity]
    long = [r for r in long if r.claim.kind == "printed"]
    assert len(long) == 5
    assert {result.verdict for result in long} == {"reproduced"}
    closer = [r.verdict for r in results if "unique think times" in r.claim.quantity]
    assert closer == ["reproduced", "reproduced"]


def test_run_times_are_those_of_studies():
    times = studies.run_times()
    assert set(times) <= set(studies.study_names())
    assert all(minutes > 0 for minutes in times.values())


SEARCHES = Path(studies.__file__).with_name("searches")


@pytest.mark.parametrize("kept", reproduction.read_table(SEARCHES / "commands.csv"), ids=str)
def test_a_kept_search_ranks_today_s_readings(kept):
    _, _, source, *words = kept["command"].split()
    fixed = [words[i + 1] for i, word in enumerate(words) if word == "--reading"]
    axes = list({a.name: a for s in studies.load_source(source) for a in s.axes}.values())
    rows = reproduction.read_table(SEARCHES / f"{kept['source']}.csv")
    names = [axis.name for axis in axes]
    ranked = [{name: row[name] for name in names} for row in rows]
    readings = [dict(reading) for reading in readings_of(axes, fixed)]
    assert sorted(ranked, key=str) == sorted(readings, key=str)
    (default,) = (row for row in rows if row["default"] == "1")
    assert {name: default[name] for name in names} == reproduction.choose(axes, fixed)
    assert [float(row["distance"]) for row in rows] == sorted(float(r["distance"]) for r in rows)
