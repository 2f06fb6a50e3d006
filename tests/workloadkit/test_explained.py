"""Explained schedules: the steps are those of the simulation, and each reason is true."""

import re
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from tests.workloadkit.test_engines_agree import MACHINE, as_trace, logs, whole
from workloadkit.analysis.schedules import steps_page
from workloadkit.errors import ParameterError, WorkloadError
from workloadkit.simulation.engine import Scheduler
from workloadkit.simulation.plain.decisions import SENTENCES

REASONED = (
    *("fcfs", "easy", "sjf", "largest", "easy:spare=none", "easy:backfill=sjf", "saf", "wfp3"),
    *("reservations:2", "conservative", "conservative:compression=none"),
)
OTHERS = ("lookahead", "multi-queue", "selective")


def numbered(jobs):
    return as_trace([(i, *job[1:]) for i, job in enumerate(jobs, 1)])


class Facts:
    """What the steps must agree with, from the schedule alone."""

    def __init__(self, explained):
        w = explained.schedule.workload
        columns = (w.job, w.submit, w.procs, w.estimate, explained.schedule.start, w.run)
        rows = list(zip(*(column.tolist() for column in columns), strict=True))
        self.jobs = {row[0]: row[1:] for row in rows}
        self.running, self.waiting = {}, []

    def procs(self, job):
        return self.jobs[job][1]

    def estimate(self, job):
        return self.jobs[job][2]

    def free(self):
        return MACHINE - sum(map(self.procs, self.running))

    def in_use(self, time, reserved):
        """Processors in use just from a time on, by the estimates and reservations."""
        planned = [(job, end > time) for job, end in self.running.items()]
        planned += [
            (job, begin <= time < begin + self.estimate(job)) for job, begin in reserved.items()
        ]
        return sum(self.procs(job) for job, runs in planned if runs)

    def has_slot(self, job, begin, reserved):
        """Whether a job has room from a time on for its whole estimate."""
        edges = [*self.running.values(), *reserved.values()]
        edges += [at + self.estimate(other) for other, at in reserved.items()]
        inside = [begin, *(e for e in edges if begin < e < begin + self.estimate(job))]
        most = max(self.in_use(time, reserved) for time in inside)
        return most + self.procs(job) <= MACHINE

    def shadow(self, head, now):
        """The first planned end from which on the head fits, and the processors it leaves."""
        for end in sorted(self.running.values()):
            over = [job for job, planned in self.running.items() if planned <= end]
            room = self.free() + sum(map(self.procs, over))
            if room >= self.procs(head):
                return max(end, now), room - self.procs(head)
        return inf, 0


def check_reason(facts, step, each, reserved):
    """Assert what the reason of a decision says, before it is carried out."""
    job, values, now = each.job, each.values, step.time
    assert values["procs"] == facts.procs(job)
    assert values["free"] == facts.free()
    fits = facts.procs(job) <= facts.free()
    assert fits or not each.starts
    head = values.get("head")
    if "end" in values:
        assert values["end"] == now + facts.estimate(job)
    if each.rule in ("blocks", "reserved", "does not fit"):
        assert not fits
    if each.rule in ("behind", "in time", "spare", "too long", "too long, no spare"):
        assert head in step.queue
        assert facts.procs(head) > facts.free()
    if each.rule in ("in time", "spare", "too long", "too long, no spare"):
        assert fits
        assert (values["begin"], values["spare"]) == facts.shadow(head, now)
        assert (values["end"] <= values["begin"]) == (each.rule == "in time")
    if each.rule in ("spare", "too long"):
        assert (facts.procs(job) <= values["spare"]) == (each.rule == "spare")
    if each.rule == "reserved":
        assert (values["begin"], values["spare"]) == facts.shadow(job, now)
    if each.rule in ("around", "in the way"):
        assert fits
        others = {other: begin for other, begin in reserved.items() if other in step.queue}
        assert facts.has_slot(job, now, others) == (each.rule == "around")
    if each.rule in ("slot now", "slot later"):
        begin = now if each.starts else values["begin"]
        assert facts.has_slot(job, begin, {j: t for j, t in reserved.items() if j != job})


def check_steps(explained, order=None):
    """Follow the steps, and assert that they are possible, complete and explained truly."""
    facts = Facts(explained)
    for step in explained.steps:
        for job in step.ended:
            del facts.running[job]
            assert facts.jobs[job][3] + facts.jobs[job][4] == step.time
        for job in step.submitted:
            assert facts.jobs[job][0] == step.time
            facts.waiting.append(job)
        for each in step.decisions:
            assert each.job in facts.waiting
            if order is not None and each.rule in ("in order", "blocks", "reserved"):
                ranked = sorted(facts.waiting, key=lambda j: (order(*facts.jobs[j]), j))
                assert each.job == ranked[0]
            check_reason(facts, step, each, step.reserved)
            shown = {int(n.replace(",", "")) for n in re.findall(r"\d[\d,]*", each.sentence)}
            assert {v for n, v in values_in(each)} <= shown
            if each.starts:
                assert facts.jobs[each.job][3] == step.time
                facts.waiting.remove(each.job)
                facts.running[each.job] = step.time + facts.estimate(each.job)
        assert sorted(step.queue) == sorted(facts.waiting)
        assert step.planned_ends == facts.running
        assert step.free == facts.free()
        assert set(step.reserved) <= set(step.queue) | {d.job for d in step.decisions}
    started = [d.job for step in explained.steps for d in step.decisions if d.starts]
    assert sorted(started) == sorted(facts.jobs)


def values_in(decision):
    """The values that the sentence of a rule has."""
    names = re.findall(r"\{(\w+)\}", SENTENCES[decision.rule])
    return [(name, decision.values[name]) for name in names]


@given(logs(whole, max_size=14), st.sampled_from(REASONED))
def test_each_reason_is_true_and_the_starts_are_those_of_the_simulation(jobs, policy):
    trace = numbered(jobs)
    explained = wk.explain_schedule(trace, policy, procs=MACHINE)
    same = wk.simulate(trace, policy, procs=MACHINE, engine="python")
    assert explained.schedule.start.tolist() == same.start.tolist()
    assert explained.gives_reasons
    by = {"sjf": lambda submit, procs, estimate, *_: estimate}
    by |= dict.fromkeys(("fcfs", "easy"), lambda submit, *_: submit)
    check_steps(explained, by.get(policy))


@given(logs(whole, max_size=14), st.sampled_from(OTHERS))
def test_policies_without_reasons_have_the_same_steps(jobs, policy):
    explained = wk.explain_schedule(numbered(jobs), policy, procs=MACHINE)
    starts = {d.job: s.time for s in explained.steps for d in s.decisions if d.starts}
    w = explained.schedule.workload
    assert starts == dict(zip(w.job.tolist(), explained.schedule.start.tolist(), strict=True))


# Two of four processors are free at second 1. Job 2 needs all, from second 100 on. Of those behind
# it, job 3 ends by then, job 4 does not, and job 5 fits no more.
TEXTBOOK = {"submit": [0, 1, 2, 3, 4], "run": [100, 50, 98, 200, 10], "procs": [2, 4, 1, 1, 2]}


def test_sentences_of_a_textbook_case():
    trace = wk.Trace.from_columns(TEXTBOOK)
    explained = wk.explain_schedule(trace, "easy", procs=4)
    head = (
        "  job 2 waits: it is the first in the queue and needs 4 processors (free: 2); its start "
        "is reserved for 100 s (spare then: 0)"
    )
    assert explained.text.splitlines()[:8] == [
        "0 s  job 1 submitted",
        "  job 1 starts: it is the first in the queue and needs 2 processors (free: 4)",
        "1 s  job 2 submitted",
        head,
        "2 s  job 3 submitted",
        head,
        "  job 3 starts: it needs 1 processor (free: 2), and it ends by 100 s, not after the "
        "start reserved for job 2, 100 s",
        "3 s  job 4 submitted",
    ]
    assert "  job 4 waits: it needs 1 processor (free: 1), but it may run until 203 s" in (
        explained.text
    )
    page = steps_page(explained)
    assert page.count('<li id="step-') == len(explained.steps)
    assert not re.search(r'(?:src|href)="?https?:', page)


def test_the_wait_of_one_job():
    log = wk.load_sample()
    trace = log.select(log.column("job") <= 340)
    explained = wk.explain_schedule(trace, "easy", procs=64, job=316)
    assert explained.n_left_out == 33
    assert all(316 in step.queue for step in explained.steps[:-1])
    assert explained.steps[-1].decisions[0].job == 316
    assert explained.steps[-1].decisions[0].starts
    assert "job 316" in steps_page(explained)


class Own(Scheduler):
    """Starts the last job that fits, and gives a reason in words of its own."""

    def allocate(self):
        for job in reversed(self.queue):
            if self.fits(job):
                self.because("starts: it is young", job)
                self.start(job)


def test_a_custom_scheduler_gives_reasons_in_its_own_words():
    explained = wk.explain_schedule(wk.Trace.from_columns(TEXTBOOK), Own(), procs=4)
    assert explained.gives_reasons
    assert "job 3 starts: it is young\n" in explained.text


class Naming(Scheduler):
    """Gives a reason with a job, a time, a text and a number, or the given one."""

    def __init__(self, reason="starts before {head} ({kind}, {share}), by {end}"):
        super().__init__()
        self.reason = reason

    def allocate(self):
        for job in self.queue:
            if self.fits(job):
                values = {"kind": "old", "share": 0.5, "end": self.now + job.estimate}
                self.because(self.reason, job, head=job, **values)
                self.start(job)


def test_values_of_own_reasons_are_numbers_texts_times_and_a_job():
    explained = wk.explain_schedule(wk.Trace.from_columns(TEXTBOOK), Naming(), procs=4)
    assert re.search(r"job 1 starts before 1 \(old, 0.5\), by \d+ s\n", explained.text)


@pytest.mark.parametrize("reason", ["starts: {other}", "starts {", "slot later"])
def test_a_reason_with_a_field_without_a_value_is_refused(reason):
    with pytest.raises(WorkloadError, match="of job 1 has fields without a value; it has procs"):
        wk.explain_schedule(wk.Trace.from_columns(TEXTBOOK), Naming(reason), procs=4)


def test_starts_of_one_pass_without_reasons_take_free_processors_one_by_one():
    log = wk.Trace.from_columns({"submit": [0, 0], "run": [5, 5], "procs": [3, 1]})
    (step, *_) = wk.explain_schedule(log, "lookahead", procs=4).steps
    assert [each.values["free"] for each in step.decisions] == [4, 1]


def test_refusals():
    log = wk.load_sample()
    with pytest.raises(ParameterError, match="up to 60"):
        wk.explain_schedule(log)
    with pytest.raises(ParameterError, match="no such job"):
        wk.explain_schedule(log, job=10**6)
    twice = wk.Trace.from_columns(TEXTBOOK | {"job": [1, 2, 2, 3, 4]})
    with pytest.raises(WorkloadError, match="job 2 occurs 2 times"):
        wk.explain_schedule(twice, procs=4)
    with pytest.raises(ParameterError, match="outages"):
        wk.explain_schedule(twice, procs=4, outages=wk.Outages(()))
