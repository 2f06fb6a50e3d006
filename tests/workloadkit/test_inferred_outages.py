"""Outages inferred from logs: planted ones are found, others are not, files of them simulate."""

import io
import json
import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import workloadkit as wk
from tests.data import needs_traces, trace_path
from workloadkit import Outage, Outages, ParameterError, WorkloadError, cli
from workloadkit.clock import Clock
from workloadkit.inferred_outages.idle_periods import (
    by_share,
    by_tail,
    confidence,
    expected_submissions,
    jobs_of,
    silences,
)
from workloadkit.inferred_outages.infer import most_used

HOUR = 3600


def log(*jobs, **header):
    """A log of jobs (submit, wait, run, procs) or with a status behind."""
    columns = ("submit", "wait", "run", "procs", "status")
    table = dict(zip(columns, zip(*[(*job, 1)[:5] for job in jobs], strict=True), strict=True))
    lines = tuple(f"; {label}: {value}" for label, value in header.items())
    return wk.Trace.from_columns(table, header=wk.Header(lines))


def steady(n_jobs, stops, *, every=600, run=500, hold=lambda time: time, **columns):
    """A log of a job every ten minutes, each started at once or, in a stop, at its end."""
    submit = np.arange(n_jobs) * every
    start = submit.copy()
    for begin, end in stops:
        start[(start >= begin) & (start < end)] = end
    table = {"submit": submit, "wait": start - submit, "run": np.full(n_jobs, run)}
    return wk.Trace.from_columns(table | {"procs": np.ones(n_jobs)} | columns)


# What lies between starts


def test_silences_by_hand():
    # 4 processors: job 1 takes 3, and ends at 50 with status 0; job 2 wants 2 and could start then.
    trace = log((0, 0, 50, 3, 0), (10, 90, 10, 2), (20, 80, 10, 1))
    (quiet,) = zip(*silences(jobs_of(trace, waits=True), 4), strict=True)
    begin, end, free, fits, fits_first, idle, together = quiet
    assert (begin, end, free, idle, together) == (0, 100, 1, 50, 1)
    assert fits == 20  # the third job fits from its submission on
    assert fits_first == 50  # the second is the first in line


def naive(jobs, capacity):
    """What `silences` finds, second by second, for whole times."""
    instants = sorted({start for _, start, _, _ in jobs})
    for a, b in pairwise(instants):
        free, idle = {}, b
        for t in range(b, a - 1, -1):
            running = [procs for _, start, end, procs in jobs if start <= a and end > t]
            free[t] = capacity - sum(running)
            if not running:
                idle = t
        fits = {b: b}
        waiting = min(submit for submit, start, _, _ in jobs if start >= b)
        first = b
        for submit, start, _, procs in jobs:
            if start == b:
                times = [t for t in range(max(a, submit), b) if procs <= free[t]]
                fits[submit] = min(times, default=b)
                if submit == waiting:
                    first = min(first, fits[submit])
        yield a, b, free[a], min(fits.values()), first, idle


small = st.tuples(*[st.integers(0, 12)] * 2, st.integers(0, 9), st.integers(1, 4))


@given(st.lists(small, min_size=2, max_size=12), st.integers(1, 8))
def test_silences_agree_with_their_definition(rows, capacity):
    rows = [
        (submit, submit + wait, submit + wait + run, procs) for submit, wait, run, procs in rows
    ]
    if len({start for _, start, _, _ in rows}) < 2:
        return
    columns = np.array(sorted(rows)).T
    trace = wk.Trace.from_columns(
        {
            "submit": columns[0],
            "wait": columns[1] - columns[0],
            "run": columns[2] - columns[1],
            "procs": columns[3],
        }
    )
    found = silences(jobs_of(trace, waits=True), capacity)
    told = zip(*(column.tolist() for column in found[:6]), strict=True)
    expected = naive(rows, capacity)
    for ours, theirs in zip(told, expected, strict=True):
        fits_by_many = len([row for row in rows if row[1] == theirs[1]]) > 1
        if not fits_by_many:
            assert ours == theirs
        assert ours[:3] == theirs[:3] and ours[5] == theirs[5]


def test_a_machine_on_which_a_job_still_runs_has_not_fallen_idle():
    trace = log((0, 0, 100, 1), (0, 0, 50, 1, 0), (50, 0, 10, 1))
    found = silences(jobs_of(trace, waits=True), 4)
    assert (found.idle.tolist(), found.together.tolist()) == ([50], [0])


def test_the_most_used_counts_ends_before_starts():
    assert most_used(jobs_of(log((0, 0, 10, 3), (10, 0, 5, 3)), waits=True)) == 3
    assert most_used(jobs_of(log((0, 0, 10, 3), (9, 0, 5, 3)), waits=True)) == 6
    assert most_used(jobs_of(log((0, 0, 10, 3), (5, 5, 5, 3)), waits=True)) == 3  # it waits


# The law


def test_confidence_by_hand():
    lengths, ordinary = np.array([30.0, 10.0, 20.0]), np.arange(9.0)
    expected = by_share(lengths, ordinary)  # each is longer than all of nine: one in ten at most
    assert expected == pytest.approx([0.3, 0.3, 0.3])
    sure, as_long = confidence(lengths, expected)
    assert as_long.tolist() == [1, 3, 2]
    assert sure == pytest.approx([0.9, 0.9, 0.9])  # 10 alone says 0.9; a longer one says no less


def test_what_lasts_as_long_counts_as_so_long():
    # of three ordinary ones two last for 3 or longer, and one more is always possible
    assert by_share(np.array([3.0, 6.0]), np.array([1.0, 3.0, 5.0])).tolist() == [1.5, 0.5]
    sure, as_long = confidence(np.array([3.0, 3.0, 6.0]), np.array([1.5, 1.5, 0.25]))
    assert (sure.tolist(), as_long.tolist()) == ([0.5, 0.5, 0.75], [3, 3, 1])


def test_an_ordinary_law_gives_no_confidence(rng):
    lengths = rng.exponential(100, 2000)
    sure, _ = confidence(lengths, by_share(lengths, rng.exponential(100, 2000)))
    assert np.quantile(sure, 0.99) < 0.5
    assert 0.5 < by_tail(np.array([100 * math.log(2000)]), lengths)[0] < 20  # never far below 1


def test_a_quarter_of_a_tail_may_be_outages(rng):
    pure = rng.exponential(100, 2000)
    mixed = np.append(pure, np.full(15, 1e6))
    far = np.array([5e4])
    assert by_tail(far, mixed)[0] < 0.1
    assert by_tail(far, np.append(pure, np.full(900, 1e6)))[0] > 0.1


def test_the_law_of_the_longest_is_that_of_what_exceeds_the_rest():
    def halving(n):  # each unit, half of them end
        return -np.log2(1 - (np.arange(n) + 0.5) / n)

    # the 60 longest of 300 begin where the others end, and each further 10, half of them end
    rest = halving(240)
    ordinary = np.append(rest, rest.max() + 10 * halving(60))
    lengths = rest.max() + np.array([10.0, 20])
    assert by_tail(lengths, ordinary) == pytest.approx([30, 15], rel=0.02)


def test_submissions_are_expected_by_the_hour_of_the_week():
    hours = np.arange(10 * 168)
    submit = np.repeat(hours[(hours % 168) < 5 * 24], 2) * float(HOUR)
    clock = wk.Trace.from_columns({"submit": submit})
    times = np.array([0, 24, 120, 168, 288]) * float(HOUR)
    passed = expected_submissions(submit, Clock.of(clock), times)
    assert np.diff(passed) == pytest.approx([48, 192, 0, 240], rel=0.01)


def passed_by(submit, hours):
    """How many submissions the cycle of a log leads to expect between these hours."""
    clock = Clock.of(wk.Trace.from_columns({"submit": submit}))
    return np.diff(expected_submissions(submit, clock, np.array(hours) * float(HOUR)))


def test_submissions_of_days_are_expected_by_the_hour_of_the_day():
    hours = np.arange(10 * 24)
    submit = np.repeat(hours[hours % 24 < 12], 2) * float(HOUR)
    assert passed_by(submit, [0, 12, 24, 36]) == pytest.approx([24, 0, 24], rel=0.02)


@pytest.mark.parametrize(("last", "knows_the_day"), [(191, False), (192, True)])
def test_eight_days_tell_of_the_hours_of_the_day(last, knows_the_day):
    hours = np.arange(7 * 24)
    submit = np.append(np.repeat(hours[hours % 24 < 12], 2), last) * float(HOUR)
    by_day, by_night = passed_by(submit, [0, 12, 24])
    assert (by_day > 20 * by_night) == knows_the_day
    assert (by_day == pytest.approx(by_night)) != knows_the_day


# What is proposed


def test_a_stop_in_which_jobs_wait_is_found():
    trace = steady(300, [(60_000, 66_000)])
    found = wk.infer_outages(trace, 8)
    (row,) = found.table.to_dict("records")
    assert (row["start"], row["end"], row["procs"]) == (60_000, 66_000, 8)
    assert (row["evidence"], row["waiting"], row["would_fit"]) == ("waiting", 10, 10)
    assert row["as_long"] == 1
    assert row["confidence"] == pytest.approx(1 - row["expected"])
    assert row["confidence"] > 0.99


def test_a_stop_that_reaches_out_of_the_window_of_the_log_is_not_proposed():
    # The last job waits for 3 hours after all others: jobs submitted later may have run meanwhile.
    trace = steady(401, [(240_000, 250_800)])
    assert wk.infer_outages(trace).table.empty
    cut = steady(500, [(240_000, 250_800)]).where(until=240_300.0)
    assert wk.infer_outages(cut).table.empty
    stated = replace(trace, header=wk.Header(("; Window: 0 250800",)))
    (row,) = wk.infer_outages(stated).table.itertuples()
    assert (row.start, row.end, row.evidence) == (240_000, 250_800, "waiting")


def test_a_job_as_large_as_what_is_free_would_fit():
    for procs in (1, 2):  # jobs of one processor
        found = wk.infer_outages(steady(300, [(60_000, 66_000)]), procs)
        assert found.table[["procs", "would_fit"]].to_numpy().tolist() == [[procs, 10]]


@pytest.mark.parametrize(("sure", "n_proposed"), [(0.5, 1), (0.499, 0)])
def test_what_is_surer_than_not_is_proposed(monkeypatch, sure, n_proposed):
    def as_sure(lengths, expected):
        return np.full(lengths.size, sure), np.ones(lengths.size, np.int64)

    monkeypatch.setattr("workloadkit.inferred_outages.infer.confidence", as_sure)
    assert len(wk.infer_outages(steady(300, [(60_000, 66_000)]), 8).table) == n_proposed


def test_the_first_in_line_that_does_not_start_is_found():
    # a second machine-wide job runs on all the while: the scheduler stopped, not the machine
    submit = np.arange(300) * 600
    start = np.where((submit >= 60_000) & (submit < 66_000), 66_000, submit)
    table = {"submit": [0, *submit], "wait": [0, *(start - submit)]}
    trace = wk.Trace.from_columns(
        {**table, "run": [200_000, *np.full(300, 500)], "procs": [3, *np.ones(300)]}
    )
    (row,) = wk.infer_outages(trace, 20).table.to_dict("records")
    assert (row["start"], row["end"], row["evidence"]) == (60_000, 66_000, "in line")
    assert row["procs"] == 11  # of the 14 that were ever in use, 3 go on


def test_jobs_that_fail_as_the_machine_falls_idle_are_told_of_what_follows_only():
    """The first in line would fit; the job beside it fails, and minutes later the next start."""
    submit = np.arange(300) * 600
    start = np.where((submit >= 60_000) & (submit < 66_300), 66_300, submit)
    table = {"submit": [0, *submit], "wait": [0, *(start - submit)]}
    status = {"status": [0, *np.ones(300)]}
    trace = wk.Trace.from_columns(
        {**table, **status, "run": [66_000, *np.full(300, 500)], "procs": [3, *np.ones(300)]}
    )
    (row,) = wk.infer_outages(trace, 20).table.to_dict("records")
    assert (row["start"], row["end"], row["evidence"]) == (60_000, 66_000, "in line")
    assert row["ended_together"] == 0


def test_a_crash_in_whose_silence_nobody_submits_is_proposed_once():
    at = [600 * i + i * 7919 % 300 for i in range(3000) if not 99 <= i < 250]
    ordinary = [(submit, 0, 200, 1) for submit in at]
    failing = [(60_000, 0, 300, 1, 0)] * 3
    late = [(148_800, 1200, 500, 1)]  # after a day of silence; it waits for the repair
    found = wk.infer_outages(log(*sorted([*ordinary, *failing, *late]))).table
    assert found[["start", "end", "evidence"]].to_numpy().tolist() == [[60_300, 150_000, "waiting"]]


def test_a_machine_of_unknown_size_holds_what_was_used_of_a_processor():
    found = wk.infer_outages(log((0, 0, 10, 1.5), (20, 0, 10, 1)))
    assert found.procs == 2
    assert found.notes[-1].endswith("the maximum ever used is 2.")


def test_a_crash_dates_the_stop():
    # three jobs fail in one second; the next is submitted an hour later and waits for the repair
    ordinary = [(600 * i, 0, 500, 1) for i in range(300)]
    failing = [(60_000, 0, 300, 1, 0)] * 3
    late = [(63_900, 12_000, 500, 1)]
    kept = [job for job in ordinary if not 60_000 <= job[0] < 76_000]
    trace = log(*sorted([*kept, *failing, *late]))
    (row,) = wk.infer_outages(trace).table.to_dict("records")
    assert (row["start"], row["end"], row["ended_together"]) == (60_300, 75_900, 3)


@pytest.mark.parametrize(
    ("statuses", "start", "together"),
    [
        ([0, 5, 5], 60_300, 3),  # also where they are cancelled
        ([0, 0], 63_900, 2),  # two are no crash: since the next submission
        ([0, 0, 0, 1], 63_900, 0),  # nor is it one where a job completes
    ],
)
def test_what_is_a_crash(statuses, start, together):
    ordinary = [(600 * i, 0, 500, 1) for i in range(300) if not 100 <= i < 127]
    failing = [(60_000, 0, 300, 1, status) for status in statuses]
    trace = log(*sorted([*ordinary, *failing, (63_900, 12_000, 500, 1)]))
    rows = wk.infer_outages(trace).table.query("evidence == 'waiting'")
    found = rows[["start", "end", "ended_together"]].to_numpy().tolist()
    assert found == [[start, 75_900, together]]


@pytest.mark.parametrize(("length", "n_proposed"), [(599, 0), (600, 1)])
def test_stops_of_less_than_ten_minutes_are_not_proposed(length, n_proposed):
    found = wk.infer_outages(steady(300, [(60_000, 60_000 + length)]), 8)
    assert len(found.table) == n_proposed


def test_an_outage_is_of_whole_seconds_within_the_stop():
    trace = steady(300, [(60_000, 66_000)])
    found = wk.infer_outages(trace.with_columns(submit=trace.column("submit") + 0.25), 8)
    assert found.table[["start", "end"]].to_numpy().tolist() == [[60_000.25, 66_000.25]]
    assert found.outages().outages == (Outage(1, 60_001, 66_000, 8),)


def test_what_is_as_sure_as_asked_is_chosen():
    found = wk.infer_outages(steady(300, [(60_000, 66_000)]), 8)
    sure = float(found.table["confidence"].iloc[0])
    assert [len(found.outages(min_confidence=c)) for c in (sure, np.nextafter(sure, 1))] == [1, 0]
    assert [len(found.chosen(c)) for c in (0, 1)] == [1, 0]


def test_a_machine_that_drains_before_a_stop_is_proposed_once():
    submit = np.arange(300) * 600
    start = np.where((submit >= 60_000) & (submit < 80_000), 80_000, submit)
    run = np.where(submit == 59_400, 9_000, 500)  # till 68,400
    trace = wk.Trace.from_columns(
        {"submit": submit, "wait": start - submit, "run": run, "procs": np.ones(300)}
    )
    found = wk.infer_outages(trace).table
    assert found[["start", "end", "evidence"]].to_numpy().tolist() == [[68_400, 80_000, "waiting"]]


def test_without_waits_only_silence_speaks():
    submit = np.delete(np.arange(5000) * 600, slice(2000, 2060))
    wobble = (np.arange(submit.size) * 7919 % 300).astype(float)
    trace = wk.Trace.from_columns(
        {"submit": np.sort(submit + wobble), "run": np.full(submit.size, 60.0),
         "procs": np.ones(submit.size)}
    )  # fmt: skip
    found = wk.infer_outages(trace)
    (row,) = found.table.to_dict("records")
    assert (row["evidence"], row["waiting"], row["procs"]) == ("silent", 0, 1)
    assert row["end"] - row["start"] == pytest.approx(36_000, abs=700)
    assert "All waits are unknown" in found.notes[0] and "1." in found.notes[1]


def test_a_silence_ends_with_the_next_submission_though_that_job_waits():
    submit = np.delete(np.arange(5000) * 600, slice(2000, 2060))
    submit = submit + np.arange(submit.size) * 7919 % 300
    wait = np.where(np.arange(submit.size) == 2000, 90, 0)
    columns = {"submit": submit, "wait": wait, "run": np.full(submit.size, 60)}
    found = wk.infer_outages(wk.Trace.from_columns(columns | {"procs": np.ones(submit.size)}), 2)
    rows = found.table[["start", "end", "evidence"]].to_numpy().tolist()
    assert rows == [[submit[1999] + 60, submit[2000], "silent"]]


def test_what_is_told_for_json_says_from_which_confidence_on():
    found = wk.infer_outages(steady(300, [(60_000, 66_000)]), 8)
    told = found.to_dict(min_confidence=0.25)
    assert told["provenance"]["parameters"] == {"min_confidence": 0.25}
    assert (told["procs"], len(told["outages"])) == (8, len(found.chosen(0.25)))


def test_jobs_of_one_second_are_no_gaps_between_submissions():
    """Whether each job comes once or twice: so long a silence is as unlikely."""
    submit = np.delete(np.arange(5000) * 600, slice(2000, 2060))
    submit = submit + np.arange(submit.size) * 7919 % 300
    expected = []
    for times in (1, 2):
        twice = np.repeat(submit, times)
        columns = {"submit": twice, "run": np.full(twice.size, 60), "procs": np.ones(twice.size)}
        expected += wk.infer_outages(wk.Trace.from_columns(columns), 2).table["expected"].tolist()
    assert expected == pytest.approx([expected[0]] * 2)


def test_jobs_of_unknown_wait_are_left_aside_and_counted():
    trace = steady(300, [(60_000, 66_000)])
    wait = np.append(trace.column("wait")[:-1], -1)
    found = wk.infer_outages(trace.with_columns(wait=wait), 20)
    assert found.notes == ("1 job of unknown wait is excluded.",)
    assert len(found.table) == 1


def test_a_checkpointed_job_leaves_its_processors_between_its_bursts():
    # summed up it runs all the while; of its bursts the second waits while nothing runs
    stop = steady(300, [(60_000, 66_000)])
    whole = stop.with_columns(run=np.append(66_500, stop.column("run")[1:]))
    line = whole.jobs.iloc[[0, 0]].reset_index(drop=True)
    parts = line.assign(wait=[0.0, 66_000 - 400.0], run=[400.0, 500.0], status=[2, 3])
    found = wk.infer_outages(replace(whole, bursts=parts), 20)
    assert found.table[["start", "end", "evidence"]].to_numpy().tolist() == [
        [59_900, 66_000, "waiting"]
    ]
    assert found.outages().header.get("Log") == "trace"


def test_the_machine_is_the_one_given_else_that_of_the_header():
    trace = steady(300, [(60_000, 66_000)])
    trace = replace(trace, header=wk.Header(("; MaxProcs: 12",)))
    for found, procs in ((wk.infer_outages(trace), 12), (wk.infer_outages(trace, 8), 8)):
        assert found.procs == procs
        assert found.table["procs"].tolist() == [procs]
        assert found.notes == ()


def test_a_log_without_stops_has_none():
    assert wk.infer_outages(steady(300, [])).table.empty
    assert wk.infer_outages(log((0, 0, 10, 1))).table.empty  # one start: nothing lies between
    assert len(wk.infer_outages(wk.load_sample()).outages()) == 0


odd = st.sampled_from([0, 0.5, 60, 3600, 1e6, 1e9, 1e12])


@given(
    st.lists(st.tuples(odd, st.just(-1) | odd, odd, st.sampled_from([0.5, 1, 7, 1e9])), min_size=2),
    st.sampled_from([{}, {"MaxProcs": 8}, {"MaxProcs": 10**17}]),
)
@example([(0, 0, 0, 0.5), (0, 0.5, 3600, 0.5), (0, 3600, 0.5, 0.5)], {})  # half a processor free
def test_what_is_proposed_of_any_log_is_a_file_of_outages(jobs, header):
    found = wk.infer_outages(log(*jobs, **header))
    outages = found.outages(min_confidence=0.5)
    assert len(outages) == len(found.table)
    assert found.table["confidence"].between(0.5, 1).all()
    assert wk.read_outages(io.BytesIO(outages.text().encode())).outages == outages.outages


def test_a_log_in_which_nothing_ran_is_refused():
    with pytest.raises(WorkloadError, match="no job ran"):
        wk.infer_outages(log((0, 0, -1, 1)))
    with pytest.raises(ParameterError, match="procs"):
        wk.infer_outages(steady(9, []), 0)
    with pytest.raises(ParameterError, match="min_confidence is 2"):
        wk.infer_outages(steady(9, [])).outages(min_confidence=2)


def test_what_is_proposed_can_be_written_read_and_simulated():
    trace = steady(300, [(60_000, 66_000)])
    outages = wk.infer_outages(trace, 20).outages()
    assert outages.other_log(trace) is None
    assert "1 confidence 0.99" in (outages.header.get("Inferred") or "")
    back = wk.read_outages(io.BytesIO(outages.text().encode()))
    assert back.outages == outages.outages == (Outage(1, 60_000, 66_000, 20),)
    replayed = wk.simulate(trace, "easy", procs=20, outages=back)
    assert replayed.jobs["wait"].to_numpy() == pytest.approx(trace.column("wait"))


# The command


@pytest.fixture
def run(capsys):
    def run(*arguments):
        with pytest.raises(SystemExit) as exit_:
            cli.app([*map(str, arguments)], prog_name="workloadkit")
        captured = capsys.readouterr()
        return exit_.value.code, captured.out, captured.err

    return run


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "log.swf"
    wk.write_swf(steady(300, [(60_000, 66_000), (120_000, 123_000)]), path)
    return path


def test_the_command_shows_and_writes_what_simulate_takes(run, path, tmp_path):
    code, out, err = run("outages", path, "--procs", 8)
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "    start      length  evidence  waiting  would fit  confidence",
        " 60,000 s  1 h 40 min  waiting        10         10       0.996",
        "120,000 s      50 min  waiting         5          5       0.996",
        "waiting: no job ran although jobs waited",
        "2 outages of confidence 0.9 or more",
    ]
    found = tmp_path / "found.outages"
    code, out, _ = run("outages", path, "--procs", 8, "-o", found, "--json", "-")
    assert code == 0
    told = json.loads(out)
    assert [row["start"] for row in told["outages"]] == [60_000, 120_000]
    assert told["provenance"]["log"] == "log.swf"
    assert len(wk.read_outages(str(found))) == 2
    options = ("--scheduler", "fcfs", "--procs", 8, "--outages", found)
    assert run("simulate", path, *options)[0] == 0


def test_the_command_tells_notes_and_how_many_would_fit_of_those_that_wait(run, tmp_path):
    trace = steady(300, [(60_000, 66_000)])
    procs, wait = trace.column("procs").copy(), trace.column("wait").copy()
    procs[[102, 105]] = 9  # two of the ten that wait are larger than the machine
    wait[-1] = -1
    wk.write_swf(trace.with_columns(procs=procs, wait=wait), tmp_path / "log.swf")
    code, out, err = run("outages", tmp_path / "log.swf", "--procs", 8)
    assert code == 0
    assert err == "1 job of unknown wait is excluded.\n"
    assert out.splitlines()[1].split()[-4:-1] == ["waiting", "10", "8"]


def test_the_command_takes_the_machine_that_is_given(run, path):
    for procs in (8, 20):
        code, out, _ = run("outages", path, "--procs", procs, "-o", "-")
        assert code == 0
        assert [one.procs for one in wk.read_outages(io.BytesIO(out.encode()))] == [procs] * 2


def test_the_command_dates_what_it_can(run, tmp_path):
    header = wk.Header(("; UnixStartTime: 843480031", "; TimeZoneString: Europe/Stockholm"))
    trace = steady(300, [(60_000, 66_000)])
    wk.write_swf(wk.Trace(trace.jobs, header), tmp_path / "dated.swf")
    code, out, _ = run("outages", tmp_path / "dated.swf", "--procs", 8)
    head, row, *_, last = out.splitlines()
    assert code == 0
    assert head.split()[:3] == ["start", "local", "time"]
    assert row.split()[:4] == ["60,000", "s", "1996-09-24", "06:40"]
    assert last == "1 outage of confidence 0.9 or more"


def test_what_is_less_sure_is_not_written_either(run, path, tmp_path):
    found = tmp_path / "found.outages"
    code, out, _ = run("outages", path, "--min-confidence", 0.9999, "-o", found, "--json", "-")
    assert code == 0
    assert json.loads(out)["outages"] == []
    assert len(wk.read_outages(str(found))) == 0


def test_the_command_leaves_out_what_is_less_sure(run, path):
    code, out, _ = run("outages", path, "--min-confidence", 0.9999)
    assert code == 0
    assert out == "0 outages of confidence 0.9999 or more; 2 with less confidence\n"
    assert run("outages", path, "-o", "-", "--json", "-")[0] == 2
    assert run("outages", path, "--min-confidence", 2)[0] == 2
    assert run("outages", path.with_name("none.swf"))[0] == 1


# Calibration


def planted(seed, load, n_outages, *, announced):
    """A log as EASY plays it on a machine that is down at times, and when it is."""
    rng = np.random.default_rng(seed)
    made = wk.models.lublin(4000, procs=128, load=load, rng=rng)
    last = made.column("submit").max()
    starts = np.sort(rng.uniform(0.05 * last, 0.95 * last, n_outages)).astype(int).tolist()
    lengths = np.exp(rng.uniform(math.log(1800), math.log(43_200), n_outages)).astype(int).tolist()
    outages, free = [], 0
    for start, length in zip(starts, lengths, strict=True):
        if start > free:
            known = max(0, start - 172_800) if announced else -1
            outages.append(Outage(len(outages) + 1, start, start + length, 128, announced=known))
            free = start + length + 7200
    options = {"outages": Outages(tuple(outages)), "interrupted": "lose"} if outages else {}
    return wk.simulate(made, "easy", procs=128, **options).trace(), outages


def overlap(row, outage):
    return max(0.0, min(row.end, outage.end) - max(row.start, outage.start))


@pytest.mark.slow
@pytest.mark.parametrize("announced", [False, True])
def test_planted_outages_are_found_with_the_confidence_that_is_said(announced):
    proposed = right = findable = found = 0
    for seed in range(6):
        for load in (0.7, 0.9):
            trace, outages = planted(seed, load, 6, announced=announced)
            table = wk.infer_outages(trace, 128).chosen(0.9)
            rows = list(table.itertuples())
            proposed += len(rows)
            right += sum(
                sum(overlap(row, outage) for outage in outages) >= (row.end - row.start) / 2
                for row in rows
            )
            start = trace.column("submit") + trace.column("wait")
            for outage in outages:
                waited = (trace.column("submit") < outage.end - 600) & (start >= outage.end)
                findable += waited.any()
                length = outage.end - outage.start
                overlaps = sum(overlap(row, outage) for row in rows) >= length / 2
                found += bool(waited.any() and overlaps)
    assert right >= 0.9 * proposed
    assert found >= 0.9 * findable > 40


@pytest.mark.slow
def test_a_machine_that_never_stops_seldom_seems_to():
    logs = [planted(seed, load, 0, announced=False)[0] for seed in range(6) for load in (0.5, 0.9)]
    assert sum(len(wk.infer_outages(log, 128).chosen(0.9)) > 0 for log in logs) <= 2


@needs_traces
def test_the_stop_of_christmas_1993_is_found():
    found = wk.infer_outages(wk.read_swf(trace_path("NASA-iPSC-1993-3"))).chosen(0.9)
    assert found[["start", "evidence"]].to_numpy().tolist() == [[7261553, "silent"]]


@pytest.mark.slow
@needs_traces
def test_stops_of_a_busy_machine_are_found():
    found = wk.infer_outages(wk.read_swf(trace_path("SDSC-SP2-1998-4.2-cln"))).chosen(0.9)
    assert len(found) == 8
    assert (found["evidence"] == "waiting").all()
    assert (found["waiting"] >= 10).all()
