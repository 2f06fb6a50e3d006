"""The checker of schedules proves those of the simulator and refutes wrong ones."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import workloadkit as wk
from tests.data import TRACES, each_log_with, needs_traces
from tests.examples import examples
from tests.oracles import scheduling as oracle
from tests.small_logs import head_of, valued
from workloadkit.simulation.check.policy_rules import EACH_PASS

POLICIES = (
    *(name for name in wk.schedulers.known() if name != "genetic"),
    *("easy:backfill=sjf", "easy:reservations=3", "reservations:2"),
    "genetic:individuals=5,generations=1",
)
#: Policies of the oracle, which stands for another simulator, by its names.
ORACLES = ("fcfs", "easy", "conservative", "reservations:depth=2", "sjf", "creasy:alpha=6000")
MACHINE = 8


@st.composite
def logs(draw, *, scale=1, max_size=25):
    """Draw a log for 8 processors: repeated numbers, run times of 0, unknown estimates."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_jobs = draw(st.integers(1, max_size))
    span, longest = draw(st.integers(1, 60)), draw(st.integers(1, 25))
    requested = rng.integers(-1, longest, n_jobs)
    run = rng.integers(0, longest, n_jobs) * (rng.random(n_jobs) < 0.9)
    columns = {
        "job": rng.integers(0, draw(st.sampled_from([7, 1000])), n_jobs),
        "submit": rng.integers(0, span, n_jobs) * scale,
        "wait": rng.integers(-1, 5, n_jobs),
        "run": run * scale,
        "requested_time": np.where(requested < 0, -1, requested * scale),
        "procs": rng.integers(1, MACHINE + 1, n_jobs),
        "user": rng.integers(1, 4, n_jobs),
        "queue": rng.integers(0, 3, n_jobs),
    }
    trace = wk.Trace.from_columns(columns, header=wk.Header((f"; MaxProcs: {MACHINE}",)))
    return valued(trace, rng)


overruns = st.sampled_from(["raise", "kill", "late"])
estimates = st.sampled_from(["user", "exact"])
passes = st.sampled_from(["instant", "event"])


SLACKS_KEPT = "no job starts later than its promised start plus its slack"


def refuted(report):
    """Return the claims refuted, and the first counterexample of each."""
    return {claim.text: claim.why for claim in report.refuted}


def verdicts(report):
    return {claim.text: claim.verdict for claim in report.claims}


def reasons(report):
    return {claim.text: claim.why for claim in report.claims}


def assert_proved(report):
    assert report, str(report)


@pytest.mark.filterwarnings("ignore:the log uses up to")
@pytest.mark.parametrize(
    ("engine", "some_logs"),
    [
        ("python", logs() | logs(max_size=80) | logs(scale=0.1)),
        ("compiled", logs() | logs(max_size=80)),
        pytest.param("compiled", logs(scale=0.1), marks=pytest.mark.slow),  # other kernels
    ],
)
@examples(100)
@given(st.data(), st.sampled_from(POLICIES), overruns, estimates, passes)
def test_schedules_of_the_simulator_are_proved(
    engine, some_logs, data, policy, overrun, estimates, passes
):
    trace = data.draw(some_logs)
    options = {"overrun": overrun, "estimates": estimates, "passes": passes}
    schedule = wk.simulate(trace, policy, engine=engine, **options)
    report = wk.check_schedule(trace, schedule)
    assert_proved(report)
    log = schedule.trace()
    written = wk.check_schedule(trace, log, policy=policy, **options)
    expected = verdicts(report)
    expected.pop(SLACKS_KEPT, None)  # a log contains no promises
    found = verdicts(written)
    starts = log.column("submit") + log.column("wait")
    if (starts != schedule.jobs["start"]).any() and found.get(EACH_PASS) == "not applicable":
        expected[EACH_PASS] = "not applicable"  # sums that round decide no pass
    assert found == expected


@examples(100)
@given(st.sampled_from(ORACLES), logs(max_size=40), overruns, estimates, passes)
def test_schedules_of_another_simulator_are_proved(policy, trace, overrun, estimates, passes):
    options = {"overrun": overrun, "estimates": estimates, "passes": passes}
    schedule = by_the_definition(trace, policy, **options)
    assert_proved(wk.check_schedule(trace, schedule, policy=policy, **options))


def by_the_definition(trace, policy, **options):
    """Return the schedule that the oracle makes, as a log."""
    columns = ("submit", "run", "requested_time", "procs")
    found = oracle.schedule(
        *(trace.column(name).tolist() for name in columns),
        MACHINE,
        policy=policy,
        job_numbers=trace.column("job").tolist(),
        **options,
    )
    start, end, killed = map(np.array, zip(*found, strict=True))
    return trace.with_columns(
        wait=start - trace.column("submit"), run=end - start, status=np.where(killed, 5, 1)
    )


@pytest.mark.slow
def test_schedules_of_the_sample_are_proved():
    trace = valued(wk.load_sample().take(np.arange(500)), 1)
    for policy in POLICIES:
        report = wk.check_schedule(trace, wk.simulate(trace, policy, overrun="kill"))
        assert report, f"{policy}: {report}"
        assert report.claims[0].why == "498 jobs"


HOW = list(
    product(
        ("fcfs", "easy", "conservative", "reservations:2"),
        ({"overrun": "kill"}, {"passes": "event"}, {"estimates": "exact"}),
    )
)


@needs_traces
@pytest.mark.filterwarnings("ignore:the header names no MaxProcs")
@pytest.mark.parametrize(("path", "policy", "options"), each_log_with(*HOW))
def test_schedules_of_real_logs_are_proved(path, policy, options):
    trace = head_of(path)
    schedule = wk.simulate(trace, policy, oversize="drop", **options)
    assert_proved(wk.check_schedule(trace, schedule))


@pytest.mark.slow
@needs_traces
@pytest.mark.filterwarnings("ignore:the header names no MaxProcs")
@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)
def test_schedules_of_real_logs_are_proved_in_all_ways(path):
    trace = head_of(path)
    for policy, options in HOW:
        schedule = wk.simulate(trace, policy, oversize="drop", **options)
        report = wk.check_schedule(trace, schedule)
        assert report, f"{policy}, {options}: {report}"


@given(logs(), st.integers(0, 24), st.integers(-9, 9), st.sampled_from(["instant", "event"]))
def test_fcfs_has_one_schedule(trace, row, by, passes):
    assume(row < trace.n_jobs and by != 0)
    schedule = wk.simulate(trace, "fcfs", passes=passes)
    start = schedule.start.copy()
    start[row] += by
    assert not wk.check_schedule(trace, replace(schedule, start=start))


@given(logs(), st.sampled_from(["easy", "conservative"]), st.integers(0, 24))
def test_with_exact_estimates_no_promised_job_is_a_second_late(trace, policy, row):
    """The last job to be submitted waits for others alone, and in no other's way."""
    trace = trace.select((trace.column("run") > 0) & (trace.column("submit") >= 0))
    assume(trace.n_jobs)
    row %= trace.n_jobs
    schedule = wk.simulate(trace, policy, estimates="exact", engine="python")
    start = schedule.start.copy()
    if policy == "easy":  # any head that waited: its shadow time is when it started
        heads = np.flatnonzero(
            start
            > np.maximum(schedule.workload.submit, np.maximum.accumulate(np.r_[0, start])[:-1])
        )
        assume(heads.size)
        row = heads[row % heads.size]
    start[row] += 1
    report = wk.check_schedule(trace, replace(schedule, start=start))
    assert EACH_PASS in refuted(report)


# A log worked by hand, for a machine of 4. Under EASY jobs 1, 2, 4 start at 0, 10 and 3, as all
# that job 2 leaves is one processor, which job 4 takes; job 3 waits for job 4.
HAND = {
    "job": [1, 2, 3, 4],
    "submit": [0, 1, 2, 3],
    "run": [10, 10, 10, 25],
    "requested_time": [10, 10, 10, 25],
    "procs": [3, 3, 4, 1],
}
EASY = [0, 10, 28, 3]
CONSERVATIVE = [0, 10, 20, 30]
FCFS = [0, 10, 20, 30]
ONCE = "each job that ran occurs once, no other does"
NEEDS = "processors and run times equal the log's"
SUBMIT = "submit times equal the log's"
STARTS = "every job starts"
EARLY = "no job starts before its submission"
CAPACITY = "no processor is used twice at one time"


def log(**changed):
    return wk.Trace.from_columns(HAND | changed, name="hand")


def scheduled(start, trace=None, **changed):
    """Return the log of a schedule whose jobs start at these times."""
    trace = log() if trace is None else trace
    columns = {name: trace.column(name) for name in HAND} | changed
    columns["wait"] = np.array(start, dtype=float) - columns["submit"]
    return wk.Trace.from_columns(columns, name="schedule")


def check(schedule, policy=None, trace=None, procs=4, **options):
    return wk.check_schedule(trace or log(), schedule, procs=procs, policy=policy, **options)


def test_all_claims_of_a_right_schedule():
    report = check(scheduled(EASY), "easy")
    assert report.ok
    assert bool(report)
    assert str(report).splitlines() == [
        "schedule, a schedule of hand on 4 processors under easy",
        "proved          each job that ran occurs once, no other does: 4 jobs",
        "proved          processors and run times equal the log's: 4 jobs",
        "proved          submit times equal the log's: 4 jobs",
        "proved          all other fields equal the log's: 13 fields",
        "proved          every job starts: 4 jobs",
        "proved          no job starts before its submission: 2 waited",
        "proved          no processor is used twice at one time: at most 4 of 4",
        "proved          each pass starts the jobs that the policy starts: 8 passes",
        "proved: the log and the policy allow no other schedule",
    ]


def test_each_policy_has_its_claims():
    assert_proved(check(scheduled(FCFS), "fcfs"))
    assert_proved(check(scheduled(CONSERVATIVE), "conservative"))
    why = "at 3 s job 4 starts, which waits under the policy"
    assert refuted(check(scheduled(EASY), "fcfs")) == {EACH_PASS: why}
    why += "; the first reservation is of job 2 for 10 s"
    assert refuted(check(scheduled(EASY), "conservative")) == {EACH_PASS: why}


def test_without_a_policy_its_order_is_not_checked():
    claim = check(scheduled(EASY)).claims[-1]
    assert (claim.verdict, claim.why) == (
        "not applicable",
        "no policy was specified, so the order of jobs was not checked",
    )
    claim = check(scheduled(EASY), "multi-queue").claims[-1]
    assert (claim.verdict, claim.why) == (
        "not applicable",
        "the order of multi-queue cannot be checked, only the rules for every schedule",
    )


def test_no_job_waits_for_an_empty_machine_whatever_the_order():
    text = "no job waits while the machine is empty"
    for start, verdict, why in (
        ([0, 10, 20, 30], "proved", "empty 0 s of 40 s"),
        ([0, 10, 20, 35], "proved", "empty 5 s of 45 s"),  # no job waits from 30 to 35 s
        ([0, 10, 20, 36], "refuted", "job 4 waits and nothing runs from 35 s"),
        ([0, 12, 25, 35], "refuted", "job 2 waits and nothing runs from 10 s; 1 more"),
    ):
        trace = log(submit=[0, 1, 2, 35 if start[3] >= 35 else 3], run=[10] * 4, procs=[4] * 4)
        for policy in ("multi-queue", "genetic:individuals=5,generations=1"):
            report = check(scheduled(start, trace), policy, trace)
            assert (verdicts(report)[text], reasons(report)[text]) == (verdict, why), start
        assert text not in verdicts(check(scheduled(start, trace), "self-adaptive", trace))


def test_a_wrong_start_is_refuted():
    for start, found in (
        (
            [0, 10, 26, 1],
            {EARLY: "job 4 starts at 1 s, submitted at 3 s"},
        ),
        (
            [0, 9, 28, 3],
            {
                CAPACITY: "7 of 4 at 9 s, by jobs 1, 2, 4",
                EACH_PASS: "at 9 s job 2 starts, which waits under the policy; the first "
                "reservation is of job 2 for 10 s",
            },
        ),
        ([0, 10, np.nan, 3], {STARTS: "the wait of job 3 is unknown"}),
        (
            [0, 11, 28, 3],
            {
                EACH_PASS: "at 10 s the policy starts job 2, which waits; the first reservation is "
                "of job 3 for 28 s; 1 more",
            },
        ),
        (
            [0, 10, 29, 3],
            {EACH_PASS: "at 28 s the policy starts job 3, which waits; 1 more"},
        ),
    ):
        assert refuted(check(scheduled(start), "easy")) == found


def test_a_job_backfilled_in_the_way_of_the_head_is_refuted():
    trace = log(procs=[3, 4, 4, 1])
    assert_proved(check(scheduled([0, 10, 20, 30], trace), "easy", trace))
    # job 4 takes the free processor; by the time that it ends job 2 has waited for it
    report = check(scheduled([0, 28, 38, 3], trace), "easy", trace)
    why = "at 3 s job 4 starts, which waits under the policy"
    why += "; the first reservation is of job 2 for 10 s"
    assert refuted(report) == {EACH_PASS: why}


def test_a_job_backfilled_by_the_pass_that_made_the_head_is_refuted():
    trace = log(submit=[0, 0, 0, 0], procs=[3, 4, 4, 1])
    assert_proved(check(scheduled([0, 10, 20, 30], trace), "easy", trace))
    report = check(scheduled([0, 25, 35, 0], trace), "easy", trace)
    why = "at 0 s job 4 starts, which waits under the policy"
    why += "; the first reservation is of job 2 for 10 s"
    assert refuted(report) == {EACH_PASS: why}


def test_the_promise_to_the_head_goes_by_the_estimates():
    # job 1 ends at 5; but job 4, which may overtake by the estimates, runs until 20
    trace = log(run=[5, 10, 10, 17], requested_time=[20, 10, 10, 17], procs=[3, 4, 4, 1])
    report = check(scheduled([0, 20, 30, 3], trace), "easy", trace)
    assert report.verdict == "proved"
    report = check(scheduled([0, 21, 31, 3], trace), "easy", trace)
    why = "at 20 s the policy starts job 2, which waits; the first reservation is of job 3 for 30 s"
    assert refuted(report) == {EACH_PASS: f"{why}; 1 more"}


def test_a_job_in_the_way_of_a_further_reservation_is_refuted():
    # EASY lets job 4 overtake job 3, which with two reservations is promised 20
    for policy in ("reservations:2", "easy:reservations=2", wk.schedulers.Reservations(2)):
        why = "at 3 s job 4 starts, which waits under the policy; the first reservation is of job 2"
        assert refuted(check(scheduled(EASY), policy)) == {EACH_PASS: f"{why} for 10 s"}
        report = check(scheduled(CONSERVATIVE), policy)
        assert report.verdict == "proved"
        assert report.claims[-1].why == "8 passes"  # at 0, 1, 2, 3, 10, 20, 30, 55
    assert check(scheduled(EASY), "reservations:1").verdict == "proved"


def test_a_job_that_waits_though_there_is_a_slot_is_refuted():
    trace = log(procs=[3, 3, 1, 4])
    schedule = scheduled([0, 10, 5, 20], trace)  # it passes job 3 over at 2 and at 3
    why = "at 2 s the policy starts job 3, which waits; the first reservation is of job 2 for 10 s"
    for policy in ("easy", "reservations:2"):
        assert check(scheduled([0, 10, 2, 20], trace), policy, trace).verdict == "proved"
        assert refuted(check(schedule, policy, trace)) == {EACH_PASS: f"{why}; 2 more"}


def test_reservations_are_of_each_pass_by_the_estimates():
    # job 1 ends at 5, job 2 moves forward from 20 to 5, and job 3, which was promised 30, to 15
    trace = log(run=[5, 10, 10, 25], requested_time=[20, 10, 10, 30])
    for start in ([0, 5, 15, 25], [0, 5, 16, 26]):
        report = check(scheduled(start, trace), "reservations:2", trace)
        assert report.verdict == ("refuted" if start[2] == 16 else "proved")


def test_all_passes_of_a_second_are_made():
    trace = log(submit=[0, 1, 1, 1])
    report = check(scheduled(FCFS, trace), "reservations:2", trace, passes="event")
    assert report.verdict == "proved"
    assert report.claims[-1].why == "8 passes"  # of as many submissions and ends


def test_no_pass_is_made_where_nothing_happens():
    """From 182 s on WFP3 takes job 3 before job 2, but until 300 s nothing calls for a pass."""
    columns = {"submit": [0, 0, 10], "run": [300, 400, 300], "procs": [2, 4, 2], "job": [1, 2, 3]}
    trace = wk.Trace.from_columns(columns)

    def judged(*start):
        wait = np.array(start) - columns["submit"]
        return check(trace.with_columns(wait=wait), "wfp3", trace)

    assert judged(0, 600, 300).verdict == "proved"
    why = "at 200 s job 3 starts, which waits under the policy"
    why += "; the first reservation is of job 2 for 300 s"
    assert refuted(judged(0, 500, 200)) == {EACH_PASS: why}


def test_jobs_that_outlive_their_estimates_are_overdue_in_each_pass():
    trace = log(run=[12, 10, 10, 25])
    for policy, start in (("easy", [0, 12, 28, 3]), ("conservative", [0, 12, 22, 32])):
        for other in ("easy", "conservative"):
            report = check(scheduled(start, trace), other, trace, overrun="late")
            assert report.verdict == ("proved" if policy == other else "refuted")


def test_a_job_with_other_values_than_in_the_log_is_refuted():
    for change, found in (
        ({"procs": [2, 3, 4, 1]}, {NEEDS: "job 1 has 2 processors, in the log 3"}),
        ({"run": [10, 9, 10, 25]}, {NEEDS: "job 2 runs 9 s, in the log 10 s"}),
        (
            {"submit": [0, 0, 2, 3]},
            {SUBMIT: "job 2, matched by number and order, is submitted at 0 s, not 1 s"},
        ),
        (
            {"job": [1, 2, 3, 7]},
            {ONCE: "job 4, submitted at 3 s, is missing; 1 more"},
        ),
    ):
        assert refuted(check(scheduled([0, 10, 28, 3], **change))) == found


def rows(schedule, *places):
    """Return a schedule of some of its jobs, which may repeat."""
    columns = {name: schedule.column(name)[list(places)] for name in (*HAND, "wait")}
    return wk.Trace.from_columns(columns)


def test_missing_doubled_and_additional_jobs_are_refuted():
    right = scheduled(EASY)
    lost = refuted(check(rows(right, 0, 1, 2), "easy"))
    assert lost == {ONCE: "job 4, submitted at 3 s, is missing"}
    doubled = check(rows(right, 0, 1, 2, 3, 3), "easy")
    assert refuted(doubled) == {
        ONCE: "job 4 occurs twice",
        CAPACITY: "5 of 4 at 3 s, by jobs 1, 4, 4",
    }
    assert doubled.claims[-1].verdict == "not applicable"
    short = wk.check_schedule(log().take([0, 1, 2]), right, procs=4)
    assert refuted(short) == {ONCE: "job 4 is not in the log"}


def test_jobs_of_the_same_number_and_second_come_in_any_order():
    trace = log(job=[0, 0, 0, 0], submit=[0, 0, 0, 0])
    start = np.array([0, 10, 25, 0])
    schedule = scheduled(start, trace)
    assert_proved(check(rows(schedule, 3, 2, 1, 0), trace=trace))
    assert NEEDS in refuted(check(rows(schedule, 3, 2, 2, 0), trace=trace))


def test_jobs_larger_than_the_machine_are_left_out_only_if_requested():
    trace = log(procs=[3, 3, 9, 1])
    schedule = wk.simulate(trace, "easy", procs=4, oversize="drop").trace()
    assert_proved(check(schedule, "easy", trace, oversize="drop"))
    with pytest.raises(wk.WorkloadError, match=r"1 job is larger than the machine .*: 3; leave"):
        check(schedule, "easy", trace)
    assert f"{ONCE} (without 1 job larger than the machine)" in verdicts(
        check(schedule, "easy", trace, oversize="drop")
    )
    with pytest.warns(wk.WorkloadWarning, match="a simulation of procs 4, which differs from"):
        report = check(schedule, "easy", trace, procs=9)
    assert refuted(report) == {ONCE: "job 3, submitted at 2 s, is missing"}


def test_jobs_that_never_ran_are_no_part_of_a_schedule():
    trace = log(run=[10, 10, -1, 25])
    assert_proved(check(rows(scheduled(EASY), 0, 1, 3), "easy", trace))
    assert_proved(check(scheduled([0, 10, 5, 3], trace), "easy", trace))
    assert ONCE in refuted(check(scheduled(EASY), "easy", trace))


def test_killed_jobs_end_at_their_estimates_and_are_marked():
    trace = log(requested_time=[10, 10, 10, 5])
    schedule = scheduled([0, 10, 20, 3], trace, run=[10, 10, 10, 5])
    assert refuted(check(schedule, "easy", trace, overrun="kill")) == {
        NEEDS: "job 4 is stopped at its estimate but not marked so (status 5)"
    }
    marked = schedule.with_columns(status=[1, 1, 1, 5])
    report = check(marked, "easy", trace, overrun="kill")
    assert_proved(report)
    assert report.claims[1].why == "4 jobs, 1 of them stopped at their estimates"
    report = check(marked.with_columns(run=[10, 10, 10, 6]), trace=trace, overrun="kill")
    assert refuted(report)[NEEDS] == "job 4 runs 6 s, stopped at its estimate 5 s"
    assert refuted(check(marked, trace=trace))[NEEDS] == "job 4 runs 5 s, in the log 25 s"


def test_used_processors_may_be_the_requested_ones_or_those_of_the_log():
    trace = wk.Trace.from_columns(HAND | {"requested_procs": [4, 4, 4, 4]})
    start = {"wait": [0, 9, 18, 27], "requested_procs": [4, 4, 4, 4]}
    for procs, right in (([3, 3, 4, 1], True), ([4, 4, 4, 4], True), ([2, 3, 4, 1], False)):
        schedule = wk.Trace.from_columns(HAND | start | {"procs": procs})
        assert bool(check(schedule, "fcfs", trace)) == right


def test_where_no_processors_are_requested_those_used_count():
    options = {"requested_procs": [0, -1, 4, 0]}
    trace = log(**options)
    schedule = scheduled(FCFS, trace, **options)
    assert_proved(check(schedule, "fcfs", trace))
    found = refuted(
        check(scheduled(FCFS, trace, **options | {"procs": [4, 3, 4, 1]}), "fcfs", trace)
    )
    assert found == {NEEDS: "job 1 has 4 processors, in the log 3"}


def test_a_status_that_only_an_outage_explains_needs_one():
    """Without outages no job fails that did not in the log, and none is cancelled."""
    trace, right = log(status=[1, 1, 1, -1]), scheduled(EASY)
    assert_proved(check(right.with_columns(status=[1, 1, 1, 1]), trace=trace))
    for status, why in (
        ([0, 1, 1, 1], "job 1 has status 0, in the log 1"),
        ([1, 1, 1, 0], "job 4 has status 0, in the log -1"),
        ([1, 1, 1, 5], "job 4 has status 5, in the log -1"),
    ):
        found = refuted(check(right.with_columns(status=status), trace=trace))
        assert found == {"all other fields equal the log's": why}


def test_of_many_jobs_at_an_instant_three_are_named():
    trace = log(submit=[0, 0, 0, 0], procs=[2, 2, 2, 2])
    found = refuted(check(scheduled([0, 0, 0, 0], trace), trace=trace))
    assert found == {CAPACITY: "8 of 4 at 0 s, by jobs 1, 2, 3 and 1 more"}


def test_an_offered_load_moves_the_submit_times():
    schedule = wk.simulate(log(), "easy", procs=4, offered_load=2)
    assert_proved(wk.check_schedule(log(), schedule))
    assert_proved(check(schedule.trace(), "easy", offered_load=2))
    with pytest.warns(wk.WorkloadWarning, match="a simulation of offered_load 2, which differs"):
        report = check(schedule.trace(), "easy")
    assert refuted(report) == {
        SUBMIT: "job 2, matched by number and order, is submitted at 5 s, not 1 s; 2 more"
    }


# Jobs of run time 0 hold their processors for an instant, one after another.


def test_jobs_of_run_time_0_follow_one_another_in_a_second():
    trace = log(run=[0, 0, 0, 25], submit=[0, 0, 0, 0])
    assert_proved(check(scheduled([0, 0, 0, 0], trace), "fcfs", trace))


def test_a_job_of_run_time_0_needs_room_beside_those_that_run_through():
    trace = log(run=[10, 0, 10, 25], procs=[3, 1, 4, 1])
    report = check(scheduled([0, 5, 28, 3], trace), trace=trace)
    assert refuted(report) == {CAPACITY: "5 of 4 at 5 s, by jobs 1, 2, 4"}
    assert_proved(check(scheduled([0, 10, 28, 3], trace), trace=trace))


def test_a_job_of_run_time_0_comes_after_the_jobs_before_it():
    trace = log(run=[10, 0, 10, 25], submit=[0, 0, 2, 3])
    report = check(scheduled([0, 0, 10, 20], trace), "fcfs", trace)
    assert refuted(report) == {EACH_PASS: "at 0 s job 2 starts, which waits under the policy"}


# Conservative: the promise is the earliest slot next to running jobs and reservations.


# Job 1 keeps one of 4 processors throughout; job 2 ends at 5 instead of 10.
PROMISED = {
    "job": [1, 2, 3, 4],
    "submit": [0, 0, 1, 6],
    "run": [90, 5, 10, 10],
    "requested_time": [90, 10, 10, 10],
    "procs": [1, 3, 3, 2],
}


def test_each_compression_has_one_schedule():
    """At 5 s job 3 may move to now, and job 4 behind it; or to now alone, or neither."""
    trace = wk.Trace.from_columns(PROMISED | {"submit": [0, 0, 1, 1]})
    starts = {"full": [0, 0, 5, 15], "start": [0, 0, 5, 20], "none": [0, 0, 10, 20]}
    for compression in starts:
        for made_by, start in starts.items():
            report = check(scheduled(start, trace), f"conservative:{compression}", trace)
            assert report.verdict == ("proved" if made_by == compression else "refuted")
    why = "at 5 s the policy starts job 3, which waits; the first reservation is of job 4 for 15 s"
    report = check(scheduled([0, 0, 7, 17], trace), "conservative", trace)
    assert refuted(report) == {EACH_PASS: f"{why}; 1 more"}


def test_a_promise_counts_what_has_moved_forward():
    # job 3 runs from 5 on: job 4, submitted at 6, is promised 15; without that it would be 20
    trace = wk.Trace.from_columns(PROMISED)
    assert check(scheduled([0, 0, 5, 15], trace), "conservative", trace).verdict == "proved"
    assert refuted(check(scheduled([0, 0, 5, 16], trace), "conservative", trace)) == {
        EACH_PASS: "at 15 s the policy starts job 4, which waits; 1 more"
    }


def test_a_job_that_takes_what_was_reserved_is_refuted():
    trace = wk.Trace.from_columns(PROMISED | {"run": [90, 10, 10, 10]})
    why = "at 6 s job 4 starts, which waits under the policy"
    why += "; the first reservation is of job 3 for 10 s"
    assert refuted(check(scheduled([0, 0, 16, 6], trace), "conservative", trace)) == {
        CAPACITY: "6 of 4 at 6 s, by jobs 1, 2, 4",
        EACH_PASS: why,
    }
    small = {"procs": [1, 2, 3, 1], "run": [90, 10, 10, 10]}
    trace = wk.Trace.from_columns(PROMISED | small)
    report = check(scheduled([0, 0, 16, 6], trace), "conservative", trace)
    assert refuted(report) == {EACH_PASS: why}


def test_decimals_are_proved_as_they_are():
    """Halves are exact: a start that moves is refuted."""
    trace = log(run=[10.5, 10, 10, 25])
    for policy in ("conservative", "fcfs"):
        start = [0, 10.5, 20.5, 30.5]
        assert check(scheduled(start, trace), policy, trace).verdict == "proved"
        assert check(scheduled([0, 10.5, 20.5, 31], trace), policy, trace).verdict == "refuted"


def test_decimals_that_round_are_not_enough_to_refute_kept_reservations():
    trace = log(run=[10.1, 10, 10, 25])
    report = check(scheduled([0, 10.1, 20.1, 30.2], trace), "conservative", trace)
    assert report.verdict == "consistent"
    assert report.claims[-1].why.startswith("decimals are rounded, and kept reservations")


def test_hundredths_of_a_second_differ():
    trace, start = log(run=[10.5, 10, 10, 25]), [0, 10.5, 20.5, 30.5]
    late = scheduled([0, 10.5, 20.5, 30.51], trace)
    why = "at 30.5 s the policy starts job 4, which waits; 1 more"
    assert refuted(check(late, "fcfs", trace)) == {EACH_PASS: why}
    assert check(scheduled(start, trace), "fcfs", trace).verdict == "proved"
    recorded = scheduled(start, trace)
    assert_proved(check(recorded, "recorded", recorded))
    assert not check(late, "recorded", recorded)
    longer = scheduled(start, trace, run=[10.5, 10, 10, 25.01])
    assert refuted(check(longer, trace=trace)) == {NEEDS: "job 4 runs 25.01 s, in the log 25 s"}


@given(logs(scale=0.1), st.sampled_from(["fcfs", "easy"]))
def test_decimals_are_proved_as_they_are_written(trace, policy):
    """The wait is written, and the start found from it: sums of decimals round."""
    schedule = wk.simulate(trace, policy)
    rounded = schedule.trace().with_columns(wait=np.round(schedule.wait, 3))
    assert_proved(wk.check_schedule(trace, rounded, policy=policy))


# What a schedule records of its simulation.


def test_the_options_of_a_simulation_are_those_of_its_check():
    trace = log(run=[10, 12, 10, 25])
    for options in ({"overrun": "kill"}, {"estimates": "exact"}, {"passes": "event"}):
        schedule = wk.simulate(trace, "easy:backfill=sjf", procs=4, **options)
        report = wk.check_schedule(trace, schedule)
        assert_proved(report)
        given = report.provenance["parameters"]
        assert given["policy"] == "easy:backfill=sjf"
        assert options.items() <= given.items()
    assert not wk.check_schedule(trace, wk.simulate(trace, procs=4, overrun="kill"), overrun="late")
    assert not wk.check_schedule(trace, wk.simulate(trace, procs=4), policy="fcfs")


def test_a_schedule_that_describes_another_simulation_is_warned_of():
    for made, checked, described in (
        ({"overrun": "kill"}, {"overrun": "late"}, "overrun kill"),
        ({"passes": "event"}, {}, "passes event"),
        ({}, {"passes": "event"}, "passes instant"),
        ({"offered_load": 1}, {"offered_load": 2}, "offered_load 1"),
        ({"offered_load": 1}, {}, "offered_load 1"),
        ({}, {"offered_load": 0.5}, "no offered_load"),
        ({"scale_runs": 2}, {}, "log hand, scale_runs 2"),
        ({"scale_sizes": 0.5}, {"scale_sizes": 0.25}, "log hand, scale_sizes 0.5"),
        ({}, {"scale_arrivals": 3}, "no scale_arrivals"),
        ({}, {"outages": wk.Outages(name="down", digest="c0ffee")}, "no outages"),
        ({"estimates": "exact", "procs": 5}, {}, "procs 5, estimates exact"),
        ({"scheduler": "reservations:3"}, {}, "scheduler reservations:depth=3"),
    ):
        made = {"procs": 4, "scheduler": "easy", "engine": "python"} | made
        schedule = wk.simulate(log(), **made).trace()
        with pytest.warns(wk.WorkloadWarning) as warned:
            check(schedule, "easy", **checked)
        message = str(warned[0].message).partition(" a simulation of ")[2]
        found = message.partition(", which differs")[0]
        assert sorted(found.split(", ")) == sorted(described.split(", "))


def test_a_schedule_of_another_log_is_warned_of():
    schedule = wk.simulate(log(), procs=4).trace()
    other = replace(log().with_columns(group=[7] * log().n_jobs), name="foot")
    with pytest.warns(wk.WorkloadWarning, match="itself as a simulation of log hand, which"):
        check(schedule, "easy", other)
    same = replace(log(), name="foot", digest="c0ffee")
    check(wk.simulate(replace(same, name="hand"), procs=4).trace(), "easy", same)


def test_notes_of_the_log_do_not_describe_its_schedule():
    made = wk.simulate(log(), "fcfs", procs=4, overrun="kill").trace()
    check(made, "easy", made)  # as a simulator has it that keeps the header
    check(wk.simulate(made, "fcfs", procs=4).trace(), "fcfs", made)


def test_a_schedule_checked_as_it_was_made_is_not_warned_of():
    outages = wk.Outages((wk.Outage(1, 5, 9, 1),))
    schedule = wk.simulate(log(), "recorded", procs=40)
    check(schedule.trace(), "recorded", procs=40)
    own = wk.schedulers.CustomOrder(min)
    check(wk.simulate(log(), own, procs=4, engine="python").trace(), own)
    for options in ({"offered_load": 1}, {"offered_load": 0.5}, {"outages": outages}):
        check(wk.simulate(log(), procs=4, **options).trace(), "easy", **options)
        check(wk.simulate(log(), procs=4, **options).trace(), **options)


def test_policies_as_objects():
    schedule = wk.simulate(log(), wk.schedulers.Easy(), procs=4)
    assert "under easy" in str(wk.check_schedule(log(), schedule))
    assert "under fcfs" in str(wk.check_schedule(log(), schedule, policy=wk.schedulers.Fcfs()))


class Shortest(wk.schedulers.OrderedScheduler):
    """A custom scheduler."""


def test_rules_for_all_schedules_apply_to_custom_schedulers():
    report = wk.check_schedule(log(), wk.simulate(log(), Shortest(), procs=4))
    assert_proved(report)
    assert report.claims[-1].why.startswith("Shortest is not built in, so the order of jobs")


OUTAGES = wk.Outages((wk.Outage(1, 5, 40, 2), wk.Outage(2, 12, 60, 1)))


def test_with_outages_only_the_processors_that_are_up_are_used():
    for interrupted in ("requeue", "lose"):
        schedule = wk.simulate(log(), "easy", procs=4, outages=OUTAGES, interrupted=interrupted)
        for made in (schedule, schedule.trace()):
            report = wk.check_schedule(log(), made, procs=4, policy="easy", outages=OUTAGES)
            assert report.verdict == "consistent"
            assert reasons(report)[CAPACITY].endswith(" of 4, outages: 2")
            assert (EACH_PASS in verdicts(report)) == (made is schedule)
        assert "requires a Schedule in whole seconds with its stopped runs" in report.claims[-1].why
    assert wk.check_schedule(log(), schedule).claims[1].why == "4 jobs, 1 lost"
    found = refuted(check(scheduled(EASY), outages=OUTAGES))
    assert found == {CAPACITY: "4 of 2 at 5 s, by jobs 1, 4"}


def test_processors_that_two_outages_take_are_down_once():
    """From 10 to 30 s the outages take processors 1 to 3 of 4, the second of them both."""
    outages = (wk.Outage(1, 5, 40, components=(1, 2)), wk.Outage(2, 10, 30, components=(2, 3)))
    down = wk.Outages(outages)
    for procs, verdict in ((1, "proved"), (2, "refuted")):
        trace = wk.Trace.from_columns({"submit": [0], "run": [50], "procs": [procs]})
        report = check(trace.with_columns(wait=[0]), trace=trace, outages=down)
        assert verdicts(report)[CAPACITY] == verdict
    assert refuted(report) == {CAPACITY: "2 of 1 at 10 s, by job 1"}


def test_processors_are_up_again_from_the_end_of_an_outage_on():
    trace = wk.Trace.from_columns({"submit": [0], "run": [7], "procs": [4]})
    down = wk.Outages((wk.Outage(1, 6, 30, 1),))
    for start, refutes in ((5, True), (6, True), (29, True), (30, False)):
        report = check(trace.with_columns(wait=[start]), trace=trace, outages=down)
        assert (CAPACITY in refuted(report)) == refutes, start


@pytest.mark.parametrize("engine", ["python", pytest.param("compiled", marks=pytest.mark.slow)])
@examples(60)
@given(
    st.sampled_from(["fcfs", "easy", "sjf", "reservations:2", "conservative", "user-priority"]),
    logs(),
    st.integers(0, 2**32),
    overruns,
    passes,
    st.sampled_from(["requeue", "lose"]),
)
def test_schedules_with_outages_are_proved(
    engine, policy, trace, seed, overrun, passes, interrupted
):
    rng = np.random.default_rng(seed)
    outages = []
    for number in range(1, rng.integers(2, 5)):
        start, length, ahead = (int(time) for time in rng.integers((0, 1, -40), (60, 40, 20)))
        announced = start - ahead if 0 <= ahead <= start else -1
        procs = int(rng.integers(1, MACHINE))
        outages.append(wk.Outage(number, start, start + length, procs, announced=announced))
    options = {"overrun": overrun, "passes": passes, "outages": wk.Outages(tuple(outages))}
    schedule = wk.simulate(trace, policy, interrupted=interrupted, engine=engine, **options)
    for made in (schedule, schedule.trace()):
        report = wk.check_schedule(trace, made, policy=policy, **options)
        assert report.verdict == "consistent", str(report)


def test_with_outages_each_pass_is_repeated():
    """At 5 s two of 4 processors fail without notice: job 1 is stopped, and waits for them."""
    jobs = {"submit": [0, 1, 2], "run": [10, 20, 10], "procs": [3, 1, 2], "job": [1, 2, 3]}
    trace = wk.Trace.from_columns(jobs)
    down = wk.Outages((wk.Outage(1, 5, 40, components=(1, 2)),))
    schedule = wk.simulate(trace, "easy", procs=4, outages=down)
    # the end at 40 s is unknown: job 3 need not end by then
    assert schedule.start.tolist() == [40, 1, 21]

    def judged(start, policy="easy"):
        changed = replace(schedule, start=np.array(start))
        return wk.check_schedule(trace, changed, policy=policy, outages=down)

    report = judged([40, 1, 21])
    assert report.claims[-1].why.endswith("the runs that outages stop are taken from the schedule")
    assert (report.claims[-1].verdict, report.verdict) == ("proved", "consistent")
    assert EACH_PASS in refuted(judged([40, 1, 22]))
    assert EACH_PASS in refuted(judged([41, 1, 21]))
    assert EACH_PASS in refuted(judged([40, 1, 21], "fcfs"))


def test_runs_that_were_stopped_use_processors_too():
    """Jobs 1 and 2 run on all 4 processors from 1 to 5 s; job 3 cannot run among them."""
    jobs = {"submit": [0, 1, 2], "run": [10, 20, 10], "procs": [3, 1, 2], "job": [1, 2, 3]}
    trace = wk.Trace.from_columns(jobs)
    down = wk.Outages((wk.Outage(1, 5, 40, components=(1, 2)),))
    schedule = wk.simulate(trace, "easy", procs=4, outages=down)
    another = schedule.runs[0]._replace(job=3, start=2, end=4, interrupted=True, row=2)
    changed = replace(schedule, runs=(*schedule.runs, another))
    found = refuted(wk.check_schedule(trace, changed, policy="easy", outages=down))
    assert found[CAPACITY].startswith("6 of 4 at 2 s, by jobs ")


@pytest.mark.parametrize("engine", ["compiled", "python"])
def test_stopped_runs_are_known_among_jobs_of_one_number(engine):
    """Three jobs have the number 2; at 16 s the outage stops the last, whose run began at 15 s.

    The run of no time began at 15 s, too, and gave way to it.
    """
    jobs = {"submit": [0] * 5, "job": [0, 1, 2, 2, 2], "run": [8, 7, 0, 2, 4]}
    jobs |= {"procs": [4, 8, 5, 4, 5], "requested_time": [4, 0, -1, 5, 5]}
    trace, down = wk.Trace.from_columns(jobs), wk.Outages((wk.Outage(1, 16, 27, 7),))
    options = {"overrun": "raise", "outages": down}
    schedule = wk.simulate(trace, "easy", procs=8, engine=engine, **options)
    assert schedule.start.tolist() == [0, 8, 15, 0, 27]
    assert [run.row for run in schedule.runs if run.interrupted] == [4]
    report = wk.check_schedule(trace, schedule, policy="easy", **options)
    assert report.verdict == "consistent", str(report)


def test_jobs_of_custom_users():
    class Once(wk.users.User):
        def wake_up(self):
            self.submit(2, 10, 5)

    schedule = wk.simulate(scheduler="easy", users=[Once(), Once()], procs=2, overrun="kill")
    report = wk.check_schedule(schedule.source, schedule)
    assert_proved(report)
    assert "on 2 processors under easy" in str(report)


def test_the_recorded_schedule_may_hold_more_than_the_machine():
    trace = scheduled([0, 5, 10, 20])
    report = wk.check_schedule(trace, trace, policy="recorded")
    assert_proved(report)
    assert reasons(report)[CAPACITY] == "a log's own schedule may use more; at most 7"
    assert reasons(check(trace, "recorded", trace))[CAPACITY].endswith("at most 7 of 4")
    moved = scheduled([0, 5, 10, 21])
    assert refuted(wk.check_schedule(trace, moved, policy="recorded")) == {
        "each job starts its recorded wait after its submission": "job 4 starts at 21 s, not 20 s"
    }


def test_a_report_as_json():
    data = check(scheduled([0, 10, 26, 1]), "easy").to_dict()
    assert not data["ok"]
    assert data["verdict"] == "refuted"
    assert data["claims"][5] == {
        "claim": EARLY,
        "verdict": "refuted",
        "why": "job 4 starts at 1 s, submitted at 3 s",
    }
    assert data["provenance"]["parameters"] == {
        "policy": "easy",
        "procs": 4,
        "oversize": "error",
        "estimates": "user",
        "overrun": "raise",
    }


def test_wrong_parameters_are_refused():
    for options, message in (
        ({"policy": "best"}, "unknown scheduler 'best'; known: fcfs, easy"),
        ({"policy": "easy:depth=3"}, "scheduler easy has no parameter 'depth'"),
        ({"oversize": "shrink"}, "oversize is 'shrink'; known: error, drop"),
        ({"estimates": "none"}, "estimates is 'none'; known: user, exact"),
        ({"overrun": "ignore"}, "overrun is 'ignore'; known: raise, kill, late, header"),
        ({"passes": "twice"}, "passes is 'twice'; known: instant, event"),
        ({"procs": 0}, "procs is 0"),
        ({"offered_load": -1}, "offered_load is -1"),
    ):
        with pytest.raises(wk.ParameterError, match=message):
            check(scheduled(EASY), **options)


def test_the_size_of_the_machine_must_be_known():
    with pytest.raises(wk.WorkloadError, match="neither MaxProcs nor MaxNodes"):
        check(scheduled(EASY), procs=None)


def test_jobs_of_one_number_are_distinguished_by_their_times():
    """Two jobs are called 0; an outage stops the first of them, before the other is submitted."""
    columns = {"job": [0, 0], "submit": [1, 4], "run": [2, 2], "procs": [8, 8], "user": [1, 1]}
    trace = wk.Trace.from_columns(columns, header=wk.Header((f"; MaxProcs: {MACHINE}",)))
    down = wk.Outages((wk.Outage(1, 2, 3, 1),))
    schedule = wk.simulate(trace, "fcfs", outages=down, engine="python")
    assert [run.interrupted for run in schedule.runs].count(True) == 1
    assert_proved(wk.check_schedule(trace, schedule, outages=down))
