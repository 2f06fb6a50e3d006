"""The window of a log: what lies outside is not taken for a quiet time."""

import warnings
from datetime import UTC, datetime

import numpy as np
import pytest

import workloadkit as wk
from tests.data import TRACES, needs_traces
from workloadkit import Header, Trace, WorkloadWarning, analysis
from workloadkit.analysis import report
from workloadkit.analysis.load import overview
from workloadkit.analysis.load.over_time import load_over_time, summarize_load, waits_known
from workloadkit.analysis.report import Characterization
from workloadkit.clock import DAY
from workloadkit.io.sidecar import read_sidecar
from workloadkit.window import Window, window_of

from .test_slurm import read_rows

BEGIN, UNTIL = 40 * DAY, 70 * DAY
START = 1_714_521_600  # midnight, 1 May 2024 UTC


@pytest.fixture(scope="module")
def site():
    """A log of 13 weeks on a busy machine, and some jobs that waited for weeks."""
    made = wk.models.lublin(9000, 64, load=0.6, rng=3)
    log = wk.simulate(made, "easy").trace()
    columns = {name: log.column(name).copy() for name in ("submit", "wait", "run", "procs")}
    rng = np.random.default_rng(4)
    long = rng.choice(columns["run"].size, 40, replace=False)
    columns["wait"][long] = rng.integers(5, 30, long.size) * DAY
    header = Header(("; MaxProcs: 64", f"; UnixStartTime: {START}", "; TimeZoneString: UTC"))
    columns = {name: np.rint(values) for name, values in columns.items()}
    for_long, for_days = rng.integers(1, 9, 9000), 100 + np.arange(9000) // 300
    user = np.where(rng.random(9000) < 0.5, for_long, for_days)
    return Trace.from_columns({**columns, "user": user}, header=header)


def ended_in(log, begin, until):
    """What a site exports that selects by the end of jobs."""
    return log.select(log.ran & (log.end >= begin) & (log.end < until))


def truth(log, begin, until):
    """Jobs submitted a day, and the utilization, between two seconds of a whole log."""
    submit = log.column("submit")
    n_jobs = ((submit >= begin) & (submit <= until)).sum()
    days = (until - begin) / DAY
    used = load_over_time(log, [begin, until], machine=log.header.procs)["utilization"][0]
    return n_jobs / days, used


def test_jobs_that_waited_for_long_do_not_open_the_window(site):
    month = ended_in(site, BEGIN, UNTIL)
    assert month.column("submit")[0] < BEGIN - 20 * DAY
    assert month.window.begin == month.end.min() == pytest.approx(BEGIN, abs=DAY / 4)
    assert month.window.until == month.column("submit")[-1]
    assert not month.window.is_stated


def test_rates_are_those_of_the_window(site, monkeypatch):
    names = ("overview", "load", "long_memory", "signature")  # the others take seconds
    some = {name: report.SECTIONS[name] for name in names}
    monkeypatch.setattr(report, "SECTIONS", some)
    monkeypatch.setattr(report, "_LONG", ())
    month = ended_in(site, BEGIN, UNTIL)
    n_jobs, used = truth(site, month.window.begin, month.window.until)
    characterization = analysis.characterize(month)
    found = {section.name: section.values for section in characterization.sections}
    assert found["load"]["utilization"] == pytest.approx(used, rel=0.03)
    assert found["load"]["jobs_per_day_mean"] == pytest.approx(n_jobs, rel=0.06)
    n_before = (month.column("submit") < month.window.begin).sum()
    assert found["overview"]["n_before_window"] == n_before > 5
    said = f"{n_before} of them were submitted outside this window"
    assert said in characterization.sections[0].finding
    inside = month.within_window()
    assert inside.n_jobs == month.n_jobs - n_before
    for trace in (month, inside):
        week = analysis.load.weekly_cycle(trace)
        assert week["jobs"].sum() == inside.n_jobs
        assert week["hours"].sum() == pytest.approx(np.ptp(inside.column("submit")) / 3600)
    assert found["long_memory"]["n_units"] == np.ptp(inside.column("submit")) // 3600
    assert found["signature"]["weeks"] == 4


def test_the_page_shows_it_first(site):
    log = ended_in(site, BEGIN, UNTIL)
    page = Characterization(log, (overview.section(log),)).to_html()
    assert page.index("; estimated)") < page.index("last submission")


def test_a_whole_log_is_its_own_window(site):
    submit = site.column("submit")
    assert site.window == Window(submit[0], submit[-1])
    assert site.within_window() is site


@pytest.mark.parametrize("n_jobs", [0, 1, 2, 3, 30])
def test_few_jobs_that_run_at_once_are_all_inside(n_jobs):
    trace = Trace.from_columns(
        {"submit": 60 * np.arange(n_jobs), "run": [30] * n_jobs, "procs": [1] * n_jobs}
    )
    assert trace.within_window() is trace


def test_what_is_stated_holds_if_jobs_were_submitted_in_it():
    submit, end = np.arange(0, 1000, 10), np.arange(5, 1005, 10)
    for stated in ((200, 600), (-50, 600), (200, 5000)):
        assert window_of(submit, end, stated=stated) == Window(*stated, is_stated=True)
    assert window_of(submit, end, stated=(2000, 3000)) == Window(0, 990)
    assert window_of(submit, end, stated=(-50, 51 * 365 * DAY)) == Window(0, 990, is_stated=True)


def test_the_limits_are_met():
    """5 % of the length, 100 jobs, and two deviations less than the number to expect."""
    later = np.arange(10_000, 110_001, 10)  # 10,001 jobs in 100,000 s

    def begin(early, later=later):
        return window_of(np.append(early, later), [10_000]).begin

    expected = 10_001 / 10  # in 10,000 s; its deviation is 31.6
    some = np.arange(int(expected - 2 * expected**0.5))
    assert begin(some[:-1]) == begin(some) == 10_000
    assert begin(np.arange(some.size + 1)) == 0
    assert begin([5_000]) == 10_000
    assert begin([5_001]) == 5_001
    # 100 to expect, a deviation of 10: of 80, no more than two are missing
    assert window_of(np.append(np.arange(80), np.arange(101, 201)), [100]).begin == 0
    assert window_of(np.append(np.arange(79), np.arange(101, 201)), [100]).begin == 100
    assert begin([0], later[:100]) == 10_000
    assert begin([0], later[:99]) == 0


def test_the_begin_of_an_export_stands_for_the_end_of_its_first_job():
    submit = np.append([0], np.arange(10_000, 110_001, 10))
    assert window_of(submit, [5]).begin == 0
    assert window_of(submit, [5], opened=10_000).begin == 10_000
    assert window_of(submit, [5], opened=200_000) == Window(0, 110_000)  # after all jobs
    month = np.append([0, 500], np.arange(10_000, 1_000_001, 100))  # it shortens the log by 1 %
    assert window_of(month, [10_000]).begin == 0
    assert window_of(month, [10_000], opened=10_000).begin == 10_000


@pytest.mark.parametrize("text", ["", "5", "a b", "9 5", "1e3 2e3", "5 9x"])
def test_a_label_that_states_no_window_is_none(text):
    assert Header((f"; Window: {text}",)).window is None


def when(second):
    return f"{datetime.fromtimestamp(START + second, UTC):%Y-%m-%dT%H:%M:%S}"


@pytest.fixture(scope="module")
def export(site):
    """What sacct shows of three days: jobs that were there, whenever they ended."""
    begin, until = BEGIN, BEGIN + 3 * DAY
    submit, end = site.column("submit"), site.end
    start = end - site.column("run")
    rows = [
        {
            "JobIDRaw": str(row),
            "Submit": when(submit[row]),
            "Eligible": when(submit[row]),
            "Start": when(start[row]),
            "End": when(end[row]),
            "ElapsedRaw": f"{end[row] - start[row]:.0f}",
            "AllocCPUS": f"{site.column('procs')[row]:.0f}",
        }
        for row in np.flatnonzero((submit < until) & (end >= begin))
    ]
    return read_rows(*rows)


def test_an_import_knows_the_window_of_its_export(export):
    begin = BEGIN - (export.header.start - START)
    assert export.window.is_stated
    assert export.window.begin == begin
    last = export.column("submit")[-1]
    dates = "Mon Jun 10 00:00:00 UTC 2024 to Wed Jun 12"
    assert export.header.get("Window").startswith(f"{begin:.0f} {last:.0f} ({dates}")


def test_rates_of_an_import_are_those_of_the_site(site, export):
    n_jobs, used = truth(site, BEGIN, BEGIN + export.window.length)
    inside = export.within_window()
    assert inside.n_jobs * DAY / export.window.length == pytest.approx(n_jobs, rel=0.01)
    load = summarize_load(Trace(export.jobs, export.header.with_procs(64)))
    assert load["utilization"] == pytest.approx(used, rel=0.01)


def test_it_goes_with_the_log(export, tmp_path):
    wk.write_swf(export, tmp_path / "log.swf.gz")
    assert wk.read_swf(tmp_path / "log.swf.gz").window == export.window
    told = read_sidecar(tmp_path / "log.swf.gz.parquet")[1]
    assert told["window"] == [export.window.begin, export.window.until]


def test_other_times_have_another_window(export):
    assert export.header.with_jobs(5, EndTime=60.0).get("Window") is None
    with pytest.warns(WorkloadWarning, match=r"days before the window of 2\.\d days"):
        assert wk.simulate(export, "fcfs", procs=64).trace().header.get("Window") is None


def test_the_log_follows_the_standard(export):
    assert not [found for found in wk.validate(export).findings if "Window" in found.text]


def test_a_warm_up_begins_with_it(site):
    month = ended_in(site, BEGIN, UNTIL)
    with pytest.warns(WorkloadWarning, match=r"days before the window of 2\d\.\d days"):
        schedule = wk.simulate(month, "easy", warmup=DAY, cooldown=DAY)
    submit = schedule.workload.submit
    inside = month.within_window().column("submit")
    begin, until = inside[0] + DAY, inside[-1] - DAY
    assert schedule.counted.tolist() == ((submit >= begin) & (submit <= until)).tolist()


def test_a_cool_down_ends_with_it():
    columns = {"submit": DAY * np.arange(6), "run": [60] * 6, "procs": [1] * 6}
    header = Header(("; MaxProcs: 1", f"; Window: 0 {4 * DAY}"))
    trace = Trace.from_columns(columns, header=header)
    schedule = wk.simulate(trace, "fcfs", cooldown=DAY, engine="python")
    assert schedule.counted.tolist() == [True, True, True, True, False, False]


def test_jobs_long_before_it_are_counted():
    columns = {"submit": DAY * np.array([0, 1, 5, 9, 15]), "run": [60] * 5, "procs": [1] * 5}
    header = Header(("; MaxProcs: 1", f"; Window: {5 * DAY} {15 * DAY}"))
    trace = Trace.from_columns(columns, header=header)
    message = r"2 jobs were submitted up to 5\.0 days before the window of 10\.0 days"
    with pytest.warns(WorkloadWarning, match=message):
        wk.simulate(trace, "fcfs", engine="python")
    with warnings.catch_warnings(action="error"):
        wk.simulate(trace, "recorded")  # as it was


@pytest.mark.parametrize(("first", "counts"), [(0, True), (1, False)])
def test_a_tenth_of_the_window_is_long(first, counts):
    """It begins a day after the first submission, or a second less, and lasts for ten."""
    columns = {"submit": [first, DAY, 11 * DAY], "run": [60] * 3, "procs": [1] * 3}
    header = Header(("; MaxProcs: 1", f"; Window: {DAY} {11 * DAY}"))
    with warnings.catch_warnings(record=True, action="always") as said:
        wk.simulate(Trace.from_columns(columns, header=header), "fcfs", engine="python")
    assert ["1 job was submitted up to 1.0 days before" in str(w.message) for w in said] == (
        [True] if counts else []
    )


@pytest.mark.filterwarnings("ignore::workloadkit.errors.WorkloadWarning")
def test_new_logs_are_made_of_what_lies_inside(site):
    log = ended_in(site, 20 * DAY, 95 * DAY)
    with pytest.warns(WorkloadWarning, match=r"\d outside the window of the log"):
        new = wk.resample(log, rng=1)
    assert np.ptp(new.column("submit")) == pytest.approx(log.window.length, rel=0.1)
    assert new.n_jobs == pytest.approx(log.within_window().n_jobs, rel=0.3)


@needs_traces
@pytest.mark.slow
@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)
def test_months_of_real_logs_agree_with_the_whole_log(path):
    """The utilization too, but for what had not ended when the month did."""
    log = wk.read_swf(path)
    log = log.select(log.ran)
    submit = log.column("submit")
    header = log.header.with_procs(log.header.procs or int(log.used_procs.max()))
    log = Trace(log.jobs, header)
    for begin in np.arange(submit[0] + 40 * DAY, submit[-1] - 40 * DAY, 60 * DAY):
        month = ended_in(log, begin, begin + 30 * DAY)
        if month.n_jobs < 300:
            continue
        n_jobs, used = truth(log, begin, begin + 30 * DAY)
        window = month.window
        inside = month.within_window()
        assert begin <= window.begin <= begin + 3 * DAY or window.begin == month.column("submit")[0]
        assert inside.n_jobs * DAY / window.length == pytest.approx(n_jobs, rel=0.15)
        if waits_known(month):
            found = summarize_load(month)["utilization"]
            assert found == pytest.approx(used, rel=0.2, abs=0.02)
