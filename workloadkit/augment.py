"""Give the jobs of a log utility functions, drawn from a model or taken from a table."""

import warnings
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.columns import Columns
from workloadkit.distinct import distinct
from workloadkit.errors import ParameterError, WorkloadWarning, among, check_not_negative, quoted
from workloadkit.fields import MAX_TIME
from workloadkit.provenance import as_note, noted, provenance, seed_of
from workloadkit.settings.making import DECAYS, Augment, Deadline
from workloadkit.settings.setting import takes
from workloadkit.trace import Trace, check_trace
from workloadkit.utility import Utilities, check, unpack

if TYPE_CHECKING:
    from workloadkit.utility_tables import UtilityShapes

#: The shortest time within which a job loses all its value. [s]
SHORTEST_DEADLINE = 10.0

_WITHOUT_WAITS: dict[Deadline, str] = {
    "wait": f"all value is lost within {SHORTEST_DEADLINE:g} s; with the deadlines wait+run and "
    "wait+requested jobs differ",
    "wait+run": "deadlines are multiples of the run time alone",
    "wait+requested": "deadlines are multiples of the requested time alone, else the run time",
}

_SHOWN = 12  # number of queues listed in a warning


@takes(Augment)
def add_utility(
    trace: Trace,
    *,
    rng: np.random.Generator | int | None = None,
    settings: Augment | None = None,
    **keywords: Any,
) -> Trace:
    """Give every job a utility function, as in Lee and Snavely [1]_.

    The value of a requested processor-minute is normally distributed around the middle of the bin
    of the job's priority, and at least 0; multiplied by the requested processors and minutes it is
    the job's start value. The value falls to 0 at the deadline in one of three ways:

    - linear: times and values of inner points are uniform and sorted;
    - exponential: each value is uniform below the previous one;
    - step: the start value up to a uniform time, then a uniform fraction of it up to the deadline.

    Parameters
    ----------
    trace : Trace
        Existing utility functions are replaced.
    rng : Generator or int, optional
        Random generator or seed; the header records the seed.
    settings : workloadkit.settings.Augment, optional
        All following parameters as one object; keyword arguments take precedence.
    {settings}

    Returns
    -------
    Trace
        Jobs of unknown size, and jobs without an entry in the table, have no utility function;
        a warning counts them.

    Raises
    ------
    ParameterError
        If a value is invalid.
    WorkloadError
        If a table does not contain utility functions.

    Notes
    -----
    The text of [1]_ states that "higher priority jobs should have higher start values than lower
    priority ones", whereas its formula, mean = (priority + 0.5) / N · globmax, gives priority 0,
    the highest of N, the lowest mean. The default follows the text:
    mean = (N − priority − 0.5) / N · globmax.

    The deadline of the text is twice the recorded wait. If a job waits as recorded and its value
    counts at its end, all value is lost if it runs for longer than it waited. In the three
    weeks of SDSC-BLUE simulated in [1]_, under EASY, this affects more than three quarters of the
    jobs, whereas in the tables of [1]_ the best quarter keeps at least 90 % of the start value.
    With ``deadline="wait+run"``, the default, it keeps 86 %. The source does not state the number
    of inner points; with a single one, linear and exponential decay would not differ as they do in
    its Figure 5. The default is 3.

    References
    ----------
    .. [1] C. B. Lee, A. E. Snavely, "Precise and realistic utility functions for user-centric
       performance analysis of schedulers", HPDC 2007, sections 4.2 and 4.3.

    Examples
    --------
    >>> jobs = {"submit": [0, 5], "wait": [60, 0], "run": [90, 30], "procs": [4, 1]}
    >>> log = Trace.from_columns(jobs | {"queue": [1, 0]})
    >>> trace = add_utility(log, priority={0: 0, 1: 1}, decay="step", sd=0, rng=1)
    >>> for points in trace.utilities.values():
    ...     print([(round(time, 3), round(value, 3)) for time, value in points])
    [(0.0, 1.5), (43.248, 1.5), (43.249, 1.423), (300.0, 1.423)]
    [(0.0, 0.375), (49.662, 0.375), (49.663, 0.153), (60.0, 0.153)]
    """
    check_trace(trace)
    if len(trace.table("utility")):
        _warn(f"{trace.name}: existing utility functions are replaced", stacklevel=3)
    options = Augment.of(settings, keywords)
    kinds, table, priority = _decays(options.decay), options.table, options.priority
    given = None
    if table is not None:
        from workloadkit.utility_tables import read_table

        given = read_table(table)
    if given is not None and given.of_jobs:
        functions, n_others = given.functions(trace)
        if n_others:
            _warn(f"{given.name}: {_jobs(n_others)} not in {trace.name}", stacklevel=3)
        return _augmented(trace, unpack(functions), {"table": given.name})

    rank, n_priorities = _ranks(trace, priority)
    bins_below = rank if options.formula == "paper" else n_priorities - 1 - rank
    law = _Law(
        mean=(bins_below + 0.5) / n_priorities * options.globmax,
        sd=options.sd * options.globmax / n_priorities,
        size=_sizes(trace),
        deadline=_deadlines(trace, options.deadline, options.deadline_factor),
    )
    shapes = None if given is None else given.shapes(trace)
    chosen = ~np.isnan(law.size)
    if shapes is not None:
        chosen &= shapes.n_shapes > 0
    rows = np.flatnonzero(chosen)
    seed = seed_of(rng)
    generator = np.random.default_rng(seed)
    if shapes is None:
        drawn = _draw(law.take(rows), kinds, int(options.points), generator)
    else:
        drawn = _stretch(law.take(rows), shapes, rows, generator)
    points = unpack(drawn)
    recorded = options.recorded | {"points": int(options.points), "decay": _written(kinds)}
    if priority is not None:
        recorded["priority"] = _written(priority)
    if given is not None:
        del recorded["decay"], recorded["points"]
        recorded["table"] = given.name
    return _augmented(trace, points | {"row": rows[points["row"]]}, {"seed": seed} | recorded)


def queue_descriptions(trace: Trace) -> list[str]:
    """Return the descriptions of the queues in the header of a log.

    Examples
    --------
    >>> from workloadkit import Header
    >>> header = Header(("; Queue:  0  interactive", "; Queue:  1  express"))
    >>> queue_descriptions(Trace.from_columns({"submit": [0]}, header=header))
    ['0 interactive', '1 express']
    """
    return [" ".join(line.split()) for line in trace.header.get_all("Queue")]


def _augmented(trace: Trace, points: dict[str, NDArray], parameters: dict[str, Any]) -> Trace:
    """Return the log with utility functions and a note on their origin."""
    n_without = trace.n_jobs - distinct(points["row"]).size
    if n_without:
        why = "they are not in the table" if "table" in parameters else "their size is unknown"
        _warn(f"{trace.name}: no utility function for {_jobs(n_without)}: {why}")
    note = as_note(provenance(trace, **parameters))
    made = noted(trace.replaced(utility=Columns(points)), trace.header, "utility functions", note)
    check(made)
    return made


class _Law(NamedTuple):
    """Parameters of the start values and deadlines, per job except for `sd`."""

    mean: NDArray[np.float64]
    sd: float
    size: NDArray[np.float64]
    deadline: NDArray[np.float64]

    def take(self, rows: NDArray[np.intp]) -> "_Law":
        return _Law(self.mean[rows], self.sd, self.size[rows], self.deadline[rows])


def _draw(
    law: _Law, decay: Mapping[str, float], n_inner: int, rng: np.random.Generator
) -> Utilities:
    """Draw functions from the model."""
    from workloadkit._kernels.utility import draw_functions

    kinds = np.array([DECAYS.index(name) for name in decay])
    passed = np.cumsum(np.array(list(decay.values()), dtype=np.float64))
    return Utilities(*draw_functions(rng, kinds, passed, *law, n_inner))


def _stretch(
    law: _Law, shapes: "UtilityShapes", rows: NDArray[np.intp], rng: np.random.Generator
) -> Utilities:
    """Draw a shape and a start value for the job at each row, and scale the shape."""
    from workloadkit._kernels.utility import draw_shapes

    place, normal = draw_shapes(rng, shapes.n_shapes[rows])
    start = np.maximum(law.mean + law.sd * normal, 0) * law.size
    first, time, value = shapes.functions.take(shapes.first[rows] + place)
    n_points = np.diff(first)
    deadline, start = (np.repeat(x, n_points) for x in (law.deadline, start))
    return Utilities(first, time * deadline, value * start)


def _sizes(trace: Trace) -> NDArray[np.float64]:
    """Return requested (else used) processors times minutes; NaN if unknown."""
    requested, used = trace.column("requested_procs"), trace.used_procs
    procs = np.where(requested > 0, requested, np.where(used > 0, used, np.nan))
    return np.asarray(procs * _requested_time(trace) / 60)


def _requested_time(trace: Trace) -> NDArray[np.float64]:
    """Return the requested time, else the run time; NaN if both are unknown. [s]."""
    requested, run = trace.column("requested_time"), trace.column("run")
    return np.where(requested >= 0, requested, np.where(run >= 0, run, np.nan))


def _deadlines(trace: Trace, kind: Deadline, factor: float) -> NDArray[np.float64]:
    """Return when jobs lose all their value, counting unknown times as 0. [s]."""
    wait = trace.column("wait")
    if trace.n_jobs and not (wait >= 0).any():  # false for NaN
        _warn(f"{trace.name}: all waits are unknown, so {_WITHOUT_WAITS[kind]}")
    times = np.maximum(np.nan_to_num(wait), 0)
    if kind != "wait":
        more = trace.column("run") if kind == "wait+run" else _requested_time(trace)
        times = times + np.maximum(np.nan_to_num(more), 0)
    with np.errstate(over="ignore"):  # checked below
        deadlines = np.maximum(factor * times, SHORTEST_DEADLINE)
    if deadlines.max(initial=0) > MAX_TIME:
        job = trace.column("job")[np.argmax(deadlines)]
        raise ParameterError(
            "deadline_factor",
            f"is {factor:g}; the deadline of job {job}, {deadlines.max():g} s, is "
            f"above the limit of {MAX_TIME:g} s",
        )
    return deadlines


def _ranks(trace: Trace, priority: Mapping[int, int] | None) -> tuple[NDArray[np.int64], int]:
    """Return the rank of each job's priority (0 is the highest) and the number of ranks."""
    numbers, place, n_jobs = np.unique(
        trace.column("queue"), return_inverse=True, return_counts=True
    )
    queues = numbers.tolist()
    if priority is None:
        known = [queue for queue in queues if queue >= 0]
        ranks = {queue: rank for rank, queue in enumerate(known)}
        n_unknown = int(n_jobs[numbers < 0].sum())
        n_ranks = len(known) + (n_unknown > 0)
        if not known:
            _warn(f"{trace.name}: all queues are unknown; all jobs have the same priority")
        else:
            lowest = f"; {_jobs(n_unknown)} of unknown queue have the lowest" if n_unknown else ""
            _warn(
                f"{trace.name}: no priorities are given; queue numbers are used as priorities: "
                f"{_listed(known)}, highest first{lowest}"
            )
    else:
        _check_priority(priority)
        order = {value: rank for rank, value in enumerate(sorted(set(priority.values())))}
        ranks = {int(queue): order[value] for queue, value in priority.items()}
        n_ranks = len(order)
        if others := [queue for queue in queues if queue not in ranks]:
            n_others = int(n_jobs[np.isin(numbers, others)].sum())
            _warn(
                f"{trace.name}: {_jobs(n_others)} have the lowest priority, because these queues "
                f"have none: {_listed(others)}"
            )
    of_queue = np.array([ranks.get(queue, n_ranks - 1) for queue in queues], dtype=np.int64)
    return of_queue[place], n_ranks


def _check_priority(priority: Mapping[int, int]) -> None:
    """Check that priorities map whole numbers to whole numbers."""
    if not isinstance(priority, Mapping) or not priority:
        raise ParameterError("priority", f"is {quoted(priority)}; it must map queues to priorities")
    for queue, value in priority.items():
        for x in (queue, value):
            if not isinstance(x, Real) or isinstance(x, bool) or not float(x).is_integer():
                raise ParameterError(
                    f"priority of queue {quoted(queue)} is {quoted(value)}; both must be whole "
                    "numbers"
                )


def _decays(decay: object) -> dict[str, float]:
    """Return the requested kinds of decay and their positive weights."""
    names: Any = [decay] if isinstance(decay, str) else decay
    if not isinstance(names, Mapping):
        if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
            raise ParameterError(
                "decay", f"is {quoted(decay)}; it must be names, or a mapping of names to weights"
            )
        if len(set(names)) < len(names):
            raise ParameterError("decay", f"is {quoted(decay)}; a name occurs twice")
        names = dict.fromkeys(names, 1.0)
    for name, weight in names.items():
        if name not in DECAYS:
            raise ParameterError("decay", f"is {quoted(name)}; {among(name, DECAYS)}")
        check_not_negative(**{f"weight of decay {name}": weight})
    kinds = {name: weight for name, weight in names.items() if weight > 0}
    if not kinds:
        raise ParameterError("decay", ": at least one kind must have a weight above 0")
    return kinds


def _written(mapping: Mapping[Any, float]) -> str:
    """Format a mapping for a header note.

    Examples
    --------
    >>> _written({1: 2, 3: 0}), _written({"linear": 1.0, "step": 2.5})
    ('1=2 3=0', 'linear=1 step=2.5')
    """
    return " ".join(f"{key}={value:g}" for key, value in mapping.items())


def _listed(numbers: list[int]) -> str:
    shown = ", ".join(map(str, numbers[:_SHOWN]))
    return f"{shown}, …" if len(numbers) > _SHOWN else shown


def _jobs(n_jobs: int) -> str:
    return f"{n_jobs:,} job{'s' * (n_jobs != 1)}"


def _warn(message: str, *, stacklevel: int = 4) -> None:
    """Warn at the caller of `add_utility`."""
    warnings.warn(message, WorkloadWarning, stacklevel=stacklevel)
