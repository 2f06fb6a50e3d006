"""One table of jobs: fields of the standard, of the side-car, and times derived from them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import workloadkit as wk

START = 843480031
HEADER = wk.Header(
    (
        f"; UnixStartTime: {START}",
        "; TimeZoneString: Europe/Stockholm",
        "; Queue:  1  night  (long jobs)",
        "; Queue: 2 day",
    )
)
COLUMNS = {
    "submit": [0, 60, 7200],
    "wait": [5, -1, 30],
    "run": [100, -1, 200],
    "procs": [1, -1, 2],
    "status": [1, 5, 3],
    "user": [1, 2, 1],
    "queue": [2, 7, -1],
}


@pytest.fixture
def log():
    return wk.Trace.from_columns(COLUMNS, header=HEADER)


@pytest.fixture
def site(log):
    beside = {
        "user": pd.Categorical(["ann", "bob", "ann"]),
        "account": pd.Categorical(["bio", "", "chem"], ["bio", "", "chem", "left"]),
        "id": ["7", "8", "9_1"],
        "gpus": [1.0, np.nan, 0.0],
        "eligible": [START + 2.0, np.nan, START + 7200.0],
        "end": [START + 110.0, START + 90.0, np.nan],
        "reason": pd.Categorical(["", "", ""]),
    }
    return replace(log, sidecar=pd.DataFrame(beside))


def test_fields_keep_their_meaning_and_the_side_car_adds_columns(site):
    assert site.column("user").tolist() == [1, 2, 1]
    assert site.column("account").tolist() == ["bio", "", "chem"]
    assert site.column("id").tolist() == ["7", "8", "9_1"]
    np.testing.assert_array_equal(site.column("gpus"), [1, np.nan, 0])
    assert not site.column("account").flags.writeable


def test_times_are_seconds_of_the_log(log, site):
    np.testing.assert_array_equal(site.column("eligible"), [2, np.nan, 7200])
    np.testing.assert_array_equal(site.column("end"), [110, 90, np.nan])  # as in the side-car
    np.testing.assert_array_equal(log.column("start"), [5, np.nan, 7230])
    np.testing.assert_array_equal(log.column("end"), [105, np.nan, 7430])
    assert log.column("hour").tolist() == [14, 14, 16]
    with pytest.raises(wk.WorkloadError, match="eligible requires UnixStartTime"):
        replace(site, header=wk.Header()).column("eligible")


def names(log, field):
    found = log.names(field)
    return [None if code < 0 else found.categories[code] for code in found.codes]


def test_names_come_from_the_side_car_the_header_or_the_standard(log, site):
    assert names(site, "user") == ["ann", "bob", "ann"]
    assert names(site, "account") == ["bio", None, "chem"]
    assert list(site.names("account").categories) == ["bio", "chem"]
    assert names(log, "user") == ["user 1", "user 2", "user 1"]
    assert names(log, "queue") == ["day", "queue 7", None]
    assert names(log, "status") == ["completed", "cancelled", "status 3"]
    hidden = replace(log, sidecar=pd.DataFrame({"user": pd.Categorical(["4", "5", "4"])}))
    assert names(hidden, "user") == ["user 4", "user 5", "user 4"]


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("account", "trace: no account is known; SWF has no field for it"),
        ("partition", "trace: no partition is known"),
        ("run", "run has no names"),
        ("usr", "not a field of a job: usr; did you mean user?"),
    ],
)
def test_what_a_log_does_not_have_is_an_error(log, field, message):
    with pytest.raises(wk.WorkloadError, match=message):
        log.names(field)


def test_a_column_of_the_side_car_may_be_unknown_or_have_no_names(site):
    with pytest.raises(wk.WorkloadError, match="trace: no reason is known"):
        site.names("reason")
    with pytest.raises(wk.WorkloadError, match="gpus has no names"):
        site.names("gpus")
