"""Estimators of long memory, step by step from their definitions.

Rescaled range: Zakay and Feitelson (2014), section 5.3; the others: Beran (1994), Taqqu, Teverovsky
and Willinger (1995), Robinson (1995), Geweke and Porter-Hudak (1983), Peng et al. (1994); exact
autocovariances: Mandelbrot and van Ness (1968).
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


def fluctuation(x, size, order=1):
    """DFA: root mean square of the profile about each window's own line."""
    middle = mean(x)
    profile = [math.fsum(value - middle for value in x[: j + 1]) for j in range(len(x))]
    squares = []
    for k in range(len(x) // size):
        squares += residuals(profile[k * size : (k + 1) * size])
    return math.sqrt(mean([r * r for r in squares]))


def residuals(y):
    """Of a window about its least-squares line."""
    t = range(len(y))
    b = slope(zip(t, y, strict=True))
    a = mean(y) - b * mean(t)
    return [value - a - b * i for i, value in zip(t, y, strict=True)]


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
