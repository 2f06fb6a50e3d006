"""The built-in parts of simulations by name, each imported when it is used.

Names, and what the source of a part says of it, are known without an import.
"""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name
from sys import modules
from typing import Any


class BuiltInParts(Mapping[str, type[Any]]):
    """Classes by the names of the command line.

    Parameters
    ----------
    package : str
    *places : str
        Module in the package, and class: ``module.Class``. The name is that of the class, in small
        letters with hyphens, or ``name=module.Class``.
    others : sequence of str
        Places of further classes.
    """

    def __init__(self, package: str, *places: str, others: Sequence[str] = ()) -> None:
        self._package = package
        self._places: dict[str, str] = {}
        self._by_class: dict[str, str] = {}
        for each in (*places, *others):
            name, _, place = each.rpartition("=")
            module, _, own = f"{package}.{place}".rpartition(".")
            place = f"{module}:{own}"
            self._by_class[own] = place
            if each in places:
                self._places[name or re.sub(r"\B(?=[A-Z])", "-", own).lower()] = place

    def __getitem__(self, name: str) -> type[Any]:
        return resolve_name(self._places[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    @property
    def loaded(self) -> tuple[type[Any], ...]:
        """The classes that have been imported."""
        return tuple(
            self[name] for name, at in self._places.items() if at.partition(":")[0] in modules
        )

    def class_named(self, name: str) -> type[Any]:
        """Return a class by its own name, as a module's ``__getattr__``."""
        if name not in self._by_class:
            raise AttributeError(f"there is no {name!r} in {self._package}")
        return resolve_name(self._by_class[name])

    def source(self, name: str) -> ast.ClassDef:
        """Return the definition of a class, from the source of its module."""
        module, _, own = self._places[name].partition(":")
        found = (each for each in _definitions(module) if each.name == own)
        return next(found)


@cache
def _definitions(module: str) -> list[ast.ClassDef]:
    """Return the classes of a module, which is not imported."""
    root, *words = module.split(".")
    spec = find_spec(root)
    assert spec is not None and spec.origin is not None
    path = Path(spec.origin).parent.joinpath(*words)
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    body = ast.parse(file.read_text(encoding="utf-8")).body
    return [each for each in body if isinstance(each, ast.ClassDef)]


SCHEDULERS = BuiltInParts(
    "workloadkit.simulation.policies",
    *("fcfs.Fcfs", "easy.Easy", "conservative.Conservative", "reservations.Reservations"),
    *("lookahead.Lookahead", "selective.Selective", "slack.Slack", "easy.Sjf", "easy.Ljf"),
    *("easy.Smallest", "easy.Largest", "order.Saf", "order.Laf", "order.Sqf", "order.Lqf"),
    *("order.Srf", "order.Lrf", "order.Exp", "order.Sexp", "order.Lxf", "order.Lcfs"),
    *("varying.Wfp3", "varying.Unicef", "f1.F1", "order.F2", "order.F3", "order.F4"),
    *("order.Order", "priority_fifo.PriorityFifo", "multi_queue.MultiQueue", "creasy.Creasy"),
    *("user_priority.UserPriority", "self_adaptive.SelfAdaptive", "genetic.Genetic"),
    *("recorded=recorded.RecordedSchedule",),
    others=("varying.CustomOrder", "easy.OrderedScheduler"),
)

PREDICTORS = BuiltInParts(
    "workloadkit.simulation.predictors",
    *("of_requests.Requested", "of_run_times.Exact", "last_two.LastTwo"),
    *("user_average.UserAverage", "same_job.SameJob", "quantile.Quantile"),
    *("of_requests.Factor", "of_run_times.FModel"),
    others=("predictor.BuiltIn",),
)

POPULATIONS = BuiltInParts(
    "workloadkit.simulation.populations",
    *("population.Recorded", "resampled.Resampled"),
    others=("resampled.ResampledUsers",),
)

USERS = BuiltInParts(
    "workloadkit.simulation.users",
    *("open=OpenUsers", "batches.closed.Closed", "dependent.Dependent"),
    *("batches.closed.Adjusted", "batches.distribution.Distribution", "batches.closed.Fluid"),
    *("queueing.kinds.Poisson", "queueing.kinds.Think", "queueing.kinds.Cautious"),
    *("queueing.kinds.Mixed", "queueing.kinds.Reopen", "site=sites.DynamicSite"),
    *("sites.StaticSite",),
    others=("batches.BatchUser", "batches.closed.CustomUsers"),
)

META_SCHEDULERS = BuiltInParts(
    "workloadkit.metasystem.policies",
    *("Home", "Random", "LeastWork", "ShortestWait", "EarliestEnd", "Cheapest", "Redundant"),
    *("CoAllocate", "Hold"),
)
