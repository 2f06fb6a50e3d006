"""Numbers in bytes: digits are read by arithmetic on eight characters at a time."""

import numpy as np
from numpy.typing import NDArray

#: Digits up to which numbers are exact as floats.
LONGEST_NUMBER = 15
_TENS = 10.0 ** np.arange(LONGEST_NUMBER + 1)
#: The character 0, eight times.
ZEROS = np.uint64(0x3030303030303030)
_POINTS, _ONES, _HIGH_BITS = (np.uint64(c * 0x0101010101010101) for c in (ord("."), 1, 0x80))
#: Keeps the last n of eight characters, for n from 0 to 8.
KEEP_LAST = np.array([(-1 << 8 * (8 - n)) % (1 << 64) for n in range(9)], np.uint64)

# ":mm:ss", the last six of eight bytes: the colons, and where there are digits
_CLOCK_MARKS, _CLOCK_COLONS = np.uint64(0x0000FF0000FF0000), np.uint64(0x00003A00003A0000)
_CLOCK_DIGITS = np.uint64(0xFFFF00FFFF000000)


def eights_of(data: bytes) -> NDArray[np.uint64]:
    """Return the eight characters at every place, as a number."""
    return np.ndarray((len(data) - 7,), "<u8", data, strides=(1,))


def all_digits(eights: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Return where eight characters are digits."""
    above = eights + np.uint64(0x4646464646464646)
    below = eights - ZEROS
    return ((above | below) & np.uint64(0x8080808080808080)) == 0


def digits(
    eights: NDArray[np.uint64], begin: NDArray[np.int64], end: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return numbers, and which of them consist of 1 to 15 digits."""
    length = end - begin
    low = eights[end - 8]
    keep = KEEP_LAST[np.clip(length, 0, 8)]
    low = (low & keep) | (ZEROS & ~keep)
    plain = (length > 0) & (length <= LONGEST_NUMBER) & all_digits(low)
    number = _value_of_digits(low)
    if (length > 8).any():
        keep = KEEP_LAST[np.clip(length - 8, 0, 8)]
        high = (eights[end - 16] & keep) | (ZEROS & ~keep)
        plain &= all_digits(high)
        number += 1e8 * _value_of_digits(high)
    return number, plain


def decimals(
    eights: NDArray[np.uint64], begin: NDArray[np.int64], end: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return numbers, and which of them are 1 to 15 digits, perhaps with a point near the end.

    The point is one of the last eight characters.
    """
    number, plain = digits(eights, begin, end)
    rest = np.flatnonzero(~plain)
    if rest.size:
        begin, end = begin[rest], end[rest]
        length = end - begin
        at = _first_point(eights[end - 8], length)
        point = end - 8 + at
        whole, in_front = digits(eights, begin, point)
        after, behind = digits(eights, point + 1, end)
        few = length <= LONGEST_NUMBER + 1
        plain[rest] = (at >= 0) & in_front & behind & few
        # both are exact, so the quotient is the closest float
        tens = _TENS[np.where(at >= 0, 7 - at, 0)]
        number[rest] = (whole * tens + after) / tens
    return number, plain


def clock(
    eights: NDArray[np.uint64], end: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the seconds of the ``:mm:ss`` before some places, and which of them have this form."""
    text = eights[end - 8]
    plain = (text & _CLOCK_MARKS) == _CLOCK_COLONS
    text = (text & _CLOCK_DIGITS) | (ZEROS & ~_CLOCK_DIGITS)
    plain &= all_digits(text)
    shifts = np.array([24, 32, 48, 56], np.uint64)
    tens, ones, ten, one = (
        ((text >> shift) & np.uint64(15)).astype(np.float64) for shift in shifts
    )
    return 60 * (10 * tens + ones) + 10 * ten + one, plain


def _first_point(eights: NDArray[np.uint64], length: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where the first point is among the last eight characters of texts, or -1."""
    keep = KEEP_LAST[np.clip(length, 0, 8)]
    others = (eights ^ _POINTS) | ~keep  # a byte is 0 where there is a point
    found = (others - _ONES) & ~others & _HIGH_BITS  # exact up to the first one
    first = found & (~found + np.uint64(1))
    return np.frexp(first.astype(np.float64))[1].astype(np.int64) // 8 - 1


def _value_of_digits(eights: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return the number that eight digits form: pairs of digits, of pairs, of these."""
    number = (eights & np.uint64(0x0F0F0F0F0F0F0F0F)) * np.uint64(2561) >> np.uint64(8)
    number = (number & np.uint64(0x00FF00FF00FF00FF)) * np.uint64(6553601) >> np.uint64(16)
    number = (number & np.uint64(0x0000FFFF0000FFFF)) * np.uint64(42949672960001) >> np.uint64(32)
    return number.astype(np.float64)
