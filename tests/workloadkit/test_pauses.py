"""Think times that follow from responses, and open users who submit again among closed ones."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from workloadkit.errors import ParameterError
from workloadkit.simulation.users import Mixed, Reopen, parse
from workloadkit.simulation.users.queueing.again import HyperbolicAgain
from workloadkit.simulation.users.queueing.customers import (
    BreakPause,
    CustomPause,
    PauseTable,
    parse_pause,
)


def both(users, procs=1, rng=1, scheduler="fcfs", **how):
    """The jobs, which are the same in both engines."""
    plain, compiled = (
        wk.simulate(None, scheduler, users, procs=procs, rng=rng, engine=engine, **how).jobs
        for engine in ("python", "compiled")
    )
    assert plain.equals(compiled)
    return compiled


def pauses(jobs):
    """From the end of a job to the user's next submission, and the response of that job."""
    ordered = jobs.sort_values(["user", "visit"])
    same = ordered["user"].to_numpy()[1:] == ordered["user"].to_numpy()[:-1]
    silence = ordered["submit"].to_numpy()[1:] - ordered["end"].to_numpy()[:-1]
    return silence[same], ordered["response"].to_numpy()[:-1][same]


PAUSES = {
    "breaks": BreakPause(1.0, 20.0, 3.0),
    "no time, then one": BreakPause(0.0, 5.0, 0.0),
    "table": PauseTable([0.5, 1.0, 5.0], [1.0, 2.0, 30.0]),
}


@pytest.mark.parametrize("law", ["exponential", "fixed"])
@pytest.mark.parametrize("think", PAUSES)
def test_engines_agree(think, law):
    both(Reopen(0.5, "exp:0.6", think=PAUSES[think], think_law=law, jobs=400))
    users = Mixed(0.3, 3, PAUSES[think], law, again="hyperbolic:0.8,0.5", jobs=400)
    both(users, 4, scheduler="easy")
    both(Mixed(0.3, 3, PAUSES[think], law, jobs=400))


@pytest.mark.parametrize("think", PAUSES)
def test_fixed_pauses_follow_from_the_response(think):
    think = PAUSES[think]
    jobs = both(Reopen(0.5, 0.6, think=think, think_law="fixed", jobs=600))
    silence, response = pauses(jobs)
    assert silence.size > 100
    assert silence == pytest.approx([think(x) for x in response], abs=1e-9)


def test_closed_users_think_first_as_after_no_time():
    jobs = both(Mixed(0, 1, BreakPause(2.0, 50.0, 1.0), "fixed", law="fixed", run=3.0, jobs=3))
    assert jobs["submit"].tolist() == [2.0, 2.0 + 53.0, 2.0 + 2 * 53.0]


def test_open_users_submit_again_among_closed_ones():
    jobs = both(Mixed(0.3, 2, 4.0, again=0.6, jobs=3000))
    opened, closed = jobs[jobs["kind"] == 0], jobs[jobs["kind"] == 1]
    assert set(closed["user"]) == {1, 2}
    assert opened["user"].min() == 3
    share = (opened["visit"] == 0).mean()
    assert abs(share - 0.4) < 4 * math.sqrt(0.24 / len(opened))
    assert (closed["visit"].to_numpy() == closed.groupby("user").cumcount().to_numpy()).all()


def test_one_pause_is_a_number_of_either_form():
    one = both(Reopen(0.5, "exp:0.6", think=2.0, jobs=300))
    assert one.equals(both(Reopen(0.5, "exp:0.6", think=BreakPause(2.0, 2.0, 1.0), jobs=300)))
    assert one.equals(both(Reopen(0.5, "exp:0.6", think=PauseTable([0.0], [2.0]), jobs=300)))


def test_custom_functions_run_plain_or_as_a_table():
    def think(response):
        return 1.0 + 3.0 * response  # a table has it but for rounding

    exact = wk.simulate(None, "fcfs", Reopen(0.5, 0.5, think=think, jobs=2000), rng=1).jobs
    with pytest.raises(
        ParameterError, match="think is a function, and the compiled engine needs a table"
    ):
        wk.simulate(None, "fcfs", Reopen(0.5, 0.5, think=think), rng=1, engine="compiled")
    tabulated = Reopen(0.5, 0.5, think=think, step=0.001, jobs=2000)
    made = wk.simulate(None, "fcfs", tabulated, rng=1, engine="compiled").jobs
    assert made["submit"].to_numpy() == pytest.approx(exact["submit"].to_numpy(), rel=1e-9)
    assert CustomPause(think, 0.5).tabulated(3) == PauseTable([0, 0.5, 1, 1.5], [1, 2.5, 4, 5.5])
    # both may be functions
    own = Mixed(0.2, 3, think, again=lambda r: 0.5, step=0.001, jobs=100)
    assert not own.plain_only
    assert Mixed(0.2, 3, 1.0, again=lambda r: 0.5).plain_only


@given(st.floats(0, 100), st.lists(st.tuples(st.floats(0.01, 9), st.floats(0, 9)), min_size=1))
def test_tables_are_straight_lines(response, steps):
    gaps, means = zip(*steps, strict=True)
    times = np.cumsum(gaps)
    expected = np.interp(response, times, means)
    assert PauseTable(times, means)(response) == pytest.approx(expected, abs=1e-9)


def test_users_are_read_as_they_are_written():
    assert parse_pause("90") == 90.0
    assert parse_pause("breaks/1/2/3") == BreakPause(1.0, 2.0, 3.0)
    users = parse("mixed:rate=0.1,users=2,think=breaks:1min,2h,20min,again=hyperbolic:0.8,0.5")
    assert users == Mixed(0.1, 2, BreakPause(60.0, 7200.0, 1200.0), again=HyperbolicAgain(0.8, 0.5))


def test_wrong_parameters_are_refused():
    for make, message in (
        (lambda: BreakPause(-1, 2, 3), "short is -1; it must be 0 or more"),
        (lambda: BreakPause(1, math.nan, 3), "long is nan"),
        (lambda: BreakPause(1, 2, "3"), "limit is '3'; it is a number"),
        (
            lambda: PauseTable([0, 1], [1]),
            "think: a table needs as many times as mean think times",
        ),
        (lambda: PauseTable([1, 1], [1, 2]), "think has the time 1 s after 1 s"),
        (lambda: PauseTable([0], [-1]), "think is -1; it must be 0 or more"),
        (lambda: Reopen(1, 0.5, think="breaks:1,2"), "think is 'breaks:1,2'; it is a time"),
        (lambda: Reopen(1, 0.5, think="soon"), "think is 'soon'; it is a time"),
        (lambda: Reopen(1, 0.5, think=-1), "think is -1; it must be 0 or more"),
        (lambda: Reopen(1, 0.5, think=None), "think is None; it is a number"),
        (lambda: Reopen(1, 0.5, think="2", step=1), "step is for a custom function, not 0.5"),
        (lambda: Mixed(1, 2, 1.0, step=1), "step is for a custom function, not 1.0"),
        (lambda: Mixed(1, 2, 1.0, again=2), "again is 2; a probability is from 0 to 1"),
        (lambda: Mixed(1, 2, 1.0, "none"), "think_law is 'none'; known: exponential, fixed"),
    ):
        with pytest.raises(ParameterError, match=message):
            make()


def test_a_custom_function_that_returns_no_time_is_refused():
    with pytest.raises(ParameterError, match=r"think\(.*\) is -1; it must be 0 or more"):
        wk.simulate(None, "fcfs", Reopen(0.5, 0.5, think=lambda r: -1), rng=1)
