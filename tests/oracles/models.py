"""Laws of the statistical models, in closed form, from the papers that define them."""

import math

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
