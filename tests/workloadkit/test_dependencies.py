"""Sessions, batches and what each batch waits for."""

import numpy as np
import pytest
from hypothesis import given

import workloadkit as wk
from tests.examples import examples
from tests.small_logs import logs, trace_of
from workloadkit.dependencies import TIMES, activities, carry_dependencies

HOUR = 3600


def log(*jobs, **columns):
    """A log of one-processor jobs (user, submit, run); columns in place of the usual."""
    user, submit, run = (np.array(values) for values in zip(*jobs, strict=True))
    given = {"submit": submit, "run": run, "user": user, "procs": np.ones(len(jobs))}
    return wk.Trace.from_columns(given | columns)


#: User 5 leaves two long jobs behind, and comes back three times; user 8 works in between.
#: Sessions of user 5 (begin, until, end): (0, 120, 20000), (8000, 8400, 8410),
#: (13000, 13000, 13010), (30000, 30000, 30050).
WORK = log(
    (5, 0, 20000),
    (5, 120, 10000),
    (8, 200, 100),
    (8, 310, 5),
    (5, 8000, 300),
    (5, 8400, 10),
    (5, 13000, 10),
    (5, 30000, 50),
)


def test_the_work_of_two_users_by_hand():
    found = activities(WORK)
    assert found.user.tolist() == [5, 8]
    assert found.first_batch.tolist() == [0, 5, 7]
    assert found.first_session.tolist() == [0, 4, 5]
    assert found.first_job.tolist() == [0, 2, 3, 4, 5, 6, 7, 8]
    assert found.job.tolist() == [0, 1, 4, 5, 6, 7, 2, 3]
    assert found.gap.tolist() == [0, 120, 0, 0, 0, 0, 0, 0]
    assert found.session.tolist() == [0, 1, 1, 2, 3, 4, 4]
    assert found.arrival.tolist() == [0, 8000, 8400, 13000, 30000, 200, 310]
    # the session at 8000 depends on nothing: the first one has not ended; that at 13000 on the
    # second only, that at 30000 on all, of which the first ended last
    assert found.think_time.tolist() == [-1, -1, 100, 4590, 10000, -1, 10]
    assert found.interarrival.tolist() == [-1, 7880, 400, 4600, 17000, -1, 110]
    assert found.needs.tolist() == [0, 0, 0, 1, 3, 0, 0]
    assert found.place.tolist() == [2, 0, 1, 3, 0]
    assert found.begin.tolist() == [0, 8000, 13000, 30000, 200]
    assert found.until.tolist() == [120, 8400, 13000, 30000, 310]
    assert found.end.tolist() == [20000, 8410, 13010, 30050, 315]
    assert found.ended.tolist() == [20000, 10120, 8300, 8410, 13010, 30050, 300, 315]
    assert {found[i].dtype.kind for i in range(len(found))} == {"i"}


def test_a_session_that_ends_as_another_begins_had_not_ended_before():
    found = activities(log((1, 0, 5000), (1, 5000, 1), (1, 10000, 1)))
    assert found.needs.tolist() == [0, 0, 2]
    assert found.think_time.tolist() == [-1, -1, 4999]


def test_a_session_without_duration_does_not_wait_for_itself():
    found = activities(log((1, 0, 0), (1, 2 * HOUR, 0)))
    assert found.needs.tolist() == [0, 1]


def test_sessions_that_end_together_are_ordered_by_their_begins():
    found = activities(log((1, 0, 20000), (1, 5000, 15000), (1, 9000, 1), (1, 30000, 1)))
    assert found.place.tolist() == [1, 2, 0, 3]
    assert found.needs.tolist() == [0, 0, 0, 3]


def test_a_silence_of_an_hour_stays_inside_the_session():
    found = activities(log((1, 0, 10), (1, HOUR, 10), (1, 2 * HOUR + 1, 10)))
    assert found.session.tolist() == [0, 0, 1]


def test_a_recorded_wait_delays_the_end_and_one_below_zero_does_not():
    jobs = (1, 0, 10), (1, 100, 10)
    assert activities(log(*jobs, wait=[50, 0])).think_time.tolist() == [-1, 40]
    assert activities(log(*jobs, wait=[-5, -200])).think_time.tolist() == [-1, 90]
    assert activities(log(*jobs, wait=[-0.5, 0])).think_time.tolist() == [-1, 90]


def test_jobs_of_one_second_go_by_number_and_rows_count_those_that_never_ran():
    trace = log((1, 0, -1), (1, 0, 5), (1, 0, 5), (1, 0, 5), job=[9, 7, 3, 7])
    found = activities(trace)
    assert found.job.tolist() == [2, 1, 3]
    assert found.first_job.tolist() == [0, 3]


def test_a_fraction_of_a_second_makes_all_times_floats():
    found = activities(log((1, 0, 0.5), (1, 1, 1)))
    assert found.think_time.tolist() == [-1, 0.5]
    assert all(getattr(found, name).dtype == np.float64 for name in TIMES)


def test_jobs_of_unknown_user_are_one_user():
    with pytest.warns(wk.WorkloadWarning, match="unknown user"):
        found = activities(log((-1, 0, 1), (3, 0, 1), (-1, 5, 1)))
    assert found.user.tolist() == [-1, 3]
    assert found.first_batch.tolist() == [0, 2, 3]


def test_a_log_without_a_job_that_ran_has_no_activities():
    found = activities(log((1, 0, -1)))
    assert found.user.size == found.job.size == found.begin.size == found.arrival.size == 0
    assert [x.tolist() for x in (found.first_batch, found.first_session, found.first_job)] == [
        [0],
        [0],
        [0],
    ]


def test_what_is_no_log_is_refused():
    with pytest.raises(wk.ParameterError, match="trace is None; it must be a Trace"):
        activities(None)


# Submit times over a few hours, so that there are sessions, some of which overlap or touch.
hours = logs().map(
    lambda jobs: [job | {"submit": 350 * job["submit"], "run": 300 * job["run"]} for job in jobs]
)


@examples(50)
@given(hours)
def test_each_batch_waits_for_what_the_definition_says(jobs):
    trace = trace_of(jobs)
    found = activities(trace)
    assert sorted(found.job.tolist()) == np.flatnonzero(trace.ran).tolist()
    submit, end = trace.column("submit"), trace.end
    batch_jobs = np.split(found.job, found.first_job[1:-1])
    for u in range(found.user.size):
        batches = range(found.first_batch[u], found.first_batch[u + 1])
        first = found.first_session[u]
        for b in batches:
            own = batch_jobs[b]
            assert (
                submit[own] == found.arrival[b] + found.gap[found.first_job[b] :][: own.size]
            ).all()
            if b > batches[0]:
                assert found.interarrival[b] == found.arrival[b] - submit[batch_jobs[b - 1]].max()
            if b > batches[0] and found.session[b] == found.session[b - 1]:
                assert found.think_time[b] == found.arrival[b] - end[batch_jobs[b - 1]].max() > 0
                assert found.needs[b] == 0
                continue
            of_session = {
                int(s): np.concatenate([batch_jobs[c] for c in batches if found.session[c] == s])
                for s in found.session[batches]
            }
            before = {s for s, own in of_session.items() if end[own].max() < found.arrival[b]}
            place = found.place[first : found.first_session[u + 1]]
            assert {first + int(s) for s in np.flatnonzero(place < found.needs[b])} == before
            last = max((end[of_session[s]].max() for s in before), default=None)
            assert found.think_time[b] == (-1 if last is None else found.arrival[b] - last)


def test_the_table_tells_of_batches_in_the_order_in_which_they_start():
    table = wk.dependencies(WORK)
    assert table["user"].tolist() == [5, 8, 8, 5, 5, 5, 5]
    assert table["session"].tolist() == [0, 1, 1, 2, 2, 3, 4]
    assert table["batch"].tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert table["first_job"].tolist() == [1, 3, 4, 5, 6, 7, 8]
    assert table["jobs"].tolist() == [2, 1, 1, 1, 1, 1, 1]
    assert table["arrival"].tolist() == [0, 200, 310, 8000, 8400, 13000, 30000]
    assert table["last_arrival"].tolist() == [120, 200, 310, 8000, 8400, 13000, 30000]
    assert table["end"].tolist() == [20000, 300, 315, 8300, 8410, 13010, 30050]
    assert table["follows"].tolist() == [-1, -1, 1, 0, 3, 4, 5]
    assert table["depends_on"].tolist() == [0, 0, 1, 0, 1, 1, 3]
    assert table["think_time"].fillna(-1).tolist() == [-1, -1, 10, -1, 100, 4590, 10000]
    assert table["interarrival"].fillna(-1).tolist() == [-1, -1, 110, 7880, 400, 4600, 17000]


@examples(40)
@given(hours)
def test_labels_are_those_of_the_sessions(jobs):
    trace = trace_of(jobs)
    table = wk.dependencies(trace).set_index("batch")
    for batch, of_batch in wk.delimit_sessions(trace).groupby("batch"):
        assert table.loc[batch, "session"] == of_batch["session"].iloc[0]
        assert table.loc[batch, "jobs"] == len(of_batch)
        assert table.loc[batch, "end"] == trace.end[of_batch.index].max()
        user = trace.column("user")[of_batch.index[0]]
        assert table.loc[batch, "user"] == user
        before = table.index[(table["user"] == user) & (table.index < batch)]
        assert table.loc[batch, "follows"] == max(before, default=-1)


def test_the_fields_carry_the_job_that_ended_last():
    made = wk.with_dependencies(WORK)
    assert made.column("preceding_job").tolist() == [-1, -1, -1, 3, -1, 5, 6, 1]
    assert np.nan_to_num(made.column("think_time"), nan=-1).tolist() == [
        *(-1, -1, -1, 10, -1, 100, 4590, 10000)
    ]
    assert made.jobs.drop(columns=["preceding_job", "think_time"]).equals(
        WORK.jobs.drop(columns=["preceding_job", "think_time"])
    )
    assert "dependencies: workloadkit" in made.header.get_all("Note")[-1]


@pytest.mark.parametrize(
    ("jobs", "number"),
    [
        ([(1, 0, 50), (1, 10, 40), (1, 100, 1)], 2),  # of those that end together the last one
        ([(1, 0, 50), (1, 0, 50), (1, 100, 1)], 7),  # of one second the largest number
        ([(1, 0, 5000), (1, 4000, 1000), (1, 9000, 1)], 2),  # of several sessions, too
        ([(1, 0, 20000), (1, 5000, 1), (1, 12000, 1), (1, 30000, 1)], 7),
    ],
)
def test_ties_of_preceding_jobs(jobs, number):
    trace = log(*jobs, job=[7, 2, 5, 6][: len(jobs)])
    assert wk.with_dependencies(trace).column("preceding_job")[-1] == number


def test_fields_that_were_there_are_written_anew():
    trace = log((1, 0, 10), (1, 20, 10), preceding_job=[-1, -1], think_time=[3, -1])
    made = wk.with_dependencies(trace)
    assert made.column("preceding_job").tolist() == [-1, 1]
    assert np.isnan(made.column("think_time")[0])


def test_what_the_fields_cannot_carry_is_counted():
    assert carry_dependencies(WORK)[1] == {
        "batches": 7,
        "dependencies": 6,
        "written": 4,
        "of_several": 1,
        "only_following": 1,
        "within_batches": 1,
        "ambiguous": 0,
    }
    repeated = log((1, 0, 10), (1, 20, 10), (1, 40, 10), (1, 60, 10), job=[3, 3, 0, 9])
    assert carry_dependencies(repeated)[1]["ambiguous"] == 3


def test_a_log_without_a_job_that_ran_depends_on_nothing():
    trace = log((1, 0, -1))
    assert wk.dependencies(trace).empty
    assert wk.with_dependencies(trace).column("preceding_job").tolist() == [-1]
    assert set(carry_dependencies(trace)[1].values()) == {0}
