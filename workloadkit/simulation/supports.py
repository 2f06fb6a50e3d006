"""What a part supports: the words with which its class declares it.

A class declares its abilities once, ``supports = supporting("reservations")``, and its subclasses
inherit them, except custom ones that define another form. Refusals, tables, the check and the
benchmark ask `supports`.
"""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from workloadkit.errors import ParameterError, WorkloadError, among, quoted

#: What schedulers may support, and what that is.
OF_SCHEDULERS = {
    "machines": "machines other than one pool of processors",
    "nodes": "machines of nodes",
    "outages": "outages",
    "outages of users": "outages of users",
    "adaptation": "being a candidate of self-adaptive",
    "reservations": "reservations",
    "parts": "co-allocation of the parts of meta jobs",
    "metasystem": "metasystems in the compiled engine",
    "queue order": "starts in a metasystem that follow from the order of the queue",
    "benchmark": "entries of the benchmark by default",
    "state": "simulations that begin with a state",
}

#: What `check` proves of the schedules of schedulers that support it.
PROOFS = {
    "each pass": "each pass starts the jobs that the policy starts",
    "recorded starts": "each job starts its recorded wait after its submission",
    "no empty machine": "no job waits while the machine is empty",
}

#: What predictors may support.
OF_PREDICTORS = {"repetition": "predictions that `check` repeats"}

#: What schedulers support that declare nothing.
USUAL = frozenset({"machines", "nodes", "outages", "outages of users", "adaptation"})


class Memory(NamedTuple):
    """What a part remembers besides the running and waiting jobs: its attribute `memory`.

    Of a scheduler, a predictor or a machine. A simulation cut and continued from a saved state,
    which holds it, is as if uncut. Parts without one continue from running and waiting jobs alone.

    Parameters
    ----------
    what : str
        What decides starts besides them.
    instead : str
        What the part begins with where a state does not hold it; empty if it is refused.
    only : str
        With which parameters it remembers this, if not always; its attribute `remembers` then is
        whether it does.
    kept : bool
        Whether a saved state holds it.
    of_machine : bool
        Whether it holds only for a machine of the same size.

    Examples
    --------
    >>> from workloadkit.simulation.schedulers import Conservative
    >>> Conservative.memory.what, Conservative.memory.instead
    ('the reserved starts of waiting jobs', 'reservations in the order of submission')
    """

    what: str
    instead: str = ""
    only: str = ""
    kept: bool = True
    of_machine: bool = False


class Memories(NamedTuple):
    """What the parts of a simulation remember as it begins with a state; None for nothing.

    Of columns of jobs, each has a value for each of the running and waiting jobs, in the order of
    arrival.

    Parameters
    ----------
    scheduler : mapping, optional
        See `Scheduler.remember`.
    machine : mapping, optional
        Columns of jobs alone: `turn`, the order of the starts, and `place`, see `Machine.put`.
    predictor : mapping, optional
        See `workloadkit.simulation.predictors`.
    goes_on : bool
        Whether all settings are those of the simulation that was cut. Otherwise a pass comes first.
    """

    scheduler: Mapping[str, Any] | None = None
    machine: Mapping[str, Any] | None = None
    predictor: Mapping[str, Any] | None = None
    goes_on: bool = False


NOTHING = Memories()

#: Columns of jobs that the machine remembers if there are outages.
OF_INTERRUPTED = {"interruptions", "lost_work"}

_WITHIN = ("outages", "outages of users")  # the machine, which jobs must not exceed then


def supporting(
    *words: str, base: Collection[str] = USUAL, without: Collection[str] = ()
) -> frozenset[str]:
    """Return what a class supports, for its attribute `supports`.

    Parameters
    ----------
    *words : str
        Keys of `OF_SCHEDULERS`, `PROOFS` and `OF_PREDICTORS`.
    base : collection of str
        What it supports besides; by default what is usual.
    without : collection of str
        What of that it does not support.

    Raises
    ------
    ParameterError
        For an unknown word.

    Examples
    --------
    >>> sorted(supporting("reservations", without=("nodes", "outages of users")))
    ['adaptation', 'machines', 'outages', 'reservations']
    """
    known = {**OF_SCHEDULERS, **PROOFS, **OF_PREDICTORS}
    for word in (*base, *words, *without):
        if word not in known:
            raise ParameterError(f"supports has unknown word {quoted(word)}; {among(word, known)}")
    return frozenset({*base, *words} - {*without})


def supports(part: Any, what: str) -> bool:
    """Whether a part, or the objects of a class, support something.

    A custom class that defines a form declares what this form supports. If it does not, the
    scheduler in plain Python says what happens to its queue and machine; the rest is as usual.
    Custom orders may depend on users, for whom nothing can be reserved.

    Examples
    --------
    >>> from workloadkit.simulation.schedulers import Conservative, Lookahead
    >>> supports(Lookahead(), "machines"), supports(Conservative, "reservations")
    (False, True)
    """
    kind = part if isinstance(part, type) else type(part)
    if what in _WITHIN and getattr(kind, "overcommits", False):
        return False
    forms = {"plain", "compiled", "key" if what == "reservations" else ""}
    for each in kind.__mro__:
        is_ours = each.__module__.startswith("workloadkit.")
        if "supports" in vars(each):
            words: frozenset[str] = vars(each)["supports"]
            return what in (words if is_ours else supporting(*words, base=()))
        if not (is_ours or forms.isdisjoint(vars(each))):
            break
    if kind is part or what not in (*_WITHIN, "parts"):
        return what in USUAL
    return supports(part.plain(), what)


def that_support(known: Mapping[str, Any], what: str) -> list[str]:
    """Return the names of the classes that support something.

    Examples
    --------
    >>> from workloadkit.simulation import schedulers
    >>> that_support(schedulers.known(), "no empty machine")
    ['multi-queue', 'genetic']
    """
    return [name for name, kind in known.items() if supports(kind, what)]


def memory_of(part: Any) -> Memory | None:
    """Return what a part remembers besides the running and waiting jobs, if anything.

    Examples
    --------
    >>> from workloadkit.simulation.schedulers import Easy, UserPriority
    >>> memory_of(Easy()), memory_of(UserPriority(by="recency")).what
    (None, 'the latest submissions of users')
    """
    memory: Memory | None = getattr(part, "memory", None)
    return memory if getattr(part, "remembers", True) else None


#: How a simulation continues with most schedulers.
ALONE = "running and waiting jobs alone"


def continued_from(kind: Any) -> tuple[str, str]:
    """Return from what a simulation with a class of schedulers continues as if uncut.

    Also with what it begins from running and waiting jobs alone, if that is something else.

    Examples
    --------
    >>> from workloadkit.simulation.schedulers import Easy, RecordedSchedule
    >>> continued_from(Easy), continued_from(RecordedSchedule)[1]
    (('running and waiting jobs alone', ''), 'refused')
    """
    memory: Memory | None = getattr(kind, "memory", None)
    if not supports(kind, "state"):
        return "none", "refused"
    if memory is None:
        return ALONE, ""
    only = memory.only and f"{ALONE}; with {memory.only}, "
    state = "a saved state, for" if memory.kept else "no state, as none holds"
    return f"{only}{state} {memory.what}", memory.instead or "refused"


@contextmanager
def recalling() -> Iterator[None]:
    """Refuse a saved state that does not hold what a scheduler recalls from it."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise WorkloadError(
            "StateMemory in the header is not what simulate --save-state writes for this scheduler"
        ) from error
