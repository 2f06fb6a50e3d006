"""The language that chooses jobs, from its documented grammar, for one job after another.

A job is a dict: numbers by field, names by `FIELD.name`, local times by `FIELD.local`, that of
second -1 by `-1.local`; None is unknown. The truth of an expression is True, False or None, for
neither.
"""

import re
from datetime import datetime, timedelta

TOKENS = re.compile(
    r"\"(?:[^\"]|\"\")*\"|'(?:[^']|'')*'|<=|>=|!=|<>|==|[=<>(),]|\.\.|(?:(?!\.\.)[^\s()<>=!,\"'])+"
)
SIGNS = {"=", "==", "!=", "<>", "<", "<=", ">", ">="}
TIMES = {"submit", "start", "end", "eligible"}
UNITS = {"s": 1, "min": 60, "h": 3600, "d": 86400, "w": 604800}
SIZES = {"kb": 1, "mb": 1024, "gb": 1024**2, "tb": 1024**3}


def both(one, other):
    if one is False or other is False:
        return False
    return None if None in (one, other) else True


def either(one, other):
    if one is True or other is True:
        return True
    return None if None in (one, other) else False


def opposite(one):
    return None if one is None else not one


class Reading:
    def __init__(self, text, job, coded):
        self.words, self.job, self.coded = TOKENS.findall(text), job, coded

    def next_is(self, *words):
        return bool(self.words) and self.words[0].lower() in words

    def drop(self, *words):
        if self.next_is(*words):
            return self.words.pop(0)
        return None

    def any_of(self):
        found = self.all_of()
        while self.drop("or"):
            found = either(found, self.all_of())
        return found

    def all_of(self):
        found = self.one()
        while self.drop("and"):
            found = both(found, self.one())
        return found

    def one(self):
        if self.drop("not"):
            return opposite(self.one())
        if self.drop("("):
            found = self.any_of()
            assert self.drop(")")
            return found
        return self.test()

    def test(self):
        first = self.words.pop(0)
        if self.next_is(*SIGNS) and re.match(r"[\d\"'.+-]", first):
            sign, name = self.words.pop(0), self.words.pop(0).lower()
            turned = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}.get(sign, sign)
            found = self.compare(name, turned, first)
            if self.next_is(*SIGNS):
                found = both(found, self.compare(name, self.words.pop(0), self.words.pop(0)))
            return found
        name = first.lower()
        if self.drop("is"):
            negated = self.drop("not")
            assert self.drop("unknown")
            number, word = self.job.get(name), self.job.get(f"{name}.name")
            found = number is None and (name in self.job or word is None)
            return not found if negated else found
        negated = self.drop("not")
        if self.drop("in"):
            assert self.drop("(")
            found = False
            while not self.drop(")"):
                low = self.words.pop(0)
                if self.drop(".."):
                    above = self.compare(name, ">=", low)
                    found = either(found, both(above, self.compare(name, "<=", self.words.pop(0))))
                else:
                    found = either(found, self.compare(name, "=", low))
                self.drop(",")
            return opposite(found) if negated else found
        return self.compare(name, self.words.pop(0), self.words.pop(0))

    def compare(self, name, sign, value):
        quoted = value[0] in "\"'"
        if quoted:
            value = value[1:-1].replace(value[0] * 2, value[0])
        date = period(value) if name in TIMES else None
        if date is not None:
            moment = self.job[f"{name}.local"]
            if moment is None and not self.coded:
                return None
            return self.against(moment or self.job["-1.local"], sign, *date)
        number = None if quoted else amount(value)
        if number is None or name not in self.job:
            found = self.job.get(f"{name}.name")
            if found is None and not self.coded:
                return None
            return (found == value) == (sign in ("=", "=="))
        found = self.job[name]
        if found is None and not self.coded:
            return None
        return self.against(-1 if found is None else found, sign, number, number)

    def against(self, found, sign, begin, end):
        """Compare with a period, begin ≤ x < end, or with a number, where both are the same."""
        inside = begin <= found < end or begin == end == found
        before = found < begin
        return {
            "=": inside,
            "==": inside,
            "!=": not inside,
            "<>": not inside,
            "<": before,
            "<=": before or inside,
            ">": not (before or inside),
            ">=": not before,
        }[sign]


def amount(text):
    """A number, a time with its unit in seconds, a size with its unit in KB; else None."""
    match = re.fullmatch(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)([a-z]*)", text.lower())
    if match is None:
        return None
    factor = ({"": 1} | UNITS | SIZES).get(match[2])
    return None if factor is None else float(match[1]) * factor


def period(text):
    """The begin of a date, and the begin of what comes after it; None for any other text."""
    for form, length in (
        ("%Y-%m-%d", timedelta(days=1)),
        ("%Y-%m-%dT%H:%M", timedelta(minutes=1)),
        ("%Y-%m-%d %H:%M", timedelta(minutes=1)),
        ("%Y-%m-%dT%H:%M:%S", timedelta(seconds=1)),
    ):
        try:
            begin = datetime.strptime(text, form)
        except ValueError:
            continue
        return begin, begin + length
    match = re.fullmatch(r"(\d{4})-(\d\d)", text)
    if match is None:
        return None
    year, month = int(match[1]), int(match[2])
    after = (year + 1, 1) if month == 12 else (year, month + 1)
    return datetime(year, month, 1), datetime(*after, 1)


def truth(text, job, *, coded=False):
    """Whether an expression is true of a job: True, False, or None for neither."""
    reading = Reading(text, job, coded)
    found = reading.any_of()
    assert not reading.words, reading.words
    return found
