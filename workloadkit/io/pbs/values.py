"""Parse values in accounting records of PBS and Torque, one by one or many of one order at once."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from math import inf, nan

from workloadkit.fields import MAX_PROCS, MAX_TIME

_KEY = re.compile(r"[A-Za-z_][\w.-]*=")
_SIZE = re.compile(r"(\d{1,18}(?:\.\d{0,18})?)([kmgtp]?)([bw]?)", re.ASCII | re.IGNORECASE)
_CLOCK = re.compile(r"\d{1,12}(?:\.\d{1,9})?|(?:\d{1,9}:){1,3}\d{1,9}(?:\.\d{1,9})?", re.ASCII)
_OF_CHUNK = {
    "ncpus": re.compile(r":ncpus=(\d{1,9})(?!\d)", re.ASCII),
    "ngpus": re.compile(r":ngpus=(\d{1,9})(?!\d)", re.ASCII),
}
_SPAN = re.compile(r"/\d+-", re.ASCII)
_VNODE = re.compile(r"(?:^|[(+])([^(:+)]+)")
_UNITS = {letter: 1024.0**power for power, letter in enumerate(("", "k", "m", "g", "t", "p"))}
_PARTS_OF_CLOCK = (1, 60, 3600, 86400)
_NO_NAME = re.compile(r"[\[\],*]")
_QUOTES = ('"', "'")
_LONGEST_NUMBER = 30  # characters
_GPUS = ("gpus", "gpu", "ngpus")
_MEMORY = ("mem", "reqmem")

#: A repeated key is caused by a blank in a job name; for these keys the first value is right.
_BEFORE_THE_JOB_NAME = ("user", "group", "account", "project")


def keys_and_values(text: str) -> dict[str, str]:
    r"""Return the values of a record by key: ``key=value`` pairs separated by blanks.

    A key is a letter or underscore followed by letters, digits, ``_``, ``.`` and ``-``, at the
    start of a word. Text without a key belongs to the preceding value; quotes around a value are
    removed, and text between them contains no keys.

    Examples
    --------
    >>> keys_and_values('user=al jobname=my job account="a=1 b=2" queue=x')
    {'user': 'al', 'jobname': 'my job', 'account': 'a=1 b=2', 'queue': 'x'}
    """
    words = text.split()
    try:
        found = dict([word.split("=", 1) for word in words])
    except ValueError:  # a word without a key
        return _odd_keys_and_values(words)
    if len(found) < len(words):
        return _odd_keys_and_values(words)
    if "='" in text:
        return _odd_keys_and_values(words)
    at = text.find('="')
    while at >= 0:
        key = text[text.rfind(" ", 0, at) + 1 : at]
        value = found.get(key, "")
        if len(value) < 2 or value[0] != '"' or value[-1] != '"':  # the value contains blanks
            return _odd_keys_and_values(words)
        found[key] = value[1:-1]
        at = text.find('="', at + 2)
    return found


def _odd_keys_and_values(words: list[str]) -> dict[str, str]:
    """Parse values with blanks, quoted or not, in time linear in the number of words."""
    last_quote = {
        quote: max((i for i, word in enumerate(words) if word.endswith(quote)), default=-1)
        for quote in _QUOTES
    }
    found: dict[str, list[str]] = {}
    parts: list[str] = []
    i = 0
    while i < len(words):
        word = words[i]
        if match := _KEY.match(word):
            key, value = match[0][:-1], word[match.end() :]
            quote = value[:1]
            parts = [value]
            if last_quote.get(quote, -1) >= i + (value == quote):  # otherwise it is an apostrophe
                parts = [value[1:]]
                while not parts[-1].endswith(quote):
                    i += 1
                    parts.append(words[i])
                parts[-1] = parts[-1][:-1]
            if key not in found or key not in _BEFORE_THE_JOB_NAME:
                found[key] = parts
        else:
            parts.append(word)
        i += 1
    return {key: " ".join(parts) for key, parts in found.items()}


def whole(text: str | None) -> float:
    """Return a plausible time or count; NaN for anything else.

    Examples
    --------
    >>> whole("1261425023"), whole("1e300"), whole("-3"), whole(None)
    (1261425023.0, nan, nan, nan)
    """
    if not text or not text.isdecimal() or len(text) > _LONGEST_NUMBER:
        return nan
    number = float(text)
    return number if number <= MAX_TIME else nan


def seconds(text: str | None) -> float:
    """Return a duration: seconds, or ``[[days:]hours:]minutes:seconds``; NaN if invalid.

    Examples
    --------
    >>> seconds("9350"), seconds("144:00:00"), seconds("2:00:00:05"), seconds("-1")
    (9350.0, 518400.0, 172805.0, nan)
    """
    if not text or len(text) > _LONGEST_NUMBER:
        return nan
    if (
        len(text) > 6
        and text[-3:-2] == ":" == text[-6:-5]
        and (text[:-6] + text[-5:-3] + text[-2:]).isdecimal()
    ):
        total = 3600.0 * int(text[:-6]) + 60 * int(text[-5:-3]) + int(text[-2:])
        return total if total <= MAX_TIME else nan
    if not _CLOCK.fullmatch(text):
        return nan
    parts = reversed(text.split(":"))
    total = sum(unit * float(part) for unit, part in zip(_PARTS_OF_CLOCK, parts, strict=False))
    return float(total) if total <= MAX_TIME else nan


def kilobytes(text: str | None) -> float:
    """Return a size in units of 1024 bytes; NaN if invalid.

    Without a suffix the unit is bytes; ``w`` is a word of 8 bytes, ``k m g t p`` are powers of
    1024, and the ``b`` is optional.

    Examples
    --------
    >>> kilobytes("15240kb"), kilobytes("12.27M"), kilobytes("2048"), kilobytes("1kw")
    (15240.0, 12564.48, 2.0, 8.0)
    """
    if not text or len(text) > _LONGEST_NUMBER:
        return nan
    if text.endswith("kb") and text[:-2].isdecimal():
        return float(text[:-2])
    match = _SIZE.fullmatch(text)
    if not match:
        return nan
    n_bytes = float(match[1]) * _UNITS[match[2].lower()] * (8 if match[3] in ("w", "W") else 1)
    return n_bytes / 1024


def _product(*factors: float) -> float:
    """Return a plausible number of processors, else NaN."""
    result = 1.0
    for factor in factors:
        result *= factor
    return result if result <= MAX_PROCS else nan


def chunks(text: str | None, per_chunk: str) -> tuple[float, float, float, float]:
    """Return the total of a request by chunks; NaN if not specified.

    Parameters
    ----------
    text : str or None
        The value of ``select=`` or ``nodes=``: ``5:ncpus=13+2:ncpus=4``, ``4:ppn=8``,
        ``n1:ppn=2+n2``. A chunk without a number counts once.
    per_chunk : str
        Name of the processors per chunk: ``ncpus`` or ``ppn``; 1 if it is missing.

    Returns
    -------
    chunks, procs, gpus, memory : float
        Memory in KB.

    Examples
    --------
    >>> chunks("2:ncpus=4:ngpus=1:mem=2gb+1:ncpus=8", "ncpus")
    (3.0, 16.0, 2.0, 4194304.0)
    >>> chunks("4:ppn=8", "ppn")
    (4.0, 32.0, nan, nan)
    """
    if not text:
        return nan, nan, nan, nan
    n_chunks = procs = gpus = memory = 0.0
    for chunk in text.partition("#")[0].split("+"):
        first, *properties = chunk.split(":")
        n_same = whole(first) if first.isdecimal() else 1.0
        if not first.isdecimal():
            properties.append(first)  # ncpus=4 without a number; or the name of a node
        options = dict(p.split("=", 1) for p in properties if "=" in p)
        n_chunks += n_same
        procs += _product(n_same, whole(options[per_chunk]) if per_chunk in options else 1.0)
        gpus += sum(_product(n_same, whole(options[name])) for name in _GPUS if name in options)
        memory += sum(n_same * kilobytes(options[name]) for name in _MEMORY if name in options)
    return _product(n_chunks), _product(procs), gpus or nan, memory or nan


def properties(text: str | None, per_chunk: str) -> tuple[float, str]:
    """Return the processors per node of a request by chunks, if all have the same; and properties.

    Examples
    --------
    >>> properties("1:ppn=4:avx", "ppn"), properties("2:ncpus=4+1:ncpus=8", "ncpus")
    ((4.0, 'avx'), (nan, ''))
    """
    if not text:
        return nan, ""
    sizes: set[float] = set()
    found: dict[str, None] = {}
    for chunk in text.partition("#")[0].split("+"):
        _, *options = chunk.split(":")
        values = dict(p.split("=", 1) for p in options if "=" in p)
        sizes.add(whole(values.get(per_chunk)))
        found |= dict.fromkeys(p for p in options if p and "=" not in p)
    return sizes.pop() if len(sizes) == 1 else nan, ",".join(found)


def places(exec_host: str | None, exec_vnode: str | None) -> str:
    """Return the nodes of a job with the processors on each; empty if they are not recorded.

    Examples
    --------
    >>> places("n1/7+n1/6+n2/0", None), places("c1/0*13+c2/0*13", "(c1:ncpus=12)+(c2:ncpus=12)")
    ('2*n1,1*n2', '12*c1,12*c2')
    """
    counts: Counter[str] = Counter()
    if exec_vnode:
        for chunk in exec_vnode.replace("(", "").replace(")", "").split("+"):
            name, *options = chunk.split(":")
            procs = next((p[6:] for p in options if p.startswith("ncpus=")), None)
            counts[name.partition("[")[0]] += (
                int(whole(procs)) if procs and procs.isdecimal() else 0
            )
    elif exec_host:
        parts = exec_host.replace("+", "/").split("/")
        plain = not ("*" in exec_host or "," in exec_host or _SPAN.search(exec_host))
        if plain and 2 * exec_host.count("+") + 2 == len(parts):
            counts.update(parts[::2])
        else:
            for place in exec_host.split("+"):
                n_places = _places_of_host(place)
                counts[place.partition("/")[0]] += int(n_places) if n_places < inf else 0
    named = ((name, n) for name, n in counts.items() if name and not _NO_NAME.search(name))
    return ",".join(f"{n}*{name}" if n else name for name, n in named)


def vnodes(text: str | None) -> tuple[float, float, float]:
    """Return nodes, processors and GPUs of ``exec_vnode``; NaN if not specified.

    Examples
    --------
    >>> vnodes("(c1:ncpus=13)+(c2:ncpus=13:ngpus=1)")
    (2.0, 26.0, 1.0)
    """
    if not text:
        return nan, nan, nan
    procs = sum(map(int, _OF_CHUNK["ncpus"].findall(text)))
    gpus = sum(map(int, _OF_CHUNK["ngpus"].findall(text))) if "ngpus" in text else 0
    nodes = len(set(_VNODE.findall(text)))
    return float(nodes) or nan, _product(procs) or nan, float(gpus) or nan


def hosts(text: str | None) -> tuple[float, float]:
    """Return nodes and processors of ``exec_host``; NaN if not specified.

    Examples
    --------
    >>> hosts("n1/7+n1/6"), hosts("c1/0*13+c2/0*13"), hosts("n3/0-27"), hosts("c1/0-3,6+c2/0")
    ((1.0, 2.0), (2.0, 26.0), (1.0, 28.0), (2.0, 6.0))
    """
    if not text:
        return nan, nan
    parts = text.replace("+", "/").split("/")  # host, place, host, place, …
    nodes = float(len(set(parts[::2]))) if 2 * text.count("+") + 2 == len(parts) else nan
    if "*" in text or "," in text or ("-" in text and _SPAN.search(text)):
        return nodes, _product(sum(map(_places_of_host, text.split("+"))))
    return nodes, _product(text.count("+") + 1)


def _places_of_host(place: str) -> float:
    """Return the processors of ``host/0``, ``host/0*13`` or ``host/0-3,6``; 1 if invalid."""
    where, _, times = place.rpartition("/")[2].partition("*")
    if times:
        return whole(times)
    procs = 0.0
    for span in where.split(","):
        first, _, last = span.partition("-")
        n_places = whole(last) - whole(first) + 1 if last else 1.0
        procs += n_places if 0 < n_places < inf else 1.0
    return procs


# Extract the values of given keys from many records with mostly the same order.

Values = tuple[str | None, ...]

_MOST_LEARNT = 100  # of records with a learnt order
_MOST_TRIED = 4  # orders tried per number of words
_FREE = 20  # orders learnt unconditionally
_USE = 200  # uses of known orders that allow one more to be learnt


class Layouts:
    """The orders of keys in records, learnt from the records.

    A record with a known order is split by one regular expression, which matches no other order;
    other records are read by `keys_and_values`, with the same result.

    Parameters
    ----------
    keys : sequence of str
        Keys to extract.

    Examples
    --------
    >>> layouts = Layouts(["ctime", "user", "start"])
    >>> [layouts.values(text) for text in ("user=al ctime=5", "user=bo ctime=7", "ctime=9")]
    [('5', 'al', None), ('7', 'bo', None), ('9', None, None)]
    """

    def __init__(self, keys: Sequence[str]) -> None:
        self.keys = tuple(keys)
        self.known: dict[int, list[tuple[Callable, tuple[int, ...]]]] = {}  # by the blanks
        self.n_learnt = self.n_used = 0

    def values(self, text: str) -> Values:
        """Return the values of the keys, None if missing."""
        known = self.known.get(text.count(" "), [])
        for i, (match_all, groups) in enumerate(known):
            if match := match_all(text):
                if i:
                    known.insert(0, known.pop(i))
                self.n_used += 1
                values: Values = match.group(*groups)
                return values
        found = keys_and_values(text)
        if self.n_learnt < _FREE + self.n_used // _USE:
            self.learn(text, found)
        return tuple(map(found.get, self.keys))

    def learn(self, text: str, found: dict[str, str]) -> None:
        """Learn the order of keys of a record, unless a value contains blanks."""
        words = text.split(" ")
        if not len(found) == len(words) <= _MOST_LEARNT:
            return
        parts = []
        for word, (key, value) in zip(words, found.items(), strict=True):
            if word == f"{key}={value}" and not value.startswith(('"', "'")):
                shape = r"(?![\"'])(\S*+)"
            elif word == f'{key}="{value}"':
                shape = r'"([^"\s]*+)"'
            else:
                return
            parts.append(f"{re.escape(key)}={shape}")
        number = {key: group for group, key in enumerate(found, 1)}
        never = len(parts) + 1  # this group never matches, so it is None
        groups = tuple(number.get(key, never) for key in self.keys)
        pattern = re.compile(" ".join(parts) + r"(?:(?!)(.))?")
        tried = self.known.setdefault(len(words) - 1, [])
        tried.insert(0, (pattern.fullmatch, groups))
        del tried[_MOST_TRIED:]
        self.n_learnt += 1
