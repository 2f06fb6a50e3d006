"""Rescaled ranges of windows, and fluctuations around trends in boxes."""

import numpy as np

from workloadkit._kernels.compile import kernel


@kernel
def rescaled_ranges(series, begin, size):
    """Return the range of the summed deviations over the standard deviation, of each window.

    NaN for windows of constant values.
    """
    result = np.full(begin.size, np.nan)
    for window in range(begin.size):
        first, end = begin[window], begin[window] + size[window]
        mean = 0.0
        varies = False
        for i in range(first, end):
            mean += series[i]
            varies |= series[i] != series[first]
        if not varies:
            continue
        mean /= size[window]
        deviation = squares = 0.0
        low, high = np.inf, -np.inf
        for i in range(first, end):
            z = series[i] - mean
            squares += z * z
            deviation += z
            low = min(low, deviation)
            high = max(high, deviation)
        result[window] = (high - low) / np.sqrt(squares / size[window])
    return result


@kernel
def fluctuations(profile, size):
    """Return the root mean square deviation of `profile` from linear trends in boxes, by size.

    The boxes of a size are consecutive from the beginning; the remainder is left out.
    """
    result = np.empty(size.size)
    for k in range(size.size):
        length = size[k]
        n_boxes = profile.size // length
        middle = (length - 1) / 2
        spread = length * (length * length - 1.0) / 12  # sum of squared distances to the middle
        total = 0.0
        for first in range(0, n_boxes * length, length):
            mean = 0.0
            for i in range(length):
                mean += profile[first + i]
            mean /= length
            across = squares = 0.0
            for i in range(length):
                y = profile[first + i] - mean
                across += (i - middle) * y
                squares += y * y
            total += max(squares - across * across / spread, 0.0)
        result[k] = np.sqrt(total / (n_boxes * length))
    return result
