"""Outages of a percentage of the machine, and of parts of its network."""

import io
from fractions import Fraction
from math import floor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.small_logs import random_log
from workloadkit import Outage, Outages, WorkloadError
from workloadkit.machine.description import MachineDescription, NodeType, Switch
from workloadkit.simulation.machine.shutdowns import settle

#: Nodes n1 to n4 of 2 processors and m1, m2 of 4; a tree of switches, and a loop.
MACHINE = MachineDescription(
    nodes=(NodeType(count=4, cores=2, names="n[1-4]"), NodeType(count=2, cores=4, names="m[1-2]")),
    switches=(
        Switch(name="leaf1", nodes="n[1-2]"),
        Switch(name="leaf2", nodes="n[3-4],m1"),
        Switch(name="top", switches=("leaf1", "leaf2")),
        Switch(name="a", switches=("b",), nodes="m2"),
        Switch(name="b", switches=("a",), nodes="n4"),
    ),
)

#: The processors of each node, from 1.
PROCESSORS = {"n1": [1, 2], "n2": [3, 4], "n3": [5, 6], "n4": [7, 8], "m1": [9, 10, 11, 12]}
PROCESSORS["m2"] = [13, 14, 15, 16]

PARTS = {
    ("leaf1",): ["n1", "n2"],
    ("leaf2",): ["n3", "n4", "m1"],
    ("top",): ["n1", "n2", "n3", "n4", "m1"],
    ("a",): ["n4", "m2"],
    ("m[1-2]", "n1"): ["n1", "m1", "m2"],
    ("leaf1", "n2"): ["n1", "n2"],
}


def read(labels, *lines):
    text = "\n".join(["; OutageFormat: 1", *labels, *(lines or ("3 -1 10 90 4 -1 -1",)), ""])
    return wk.read_outages(io.BytesIO(text.encode()))


def processors(outages, size=16, machine=MACHINE):
    """Those of the only outage, from 1."""
    (shutdown,) = settle(outages, size, machine)
    return (shutdown.processors + 1).tolist()


def test_files_with_percentages_and_parts_come_back_as_written():
    labels = ["; OutagePercentage: 3 12.5", "; OutagePart: 4 leaf2 n[1-2]"]
    found = read(labels, "3 -1 10 90 4 -1 -1", "4 5 10 90 2 -1 -1")
    assert {n: str(share) for n, share in found.percentages.items()} == {3: "12.5"}
    assert found.parts == {4: ("leaf2", "n[1-2]")}
    plain = Outages((Outage(3, 10, 90, type=4), Outage(4, 10, 90, announced=5, type=2)))
    made = plain.of_percentage(3, 12.5).of_part(4, ["leaf2", "n[1-2]"])
    assert made.text() == found.text() == read(labels, *found.text().splitlines()[3:]).text()


@given(st.decimals("0.001", 100, places=3), st.integers(1, 5000))
def test_a_percentage_is_the_nearest_number_of_processors(percentage, size):
    exact = Fraction(percentage) * size / 100
    expected = max(floor(exact + Fraction(1, 2)), 1)  # halves up, at least one
    outages = Outages((Outage(1, 10, 90),)).of_percentage(1, percentage)
    assert len(processors(outages, size, None)) == expected


@pytest.mark.parametrize(
    ("percentage", "size", "procs"),
    [(12.5, 4, 1), (0.7, 500, 4), (2.5, 100, 3), (100, 7, 7), (0.001, 3, 1), (33.3, 100, 33)],
)
def test_halves_are_rounded_up_and_none_vanishes(percentage, size, procs):
    outages = read([f"; OutagePercentage: 3 {percentage}"])
    assert len(processors(outages, size, None)) == procs


def test_a_whole_percentage_stays_itself():
    outages = Outages((Outage(1, 10, 90),))
    assert [str(outages.of_percentage(1, n).percentages[1]) for n in (100, 20, 0.5)] == [
        *("100", "20", "0.5")
    ]


@pytest.mark.parametrize("names", PARTS)
def test_a_part_of_the_network_is_the_processors_of_its_nodes(names):
    expected = [each for node in PARTS[names] for each in PROCESSORS[node]]
    assert processors(read([f"; OutagePart: 3 {' '.join(names)}"])) == sorted(expected)


@pytest.mark.parametrize("scheduler", ["easy", "fcfs"])
def test_a_simulation_is_that_with_the_processors_for_which_they_stand(scheduler):
    trace = random_log(3)
    times = [(1, 4000, 9000), (2, 15_000, 18_000), (3, 22_000, 24_000)]
    plain = Outages(tuple(Outage(*each) for each in times))
    labelled = plain.of_percentage(1, 30).of_part(2, ["leaf2"]).of_part(3, ["top"])
    named = [[], *([each for n in PARTS[p] for each in PROCESSORS[n]] for p in PARTS if p[0] in
                   ("leaf2", "top"))]  # fmt: skip
    counted = (
        Outage(*times[0], procs=5),  # 30 % of 16 is 4.8
        Outage(*times[1], components=tuple(sorted(named[1]))),
        Outage(*times[2], components=tuple(sorted(named[2]))),
    )
    found, expected = (
        wk.simulate(trace, scheduler, machine=MACHINE, engine="python", outages=outages)
        for outages in (labelled, Outages(counted))
    )
    names = ["start", "end", "interruptions", "lost_work"]
    assert found.jobs[names].equals(expected.jobs[names])
    assert found.metrics["interrupted"] > 0
    assert wk.check_schedule(trace, found, outages=labelled, machine=MACHINE).ok


def test_a_percentage_follows_the_size_of_the_machine():
    trace = random_log(4)
    outages = Outages((Outage(1, 0, 10**6),)).of_percentage(1, 50)
    for procs in (16, 32):
        schedule = wk.simulate(trace, "fcfs", procs=procs, engine="python", outages=outages)
        used = {each for run in schedule.runs for each in run.processors if run.start < 10**6}
        assert used <= set(range(procs // 2 + 1, procs + 1))


WRONG = [
    ("OutagePercentage: 3 0", "OutagePercentage: give the number of an outage and a percentage"),
    ("OutagePercentage: 3 100.1", "more than 0 and at most 100: '3 100.1'"),
    ("OutagePercentage: 3 nan", "more than 0 and at most 100: '3 nan'"),
    ("OutagePercentage: 3 5 6", "more than 0 and at most 100"),
    ("OutagePercentage: 3", "more than 0 and at most 100"),
    ("OutagePart: 3", "OutagePart: give the number of an outage and names of switches or nodes"),
    ("OutagePart:", "OutagePart: give the number of an outage and names"),
    ("OutagePart: 9 leaf1", "there is no outage 9: '9 leaf1'"),
    ("OutagePart: 4 leaf1", "outage 4 takes 7 processors, not parts"),
    ("OutagePercentage: 5 50", "outage 5 takes 0 processors, not a percentage"),
    ("OutagePart: 3 a\n; OutagePart: 3 b", "outage 3 is repeated: '3 b'"),
    ("OutagePart: 3 a\n; OutagePercentage: 3 5", "outage 3 has OutagePercentage: '3 a'"),
    ("OutagePart: 3 a\n; OutageUsers: 3 5", "outage 3 has OutageUsers: '3 a'"),
]


@pytest.mark.parametrize(("label", "message"), WRONG)
def test_wrong_labels_are_refused(label, message):
    lines = ("3 -1 10 90 4 -1 -1", "4 -1 10 90 4 7 -1", "5 -1 10 90 4 0 -1")
    with pytest.raises(WorkloadError) as error:
        read([f"; {label}"], *lines)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("names", "machine", "message"),
    [
        ("leaf1", None, "outage 3 takes 'leaf1', parts of a machine that has a description"),
        ("leaf9", MACHINE, "outage 3: the machine has no switch or node 'leaf9'; did you mean"),
        ("n[1-9]", MACHINE, "the machine has no switch or node 'n5'"),
        ("n[", MACHINE, "outage 3: not a list of nodes such as"),
        ("n1", MachineDescription(nodes=(NodeType(count=8, cores=2),)), "no switch or node 'n1'"),
    ],
)
def test_parts_that_the_machine_lacks_are_refused(names, machine, message):
    outages = read([f"; OutagePart: 3 {names}"])
    with pytest.raises(WorkloadError) as error:
        settle(outages, 16, machine)
    assert message in str(error.value)
    assert len(str(error.value)) <= 400


def test_unknown_numbers_of_processors_are_not_drawn():
    outages = Outages((Outage(1, 10, 90), Outage(2, 10, 90, 4))).of_percentage(1, 50)
    assert [bar.get_height() for bar in outages.plot().patches] == [4]
    assert np.isfinite(outages.table["procs"]).all()
