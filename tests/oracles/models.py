"""Laws of the statistical models, in closed form, from the papers that define them."""

import math
from itertools import pairwise

from scipy.special import gammainc


def two_stage_uniform(low, med, high, prob):
    """Distribution function of the binary logarithm of a size (Lublin and Feitelson 2003)."""

    def uniform(x, a, b):
        return min(max((x - a) / (b - a), 0), 1)

    return lambda x: prob * uniform(x, low, med) + (1 - prob) * uniform(x, med, high)


def mean_of_two_stage_uniform(low, med, high, prob):
    return prob * (low + med) / 2 + (1 - prob) * (med + high) / 2


def lublin_sizes(serial, power2, below, machine):
    """Probability of each size; `below` is the distribution function of its binary logarithm.

    With probability `power2` that logarithm is rounded, else the size is.
    """
    chance = dict.fromkeys(range(1, machine + 1), 0.0)
    chance[1] += serial
    for n in range(1, machine + 1):
        least = -math.inf if n == 1 else math.log2(n - 0.5)
        most = math.inf if n == machine else math.log2(n + 0.5)
        rest = 1 - serial - power2
        chance[n] += rest * (below(most) - below(least))
    largest = math.floor(math.log2(machine))
    for k in range(largest + 1):
        most = math.inf if k == largest else k + 0.5
        chance[2**k] += power2 * (below(most) - below(k - 0.5))
    return chance


def is_power_of_two(n):
    return n & (n - 1) == 0


def hyper_gamma(p, one, other, longest):
    """Mean and mean square of one of two gamma variables (shape, scale), if below `longest`.

    The first with probability p; what is longer is drawn again.
    """
    total = first = second = 0
    for weight, (shape, scale) in ((p, one), (1 - p, other)):
        at = longest / scale
        total += weight * gammainc(shape, at)
        first += weight * shape * scale * gammainc(shape + 1, at)
        second += weight * shape * (shape + 1) * scale**2 * gammainc(shape + 2, at)
    return first / total, second / total


def lublin_log_runs(chances, pa, pb, one, other, longest=12):
    """Mean and standard deviation of the logarithm of the run time, over all sizes."""
    mean = square = 0
    for n, chance in chances.items():
        first, second = hyper_gamma(min(max(pa * n + pb, 0), 1), one, other, longest)
        mean += chance * first
        square += chance * second
    return mean, math.sqrt(square - mean**2)


def downey_speedup(n, a, sigma):
    """Speedup on n processors of a job of average parallelism `a`; `sigma` is its variation.

    A. B. Downey, "A model for speedup of parallel programs", 1997: low and high variance.
    """
    if sigma <= 1:
        if n <= a:
            return a * n / (a + sigma / 2 * (n - 1))
        if n <= 2 * a - 1:
            return a * n / (sigma * (a - 1 / 2) + n * (1 - sigma / 2))
        return a
    if n <= a + a * sigma - sigma:
        return n * a * (sigma + 1) / (sigma * (n + a - 1) + a)
    return a


def hyper_erlang_moment(k, weights, orders, rates):
    """k-th moment about 0 of a mixture of sums of exponential stages (Jann et al. 1997)."""
    return sum(
        p * math.prod(range(order, order + k)) / rate**k
        for p, order, rate in zip(weights, orders, rates, strict=True)
    )


def lublin_half_hours(shape, scale):
    """Share of the arrivals in each half hour from midnight, in the long run.

    A gamma distribution of half hours 11 to 58; the first of the day is half hour 1.
    """
    weights = {}
    for i in range(11, 59):
        chance = gammainc(shape, (i + 0.5) / scale) - gammainc(shape, (i - 0.5) / scale)
        weights[(i - 1) % 48] = chance
    return [weights[part] / sum(weights.values()) for part in range(48)]


def harmonic_sizes(machine, order, power2):
    """Probability of each size: n to the power of -order, powers of two preferred.

    D. G. Feitelson, "Packing schemes for gang scheduling", 1996.
    """
    weight = {
        n: n**-order * (power2 if n > 1 and is_power_of_two(n) else 1)
        for n in range(1, machine + 1)
    }
    return {n: weight[n] / sum(weight.values()) for n in weight}


def zipf(r, order, terms=200_000):
    """Probability of r runs of a job, in proportion to r to the power of -order."""
    return r**-order / math.fsum(k**-order for k in range(1, terms))


def log_uniform(low, high):
    """Mean and standard deviation of the natural logarithm."""
    a, b = math.log(low), math.log(high)
    return (a + b) / 2, (b - a) / math.sqrt(12)


def mean_of_gamma_cut_at_one(shape, scale):
    """Mean of min(1, X)."""
    return shape * scale * gammainc(shape + 1, 1 / scale) + 1 - gammainc(shape, 1 / scale)


def shares_of_popular_estimates():
    """Percentage of the jobs by rank of popularity, 1 to 20 (Tsafrir et al. 2005).

    That of the first, the largest allowed, is what is missing to 89.
    """
    others = {x: 14.0491 * math.exp(-0.177531 * x) + 0.462513 for x in range(2, 21)}
    return {1: 89 - sum(others.values()), **others}


def number_of_estimates(n_jobs):
    """How many different estimates so many jobs have: a line from point to point."""
    points = [(0, 0), (20, 10), (200, 20), (1000, 35), (10_000, 90), (70_000, 340), (250_000, 565)]
    for (a, low), (b, high) in pairwise(points):
        if a <= n_jobs <= b:
            return low + (high - low) * (n_jobs - a) / (b - a)
    raise ValueError(n_jobs)
