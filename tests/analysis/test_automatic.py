"""The section on users who look automatic, and sessions with and without them."""

import json
from dataclasses import replace

import numpy as np
import pytest

import workloadkit as wk
from tests.data import needs_traces, trace_path
from tests.workloadkit.test_automatic import log_of, people, pings
from workloadkit.analysis import automatic, characterize
from workloadkit.analysis.sessions import description
from workloadkit.automatic import automatic_users


@pytest.fixture(scope="module")
def mixed():
    """A log of six people and a robot, 90; two jobs are of unknown users."""
    rng = np.random.default_rng(4)
    return log_of([*people(rng), *pings(rng), (-1, 5, 60, 1), (-1, 900, 60, 1)])


def test_the_section_names_users_with_the_evidence(mixed):
    section = automatic.section(mixed)
    users = {table.name: table for table in section.tables}["users"]
    assert users.data.index.tolist() == [90]
    assert users.data["evidence"].tolist() == [
        "at all hours, no night, equal sizes, equal run times, share of the log"
    ]
    own = (mixed.column("user") == 90).sum()
    assert section.values["jobs_share"] == own / mixed.n_jobs
    work = mixed.column("run") * mixed.column("procs")
    expected = work[mixed.column("user") == 90].sum() / work.sum()
    assert section.values["work_share"] == pytest.approx(expected)
    assert section.finding.startswith("1 of 7 users looks automatic (user 90), with ")
    assert section.notes[0] == "Left out: 2 jobs of unknown users."
    assert any("no proof" in note for note in section.notes)
    assert json.loads(json.dumps(section.to_dict(), allow_nan=False))


def test_other_limits_are_shown(mixed):
    table = automatic.sensitivity(mixed)
    assert table.index.tolist() == [0.75, 1.0, 1.25]
    assert table["users"].tolist() == sorted(table["users"], reverse=True)
    assert table["users"][1.0] == 1


def test_sessions_are_described_with_and_without_them(mixed):
    section = description.section(mixed)
    with_all, without = section.tables
    people_alone = description.section(mixed.where("automatic == 0"))
    assert without.name == "without_automatic"
    assert "user 90" in without.caption
    assert without.data.equals(people_alone.tables[0].data)
    assert not with_all.data.equals(without.data)
    mean = people_alone.values["jobs_per_session"]["mean"]
    assert f"look automatic, sessions have {mean:.3g} jobs in " in section.finding
    assert section.values["without_automatic"]["length"] == people_alone.values["length"]


def test_sessions_without_automatic_users_are_one_table():
    assert [table.name for table in description.section(wk.load_sample()).tables] == ["summary"]


def test_logs_in_which_none_is_found_say_so():
    section = automatic.section(wk.load_sample())
    assert section.finding.startswith("None of the 60 users looks automatic; ")
    assert [table.name for table in section.tables] == ["limits"]
    one = wk.Trace.from_columns({"submit": [0], "run": [5], "procs": [1], "user": [7]})
    finding = "The only user does not look automatic; 0 have enough jobs to be judged."
    assert automatic.section(one).finding == finding
    no_users = wk.Trace.from_columns({"submit": [0], "run": [5], "procs": [1]})
    assert automatic.section(no_users).notes == ("No user is known, so none can be judged.",)


def test_a_log_of_robots_alone_has_one_table_of_sessions():
    robots = log_of(pings(np.random.default_rng(2)))
    assert automatic.section(robots).values["n_automatic"] == 1
    assert len(description.section(robots).tables) == 1


def test_users_have_their_names(mixed):
    import pandas as pd

    names = [f"u{user}" if user > 0 else "" for user in mixed.column("user")]
    named = replace(mixed, sidecar=pd.DataFrame({"user": pd.Categorical(names)}))
    assert "(u90)" in automatic.section(named).finding
    assert automatic.in_words(["a", "b", "c", "d"]) == "a, b, c and 1 other"


@pytest.mark.slow
def test_the_report_has_the_section_in_every_profile(mixed):
    for profile in ("research", "operations"):
        names = [section.name for section in characterize(mixed, profile=profile).sections]
        assert "automatic" in names


#: Users of the archive's logs who look automatic, most jobs first, as the page lists them.
FOUND = {
    "CTC-SP2-1996-3.1-cln": [490, 176],
    "HPC2N-2002-2.2-cln": [17, 169, 60, 64, 27],
    "KTH-SP2-1996-2": [],
    "LANL-CM5-1994-4.1-cln": [61, 70, 178],
    "NASA-iPSC-1993-3": [3, 9],
    "NASA-iPSC-1993-3.1-cln": [9],
    "OSC-Clust-2000-3.1-cln": [],
    "SDSC-BLUE-2000-4.2-cln": [35, 45, 293, 328, 272, 86, 346],
    "SDSC-DS-2004-2.1-cln": [89, 323, 120, 151, 35],
    "SDSC-Par-1996-3.1-cln": [2, 3, 17, 6],
    "SDSC-SP2-1998-4.2-cln": [13, 2, 274],
}


@pytest.mark.slow
@needs_traces
@pytest.mark.parametrize("name", FOUND)
def test_users_of_real_logs(name):
    table = automatic_users(wk.read_swf(trace_path(name)))
    assert table.index[table["automatic"]].tolist() == FOUND[name]
