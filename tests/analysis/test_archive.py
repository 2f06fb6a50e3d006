"""The place of a log among those of the archive."""

import gzip
import json
from dataclasses import replace
from statistics import median

import numpy as np
import pytest

import workloadkit as wk
from tests.data import trace_path
from workloadkit.analysis.logs.archive import (
    MEASURES,
    archive,
    archive_measures,
    place_among_archive,
    section_of,
    with_archive,
)
from workloadkit.errors import ParameterError


@pytest.mark.parametrize("name", ["KTH-SP2-1996-2.1-cln", "NASA-iPSC-1993-3.1-cln"])
def test_measures_of_a_log_are_those_of_its_lines(name):
    with gzip.open(trace_path(name), "rt") as file:
        lines = [line.split() for line in file if line.strip() and not line.startswith(";")]
    ran = [line for line in lines if float(line[3]) >= 0 and int(line[4]) > 0]
    submit = [int(line[1]) for line in lines]
    of_log = archive_measures()[name]
    known = {log["name"]: log for log in archive()["logs"]}[name]
    assert known["jobs"] == len(lines)
    assert of_log["users.n_users"] == len({line[11] for line in ran})
    assert of_log["marginals.run.p50"] == median(float(line[3]) for line in ran)
    serial = sum(int(line[4]) == 1 for line in ran) / len(ran)
    assert of_log["marginals.serial_share"] == pytest.approx(serial, rel=1e-5)
    days = (max(submit) - min(submit)) / 86400
    assert of_log["load.jobs_per_day_mean"] == pytest.approx(len(ran) / days, rel=1e-3)


def test_each_log_has_a_source_and_each_measure_is_known_of_most_logs():
    logs = archive()["logs"]
    assert len({log["sha256"] for log in logs}) == len(logs) == 10
    assert all(log["installation"] and log["computer"] for log in logs)
    table = archive_measures()
    assert list(table.index) == list(MEASURES)
    assert (table.notna().sum(axis=1) >= 6).all()
    shares = [name for name in MEASURES if name.endswith("share")]
    known = table.loc[shares].stack().dropna()
    assert known.between(0, 1).all()


def test_a_place_is_one_more_than_the_number_of_smaller_values():
    trace = wk.load_sample()
    for measure in MEASURES:
        others = [value for value in archive_measures().loc[measure].tolist() if value == value]
        for value in (-1.0, *others, max(others) + 1, sorted(others)[4] + 1e-9):
            place = place_among_archive(trace, {measure: value})
            row = place.table.loc[measure]
            assert row["rank"] == 1 + sum(other < value for other in others)
            assert (row["n"], row["least"]) == (len(others) + 1, min(others))
            assert archive_measures().at[measure, row["greatest_log"]] == max(others)
            strip = place.strip_of(measure)
            assert strip.value == value
            assert strip.values.tolist() == sorted(others)
            assert archive_measures().loc[measure, list(strip.names)].tolist() == sorted(others)


def test_a_log_of_the_archive_is_compared_with_the_others():
    known = {log["name"]: log for log in archive()["logs"]}["KTH-SP2-1996-2.1-cln"]
    log = replace(wk.load_sample(), digest=known["sha256"])
    place = place_among_archive(log, {"users.n_users": 214.0, "load.utilization": np.nan})
    assert "KTH-SP2-1996-2.1-cln" not in place.others
    assert place.table.index.tolist() == ["users.n_users"]
    assert place.table.at["users.n_users", "n"] == 10
    assert json.dumps(place.to_dict(), allow_nan=False)
    with pytest.raises(ParameterError, match="measure"):
        place.strip_of("load.utilization")
    note = section_of(place_among_archive(log, {"load.machine": 100.0})).notes[0]
    assert known["name"] not in note


def test_the_section_of_a_report():
    trace = wk.load_sample()
    place = place_among_archive(trace, {"users.n_users": 1.0, "load.utilization": 0.999})
    section = section_of(place)
    (table,) = section.tables
    assert table.shown.loc["users", "rank"] == "lowest of 11"
    assert table.shown.loc["users", "greatest"].startswith("679 (CTC-SP2")
    assert section.finding == (
        "Lower than in the 10 logs of the archive: users; "
        "higher than in the 10 logs of the archive: utilization."
    )
    assert place.plot().get_yticks().tolist() == [0, 1]
    assert with_archive(trace.take(np.arange(999)), ()) == ()
    assert with_archive(trace, ()) == ()
