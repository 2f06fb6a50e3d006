"""Sessions and batches of users."""

import numpy as np

from workloadkit._kernels.compile import kernel


@kernel
def label_sessions(submit, reach, end, user, n_users, threshold, latest):
    """Session, batch and think time of each job, for ascending `submit` and users 0..n_users-1.

    `reach` is the time until which each job keeps a session open. The latest reach and the latest
    end of a session's jobs count or, if not `latest`, those of the job submitted last.
    """
    n_jobs = submit.size
    session = np.empty(n_jobs, np.int64)
    batch = np.empty(n_jobs, np.int64)
    think_time = np.empty(n_jobs, np.float64)
    n_sessions = n_batches = 0

    # The present session and batch of each user; -1: nothing submitted yet.
    current_session = np.empty(n_users, np.int64)
    current_batch = np.empty(n_users, np.int64)
    reached = np.empty(n_users, np.float64)
    ended = np.empty(n_users, np.float64)
    for u in range(n_users):
        current_session[u] = -1

    for job in range(n_jobs):
        u = user[job]
        new_session = current_session[u] < 0 or submit[job] - reached[u] > threshold
        new_batch = new_session or submit[job] > ended[u]
        think_time[job] = np.nan
        if new_session:
            current_session[u] = n_sessions
            n_sessions += 1
        elif new_batch:
            think_time[job] = submit[job] - ended[u]
        if new_batch:
            current_batch[u] = n_batches
            n_batches += 1
        session[job] = current_session[u]
        batch[job] = current_batch[u]
        if new_session or not latest:
            reached[u] = reach[job]
            ended[u] = end[job]
        else:
            reached[u] = max(reached[u], reach[job])
            ended[u] = max(ended[u], end[job])
    return session, batch, think_time
