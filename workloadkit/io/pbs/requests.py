"""Values in records of PBS and Torque, and the resources that a job requested and got."""

import re
from collections import Counter
from functools import lru_cache
from math import inf, isnan, nan
from typing import NamedTuple

from workloadkit.fields import MAX_PROCS, MAX_TIME

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
_LONGEST_NUMBER = 30  # characters
_GPUS = ("gpus", "gpu", "ngpus")
_MEMORY = ("mem", "reqmem")

# Longest requests and allocations that are cached, in characters.
_LONGEST_KEPT = 2000
_LONGEST_GRANT_KEPT = 500

_WHOLE_NODES = ("SINGLEJOB", "SINGLETASK")  # of naccesspolicy


class Request(NamedTuple):
    """Total requested resources of a job; NaN if not recorded.

    Parameters
    ----------
    procs, nodes, gpus : float
    memory : float
        Per processor. [KB]
    memory_per : str
        Unit of the memory request: cpu, node or job; empty without a request.
    counted_nodes : bool
        Whether only a number of nodes is recorded, which is then used for `procs`.
    per_node : float
        Processors per node, if it is the same for all nodes.
    features : str
        Properties of the nodes.
    exclusive : str
        "yes" for whole nodes, else empty.
    """

    procs: float
    nodes: float
    gpus: float
    memory: float
    memory_per: str
    counted_nodes: bool
    per_node: float
    features: str
    exclusive: str


class Grant(NamedTuple):
    """Allocated nodes, GPUs, processors by each key, and names of nodes; NaN if not recorded."""

    nodes: float
    gpus: float
    vnode_procs: float
    host_procs: float
    node_list: str


#: Keys of requests, in the order of the arguments of `request`.
REQUEST_KEYS = tuple(
    f"Resource_List.{name}"
    for name in (
        *("select", "nodes", "neednodes", "nodect", "ncpus", "procs", "mppwidth", "mem", "pmem"),
        *("ngpus", "gpus", "gpu", "place", "naccesspolicy"),
    )
)

#: Keys of allocations, in the order of the arguments of `grant`.
GRANT_KEYS = (
    *("exec_host", "exec_vnode", "exec_gpus"),
    *("resources_used.location", "resources_used.nodect"),  # of Cobalt
)


def request(*values: str | None) -> Request:
    """Return the requested resources of a job, from the values of `REQUEST_KEYS`.

    The number of processors is the largest one in ``select``, ``nodes``, ``procs``, ``mppwidth``
    and ``ncpus``, since a default such as ``ncpus=1`` may accompany the actual request; without
    any of these, it is the number of nodes.

    Examples
    --------
    >>> record = {"Resource_List.ncpus": "1", "Resource_List.nodes": "2:ppn=4:gpus=1"}
    >>> parsed = request(*map(record.get, REQUEST_KEYS))
    >>> parsed.procs, parsed.nodes, parsed.gpus
    (8.0, 2.0, 2.0)
    """
    if len(values[0] or "") + len(values[1] or "") > _LONGEST_KEPT:
        return _request.__wrapped__(*values)
    return _request(*values)


@lru_cache(maxsize=1 << 14)
def _request(*values: str | None) -> Request:
    select, nodes, neednodes, nodect, ncpus, n_procs, mppwidth, mem, pmem, *others = values
    ngpus, gpus, gpu, place, access = others
    nodes = nodes or neednodes
    if nodect and not nodect.isdecimal():  # 1:ppn=24:gpu=4, as Moab writes it
        nodes, nodect = nodes or nodect, None
    n_chunks, select_procs, select_gpus, select_memory = chunks(select, "ncpus")
    n_nodes, node_procs, node_gpus, node_memory = chunks(nodes, "ppn")
    counts = (select_procs, node_procs, whole(n_procs), whole(mppwidth), whole(ncpus))
    procs = max((number for number in counts if number > 0), default=nan)
    requested_nodes = _first(whole(nodect), n_chunks, n_nodes)
    counted_nodes = isnan(procs) and not isnan(requested_nodes)
    if counted_nodes:
        procs = requested_nodes
    memory, memory_per = nan, ""
    for total, per in ((kilobytes(mem), "job"), (_first(select_memory, node_memory), "node")):
        if not isnan(total) and isnan(memory):
            memory, memory_per = total / procs, per
    if not isnan(kilobytes(pmem)):
        memory, memory_per = kilobytes(pmem), "cpu"
    n_gpus = _first(whole(ngpus or gpus or gpu), select_gpus, node_gpus)
    per_node, features = properties(select or nodes, "ncpus" if select else "ppn")
    excludes = "excl" in (place or "") or (access or "").upper() in _WHOLE_NODES
    return Request(
        procs,
        requested_nodes,
        n_gpus,
        memory,
        memory_per,
        counted_nodes,
        per_node,
        features,
        "yes" if excludes else "",
    )


def grant(
    exec_host: str | None,
    exec_vnode: str | None,
    exec_gpus: str | None,
    location: str | None = None,
    nodect: str | None = None,
) -> Grant:
    """Return the allocated resources of a job, from the values of `GRANT_KEYS`.

    With a location, hosts are parts of a machine, as in Cobalt: only their number is known.

    Examples
    --------
    >>> grant("n1/0*0", "(n1:ngpus=2:ncpus=24+n1:ncpus=24)", None)
    Grant(nodes=1.0, gpus=2.0, vnode_procs=48.0, host_procs=0.0, node_list='48*n1')
    """
    if location:
        return Grant(whole(nodect), nan, nan, nan, "")
    if len(exec_host or "") + len(exec_vnode or "") > _LONGEST_GRANT_KEPT:
        return _grant.__wrapped__(exec_host, exec_vnode, exec_gpus)
    return _grant(exec_host, exec_vnode, exec_gpus)


@lru_cache(maxsize=1 << 14)
def _grant(exec_host: str | None, exec_vnode: str | None, exec_gpus: str | None) -> Grant:
    nodes, host_procs = hosts(exec_host)
    vnode_procs = gpus = nan
    if exec_vnode:
        vnode_nodes, vnode_procs, gpus = vnodes(exec_vnode)
        nodes = _first(nodes, vnode_nodes)
    if exec_gpus and isnan(gpus):
        gpus = float(exec_gpus.count("+") + 1)
    return Grant(nodes, gpus, vnode_procs, host_procs, places(exec_host, exec_vnode))


def _first(*numbers: float) -> float:
    """Return the first known number."""
    return next((number for number in numbers if not isnan(number)), nan)


# Values of records, and of resources in them.


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
