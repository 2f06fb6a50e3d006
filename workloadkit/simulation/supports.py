"""What a part supports: the words with which its class declares it.

A class declares its abilities once, ``supports = supporting("reservations")``, and its subclasses
inherit them, except custom ones that define another form. Refusals, tables, the check and the
benchmark ask `supports`.
"""

from collections.abc import Collection, Mapping
from typing import Any

from workloadkit.errors import ParameterError, among, quoted

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
    "state": "simulations that begin with running and waiting jobs",
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
