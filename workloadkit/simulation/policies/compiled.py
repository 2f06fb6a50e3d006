"""A policy in the compiled engine: what it needs before the loop, between its turns, and after."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from workloadkit.simulation.loop import let_wait, play
from workloadkit.simulation.machine.one_pool import OnePool
from workloadkit.simulation.mechanisms import reacting
from workloadkit.simulation.policies.overtaking import AS_USUAL
from workloadkit.simulation.state import LACKS_ROOM, REQUESTED, Jobs, State, new_state, waiting_jobs
from workloadkit.simulation.workload import Rules, Workload


class CompiledPolicy:
    """Base of what `Policy.compiled` returns, for one simulation; override `begin`, and more.

    Parameters
    ----------
    workload : Workload
        The jobs, or tables of them where users react or a predictor plans.
    rules : Rules
    """

    def __init__(self, workload: Workload, rules: Rules) -> None:
        self.workload, self.rules = workload, rules
        self.hardware: Any = rules.hardware or OnePool(rules.machine)
        self.rng = np.random.default_rng(rules.seed)

    def new_state(self) -> State:
        """Return the state before the first submission, without a policy."""
        w, rules = self.workload, self.rules
        run, estimate = w.run, w.estimate
        if w.users is not None:
            w.procs[:] = rules.machine  # at most, until the jobs arrive
        else:
            run = run.copy() if self.hardware.cuts_runs else run
            estimate = estimate.copy() if rules.predictor is not None else estimate
        jobs = Jobs(w.submit, run, estimate, w.procs, w.user, w.queue)
        return new_state(
            jobs,
            self.hardware.compiled(jobs, self.n_planned(jobs.submit.size)),
            capacity=self.capacity,
            late=rules.overrun == "late" or rules.predictor is not None,
            by_event=rules.passes == "event",
            users=w.users and reacting(w.users, jobs.submit.dtype),
            predictor=rules.predictor and rules.predictor.compiled(w),
        )

    @property
    def jobs_are_known(self) -> bool:
        """Whether the tables hold all jobs, with their estimates, from the start."""
        return self.workload.users is None and self.rules.predictor is None

    @property
    def capacity(self) -> int:
        """How many jobs can run at once."""
        return int(self.hardware.capacity)

    def n_planned(self, n_jobs: int) -> int:
        """Return how many rows of the machine the policy's profile needs."""
        return 0

    def begin(self, state: State) -> State:
        """Return the state with the part of the policy, before it has met any job.

        The jobs are those of the state, which may be only some of the workload's.
        """
        raise NotImplementedError(f"{type(self).__name__} must return its part of the state")

    def take_over(self, state: State, other: State, low: int) -> State:
        """Return the state with the part of the policy, in the place of another one.

        It meets the jobs that wait as if they arrived now, in order of arrival. What the policy
        before knew stands in `other`, whose jobs from `low` on are those of `state`.
        """
        state = self.begin(state._replace(**AS_USUAL._asdict()))  # not by the rule of `other`
        let_wait(state, waiting_jobs(state))
        return state

    def continue_from(self, state: State, other: State, low: int) -> State:
        """Return the state with a part that goes on from that of `other`, by the same policy.

        To be overridden by policies that know more than which jobs wait and run.
        """
        return self.take_over(state, other, low)

    def turn_week(self, state: State) -> None:
        """Take note that a week is over, where weeks are counted from the first submission."""

    def go_on(self, state: State) -> State:
        """Return the state to go on with, where the policy has asked the loop to return."""
        return state

    def run(self, state: State, begin: Any = None, until: Any = None) -> tuple[State, int]:
        """Go on, from a pass at `begin` if given, to `until` or the end; return why it ended."""
        why = play(state, begin, until)
        while why in (REQUESTED, LACKS_ROOM):
            if why == REQUESTED:
                state = self.go_on(state)
            state = self.hardware.go_on(state)
            why = play(state, None, until)
        return state, why

    def play(self, state: State) -> State:
        """Run from the first submission to the end of the last job; return the last state."""
        return self.run(self.begin(state))[0]

    def columns(self, state: State) -> Mapping[str, Any]:
        """Return further columns of `Schedule.jobs`, by name: a value for each job."""
        return {}

    def history(self, state: State) -> Mapping[str, Any]:
        """Return what the policy decided over time, for `Schedule.history`."""
        return {}
