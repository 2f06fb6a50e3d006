"""Parse the ordinary lines of a log in the Standard Workload Format, byte by byte."""

import numpy as np

from workloadkit._kernels.compile import kernel
from workloadkit.fields import FIELDS

N_COLUMNS = len(FIELDS)
MEASURED = np.array([field.measured for field in FIELDS])
SLOT = np.where(MEASURED, np.cumsum(MEASURED), np.cumsum(~MEASURED)) - 1  # row of its matrix
LIMIT = np.array([field.limit for field in FIELDS])
SUBMIT, CPU, STATUS = 1, 5, 10

TAB, NEWLINE, RETURN, BLANK, MINUS, POINT, ZERO, ONE = b"\t\n\r -.01"

# A mantissa up to 2**53 divided by a power of ten up to 10**22 is rounded once: the result is
# the float nearest to the decimal, the one that `float` gives (W. D. Clinger, "How to read
# floating point numbers accurately", PLDI 1990). 18 digits keep the mantissa inside int64.
MAX_DIGITS = 18
MAX_MANTISSA = 2**53
POWER = 10.0 ** np.arange(MAX_DIGITS + 1)


@kernel
def parse_lines(text, at, max_line, strict, last_job, last_submit, measured, identifiers, n_jobs):
    """Parse lines from `at` on until one is not ordinary.

    An ordinary line has exactly 18 plain numbers between blanks and tabs: digits, perhaps a point
    and digits, or -1. If `strict`, it also follows the standard and is no burst. The others are
    for the reader that knows all about them.

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
    while at < text.size:
        begin = at
        for column in range(N_COLUMNS):
            while text[at] == BLANK or text[at] == TAB:
                at += 1
            if text[at] == MINUS and text[at + 1] == ONE and text[at + 2] <= BLANK:
                at += 2  # unknown, as two of five numbers are in real logs
                if MEASURED[column]:
                    measured[SLOT[column], n_jobs] = -1.0
                else:
                    identifiers[SLOT[column], n_jobs] = -1
                continue

            mantissa = 0
            first = at
            digit = int(text[at]) - ZERO
            while 0 <= digit <= 9:
                mantissa = mantissa * 10 + digit  # wraps around where there are too many digits
                at += 1
                digit = int(text[at]) - ZERO
            n_digits = at - first
            decimals = 0
            if text[at] == POINT and n_digits > 0:
                at += 1
                first = at
                digit = int(text[at]) - ZERO
                while 0 <= digit <= 9:
                    mantissa = mantissa * 10 + digit
                    at += 1
                    digit = int(text[at]) - ZERO
                decimals = at - first
                n_digits += decimals
                if decimals == 0 or not MEASURED[column] or mantissa > MAX_MANTISSA:
                    return begin, n_jobs, last_job, last_submit
                if strict and column != CPU:
                    return begin, n_jobs, last_job, last_submit
            if n_digits == 0 or n_digits > MAX_DIGITS:
                return begin, n_jobs, last_job, last_submit
            if mantissa > LIMIT[column] or text[at] > BLANK:
                return begin, n_jobs, last_job, last_submit

            if not MEASURED[column]:
                identifiers[SLOT[column], n_jobs] = mantissa
            elif decimals > 0:
                measured[SLOT[column], n_jobs] = mantissa / POWER[decimals]
            else:
                measured[SLOT[column], n_jobs] = mantissa

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
