"""Resample a log: new ones that are alike, longer, heavier or lighter."""

import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from workloadkit import __version__
from workloadkit.errors import WorkloadWarning, check_count
from workloadkit.provenance import MOST_SEEDS, as_note, plain, seed_of
from workloadkit.resample.assembling import assemble
from workloadkit.resample.drawing import draw
from workloadkit.resample.mixing import fit_machine
from workloadkit.resample.planning import Plan, make_plan
from workloadkit.resample.pooling import make_pools, triples
from workloadkit.resample.pools import Pools
from workloadkit.resample.weights import weigh
from workloadkit.settings import Resample
from workloadkit.settings.setting import takes
from workloadkit.trace import Trace, list_of_logs


@takes(Resample)
def resample(
    trace: Trace | Iterable[Trace],
    *,
    rng: np.random.Generator | int | None = None,
    settings: Resample | None = None,
    **keywords: Any,
) -> Trace:
    r"""Draw a new log from the users of an old one.

    The new log is made of whole users, each with all that he did in the old one, in the order and
    at the hours in which he did it; but who is there, and since when, is drawn anew [1]_. So it
    keeps what happens within a user's work, and is independent of what users did together:

    - *Long-term users*, those active for more than 12 weeks, are all there once. Each begins in
      some week of his activity, drawn uniformly. When the activity is over, it is regenerated: its
      first job comes again the length of the log after it was there before.
    - *Temporary users* who are there in week 0 are binomial in number, as many on average as were
      present in a week of the log; they are drawn in proportion to the weeks of their activity,
      and begin in any of these.
    - In *each later week*, temporary users arrive, binomial in number, at the log's mean rate;
      they are drawn uniformly, none twice in a week, and begin with their first jobs.

    Temporary users near an end of the log are left out (`classify_users`): they may have been cut
    off. Everybody is moved by whole weeks, so each job keeps its weekday and its time of day, by
    the clock of the log's time zone; without one, by the log's seconds.

    Parameters
    ----------
    trace : Trace or iterable of Trace
        The log. Jobs that never ran, are of unknown user or, without `begin`, were submitted
        outside its window are left out. Several logs are mixed: each gives its own users at its
        own rates, so that their numbers, and the loads, add up.
    rng : Generator or int, optional
        Where the seed comes from; the header tells it.
    settings : workloadkit.settings.Resample, optional
        All that follows, in one object; keywords count first.
    {settings}

    Returns
    -------
    Trace
        The jobs are numbered 1, 2, … by submission, the users 1, 2, … by their first jobs; each
        incarnation is a user of its own. Waits and all other fields stay as they were; the
        preceding job (field 17) is renumbered where it is there as well, else unknown, and with it
        the think time. Utility functions stay with their jobs. The header is the old one, made
        true, with a note of what made the log and its seed; of several logs it is that of the
        first, and so are dates and the time zone, but a job keeps the weekday and the time of day
        of its own zone. Groups, executables, queues and partitions of the other logs get numbers
        beyond those of the logs before; the header says by how much they were raised.

    Raises
    ------
    ParameterError
        If a number is not one that can be, `load` (or a number in its place) asks for more
        temporary users than the pool has, a rare behaviour is of no job, a user or a class of the
        weights is not known, or a job is larger than the machine.
    WorkloadError
        If the log has no job of a known user that ran, is shorter than five weeks, or all of its
        users are left out at its ends; if sizes are to be rescaled and the header has no MaxProcs.

    Warns
    -----
    WorkloadWarning
        If jobs are left out, a pool is empty, or the new log has no job.

    See Also
    --------
    resamples : many of them.
    classify_users : who is long-term and who is temporary.

    Notes
    -----
    Where the source is silent: a week is one of local time, counted from the log's begin; a user
    is present from the week of the first job to that of the last. A new log begins at the very
    second of the old one; it ends before its `weeks` are over, or with the old one's last second.
    The length of a log is rounded to whole weeks where long-term users are regenerated after it;
    of one whose activity is longer than that, nothing overlaps. A time that clocks jump over
    becomes the second of the jump, one that they show twice is the first; in neither case do jobs
    of one user change their order.

    References
    ----------
    .. [1] N. Zakay, D. G. Feitelson, "Workload resampling for performance evaluation of parallel
       job schedulers", Concurrency and Computation: Practice and Experience 26, 2014, sections 4
       and 6.

    Examples
    --------
    User 3 works every week, on the same day; user 4 for two weeks amid the others.

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
    ('; Note: resampled: workloadkit 0.1.0, log trace (content sha256 ...), seed 6, weeks 6',)
    """
    return _told(prepare(trace, settings, **keywords).run(seed_of(rng)))


def resamples(
    trace: Trace | Iterable[Trace],
    count: int,
    *,
    rng: np.random.Generator | int | None = None,
    settings: Resample | None = None,
    **keywords: Any,
) -> Iterator[Trace]:
    """Draw many new logs from the users of an old one, one when the one before has been taken.

    Parameters
    ----------
    trace : Trace or iterable of Trace
    count : int
        How many.
    rng : Generator or int, optional
        Run i depends on the seed and on i alone. Its header tells its own seed, too, with which
        `resample` gives the same log again.
    settings, **keywords
        As of `resample`.

    Yields
    ------
    Trace

    Raises
    ------
    ParameterError, WorkloadError
        As `resample`, at once.

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
    return (_told(prepared.run_of(i, seed)) for i in range(n_runs))


@dataclass(frozen=True, eq=False)
class Resampling:
    """What all new logs of one kind have in common; only a seed is missing.

    Parameters
    ----------
    pools : Pools
    plan : Plan
    settings : Resample
    """

    pools: Pools
    plan: Plan
    settings: Resample

    @property
    def parameters(self) -> dict[str, Any]:
        """What the settings are that differ from the default, as headers tell it."""
        told = self.settings.changed
        if "rare" in told:  # as the command line takes them
            behaviours = [map(_shortest, behaviour) for behaviour in told["rare"]]
            told["rare"] = ",".join("{}:{}-{}".format(*parts) for parts in behaviours)
        if callable(weights := told.get("weights")):
            told["weights"] = getattr(weights, "__name__", type(weights).__name__)
        return {name: _shortest(value) for name, value in told.items()}

    def run(self, seed: int, *, of: tuple[int, int] | None = None) -> Trace:
        """Draw the new log of a seed; `of` is its place in a run of several, and their seed."""
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
        """Return the name of the new log of a seed, and the note of its header.

        The note tells of `further` parameters, too.
        """
        logs = self.pools.logs
        name = " and ".join(log.name for log in logs)
        parameters = {"seed": seed} | self.parameters | dict(further or {})
        if of is not None:
            parameters["run"] = f"{of[0]} of seed {of[1]}"
        sources = [f"{log.name} ({log.identity})" for log in logs]
        made = {"workloadkit": __version__, "log": " and ".join(sources), "sha256": None}
        note = f"resampled: {as_note(made | {'parameters': plain(parameters)})}"
        return f"{name}, resampled by seed {seed}", note

    def run_of(self, i: int, seed: int) -> Trace:
        """Draw the i-th new log of several."""
        return self.run(own_seed(seed, i), of=(i, seed))

    def at_load(self, load: float) -> "Resampling":
        """Return what differs by nothing but the factor of the numbers of users; same pools."""
        asked = replace(self.settings, load=load)
        return Resampling(self.pools, make_plan(self.pools, asked), asked)


def prepare(
    trace: Trace | Iterable[Trace], settings: Resample | None = None, **keywords: Any
) -> Resampling:
    """Make the pools and the plan for new logs; settings as of `resample`."""
    asked = Resample.of(settings, keywords)
    asked = replace(asked, rare=tuple(triples(asked.rare)))
    logs = list_of_logs(trace)
    pools = fit_machine(make_pools(logs, asked), asked.procs, asked.rescale)
    if asked.weights is not None:
        pools = weigh(pools, logs, asked.weights)
    plan = make_plan(pools, asked)
    for note in pools.notes:  # nothing is wrong, so there is nothing else to say
        warnings.warn(note, WorkloadWarning, stacklevel=3)
    return Resampling(pools, plan, asked)


def _told(new: Trace) -> Trace:
    """Return a new log; warn if it is empty."""
    if not new.n_jobs:
        warnings.warn(f"{new.name}: no job is in it", WorkloadWarning, stacklevel=3)
    return new


def own_seed(seed: int, i: int) -> int:
    """Return the seed of run i of several.

    Examples
    --------
    >>> own_seed(1, 0) == own_seed(1, 0) != own_seed(1, 1)
    True
    """
    state = np.random.SeedSequence(seed, spawn_key=(i,)).generate_state(1, np.uint64)[0]
    return int(state) % MOST_SEEDS


def _shortest(value: Any) -> Any:
    """Write whole numbers without a decimal point, however they were given."""
    if isinstance(value, list | tuple):
        return [_shortest(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
