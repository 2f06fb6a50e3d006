"""Two results of equal provenance are equal: logs, schedulers and functions are their content."""

import copy
import pickle
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.data import needs_compiler
from tests.workloadkit.parts import Fcfs
from workloadkit.custom import Source, is_custom, source_digest
from workloadkit.errors import ParameterError
from workloadkit.provenance import provenance

JOBS = {
    "submit": [0, 0, 5, 7, 9, 30],
    "run": [10, 40, 3, 20, 8, 5],
    "wait": [0, 10, 0, 30, 5, 0],
    "procs": [2, 3, 1, 4, 2, 1],
    "requested_time": [20, 40, 30, 20, 90, 5],
    "user": [1, 2, 1, 3, 2, 1],
    "queue": [1] * 6,
}


def log(**changed):
    return wk.Trace.from_columns({**JOBS, **changed})


@pytest.fixture
def read(tmp_path):
    wk.write_swf(log(), tmp_path / "a.swf")
    return wk.read_swf(tmp_path / "a.swf")


# Logs


def test_a_log_as_it_was_read_has_the_digest_of_its_text(read):
    assert provenance(read) == {
        "workloadkit": wk.__version__,
        "log": "a.swf",
        "sha256": read.digest,
        "parameters": {},
    }
    assert replace(read, name="b.swf").digest == read.digest


CHANGES = {
    "fewer jobs": (lambda trace: trace.take(range(4)), ["4 of 6 jobs"]),
    "another order": (lambda trace: trace.take([1, 0, 2, 3, 4, 5]), ["6 of 6 jobs"]),
    "chosen": (lambda trace: trace.select(trace.column("procs") < 3), ["4 of 6 jobs"]),
    "estimates": (
        lambda trace: trace.with_columns(requested_time=2 * trace.column("requested_time")),
        ["other values of requested_time"],
    ),
    "both": (
        lambda trace: trace.take(range(4)).with_columns(partition=[1] * 4, group=[2] * 4),
        ["4 of 6 jobs", "other values of group and partition"],
    ),
    "header": (lambda trace: replace(trace, header=trace.header.with_procs(9)), None),
    "jobs": (lambda trace: replace(trace, jobs=trace.jobs.assign(group=3)), None),
    "utility": (lambda trace: wk.add_utility(trace, priority={1: 1}, rng=1), None),
}


def test_a_changed_log_has_the_digest_of_its_content_and_of_its_origin(read):
    for change, (function, changes) in CHANGES.items():
        changed = function(read)
        found = provenance(changed)
        assert found["sha256"] is None, change
        assert found["made_from_sha256"] == read.digest, change
        assert found.get("changes") == changes, change
        assert len(found["content_sha256"]) == 64, change
        note = wk.simulate(changed, procs=4).trace().header.get_all("Note")[-1]
        assert f"content sha256 {found['content_sha256']}; of sha256 {read.digest}" in note, change


def test_the_note_is_that_of_the_last_operation(read):
    simulated = wk.simulate(read, procs=4).trace()
    again = wk.simulate(simulated, "fcfs", procs=4).trace()
    first, last = again.header.get_all("Note")
    assert first != last
    assert provenance(simulated)["note"] == first
    assert provenance(again)["note"] == last


def test_a_note_that_mentions_workloadkit_is_no_operation():
    header = wk.Header(("; Note: read with workloadkit 0.1.0",))
    assert "note" not in provenance(wk.Trace.from_columns({"submit": [0]}, header=header))


def test_parameters_are_written_as_json_knows_them():
    given = {1: (np.int64(2), np.bool_(True)), "x": np.array([0.5, np.nan]), "y": [-np.inf, None]}
    assert provenance(log(), given=given)["parameters"] == {
        "given": {"1": [2, True], "x": [0.5, None], "y": [None, None]}
    }


def test_digests_of_changed_logs_differ(read):
    logs = [read, log(), log(procs=[1] * 6), *(change(read) for change, _ in CHANGES.values())]
    assert len({trace.identity for trace in logs}) == len(logs)
    assert len({trace.content_digest for trace in logs}) == len(logs) - 1  # one was only written


def test_a_copy_has_the_provenance_of_its_original(read):
    for same in (pickle.loads(pickle.dumps(read)), copy.copy(read), copy.deepcopy(read)):
        assert provenance(same) == provenance(read)
        assert replace(same, name="other").digest == read.digest
        assert not same.take([0]).digest


def test_a_log_that_was_written_is_read_with_a_digest_of_its_own(read, tmp_path):
    part = read.take(range(3))
    wk.write_swf(part, tmp_path / "part.swf")
    again = wk.read_swf(tmp_path / "part.swf")
    assert again.digest
    assert not again.changes
    assert again.content_digest == part.content_digest


@pytest.mark.filterwarnings("ignore::workloadkit.errors.WorkloadWarning")
def test_resampled_users_are_of_one_log():
    trace = log(submit=[0, 0, 5, 7, 9, 10**7])
    ready = wk.populations.Resampled(weeks=1).prepare(trace)
    other = trace.with_columns(run=[1] * 6)
    with pytest.raises(ParameterError, match="are not those of"):
        wk.simulate(other, "fcfs", "open", population=ready, procs=4, rng=1)


# Custom parts

FACTOR = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
ADDED = 0


def helper(x):
    return x + ADDED


def weighted(now, submit, estimate, procs, user):
    return FACTOR[procs] * estimate


def helped(now, submit, estimate, procs, user):
    return helper(estimate)


def capturing(weight):
    return lambda now, submit, estimate, procs, user: weight * submit


class Narrow(Fcfs):
    def __init__(self, limit=2):
        super().__init__()
        self.limit = limit


class Narrower(Narrow):
    pass


@dataclass(frozen=True)
class Setting:
    order: object


THINGS = {
    "array": np.arange(3),
    "other array": np.arange(4),
    "lambda": lambda x: x + 1,
    "two lambdas in a line": (lambda x: x + 1, lambda x: x - 1),
    "the other one": (lambda x: x - 1, lambda x: x + 1),
    "captured 1": capturing(1),
    "captured 2": capturing(2),
    "captured array": capturing(np.arange(3)),
    "scheduler": Narrow(),
    "its parameter": Narrow(3),
    "its subclass": Narrower(),
    "partial": partial(helper, 3),
    "other partial": partial(helper, 4),
    "method": Narrow().allocate,
    "setting": Setting(helper),
    "other setting": Setting(weighted),
    "set": {1, 2},
    "other set": {1, 3},
    "built in": min,
    "module": np,
    "ours": wk.schedulers.Easy(),
    "ours with a parameter": wk.schedulers.Easy("sjf"),
}


def test_digests_differ_where_things_do():
    digests = {name: source_digest(thing) for name, thing in THINGS.items()}
    for one, other in combinations(digests, 2):
        assert digests[one] != digests[other], (one, other)
    assert digests == {name: source_digest(thing) for name, thing in THINGS.items()}


def by_default(value):
    return lambda x, least=value: max(x, least)


def by_keyword(value):
    return lambda x, *, least=value: max(x, least)


def by_attribute(value):
    class Own(Fcfs):
        weight = value

    return Own


def by_property(value):
    class Own:
        @property
        def weight(self):
            return value

    return Own


def by_static_method(value):
    class Own:
        @staticmethod
        def weight():
            return value

    return Own()


def by_mapping(value):
    return {"weights": {1: value}}


def test_a_value_counts_wherever_it_is_written():
    for build in (by_default, by_keyword, by_attribute, by_property, by_static_method, by_mapping):
        assert source_digest(build(1)) == source_digest(build(1)) != source_digest(build(2)), build


class Slotted:
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


def test_what_a_function_is_called_with_counts():
    assert source_digest(partial(log, run=1)) != source_digest(partial(log, run=2))
    assert source_digest(partial(log, 1)) != source_digest(partial(log, 2))

    @dataclass(frozen=True)
    class Limit:
        most: int

        def holds(self, x):
            return x <= self.most

    assert source_digest(Limit(1).holds) == source_digest(Limit(1).holds)
    assert source_digest(Limit(1).holds) != source_digest(Limit(2).holds)


def test_the_order_in_which_a_set_was_filled_does_not_count():
    assert list({0, 8}) != list({8, 0})  # both come first in their table
    assert source_digest({0, 8}) == source_digest({8, 0}) != source_digest({0, 9})


def test_things_with_slots_and_logs_within_have_digests():
    assert source_digest(Slotted(1)) == source_digest(Slotted(1)) != source_digest(Slotted(2))
    trace = log()
    assert source_digest([trace]) == source_digest([pickle.loads(pickle.dumps(trace))])
    assert source_digest([trace]) != source_digest([trace.take([0, 1])])


def test_the_structure_of_lists_and_repeated_objects_count():
    one, other = [1], [2]
    digests = {source_digest(x) for x in ([[1], 2], [[1, 2]], [[1, 2], []], [[], 1, 2])}
    assert len(digests) == 4
    assert source_digest([one, other, one]) != source_digest([one, other, other])
    assert all(len(digest) == 16 for digest in digests)


def test_parts_of_this_package_of_python_or_of_installed_ones_are_known_by_name():
    for thing in (combinations, replace, pytest.approx, wk.read_swf, given):
        assert Source(thing).reached == [thing]


def test_a_compiled_function_is_known_by_its_source():
    add, subtract = (numba.njit(function) for function in THINGS["two lambdas in a line"])
    assert source_digest(add) == source_digest(THINGS["two lambdas in a line"][0])
    assert source_digest(add) != source_digest(subtract)


def test_lambdas_in_one_line_differ():
    more, less = THINGS["two lambdas in a line"]
    assert source_digest(more) != source_digest(less)


def nested(now, submit, estimate, procs, user):
    return (lambda x: x + ADDED)(estimate)


def test_what_a_function_within_a_function_refers_to_counts(monkeypatch):
    before = source_digest(nested)
    monkeypatch.setitem(globals(), "ADDED", 1)
    assert source_digest(nested) != before


def test_what_a_function_refers_to_counts(monkeypatch):
    before = source_digest(helped), source_digest(weighted)
    with monkeypatch.context() as patch:
        patch.setitem(globals(), "ADDED", 1)
        assert source_digest(helped) != before[0]
        assert source_digest(weighted) == before[1]
    assert (source_digest(helped), source_digest(weighted)) == before


def test_only_what_is_not_of_this_package_is_custom():
    ours = (wk.schedulers.Easy(), wk.schedulers.SelfAdaptive(), wk.users.Fluid(), 3, "easy", None)
    assert not any(map(is_custom, ours))
    theirs = (Narrow(), wk.schedulers.CustomOrder(weighted), [Narrow()], {"a": helper}, Narrow)
    assert all(map(is_custom, theirs))


def test_schedulers_of_one_name_are_recorded_by_their_source():
    named = [
        wk.simulate(log(), scheduler, procs=4, engine="python").parameters["scheduler"]
        for scheduler in (
            *(Narrow(), Narrow(3)),
            *(
                wk.schedulers.CustomOrder(lambda *job: job[2]),
                wk.schedulers.CustomOrder(capturing(1)),
            ),
        )
    ]
    assert [name.partition(" (source ")[0] for name in named] == [
        *("Narrow", "Narrow"),
        *("custom-order:order=<lambda>", "custom-order:order=<lambda>"),
    ]
    assert len({*named}) == 4


@pytest.mark.slow
@needs_compiler
def test_an_order_is_compiled_for_the_values_that_it_refers_to_now():
    order, trace = wk.schedulers.CustomOrder(weighted), log()
    before = wk.simulate(trace, order, procs=4)
    np.negative(FACTOR, out=FACTOR)
    try:
        after = [wk.simulate(trace, order, procs=4, engine=e) for e in ("compiled", "python")]
    finally:
        np.negative(FACTOR, out=FACTOR)
    assert after[0].start.tolist() == after[1].start.tolist() != before.start.tolist()
    assert after[0].provenance == after[1].provenance != before.provenance


@pytest.mark.slow
@needs_compiler
def test_a_compiled_order_whose_values_have_changed_is_refused():
    compiled, trace = numba.njit(weighted), log()
    wk.simulate(trace, wk.schedulers.CustomOrder(compiled), procs=4)
    FACTOR[0] = 7
    try:
        with pytest.raises(ParameterError, match="weighted refers to values that have changed"):
            wk.simulate(trace, wk.schedulers.CustomOrder(compiled), procs=4)
    finally:
        FACTOR[0] = 1


def test_a_sweep_records_its_schedulers():
    found = [
        wk.sweep(log(), {"A": scheduler}, procs=4, loads=[1.0]).provenance
        for scheduler in ("easy", "sjf:backfill=none", Narrow(), Narrow(3))
    ]
    named = [provenance["parameters"]["schedulers"]["A"] for provenance in found]
    assert named[:2] == ["easy", "sjf:backfill=none"]
    assert len({*named}) == 4


# Pairs of calls

SCHEDULERS = (
    *("easy", "fcfs", "sjf", "easy:backfill=sjf"),
    *(Narrow(), Narrow(3), wk.schedulers.Easy("sjf")),
    *(wk.schedulers.CustomOrder(capturing(weight)) for weight in (1, -1)),
)
CALLS = st.fixed_dictionaries(
    {
        "which": st.sampled_from([(), (0, 1, 2), (0, 1, 3)]),
        "factor": st.sampled_from([1, 2]),
        "scheduler": st.sampled_from(SCHEDULERS),
        "procs": st.sampled_from([4, 5]),
        "passes": st.sampled_from(["instant", "event"]),
        "overrun": st.sampled_from(["raise", "kill", "late"]),
    }
)


def play(which, factor, scheduler, **options):
    trace = log().with_columns(requested_time=factor * np.array(JOBS["requested_time"]))
    if which:
        trace = trace.take(which)
    schedule = wk.simulate(trace, scheduler, engine="python", rng=1, **options)
    return schedule.provenance, schedule.jobs.to_numpy().tolist()


@given(CALLS, CALLS)
def test_results_of_equal_provenance_are_equal(one, other):
    (first, jobs), (second, others) = play(**one), play(**other)
    assert play(**one) == (first, jobs)
    assert jobs == others or first != second
