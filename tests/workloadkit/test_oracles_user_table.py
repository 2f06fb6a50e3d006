"""What each user of a log does, against the definitions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.examples import examples
from tests.oracles import users as oracle
from tests.oracles.sessions import delimit
from tests.small_logs import jobs_of, logs, trace_of

some_runs = st.integers(-1, 4).map(lambda n: n if n < 0 else 150 * n)


def agrees(jobs, trace):
    table = wk.user_table(trace)
    works = oracle.work(jobs)
    assert sorted(works) == table.index.tolist()
    labels = delimit(jobs, "arrival", 3600)
    amounts = {user: sum(of) for user, of in works.items()}
    numbers = {user: len(of) for user, of in works.items()}
    heavy = oracle.who_make_half(amounts)
    frequent = oracle.who_make_half(numbers)
    for user, row in table.iterrows():
        rows = [i for i in labels if jobs[i]["user"] == user]
        sizes = [jobs[i]["procs"] for i in rows]
        assert row["jobs"] == numbers[user]
        assert row["work"] == pytest.approx(amounts[user])
        assert row["procs"] == pytest.approx(sum(sizes) / len(sizes))
        assert row["serial_share"] == pytest.approx(sizes.count(1) / len(sizes))
        assert row["sessions"] == len({labels[i][0] for i in rows})
        assert row["size"] == ("serial" if set(sizes) == {1} else "parallel")
        assert row["length"] == oracle.length(jobs, user)
        if heavy is not None and sum(amounts.values()):
            assert row["share"] == ("heavy" if user in heavy else "light")
        if frequent is not None:
            assert row["frequency"] == ("frequent" if user in frequent else "occasional")


@examples(50)
@given(
    logs(
        user=st.integers(-1, 6), run=some_runs, submit=st.integers(0, 30).map(lambda n: 600 * n)
    ).filter(oracle.work)
)
def test_users_are_of_the_classes_that_their_jobs_make(jobs):
    agrees(jobs, trace_of(jobs))


def test_the_users_of_the_sample_are_of_their_classes():
    sample = wk.load_sample().take(range(800))
    agrees(jobs_of(sample), sample)
