"""Parse the ordinary lines of a log in the Standard Workload Format, byte by byte."""

import numpy as np

from workloadkit._kernels.compile import helper, kernel
from workloadkit.fields import FIELDS

N_COLUMNS = len(FIELDS)
MEASURED = np.array([field.measured for field in FIELDS])
SLOT = np.where(MEASURED, np.cumsum(MEASURED), np.cumsum(~MEASURED)) - 1  # row of its matrix
LIMIT = np.array([field.limit for field in FIELDS])
SUBMIT, CPU, STATUS = 1, 5, 10

NEWLINE, RETURN, TAB, BLANK = 10, 13, 9, 32
PLUS, MINUS, POINT, ZERO, NINE = 43, 45, 46, 48, 57

# A mantissa up to 2**53 divided by a power of ten up to 10**22 is rounded once: the result is
# the float nearest to the decimal, the one that `float` gives (W. D. Clinger, "How to read
# floating point numbers accurately", PLDI 1990). 18 digits keep the mantissa inside int64.
MAX_DIGITS = 18
MAX_MANTISSA = 2**53
POWER = 10.0 ** np.arange(MAX_DIGITS + 1)


@helper
def parse_number(text, at):
    """Read a number at `at`; gives its sign, digits, digits after the point and its end.

    The end is -1 where no ordinary number stands; digits after the point are -1 without a point.
    """
    sign = 1
    if text[at] == MINUS or text[at] == PLUS:
        sign = -1 if text[at] == MINUS else 1
        at += 1
    mantissa = 0
    first = at
    while at - first < MAX_DIGITS and ZERO <= text[at] <= NINE:
        mantissa = mantissa * 10 + (np.int64(text[at]) - ZERO)
        at += 1
    n_digits = at - first
    if n_digits == 0:
        return sign, mantissa, -1, -1
    decimals = -1
    if text[at] == POINT:
        at += 1
        first = at
        while at - first < MAX_DIGITS - n_digits and ZERO <= text[at] <= NINE:
            mantissa = mantissa * 10 + (np.int64(text[at]) - ZERO)
            at += 1
        decimals = at - first
        if decimals == 0:
            return sign, mantissa, -1, -1
    return sign, mantissa, decimals, at


@kernel
def parse_lines(text, at, max_line, strict, last_job, last_submit, measured, identifiers, n_jobs):
    """Parse lines from `at` on until one is not ordinary.

    An ordinary line has exactly 18 plain numbers between blanks and tabs. If `strict`, it also
    follows the standard in every number, no burst among them. The others are for the reader
    that knows all about them.

    Parameters
    ----------
    text : ndarray of uint8, shape (n_bytes,)
        Whole lines, each with its newline: that is where every loop ends at the latest.
    at : int
        Where to begin.
    max_line : int
        Longest ordinary line. [bytes]
    strict : bool
    last_job, last_submit : int, float
        Of the line before; for `strict`.
    measured : ndarray of float64, shape (10, room)
        Filled from column `n_jobs` on.
    identifiers : ndarray of int64, shape (8, room)
        Likewise.
    n_jobs : int
        Columns filled before.

    Returns
    -------
    at : int
        Beginning of the line that is not ordinary, or the end of the text.
    n_jobs : int
        Columns filled now.
    last_job, last_submit : int, float
    """
    stop = text.size
    while at < stop:
        begin = at
        for column in range(N_COLUMNS):
            while text[at] == BLANK or text[at] == TAB:
                at += 1
            if text[at] == MINUS and text[at + 1] == ZERO + 1 and text[at + 2] <= BLANK:
                at += 2  # unknown, as two of five numbers are in real logs
                if MEASURED[column]:
                    measured[SLOT[column], n_jobs] = -1.0
                else:
                    identifiers[SLOT[column], n_jobs] = -1
                continue
            sign, mantissa, decimals, at = parse_number(text, at)
            if at < 0 or text[at] > BLANK:
                return begin, n_jobs, last_job, last_submit
            if mantissa > LIMIT[column]:
                return begin, n_jobs, last_job, last_submit
            if strict and (
                (decimals >= 0 and column != CPU) or (sign < 0 and (mantissa > 1 or decimals > 0))
            ):
                return begin, n_jobs, last_job, last_submit
            if MEASURED[column]:
                if mantissa > MAX_MANTISSA:
                    return begin, n_jobs, last_job, last_submit
                value = float(mantissa)
                if decimals > 0:
                    value /= POWER[decimals]
                measured[SLOT[column], n_jobs] = -value if sign < 0 else value
            else:
                if decimals >= 0:
                    return begin, n_jobs, last_job, last_submit
                identifiers[SLOT[column], n_jobs] = sign * mantissa
        while text[at] == BLANK or text[at] == TAB:
            at += 1
        if text[at] == RETURN:
            at += 1
        if text[at] != NEWLINE or at - begin > max_line:
            return begin, n_jobs, last_job, last_submit
        at += 1
        if strict:
            job, submit = identifiers[SLOT[0], n_jobs], measured[SLOT[SUBMIT], n_jobs]
            status = identifiers[SLOT[STATUS], n_jobs]
            if job <= last_job or submit < last_submit or 2 <= status <= 4:
                return begin, n_jobs, last_job, last_submit
            last_job, last_submit = job, submit
        n_jobs += 1
    return at, n_jobs, last_job, last_submit
