"""Assumptions of queueing models that a log violates, in sentences with numbers."""

from typing import NamedTuple

import numpy as np

from workloadkit.analysis.formats import duration, number, share
from workloadkit.analysis.load.cycles import weekly_cycle
from workloadkit.analysis.queue_models.users_of_log import ModelledJobs, Parameters
from workloadkit.clock import WEEK
from workloadkit.errors import plural


class Assumption(NamedTuple):
    """An assumption of the models, and its state in the log.

    Parameters
    ----------
    name : str
        Name of the assumption.
    broken : bool or None
        Whether the log violates it; None if unknown.
    value : float
        Measured value.
    text : str
        The measurement in a sentence.
    """

    name: str
    broken: bool | None
    value: float
    text: str


def check_assumptions(jobs: ModelledJobs, of: Parameters) -> tuple[Assumption, ...]:
    """Check each assumption against the log, with a tolerance of 10 % for rates and moments."""
    return (
        _one_server(jobs),
        _exponential(of),
        _same_runs(of),
        _poisson(jobs, of),
        _constant_rate(jobs),
        _first_come(jobs),
        _awaited(of),
        _stable(jobs, of),
    )


def _one_server(jobs: ModelledJobs) -> Assumption:
    procs = jobs.table["procs"].to_numpy()
    work = procs * jobs.table["run"].to_numpy()
    wide = float((procs > 1).mean())
    of_work = float(work[procs > 1].sum() / work.sum()) if work.sum() else np.nan
    text = (
        f"Jobs are rigid and parallel: {share(wide)} need more than one processor and have "
        f"{share(of_work)} of the work; the largest needs {share(procs.max() / jobs.procs)} of the "
        "machine. In the models, a job takes one server."
    )
    if not wide:
        text = "Every job needs one processor."
    return Assumption("a job takes one server", wide > 0, wide, text)


def _exponential(of: Parameters) -> Assumption:
    text = (
        f"The squared coefficient of variation is {number(of.scv_run)} for run times and "
        f"{number(of.scv_work)} for processor-seconds; it is 1 for an exponential distribution."
    )
    return _near_one("run times are exponential", of.scv_run, text)


def _same_runs(of: Parameters) -> Assumption:
    known = not np.isnan([of.run_long_term, of.run_others]).any()
    ratio = of.run_long_term / of.run_others if of.run_others else np.inf if known else np.nan
    if known and of.run_long_term == of.run_others:
        ratio = 1.0
    text = (
        f"The mean run time is {duration(of.run_long_term)} for jobs of long-term users and "
        f"{duration(of.run_others)} for others; in the mixed model both are equal."
    )
    if np.isnan(ratio):
        text = "There is only one class of users."
        return Assumption("closed and open jobs have equal run times", None, ratio, text)
    return _near_one("closed and open jobs have equal run times", ratio, text)


def _poisson(jobs: ModelledJobs, of: Parameters) -> Assumption:
    text = (
        "The squared coefficient of variation of inter-arrival times is "
        f"{number(of.scv_interarrival)}"
    )
    if not np.isnan(of.scv_open_interarrival):
        text += f", and for open users {number(of.scv_open_interarrival)}"
    open_alone = jobs.staying.all() or np.isnan(of.scv_open_interarrival)
    value = of.scv_interarrival if open_alone else of.scv_open_interarrival
    return _near_one("arrivals are Poisson", value, f"{text}; it is 1 for Poisson arrivals.")


def _constant_rate(jobs: ModelledJobs) -> Assumption:
    rate = weekly_cycle(jobs.trace)
    covered = rate[rate["hours"] > 0]
    mean = covered["jobs"].sum() / covered["hours"].sum()
    if jobs.period < WEEK:
        text = "The log is shorter than a week, so its weekly cycle is unknown."
        return Assumption("arrivals have no cycle", None, np.nan, text)
    most, least = covered["rate"].max() / mean, covered["rate"].min() / mean
    text = (
        f"The arrival rate is {number(most)} times the mean in the busiest hour of the week, and "
        f"{number(least)} times in the quietest; in the models it is constant."
    )
    return _near_one("arrivals have no cycle", most, text)


def _first_come(jobs: ModelledJobs) -> Assumption:
    table, name = jobs.table[jobs.table["wait"].notna()], "first come, first served"
    if table.empty:
        text = "No wait is known, so the order of starts is unknown."
        return Assumption(name, None, np.nan, text)
    start = table["submit"] + table["wait"]
    latest_before = start.cummax().shift(fill_value=-np.inf)
    earlier = float((start < latest_before).mean())
    text = (
        f"{share(earlier)} of the jobs started before an earlier submitted job, because of "
        "backfilling or priorities; the models serve jobs in the order of arrival."
    )
    return Assumption(name, earlier > 0, earlier, text)


def _awaited(of: Parameters) -> Assumption:
    name = "users wait for the end of a job"
    if np.isnan(of.not_awaited):
        return Assumption(name, None, np.nan, "There are no long-term users with two jobs.")
    text = (
        f"Long-term users submitted {share(of.not_awaited)} of their jobs before the end of the "
        "previous job; closed users have one job at a time."
    )
    if of.Z < 0:
        text += (
            f" On average, the next job came {duration(-of.Z)} before this end: no think time "
            "gives their throughput, and 0 is used."
        )
    return Assumption(name, of.not_awaited > 0, of.not_awaited, text)


def _stable(jobs: ModelledJobs, of: Parameters) -> Assumption:
    table = jobs.table
    week = ((table["submit"] - table["submit"].iloc[0]) // WEEK).astype(np.int64)
    work = (table["run"] * table["procs"]).groupby(week).sum()
    n_weeks = int(jobs.period // WEEK)
    over = int((work.loc[work.index < n_weeks] > jobs.procs * WEEK).sum())
    text = f"The offered load is {share(of.load)} of the machine"
    if n_weeks:
        text += (
            f"; in {over} of {plural(n_weeks, 'complete week')} more work arrived than its capacity"
        )
    return Assumption("the load is steady", bool(over > 0 or of.load >= 1), of.load, f"{text}.")


def _near_one(name: str, value: float, text: str) -> Assumption:
    broken = None if np.isnan(value) else not 0.9 <= value <= 1.1
    return Assumption(name, broken, float(value), text)
