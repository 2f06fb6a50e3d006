"""Networks of a cross-check, with a simulation of their stations."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from workloadkit.analysis.queue_models.cross_check.models import (
    CheckedModel,
    ModelMeasure,
    Point,
    whole,
)
from workloadkit.analysis.queue_models.cross_check.routed import Routed, play_routed
from workloadkit.analysis.queue_models.cross_check.stations import JobClass, play_network
from workloadkit.errors import ParameterError

if TYPE_CHECKING:
    from workloadkit.analysis.queue_models.cross_check.estimates import Kind


def _classes(point: Point, demands: str, N: Any, Z: Any) -> list[JobClass]:
    """Return the classes of a network; all classes have the same service time at a station."""
    table = np.atleast_2d(point[demands])
    visits = np.broadcast_to(np.atleast_2d(point.get("visits", 1.0)), table.shape)
    visits = np.where(table > 0, visits, 0.0)
    service = np.where(visits > 0, table / np.where(visits > 0, visits, 1.0), 0.0)
    servers = np.broadcast_to(point.get("servers", 1.0), table.shape[1])
    for k in np.flatnonzero(np.isfinite(servers)):
        used = service[visits[:, k] > 0, k]
        if used.size and np.ptp(used) > 1e-9 * used.max():
            raise ParameterError(
                f"station {k} serves classes with different times per visit; first come, first "
                "served needs equal ones: set visits in proportion to the demands"
            )
    closed, think = (np.broadcast_to(x, len(table)).astype(np.float64) for x in (N, Z))
    return [
        JobClass(v.tolist(), s.tolist(), whole(n), float(z))
        for v, s, n, z in zip(visits, service, closed, think, strict=True)
    ]


def _open(point: Point) -> Callable[..., Any]:
    rates = np.atleast_1d(point["lam"])
    classes = _classes(point, "demands", np.zeros(rates.size), 1 / rates)
    servers = np.broadcast_to(point.get("servers", 1.0), len(classes[0].visits))
    return lambda jobs: partial(play_network, classes, servers.astype(np.float64).tolist(), jobs)


def _simulated(point: Point) -> Callable[..., Any]:
    classes = _classes(point, "demands", point["N"], point.get("Z", 0.0))
    if "lam" in point:
        # an open job visits a station in proportion to its demand, at the closed jobs' service time
        of_closed = np.array([c.service for c in classes]).max(axis=0)
        opened = np.atleast_2d(point["open_demands"])
        gaps = 1 / np.broadcast_to(point["lam"], len(opened))
        for demand, gap in zip(opened, gaps, strict=True):
            visits = np.divide(demand, of_closed, out=np.zeros(demand.size), where=of_closed > 0)
            classes.append(JobClass(visits.tolist(), of_closed.tolist(), 0, float(gap)))
    stations = len(classes[0].visits)
    servers = np.broadcast_to(point.get("servers", 1.0), stations).astype(np.float64).tolist()
    return lambda jobs: partial(play_network, classes, servers, jobs)


def _measured(point: Point) -> tuple[ModelMeasure, ...]:
    found = _of_classes(point["demands"], "", 0)
    if "lam" in point:
        found += _of_classes(point["open_demands"], "open", len(np.atleast_2d(point["demands"])))
    return found


def _of_classes(demands: Any, part: str, first: int) -> tuple[ModelMeasure, ...]:
    """Return X and R of each class, and Q and U at each of its stations."""
    single = np.ndim(demands) == 1
    found: list[ModelMeasure] = []
    kinds: tuple[tuple[Kind, tuple[str, ...]], ...] = (("Q", ("X", "R")), ("U", ("X",)))
    for r, row in enumerate(np.atleast_2d(demands)):
        place = () if single else (r,)
        group = f"class {first + r}"
        found += [ModelMeasure(name, name, group, (name,), place, part) for name in ("X", "R")]
        for k in np.flatnonzero(row):
            at = (*place, int(k))
            found += [
                ModelMeasure(kind, kind, f"{group} at {k}", of, at, part) for kind, of in kinds
            ]
    return tuple(found)


def _routed(point: Point) -> Callable[..., Any]:
    """Return the simulation of stations of one class, from arrival to departure."""
    shape = point["S"].shape
    given = {"servers": 1.0, "scv": 1.0, "scv_arrivals": 1.0} | dict(point)
    network = Routed(
        **{
            name: np.broadcast_to(value, shape)
            for name, value in given.items()
            if name != "routing"
        },
        routing=point["routing"],
        N=np.zeros(shape, np.int64),
    )
    return lambda jobs: partial(play_routed, network, jobs)


def _switching(point: Point) -> Callable[..., Any]:
    """Return the simulation of jobs that change their class; they begin where classes do first."""
    moves, S = point["routing"], point["S"]
    jobs = np.zeros(S.shape, np.int64)
    for r, n in enumerate(point["N"]):
        jobs[r, int(np.flatnonzero(moves[r].any(axis=(1, 2)))[0])] = whole(n)
    none = np.zeros(S.size)
    servers = np.broadcast_to(point.get("servers", 1.0), S.shape[1])
    network = Routed(
        moves.reshape(S.size, S.size), S.ravel(), none + 1, servers, none, none, jobs.ravel()
    )
    return lambda jobs: partial(play_routed, network, jobs)


def _of_switching(point: Point) -> tuple[ModelMeasure, ...]:
    """Return X, R, Q and U of each class at its stations."""
    return tuple(
        ModelMeasure(kind, kind, f"class {r} at {k}", (kind,), (int(r), int(k)))
        for r, k in np.argwhere(point["routing"].any(axis=(2, 3)))
        for kind in _KINDS
    )


def _network(theory: str, *others: str, **example: Any) -> CheckedModel:
    known = ("demands", "N", "Z", "servers", "visits", *others)
    needed = ("demands", "N", *(("Z", "open_demands", "lam") if "lam" in example else ()))
    return CheckedModel(
        f"networks.{theory}",
        needed,
        known,
        _simulated,
        _measured,
        lambda _: (),
        example={name: np.asarray(value, dtype=np.float64) for name, value in example.items()},
        arrays=True,
        fewer=10,
    )


def _by_routing(theory: str, *others: str, **example: Any) -> CheckedModel:
    return CheckedModel(
        f"networks.{theory}",
        ("lam", "S", "routing", *others[:1]),
        ("lam", "S", "routing", "servers", *others),
        _routed,
        lambda point: _of_classes(point["S"], "", 0),
        lambda _: (),
        example={name: np.asarray(value, dtype=np.float64) for name, value in example.items()},
        arrays=True,
        fewer=10,
    )


def _alternating() -> Any:
    """Return the routing of jobs of two classes that alternate between two stations."""
    routing = np.zeros((2, 2, 2, 2))
    routing[0, 0, 1, 1] = routing[1, 1, 1, 0] = 1  # class 0 is served, becomes 1, thinks
    routing[1, 0, 0, 0], routing[1, 0, 0, 1] = 0.3, 0.7
    routing[0, 1, 0, 0] = 1
    return routing


_TWO_CLASSES: dict[str, Any] = {
    "demands": [[0.6, 1.0], [0.3, 2.0]],
    "visits": [[2.0, 2.0], [1.0, 4.0]],
    "N": [3, 2],
    "Z": [4, 9],
}

_KINDS: "tuple[Kind, ...]" = ("X", "R", "Q", "U")

#: Networks by the name of their function in `queueing.networks`.
NETWORKS: dict[str, CheckedModel] = {
    "mva": _network("mva", **_TWO_CLASSES),
    "convolution": _network("convolution", servers=[2, 1], **_TWO_CLASSES),
    "bard_schweitzer": _network("bard_schweitzer", **_TWO_CLASSES),
    "linearizer": _network("linearizer", **_TWO_CLASSES),
    "mixed_mva": _network(
        "mixed_mva",
        "open_demands",
        "lam",
        demands=[[0.5, 0.8]],
        N=[3],
        Z=[4],
        open_demands=[[0.5, 0.8]],
        lam=[0.3],
    ),
    "open_network": CheckedModel(
        "networks.open_network",
        ("demands", "lam"),
        ("demands", "lam", "servers"),
        _open,
        lambda point: _of_classes(point["demands"], "", 0),
        lambda _: (),
        example={
            "demands": np.array([[0.5, 0.8], [0.5, 0.8]]),
            "lam": np.array([0.4, 0.3]),
            "servers": np.array([1.0, 2.0]),
        },
        arrays=True,
        fewer=10,
    ),
    "jackson": _by_routing(
        "jackson", lam=[1.2, 0.3], S=[0.6, 0.4], routing=[[0, 0.8], [0.2, 0]], servers=[2, 1]
    ),
    "qna": _by_routing(
        "qna",
        "scv",
        "scv_arrivals",
        lam=[0.5, 0],
        S=[1, 1.2],
        routing=[[0, 1], [0.1, 0]],
        scv=[0.25, 2],
        scv_arrivals=[0.5, 1],
    ),
    "class_switching": CheckedModel(
        "networks.class_switching",
        ("routing", "S", "N"),
        ("routing", "S", "N", "servers"),
        _switching,
        _of_switching,
        lambda _: (),
        example={
            "routing": _alternating(),
            "S": np.array([[0.8, 3.0], [0.8, 5.0]]),
            "N": np.array([4.0, 0.0]),
            "servers": np.array([1.0, np.inf]),
        },
        arrays=True,
        fewer=5,
    ),
}
