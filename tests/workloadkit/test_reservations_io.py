"""Files of requests for reservations, and jobs turned into requests."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk

TEXT = """\
; ReservationFormat: 1
; Log: log.swf
1 0 3600 3600 7200 16 5 0 -1 12
2 100 86400 172800 600 128 -1 2 1 -1
3 100 100 -1 1 1 7 1 0 4 6
"""


def read(text):
    return wk.read_reservations(io.BytesIO(text.encode()))


def test_a_file_is_read_and_written_as_the_format_says(tmp_path):
    requests = read(TEXT)
    assert requests.requests == (
        wk.ReservationRequest(1, 0, 3600, 3600, 7200, 16, user=5, jobs=(12,)),
        wk.ReservationRequest(2, 100, 86400, 172800, 600, 128, kind=2, answer=1),
        wk.ReservationRequest(3, 100, 100, -1, 1, 1, user=7, kind=1, answer=0, jobs=(4, 6)),
    )
    assert [request.deadline for request in requests] == [10800, 173400, -1]
    assert requests.text() == TEXT
    wk.write_reservations(requests, tmp_path / "log.swf.gz.reservations.gz")
    assert wk.read_reservations(tmp_path / "log.swf.gz.reservations.gz").text() == TEXT


numbers = st.integers(0, 10**6)
valid = st.builds(
    lambda number, asked, lead, more, *others: wk.ReservationRequest(
        number, asked, asked + lead, -1 if more is None else asked + lead + more, *others
    ),
    *(st.integers(1, 10**9), numbers, numbers, st.none() | numbers, st.integers(1, 10**6)),
    *(st.integers(1, 10**6), st.integers(-1, 99), st.integers(-1, 3)),
    st.sampled_from([-1, 0, 1, 5]),
    st.lists(st.integers(1, 99), unique=True).map(tuple),
)


@given(st.lists(valid, unique_by=lambda request: request.number, min_size=1))
def test_what_is_written_is_what_is_read(requests):
    assert read(wk.ReservationRequests(requests).text()).requests == tuple(requests)


def test_errors_name_line_field_and_value():
    for line, message in (
        ("1 0 60 60 9 1 5 0", r"line 1: 8 columns; a reservation has at least 10 .*of reserv"),
        ("x 0 60 60 9 1 5 0 -1 -1", "field number: not an integer"),
        ("0 0 60 60 9 1 5 0 -1 -1", "field number: reservations are numbered from 1"),
        ("1 90 60 60 9 1 5 0 -1 -1", "field earliest: before the request is made, at 90 s.*: '60'"),
        ("1 0 60 59 9 1 5 0 -1 -1", "field latest: before the earliest start, 60 s.*: '59'"),
        ("1 0 60 60 0 1 5 0 -1 -1", "field duration: must be 1 or more.*: '0'"),
        ("1 0 60 60 9 -1 5 0 -1 -1", "field procs: must be 1 or more"),
        ("1 -1 60 60 9 1 5 0 -1 -1", "field asked: must be known"),
        ("1 0 60 60 9 1 5 4 -1 -1", "field kind: out of range.*: '4'"),
        ("1 0 60 60 9 1 5 0 3 -1", "field answer: not in the format.*: '3'"),
        ("1 0 60 60 9 1 5 0 -1 0", "field jobs: jobs are numbered from 1"),
        ("1 0 60 60 9 1 5 0 -1 4 4", "field jobs: repeated"),
        ("; ReservationFormat: 2", "unsupported version of the format, not 1: '2'"),
        ("", "is empty"),
    ):
        with pytest.raises(wk.FormatError, match=message):
            read(line + "\n")
    with pytest.raises(wk.FormatError, match="line 2, field number: repeated: '1'"):
        read("1 0 60 60 9 1 5 0 -1 -1\n" * 2)


LOG = wk.Trace.from_columns(
    {
        "submit": np.arange(4000),
        "run": np.full(4000, 90.5),
        "procs": np.full(4000, 3),
        "requested_time": [600, -1] * 2000,
        "user": np.arange(4000) % 7,
    }
)


@pytest.mark.parametrize("law", ["exponential", "uniform", "fixed"])
def test_a_share_of_the_jobs_requests_reservations(law):
    made = wk.draw_reservations(LOG, 0.3, lead=1000, law=law, window=50, rng=1)
    table = made.table
    again = wk.draw_reservations(LOG, 0.3, lead=1000, law=law, window=50, rng=1)
    assert again.text() == made.text() == read(made.text()).text()
    assert abs(len(table) - 1200) < 120
    leads = table["earliest"] - table["asked"]
    assert abs(leads.mean() - 1000) < 120 and leads.min() >= 0
    spread = {"exponential": 1000, "uniform": 1000 / np.sqrt(3), "fixed": 0}[law]
    assert abs(leads.std() - spread) <= 0.1 * spread
    assert (table["latest"] - table["earliest"] == 50).all()
    jobs = np.array([job for (job,) in table["jobs"]]) - 1
    assert (table["asked"] == LOG.column("submit")[jobs]).all()
    assert (table["duration"] == np.where(jobs % 2, 91, 600)).all()
    assert (table["user"] == LOG.column("user")[jobs]).all() and (table["procs"] == 3).all()


def test_no_share_is_no_request_and_jobs_that_never_ran_request_none():
    assert len(wk.draw_reservations(LOG, 0, rng=1)) == 0
    log = LOG.with_columns(run=[-1] * 3999 + [9])
    made = wk.draw_reservations(log, 1, rng=1)
    assert [request.jobs for request in made] == [(4000,)]
    for wrong in ({"share": 1.5}, {"share": -1}, {"lead": -1}, {"law": "normal"}, {"window": -1}):
        with pytest.raises(wk.ParameterError):
            wk.draw_reservations(LOG, **{"share": 0.1} | wrong)


def test_the_command_writes_what_the_function_draws(run, tmp_path):
    wk.write_swf(LOG, tmp_path / "log.swf")
    options = ("--share", 0.2, "--lead", "10min", "--law", "fixed", "--window", "1h", "--seed", 4)
    code, out, err = run("reservations", tmp_path / "log.swf", *options)
    made = wk.draw_reservations(
        wk.read_swf(tmp_path / "log.swf"), 0.2, lead=600, law="fixed", window=3600, rng=4
    )
    assert (code, out) == (0, made.text())
    assert err == f"{len(made)} requests of 4,000 jobs, seed 4\n"
    code, _, err = run("reservations", tmp_path / "log.swf", "--law", "normal")
    assert code == 2 and "law is 'normal'" in err and len(err.splitlines()) == 1
