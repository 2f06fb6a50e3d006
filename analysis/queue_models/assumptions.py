"""Which assumptions of queueing models a log breaks, in sentences with numbers."""

from typing import NamedTuple

import numpy as np

from analysis.formats import duration, number, plural, share
from analysis.load.cycles import weekly_cycle
from analysis.queue_models.users_of_log import Jobs, Parameters
from workloadkit.clock import WEEK


class Assumption(NamedTuple):
    """An assumption of the models, and what the log says of it.

    Parameters
    ----------
    name : str
        What is assumed.
    broken : bool or None
        Whether the log breaks it; None where it does not tell.
    value : float
        What was measured.
    text : str
        The same in a sentence.
    """

    name: str
    broken: bool | None
    value: float
    text: str


def check_assumptions(jobs: Jobs, of: Parameters) -> tuple[Assumption, ...]:
    """Say of each assumption whether the log breaks it.

    Rates and laws are taken for those assumed if they are within a tenth of them.
    """
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


def _one_server(jobs: Jobs) -> Assumption:
    procs = jobs.table["procs"].to_numpy()
    work = procs * jobs.table["run"].to_numpy()
    wide = float((procs > 1).mean())
    of_work = float(work[procs > 1].sum() / work.sum()) if work.sum() else np.nan
    text = (
        f"Jobs are rigid and parallel: {share(wide)} need more than one processor, with "
        f"{share(of_work)} of the work, and the largest {share(procs.max() / jobs.procs)} of the "
        "machine; servers of a model take a job each."
    )
    if not wide:
        text = "Every job needs one processor, as each takes one server of a model."
    return Assumption("a job takes one server", wide > 0, wide, text)


def _exponential(of: Parameters) -> Assumption:
    text = (
        f"Run times have a squared coefficient of variation of {number(of.scv_run)}, processors × "
        f"seconds of {number(of.scv_work)}; it is 1 of the exponential law."
    )
    return _near_one("run times are exponential", of.scv_run, text)


def _same_runs(of: Parameters) -> Assumption:
    known = not np.isnan([of.run_long_term, of.run_others]).any()
    ratio = of.run_long_term / of.run_others if of.run_others else np.inf if known else np.nan
    if known and of.run_long_term == of.run_others:
        ratio = 1.0
    text = (
        f"Jobs of long-term users run for {duration(of.run_long_term)} on average, those of others "
        f"for {duration(of.run_others)}; in the mixed model both for the same."
    )
    if np.isnan(ratio):
        text = "There is only one kind of users, whose run times are the same."
        return Assumption("closed and open jobs run alike", None, ratio, text)
    return _near_one("closed and open jobs run alike", ratio, text)


def _poisson(jobs: Jobs, of: Parameters) -> Assumption:
    text = (
        "Times between submissions have a squared coefficient of variation of "
        f"{number(of.scv_interarrival)}"
    )
    if not np.isnan(of.scv_open_interarrival):
        text += f", those between jobs of open users of {number(of.scv_open_interarrival)}"
    open_alone = jobs.staying.all() or np.isnan(of.scv_open_interarrival)
    value = of.scv_interarrival if open_alone else of.scv_open_interarrival
    return _near_one("arrivals are Poisson", value, f"{text}; it is 1 of Poisson arrivals.")


def _constant_rate(jobs: Jobs) -> Assumption:
    rate = weekly_cycle(jobs.trace)
    covered = rate[rate["hours"] > 0]
    mean = covered["jobs"].sum() / covered["hours"].sum()
    if jobs.period < WEEK:
        text = "The log is shorter than a week, and tells no weekly cycle."
        return Assumption("arrivals have no cycle", None, np.nan, text)
    most, least = covered["rate"].max() / mean, covered["rate"].min() / mean
    text = (
        f"In the busiest hour of the week {number(most)} times as many jobs arrive as on average, "
        f"in the quietest {number(least)} times; of a model the rate is always the same."
    )
    return _near_one("arrivals have no cycle", most, text)


def _first_come(jobs: Jobs) -> Assumption:
    table, name = jobs.table[jobs.table["wait"].notna()], "first come, first served"
    if table.empty:
        text = "No wait is known, so the order in which jobs started is not."
        return Assumption(name, None, np.nan, text)
    start = table["submit"] + table["wait"]
    latest_before = start.cummax().shift(fill_value=-np.inf)
    earlier = float((start < latest_before).mean())
    text = (
        f"{share(earlier)} of the jobs started before one that was submitted earlier, by "
        "backfilling or priorities; a model serves them in the order of arrival."
    )
    return Assumption(name, earlier > 0, earlier, text)


def _awaited(of: Parameters) -> Assumption:
    name = "users await the end of a job"
    if np.isnan(of.not_awaited):
        return Assumption(name, None, np.nan, "There are no long-term users with two jobs.")
    text = (
        f"Long-term users submitted {share(of.not_awaited)} of their jobs before the end of the "
        "one before; closed users have one job at a time."
    )
    if of.Z < 0:
        text += (
            f" On average the next job came {duration(-of.Z)} before that end: there is no think "
            "time that gives their throughput, and 0 is taken."
        )
    return Assumption(name, of.not_awaited > 0, of.not_awaited, text)


def _stable(jobs: Jobs, of: Parameters) -> Assumption:
    table = jobs.table
    week = ((table["submit"] - table["submit"].iloc[0]) // WEEK).astype(np.int64)
    work = (table["run"] * table["procs"]).groupby(week).sum()
    n_weeks = int(jobs.period // WEEK)
    over = int((work.loc[work.index < n_weeks] > jobs.procs * WEEK).sum())
    text = f"The offered load is {share(of.load)} of the machine"
    if n_weeks:
        text += (
            f", and in {over} of {plural(n_weeks, 'whole week')} more work arrived than it can do"
        )
    return Assumption("the load is steady", bool(over > 0 or of.load >= 1), of.load, f"{text}.")


def _near_one(name: str, value: float, text: str) -> Assumption:
    broken = None if np.isnan(value) else not 0.9 <= value <= 1.1
    return Assumption(name, broken, float(value), text)
