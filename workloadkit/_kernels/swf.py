"""Parse and write lines of the Standard Workload Format, byte by byte."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import helper, inline, kernel
from workloadkit.fields import FIELDS, UNKNOWN

N_COLUMNS = len(FIELDS)
MEASURED = np.array([field.measured for field in FIELDS])
SLOT = np.where(MEASURED, np.cumsum(MEASURED), np.cumsum(~MEASURED)) - 1  # row of its matrix
LIMIT = np.array([field.limit for field in FIELDS])
SUBMIT, CPU, STATUS = 1, 5, 10

TAB, NEWLINE, RETURN, BLANK, MINUS, POINT, ZERO, ONE = b"\t\n\r -.01"

# A mantissa up to 2**53 divided by a power of ten up to 10**22 is rounded once: the result is the
# float nearest to the decimal, as given by `float` (W. D. Clinger, "How to read floating point
# numbers accurately", PLDI 1990). 18 digits keep the mantissa inside int64.
MAX_DIGITS = 18
MAX_MANTISSA = 2**53
POWER = np.array([float(10**n) for n in range(23)])  # the exact ones
SPLITTER = 2.0**27 + 1  # splits a float into halves

TEN = np.uint64(10)
ROUND = np.array([10**n for n in range(1, 20)], np.uint64)  # 10, 100, …


class JobColumns(NamedTuple):
    """The columns of jobs, which are filled while lines are read.

    Parameters
    ----------
    measured : ndarray of float64, shape (10, room)
        NaN is unknown, except as a submit time.
    identifiers : ndarray of int64, shape (8, room)
    more : ndarray of float64, shape (n_bytes,)
        The numbers after the 18th column of all jobs.
    n_more_of : ndarray of int64, shape (room,)
        Their number for each job, from the first one that is read.
    """

    measured: NDArray[np.float64]
    identifiers: NDArray[np.int64]
    more: NDArray[np.float64]
    n_more_of: NDArray[np.int64]


@kernel
def parse_lines(text, at, max_line, strict, last_job, last_submit, columns, n_jobs):
    """Parse lines from `at` on until one is not ordinary, or all columns are filled.

    An ordinary line has 18 plain numbers between blanks and tabs: digits, perhaps a point and
    digits, or -1; perhaps further non-negative numbers. If `strict`, there are no further ones, and
    the line also follows the standard and is no burst. The complete reader handles all other lines.

    Parameters
    ----------
    text : ndarray of uint8, shape (n_bytes,)
        Whole lines, each with its newline, at which every loop ends.
    at : int
        Where to begin.
    max_line : int
        Longest ordinary line. [bytes]
    strict : bool
    last_job, last_submit : int, float
        Of the previous line; for `strict`.
    columns : JobColumns
        Filled from column `n_jobs` on.
    n_jobs : int
        Columns filled before.

    Returns
    -------
    at : int
        Beginning of the next line, or the end of the text.
    n_jobs : int
        Columns filled now.
    last_job, last_submit : int, float
    n_more : int
        Numbers in `columns.more`.
    """
    measured, identifiers, more, n_more_of = columns
    n_more = 0
    first_job = n_jobs
    while at < text.size and n_jobs < measured.shape[1]:
        begin, n_before = at, n_more
        for column in range(N_COLUMNS):
            at = after_blanks(text, at)
            if (
                byte(text, at) == MINUS
                and byte(text, at + 1) == ONE
                and byte(text, at + 2) <= BLANK
            ):
                at += 2  # unknown, like two of five numbers in real logs
                if MEASURED[column]:
                    measured[SLOT[column], n_jobs] = -1.0 if column == SUBMIT else math.nan
                else:
                    identifiers[SLOT[column], n_jobs] = -1
                continue

            first = at
            at, mantissa = after_digits(text, at, 0)
            n_digits = at - first
            decimals = 0
            if byte(text, at) == POINT and n_digits > 0:
                first = at + 1
                at, mantissa = after_digits(text, first, mantissa)
                decimals = at - first
                n_digits += decimals
                if decimals == 0 or not MEASURED[column] or mantissa > MAX_MANTISSA:
                    return begin, n_jobs, last_job, last_submit, n_before
                if strict and column != CPU:
                    return begin, n_jobs, last_job, last_submit, n_before
            if not 0 < n_digits <= MAX_DIGITS or mantissa > LIMIT[column] or byte(text, at) > BLANK:
                return begin, n_jobs, last_job, last_submit, n_before

            if not MEASURED[column]:
                identifiers[SLOT[column], n_jobs] = mantissa
            elif decimals > 0:
                measured[SLOT[column], n_jobs] = mantissa / POWER[decimals]
            else:
                measured[SLOT[column], n_jobs] = mantissa

        at = after_blanks(text, at)
        if not strict:
            at, n_more = parse_more(text, at, more, n_more)
        if byte(text, at) == RETURN:
            at += 1
        if byte(text, at) != NEWLINE or at - begin > max_line:
            return begin, n_jobs, last_job, last_submit, n_before
        at += 1
        if strict:
            job, submit = identifiers[SLOT[0], n_jobs], measured[SLOT[SUBMIT], n_jobs]
            status = identifiers[SLOT[STATUS], n_jobs]
            if job <= last_job or submit < last_submit or 2 <= status <= 4:
                return begin, n_jobs, last_job, last_submit, n_before
            last_job, last_submit = job, submit
        n_more_of[n_jobs - first_job] = n_more - n_before
        n_jobs += 1
    return at, n_jobs, last_job, last_submit, n_more


@helper
def parse_more(text, at, more, n_more):
    """Parse the numbers after the 18th column, up to anything else.

    Returns that position, and how many numbers there are now.
    """
    while byte(text, at) > BLANK:
        mantissa = 0
        n_digits = 0  # without leading zeros
        first = at
        point = -1
        digit = int(byte(text, at)) - ZERO
        while 0 <= digit <= 9 or (byte(text, at) == POINT and point < 0):
            if byte(text, at) == POINT:
                point = at
            else:
                mantissa = mantissa * 10 + digit
                n_digits += mantissa != 0  # overflows beyond 18 digits
            at += 1
            digit = int(byte(text, at)) - ZERO
        decimals = at - 1 - point if point >= 0 else 0
        if at - first - (point >= 0) == 0 or n_digits > MAX_DIGITS or decimals >= POWER.size:
            return first, n_more
        more[n_more] = quotient(mantissa, POWER[decimals])
        if byte(text, at) > BLANK or more[n_more] < 0:
            return first, n_more
        n_more += 1
        at = after_blanks(text, at)
    return at, n_more


@helper
def quotient(mantissa, power):
    """Divide a whole number up to 10**18 by an exact power of ten; -1 where rounding is in doubt.

    The quotient and the remainder of the division are added without an intermediate rounding
    (T. J. Dekker, "A floating-point technique for extending the available precision", Numerische
    Mathematik 18, 1971): the sum is the nearest float unless it lies next to halfway between two.
    """
    if mantissa <= MAX_MANTISSA:
        return mantissa / power
    high = float(mantissa)
    low = float(mantissa - int(high))
    result = high / power
    # result * power, exactly
    product = result * power
    a, b = SPLITTER * result, SPLITTER * power
    a, b = a - (a - result), b - (b - power)
    error = ((a * b - product) + a * (power - b) + (result - a) * b) + (result - a) * (power - b)
    rest = ((high - product) - error + low) / power
    rounded = result + rest
    beyond = rest - (rounded - result)
    fraction, exponent = math.frexp(rounded)
    if fraction == 0.5 or abs(beyond) > 0.999999 * math.ldexp(1.0, exponent - 54):
        return -1.0
    return rounded


@inline
def after_blanks(text, at):
    """Return the place after blanks and tabs."""
    while byte(text, at) == BLANK or byte(text, at) == TAB:
        at += 1
    return at


@inline
def after_digits(text, at, mantissa):
    """Append digits to a whole number, which overflows with too many; return their end, and it."""
    digit = int(byte(text, at)) - ZERO
    while 0 <= digit <= 9:
        mantissa = mantissa * 10 + digit
        at += 1
        digit = int(byte(text, at)) - ZERO
    return at, mantissa


@inline
def byte(text, at):
    """Return a byte of a text; a place without a sign saves the test whether it is negative."""
    return text[np.uint64(at)]


@kernel
def write_lines(measured, identifiers, without_point, n_decimals, texts, text_end, out):
    """Write the lines of jobs.

    Parameters
    ----------
    measured : ndarray of float64, shape (10, n_jobs)
        NaN is unknown.
    identifiers : ndarray of int64, shape (8, n_jobs)
    without_point : ndarray of int64, shape (n_decimals,)
        The measured numbers with decimals, in the order of the text.
    n_decimals : ndarray of int8, shape (n_decimals,)
        Their digits after the point; 0 for the next one of the texts.
    texts : ndarray of uint8
        Texts one after another.
    text_end : ndarray of int32, shape (n_texts,)
        Where each text ends.
    out : ndarray of uint8
        With room for all lines.

    Returns
    -------
    n_bytes : int
    """
    at = text_at = n_texts = n_with_decimals = 0
    for job in range(measured.shape[1]):
        for column in range(N_COLUMNS):
            number, decimals = UNKNOWN, 0
            if not MEASURED[column]:
                number = int(identifiers[SLOT[column], job])
            elif not math.isnan(measured[SLOT[column], job]):
                number = int(measured[SLOT[column], job])
                if number != measured[SLOT[column], job]:
                    number = int(without_point[n_with_decimals])
                    decimals = int(n_decimals[n_with_decimals]) or -1
                    n_with_decimals += 1
            if decimals < 0:
                while text_at < text_end[n_texts]:
                    out[at] = texts[text_at]
                    at += 1
                    text_at += 1
                n_texts += 1
            else:
                if number < 0:
                    out[at] = MINUS
                    at += 1
                if decimals == 0 and -10 < number < 10:  # most are
                    out[at] = ZERO + abs(number)
                    at += 1
                else:
                    at = write_digits(np.uint64(abs(number)), decimals, out, at)
            out[at] = BLANK
            at += 1
        out[at - 1] = NEWLINE
    return at


@helper
def write_digits(number, decimals, out, at):
    """Write a number, a uint64, with some decimals; return where it ends."""
    n_digits = 1
    while n_digits <= ROUND.size and (n_digits <= decimals or number >= ROUND[n_digits - 1]):
        n_digits += 1
    end = at + n_digits + (decimals > 0)
    place = end
    for i in range(n_digits):
        if i == decimals and i > 0:
            place -= 1
            out[place] = POINT
        place -= 1
        tens = number // TEN
        out[place] = ZERO + np.int64(number - tens * TEN)
        number = tens
    return end
