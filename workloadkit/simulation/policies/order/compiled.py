"""EASY in the order of a score, in the compiled engine."""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from workloadkit._kernels.compile import (
    compiler_errors,
    in_python,
    interpreted,
    native,
    of_floats,
)
from workloadkit._kernels.floats import in_floats
from workloadkit._kernels.memory import lay_out, pack
from workloadkit.custom import Source
from workloadkit.errors import ParameterError
from workloadkit.simulation.compiled.orders import check_frozen
from workloadkit.simulation.compiled.state import no_jobs
from workloadkit.simulation.orders import SCORE, SCORED, FixedOrder, Scoring, VaryingOrder, settled
from workloadkit.simulation.policies.compiled import CompiledPolicy
from workloadkit.simulation.policies.easy.trees import CompiledEasy
from workloadkit.simulation.policies.order import kernel
from workloadkit.simulation.policies.order.expression import OF_LOG
from workloadkit.simulation.policies.order.kernel import Score
from workloadkit.simulation.policies.order.plain import check_log
from workloadkit.simulation.policies.reservations.compiled import CompiledReservations
from workloadkit.simulation.policies.varying import (
    PATIENCE_WITH_SCORES,
    CompiledVarying,
)
from workloadkit.simulation.workload import Rules, Workload, shortest_estimate

if TYPE_CHECKING:
    from workloadkit.simulation.policies.order import Order


def compiled_order(policy: "Order", workload: Workload, rules: Rules) -> CompiledPolicy:
    """Return EASY in the order of a score, for one simulation in the compiled engine."""
    (score, backfill), reservations = policy.scores, policy.reservations
    second = None if isinstance(backfill, str) else backfill
    check_log((score, second), workload.users is None)
    memories = [new_memory(each, workload) for each in (score, second) if each is not None]
    dtype = workload.submit.dtype
    scorings = [
        scoring(each, memory, dtype)
        for each, memory in zip(filter(None, (score, second)), memories, strict=True)
    ]
    how: CompiledPolicy
    if score.is_settled and (second is None or second.is_settled):
        order = FixedOrder(SCORE, np.empty(0, np.int64), scorings[0])
        by: Any = order
        if second is not None:
            by = FixedOrder(SCORE, np.empty(0, np.int64), scorings[1])
        elif backfill != "same":
            by = None if backfill == "none" else settled(str(backfill))
        if reservations > 1 and by is not None:
            how = CompiledReservations(workload, rules, order, by, reservations)
        else:
            how = CompiledEasy(workload, rules, order, by, policy.overtaking)
    else:
        in_time = VaryingOrder(SCORE, scorings[0])
        then: Any = backfill if second is None else VaryingOrder(SCORE, scorings[1])
        if reservations > 1 and then != "none":
            by = in_time if then == "same" else settled(then) if isinstance(then, str) else then
            how = CompiledReservations(workload, rules, in_time, by, reservations)
        else:
            how = CompiledVarying(
                workload,
                rules,
                in_time,
                then,
                policy.overtaking,
                favours_waiting=score.favours_waiting(_shortest(workload)),
                patience=PATIENCE_WITH_SCORES,
            )
    how.kept = memories
    return how


def _shortest(workload: Workload) -> float:
    """Return a time that no estimate and no limit of a log's jobs falls below. [s]."""
    least = shortest_estimate(workload.submit)
    if least > 0 or workload.users is not None:
        return least
    times = (workload.estimate, workload.limit)
    return min(float(known.min()) for known in times if known is not None)


def settled_score(score: Score, workload: Workload) -> tuple[FixedOrder, kernel.ScoreMemory]:
    """Return a settled score as an order, and what its native function refers to."""
    memory = new_memory(score, workload)
    scored = scoring(score, memory, workload.submit.dtype)
    return FixedOrder(SCORE, np.empty(0, np.int64), scored), memory


def new_memory(score: Score, workload: Workload) -> kernel.ScoreMemory:
    """Return a score with its arrays."""
    program, dtype = score.program, workload.submit.dtype
    steps = np.array(program.steps, np.int64).reshape(-1, 2).T.copy()
    none = np.empty(0, np.int64)
    person, n_users = none, 0
    if score.follows_users and workload.users is None:
        users, person = np.unique(workload.user, return_inverse=True)
        n_users = users.size
    elif score.follows_users:
        n_users = workload.users.agenda.time.size
    of_log: tuple[Any, ...] = (none,) * len(OF_LOG)
    if score.is_of_log:
        of_log = (workload.job, workload.group, workload.partition, workload.tiers)
    known_by = workload.known_by
    return kernel.ScoreMemory(
        what=steps[0].copy(),
        which=steps[1].copy(),
        numbers=np.array(program.numbers, np.float64),
        stack=np.empty(program.depth),
        value=np.empty(1),
        oldest_first=float(score.oldest_first),
        decay=math.log(2.0) / score.half_life,
        person=person.astype(np.int64),
        user_number=none if known_by is None else np.asarray(known_by, np.int64),
        of_log=np.array(of_log),
        work=np.zeros((4, n_users)),
        used_at=np.zeros(n_users, dtype),
    )


def scoring(score: Score, memory: kernel.ScoreMemory, dtype: np.dtype) -> Scoring:
    """Return a score as loops call it."""
    act, digest = kernel.act, ""
    if score.function is not None:
        digest = Source(score.function).digest
        act = _act_of(score.function, digest, len(score.program.steps))
    if interpreted():
        return Scoring(score.follows_users, memory, act, memory.value, np.empty(0, np.uint8))
    layout, words = lay_out(memory)
    kept = np.frombuffer(bytearray(pack(layout, words)), np.uint8)
    key = (layout, dtype, act)
    if key not in _functions:
        examples = (memory, no_jobs(dtype), SCORED, 0, 0, dtype.type(0))
        _functions[key] = _native(score, act, examples)
    address = int(_functions[key].address)
    return Scoring(score.follows_users, kept.ctypes.data, address, memory.value, kept)


_functions: dict[Any, Any] = {}


def _native(score: Score, act: Callable[..., Any], examples: tuple[Any, ...]) -> Any:
    if score.function is None:
        return native(act, examples, is_cached=True)
    errors = compiler_errors()
    try:
        return native(act, examples, is_cached=False)
    except errors as error:
        name = getattr(score.function, "__name__", "score")
        raise ParameterError(
            f"scheduler order: {name} cannot be compiled; take engine='python'"
        ) from error


@lru_cache
def _act_of(function: Callable[..., Any], digest: str, n_arguments: int) -> Callable[..., Any]:
    """Make the native function of a score that is a function, once per process and source."""
    check_frozen(function)
    compiled = (in_floats if interpreted() else of_floats)(in_python(function))
    follow, run = kernel.follow, kernel.run
    arguments = _arguments(n_arguments)

    def act(memory: Any, jobs: Any, what: int, job: int, _: int, now: float) -> None:
        if what != SCORED:
            follow(memory, jobs, what, job, now)
        elif now - jobs.submit[job] > memory.oldest_first:
            memory.value[0] = -np.inf
        else:
            run(memory, jobs, job, now)
            value = float(compiled(*arguments(memory.stack)))
            memory.value[0] = value if value == value else np.inf

    return act


def _arguments(count: int) -> Callable[..., Any]:
    """Return a function of an array that returns its first numbers as a tuple."""
    if interpreted():
        return lambda stack: tuple(stack[:count].tolist())
    compiler_errors()
    from numba import njit
    from numba.np.unsafe.ndarray import to_fixed_tuple

    take: Any = to_fixed_tuple
    return njit(lambda stack: take(stack, count))
