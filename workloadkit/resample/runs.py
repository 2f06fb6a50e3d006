"""Resample logs."""

import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from workloadkit import __version__
from workloadkit.errors import WorkloadWarning, check_count
from workloadkit.following import untrue_columns
from workloadkit.provenance import MOST_SEEDS, as_note, plain, seed_of
from workloadkit.resample.drawing import assemble, draw
from workloadkit.resample.mixing import fit_machine
from workloadkit.resample.planning import ResamplingPlan, make_plan, weigh
from workloadkit.resample.pooling import make_pools, triples
from workloadkit.resample.pools import ResamplingPools
from workloadkit.settings import Resample
from workloadkit.settings.setting import takes
from workloadkit.trace import Trace, list_of_logs
from workloadkit.units import counted_log


@takes(Resample)
def resample(
    trace: Trace | Iterable[Trace],
    *,
    rng: np.random.Generator | int | None = None,
    settings: Resample | None = None,
    **keywords: Any,
) -> Trace:
    r"""Draw a new log from the users of a log.

    The new log consists of whole users, each with all of their jobs, in the original order and at
    the original hours; which users are present, and since when, is drawn [1]_. This keeps the
    structure within each user's work, and makes users independent of each other:

    - *Long-term users*, active for more than 12 weeks, are all present once. Each begins in a week
      of their activity, drawn uniformly. When the activity is over, it is regenerated: the first
      job is repeated one log length after its previous occurrence.
    - The number of *temporary users* present in week 0 is binomial, with the mean number present
      in a week of the log; they are drawn in proportion to the weeks of their activity, and begin
      in any of these.
    - In *each later week*, a binomial number of temporary users arrives, at the log's mean rate;
      they are drawn uniformly, none twice in a week, and begin with their first jobs.

    Temporary users near an end of the log are excluded (`classify_users`), because they may be
    truncated. All users are moved by whole weeks, so each job keeps its weekday and its time of day
    in the log's time zone; without a time zone, by the log's seconds.

    Parameters
    ----------
    trace : Trace or iterable of Trace
        The log. Jobs that never ran, are of unknown user or, without `begin`, were submitted
        outside its window are left out. Several logs are mixed: each contributes its own users at
        its own rates, so that user numbers and loads add up.
    rng : Generator or int, optional
        Random generator or seed; the header records the seed.
    settings : workloadkit.settings.Resample, optional
        All following parameters as one object; keyword arguments take precedence.
    {settings}

    Returns
    -------
    Trace
        Jobs are numbered 1, 2, … in order of submission, users 1, 2, … in order of first jobs;
        each incarnation is a separate user. Waits and all other fields are unchanged; the preceding
        job (field 17) is renumbered if it is in the log, else unknown, like the think time. Utility
        functions stay with their jobs, and so does the side-car (see `Trace.with_columns`), in
        which users have the names of those from whom they were drawn. The machine stays if all logs
        have the same, and `procs` is not another size. The header is that of the log (the first of
        several), updated to the new jobs, with a note on the origin and the seed. Dates and time
        zone are those of the first log, but jobs keep the weekday and time of day of their own
        zone. Groups, executables, queues and partitions of further logs get numbers above those of
        the previous logs; the header records the offsets. With another `unit` the new log is seen
        in it, see `workloadkit.units.in_unit`: users are those of jobs that hold some, and
        `write_log` writes the jobs' own processors, without a MaxProcs if `procs` is another
        machine.

    Raises
    ------
    ParameterError
        If a number is invalid, `load` (or a number in its place) requires more temporary users
        than the pool has, a rare behaviour has no jobs, a user or a class of the weights is
        unknown, or a job is larger than the machine.
    WorkloadError
        If the log has no jobs of known users that ran, is shorter than five weeks, or all of its
        users are excluded at its ends; if sizes are rescaled and the header has no MaxProcs.

    Warns
    -----
    WorkloadWarning
        If jobs are left out, a pool is empty, or the new log has no jobs.

    See Also
    --------
    resamples : many new logs.
    classify_users : long-term and temporary users.

    Notes
    -----
    Details that the source leaves open: a week is one of local time, counted from the log's begin;
    a user is present from the week of the first job to that of the last. A new log begins at the
    same second as the original one; it ends before its `weeks` are over, or with the original last
    second. The length of the log, for the regeneration of long-term users, is rounded to whole
    weeks; activities longer than that do not overlap. A local time that does not exist becomes the
    second of the change, an ambiguous one is the first; jobs of one user keep their order.

    References
    ----------
    .. [1] N. Zakay, D. G. Feitelson, "Workload resampling for performance evaluation of parallel
       job schedulers", Concurrency and Computation: Practice and Experience 26, 2014, sections 4
       and 6.

    Examples
    --------
    User 3 works every week on the same day, user 4 for two weeks in between.

    >>> week = 7 * 86400
    >>> submit = week * np.array([*range(9), 8.5, 9, 9.5, *range(10, 21)])
    >>> log = {"submit": submit, "user": [3] * 9 + [4, 3, 4] + [3] * 11}
    >>> trace = Trace.from_columns(log | {"run": [60] * 23, "procs": [1] * 23})
    >>> new = resample(trace, weeks=6, rng=6)
    >>> (new.jobs["submit"] / week).tolist()
    [0.0, 1.0, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0]
    >>> new.jobs["user"].tolist()
    [1, 1, 1, 2, 1, 2, 1, 1]
    >>> new.header.lines  # doctest: +ELLIPSIS
    ('; Note: resampled: workloadkit 0.2.0, log trace (content sha256 ...), seed 6, weeks 6',)
    """
    return _warned(prepare(trace, settings, **keywords).run(seed_of(rng)))


def resamples(
    trace: Trace | Iterable[Trace],
    count: int,
    *,
    rng: np.random.Generator | int | None = None,
    settings: Resample | None = None,
    **keywords: Any,
) -> Iterator[Trace]:
    """Draw many new logs from the users of a log, lazily.

    Parameters
    ----------
    trace : Trace or iterable of Trace
    count : int
        Number of new logs.
    rng : Generator or int, optional
        Run i depends on the seed and on i only. Its header also records the run's own seed, with
        which `resample` gives the same log.
    settings, **keywords
        As for `resample`.

    Yields
    ------
    Trace

    Raises
    ------
    ParameterError, WorkloadError
        As `resample`, immediately.

    Examples
    --------
    >>> submit = 7 * 86400 * np.array([*range(9), 8.5, 9, 9.5, *range(10, 21)])
    >>> log = {"submit": submit, "user": [3] * 9 + [4, 3, 4] + [3] * 11}
    >>> trace = Trace.from_columns(log | {"run": [60] * 23, "procs": [1] * 23})
    >>> [new.n_jobs for new in resamples(trace, 5, load=2, rng=1)]
    [46, 48, 44, 46, 51]
    """
    n_runs = check_count("count", count)
    prepared = prepare(trace, settings, **keywords)
    seed = seed_of(rng)
    return (_warned(prepared.run_of(i, seed)) for i in range(n_runs))


@dataclass(frozen=True, eq=False)
class Resampling:
    """Pools, plan and settings of new logs, without a seed."""

    pools: ResamplingPools
    plan: ResamplingPlan
    settings: Resample

    @property
    def parameters(self) -> dict[str, Any]:
        """Settings that differ from the default, in the form used in headers."""
        changed = self.settings.changed
        if "rare" in changed:  # in the form of the command line
            behaviours = [map(_shortest, behaviour) for behaviour in changed["rare"]]
            changed["rare"] = ",".join("{}:{}-{}".format(*parts) for parts in behaviours)
        if callable(weights := changed.get("weights")):
            changed["weights"] = getattr(weights, "__name__", type(weights).__name__)
        return {name: _shortest(value) for name, value in changed.items()}

    @property
    def dropped(self) -> tuple[str, ...]:
        """What new logs leave out of what is known of the log, see `Trace.dropped`."""
        known = self.pools.trace
        return (*known.dropped, *untrue_columns(known.sidecar, ("submit",)))

    def run(self, seed: int, *, of: tuple[int, int] | None = None) -> Trace:
        """Draw the new log of a seed; `of` is its index in a series of runs, and their seed."""
        drawn = draw(self.pools, self.plan, np.random.default_rng(seed))
        name, note = self.label(seed, of=of)
        return assemble(self.pools, drawn, name=name, note=note)

    def label(
        self,
        seed: int,
        *,
        of: tuple[int, int] | None = None,
        further: Mapping[str, Any] | None = None,
    ) -> tuple[str, str]:
        """Return the name of the new log of a seed, and its provenance with all parameters."""
        logs = self.pools.logs
        name = " and ".join(log.name for log in logs)
        parameters = {"seed": seed} | self.parameters | dict(further or {})
        if of is not None:
            parameters["run"] = f"{of[0]} of seed {of[1]}"
        sources = [f"{log.name} ({log.identity})" for log in logs]
        made = {"workloadkit": __version__, "log": " and ".join(sources), "sha256": None}
        note = as_note(made | {"parameters": plain(parameters)})
        return f"{name}, resampled by seed {seed}", note

    def run_of(self, i: int, seed: int) -> Trace:
        """Draw the i-th new log of several."""
        return self.run(own_seed(seed, i), of=(i, seed))

    def at_load(self, load: float) -> "Resampling":
        """Return the resampling with the same pools and another factor for the numbers of users."""
        options = replace(self.settings, load=load)
        return Resampling(self.pools, make_plan(self.pools, options), options)


def prepare(
    trace: Trace | Iterable[Trace], settings: Resample | None = None, **keywords: Any
) -> Resampling:
    """Build the pools and the plan for new logs; settings as of `resample`."""
    options = Resample.of(settings, keywords)
    options = replace(options, rare=tuple(triples(options.rare)))
    logs = [counted_log(log, options) for log in list_of_logs(trace)]
    pools = fit_machine(make_pools(logs, options), options.procs, options.rescale)
    if options.weights is not None:
        pools = weigh(pools, logs, options.weights)
    plan = make_plan(pools, options)
    for note in pools.notes:  # issued only if there was no error
        warnings.warn(note, WorkloadWarning, stacklevel=3)
    return Resampling(pools, plan, options)


def _warned(new: Trace) -> Trace:
    """Return a new log, with a warning if it is empty."""
    if not new.n_jobs:
        warnings.warn(f"{new.name}: the log has no jobs", WorkloadWarning, stacklevel=3)
    return new


def own_seed(seed: int, i: int) -> int:
    """Return the seed of run i in a series.

    Examples
    --------
    >>> own_seed(1, 0) == own_seed(1, 0) != own_seed(1, 1)
    True
    """
    state = np.random.SeedSequence(seed, spawn_key=(i,)).generate_state(1, np.uint64)[0]
    return int(state) % MOST_SEEDS


def _shortest(value: Any) -> Any:
    """Return whole numbers without a decimal point."""
    if isinstance(value, list | tuple):
        return [_shortest(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
