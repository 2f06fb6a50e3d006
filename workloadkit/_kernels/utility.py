"""The value of a job at a time after its submission."""

from workloadkit._kernels.compile import helper


@helper
def value_at(first, time, value, job, at):
    """Value of a job at `at` seconds after its submission; 0 without a utility function.

    Parameters
    ----------
    first : ndarray of int64, shape (n_jobs + 1,)
    time, value : ndarray of float64, shape (n_points,)
        As in `workloadkit.utility.Utilities`.
    job : int
    at : float
        Not negative. [s]

    Returns
    -------
    float
    """
    end = first[job + 1]
    point = first[job]
    while point < end and time[point] <= at:
        point += 1
    if point == first[job]:
        return 0.0
    before = point - 1
    if point == end:
        return value[before] if time[before] == at else 0.0
    part = (at - time[before]) / (time[point] - time[before])
    return value[before] + (value[point] - value[before]) * part
