"""Classes of jobs: of days, nights and weekends, interactive and batch.

The source leaves classes to future work: "Daytime jobs are known to be different from the jobs
submitted during the night; interactive jobs are usually lighter and much more critical to the users
compared to the heavy batch jobs" (Shmueli 2008, chapter 6). Here each class has its own
distributions, including the continuation of sessions after a response. A batch belongs to the part
of the week in which its first job was submitted, and is interactive if all of its jobs are.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from workloadkit.site.empirical import (
    RESPONSE_EDGES,
    Empirical,
    Workpool,
    fit_curve,
    pooled,
    together,
)

#: Criteria by which batches are classified.
Sorted = Literal["hours", "kinds", "both"]

#: Parts of the week, and the name for unknown hours.
PERIODS, UNKNOWN_PERIOD = ("day", "night", "weekend"), "unknown"

#: Kinds of batches.
KINDS = ("interactive", "batch")

#: Classes of a log, by part of the week and kind.
CLASSES = tuple(f"{period} {kind}" for period in (*PERIODS, UNKNOWN_PERIOD) for kind in KINDS)

#: Univariate distributions of a class.
OF_CLASS = ("batch_width", "gap", "think_time", "break_time", "continued", "aborted")

#: What precedes a batch of its user: nothing, an interactive batch, or another batch.
BEFORE = ("none", *KINDS)

_MINUTE = 60.0


@dataclass(frozen=True, eq=False)
class JobClass:
    """Distributions of the batches of one class.

    Parameters
    ----------
    batch_width, gap, think_time, break_time : Empirical
        As in `workloadkit.site.SiteDistributions`. Pauses are those after a batch of the class.
    continued, aborted : Empirical
        Response times of jobs after which the user continued the session, or did not: at most
        20 min from the end to the user's next submission, or more. Jobs after which the user
        submitted before the end are excluded. [s]
    jobs : Workpool
        Sizes and run times; a run of jobs of equal size belongs to the class of its first.
    after : ndarray of int64, shape (3,)
        Number of batches of the class that were the first of their user, followed an interactive
        batch, and followed another batch.
    """

    batch_width: Empirical
    gap: Empirical
    think_time: Empirical
    break_time: Empirical
    continued: Empirical
    aborted: Empirical
    jobs: Workpool
    after: NDArray[np.int64]

    @property
    def curve(self) -> tuple[float, float]:
        """Continuation curve: a and b [1/min] of p = a / (b r + 1), r in minutes.

        Least-squares fit to bins of response times: the share of jobs after which the user
        continued, at the upper median of the response times; NaN if fewer than two bins have
        jobs.
        """
        both = together([self.continued, self.aborted])
        points = []
        for low, high in pairwise((-np.inf, *RESPONSE_EDGES)):
            inside, stays = (_between(of, low, high) for of in (both, self.continued))
            if inside.n:
                points.append((inside.median / _MINUTE, stays.n / inside.n))
        response, probability = np.array(points).reshape(-1, 2).T
        (a,), (b,) = fit_curve(response[None, :], probability[None, :])
        return float(a), float(b)


def names_by(by: Sorted) -> tuple[str, ...]:
    """Return the names of classes in order.

    Examples
    --------
    >>> names_by("kinds"), len(names_by("both"))
    (('interactive', 'batch'), 6)
    """
    both = tuple(name for name in CLASSES if UNKNOWN_PERIOD not in name)
    return {"hours": PERIODS, "kinds": KINDS, "both": both}[by]


def classes_by(classes: Mapping[str, JobClass], by: Sorted) -> dict[str, JobClass]:
    """Return classes merged to the given criteria.

    Parameters
    ----------
    classes : mapping of str to JobClass
        By part of the week and kind, as "day interactive".
    by : {"hours", "kinds", "both"}

    Returns
    -------
    dict of str to JobClass
        Classes by part of the week, by kind, or both; "unknown" is not a part of the week.
    """
    chosen = {
        name: [its for words, its in classes.items() if name in (words, *words.split())]
        for name in names_by(by)
    }
    return {name: merged(parts) for name, parts in chosen.items() if parts}


def merged(parts: Iterable[JobClass]) -> JobClass:
    """Merge classes, weighting each value by its count."""
    of = list(parts)
    return JobClass(
        **{name: together(getattr(part, name) for part in of) for name in OF_CLASS},
        jobs=pooled(part.jobs for part in of),
        after=np.sum([part.after for part in of], axis=0),
    )


def _between(of: Empirical, low: float, high: float) -> Empirical:
    """Return the values in the interval (low, high]."""
    chosen = (low < of.values) & (of.values <= high)
    return Empirical(of.values[chosen], of.counts[chosen])
