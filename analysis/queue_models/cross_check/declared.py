"""The models of a cross-check, each with the simulation that must agree with it.

A model declares itself by an entry of `MODELS`: its theory, its population, policy and machine,
what is compared, and the point of `crosscheck all`.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, get_args

import numpy as np

from workloadkit.analysis.queue_models.cross_check.estimates import Group, Kind
from workloadkit.analysis.queue_models.cross_check.models import (
    CheckedModel,
    ModelMeasure,
    Point,
    Responses,
    as_again,
    as_pause,
    whole,
)
from workloadkit.analysis.queue_models.cross_check.networks import NETWORKS
from workloadkit.analysis.queue_models.cross_check.one_station import (
    Classes,
    Order,
    gamma_times,
    play_batches,
    play_breakdowns,
    play_bulk,
    play_by_size,
    play_classes,
    play_fork_join,
    play_general,
    play_impatient,
    play_sources,
    play_vacations,
)
from workloadkit.analysis.queue_models.cross_check.stations import play_limited_room
from workloadkit.errors import ParameterError, among, quoted
from workloadkit.simulation import users

_OPEN = ("lam", "S")


def four(group: Group, letter: str) -> tuple[ModelMeasure, ...]:
    """Return X, R, Q and U of a group of jobs, whose names end with a letter."""
    x, r, q, u = (f"{name}{letter}" for name in "XRQU")
    return (
        ModelMeasure(x, "X", group, (x,)),
        ModelMeasure(r, "R", group, (r,)),
        ModelMeasure(q, "Q", group, (x, r)),
        ModelMeasure(u, "U", group, (x,)),
    )


def _declared(
    theory: str,
    needed: tuple[str, ...],
    known: tuple[str, ...],
    simulated: Callable[[Point], Callable[..., Any]],
    *,
    measured: Callable[[Point], tuple[ModelMeasure, ...]] = lambda _: four("all", ""),
    laws: Callable[[Point], tuple[Responses, ...]] = lambda _: (Responses("R", "open", "all"),),
    **others: Any,
) -> CheckedModel:
    """Return a model of one queue, by default with X, R, Q and U of all jobs."""
    return CheckedModel(theory, needed, known, simulated, measured, laws, **others)


def _poisson(point: Point) -> Callable[..., Any]:
    return lambda **how: users.Poisson(point["lam"], **how)


def _fixed(point: Point) -> Callable[..., Any]:
    return lambda **how: users.Poisson(point["lam"], law="fixed", **how)


def _think(point: Point) -> Callable[..., Any]:
    return lambda **how: users.Think(whole(point["N"]), point["Z"], **how)


def _mixed(point: Point) -> Callable[..., Any]:
    p = point.get("p")
    chance = None if p is None else as_again(p, point["S"])
    think = as_pause(point["Z"], point["S"])
    return lambda **how: users.Mixed(point["lam"], whole(point["N"]), think, again=chance, **how)


def _reopen(point: Point) -> Callable[..., Any]:
    think = as_pause(point["Z"], point["S"])
    return lambda **how: users.Reopen(point["lam"], as_again(point["p"], point["S"]), think, **how)


def _of_mixed(point: Point) -> tuple[ModelMeasure, ...]:
    closed = four("closed", "c") if point.get("N") else ()
    opened = four("open", "o") if point.get("lam") else ()
    if opened and point.get("p") is not None:
        opened += (
            ModelMeasure("Ro_first", "R", "first", ("Ro_first",)),
            ModelMeasure("jobs_per_user", "per_first", "open", ("Xo",)),
        )
    return closed + opened


def _laws_of_mixed(point: Point) -> tuple[Responses, ...]:
    laws: list[Responses] = []
    if point.get("N"):
        laws.append(Responses("Rc", "closed", "closed"))
    if point.get("lam"):
        laws.append(Responses("Ro", "open", "open"))
        if point.get("p") is not None:
            laws.append(Responses("Ro_first", "first", "first"))
    return tuple(laws)


def _of_reopen(_: Point) -> tuple[ModelMeasure, ...]:
    return (
        *four("all", ""),
        ModelMeasure("R_first", "R", "first", ("R_first",)),
        ModelMeasure("jobs_per_user", "per_first", "all", ("X",)),
    )


def _limited_room(point: Point) -> Callable[..., Any]:
    """Return a simulation of its own: the scheduler refuses no job."""
    lam, servers, room = (point[name] for name in ("lam", "servers", "K"))
    return lambda run, jobs: partial(play_limited_room, lam, run, whole(servers), whole(room), jobs)


def _impatient(point: Point) -> Callable[..., Any]:
    lam, servers, patience = (point[name] for name in ("lam", "servers", "patience"))
    return lambda run, jobs: partial(play_impatient, lam, run, whole(servers), patience, jobs)


def _any_service(point: Point) -> Callable[..., Any]:
    """Return a function that draws gamma-distributed run times, for users with these in order."""
    lam, scv = float(point["lam"]), float(point["scv"])
    return lambda run, jobs: partial(_gamma_jobs, lam, run, scv, jobs)


def _gamma_jobs(lam: float, run: float, scv: float, jobs: int, rng: np.random.Generator) -> Any:
    times = np.maximum(gamma_times(rng, run, scv, jobs), 1e-300)
    return users.Poisson(lam, run=times, law="listed", jobs=jobs)


def _own(play: Callable[..., Any], *names: str) -> Callable[[Point], Callable[..., Any]]:
    """Return the simulation of its own of a station with lam, S and further parameters."""

    def simulated(point: Point) -> Callable[..., Any]:
        others = [float(point.get(name, 1.0)) for name in names]
        return lambda run, jobs: partial(play, float(point["lam"]), run, *others, jobs)

    return simulated


def _by_size(order: Order) -> CheckedModel:
    known = (*_OPEN, *(() if order == "ps" else ("scv",)))
    return _declared(
        order,
        _OPEN,
        known,
        _own(partial(play_by_size, order), "scv"),
        laws=lambda _: (),
        example={"lam": 0.6, "S": 1} | ({} if order == "ps" else {"scv": 1}),
        fewer=10,
    )


def _of_classes(point: Point) -> Callable[..., Any]:
    """Return the simulation of classes at a station, with priorities or weights."""
    shape = np.broadcast_shapes(*(np.shape(point[name]) for name in _OPEN))
    lam, S, scv = (np.broadcast_to(point.get(x, 1.0), shape) for x in (*_OPEN, "scv"))
    weight = np.broadcast_to(point["weight"], shape) if "weight" in point else None
    servers = whole(float(point.get("servers", 1.0)))
    classes = Classes(lam, S, scv, servers, point.get("order") == "preemptive", weight)
    return lambda jobs: partial(play_classes, classes, jobs)


def _measures_of_classes(point: Point) -> tuple[ModelMeasure, ...]:
    return tuple(
        ModelMeasure(kind, kind, f"class {r}", (kind,), (r,))
        for r in range(np.size(point["lam" if "lam" in point else "N"]))
        for kind in get_args(Kind)[:4]
    )


def _classes(theory: str, *others: str, **example: Any) -> CheckedModel:
    """Return a model of classes, whose parameters are arrays."""
    return _declared(
        theory,
        ("lam", "S", *(("weight",) if theory == "dps" else ())),
        ("lam", "S", *others),
        _of_classes,
        measured=_measures_of_classes,
        laws=lambda _: (),
        example={k: v if isinstance(v, str) else np.array(v, float) for k, v in example.items()},
        arrays=True,
        fewer=10,
    )


def _of_sources(point: Point) -> Callable[..., Any]:
    """Return the simulation of closed users with priorities."""
    shape = np.broadcast_shapes(*(np.shape(point[name]) for name in ("N", "Z", "S")))
    N, Z, S = (np.broadcast_to(point[name], shape) for name in ("N", "Z", "S"))
    servers = whole(float(point.get("servers", 1.0)))
    once = np.ones(shape)
    classes = Classes(once, S, once, servers, point.get("order") == "preemptive", None)
    return lambda jobs: partial(play_sources, classes, N, Z, jobs)


def _of_impatient(_: Point) -> tuple[ModelMeasure, ...]:
    X, R, Q, U = four("all", "")
    return X._replace(group="served"), R, Q, U


def _parallel(point: Point) -> Callable[..., Any]:
    """Return users with jobs of several processors, drawn in advance."""
    p, need = (np.atleast_1d(point[name]) for name in ("p", "need"))
    if np.unique(need).size < need.size:
        raise ParameterError(
            "need has equal values; each class must need another number of processors"
        )
    S = np.broadcast_to(point["S"], need.shape)
    return lambda jobs: partial(_parallel_jobs, float(point["lam"]), p, need, S, jobs)


def _parallel_jobs(
    lam: float, p: np.ndarray, need: np.ndarray, S: np.ndarray, jobs: int, rng: np.random.Generator
) -> Any:
    kind = rng.choice(p.size, jobs, p=p)
    run = np.maximum(rng.exponential(S[kind]), 1e-300)
    return users.Poisson(lam, run=run, procs=need[kind].astype(int), law="listed", jobs=jobs)


def _of_parallel(point: Point) -> tuple[ModelMeasure, ...]:
    """Return X, R, Q and U of all jobs, and X, R and Q of each class."""
    kinds: tuple[Kind, ...] = ("X", "R", "Q")
    return four("all", "") + tuple(
        ModelMeasure(f"class_{kind}", kind, f"procs {int(need)}", (kind,), (r,))
        for r, need in enumerate(np.atleast_1d(point["need"]))
        for kind in kinds
    )


def _any_one_server(
    theory: str, play: Callable[..., Any], example: Mapping[str, float]
) -> CheckedModel:
    known = tuple(example)
    return _declared(
        theory, known, known, _own(play, *known[2:]), laws=lambda _: (), example=example, fewer=5
    )


_ONE_SERVER: dict[str, tuple[Callable[..., Any], dict[str, float]]] = {
    "batches": (play_batches, {"lam": 0.2, "S": 1, "scv": 2, "size": 2, "scv_size": 0.5}),
    "vacations": (play_vacations, {"lam": 0.6, "S": 1, "scv": 2, "away": 2, "scv_away": 0.5}),
    "bulk_service": (play_bulk, {"lam": 1.5, "S": 1, "size": 3}),
    "fork_join": (play_fork_join, {"lam": 0.6, "S": 1, "tasks": 5}),
}

_CLOSED = _declared(
    "closed",
    ("N", "Z", "S"),
    ("N", "Z", "S", "servers", "method"),
    _think,
    laws=lambda _: (Responses("R", "closed", "all"),),
    example={"N": 5, "Z": 4, "S": 1, "servers": 2},
)
_MM1 = _declared("mm1", _OPEN, _OPEN, _poisson, example={"lam": 0.7, "S": 1})
_MMC = _declared(
    "mmc",
    (*_OPEN, "servers"),
    (*_OPEN, "servers"),
    _poisson,
    example={"lam": 2.2, "S": 1, "servers": 3},
)

#: Models by name; poisson and think are the simulator's names.
MODELS: dict[str, CheckedModel] = {
    "mm1": _MM1,
    "mmc": _MMC,
    "sites": replace(_MMC, on_sites=True),
    "mminf": _declared(
        "mminf",
        _OPEN,
        _OPEN,
        _poisson,
        measured=lambda _: four("all", "")[:3],
        example={"lam": 2, "S": 1},
        unlimited=True,
    ),
    "mmck": _declared(
        "mmck",
        (*_OPEN, "servers", "K"),
        (*_OPEN, "servers", "K"),
        _limited_room,
        example={"lam": 2, "S": 1, "servers": 2, "K": 4},
        fewer=5,
    ),
    "md1": _declared("md1", _OPEN, _OPEN, _fixed, example={"lam": 0.7, "S": 1}),
    "mg1": _declared(
        "mg1",
        (*_OPEN, "scv"),
        (*_OPEN, "scv"),
        _any_service,
        laws=lambda _: (),
        example={"lam": 0.5, "S": 1, "scv": 3},
    ),
    "mgc": _declared(
        "mgc",
        (*_OPEN, "scv", "servers"),
        (*_OPEN, "scv", "servers"),
        _any_service,
        laws=lambda _: (),
        example={"lam": 1.4, "S": 1, "scv": 2, "servers": 2},
    ),
    "ggc": _declared(
        "ggc",
        (*_OPEN, "scv_arrivals", "scv", "servers"),
        (*_OPEN, "scv_arrivals", "scv", "servers"),
        _own(play_general, "scv_arrivals", "scv", "servers"),
        laws=lambda _: (),
        example={"lam": 1.4, "S": 1, "scv_arrivals": 0.5, "scv": 2, "servers": 2},
    ),
    **{order: _by_size(order) for order in get_args(Order)},
    "dps": _classes("dps", "weight", lam=[0.3, 0.2], S=[1, 1.5], weight=[3, 1]),
    "priorities": _classes(
        "priorities", "servers", "scv", "order", lam=[0.3, 0.2], S=[0.5, 2], scv=[1, 2]
    ),
    "closed_priorities": replace(
        _classes("priorities", N=[3, 4], Z=[4, 6], S=[0.5, 1]),
        theory="closed_priorities",
        needed=("N", "Z", "S"),
        known=("N", "Z", "S", "servers", "order"),
        simulated=_of_sources,
    ),
    "impatient": _declared(
        "impatient",
        (*_OPEN, "servers", "patience"),
        (*_OPEN, "servers", "patience"),
        _impatient,
        measured=_of_impatient,
        laws=lambda _: (),
        example={"lam": 2.5, "S": 1, "servers": 2, "patience": 2},
        fewer=5,
    ),
    "breakdowns": _declared(
        "breakdowns",
        (*_OPEN, "up", "down"),
        (*_OPEN, "up", "down"),
        _own(play_breakdowns, "up", "down"),
        laws=lambda _: (),
        example={"lam": 0.4, "S": 1, "up": 9, "down": 1},
        fewer=5,
    ),
    **{name: _any_one_server(name, *how) for name, how in _ONE_SERVER.items()},
    "closed": _CLOSED,
    "mixed": _declared(
        "mixed",
        ("lam", "N", "Z", "S"),
        ("lam", "N", "Z", "S", "servers", "method", "p"),
        _mixed,
        measured=_of_mixed,
        laws=_laws_of_mixed,
        example={"lam": 0.3, "N": 4, "Z": 5, "S": 1},
    ),
    "reopen": _declared(
        "reopen",
        ("lam", "p", "Z", "S"),
        ("lam", "p", "Z", "S", "servers", "method"),
        _reopen,
        measured=_of_reopen,
        laws=lambda _: (Responses("R", "any", "all"), Responses("R_first", "first", "first")),
        example={"lam": 0.3, "p": 0.5, "Z": 4, "S": 1},
    ),
    "parallel": _declared(
        "parallel.parallel_jobs",
        ("lam", "p", "need", "S", "servers"),
        ("lam", "p", "need", "S", "servers"),
        _parallel,
        measured=_of_parallel,
        laws=lambda _: (),
        example={
            "lam": np.array(1.0),
            "p": np.array([0.6, 0.3, 0.1]),
            "need": np.array([1.0, 2.0, 4.0]),
            "S": np.array([1.0, 2.0, 0.5]),
            "servers": np.array(4.0),
        },
        arrays=True,
    ),
    **NETWORKS,
    "poisson": _MM1,
    "think": _CLOSED,
}


#: Models that are others by another name.
ALIASES = ("poisson", "think")


def find_model(name: str) -> CheckedModel:
    """Return a model by its name."""
    if name not in MODELS:
        raise ParameterError(f"unknown model {quoted(name)}; {among(name, MODELS)}")
    return MODELS[name]
