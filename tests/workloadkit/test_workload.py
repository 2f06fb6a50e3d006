"""What a simulation takes from a log: the rules of who runs, how long and on how much."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from workloadkit.errors import ParameterError, WorkloadError, WorkloadWarning
from workloadkit.fields import MAX_PROCS, MAX_TIME
from workloadkit.settings.simulation import Arriving
from workloadkit.simulation.workload import from_log, machine_size, plan
from workloadkit.simulation.workload.from_log import make_workload


def log(**columns):
    """A log in which every job runs for 10 s on one processor unless given."""
    n_jobs = len(next(iter(columns.values())))
    defaults = {"submit": range(n_jobs), "run": [10] * n_jobs, "procs": [1] * n_jobs}
    return wk.Trace.from_columns(defaults | columns, name="small.swf")


def test_a_job_needs_the_processors_it_requested_else_those_it_used():
    trace = log(procs=[4, 4, 4, 4], requested_procs=[8, -1, 0, math.nan])
    assert make_workload(trace, 8).procs.tolist() == [8, 4, 4, 4]


def test_jobs_that_never_ran_are_left_out_and_counted():
    trace = log(run=[10, -1, 0, 10, math.nan], procs=[1, 1, 1, 0, 1])
    workload = make_workload(trace, 8)
    assert workload.job.tolist() == [1, 3]
    assert workload.row.tolist() == [0, 2]
    assert workload.left_out == 3


def test_a_job_ran_on_what_it_requested_only_in_a_log_that_knows_no_allocation_at_all():
    requested = [2, 3, -1]
    nowhere = log(procs=[-1, 0, -1], requested_procs=requested)
    assert make_workload(nowhere, 8).procs.tolist() == [2, 3]
    somewhere = log(procs=[-1, 5, -1], requested_procs=requested)
    assert make_workload(somewhere, 8).job.tolist() == [2]


def test_a_log_in_which_no_job_ran_cannot_be_simulated():
    with pytest.raises(WorkloadError, match=r"small\.swf: no job ran"):
        make_workload(log(run=[-1, -1]), 8)


def test_jobs_larger_than_the_machine_are_an_error_that_names_them():
    with pytest.raises(WorkloadError) as caught:
        make_workload(log(job=[11, 22, 33], procs=[1, 9, 8]), 8)
    assert str(caught.value).startswith(
        "small.swf: 1 job is larger than the machine of 8 processors: 22"
    )
    with pytest.raises(WorkloadError) as caught:
        make_workload(log(procs=[9] * 1007), 8)
    assert str(caught.value).startswith(
        "small.swf: 1,007 jobs are larger than the machine of 8 processors: "
        "1, 2, 3, 4, 5 and 1,002 more"
    )


def test_five_jobs_that_are_too_large_are_all_named():
    with pytest.raises(WorkloadError, match=r"5 jobs are larger .*: 1, 2, 3, 4, 5; leave them out"):
        make_workload(log(procs=[9] * 5), 8)


def test_the_largest_plausible_values_are_accepted():
    assert machine_size(wk.Header(), MAX_PROCS) == MAX_PROCS
    assert make_workload(log(run=[MAX_TIME]), 8).run.tolist() == [MAX_TIME]


def test_stretched_submit_times_are_rounded_to_the_nearest_second():
    trace = log(submit=[10, 13, 17])  # 3 and 7 s after the first
    assert make_workload(trace, 8, Arriving(scale_arrivals=0.25)).submit.tolist() == [10, 11, 12]


def test_what_a_job_requested_makes_it_too_large_whatever_it_used():
    with pytest.raises(WorkloadError, match="1 job is larger"):
        make_workload(log(procs=[4], requested_procs=[9]), 8)


def test_jobs_larger_than_the_machine_may_be_dropped_and_are_counted():
    trace = log(run=[10, -1, 10, 10], procs=[1, 9, 9, 8])
    workload = make_workload(trace, 8, Arriving(oversize="drop"))
    assert workload.job.tolist() == [1, 4]
    assert workload.left_out == 2
    with pytest.raises(WorkloadError, match="nothing to simulate"):
        make_workload(log(procs=[9]), 8, Arriving(oversize="drop"))


def test_a_fraction_of_a_processor_is_refused():
    with pytest.raises(WorkloadError, match="1 job is in need of a fraction of a processor: 2"):
        make_workload(log(procs=[1, 2.5]), 8)


def test_the_scheduler_plans_with_the_requested_time_else_with_the_run_time():
    trace = log(run=[10, 10, 10], requested_time=[60, -1, math.nan])
    assert make_workload(trace, 8).estimate.tolist() == [60, 10, 10]
    assert make_workload(trace, 8, Arriving(estimates="exact")).estimate.tolist() == [10, 10, 10]


def test_an_estimate_is_at_least_a_second():
    trace = log(run=[0, 0, 5], requested_time=[-1, 0, 0])
    assert make_workload(trace, 8, Arriving(overrun="late")).estimate.tolist() == [1, 1, 1]
    assert make_workload(trace, 8, Arriving(overrun="kill")).run.tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("overrun", "run", "estimate", "killed"),
    [
        ("kill", [60, 60, 30], [60, 60, 60], [True, False, False]),
        ("raise", [90, 60, 30], [90, 60, 60], [False, False, False]),
        ("late", [90, 60, 30], [60, 60, 60], [False, False, False]),
    ],
)
def test_a_job_that_outlives_its_estimate(overrun, run, estimate, killed):
    workload = make_workload(
        log(run=[90, 60, 30], requested_time=[60] * 3), 8, Arriving(overrun=overrun)
    )
    assert workload.run.tolist() == run
    assert workload.estimate.tolist() == estimate
    assert workload.killed.tolist() == killed


def test_exact_estimates_leave_nothing_to_outlive():
    trace = log(run=[90], requested_time=[60])
    workload = make_workload(trace, 8, Arriving(estimates="exact", overrun="kill"))
    assert (workload.run[0], workload.killed[0]) == (90, False)


@pytest.mark.parametrize(
    ("labels", "overrun"),
    [
        (["AllowOveruse: No"], "kill"),
        (["AllowOveruse: Yes"], "late"),
        (["AllowOveruse: Yes", "MaxRuntime: 3600"], "late"),
        (["MaxRuntime: 3600"], "kill"),
    ],
)
def test_the_header_may_contain_the_rule_for_overruns(labels, overrun):
    header = wk.Header(tuple(f"; {label}" for label in labels))
    trace = replace(log(run=[90, 60], requested_time=[60, 60]), header=header)
    schedule = wk.simulate(trace, procs=1, overrun="header", engine="python")
    assert schedule.parameters["overrun"] == overrun
    assert schedule.start.tolist() == [0, 60 if overrun == "kill" else 90]
    assert wk.check_schedule(trace, schedule.trace(), procs=1, overrun="header", policy="easy").ok


@pytest.mark.parametrize("labels", [(), ("; AllowOveruse: perhaps",), ("; MaxRuntime: 0",)])
def test_a_header_without_a_rule_for_overruns_is_an_error(labels):
    trace = replace(log(run=[90]), header=wk.Header(labels))
    message = "the header of small.swf contains neither AllowOveruse nor MaxRuntime; give raise"
    with pytest.raises(ParameterError, match=message):
        wk.simulate(trace, procs=1, overrun="header")
    with pytest.raises(ParameterError, match="overrun is 'header', and there is no log"):
        wk.simulate(users="closed:users=2", procs=1, overrun="header")


@given(
    st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), min_size=1),
    st.sampled_from(["kill", "raise", "late"]),
)
def test_a_plan_never_lengthens_a_run_or_shortens_an_estimate(jobs, overrun):
    run, estimate = map(np.array, zip(*jobs, strict=True))
    ran, planned, killed = plan(run, estimate, overrun)
    assert (ran <= run).all()
    assert (planned >= np.maximum(estimate, 1)).all()
    assert ((ran < run) == killed).all()
    assert overrun == "late" or (ran <= planned).all()


def test_whole_seconds_stay_integers():
    workload = make_workload(log(submit=[0, 5], requested_time=[60, -1]), 8)
    assert {workload.submit.dtype, workload.run.dtype, workload.estimate.dtype} == {
        np.dtype(np.int64)
    }


@pytest.mark.parametrize("column", ["submit", "run", "requested_time"])
def test_one_decimal_makes_all_times_decimals(column):
    workload = make_workload(log(**{column: [1, 2.5]}), 8)
    assert {workload.submit.dtype, workload.run.dtype, workload.estimate.dtype} == {
        np.dtype(np.float64)
    }


def test_decimals_of_jobs_and_estimates_that_are_not_used_do_not_count():
    trace = log(submit=[0, 0.5], run=[10, -1], requested_time=[9.5, 1])
    assert make_workload(trace, 8, Arriving(estimates="exact")).submit.dtype == np.int64


def test_jobs_come_in_the_order_of_submission_and_number():
    trace = log(submit=[5, 0, 0, 5, 0], job=[1, 7, 3, 1, 7], run=[1, 2, 3, 4, 5])
    workload = make_workload(trace, 8)
    assert list(zip(workload.submit, workload.job, workload.run, strict=True)) == [
        (0, 3, 3),
        (0, 7, 2),
        (0, 7, 5),
        (5, 1, 1),
        (5, 1, 4),
    ]
    assert trace.column("run")[workload.row].tolist() == workload.run.tolist()


def test_a_submit_time_below_zero_stays():
    workload = make_workload(log(submit=[-1, 0]), 8)
    assert workload.submit.tolist() == [-1, 0]
    assert wk.simulate(log(submit=[-1, 0]), procs=1).start.tolist() == [-1, 9]
    assert wk.simulate(log(submit=[-1, 0]), procs=1, engine="python").start.tolist() == [-1, 9]


@pytest.mark.parametrize("scale", [1, 0.1])
@pytest.mark.parametrize("offered_load", [0.3, 0.75, 1.2])
def test_the_offered_load_is_reached(rng, scale, offered_load):
    n_jobs = 500
    trace = log(
        submit=np.sort(rng.integers(1000, 90_000, n_jobs)) * scale,
        run=rng.integers(0, 900, n_jobs) * scale,
        procs=rng.integers(1, 9, n_jobs),
    )
    before = make_workload(trace, 8)
    workload = make_workload(trace, 8, Arriving(offered_load=offered_load))
    span = float(workload.submit[-1] - workload.submit[0])
    assert (workload.run * workload.procs).sum() / (8 * span) == pytest.approx(
        offered_load, abs=1 / span
    )
    assert workload.submit.dtype == before.submit.dtype
    assert workload.submit[0] == before.submit[0]
    stretch = span / float(before.submit[-1] - before.submit[0])
    expected = (before.submit - before.submit[0]) * stretch + before.submit[0]
    assert np.abs(np.sort(workload.submit) - expected).max() <= (1.01 if scale == 1 else 1e-6)


def test_the_offered_load_counts_the_work_that_is_simulated():
    trace = log(submit=[0, 100], run=[200, 100], requested_time=[100, 100], procs=[1, 1])
    assert make_workload(trace, 1, Arriving(offered_load=1, overrun="raise")).submit.tolist() == [
        0,
        300,
    ]
    assert make_workload(trace, 1, Arriving(offered_load=1, overrun="kill")).submit.tolist() == [
        0,
        200,
    ]


def test_jobs_pressed_into_one_second_go_by_number():
    trace = log(submit=[0, 1, 2, 1000], job=[4, 3, 2, 1], run=[1, 1, 1, 7])
    workload = make_workload(trace, 1, Arriving(offered_load=1))
    assert workload.submit.tolist() == [0, 0, 0, 10]
    assert workload.job.tolist() == [2, 3, 4, 1]


@pytest.mark.parametrize("offered_load", [0, -1, math.nan, math.inf])
def test_an_offered_load_that_cannot_be_is_refused(offered_load):
    with pytest.raises(ParameterError, match="offered_load is"):
        make_workload(log(run=[10, 10]), 8, Arriving(offered_load=offered_load))


@pytest.mark.parametrize("columns", [{"submit": [5, 5]}, {"run": [0, 0]}])
def test_an_offered_load_needs_time_and_work(columns):
    with pytest.raises(WorkloadError, match="the offered load cannot be set"):
        make_workload(log(**columns), 8, Arriving(offered_load=1))


@pytest.mark.parametrize(
    ("option", "known"),
    [
        ("oversize", "error, drop"),
        ("estimates", "user, exact"),
        ("overrun", "raise, kill, late, header"),
    ],
)
def test_an_unknown_choice_is_refused_with_the_known_ones(option, known):
    with pytest.raises(ParameterError, match=f"{option} is 'other'; known: {known}"):
        make_workload(log(run=[1]), 8, Arriving(**{option: "other"}))


def test_the_machine_is_what_is_given_else_max_procs_else_max_nodes():
    both = wk.Header(("; MaxNodes: 16", "; MaxProcs: 1664 (72, 1368, 224)"))
    nodes = wk.Header(("; MaxProcs: -1", "; MaxNodes: 16 of two processors"))
    assert machine_size(both, 99) == 99
    assert machine_size(both, None) == 1664
    with pytest.warns(WorkloadWarning, match="names no MaxProcs; taking MaxNodes, 16"):
        assert machine_size(nodes, None) == 16


@pytest.mark.parametrize("line", ["; MaxProcs: -1", "; MaxProcs: 0", "; MaxProcs: many", ";"])
def test_a_machine_of_unknown_size_is_an_error_that_names_procs(line):
    with pytest.raises(WorkloadError, match=r"neither MaxProcs nor MaxNodes.*procs"):
        machine_size(wk.Header((line,)), None)


@pytest.mark.parametrize("procs", [0, -4])
def test_a_machine_without_processors_is_refused(procs):
    with pytest.raises(ParameterError, match=f"procs is {procs}"):
        machine_size(wk.Header(), procs)


# What is not believed


@pytest.mark.parametrize("label", ["MaxProcs", "MaxNodes"])
def test_an_implausible_machine_is_refused(label):
    with pytest.raises(WorkloadError, match="2000000000 processors is implausible"):
        machine_size(wk.Header((f"; {label}: 2000000000",)), None)


def test_a_number_of_four_hundred_digits_is_no_number():
    assert wk.Header(("; MaxProcs: " + "9" * 400,)).procs is None


@pytest.mark.parametrize("procs", [math.nan, 4.5, 10**12])
def test_a_machine_has_a_whole_number_of_processors(procs):
    with pytest.raises(ParameterError, match="procs is"):
        machine_size(wk.Header(), procs)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"run": [math.inf]}, "run of inf"),
        ({"submit": [math.inf]}, "submit of inf"),
        ({"submit": [-1e15]}, "submit of -1e"),
        ({"requested_time": [1e19]}, "requested_time of 1e"),
    ],
)
def test_implausible_times_are_refused(columns, message):
    trace = wk.Trace.from_columns({"submit": [0], "run": [1], "procs": [1]} | columns)
    with pytest.raises(WorkloadError, match=message):
        make_workload(trace, 4)


def test_a_load_that_cannot_be_is_refused():
    for load in (
        1e-300,
        1e-15,
        0.0,
        -1.0,
        math.inf,
        math.nan,
    ):
        trace = wk.Trace.from_columns({"submit": [0, 9], "run": [5, 5], "procs": [1, 1]})
        with pytest.raises(ParameterError, match="offered_load"):
            make_workload(trace, 4, Arriving(offered_load=load))


def test_whole_seconds_whose_sum_would_wrap_around_are_refused(monkeypatch):
    monkeypatch.setattr(from_log, "_LAST_SECOND", 10**13)  # the real one takes millions of jobs
    columns = {"submit": np.zeros(20), "run": np.full(20, 1e12), "procs": np.ones(20)}
    make_workload(wk.Trace.from_columns(columns).select(np.arange(20) < 9), 4)
    with pytest.raises(WorkloadError, match=r"run time of 2\.0e\+13 s is implausible"):
        make_workload(wk.Trace.from_columns(columns), 4)
