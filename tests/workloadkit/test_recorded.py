"""The schedule that a log tells of."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.data import TRACES, needs_traces, trace_path
from tests.small_logs import head_of
from workloadkit.errors import WorkloadError, WorkloadWarning

ENGINES = ("compiled", "python")


def log(**columns):
    return wk.Trace.from_columns(columns)


@pytest.mark.parametrize("engine", ENGINES)
def test_jobs_start_their_wait_after_their_submission(engine):
    trace = log(submit=[0, 5, 7], wait=[3, -1, 10], run=[10, 20, 0], procs=[4, 4, 4])
    schedule = wk.simulate(trace, "recorded", procs=8, engine=engine)
    assert schedule.start.tolist() == [3, 5, 17]
    assert schedule.end.tolist() == [13, 25, 17]
    assert schedule.machine == 8


@pytest.mark.parametrize("engine", ENGINES)
def test_decimal_waits_stay_decimal(engine):
    trace = log(submit=[0, 5], wait=[0.5, 0.25], run=[10, 20], procs=[4, 4])
    schedule = wk.simulate(trace, "recorded", procs=8, engine=engine)
    assert schedule.start.tolist() == [0.5, 5.25]
    assert schedule.end.tolist() == [10.5, 25.25]


def test_estimates_and_overrun_have_no_effect():
    trace = log(submit=[0], wait=[0], run=[100], procs=[1], requested_time=[10])
    for overrun in ("kill", "raise", "late"):
        schedule = wk.simulate(trace, "recorded", procs=1, overrun=overrun)
        assert schedule.end.tolist() == [100]
        assert not schedule.jobs["killed"].any()
        assert "overrun" not in schedule.parameters


def test_no_machine_is_needed():
    trace = log(submit=[0, 1], wait=[0, 0], run=[10, 10], procs=[3, 4])
    schedule = wk.simulate(trace, "recorded")
    assert schedule.machine == 7
    assert schedule.metrics["utilization"] == pytest.approx(3 / 7)  # till the second arrives
    assert schedule.measure("makespan_utilization") == pytest.approx((30 + 40) / (7 * 11))


def test_a_machine_is_written_only_where_it_is_known():
    trace = log(submit=[0, 1], wait=[0, 0], run=[10, 10], procs=[3, 4])
    assert wk.simulate(trace, "recorded").trace().header.procs is None
    assert wk.simulate(trace, "recorded", procs=9).trace().header.procs == 9


def test_a_job_of_no_run_time_is_not_the_one_that_is_too_many():
    trace = log(job=[7, 8, 9], submit=[0, 10, 10], wait=[0, 0, 0], run=[60, 60, 0], procs=[2, 4, 9])
    with pytest.warns(WorkloadWarning, match=r"up to 6 processors of 5: .*, first by job 8$"):
        wk.simulate(trace, "recorded", procs=5)


def test_more_than_the_machine_is_allowed_with_one_warning():
    # Two processors in use from 0; from 10 on four more, two at a time: the second pair is above.
    trace = log(
        job=[7, 8, 9, 10], submit=[0, 10, 10, 90], wait=[0, 0, 0, 0], run=[3620, 3600, 3600, 0],
        procs=[2, 2, 2, 9],
    )  # fmt: skip
    message = r"6 processors of 5: more than the machine has for 1.0 hours in all, first by job 9$"
    with pytest.warns(WorkloadWarning, match=message) as said:
        schedule = wk.simulate(trace, "recorded", procs=5)
    assert len(said) == 1
    assert schedule.start.tolist() == [0, 10, 10, 90]


def test_a_load_needs_a_machine():
    trace = log(submit=[0, 10], wait=[0, 0], run=[10, 10], procs=[3, 4])
    with pytest.raises(WorkloadError, match="--procs"):
        wk.simulate(trace, "recorded", offered_load=0.5)


@given(
    st.lists(
        st.tuples(
            st.integers(0, 20), st.integers(-1, 20), st.integers(0, 20), st.integers(1, 4)
        ),
        min_size=1,
        max_size=20,
    ),
    st.sampled_from([1, 0.1]),
    st.sampled_from(["instant", "event"]),
)  # fmt: skip
def test_engines_agree(jobs, scale, passes):
    submit, wait, run, procs = map(np.array, zip(*jobs, strict=True))
    trace = log(
        submit=submit * scale, wait=np.where(wait < 0, -1, wait * scale), run=run, procs=procs
    )
    compiled, plain = (
        wk.simulate(trace, "recorded", procs=99, passes=passes, engine=e) for e in ENGINES
    )
    assert compiled.start.tolist() == plain.start.tolist()


@needs_traces
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name.removesuffix(".swf.gz"))
def test_engines_agree_on_the_beginning_of_real_logs(path):
    trace = head_of(path)
    compiled, plain = (wk.simulate(trace, "recorded", engine=e) for e in ENGINES)
    assert np.array_equal(compiled.start, plain.start)


@needs_traces
def test_a_machine_of_the_nineties_held_more_than_it_had():
    trace = wk.read_swf(trace_path("KTH-SP2-1996-2"))
    with pytest.warns(WorkloadWarning, match="up to 104 processors of 100"):
        wk.simulate(trace, "recorded")
