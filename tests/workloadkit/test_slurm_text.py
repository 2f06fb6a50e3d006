"""Exports of sacct as other programs write them: quotes, other times, lines of shells, floats."""

import csv
import io
import itertools
from random import Random

import numpy as np
import pandas as pd
import pytest

import workloadkit as wk
from workloadkit.io.slurm import columns

from .test_slurm import ROW, SECOND, column, export, left_out, noted, read, read_rows, sidecar

TRES = "billing=16,cpu=16,mem=32G,node=1,gres/gpu=2"
JOBS = [
    {"JobName": "train", "AllocTRES": TRES},
    {"JobName": "infer, v2", "AllocTRES": TRES},
    {"JobName": 'say "hi"', "AllocTRES": "cpu=16"},
    {"JobName": "a;b|c\td", "AllocTRES": TRES},
    {"JobName": '"', "AllocTRES": TRES},
    {"JobName": '"all"', "AllocTRES": TRES},
    {"JobName": 'two\nlines, "and"\n\nmore', "AllocTRES": TRES},
    {"JobName": "", "AllocTRES": ""},
    {"JobName": '""', "AllocTRES": TRES},
]
ROWS = [
    {**ROW, "AllocCPUS": "16", **job, "JobID": str(i), "JobIDRaw": str(i)}
    for i, job in enumerate(JOBS, 1)
]
NAMES = [job["JobName"].replace("\n", " ") for job in JOBS]


def as_table(names=None, **options):
    """The rows as pandas writes them."""
    return pd.DataFrame(ROWS).loc[:, names or list(ROWS[0])].to_csv(**options)


@pytest.mark.parametrize("sep", [",", ";", "\t", "|"])
@pytest.mark.parametrize("index", [True, False])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC])
def test_what_pandas_writes_is_read(sep, index, end, quoting):
    text = as_table(sep=sep, index=index, lineterminator=end, quoting=quoting)
    trace = read(text)
    assert wk.read_log(io.BytesIO(text.encode())).jobs.equals(
        trace.jobs
    )  # the format is recognized
    assert sidecar(trace, "executable") == NAMES
    assert trace.sidecar["gpus"].fillna(-1).tolist() == [2, 2, 0, 2, 2, 2, 2, -1, 2]
    assert column(trace, "procs") == [16] * len(JOBS)
    assert noted(trace) == {"end of line in free text: joined by the number of fields": 1}
    assert trace.intake.rows == len(JOBS)


def test_columns_may_have_any_order():
    expected = read(as_table(index=False)).sidecar
    random = Random(46)
    for _ in range(12):
        names = random.sample(list(ROWS[0]), len(ROWS[0]))
        sep = random.choice(",;\t|")
        found = read(as_table(names, sep=sep, index=random.random() < 0.5)).sidecar
        same = [name for name in expected if name != "place"]
        pd.testing.assert_frame_equal(found[same], expected[same])


NAMES_WITH_QUOTES = ['say "hi"', '"', '"quoted"', '"begins', 'ends"', '""', '"a" and "b"', 'x"y']


def test_quotes_of_names_that_sacct_prints_are_of_the_names():
    for last in (True, False):
        rows = [{"JobID": str(i), "JobName": n} for i, n in enumerate(NAMES_WITH_QUOTES)]
        lines = [line.split("|") for line in export(*rows).splitlines()]
        order = range(len(lines[0])) if last else [len(lines[0]) - 1, *range(len(lines[0]) - 1)]
        trace = read("".join("|".join(line[i] for i in order) + "\n" for line in lines))
        assert sidecar(trace, "executable") == NAMES_WITH_QUOTES, last
        assert trace.intake.rows == len(rows)
        assert not trace.intake.noted


def unquoted(names, row, sep=","):
    return f"{sep.join(names)}\n{sep.join(row[name] for name in names)}\n"


def test_lists_of_resources_without_quotes_are_read_or_refused():
    some = ["JobID", "Submit", "Start", "End", "State", "AllocCPUS", "AllocTRES", "JobName"]
    row = ROWS[0]
    n_read = 0
    for names in itertools.permutations(some[4:]):
        for place in (0, 3):
            order = [*some[:place], *names, *some[place:4]]
            for name in ("a,b", "x=1,y"):
                try:
                    trace = read(unquoted(order, {**row, "JobName": name}))
                except wk.FormatError as error:
                    assert "wrong number of fields" in str(error)
                    continue
                n_read += 1
                assert sidecar(trace, "gpus") == [2], order
                assert sidecar(trace, "executable") == [name], order
                assert column(trace, "procs") == [16]
    assert n_read > 80


def test_a_join_that_does_not_fit_a_column_is_refused():
    names = "JobName|JobID|Submit|Start|End|State|AllocCPUS|ReqMem\n"
    times = "2024-05-01T08:00:00|2024-05-01T08:01:00|2024-05-01T09:01:00"
    for tail in ("COMPLETED|four|4G", "DONE|4|4G", "COMPLETED|4|much"):
        with pytest.raises(wk.FormatError, match="wrong number of fields"):
            read(f"{names}a|b|7|{times}|{tail}\n")
    assert sidecar(read(f"{names}a|b|7|{times}|COMPLETED|4|4G\n"), "executable") == ["a|b"]


def test_alternatives_of_nodes_contain_the_delimiter():
    more = {"TimelimitRaw": "60", "ReqMem": "4G"}
    trace = read_rows({"Constraints": "intel|amd"} | more, {"JobID": "8", "Constraints": "intel"})
    assert sidecar(trace, "features") == ["intel|amd", "intel"]


@pytest.mark.parametrize("sep", [",", "|"])
def test_an_open_quote_takes_no_other_row(sep):
    rows = [{"JobID": "7", "JobName": '"open'}, {"JobID": "8"}, {"JobID": "9", "JobName": 'x"'}]
    trace = read(export(*rows, delimiter=sep))
    assert sidecar(trace, "executable") == ['"open', "a.out", 'x"']


def test_the_first_column_may_have_several_lines():
    times = "2024-05-01T08:00:00,2024-05-01T08:01:00,2024-05-01T09:01:00,COMPLETED,4"
    names = "JobName,JobID,Submit,Start,End,State,NCPUS\n"
    trace = read(
        f'{names}"a\nb",7,{times}\n"x, ""y""\n\nz",8,{times}\nq,9,{times}\n"r,s",10,{times}\n'
    )
    assert sidecar(trace, "executable") == ["a b", 'x, "y"  z', "q", "r,s"]
    assert trace.intake.rows == 4


def test_an_open_quote_at_the_end_of_a_file_is_of_the_name_or_counted():
    trace = read(export({}, {"JobID": "8", "JobName": '"x'}))
    assert sidecar(trace, "executable") == ["a.out", '"x']
    trace = read(export({}, delimiter=",") + '8,"torn')
    assert left_out(trace) == {"wrong number of fields": 1}
    assert trace.intake.rows == 2


def test_names_of_columns_in_any_case_and_with_blanks():
    for change in (
        str.lower,
        str.upper,
        lambda line: line.replace("|", " | "),
        lambda line: line.replace("JobID|", "Job ID|"),
    ):
        names, rows = export({}).split("\n", 1)
        assert column(read(f"{change(names)}\n{rows}"), "wait") == [60]


STRAY = [
    "slurm_persist_conn_open: connection refused",
    "slurm_load_jobs error: Unable to contact slurm controller",
    "user@login:~$ sacct -aXP -o User,JobID,Submit,Start,End,State,AllocCPUS",
    "Last login: Mon May  6 08:00:00 2024 from 10.0.0.1",
    "+ sacct --format=JobID,Submit,Start,State -P",
]


@pytest.mark.parametrize("n_lines", [1, 2, 5])
def test_stray_lines_before_the_names_are_counted(n_lines):
    text = "\n\n".join(STRAY[-n_lines:]) + "\n\n" + export({}, {"JobID": "8"})
    trace = wk.read_log(io.BytesIO(text.encode()))
    assert trace.n_jobs == 2
    assert left_out(trace) == {"lines before the names of the columns": n_lines}
    assert trace.intake.rows == 2 + n_lines
    assert sidecar(trace, "place")[0] == 2 * n_lines + 2


def test_rows_before_the_names_are_no_stray_lines():
    names, row, _ = export({}).split("\n")
    with pytest.raises(wk.FormatError, match="without a line of column names"):
        read(f"{row}\n{names}\n{row}\n")


def without(*titles, **more):
    """A row, without some columns."""
    row = {name: cell for name, cell in {**ROW, **more}.items() if name not in titles}
    return "|".join(row) + "\n" + "|".join(row.values()) + "\n"


def test_columns_that_are_missing_are_said():
    for title, message in (
        ("State", "no column State: status unknown"),
        ("JobID", "no column JobID: rows are numbered by their lines"),
        ("AllocCPUS", "no column AllocCPUS: processors unknown"),
    ):
        others = {"JobID": ["JobIDRaw"], "AllocCPUS": ["ReqCPUS"]}.get(title, [])
        with pytest.warns(wk.WorkloadWarning, match=message):
            trace = read(without(title, *others))
        assert trace.n_jobs == 1
        assert [kind for kind in noted(trace) if kind.startswith(f"no {title}")]
    assert column(trace, "procs") == [None]


@pytest.mark.filterwarnings("ignore::workloadkit.errors.WorkloadWarning")
def test_times_are_all_that_is_required():
    for names in ("Submit|Start|End", "Start|Elapsed", "Start|End|User"):
        cells = {"Elapsed": "01:00:00", "End": "2024-05-01T09:01:00", "User": "al"}
        row = "|".join(cells.get(name, "2024-05-01T08:01:00") for name in names.split("|"))
        trace = wk.read_log(io.BytesIO(f"{names}\n{row}\n".encode()))
        assert trace.jobs["run"].tolist() == [3600]


def test_without_states_a_job_that_has_not_ended_is_left_out():
    names = "JobID|Submit|Start|End|AllocCPUS\n"
    with pytest.warns(wk.WorkloadWarning, match="no column State"):
        trace = read(
            f"{names}7|2024-05-01T08:00:00|2024-05-01T08:01:00|2024-05-01T09:01:00|4\n"
            "8|2024-05-01T08:00:00|2024-05-01T08:01:00|Unknown|4\n"
            "9|2024-05-01T08:00:00|Unknown|Unknown|4\n"
        )
    assert sidecar(trace, "id") == ["7"]
    assert left_out(trace) == {"unknown state, without an end": 2}
    assert column(trace, "status") == [-1]


TIMES = [
    "{0:%Y-%m-%dT%H:%M:%S}",
    "{0:%Y-%m-%d %H:%M:%S}",
    "{0:%Y/%m/%d %H:%M:%S}",
    "{0:%d %b %Y %H:%M:%S}",
    "{0:%d %B %Y %H:%M}",
    "{0:%b %d %H:%M:%S %Y}",
    "{0:%a %b %e %H:%M:%S %Y}",
    "{0:%A, %B %d, %Y %I:%M:%S %p}",
    "{0:%d-%b-%Y %H:%M:%S}",
    "{0:%Y%m%d%H%M%S}",
    "{0:%d/%m/%Y %H:%M:%S}",
    "{0:%m/%d/%Y %H:%M:%S}",
    "{0:%d.%m.%Y %H:%M}",
    "{0:%m/%d/%Y %I:%M:%S %p}",
    "{0:%m-%d-%Y %H:%M:%S}",
    "{1}",
    "{1}.0",
    "{1}000",
    "{1}000.0",
    "{1}000000",
    "{1}000000000",
]


def written_times(form, day=13):
    start = pd.Timestamp(f"2024-05-{day:02}T13:00:00")
    rows = []
    for i in range(4):
        times = [start + pd.Timedelta(minutes=m + 1440 * i) for m in (0, 1, 61)]
        cells = [form.format(time, int(time.timestamp())) for time in times]
        rows.append(
            {
                "JobID": str(i),
                **dict(zip(("Submit", "Start", "End"), cells, strict=True)),
                "Eligible": "",
            }
        )
    return export(*rows, delimiter="|")


@pytest.mark.parametrize("form", TIMES)
def test_times_in_many_forms(form):
    trace = read(written_times(form))
    assert trace.header.start == pd.Timestamp("2024-05-13T13:00").timestamp()
    assert column(trace, "submit") == [0, 86400, 2 * 86400, 3 * 86400]
    assert column(trace, "wait") == [60] * 4
    assert not [kind for kind in noted(trace) if "invalid" in kind]


def test_the_order_of_day_and_month_is_that_of_the_whole_column():
    # 11, 12 and 13, 14 May: the last two show that the day is first
    assert read(written_times("{0:%d/%m/%Y %H:%M}", day=11)).header.start == 1715432400
    assert read(written_times("{0:%m/%d/%Y %H:%M}", day=11)).header.start == 1715432400


@pytest.mark.parametrize("form", ["{0:%d/%m/%Y %H:%M}", "{0:%m/%d/%Y %H:%M}"])
def test_ambiguous_dates_are_refused(form):
    with pytest.raises(wk.FormatError, match="line 2, field Submit: day and month are ambiguous"):
        read(written_times(form, day=2))


def test_contradictory_dates_are_refused():
    text = (
        written_times("{0:%d/%m/%Y %H:%M}") + written_times("{0:%m/%d/%Y %H:%M}").split("\n", 1)[1]
    )
    with pytest.raises(wk.FormatError, match="not as 13/05/2024 13:00 on line 2"):
        read(text)


@pytest.mark.parametrize(
    "form",
    [
        "{0:%d/%m/%y %H:%M}",
        "{0:%y/%m/%d %H:%M}",
        "{0:%Y%m%d}",
        "{0:%H:%M:%S}",
        "{0:%d %m %Y}",
        "1.7E+09",
    ],
)
def test_times_in_unknown_forms_are_refused_by_name(form):
    with pytest.raises(wk.FormatError, match="line 2, field Submit: no time is in a known form"):
        read(written_times(form))


def test_one_time_in_an_unknown_form_is_counted():
    trace = read_rows({}, {"JobID": "8", "End": "tomorrow"})
    assert noted(trace) == {"invalid End: taken as unknown": 1}


def test_numbers_as_pandas_writes_them():
    text = export(
        {
            "JobID": "800.0",
            "JobIDRaw": "800.0",
            "AllocCPUS": "8.0",
            "ElapsedRaw": "3600.0",
            "NNodes": "2.0",
        },
        {"JobID": "801.0", "JobIDRaw": "801.0", "TimelimitRaw": "60.0"},
        delimiter=",",
    )
    trace = read(text)
    assert sidecar(trace, "id") == ["800", "801"]
    assert (column(trace, "procs"), column(trace, "run")) == ([8, 8], [3600, 3600])
    assert column(trace, "requested_time") == [None, 3600]


def test_steps_that_end_in_0_are_steps_next_to_jobs():
    trace = read_rows({"JobID": "7"}, {"JobID": "7.0", "User": "", "Partition": ""})
    assert (trace.n_jobs, left_out(trace)) == (1, {"step rows added to their jobs": 1})


USAGE = "cpu=01:00:00,energy=7000,fs/disk=1,mem=8000K,pages=0,vmem=9000K"


@pytest.mark.parametrize(
    ("job", "step", "cpu", "kb"),
    [
        ({"TotalCPU": "00:00:00"}, {"TotalCPU": "00:00:00", "TRESUsageInTot": USAGE}, 3600, 8000),
        ({"TotalCPU": "00:00:00", "TRESUsageInTot": USAGE}, {}, 3600, 8000),
        ({"TRESUsageInTot": USAGE}, {"TRESUsageInTot": "cpu=9"}, 3600, 8000),
        ({"TotalCPU": "02:00:00", "TRESUsageInTot": USAGE}, {}, 7200, 8000),
        ({"TotalCPU": "00:00:00"}, {"TotalCPU": "00:00:00"}, 0, None),
        ({"UserCPU": "00:50:00", "SystemCPU": "00:10:00"}, {}, 3600, None),
        ({"TotalCPU": "00:00:00", "UserCPU": "00:50:00", "SystemCPU": "00:10:00"}, {}, 3600, None),
        ({}, {"TRESUsageInMax": "mem=1000K", "NTasks": "8"}, None, 8000),
        ({}, {"MaxRSS": "500K", "NTasks": "8", "TRESUsageInTot": USAGE}, 3600, 4000),
        ({}, {"TRESUsageInTot": "mem=8192000"}, None, 8000),
    ],
)
def test_what_a_job_used_is_in_lists_of_resources(job, step, cpu, kb):
    trace = read_rows(job, {"JobID": "7.0", **step})
    assert column(trace, "cpu") == [None if cpu is None else cpu / 8]
    assert column(trace, "memory") == [None if kb is None else kb / 8]


def test_energy_is_in_what_was_used():
    trace = read_rows({"TRESUsageInTot": USAGE}, {"JobID": "8", "ConsumedEnergyRaw": "5"})
    assert sidecar(trace, "energy") == [7000, 5]


def test_the_time_of_processors_is_not_the_time_that_they_computed():
    assert column(read_rows({"CPUTime": "08:00:00", "CPUTimeRAW": "28800"}), "cpu") == [None]


def test_wide_text_and_nul_characters():
    text = export({}, {"JobID": "8"})
    assert wk.read_log(io.BytesIO(text.encode("utf-16"))).n_jobs == 2
    head, row, more, _ = text.encode().split(b"\n")
    torn = b"\n".join([head, row, more[:20] + bytes(40) + more, bytes(9) + row, b""])
    trace = wk.read_log(io.BytesIO(torn))
    assert trace.intake.rows == 4
    assert noted(trace)["NUL characters left out"] == 49
    assert left_out(trace)["wrong number of fields"] == 1


def test_an_unrecognized_file_is_said_to_be_one(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("when,what\n1,2\n")
    with pytest.raises(
        wk.FormatError, match="the format is not recognized; with procs it must be named"
    ):
        wk.read_log(path, procs=8)
    path.write_text("1 0 5 60 4\n")
    with pytest.raises(wk.ParameterError, match="procs: not supported for Standard Workload"):
        wk.read_log(path, procs=8)


@pytest.mark.filterwarnings("ignore::workloadkit.errors.WorkloadWarning")
def test_steps_without_ids_belong_to_the_job_before_them():
    step = {"User": "", "Partition": "", "MaxRSS": "800K"}
    rows = [
        {**step, "JobName": "0"},
        {},
        {**step, "JobName": "batch"},
        {**step, "JobName": "a"},
        {},
    ]
    names, *lines = export(*rows).splitlines()
    titles = names.split("|")
    kept = [i for i, title in enumerate(titles) if not title.startswith("JobID")]
    text = "".join("|".join(line.split("|")[i] for i in kept) + "\n" for line in (names, *lines))
    trace = read(text)
    assert sidecar(trace, "id") == ["3", "6"]
    assert column(trace, "memory") == [100, None]
    assert left_out(trace) == {"step rows added to their jobs": 2, "step rows without their job": 1}


def test_ids_without_a_column_are_in_the_order_of_the_rows():
    titles = [name for name in ROW if not name.startswith("JobID")]
    rows = [{**ROW, "JobName": name} for name in ("a", 'b"|"c', "d|e", "f")]
    lines = ["|".join(titles), *("|".join(row[t] for t in titles) for row in rows)]
    with pytest.warns(wk.WorkloadWarning, match="no column JobID"):
        trace = read("\n".join(lines) + "\n")
    assert sidecar(trace, "id") == ["2", "3", "4", "5"]
    assert sidecar(trace, "executable") == ["a", 'b"|"c', "d|e", "f"]
    assert np.array_equal(trace.sidecar["submit"], [SECOND] * 4)


def test_no_cell_takes_exponential_time():
    """A pattern that tries all ways to divide a text would not end here."""
    for name in columns.KNOWN:
        for piece in (
            "n",
            "n1",
            "1",
            "1:",
            "a.",
            "[1",
            "A,",
            "cpu=1,",
            "a(b)",
            "a:b",
            "-",
            "(",
            "a&",
        ):
            for end in (" ", "|", "\n", '"', "=,"):
                assert columns.fits(name, piece * 3000 + end) in (True, False)


MIDDLE = ["JobID", "Submit", "Start", "End", "State", "AllocCPUS", "JobName", "NNodes", "QOS"]


def raw(*names, order=MIDDLE):
    """Return rows with these names as `sacct` prints them: quotes and line ends are characters."""
    rows = [{**ROW, "QOS": "low", "JobID": str(i), "JobName": n} for i, n in enumerate(names, 1)]
    return "".join("|".join(row) + "\n" for row in [order, *([r[n] for n in order] for r in rows)])


@pytest.mark.parametrize(
    "name",
    [
        *('"a|b"', '"a"', '""', '""""', '"|', '|"', '"open|', 'x"y|z', '"a|b|c"'),
        *("two\nlines", "a|b\nc", "a\nb|c", "a||\nb", '"\n"', 'a"|\n|"b', "|\n|", "a\n\n|b"),
    ],
)
def test_quotes_delimiters_and_line_ends_are_of_the_names_that_sacct_prints(name):
    names = ["first", name, 'say "hi"', name, "last"]
    trace = read(raw(*names))
    assert sidecar(trace, "executable") == [n.replace("\n", " ") for n in names]
    assert column(trace, "procs") == [8] * 5
    assert not left_out(trace)


def test_an_open_quote_swallows_no_rows_where_no_other_name_has_quotes():
    trace = read(raw('"', "a", "b", '"', "c"))
    assert sidecar(trace, "executable") == ['"', "a", "b", '"', "c"]


@pytest.mark.parametrize("name", ["a|b\n1|c|d|e|f|g|h|i|j", "a\nb|c|d|e"])
def test_a_row_that_cannot_be_put_together_is_refused(name):
    """What follows the name has too many fields, or a reading of its own."""
    trace = read(raw("first", name, "last"))
    assert set(sidecar(trace, "executable")) <= {"first", name.replace("\n", " "), "last", ""}


@pytest.mark.parametrize("first", [True, False])
def test_a_name_at_the_edge_of_a_row_next_to_another_line_is_unknown(first):
    rest = [name for name in MIDDLE if name != "JobName"]
    order = ["JobName", *rest] if first else [*rest, "JobName"]
    trace = read(raw("one", "two\nlines", "three", order=order))
    assert sidecar(trace, "executable") == ["one", "", "three"]
    assert left_out(trace) == {"wrong number of fields": 1}
    kind = "free text next to an incomplete row, which may be a part of it: taken as unknown"
    assert noted(trace) == {kind: 1}
