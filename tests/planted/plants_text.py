"""Plants in how it is written: quotes, delimiters, bytes, lines, columns and forms of times."""

import csv
import io
from collections import Counter
from dataclasses import replace
from random import Random

import workloadkit as wk
from tests.planted import grid_engine, lsf, pbs, sites, slurm
from tests.planted.judge import Planted
from tests.planted.plants import plant, share
from tests.planted.truth import Job, Truth, truth

_FIELDS = r"field|delimiter|column|quot"


def _named(rng: Random, words: list[str], most: int = 15) -> tuple[list[Job], int]:
    """Draw jobs of which some have these names, and how many have."""
    jobs = sites.jobs(rng)
    chosen = {job.number for job in share(rng, jobs, most)}
    jobs = [
        replace(job, name=rng.choice(words) if job.number in chosen else "plain") for job in jobs
    ]
    return jobs, len(chosen)


@plant("quotes")
def slurm_csv_with_quotes(rng: Random) -> Planted:
    """As pandas and the csv module write it, with any delimiter, any columns, in any order."""
    delimiter = rng.choice(",,,;\t|")
    words = [f"a{delimiter}b", 'say "hi"', f'"x"{delimiter}', "infer, v2"]
    jobs, _ = _named(rng, words)
    style = slurm.dialect(rng, "AllocTRES")
    quoting = rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
    style = replace(slurm.as_csv(style, delimiter, quoting), index=rng.random() < 0.2)
    data = slurm.export(jobs, style)
    if rng.random() < 0.3:
        data = data.replace(b"\n", b"\r\n")
    return Planted(data, "slurm", truth(jobs, "gpu_hours", "names", "status"))


@plant("quotes")
def slurm_csv_with_line_feeds(rng: Random) -> Planted:
    """A name with a line feed in quotes: one row on two lines."""
    jobs, n = _named(rng, ["two\nlines"], 3)
    style = slurm.as_csv(slurm.dialect(rng, "AllocTRES"))
    data = slurm.export(jobs, style)
    return Planted(data, "slurm", truth(jobs, "gpu_hours"), says=_FIELDS + "|line", affected=2 * n)


@plant("quotes")
def slurm_bare_quotes(rng: Random) -> Planted:
    """`sacct` does not quote: a quote in a name is a character, also at its begin."""
    jobs, n = _named(rng, ['"open', 'half"', '5" disk'])
    data = slurm.export(jobs, slurm.dialect(rng, delimiter="|"))
    return Planted(data, "slurm", truth(jobs), says=_FIELDS, affected=n)


@plant("quotes")
def slurm_delimiter_in_name(rng: Random) -> Planted:
    """The name, in any column, has the delimiter in it, and more fields of the row are texts."""
    jobs, n = _named(
        rng, ["a|b", "relax | part 2", "|", "COMPLETED|1|8", "4|4|2024-05-06T08:00:00"]
    )
    style = slurm.dialect(rng, *rng.choice([(), ("WorkDir",)]), delimiter="|")
    true = truth(jobs, "status", "names")
    return Planted(slurm.export(jobs, style), "slurm", true, says=_FIELDS, affected=n)


@plant("quotes")
def slurm_commas_in_resources(rng: Random) -> Planted:
    """`sacct -P | tr '|' ,`: all that has a comma in it has too many fields."""
    jobs = sites.jobs(rng)
    style = slurm.dialect(rng, "AllocTRES", delimiter=",")
    data = slurm.export(jobs, style)
    true = truth(jobs, "gpu_hours", "names", "status")
    refusal = _FIELDS + "|no .*job"
    return Planted(data, "slurm", true, says=_FIELDS, refusal=refusal, affected=len(jobs))


@plant("quotes")
def delimiters_in_names_elsewhere(rng: Random) -> Planted:
    """Colons in names of Grid Engine, quotes in those of LSF, semicolons in those of PBS."""
    format_, words = rng.choice(
        [
            ("sge", ["a:b", ":", "x:1:0:0:1310761621:"]),
            ("lsf", ['say "hi"', '"" 64 32', 'end"']),
            ("pbs", ["a;b", "end=5", 'x="y', "a;E;7.srv;start=1"]),
        ]
    )
    jobs, n = _named(rng, words)
    data = {
        "sge": lambda: grid_engine.export(jobs),
        "lsf": lambda: lsf.export(jobs),
        "pbs": lambda: pbs.export(jobs, pro=rng.random() < 0.5),
    }[format_]()
    parts = [] if format_ == "pbs" else ["names"]
    return Planted(data, format_, truth(jobs, *parts), says=_FIELDS, affected=n)


def _any_format(rng: Random, jobs: list[Job]) -> tuple[str, bytes]:
    """Write the jobs in any format."""
    name = rng.choice(["slurm", "slurm", "pbs", "lsf", "sge"])
    write = {
        "slurm": lambda: slurm.export(jobs, slurm.dialect(rng)),
        "pbs": lambda: pbs.export(jobs, pro=rng.random() < 0.5),
        "lsf": lambda: lsf.export(jobs),
        "sge": lambda: grid_engine.export(jobs, unit=rng.choice([1, 1000])),
    }
    return name, write[name]()


@plant("text")
def nul_block(rng: Random) -> Planted:
    """A block of NUL bytes between lines or in one, as a crash of a file system leaves it."""
    jobs = sites.jobs(rng)
    name, data = _any_format(rng, jobs)
    nuls = b"\0" * rng.choice([1, 64, 512, 4096])
    if rng.random() < 0.5:
        lines = data.split(b"\n")
        lines[rng.randrange(2, len(lines))] += b"\n" + nuls
        data = b"\n".join(lines)
    else:
        at = rng.randrange(len(data) // 2, len(data))
        data = data[:at] + nuls + data[at:]
    return Planted(data, name, truth(jobs), says="NUL", must_say=True, affected=1)


@plant("text")
def utf_16(rng: Random) -> Planted:
    """Redirected by PowerShell."""
    jobs = sites.jobs(rng)
    name, data = _any_format(rng, jobs)
    text = data.decode().replace("\n", rng.choice(["\n", "\r\n"]))
    encoded = rng.choice(
        [b"\xff\xfe" + text.encode("utf-16-le"), b"\xfe\xff" + text.encode("utf-16-be")]
    )
    return Planted(encoded, name, truth(jobs), refusal="UTF-16")


@plant("text")
def windows_text(rng: Random) -> Planted:
    """A byte-order mark, line ends of Windows, blank lines, or no line end at the end."""
    jobs = sites.jobs(rng)
    name, data = _any_format(rng, jobs)
    changed = rng.choice(
        [b"\xef\xbb\xbf" + data, data.replace(b"\n", b"\r\n"), data + b"\n\n", data.rstrip(b"\n")]
    )
    return Planted(changed, name, truth(jobs))


@plant("text")
def stray_line(rng: Random) -> Planted:
    """A message of the command among the rows, often before the first."""
    jobs = sites.jobs(rng)
    name, data = _any_format(rng, jobs)
    lines = data.split(b"\n")
    message = rng.choice(
        [
            b"slurm_persist_conn_open: connection refused, using backup",
            b"sacct: error: Problem talking to the database",
            b"bash: warning: setlocale: LC_ALL: cannot change locale (en_US.UTF-8)",
            b"Last login: Mon May  6 08:00:00 2024 from 10.0.0.1",
        ]
    )
    lines.insert(rng.choice([0, 0, 1, len(lines) // 2, len(lines) - 1]), message)
    says = r"header|line|field|column|record|incomplete|not recogni|stray"
    return Planted(b"\n".join(lines), name, truth(jobs), says=says, must_say=True)


@plant("text")
def header_again(rng: Random) -> Planted:
    """Exports put together: the header stands again among the rows."""
    jobs, style = sites.jobs(rng), slurm.dialect(rng)
    half = len(jobs) // 2
    data = slurm.export(jobs[:half], style) + slurm.export(jobs[half:], style)
    return Planted(data, "slurm", truth(jobs, "status"))


@plant("text")
def long_line(rng: Random) -> Planted:
    """A job on so many nodes that its line has more than 1 MiB."""
    jobs = sites.jobs(rng, most=40)
    wide = jobs[len(jobs) // 2]
    nodes = tuple(f"node{i:06}" for i in range(16_384))
    procs = 16 * len(nodes)
    wide = replace(wide, nodes=nodes, attempts=(replace(wide.last, procs=procs),))
    jobs[len(jobs) // 2] = wide
    name = rng.choice(["slurm", "pbs", "lsf"])
    if name == "slurm":
        style = slurm.dialect(rng, "NodeList", delimiter="|")
        rows = slurm.rows(jobs, style)
        rows[len(jobs) // 2]["NodeList"] = ",".join(f"{node}-{'x' * 60}" for node in nodes)
        data = slurm.text(rows, style).encode()
    elif name == "pbs":
        data = pbs.export(jobs, pro=False)
    else:
        long = replace(wide, nodes=tuple(f"{node}-{'x' * 60}" for node in nodes))
        data = lsf.export([long if job is wide else job for job in jobs])
    true = truth(jobs)
    true = replace(true, core_hours=None)
    return Planted(data, name, true, says=r"long|MiB|bytes", affected=3)


@plant("text")
def slurm_without_state(rng: Random) -> Planted:
    jobs = sites.jobs(rng)
    style = slurm.dialect(rng, without=["State"])
    true = replace(truth(jobs), status=Counter({-1: len(jobs)}))
    data = slurm.export(jobs, style)
    return Planted(data, "slurm", true, says=r"state|status|outcome", must_say=True)


@plant("text")
def slurm_without_id(rng: Random) -> Planted:
    jobs = sites.jobs(rng)
    style = slurm.dialect(rng, without=["JobID", "JobIDRaw"])
    data = slurm.export(jobs, style)
    return Planted(data, "slurm", truth(jobs, "status"), says=r"job ?id|\bids?\b", must_say=True)


@plant("text")
def slurm_without_submit(rng: Random) -> Planted:
    """Eligible serves, else Start: then no wait is known."""
    jobs = sites.jobs(rng)
    says = r"submi|eligible"
    if rng.random() < 0.5:
        data = slurm.export(jobs, slurm.dialect(rng, "Eligible", without=["Submit"]))
        return Planted(data, "slurm", truth(jobs, "status"), says=says, must_say=True)
    data = slurm.export(jobs, slurm.dialect(rng, without=["Submit", "Eligible"]))
    facts = [{(job.last.start, None, job.last.run, job.last.procs)} for job in jobs]
    true = Truth(facts, sum(job.core_hours for job in jobs))  # type: ignore[arg-type]
    return Planted(data, "slurm", true, says=says, must_say=True)


@plant("text")
def slurm_times_in_seconds(rng: Random) -> Planted:
    """Seconds since 1970, as `SLURM_TIME_FORMAT=%s` prints them, or milliseconds."""
    jobs = sites.jobs(rng)
    style = replace(slurm.dialect(rng), time=rng.choice([slurm.epoch, slurm.milliseconds]))
    return Planted(slurm.export(jobs, style), "slurm", truth(jobs, "status"), refusal="millisecond")


@plant("text")
def slurm_times_in_words(rng: Random) -> Planted:
    """Names of months, and days before months: recognized, or refused by name."""
    jobs = sites.jobs(rng)
    patterns = [
        "%d %b %Y %H:%M:%S",
        "%b %d %Y %H:%M:%S",
        "%d-%b-%Y %H:%M:%S",
        "%a %b %d %H:%M:%S %Y",
    ]
    patterns += ["%d/%m/%Y %H:%M:%S", "%d.%m.%Y %H:%M:%S", "%Y/%m/%d %H:%M:%S", "%Y-%m-%d %H:%M:%S"]
    style = replace(slurm.dialect(rng, delimiter="|"), time=slurm.strftime(rng.choice(patterns)))
    refusal = r"form of|format|month|day|d/m|ambig|recogni"
    return Planted(slurm.export(jobs, style), "slurm", truth(jobs, "status"), refusal=refusal)


@plant("text")
def slurm_numbers_as_floats(rng: Random) -> Planted:
    """A table that pandas read with gaps: ids, processors and seconds are 800.0."""
    jobs = sites.jobs(rng)
    style = slurm.dialect(rng, "ElapsedRaw", delimiter="|")
    table = slurm.rows(jobs, style)
    names = rng.sample(["JobID", "JobIDRaw", "AllocCPUS", "NCPUS", "ElapsedRaw", "NNodes"], 4)
    for row in table:
        row.update({name: row[name] + ".0" for name in names})
    return Planted(slurm.text(table, style).encode(), "slurm", truth(jobs, "status"))


@plant("text")
def not_accounting(rng: Random) -> Planted:
    """A table of something else, with the options of accounting: the format is not recognized."""
    lines = [f"host{i},{rng.random():.3f},{rng.randrange(99)}" for i in range(50)]
    data = "\n".join(["node,load,jobs", *lines, ""]).encode()
    options = {"procs": 96}
    return Planted(
        data,
        "slurm",
        Truth(),
        refusal="recogni|not look like",
        read=lambda data: wk.read_log(io.BytesIO(data), **options),
    )


@plant("quotes")
def slurm_text_as_it_is_in_names(rng: Random) -> Planted:
    """Quotes, delimiters and line ends, in any order, as `sacct` prints them: without quotes."""
    pieces = ['"', '""', "|", "|", "\n", "a", "b c", ",", "x=1"]
    words = ["".join(rng.choice(pieces) for _ in range(rng.randint(1, 5))) for _ in range(12)]
    jobs, n = _named(rng, ['5" disk', *(f"j{word.strip()}" for word in words)])
    style = slurm.dialect(rng, delimiter="|")
    columns = sorted(style.columns, key="JobName".__eq__)
    columns.insert(rng.randrange(1, len(columns)), columns.pop())
    true = truth(jobs)
    names = Counter(job.name.replace("\n", " ") for job in jobs)
    data = slurm.export(jobs, replace(style, columns=tuple(columns)))
    return Planted(data, "slurm", replace(true, names=names), says=_FIELDS, affected=3 * n)
