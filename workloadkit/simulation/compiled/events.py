"""Events of jobs in a compiled simulation, and the parts that are notified."""

from workloadkit._kernels.compile import bare, inline
from workloadkit.simulation.compiled.parts import by_part
from workloadkit.simulation.compiled.predicting import CORRECT, LEARN, PLAN, predict
from workloadkit.simulation.compiled.queue import insert_end, remove_end
from workloadkit.simulation.machine.ledger import end_job

LATE = -1  # the end of job j is listed as LATE - j while it has its processors


@inline
def _nothing(state, what, now):
    pass


@inline
def _no(state, what, now):
    return False


#: (state, job, now) of a policy: a job has arrived; its processors are free again; its end has been
#: taken, which may be some passes later; it returns to the queue.
job_arrived = by_part("policy", "job_arrived", _nothing)
job_ended = by_part("policy", "job_ended", _nothing)
end_taken = by_part("policy", "end_taken", _nothing)
job_returned = by_part("policy", "job_returned")

#: (state, job, now) of a policy: a waiting job leaves the queue, as it is cancelled.
job_left = by_part("policy", "job_left")

#: (state, job, -): whether a job is cancelled unless it starts before.
_may_be_cancelled = by_part("cancellations", "may_be_cancelled", _no)

#: (state, -, now) of a policy: the machine differs, or will differ, from what was planned.
plans_void = by_part("policy", "plans_void", _nothing)

#: (state, new, now) of a policy: start jobs; jobs from `new` on have just arrived.
allocate = by_part("policy", "allocate")


@inline
def arrive(state, now):
    """Add the next job of the tables as it arrives."""
    job = state.at.arrived
    if job == 0:
        state.first[0] = now
    state.at.arrived = job + 1
    state.at.n_waiting += 1
    if state.predictor.is_there:
        plan(state, job, now)
    job_arrived(state, job, now)


@bare
def plan(state, job, now):
    """Let the predictor plan a job that arrives."""
    jobs = state.jobs
    jobs.limit[job] = jobs.estimate[job]
    predict(state.predictor, jobs, PLAN, job, now)
    jobs.prediction[job] = jobs.estimate[job]


#: (state, job, now) of a policy: the prediction of a waiting job has been renewed. `prediction` is
#: the one before; then `plans_void` is called, once for all jobs.
_renewed = by_part("policy", "prediction_renewed", _nothing)


@bare
def renew_predictions(state, now):
    """Predict the run times of waiting jobs again, as jobs have ended or returned to the queue."""
    at, jobs, oldest, void = state.at, state.jobs, state.at.arrived, False
    for job in range(at.oldest, at.arrived):
        if state.start[job] == state.never:
            oldest = min(oldest, job)
            jobs.estimate[job] = jobs.limit[job]
            predict(state.predictor, jobs, PLAN, job, now)
            if jobs.estimate[job] != jobs.prediction[job]:
                _renewed(state, job, now)
                jobs.prediction[job] = jobs.estimate[job]
                void = True
    at.stale, at.oldest = False, oldest
    if void:
        plans_void(state, 0, now)


@inline
def end_due(state, now):
    """End the first due job; return it."""
    return _take(state, _give_back(state, now), now)


@inline
def _take(state, job, now):
    """Notify policy and predictor of the end of a job; return the job."""
    end_taken(state, job, now)
    if state.predictor.is_there and not _may_be_cancelled(state, job, now):
        _learn(state, job, now)
    return job


@bare
def _learn(state, job, now):
    """Let the predictor learn from a job that has ended."""
    predict(state.predictor, state.jobs, LEARN, job, now)
    state.at.stale = True


@inline
def _give_back(state, now):
    """Free the processors of the first running job that is due."""
    job = state.end_jobs[state.at.n_running - 1]
    end_job(state, job, now)
    job_ended(state, job, now)
    return job


@bare
def free_what_ends(state, now):
    """Free the processors of jobs that end now as planned: they count as ended in every pass.

    Ends are listed in the order of the starts and taken from there; those of jobs of 0 s that
    start in this second are added. A job whose estimate has been corrected in this second, up to
    this second, is free from the next pass on.
    """
    at, ends, end_jobs, due = state.at, state.ends, state.end_jobs, state.due
    if at.n_ended == at.n_due:
        at.n_ended = at.n_due = 0
    place = at.n_running
    for number in range(at.n_ended, at.n_due):
        place -= due[number] <= LATE  # listed before
    while place > 0 and ends[place - 1] <= now:
        place -= 1
        due[at.n_due] = LATE - end_jobs[place]
        at.n_due += 1
    for number in range(at.n_ended, at.n_due):
        job, last = LATE - due[number], at.n_running - 1
        if job >= 0 and state.start[job] + state.jobs.estimate[job] == now:
            due[number] = job
            remove_end(ends, end_jobs, last + 1, now, job)
            ends[last], end_jobs[last] = now, job
            _give_back(state, now)


@bare
def take_end(state, now):
    """Take the first listed end; return its job."""
    at = state.at
    job = state.due[at.n_ended]
    at.n_ended += 1
    if job <= LATE:
        return end_due(state, now)
    return _take(state, job, now)


@bare
def correct_outlived(state, now):
    """Correct the estimates that running jobs have outlived, until each is longer or stays."""
    ends, jobs, estimate, start = (
        state.planned_ends,
        state.planned_jobs,
        state.jobs.estimate,
        state.start,
    )
    corrected, place = False, state.at.n_running - 1
    while place >= 0 and ends[place] <= now:
        job = jobs[place]
        before = estimate[job]
        predict(state.predictor, state.jobs, CORRECT, job, now)
        if estimate[job] == before:
            place -= 1
        else:
            insert_end(ends, jobs, place, start[job] + estimate[job], job)  # instead of it
            corrected = True
    if corrected:
        plans_void(state, 0, now)


@inline
def leave_queue(state, job, now):
    """Remove a waiting job that is cancelled; it has no start, and does not wait."""
    job_left(state, job, now)
    state.at.n_waiting -= 1
    state.start[job] = now


@inline
def lose(state, job, now):
    """Notify the policy of the end of a stopped job."""
    job_ended(state, job, now)
    end_taken(state, job, now)
