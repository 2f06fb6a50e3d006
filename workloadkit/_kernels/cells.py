"""Fields of records in bytes: where they are, numbers in their usual forms, and distinct texts.

Before and after a text there are zero bytes, so that eight characters can be loaded at any place.
"""

import numpy as np

from workloadkit._kernels.bits import place_of_lowest
from workloadkit._kernels.compile import inline, kernel

#: Zero bytes before and after a text.
PAD = 16

#: Digits up to which numbers are exact as floats.
LONGEST_NUMBER = 15

#: Forms of numbers: digits; perhaps with a point; each of both perhaps with a minus; digits before
#: ``kb``; hours, minutes and seconds; ``2015-06-26T13:57:00``.
WHOLE, DECIMAL, SIGNED_WHOLE, SIGNED_DECIMAL, KILOBYTES, CLOCK, TIME = range(7)

NEWLINE, BLANK, QUOTE, APOSTROPHE, ZERO, COLON, DASH, POINT, LETTER_T = b"\n \"'0:-.T"
SUFFIX_K, SUFFIX_B = b"kb"

# The bits of eight characters: the highest ones, all others, and those of characters.
HIGH, LOW = (np.uint64(c * 0x0101010101010101) for c in (0x80, 0x7F))
ABOVE_CONTROLS, LAST_ASCII = (np.uint64(c * 0x0101010101010101) for c in (0x60, 1))

#: Keeps the first n of eight characters, for n from 0 to 8.
KEEP = np.array([(1 << 8 * n) - 1 for n in range(9)], np.uint64)
HALF, FACTORS = np.uint64(32), (np.uint64(0x3C6EF372), np.uint64(0x1B873593))
LOW_HALF, FOLD = np.uint64(0xFFFFFFFF), np.uint64(29)

#: Slots in which a text is looked for; beyond them it counts as another one.
MOST_TRIED = 32

POWER = 10.0 ** np.arange(LONGEST_NUMBER + 1)
DAYS = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
FIRST_YEAR, LAST_YEAR = 1970, 9998


@kernel
def find_fields(words, chars, one, two, quotes, bounds, first, n_quotes, odd):
    """Find the fields of all lines.

    Parameters
    ----------
    words : ndarray of uint64
        The text, eight characters each.
    chars : ndarray of uint8
    one, two : uint64
        Two separators, eight times each.
    quotes : bool
        Whether a field between quotes may contain separators, and only such a field may be empty.
    bounds : ndarray of int32, shape (n_bytes,)
        Receives the places before the text, of separators, and of line feeds.
    first : ndarray of int32, shape (n_lines + 1,)
        Receives the number of the bound before each line.
    n_quotes : ndarray of int32, shape (n_lines,)
        Receives the number of quotes in each line.
    odd : ndarray of bool, shape (n_lines,)
        Receives which lines contain control characters or are not ASCII, or have quotes within
        fields.
    """
    quote = np.uint64(QUOTE) * LAST_ASCII
    bounds[0] = last = PAD - 1
    n_bounds, line, count = 1, 0, 0
    inside = is_odd = False
    first[0] = 0
    for word in range(PAD // 8, words.size):
        text = words[word]
        low = text & LOW
        marks = ~(low + ABOVE_CONTROLS) | (low + LAST_ASCII) | text
        marks |= zeros(text ^ one) | zeros(text ^ two) | zeros(text ^ quote)
        marks &= HIGH
        while marks != 0:
            at = 8 * word + (place_of_lowest(marks) >> 3)
            marks &= marks - np.uint64(1)
            char = chars[at]
            # an empty field without quotes
            is_odd |= quotes and last == at - 1 and char != QUOTE
            if char == NEWLINE:
                odd[line] = is_odd or inside
                n_quotes[line] = count
                line += 1
                first[line] = n_bounds
                bounds[n_bounds] = last = at
                n_bounds += 1
                if line == odd.size:
                    return
                inside = is_odd = False
                count = 0
            elif char == QUOTE:
                count += 1
                if quotes:  # they surround fields
                    neighbor = chars[at + 1] if inside else chars[at - 1]
                    is_odd |= not (
                        neighbor == np.uint8(one) or neighbor == NEWLINE or neighbor == 0
                    )
                    inside = not inside
            elif char != np.uint8(one) and char != np.uint8(two):
                is_odd = True
            elif not inside:
                bounds[n_bounds] = last = at
                n_bounds += 1


@inline
def zeros(text):
    """Mark the zero bytes among eight, by their highest bits."""
    return ~((text & LOW) + LOW | text)


@kernel
def pick(chars, bounds, first, lines, start, fields, quotes, begin, end):
    """Return where some fields of lines begin and end; missing ones end before they begin.

    Parameters
    ----------
    chars : ndarray of uint8
    bounds : ndarray of int32
    first : ndarray of int32, shape (n_lines + 1,)
    lines : ndarray of int64, shape (n_records,)
    start : ndarray of int64, shape (n_records,)
        Fields before those that are counted.
    fields : ndarray of int64, shape (n_fields,)
        Positions of the fields.
    quotes : bool
        Whether the quotes around a field are left out.
    begin, end : ndarray of int32, shape (n_fields, n_records)
        Receive the places.
    """
    for record in range(lines.size):
        for i in range(fields.size):
            bound = first[lines[record]] + start[record] + fields[i]
            at, last = PAD, PAD - 1
            if bound < first[lines[record] + 1]:
                at, last = bounds[bound] + 1, bounds[bound + 1]
                if quotes and chars[at] == QUOTE:
                    at, last = at + 1, last - 1
            begin[i, record], end[i, record] = at, last


@kernel
def gather(eights, begin, end, start, gathered):
    """Copy fields, so that those of a column follow each other; what needs a column is near then.

    Parameters
    ----------
    eights : ndarray of uint64
        The eight characters at every place.
    begin, end : ndarray of int32, shape (n_fields, n_records)
        Places of the fields; receive those of the copies.
    start : ndarray of int32, shape (n_fields,)
        Receives the place of the first character of each column.
    gathered : ndarray of uint64
        Receives eight characters at every place.
    """
    at = PAD
    for i in range(start.size):
        start[i] = at
        for record in range(begin.shape[1]):
            at += max(end[i, record] - begin[i, record], 0)
        at += PAD
    for record in range(begin.shape[1]):
        for i in range(start.size):
            place, length, at = begin[i, record], end[i, record] - begin[i, record], start[i]
            begin[i, record], end[i, record] = at, at + length
            start[i] += max(length, 0)
            while length > 0:
                gathered[at] = eights[place]
                at += 8
                place += 8
                length -= 8


@kernel
def read_numbers(chars, begin, end, form, longest, number, plain):
    """Read numbers in a form; mark those that are in it.

    Parameters
    ----------
    chars : ndarray of uint8
    begin, end : ndarray of int32, shape (n_texts,)
    form : int
    longest : int
        Maximum number of digits; of hours.
    number : ndarray of float64, shape (n_texts,)
        Receives the numbers; of other texts any.
    plain : ndarray of bool, shape (n_texts,)
        Receives which texts are in the form.
    """
    for i in range(begin.size):
        at, last = begin[i], end[i]
        if form == TIME:
            number[i], plain[i] = read_time(chars, at, last)
            continue
        if form == CLOCK:
            last -= 6
        elif form == KILOBYTES:
            last -= 2
        is_negative = form in (SIGNED_WHOLE, SIGNED_DECIMAL) and chars[at] == DASH
        at += is_negative
        has_point = form in (DECIMAL, SIGNED_DECIMAL)
        whole, n_digits, place = 0, 0, last
        while at < last and n_digits <= longest:
            digit = int(chars[at]) - ZERO
            if 0 <= digit <= 9:
                whole = 10 * whole + digit
                n_digits += 1
            elif has_point and chars[at] == POINT and place == last and n_digits > 0:
                place = at + 1
                if place == last:
                    break
            else:
                break
            at += 1
        fits = at == last and 0 < n_digits <= longest
        if form == CLOCK and fits:
            minutes, seconds = two_digits(chars, at + 1), two_digits(chars, at + 4)
            fits = chars[at] == COLON and chars[at + 3] == COLON and minutes >= 0 and seconds >= 0
            whole = 3600 * whole + 60 * minutes + seconds
        elif form == KILOBYTES and fits:
            fits = chars[at] == SUFFIX_K and chars[at + 1] == SUFFIX_B
        # both are exact, so the quotient is the closest float
        value = whole / POWER[last - place] if fits and has_point else float(whole)
        number[i] = -value if is_negative else value
        plain[i] = fits


@inline
def two_digits(chars, at):
    """Return the number that two characters form; a negative one if they are no digits."""
    tens, ones = int(chars[at]) - ZERO, int(chars[at + 1]) - ZERO
    return 10 * tens + ones if 0 <= tens <= 9 and 0 <= ones <= 9 else -(10**6)


@inline
def read_time(chars, at, last):
    """Return the seconds of a time since 1970, and whether it is valid."""
    if last - at != 19:
        return 0.0, False
    year = 100 * two_digits(chars, at) + two_digits(chars, at + 2)
    month, day = two_digits(chars, at + 5), two_digits(chars, at + 8)
    hour, minute, second = (
        two_digits(chars, at + 11),
        two_digits(chars, at + 14),
        two_digits(chars, at + 17),
    )
    if not (
        (chars[at + 10] == LETTER_T or chars[at + 10] == BLANK)
        and chars[at + 4] == DASH == chars[at + 7]
        and chars[at + 13] == COLON == chars[at + 16]
        and FIRST_YEAR <= year <= LAST_YEAR
        and 1 <= month <= 12
        and 0 <= hour < 24
        and 0 <= minute < 60
        and 0 <= second <= 60
    ):
        return 0.0, False
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if not 1 <= day <= DAYS[month - 1] + (is_leap and month == 2):
        return 0.0, False
    # days since March 1 of year 0, when years begin in March
    years = year - (month <= 2)
    days = 365 * years + years // 4 - years // 100 + years // 400
    days += (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return float(86400 * (days - 719468) + 3600 * hour + 60 * minute + second), True


@kernel
def number_texts(eights, begin, end, slots, codes, first):
    """Assign numbers to the distinct texts, in the order in which they appear.

    Parameters
    ----------
    eights : ndarray of uint64
        The eight characters at every place.
    begin, end : ndarray of int32, shape (n_texts,)
    slots : ndarray of int32
        Their number is a power of two; all are -1.
    codes : ndarray of int32, shape (n_texts,)
        Receives the numbers.
    first : ndarray of int32, shape (n_texts,)
        Receives the first text of each number.

    Returns
    -------
    int
        How many there are; -1 if half of the slots are in use.
    """
    n_codes, code, last = 0, -1, np.uint64(slots.size - 1)
    for i in range(begin.size):
        at, length = begin[i], max(end[i] - begin[i], 0)
        if code < 0 or not same(eights, begin, end, first[code], at, length):
            slot = hashed(eights, at, length) & last
            code = -1
            for _ in range(MOST_TRIED):
                code = slots[slot]
                if code < 0 or same(eights, begin, end, first[code], at, length):
                    break
                code = -1
                slot = (slot + np.uint64(1)) & last
            if code < 0:
                if 2 * n_codes >= slots.size:
                    return -1
                code = n_codes
                first[code] = i
                n_codes += 1
                if slots[slot] < 0:
                    slots[slot] = code
        codes[i] = code
    return n_codes


@inline
def same(eights, begin, end, other, at, length):
    """Return whether a text is the same as another one."""
    place = begin[other]
    if max(end[other] - place, 0) != length:
        return False
    while length >= 8:
        if eights[place] != eights[at]:
            return False
        place += 8
        at += 8
        length -= 8
    return (eights[place] ^ eights[at]) & KEEP[length] == 0


@inline
def hashed(eights, at, length):
    """Return a number that rarely is the same for two texts; nothing overflows."""
    number = np.uint64(length)
    while length > 0:
        number ^= eights[at] & KEEP[min(length, 8)]
        number = (number & LOW_HALF) * FACTORS[0] + (number >> HALF) * FACTORS[1]
        at += 8
        length -= 8
    return number ^ (number >> FOLD)


@kernel
def match_words(
    eights, chars, bounds, first, n_quotes, rows, heads, length, quoted, column, begin, end, left
):
    """Find the values in lines of words that begin with certain texts, such as ``user=``.

    Parameters
    ----------
    eights : ndarray of uint64
        The eight characters at every place.
    chars : ndarray of uint8
    bounds, n_quotes : ndarray of int32
    first : ndarray of int32, shape (n_lines,)
        Number of the bound before the first word of each line.
    rows : ndarray of int64
        Lines with as many words.
    heads : ndarray of uint64, shape (n_words, n_eights)
        The texts, eight characters each, followed by zeros.
    length : ndarray of int64, shape (n_words,)
        Of the texts.
    quoted : ndarray of bool, shape (n_words,)
        Whether the value is in quotes; there are none elsewhere.
    column : ndarray of int64, shape (n_words,)
        For the value; -1 if it is not used.
    begin, end : ndarray of int32, shape (n_columns, n_lines)
        Receive the places.
    left : ndarray of int64
        Receives the lines with other words.

    Returns
    -------
    int
        How many lines have other words.
    """
    n_left, n_expected = 0, 2 * quoted.sum()
    for i in range(rows.size):
        line = rows[i]
        bound, fits = first[line], n_quotes[line] == n_expected
        word = 0
        while fits and word < length.size:
            at, last = bounds[bound + word] + 1, bounds[bound + word + 1]
            value = at + length[word]
            # a blank or the line feed ends it
            fits = value <= last and chars[last] <= BLANK
            fits = fits and begins(eights, at, heads, word, length[word])
            is_quote = chars[value] == QUOTE
            if quoted[word]:
                last -= 1
                fits &= is_quote and value < last and chars[last] == QUOTE
                value += 1
            else:
                fits &= not is_quote and chars[value] != APOSTROPHE
            if fits and column[word] >= 0:
                begin[column[word], line], end[column[word], line] = value, last
            word += 1
        if not fits:
            left[n_left] = line
            n_left += 1
    return n_left


@inline
def begins(eights, at, heads, word, length):
    """Return whether the text of a word is at a place."""
    i = 0
    while length > 0:
        if (eights[at] ^ heads[word, i]) & KEEP[min(length, 8)] != 0:
            return False
        i += 1
        at += 8
        length -= 8
    return True
