"""Which job each one waits for, by field 17."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloadkit.preceding import find_preceding


def places(job, preceding, submit=None):
    submit = range(len(job)) if submit is None else submit
    return find_preceding(job, submit, preceding).place.tolist()


def test_the_job_of_that_number():
    assert places([3, 1, 2], [-1, 3, 1]) == [-1, 0, 1]


def test_numbers_below_1_name_nobody():
    assert places([0, 1, 2], [-1, 0, -5]) == [-1, -1, -1]


def test_of_a_number_that_repeats_the_last_one_before():
    assert places([7, 7, 5, 7], [-1, -1, 7, -1]) == [-1, -1, 1, -1]


def test_if_there_is_none_before_the_first_one_after():
    assert places([5, 7, 7], [7, -1, -1]) == [1, -1, -1]


@pytest.mark.parametrize(
    ("job", "submit", "waits_for"),
    [
        ([7, 9, 7], [0, 1, 1], 2),  # who asks has a larger number: the 7 of that second is before
        ([7, 7, 9], [0, 1, 1], 1),
        ([7, 7, 5], [0, 1, 1], 0),  # a smaller one: it comes after
        ([7, 5, 7], [0, 1, 1], 0),
        ([5, 7, 7], [1, 1, 0], 2),  # submissions out of order
        ([9, 7, 7], [1, 0, 1], 2),
        ([9, 7, 7], [0, 0, 1], 1),
        ([5, 7, 7], [0, 1, 0], 2),  # none is before: the first one after
    ],
)
def test_jobs_of_one_second_are_in_the_order_of_their_numbers(job, submit, waits_for):
    preceding = [-1 if number == 7 else 7 for number in job]
    found = places(job, preceding, submit)
    assert [place for place in found if place >= 0] == [waits_for]


def test_who_names_a_job_that_is_not_there_waits_for_none():
    found = find_preceding([1, 2, 3], [0, 1, 2], [5, 1, 6])
    assert (found.place.tolist(), found.absent, found.circular) == ([-1, 0, -1], 2, 0)


def test_circles_are_opened_and_who_waits_for_one_in_a_circle_still_waits():
    found = find_preceding([1, 2, 3, 4, 5, 6], range(6), [2, 3, 1, 1, 5, 4])
    assert (found.place.tolist(), found.absent, found.circular) == ([-1, -1, -1, 0, -1, 3], 0, 4)


def test_a_job_with_the_own_number_waits_for_none_even_if_there_is_another():
    found = find_preceding([4, 4], [0, 1], [-1, 4])
    assert (found.place.tolist(), found.circular) == ([-1, -1], 1)


def test_no_jobs():
    found = find_preceding([], [], [])
    assert (found.place.tolist(), found.absent, found.circular) == ([], 0, 0)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(-1, 9), st.integers(-1, 9)), min_size=1))
def test_agrees_with_a_search(jobs):
    jobs.sort()
    submit, job, preceding = zip(*jobs, strict=True)
    found = find_preceding(job, submit, preceding)

    waits, absent = {}, 0
    for i in range(len(jobs)):
        if preceding[i] > 0 and preceding[i] != job[i]:
            same = [j for j in range(len(jobs)) if job[j] == preceding[i]]
            absent += not same
            if same:
                waits[i] = max((j for j in same if j < i), default=same[0])
    own = {i for i in range(len(jobs)) if preceding[i] == job[i] > 0}
    circle = {i for i in waits if i in chain(waits, waits[i])}
    expected = [-1 if i in circle else waits.get(i, -1) for i in range(len(jobs))]
    assert found.place.tolist() == expected
    assert (found.absent, found.circular) == (absent, len(own | circle))


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(1, 5), st.integers(-1, 5)),
        min_size=1,
        unique_by=lambda job: job[:2],
    ),
    st.randoms(use_true_random=False),
)
def test_the_order_of_the_file_makes_no_difference(jobs, random):
    def found(jobs):
        submit, job, preceding = zip(*jobs, strict=True)
        place = find_preceding(job, submit, preceding).place
        return {jobs[i]: jobs[at] if at >= 0 else None for i, at in enumerate(place.tolist())}

    assert found(random.sample(jobs, len(jobs))) == found(sorted(jobs))


def chain(waits, i):
    """All that one waits for, one after the other, until they repeat."""
    met = []
    while i is not None and i not in met:
        met.append(i)
        i = waits.get(i)
    return met
