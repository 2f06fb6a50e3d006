"""The language that chooses jobs, against an evaluator written from its grammar."""

import re
from dataclasses import replace
from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.examples import examples
from tests.oracles import choosing as oracle
from workloadkit.provenance import moved_times, provenance
from workloadkit.select import LogJobs, kinds_of, parse

ZONE = ZoneInfo("Europe/Stockholm")
START = int(datetime(2024, 2, 27, tzinfo=ZONE).timestamp())
HEADER = wk.Header(
    (
        f"; UnixStartTime: {START}",
        "; TimeZoneString: Europe/Stockholm",
        "; MaxProcs: 64",
        "; Queue: 1 night",
        "; Queue: 2 day",
    )
)
DAY = 86400
WORDS = {
    "user": ["ann", "bob", "o'hara", ""],
    "account": ["bio", "chem physics", "12", ""],
    "state": ["COMPLETED", "FAILED", ""],
}


def site(n_jobs=80, seed=1):
    """A log with a side-car, every field of which is unknown for some jobs; and its jobs."""
    rng = np.random.default_rng(seed)

    def some(low, high, unknown=-1):
        values = rng.integers(low, high, n_jobs).astype(float)
        values[rng.random(n_jobs) < 0.2] = unknown
        return values

    code = {name: rng.integers(0, len(words), n_jobs) for name, words in WORDS.items()}
    words = {name: np.array(WORDS[name])[code[name]] for name in WORDS}
    columns = {
        # over the end of February, and over the change to daylight saving
        "submit": np.sort(rng.integers(0, 40 * DAY, n_jobs)),
        "wait": some(0, 9),
        "run": some(0, 4 * 3600),
        "procs": some(1, 9),
        "requested_memory": rng.choice([-1, 0, 1e6, 512 * 1024, 2 * 1024**2], n_jobs),
        "status": rng.choice([0, 1, 5, -1], n_jobs),
        "queue": rng.choice([1, 2, 3, -1], n_jobs),
        "user": np.where(words["user"] == "", -1, code["user"] + 1),
    }
    beside = {name: pd.Categorical(words[name]) for name in WORDS}
    beside["gpus"] = some(0, 3, np.nan)
    beside["eligible"] = columns["submit"] + START + some(0, 9 * DAY, np.nan)
    log = wk.Trace.from_columns(columns, header=HEADER)
    return replace(log, sidecar=pd.DataFrame(beside))


FIELDS = (
    *("run", "wait", "procs", "requested_memory", "gpus", "hour", "status", "queue", "user"),
    *("submit", "eligible", "account", "state"),
)


def local(second):
    if np.isnan(second):
        return None
    moment = datetime.fromtimestamp(START + second, UTC).astimezone(ZONE)
    return moment.replace(tzinfo=None)


def as_dicts(log):
    """The jobs of a log as the oracle looks at them."""
    names = {
        "queue": {1: "night", 2: "day", 3: "queue 3"},
        "status": {0: "failed", 1: "completed", 5: "cancelled"},
    }
    jobs = []
    for row in range(log.n_jobs):
        job = {"-1.local": local(-1), "submit.local": local(log.column("submit")[row])}
        job["eligible.local"] = local(log.column("eligible")[row])
        for name in FIELDS:
            value = log.column(name)[row]
            if isinstance(value, str):
                job[f"{name}.name"] = value or None
            else:
                missing = np.isnan(value) or (value == -1 and name != "submit")
                job[name] = None if missing else float(value)
        job["user.name"] = log.sidecar["user"].iloc[row] or None
        for name, of in names.items():
            job[f"{name}.name"] = of.get(job[name])
        jobs.append(job)
    return jobs


LOG = site()
JOBS = as_dicts(LOG)
#: The submissions, to the month, day, minute or second, and seconds of the log.
MOMENTS = st.builds(
    lambda job, form: form.format(job["submit.local"], job["submit"]),
    st.sampled_from(JOBS),
    st.sampled_from(
        [
            *("{0:%Y-%m}", "{0:%Y-%m-%d}", "{0:%Y-%m-%dT%H:%M}", "{0:%Y-%m-%dT%H:%M:%S}"),
            *("'{0:%Y-%m-%d %H:%M}'", "{1:.0f}"),
        ]
    ),
) | st.integers(0, 40).map("{}d".format)
NAMES = {
    "user": ["ann", "bob", "o'hara", "carl"],
    "account": ["bio", "chem physics", "12", "x"],
    "state": ["COMPLETED", "FAILED", "none"],
    "queue": ["night", "day", "queue 3"],
    "status": ["failed", "completed", "cancelled"],
}
NUMBERS = {
    "run": st.integers(0, 16_000).map(str) | st.sampled_from(["1h", "90min", "0.5h", "1e3"]),
    "wait": st.integers(0, 9).map(str),
    "procs": st.integers(0, 9).map(str),
    "requested_memory": st.sampled_from(["2GB", "512MB", "1e6", "0"]),
    "gpus": st.integers(0, 3).map(str),
    "hour": st.integers(0, 23).map(str),
    "status": st.sampled_from(["0", "1", "5"]),
    "queue": st.integers(0, 4).map(str),
    "user": st.integers(0, 4).map(str),
}


def quoted(name):
    """A name as it is written, in one quote or another."""
    plain = [name] if re.fullmatch("[A-Za-z]+|12", name) else []
    doubled = name.replace("'", "''")
    return st.sampled_from([*plain, f'"{name}"', f"'{doubled}'"])


def a_test_of(name):
    """Tests of one field."""
    ordered = MOMENTS if name in ("submit", "eligible") else NUMBERS.get(name)
    named = st.sampled_from(NAMES[name]).flatmap(quoted) if name in NAMES else None
    some = ordered if named is None else named if ordered is None else ordered | named
    equal = st.builds("{}{}{}".format, st.just(name), st.sampled_from(["=", " != ", "<>"]), some)
    item = some if ordered is None else some | st.builds("{}..{}".format, ordered, ordered)
    sets = st.builds(
        "{} {} ({})".format,
        st.just(name),
        st.sampled_from(["in", "not in"]),
        st.lists(item, min_size=1, max_size=3).map(", ".join),
    )
    unknown = st.sampled_from([f"{name} is unknown", f"{name} IS not unknown"])
    if ordered is None:
        return equal | sets | unknown
    sign = st.sampled_from(["<", "<=", ">", ">="])
    order = st.builds("{} {} {}".format, st.just(name), sign, ordered)
    ranges = st.builds("{}{}{}{}{}".format, ordered, sign, st.just(name), sign, ordered)
    return equal | sets | unknown | order | ranges


EXPRESSIONS = st.recursive(
    st.sampled_from((*FIELDS, "submit", "eligible", "submit")).flatmap(a_test_of),
    lambda part: (
        st.builds("{} and {}".format, part, part)
        | st.builds("{} or {}".format, part, part)
        | st.builds("({})".format, part)
        | st.builds("not ({})".format, part)
    ),
    max_leaves=6,
)


@examples(100)
@given(EXPRESSIONS)
def test_an_expression_chooses_what_its_grammar_says(text):
    truth = parse(text, kinds=kinds_of(LOG)).of(LogJobs(LOG))
    expected = [oracle.truth(text, job) for job in JOBS]
    assert truth.yes.tolist() == [found is True for found in expected]
    assert truth.no.tolist() == [found is False for found in expected]


@given(EXPRESSIONS)
def test_in_a_filter_the_unknown_is_minus_one(text):
    expected = [oracle.truth(text, job, coded=True) for job in JOBS]
    assert wk.Filter.parse(text).mask(LOG).tolist() == expected


@given(EXPRESSIONS)
def test_what_is_written_reads_back_equal(text):
    condition = parse(text)
    assert parse(str(condition)) == condition


@given(
    st.text(max_size=40)
    | st.text("user=13()<>andortjb. \"',submit2024-", max_size=40)
    | st.builds(
        lambda text, at, more: text[:at] + more + text[at:],
        EXPRESSIONS,
        st.integers(0, 40),
        st.text(max_size=3),
    )
)
def test_any_text_is_an_expression_or_refused_in_one_line(text):
    try:
        chosen = LOG.where(text)
    except wk.WorkloadError as refused:
        assert "\n" not in str(refused)
    except wk.WorkloadWarning:
        pass
    else:
        assert 0 < chosen.n_jobs <= LOG.n_jobs


@pytest.fixture
def log():
    """Six jobs of two accounts, over the turn of a month."""
    submit = [0, 3600, 2 * DAY, 3 * DAY, 3 * DAY + 60, 9 * DAY]  # 27 February, 12:00, and later
    columns = {
        "submit": submit,
        "wait": [0] * 6,
        "run": [60, 7200, -1, 60, 7201, 60],
        "procs": [1, 2, 4, 8, 16, 32],
        "user": [1, 2, 1, -1, 2, 1],
    }
    lines = (f"; UnixStartTime: {START + 12 * 3600}", "; TimeZoneString: Europe/Stockholm")
    header = wk.Header((*lines, "; MaxJobs: 6", "; MaxRecords: 6"))
    beside = {
        "account": pd.Categorical(["bio", "bio", "chem", "", "chem", "bio"]),
        "user": pd.Categorical(["ann", "bob", "ann", "", "bob", "ann"]),
    }
    found = wk.Trace.from_columns(columns, header=header, name="log.swf")
    return replace(found, sidecar=pd.DataFrame(beside))


@pytest.mark.parametrize(
    ("expression", "jobs"),
    [
        ("user=1", [1, 3, 6]),
        ("user=ann", [1, 3, 6]),
        ("user in (ann, 2)", [1, 2, 3, 5, 6]),
        ("user!=ann", [2, 5]),  # the unknown user is neither
        ("not user=ann", [2, 5]),
        ("user is unknown", [4]),
        ("run>2h", [5]),
        ("run<=2h", [1, 2, 4, 6]),
        ("not run>2h", [1, 2, 4, 6]),
        ("run>2h or run is unknown", [3, 5]),
        ("run>2h or procs=4", [3, 5]),  # true, whatever the run time is
        ("4 <= procs < 16", [3, 4]),
        ("procs in (1..4, 32)", [1, 2, 3, 6]),
        ("procs not in (1..4, 32)", [4, 5]),
        ("submit=2024-02", [1, 2, 3]),
        ("submit=2024-02-29", [3]),
        ("submit<=2024-02-29", [1, 2, 3]),
        ("submit>2024-02-29", [4, 5, 6]),
        ("submit>=2024-03-01T12:01", [5, 6]),
        ("submit='2024-03-01 12:00'", [4]),
        ("2024-02-29 <= submit < 2024-03-02", [3, 4, 5]),
        ("submit in (2024-02-27, 2024-03-01..2024-03-31)", [1, 2, 4, 5, 6]),
        ("submit<2d", [1, 2]),
        ("end>=2024-03-01T14:01:01", [5, 6]),
        ("account=bio and (user=bob or procs>=32)", [2, 6]),
        ('ACCOUNT = "bio" AND hour=13', [2]),
    ],
)
def test_which_jobs_an_expression_chooses(log, expression, jobs):
    assert log.where(expression).column("job").tolist() == jobs


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("acount=bio", "where: 'acount=bio', character 1: a field such as .*did you mean account"),
        ("user=1 and", "character 11: a field such as"),
        ("user==", "character 7: a number or a name is expected, not its end"),
        ("user=-1", "character 6: -1 is the code of unknown in a file; write: user is unknown"),
        ("run=1KB", "character 5: a number of seconds, or a duration such as 2h is expected"),
        ("memory>4h", "character 8: a number of KB, or a size such as 4GB is expected"),
        ("submit>2024-02-30", "character 8: a date such as 2024-03-01"),
        ("account<bio", "character 9: names are compared by = or !="),
        ("account in (a..c)", "character 14: names have no ranges"),
        ("account in bio", "character 12: a set in parentheses is expected"),
        ("account in (bio", "character 16: a comma or a closing parenthesis"),
        ("account in ()", "character 13: a name is expected"),
        ("account is bio", "character 12: unknown is expected"),
        ("account='bio", "character 9: a name is expected, not"),
        ('account="b\u2028io"', "character 9: a name is expected, not"),  # a line would end there
        ("account='b\x85io'", "character 9: a name is expected, not"),
        ("user=1; import os", "character 6: a number or a name is expected, not '1;'"),
        ("user=__import__('os')", "character 16: 'and', 'or' or the end is expected"),
        ("(" * 60 + "user=1" + ")" * 60, "parentheses may be nested 50 deep"),
        ("user=1 or " * 3000 + "user=1", "where: 30,006 characters; the maximum is 20,000"),
        (3, "where is 3; it must be a string"),
    ],
)
def test_a_wrong_expression_is_refused_where_it_is_wrong(log, expression, message):
    with pytest.raises(wk.ParameterError, match=message) as refused:
        log.where(expression)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        (
            {"expression": "account=bioo"},
            "no job has the account 'bioo'; did you mean bio[?]; no job",
        ),
        ({"expression": "account=x"}, "character 9: no job has the account 'x'; known: bio, chem"),
        ({"expression": "procs>99"}, "^log.swf: no job is chosen: where proc>99$"),
        ({"expression": "qos=high"}, "log.swf: no qos is known; SWF has no field for it"),
        ({"expression": "queue=night"}, "log.swf: no queue has a name; give its number"),
        (
            {"since": "2025-01-01"},
            "no job is chosen: since 2025-01-01; jobs were submitted from Tue",
        ),
        ({"since": "soon"}, "since is 'soon'; it must be a date such as 2024-03"),
        ({"since": "2024-03", "until": "2024-02"}, "until is '2024-02'; it must be after since"),
    ],
)
def test_a_choice_of_no_job_is_an_error(log, choice, message):
    with pytest.raises(wk.WorkloadError, match=message):
        log.where(**choice)


def test_a_name_that_no_job_has_is_a_warning_if_jobs_are_chosen(log):
    message = r"where: 'account in \(bio, chm\)', character 18: no job has the account 'chm'"
    with pytest.warns(wk.WorkloadWarning, match=f"{message}; did you mean chem?"):
        assert log.where("account in (bio, chm)").n_jobs == 3


def test_dates_require_local_time(log):
    bare = replace(log, header=wk.Header())
    with pytest.raises(
        wk.WorkloadError, match=r"2024-03-01 .* is a date, but local time is unknown"
    ):
        bare.where("submit>=2024-03-01")
    assert bare.where("submit>=2d", until=3 * DAY).column("job").tolist() == [3]


def test_a_period_is_half_open_and_narrows_the_window(log):
    chosen = log.where(since="2024-02-27T13:00", until=date(2024, 3, 1))
    assert chosen.column("job").tolist() == [2, 3]
    assert chosen.column("submit").tolist() == [3600, 2 * DAY]  # seconds of the same log
    whole = log.where("procs<=16", since="2024-02-28", until="2024-03-02")
    assert whole.header.window == (12 * 3600, 3 * DAY + 12 * 3600)
    assert whole.header.get("Window").endswith("to Sat Mar 02 00:00:00 CET 2024)")


def test_a_year_alone_is_no_limit(log):
    with pytest.raises(
        wk.ParameterError, match="since is '2024'; write 2024-01 for a date, or 2024s"
    ):
        log.where(since="2024")
    assert (
        log.where(until="2024s").column("job").tolist()
        == log.where(until=2024).column("job").tolist()
    )
    assert (
        replace(log, header=wk.Header()).where(until="2024").n_jobs == log.where(until=2024).n_jobs
    )


def test_a_choice_by_fields_keeps_the_window_of_the_log():
    submit = np.arange(0, 400 * DAY, 3600)
    log = wk.Trace.from_columns({"submit": submit, "user": np.arange(submit.size) % 7})
    log = replace(log, header=wk.Header((f"; Window: {50 * DAY} {300 * DAY}",)))
    for chosen, until in (
        (log.where("user=3"), 300),
        (log.where("user=3", until="100d"), 100),
    ):
        assert (chosen.window.begin, chosen.window.until) == (50 * DAY, until * DAY)
    assert log.where(until="9d").header.window is None  # outside of the window


@pytest.mark.parametrize(
    ("expression", "begin", "until"),
    [
        ("submit>=60d and user=3", 60, 300),
        ("100d > submit and submit>60d", 60, 100),
        ("submit in (60d..70d, 90d..100d)", 60, 100),
        ("submit<60d or submit=100d", 50, 100),
        ("submit<60d or user=3", 50, 300),
        ("not submit<60d", 50, 300),
    ],
)
def test_dates_of_an_expression_narrow_the_window(expression, begin, until):
    submit = np.arange(0, 400 * DAY, 3600)
    log = wk.Trace.from_columns({"submit": submit, "user": np.arange(submit.size) % 7})
    log = replace(log, header=wk.Header((f"; Window: {50 * DAY} {300 * DAY}",)))
    window = log.where(expression).window
    assert (window.begin, window.until) == (begin * DAY, until * DAY)


def test_a_month_is_the_same_by_an_expression_and_by_its_limits(log):
    first, second = log.where("submit=2024-02"), log.where(since="2024-02", until="2024-03")
    assert first.window == second.window
    assert first.jobs.equals(second.jobs)
    days = log.where("2024-02-27 < submit <= 2024-03-01")  # dates include their whole day
    limits = log.where(since="2024-02-28", until="2024-03-02")
    assert (days.header.window, days.jobs.equals(limits.jobs)) == (limits.header.window, True)


def test_a_choice_is_recorded_and_what_belongs_to_the_jobs_goes_with_them(log):
    utility = pd.DataFrame({"row": [1, 5], "time": [60.0, 90.0], "value": [1.0, 2.0]})
    chosen = replace(log, utility=utility).where("user in (bob, 1) and procs in (2, 32)")
    assert chosen.column("job").tolist() == [2, 6]
    assert chosen.sidecar["account"].tolist() == ["bio", "bio"]
    assert chosen.utility["row"].tolist() == [0, 1]
    assert (chosen.header.get("MaxJobs"), chosen.header.get("MaxRecords")) == ("2", "2")
    how = "where user in (bob, 1) and proc in (2, 32)"
    assert chosen.changes == (f"{how}: jobs 2 of 6",)
    note = chosen.header.get_all("Note")[-1]
    assert note.startswith("chosen: workloadkit ")
    assert note.endswith(f", {how}, jobs 2 of 6")
    assert provenance(chosen)["note"] == note
    assert not moved_times(chosen.header)
    assert chosen.identity != log.identity
    assert log.header.get("MaxJobs") == "6"


def test_a_preceding_job_that_is_not_chosen_is_reported(log):
    depends = log.with_columns(preceding_job=[-1, -1, 1, -1, -1, 2])
    with pytest.warns(wk.WorkloadWarning, match="log.swf: 1 chosen job names a job that is not"):
        depends.where("user=ann")
    depends.where("user in (ann, bob)")


def test_bursts_go_with_their_job():
    burst = {"job": [7, 7], "submit": [10, -1], "run": [20, 40], "status": [2, 3]}
    whole = {"job": [7, 8], "submit": [10, 20], "run": [60, 5], "status": [1, 1]}
    header = wk.Header(("; MaxJobs: 2", "; MaxRecords: 4"))
    log = replace(
        wk.Trace.from_columns(whole, header=header), bursts=wk.Trace.from_columns(burst).jobs
    )
    chosen = log.where("run=1min")
    assert (chosen.n_jobs, chosen.n_bursts) == (1, 2)
    assert (chosen.header.get("MaxJobs"), chosen.header.get("MaxRecords")) == ("1", "3")


def test_columns_of_other_formats_are_fields():
    log = wk.Trace.from_columns({"submit": [0, 1]})
    beside = pd.DataFrame({"OrigSiteID": pd.Categorical(["a", "b"]), "Cost": [1.5, np.nan]})
    log = replace(log, sidecar=beside)
    assert log.where("origsiteid=b").column("submit").tolist() == [1]
    assert log.where("cost<2").column("submit").tolist() == [0]


def test_a_column_of_another_type_is_compared_as_what_it_is():
    log = wk.Trace.from_columns({"submit": [0, 1]})
    log = replace(log, sidecar=pd.DataFrame({"nodes": ["n1", "n2"], "account": [12, 13]}))
    assert log.where("nodes=n2 or account<13").n_jobs == 2
    for text, message in (
        ("nodes<2", "nodes has names, not numbers"),
        ("account=bio", "no account has a name; give its number"),
    ):
        with pytest.raises(wk.WorkloadError, match=message):
            wk.Filter.parse(text).mask(log)
