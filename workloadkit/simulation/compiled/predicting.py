"""Predictors of run times, compiled separately from the event loop.

A *predictor* is a NamedTuple with functions of (state, job, now) in the module that
`parts.register_functions` links to it. Their state has two fields: `jobs` and `predictor`.

- ``plan``: set the estimate of a job that arrives, or waits; until then it is the limit;
- ``learn``: learn from a job that has ended;
- ``correct``: set the estimate of a running job that has outlived it.

Each may be absent. They become one native function, which the loops of all policies call by its
address. So each loop is compiled once, for all predictors and for none.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import chosen_by_type, inline, interpreted, native
from workloadkit._kernels.memory import lay_out, pack
from workloadkit.errors import ParameterError
from workloadkit.simulation.compiled.parts import by_part, functions_of, is_built_in
from workloadkit.simulation.compiled.state import Jobs, no_jobs
from workloadkit.simulation.supports import recalling
from workloadkit.simulation.workload import Rules, Workload, predictor_rng

# What a predictor does.
PLAN, LEARN, CORRECT = range(3)


class Predicting(NamedTuple):
    """A predictor, or none, as a part of the state.

    Parameters
    ----------
    is_there, corrects, renews : bool
        Whether there is one; whether it corrects estimates that jobs have outlived; whether it
        plans waiting jobs again once others have ended.
    predictor : int
        Its address, in the compiler's layout.
    function : int
        Address of its native function.
    kept : ndarray of uint8
        The memory at that address. It only points to the predictor's arrays, which stay with the
        predictor.
    """

    is_there: bool
    corrects: bool
    renews: bool
    predictor: Any
    function: int
    kept: NDArray[np.uint8]


class Seen(NamedTuple):
    """What the functions of a predictor receive as the state."""

    jobs: Jobs
    predictor: Any


NO_PREDICTOR = Predicting(False, False, False, 0, 0, np.empty(0, np.uint8))


def compiled_predictor(workload: Workload, rules: Rules) -> Any:
    """Return the tuple of a predictor in the compiled engine, for one simulation.

    Raises
    ------
    ParameterError
        If the predictor has no compiled form.
    """
    predictor: Any = rules.predictor
    try:
        part = predictor.compiled(workload, *predictor_rng(rules))
    except NotImplementedError:
        part = None
    if not hasattr(part, "_fields"):
        name = getattr(predictor, "name", type(predictor).__name__)
        raise ParameterError(
            f"predictor {name}: compiled returns no NamedTuple; take engine='python'"
        )
    if rules.memory.predictor is not None:
        with recalling():
            part = predictor.recall(part, workload, rules.memory.predictor)
    return part


def predicting(predictor: Any, dtype: np.dtype) -> Predicting:
    """Return a predictor as a part of the state, with times of a given type."""
    corrects = hasattr(functions_of(type(predictor)), "correct")
    corrects = corrects and bool(getattr(predictor, "corrects", True))
    renews = bool(getattr(predictor, "renewed", False))
    if interpreted():
        return Predicting(True, corrects, renews, predictor, 0, np.empty(0, np.uint8))
    layout, words = lay_out(predictor)
    memory = np.frombuffer(bytearray(pack(layout, words)), np.uint8)
    if (layout, dtype) not in _functions:
        examples = (predictor, no_jobs(dtype), 0, 0, 0, dtype.type(0))
        _functions[layout, dtype] = native(_act, examples, is_cached=is_built_in(predictor))
    address = int(_functions[layout, dtype].address)
    return Predicting(True, corrects, renews, memory.ctypes.data, address, memory)


_functions: dict[Any, Any] = {}


@inline
def _nothing(state, what, now):
    pass


_plan = by_part("predictor", "plan", _nothing)
_learn = by_part("predictor", "learn", _nothing)
_correct = by_part("predictor", "correct", _nothing)


def _act(predictor, jobs, what, job, _, now):
    state = Seen(jobs, predictor)
    if what == PLAN:
        _plan(state, job, now)
    elif what == LEARN:
        _learn(state, job, now)
    else:
        _correct(state, job, now)


def predict(predicting, jobs, what, job, now):
    """Let a predictor plan, learn or correct."""
    _act(predicting.predictor, jobs, what, job, 0, now)


@chosen_by_type(predict)
def _predict(predicting, jobs, what, job, now):
    from workloadkit._kernels.native_calls import call

    return lambda predicting, jobs, what, job, now: call(
        predicting.function, predicting.predictor, jobs, what, job, 0, now
    )
