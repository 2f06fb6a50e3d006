"""Estimators of long memory, step by step from their definitions.

Rescaled range: Zakay and Feitelson (2014), section 5.3. The others: Taqqu, Teverovsky and Willinger
(1995), Robinson (1995), Geweke and Porter-Hudak (1983), Peng et al. (1994), Veitch and Abry (1999),
Beran (1994). Exact autocovariances: Mandelbrot and van Ness (1968).
"""

import cmath
import math


def mean(x):
    return math.fsum(x) / len(x)


def variance(x):
    """Of the values themselves, not of what they are a sample of."""
    middle = mean(x)
    return math.fsum((value - middle) ** 2 for value in x) / len(x)


def rescaled_range(x):
    """R / S of one window."""
    middle = mean(x)
    y = [math.fsum(value - middle for value in x[:j]) for j in range(1, len(x) + 1)]
    return (max(y) - min(y)) / math.sqrt(variance(x))


def block_means(x, size):
    return [mean(x[k * size : (k + 1) * size]) for k in range(len(x) // size)]


def aggregated_variance(x, size):
    return variance(block_means(x, size))


def absolute_moment(x, size):
    """First absolute moment of the means of blocks about the series' mean."""
    middle = mean(x)
    return mean([abs(value - middle) for value in block_means(x, size)])


def frequency(j, n):
    return 2 * math.pi * j / n


def periodogram(x, j):
    """Ordinate at the j-th Fourier frequency."""
    n = len(x)
    waves = [value * cmath.exp(-1j * frequency(j, n) * t) for t, value in enumerate(x)]
    return abs(sum(waves)) ** 2 / (2 * math.pi * n)


def slope(points):
    """Slope of the least-squares line through (x, y)."""
    points = list(points)
    x, y = mean([a for a, _ in points]), mean([b for _, b in points])
    return sum((a - x) * (b - y) for a, b in points) / sum((a - x) ** 2 for a, _ in points)


def gph(x, m):
    """Geweke and Porter-Hudak's regression on the lowest `m` frequencies; H = d + 1/2."""
    n = len(x)
    points = [
        (-2 * math.log(2 * math.sin(frequency(j, n) / 2)), math.log(periodogram(x, j)))
        for j in range(1, m + 1)
    ]
    return slope(points) + 0.5


def periodogram_slope(x, m):
    """Of log I on log frequency, at the lowest `m` frequencies; H = (1 - slope) / 2."""
    n = len(x)
    points = [(math.log(frequency(j, n)), math.log(periodogram(x, j))) for j in range(1, m + 1)]
    return (1 - slope(points)) / 2


def local_whittle(x, m):
    """The H on a fine grid that makes Robinson's objective least, on `m` frequencies."""
    n = len(x)
    ordinates = [(frequency(j, n), periodogram(x, j)) for j in range(1, m + 1)]
    logs = mean([math.log(w) for w, _ in ordinates])

    def objective(h):
        scale = mean([w ** (2 * h - 1) * power for w, power in ordinates])
        return math.log(scale) - (2 * h - 1) * logs

    coarse = min((k / 100 for k in range(1, 150)), key=objective)
    return min((coarse + k / 10_000 for k in range(-200, 201)), key=objective)


def fluctuation(x, size):
    """DFA: root mean square of the profile about each box's own line, for boxes from the begin."""
    middle = mean(x)
    profile = [math.fsum(value - middle for value in x[: j + 1]) for j in range(len(x))]
    squares = []
    for k in range(len(x) // size):
        squares += [r * r for r in residuals(profile[k * size : (k + 1) * size])]
    return math.sqrt(mean(squares))


def residuals(y):
    """Of a box about its least-squares line."""
    t = range(len(y))
    b = slope(zip(t, y, strict=True))
    a = mean(y) - b * mean(t)
    return [value - a - b * i for i, value in zip(t, y, strict=True)]


def wavelet_energies(x):
    """Scale, energy and number of coefficients of each octave that has at least 3 of them.

    Daubechies' wavelet with two vanishing moments. An energy is the mean of the squares, made
    larger by as much as the expectation of its logarithm is too small.
    """
    root = math.sqrt(3)
    low = [w / (4 * math.sqrt(2)) for w in (1 + root, 3 + root, 3 - root, 1 - root)]
    high = [low[3], -low[2], low[1], -low[0]]
    octaves, scale = [], 1
    while len(x) >= 8:
        places = range((len(x) - 4) // 2 + 1)
        detail = [sum(high[i] * x[2 * k + 3 - i] for i in range(4)) for k in places]
        x = [sum(low[i] * x[2 * k + 3 - i] for i in range(4)) for k in places]
        n = len(detail)
        scale *= 2
        too_small = digamma(n) - math.log(n / 2)
        octaves.append((scale, mean([d * d for d in detail]) * math.exp(-too_small), n))
    return octaves


def abry_veitch(x, smallest):
    """Weighted slope of the logarithms of energies by octave; H = (slope + 1) / 2."""
    points = [
        (math.log2(scale), math.log2(energy), 1 / trigamma(n))
        for scale, energy, n in wavelet_energies(x)
        if scale >= smallest
    ]
    middle = sum(w * j for j, _, w in points) / sum(w for _, _, w in points)
    rise = sum(w * (j - middle) * y for j, y, w in points)
    return (rise / sum(w * (j - middle) ** 2 for j, _, w in points) + 1) / 2


def digamma(n):
    """Derivative of the logarithm of the gamma function at n / 2, by its recurrence."""
    euler = 0.5772156649015329
    first, value = (2, -euler) if n % 2 == 0 else (1, -euler - 2 * math.log(2))
    return value + math.fsum(2 / k for k in range(first, n, 2))


def trigamma(n):
    """Its second derivative there."""
    first, value = (2, math.pi**2 / 6) if n % 2 == 0 else (1, math.pi**2 / 2)
    return value - math.fsum(4 / k**2 for k in range(first, n, 2))


def autocovariance(h, lag):
    """Of fractional Gaussian noise of variance 1."""
    return (abs(lag + 1) ** (2 * h) - 2 * abs(lag) ** (2 * h) + abs(lag - 1) ** (2 * h)) / 2


def spectral_density(h, w, terms=4000):
    """Of fractional Gaussian noise of variance 1, the sum over all aliases cut off late.

    The terms that are cut off are replaced by their integral.
    """
    c = math.sin(math.pi * h) * math.gamma(2 * h + 1) * (1 - math.cos(w)) / math.pi
    e = -2 * h - 1
    head = math.fsum(abs(w + 2 * math.pi * j) ** e for j in range(-terms, terms + 1))
    edge = 2 * math.pi * (terms + 0.5)
    return c * (head + ((edge + w) ** (e + 1) + (edge - w) ** (e + 1)) / (4 * math.pi * h))


def whittle(x, grid):
    """The H of the grid that makes Whittle's objective on the spectrum of such noise least."""
    n = len(x)
    ordinates = [(frequency(j, n), periodogram(x, j)) for j in range(1, (n - 1) // 2 + 1)]

    def objective(h):
        shape = [spectral_density(h, w, 200) for w, _ in ordinates]
        powers = [power / f for (_, power), f in zip(ordinates, shape, strict=True)]
        return math.log(mean(powers)) + mean([math.log(f) for f in shape])

    return min(grid, key=objective)


def arrivals(jobs, unit):
    """Number of jobs submitted in each whole unit of time since the first submission."""
    first, last = jobs[0]["submit"], jobs[-1]["submit"]
    begins = [first + k * unit for k in range(int((last - first) // unit))]
    return {b: sum(b <= job["submit"] < b + unit for job in jobs) for b in begins}


def without_cycle(counts, unit):
    """Counts less the mean of their hour of the week; of the day in less than four weeks."""
    hours = 7 * 24 if len(counts) * unit >= 4 * 7 * 24 * 3600 else 24
    same = {}
    for begin in counts:
        same.setdefault((begin + unit / 2) // 3600 % hours, []).append(begin)
    return {
        begin: counts[begin] - mean([counts[b] for b in begins])
        for begins in same.values()
        for begin in begins
    }
