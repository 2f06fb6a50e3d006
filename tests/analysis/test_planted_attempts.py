"""Planted attempts, resized jobs, shared ids and jobs that never started, against what was planted.

Rows stand in any order, and columns too; what is planted is added up while it is planted.
"""

import io
from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.examples import examples
from workloadkit.analysis.operations.accounting import accounted_executions, accounted_jobs

HOUR = 3600
CAUSES = {"NODE_FAIL": "node failure", "PREEMPTED": "preempted", "REQUEUED": "requeued"}
ENDS = ("COMPLETED", "FAILED", "TIMEOUT", "CANCELLED by 7", "OUT_OF_MEMORY")


class Planted:
    """Rows of Slurm, and what they are."""

    def __init__(self, seed):
        self.rng = Random(seed)
        self.rows, self.waits = [], []
        self.lost, self.hours, self.jobs = Counter(), 0.0, 0
        for number in range(self.rng.randint(1, 12)):
            self.id, self.now = f"{100 + number}", 1_700_000_000 + self.rng.randint(0, 10**6)
            self.rng.choice((self.requeued, self.requeued, self.resized, self.shared, self.never))()

    def some(self):
        return self.rng.randint(60, 3 * HOUR)

    def row(self, submit, start, end, state, procs, nodes="n1"):
        self.rows.append(
            {
                "JobID": self.id,
                "Submit": submit,
                "Eligible": submit,
                "Start": start,
                "End": end,
                "Elapsed": end - start,
                "State": state,
                "AllocCPUS": procs,
                "NodeList": nodes,
            }
        )
        used = (end - start) * procs / HOUR
        self.hours += used
        return used

    def requeued(self):
        """Attempts, each submitted again soon after the end of the previous one or not again."""
        self.jobs += 1
        submit, procs = self.now, self.rng.randint(1, 64)
        again = self.rng.random() < 0.7
        for _ in range(self.rng.randint(0, 3)):
            start = self.now + self.some()
            self.now = start + self.some()
            state = self.rng.choice([*CAUSES])
            self.lost[CAUSES[state]] += self.row(submit, start, self.now, state, procs)
            if again:
                submit = self.now = self.now + self.rng.randint(0, 60)
        start = self.now + self.some()
        self.waits.append(start - submit)
        self.row(submit, start, start + self.some(), self.rng.choice(ENDS), procs)

    def resized(self):
        """Parts, each of which begins as the previous one ends."""
        self.jobs += 1
        submit, again = self.now, self.rng.random() < 0.7
        start = self.now + self.some()
        self.waits.append(start - submit)
        for state in ["RESIZING"] * self.rng.randint(1, 3) + [self.rng.choice(ENDS)]:
            end = start + self.some()
            self.row(submit, start, end, state, self.rng.randint(1, 64))
            start = end
            submit = end if again else submit

    def shared(self):
        """Elements of an array under its id, two of which at least overlap."""
        procs = self.rng.randint(1, 8)
        for i in range(self.rng.randint(2, 20)):
            self.jobs += 1
            start = self.now + 60 * (i // 2)
            self.waits.append(start - self.now)
            state = self.rng.choice((*ENDS, "NODE_FAIL"))
            self.row(self.now, start, start + self.some() + 10**5 + i, state, procs)

    def never(self):
        """Cancelled in the queue, or in its first second on a node."""
        self.jobs += 1
        end, on_node = self.now + self.some(), self.rng.random() < 0.5
        nodes = "n1" if on_node else "None assigned"
        self.row(self.now, end, end, "CANCELLED by 7", self.rng.randint(1, 64), nodes)
        if on_node:
            self.waits.append(end - self.now)

    def text(self):
        names = [*self.rows[0]]
        self.rng.shuffle(names)
        self.rng.shuffle(self.rows)
        lines = [names, *([row[name] for name in names] for row in self.rows)]
        return "".join("|".join(map(str, line)) + "\n" for line in lines)


def agree(seed, attempts):
    planted = Planted(seed)
    trace = wk.read_slurm(io.BytesIO(planted.text().encode()), attempts=attempts)
    jobs, executions = accounted_jobs(trace), accounted_executions(trace)
    assert trace.n_jobs == planted.jobs
    assert jobs["core_hours"].sum() == pytest.approx(planted.hours)
    assert sorted(jobs["wait"].dropna()) == pytest.approx(sorted(planted.waits))
    again = executions[executions["requeued"].to_numpy(dtype=bool)]
    lost = again.groupby(again["outcome"].astype(str))["core_hours"].sum().to_dict()
    assert lost == pytest.approx({cause: hours for cause, hours in planted.lost.items() if hours})
    assert trace.intake.rows == trace.n_jobs + sum(r.count for r in trace.intake.left_out)


@examples(20)
@given(st.integers(0, 10**9), st.booleans())
def test_what_is_planted_is_found(seed, attempts):
    agree(seed, attempts)


@pytest.mark.slow
@examples(250)
@given(st.integers(0, 10**9), st.booleans())
def test_what_is_planted_in_many_exports_is_found(seed, attempts):
    agree(seed, attempts)
