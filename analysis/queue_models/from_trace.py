"""Predictions of queueing models for a log, compared with the log and with simulated users."""

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from workloadkit.analysis import style
from workloadkit.analysis.bootstrap import N_RESAMPLES
from workloadkit.analysis.formats import count, duration, number, share, upper
from workloadkit.analysis.queue_models.predictions import (
    COLUMNS,
    SERVERS,
    Assumption,
    check_assumptions,
    log_itself,
    predict,
    simulate_users,
)
from workloadkit.analysis.queue_models.users_of_log import (
    GoingOn,
    ModelledJobs,
    Parameters,
    jobs_of,
    measure,
    measure_going_on,
)
from workloadkit.analysis.reactions.followed import RESPONSE_BINS, RESPONSE_TITLES
from workloadkit.analysis.section import (
    AnalysisResult,
    Table,
    facts,
    shown_intervals,
    table_in_words,
)
from workloadkit.errors import WorkloadError, check_count, plural, takes_rng
from workloadkit.settings.common import JobUnit
from workloadkit.simulation.schedulers import Policy, describe, parse
from workloadkit.trace import Trace, check_trace
from workloadkit.units import WORDS, in_unit, text_in_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HOUR = 3600.0

_TITLES = {
    "throughput": "jobs per hour",
    "response": "mean response",
    "wait": "mean wait",
    "utilization": "utilization",
    "queue": "waiting jobs",
}
_SERVERS = {"jobs": "one server per job", "machine": "one server per machine"}


def table_of_parameters(of: Parameters) -> Table:
    """Return the table of measured parameters."""

    def hourly(rate: float) -> str:
        return f"{number(rate * _HOUR)} / h"

    rows = {
        "jobs": (of.jobs, count(of.jobs)),
        "users": (of.users, f"{count(of.users)}, {count(of.long_term_users)} of them long-term"),
        "period": (of.period, duration(of.period)),
        "λ, mixed: jobs of other users": (of.lam, hourly(of.lam)),
        "λ, re-open: sessions of all users": (of.lam_sessions, hourly(of.lam_sessions)),
        "N: active long-term users, mean": (of.N, number(of.N)),
        "X of their jobs": (of.X_closed, hourly(of.X_closed)),
        "R of their jobs": (of.R_closed, duration(of.R_closed)),
        "Z: from the end of a job to the next submission": (of.Z, duration(of.Z)),
        "Z, non-negative ones": (of.Z_awaited, duration(of.Z_awaited)),
        "next jobs before the end": (of.not_awaited, share(of.not_awaited)),
        "Z within a session, all users": (of.Z_session, duration(of.Z_session)),
        "p: jobs followed in the session": (of.p, share(of.p)),
        "S, one server per job: run time": (of.run, duration(of.run)),
        "servers": (of.servers, count(of.servers)),
        "processors of the machine": (of.procs, count(of.procs)),
        "processors of a job": (of.procs_per_job, number(of.procs_per_job)),
        "processors of a job, weighted by run time": (of.procs_at_work, number(of.procs_at_work)),
        "S, one server per machine: work / machine": (of.work, duration(of.work)),
        "offered load": (of.load, share(of.load)),
        "SCV of run times": (of.scv_run, number(of.scv_run)),
        "SCV of work": (of.scv_work, number(of.scv_work)),
        "SCV of inter-arrival times": (of.scv_interarrival, number(of.scv_interarrival)),
        "SCV, open arrivals": (of.scv_open_interarrival, number(of.scv_open_interarrival)),
        "SCV of non-negative Z": (of.scv_think, number(of.scv_think)),
    }
    caption = (
        "Parameters of queueing models in the log. SCV: squared coefficient of variation, 1 for an "
        "exponential distribution."
    )
    return facts("parameters", caption, rows)


def table_of_going_on(found: GoingOn) -> Table:
    """Return p(r) by bin of response times, with the fitted curves."""
    data = found.points
    titles = dict(zip(RESPONSE_BINS, RESPONSE_TITLES, strict=True))
    shown = pd.DataFrame(
        {
            "jobs": data["jobs"].map(count),
            "median response": data["median_response"].map(duration),
            "followed": shown_intervals(data, "probability"),
            "if awaited": data["awaited"].map(share),
            "hyperbola": data["hyperbola"].map(share),
            "exponential": data["exponential"].map(share),
            "published": data["published"].map(share),
        },
        dtype=object,
    )
    shown.index = pd.Index([f"{bin_}: {titles[bin_]}" for bin_ in data["bin"]])
    a, b, theta = (found.in_words(name) for name in ("a", "b", "theta"))
    fits = (
        f"Hyperbola a / (b r + 1): a = {a}, b = {b}; exponential e^(−θ r): θ = {theta}; published: "
        "0.8 / (0.05 r + 1); r in minutes."
    )
    if np.isnan(found.a):
        fits = "There are too few bins to fit a curve."
    caption = (
        "Jobs followed by another job of the user in the session, by response time; if awaited: "
        f"without jobs followed before their end. {fits}"
    )
    return Table("going_on", caption, data, shown)


def table_of_predictions(data: pd.DataFrame) -> Table:
    """Return the predictions with the log and TBUOS."""
    forms = (lambda x: number(x * _HOUR), _time, _time, share, _few)
    cells = {
        _TITLES[name]: _cells(data, name, form) for name, form in zip(COLUMNS, forms, strict=True)
    }
    names = [f"{model}, {_SERVERS[servers]}" if servers else model for model, servers in data.index]
    ways = "; ".join(f"{_SERVERS[name]}: {words}" for name, words in SERVERS.items())
    caption = f"Log, simulated users (TBUOS), and models. {upper(ways)}."
    return Table("predictions", caption, data, pd.DataFrame(cells, names, dtype=object))


def plot_predictions(data: pd.DataFrame, ax: "Axes | None" = None) -> "Axes":
    """Draw mean waits and throughputs of log, TBUOS and models.

    Parameters
    ----------
    data : DataFrame
        `QueueingOfLog.predictions`.
    ax : Axes, optional
        Axes to replace by two panels. Default: the current Axes.

    Returns
    -------
    Axes
        The first panel.
    """
    ax = style.current_axes(ax)
    axes = style.panels(ax, 2, share_y=True)
    names = table_of_predictions(data).shown.index
    place = np.arange(len(names))[::-1]
    looks = {"": style.MUTED, "jobs": style.BLUE, "machine": style.ORANGE}
    colours = [looks[servers] for _, servers in data.index]
    for panel, (name, scale, label) in zip(
        axes,
        (("wait", _HOUR, "mean wait [h]"), ("throughput", 1 / _HOUR, "jobs per hour")),
        strict=True,
    ):
        value = data[name].to_numpy(dtype=np.float64) / scale
        panel.barh(place, np.nan_to_num(value), color=colours, height=0.7)
        for y, x in zip(place, value, strict=True):
            if not np.isfinite(x):
                panel.annotate(" no solution", (0, y), va="center", fontsize=8, color=style.MUTED)
        if f"{name}_low" in data:
            low, high = (data[f"{name}_{end}"].to_numpy() / scale for end in ("low", "high"))
            panel.hlines(place, low, high, color=style.INK, linewidth=1.5)
        panel.axvline(value[0], color=style.MUTED, linewidth=0.8, linestyle=(0, (4, 4)))
        panel.set_xlabel(label)
        panel.set_yticks(place, names)
        panel.grid(visible=False, axis="y")
    return axes[0]


def describe_waits(data: pd.DataFrame) -> str:
    """Describe the mean waits of log, TBUOS and models in a sentence."""
    words = []
    for model, rows in data["wait"].groupby(level="model", sort=False):
        known = rows.dropna()
        ends = dict.fromkeys(map(_time, (known.min(), known.max()))) if len(known) else ["unknown"]
        words.append(f"{model} {' to '.join(ends)}")
    return f"Mean waits: {'; '.join(words)}."


def _time(seconds: float) -> str:
    return "< 1 s" if 0 < seconds < 1 else duration(seconds)


def _few(value: float) -> str:
    return "< 0.01" if 0 < value < 0.01 else number(value)


def _cells(data: pd.DataFrame, name: str, form: Callable[[float], str]) -> list[str]:
    ends = [f"{name}_{end}" for end in ("low", "high")]
    if not set(ends) <= set(data.columns):
        return [form(value) for value in data[name]]
    return shown_intervals(data, name, form)


@dataclass(frozen=True, eq=False)
class QueueingOfLog(AnalysisResult):
    """Parameters of queueing models from a log, their predictions and violated assumptions.

    Parameters
    ----------
    name : str
        Name of the log.
    parameters : Parameters
    going_on : GoingOn
        p(r): the probability of another job in the session.
    predictions : DataFrame
        By `model` and `servers`: throughput [1/s], response and wait [s], utilization, and queue,
        the mean number of waiting jobs. Models are "log", the log itself; "TBUOS", simulated users
        who react, with 95 % limits `throughput_low` to `queue_high` (Student's t over the runs);
        "open", "mixed", and "re-open" with three forms of p. Servers are "jobs", as many as jobs of
        mean size fit, or "machine", one server. NaN if there is no solution.
    assumptions : tuple of Assumption
    notes : tuple of str
        Messages on jobs left out and on models without a solution.
    unit : {"procs", "nodes", "gpus"}
        What sizes and load are counted in.
    """

    name: str
    parameters: Parameters
    going_on: GoingOn
    predictions: pd.DataFrame
    assumptions: tuple[Assumption, ...]
    notes: tuple[str, ...]
    unit: JobUnit = "procs"

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the mean waits of log, simulation and models."""
        return plot_predictions(self.predictions, ax)

    @property
    def finding(self) -> str:
        """Mean waits in the log, in TBUOS and in the models, in a sentence."""
        return describe_waits(self.predictions)

    @property
    def statements(self) -> tuple[str, ...]:
        """Assumptions that the log violates or satisfies, and unknown ones, in sentences."""
        words = {True: "violated", False: "satisfied", None: "unknown"}
        texts = (f"{a.name} ({words[a.broken]}): {a.text}" for a in self.assumptions)
        return tuple(text_in_words(WORDS[self.unit], text) for text in texts)

    @property
    def tables(self) -> tuple[Table, ...]:
        """Formatted tables of parameters, p(r) and predictions."""
        tables = (
            table_of_parameters(self.parameters),
            table_of_going_on(self.going_on),
            table_of_predictions(self.predictions),
        )
        return tuple(table_in_words(WORDS[self.unit], table) for table in tables)


@takes_rng
def queueing_from_trace(
    trace: Trace,
    *,
    procs: int | None = None,
    unit: JobUnit = "procs",
    runs: int = 5,
    scheduler: str = "easy",
    n_resamples: int = N_RESAMPLES,
    rng: int | np.random.Generator | None = None,
    executor: Executor | None = None,
) -> QueueingOfLog:
    """Measure the parameters of queueing models in a log, and compare predictions with it.

    Long-term users are the closed users of the mixed model; jobs of all other users are its open
    arrivals, as in trace-based user-oriented simulation (TBUOS) [1]_. In the re-open model, each
    session is a new arrival, and continues after each job with p(r). Sessions end after 20 min
    without a job, counted from the end of the previously submitted job.

    Parameters
    ----------
    trace : Trace
        Jobs that never ran and jobs of unknown users are left out.
    procs : int, optional
        Processors of the machine; by default those of the header.
    unit : {"procs", "nodes", "gpus"}, default "procs"
        Count sizes and load in processors, nodes or GPUs, see `workloadkit.units.in_unit`.
    runs : int, default 5
        Number of TBUOS runs; 0 for none.
    scheduler : str, default "easy"
        Scheduler of TBUOS.
    n_resamples : int, default 500
        Number of bootstrap resamples of users, for the intervals of p(r).
    rng : int or Generator, optional
    executor : Executor, optional
        Executor of the simulations; by default this process.

    Raises
    ------
    ParameterError
        If `procs` or `runs` is invalid, or the scheduler is unknown.
    WorkloadError
        If no job ran, no user is known, all jobs have the same submit time, or the size of the
        machine is unknown.

    Notes
    -----
    In the models, a job takes one server. A machine is modelled in two ways: as many servers as
    jobs of mean size (weighted by run time) fit, each serving for a run time; or one server that
    serves a job for its processor-seconds over the size of the machine, with the rest of the run
    time added to the think time. Both have the utilization of the machine.

    The number of closed users is the mean number of active users, rounded. Their think time gives
    their throughput by the interactive law at the response times of the log, including nights.

    References
    ----------
    .. [1] N. Zakay, "Improved realism and representativeness of workloads to improve reliability
       of performance evaluations", PhD thesis, The Hebrew University of Jerusalem, 2018, chapters
       on trace-based user-oriented simulation and on semi-open queueing models.

    Examples
    --------
    A user submits one job per day for 100 days; each runs an hour on one of four processors.

    >>> log = {"submit": np.arange(100) * 86400, "wait": [0] * 100, "run": [3600] * 100}
    >>> log |= {"procs": [1] * 100, "user": [1] * 100}
    >>> found = queueing_from_trace(Trace.from_columns(log), procs=4, runs=0)
    >>> of = found.parameters
    >>> of.long_term_users, of.N, of.Z / 3600, of.servers
    (1, 1.0, 23.0, 4)
    """
    runs = check_count("runs", runs)
    policy = parse(scheduler)
    rng = np.random.default_rng(rng)
    of_users, of_simulations = rng.spawn(2)
    check_trace(trace)
    trace = in_unit(trace, unit)
    jobs = jobs_of(trace, procs)
    parameters = measure(jobs)
    going_on = measure_going_on(jobs, n_resamples=n_resamples, rng=of_users)
    table, without = predict(parameters, going_on)
    rows = {("log", ""): log_itself(jobs, parameters)}
    notes = _notes(trace, jobs, parameters)
    if going_on.at_bound:
        which = ", ".join(going_on.at_bound)
        notes += (f"At a bound of the search, so only a limit: {which} of the fitted p(r).",)
    if runs:
        rows["TBUOS", ""], note = _simulated(jobs, runs, policy, of_simulations, executor)
        notes += note
    measured = pd.DataFrame.from_dict(rows, orient="index")
    measured.index = pd.MultiIndex.from_tuples(rows, names=table.index.names)
    notes += tuple(f"No solution of {model}: {reason}." for model, reason in without.items())
    return QueueingOfLog(
        name=trace.name,
        parameters=parameters,
        going_on=going_on,
        predictions=pd.concat([measured, table]),
        assumptions=check_assumptions(jobs, parameters),
        notes=notes if trace.counting is None else (*notes, str(trace.counting)),
        unit=unit,
    )


def _simulated(
    jobs: ModelledJobs,
    runs: int,
    scheduler: Policy,
    rng: np.random.Generator,
    executor: Executor | None,
) -> tuple[dict[str, float], tuple[str, ...]]:
    """Return means over the runs of TBUOS with their limits, or a message if there are none."""
    from workloadkit.experiments.intervals import mean_interval

    try:
        found = simulate_users(jobs, runs, scheduler=scheduler, rng=rng, executor=executor)
    except WorkloadError as error:
        return {}, (f"TBUOS has no result: {error}.",)
    row: dict[str, float] = {}
    for name in COLUMNS:
        ends = (f"{name}{end}" for end in ("", "_low", "_high"))
        row |= zip(ends, mean_interval(found[name], positive=True), strict=True)
    note = (
        f"TBUOS: {plural(runs, 'run')} under {describe(scheduler)}; brackets hold 95 % intervals."
    )
    return row, (note,)


def _notes(trace: Trace, jobs: ModelledJobs, of: Parameters) -> tuple[str, ...]:
    """Describe jobs left out and unknown data."""
    notes = []
    if jobs.left_out:
        notes.append(
            f"{plural(jobs.left_out, 'job')} of {trace.n_jobs:,} never ran or have an unknown "
            "user, and are left out."
        )
    unknown = int(jobs.table["wait"].isna().sum())
    if unknown:
        notes.append(
            f"{plural(unknown, 'wait is', 'waits are')} unknown, and count as 0 in think times."
        )
    if not of.long_term_users:
        notes.append("No user is long-term: the mixed model has no closed users.")
    elif of.lam == 0:
        notes.append("All users are long-term: the mixed model has no open arrivals.")
    if cut_off := of.lam - of.lam_temporary:
        notes.append(
            f"{plural(round(cut_off * of.period), 'job')} among the open arrivals are of users "
            "with activity near an end of the log, which may be truncated; TBUOS leaves them out."
        )
    return tuple(notes)
