"""How many runs an experiment makes: until its intervals are narrow enough."""

from typing import TYPE_CHECKING

import numpy as np

from workloadkit.settings.simulation import FIRST_LOOK

if TYPE_CHECKING:
    from workloadkit.experiments.results import Results


def stages(most: int, *, begun: int = 0) -> list[int]:
    """Return the numbers of runs after which the intervals are examined.

    After 20 runs, and whenever their number has grown by a quarter, the usual intervals by
    Student's t are compared with the requested precision; the first that are narrow enough end the
    experiment, and are its result. As the width is met by chance, too, intervals that stop a
    sequence contain the true value less often than those of a fixed number of runs; with a
    growing number, their coverage tends to the nominal one ([1]_, of relative widths [2]_). The
    first 20 runs and the few looks keep it near: of 95 % intervals, 94 to 95 % contained the mean
    difference if differences are normal, 89 to 94 % if exponential, 85 to 89 % if log-normal with
    sigma 1, in thousands of repetitions that stopped after 20 to 440 runs on average.

    Parameters
    ----------
    most : int
        The largest number of runs, after which the experiment ends in any case.
    begun : int, default 0
        Runs that have results.

    References
    ----------
    .. [1] Y. S. Chow, H. Robbins, "On the asymptotic theory of fixed-width sequential confidence
       intervals for the mean", The Annals of Mathematical Statistics 36, 1965.
    .. [2] A. Nadas, "An extension of a theorem of Chow and Robbins on sequential confidence
       intervals for the mean", The Annals of Mathematical Statistics 40, 1969.

    Examples
    --------
    >>> stages(60)
    [20, 25, 32, 40, 50, 60]
    >>> stages(60, begun=33)
    [40, 50, 60]
    """
    numbers = []
    number = FIRST_LOOK
    while number < most:
        numbers.append(number)
        number = -(-number * 5 // 4)
    return [n for n in (*numbers, most) if n >= begun]


@np.errstate(invalid="ignore", divide="ignore")
def relative_width(results: "Results", baseline: str | None = None) -> float:
    """Return the largest half-width of an interval, relative to a mean.

    Parameters
    ----------
    results : Results
    baseline : str, optional
        The scheduler from which the others differ, and whose mean counts; by default the first.
        Without others, the intervals are those of its means.

    Returns
    -------
    float
        Infinite for a single run, or where an interval has a width and the mean is 0.
    """
    table, largest = results.table, 0.0
    schedulers = list(dict.fromkeys(table["scheduler"]))
    for metric in results.metrics:
        if len(schedulers) == 1:
            width, mean = table[f"{metric}_high"] - table[f"{metric}_low"], table[metric]
        else:
            its = baseline or schedulers[0]
            keys = [axis for axis in results.axes if axis != "scheduler"]
            means = table.loc[table["scheduler"] == its, [*keys, metric]]
            compared = results.compare(metric, its).merge(means, on=keys)
            width, mean = compared["difference_high"] - compared["difference_low"], compared[metric]
        ratio = np.where(width == 0, 0.0, width / 2 / mean.abs())
        largest = max(
            largest, float(np.nan_to_num(ratio, nan=np.inf, posinf=np.inf).max(initial=0.0))
        )
    return largest
