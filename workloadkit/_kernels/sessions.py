"""Sessions by the times of arrival."""

import numpy as np

from workloadkit._kernels.compile import kernel


@kernel
def label_by_arrival(submit, end, user, n_users, threshold):
    """Session, batch and think time of each job, for ascending `submit` and users 0..n_users-1."""
    n_jobs = submit.size
    session = np.empty(n_jobs, np.int64)
    batch = np.empty(n_jobs, np.int64)
    think_time = np.full(n_jobs, np.nan)
    n_sessions = n_batches = 0

    # What each user is in the midst of; -1: nothing submitted yet.
    current_session = np.full(n_users, -1)
    current_batch = np.full(n_users, -1)
    last_submit = np.zeros(n_users)
    latest_end = np.zeros(n_users)  # of the session's jobs so far

    for job in range(n_jobs):
        u = user[job]
        new_session = current_session[u] < 0 or submit[job] - last_submit[u] > threshold
        new_batch = new_session or submit[job] > latest_end[u]
        if new_session:
            current_session[u] = n_sessions
            n_sessions += 1
        elif new_batch:
            think_time[job] = submit[job] - latest_end[u]
        if new_batch:
            current_batch[u] = n_batches
            n_batches += 1
        session[job] = current_session[u]
        batch[job] = current_batch[u]
        last_submit[u] = submit[job]
        latest_end[u] = end[job] if new_session else max(latest_end[u], end[job])
    return session, batch, think_time
