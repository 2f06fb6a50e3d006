"""Simulate a metasystem."""

import copy
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from workloadkit.custom import is_custom
from workloadkit.errors import ParameterError, check_choice, quoted
from workloadkit.metasystem.checks import InvalidFieldError
from workloadkit.metasystem.files import Metasystem, read_metasystem
from workloadkit.metasystem.jobs import prepare
from workloadkit.metasystem.plain import play_plain
from workloadkit.metasystem.policies import MetaPolicy, parse
from workloadkit.metasystem.prepared import Prepared
from workloadkit.metasystem.result import MetaSchedule
from workloadkit.provenance import seed_of
from workloadkit.simulation.patience import play_soonest
from workloadkit.simulation.supports import supports


def simulate_metasystem(
    system: Metasystem | str | os.PathLike[str],
    *,
    engine: str | None = None,
    rng: np.random.Generator | int | None = None,
    policies: Mapping[str, str | MetaPolicy] | None = None,
) -> MetaSchedule:
    """Simulate meta-schedulers that send jobs to several sites, next to the local jobs of these.

    At one instant, sites publish their state first; meta-schedulers then decide for the jobs
    submitted to them; last, the sites process their events and start jobs, as in
    `workloadkit.simulate`. A meta-scheduler sees only what sites published and what it sent itself.

    Parameters
    ----------
    system : Metasystem, str or path
        A description, or the path of one.
    engine : {"compiled", "python"}, optional
        By default the compiled one if all parts have a compiled form; users who react,
        application graphs and machines of nodes have none.
    rng : Generator or int, optional
        Seed in place of that of the description.
    policies : mapping of str to str or MetaPolicy, optional
        Policies of meta-schedulers by their names, in place of those of the description.

    Raises
    ------
    FormatError, ParameterError, WorkloadError
        If the description, a log or a policy is invalid, or a job never starts.

    Examples
    --------
    >>> from workloadkit import Trace
    >>> from workloadkit.metasystem import JobSource, MetaScheduler, Site
    >>> log = Trace.from_columns({"submit": [0, 1, 2], "run": [10, 10, 5], "procs": [1, 1, 1]})
    >>> system = Metasystem(
    ...     sites=[Site("a", procs=1), Site("b", procs=1)],
    ...     meta_schedulers=[MetaScheduler("grid", "least-work", [JobSource(log=log)])],
    ... )
    >>> schedule = simulate_metasystem(system)
    >>> schedule.jobs[["site", "start"]].to_numpy().tolist()
    [['a', 0], ['b', 1], ['a', 10]]
    """
    if not isinstance(system, Metasystem):
        system = read_metasystem(system)
    if rng is not None:
        system = replace(system, seed=seed_of(rng))
    chosen = _policies(system, policies or {})
    _check_published(system, chosen)
    prepared = prepare(system)
    if any(policy.co_allocates for policy in chosen):
        _check_reservable(prepared)
    return play(prepared, chosen, engine)


def play(
    prepared: Prepared, policies: Sequence[MetaPolicy], engine: str | None = None
) -> MetaSchedule:
    """Simulate a metasystem whose jobs are known; see `simulate_metasystem`."""
    which = _engine(prepared, policies, engine)
    seeds = prepared.seed.spawn(len(policies))

    def played(engine: Callable[[Prepared, Sequence[MetaPolicy]], Any]) -> MetaSchedule:
        for policy, seed in zip(policies, seeds, strict=True):
            object.__setattr__(policy, "rng", np.random.default_rng(seed))
        return MetaSchedule(policies, engine(prepared, policies))

    plain = partial(played, play_plain)
    if which == "python":
        return plain()
    from workloadkit.metasystem.compiled import play_compiled

    return play_soonest(partial(played, play_compiled), plain)


def _policies(system: Metasystem, others: Mapping[str, str | MetaPolicy]) -> Sequence[MetaPolicy]:
    """Return the policies of the meta-schedulers, each a new object."""
    names = [scheduler.name for scheduler in system.meta_schedulers]
    for name in others:
        check_choice("policies", name, names)
    policies = []
    for i, scheduler in enumerate(system.meta_schedulers):
        policy = others.get(scheduler.name, scheduler.policy)
        field = f"meta_schedulers[{i}].policy"
        policy = parse(policy) if isinstance(policy, str) else policy
        if not isinstance(policy, MetaPolicy):
            raise InvalidFieldError(field, policy, "give a name or an instance of MetaPolicy")
        for j, source in enumerate(scheduler.jobs):
            if source.parts > 1 and not policy.co_allocates:
                raise InvalidFieldError(
                    f"meta_schedulers[{i}].jobs[{j}].parts",
                    source.parts,
                    f"policy {policy.name} does not co-allocate; take co-allocate or hold",
                )
        policies.append(copy.deepcopy(policy))
    return policies


def _check_published(system: Metasystem, policies: Sequence[MetaPolicy]) -> None:
    """Check that sites publish what the meta-schedulers require."""
    for policy in policies:
        for i, site in enumerate(system.sites):
            for what in policy.needs:
                if what not in site.published:
                    raise InvalidFieldError(
                        f"sites[{i}].publishes.what",
                        site.published,
                        f"meta-scheduler {policy.name} requires {quoted(what)}",
                    )


def _check_reservable(prepared: Prepared) -> None:
    """Check that the schedulers of all sites plan around reservations."""
    for i, each in enumerate(prepared.sites):
        if each.site.waits is not None:
            raise InvalidFieldError(
                f"sites[{i}].waits",
                each.site.waits,
                "such a site does not run parts of jobs",
            )
        if each.machine is not None:
            raise InvalidFieldError(
                f"sites[{i}].machine", each.machine.name, "its nodes do not run parts of jobs"
            )
        if not supports(each.policy, "parts"):
            raise InvalidFieldError(
                f"sites[{i}].scheduler",
                each.policy.name,
                "it does not plan around reservations; take easy, an order of it, or conservative",
            )


def _engine(prepared: Prepared, policies: Sequence[MetaPolicy], engine: str | None) -> str:
    """Return the engine."""
    if engine is not None:
        check_choice("engine", engine, ("compiled", "python"))
    own: list[Any] = [policy.name for policy in policies if policy.code < 0 or is_custom(policy)]
    own += [f"site {each.site.name}" for each in prepared.sites if each.site.waits is not None]
    own += [
        f"the machine of site {each.site.name}"
        for each in prepared.sites
        if each.machine is not None
    ]
    behaviours = [source.behaviour for source in prepared.all_sources]
    own += [behaviour.name for behaviour in behaviours if behaviour is not None]
    own += [
        each.policy.name
        for each in prepared.sites
        if is_custom(each.policy) or not supports(each.policy, "metasystem")
    ]
    if engine == "compiled" and own:
        raise ParameterError(
            f"engine is 'compiled', and {own[0]} has no compiled form in a metasystem; take "
            "engine='python'"
        )
    return engine or ("python" if own else "compiled")
