"""What `workloadkit help TOPIC` explains: lists that are too long for the help of a command."""

import ast
import re
from collections.abc import Callable, Iterator
from textwrap import fill, wrap
from typing import NamedTuple

from workloadkit.built_in import META_SCHEDULERS, PREDICTORS, SCHEDULERS, USERS, BuiltInParts

# Lists of parts: what their classes say, without an import, and what follows.

_INDENT, _WIDTH = 26, 76

_SCHEDULERS = """
EASY and its orders up to priority-fifo take backfill=ORDER, the order in
which jobs backfill (arrival, sjf, ljf, smallest, largest, none), and,
except wfp3, unicef and scores that change while jobs wait, reservations=K.
They, creasy and user-priority take spare=none (a backfilled job ends by
the shadow time; spare processors are not used) and strict=yes (it ends
before the shadow time).

A score is an expression of submit, estimate, limit, procs, user, queue,
since, number, group, partition, tier, now, wait, running_work, waiting_work
and usage with + - * / **, comparisons, and, or, not, and log, log2, log10,
exp, sqrt, abs, min, max, where(condition, a, b); times may be written 20h.
It is for order; the scores from saf to f4, except wfp3, unicef and f1, have
names. These take oldest_first=T, too: jobs that have waited longer come
first. The search of genetic draws random numbers (--seed).
"""


def _schedulers() -> str:
    """List schedulers, and from which states simulations with them continue."""
    from workloadkit.simulation.supports import ALONE, continued_from

    lines = [_list(SCHEDULERS, _SCHEDULERS)]
    text = (
        f"--state continues, as if uncut, from {ALONE} (squeue --json, --save-state), except with:"
    )
    lines.append(fill(text, _WIDTH))
    for name, kind in SCHEDULERS.items():
        what, instead = continued_from(kind)
        if what != ALONE:
            head = f"{name:<{_INDENT}}{what.removeprefix(f'{ALONE}; ')}; without: {instead}"
            lines.append(fill(head, _WIDTH, subsequent_indent=" " * _INDENT))
    return "\n".join(lines)


_META_SCHEDULERS = """
A custom one is module:Class, of a class that derives from MetaPolicy of
workloadkit.metasystem.
"""

_PREDICTORS = """
Those that learn predict at most the limit, and the limit until enough jobs
have ended. All take correct=RULE, for predictions that a job has outlived:
requested (the limit), increments (1 min, 5 min, ... 100 h more), double,
or none (it counts as ending now); and renewed=yes, to predict waiting jobs
again before each pass, once others have ended. EASY++ is --scheduler
easy:backfill=sjf --predict last-two,correct=increments --overrun kill.
"""

_USERS = """
Those from poisson on need no TRACE; times are in seconds. From poisson to
reopen they take run=1|LOG,law=exponential|fixed|drawn|listed,procs=1|LOG,
jobs=10000,until=T. The probability of another job (again) is a number,
exp:THETA, hyperbolic:A,B or table:T/P,T/P,... of the response time. A mean
think time may depend on it, too: breaks:SHORT,LONG,LIMIT. By default, a
site has 50 users and 26 weeks, a static one 10 sessions; `workloadkit site`
has their parameters (users, weeks, patience, leave, workpool, pools, ...).
"""


def _list(parts: BuiltInParts, below: str) -> str:
    """List parts with their parameters, but for those that the text below explains."""
    lines = []
    for name in parts:
        source = parts.source(name)
        known = [f"{k}={v}" for k, v in _parameters(source) if f"{k}=" not in below]
        head = f"{name}:{', '.join(known)}" if known else name
        heads = wrap(head, _WIDTH, subsequent_indent="    ", break_on_hyphens=False)
        heads = [line.replace(", ", ",") for line in heads]
        text = wrap(_summary(source), _WIDTH - _INDENT)
        if len(heads) == 1 and len(heads[0]) < _INDENT - 1:
            text[0] = f"{heads.pop():<{_INDENT}}{text[0]}"
            lines.append(text.pop(0))
        lines += [*heads, *(" " * _INDENT + line for line in text)]
    return "\n".join(lines) + "\n" + below


def _summary(source: ast.ClassDef) -> str:
    """Return the first sentence of a docstring, without its references."""
    text = (ast.get_docstring(source) or "").partition("\n\n")[0]
    return re.sub(r" ?\[\d+\]_| \([^()]* \d{4}\)|`|\.$", "", text.replace("\n", " "))


def _parameters(source: ast.ClassDef) -> Iterator[tuple[str, str]]:
    """Yield the documented parameters of a class, each with its default and other words."""
    defaults = {
        each.target.id: ast.unparse(each.value).strip("'").removesuffix(".0")
        for each in source.body
        if isinstance(each, ast.AnnAssign) and each.value and isinstance(each.target, ast.Name)
    }
    text = (ast.get_docstring(source) or "").partition("Parameters\n----------\n")[2]
    for name, kind in re.findall(r"^(\w+) : (.+)", text.partition("\n\n")[0], re.MULTILINE):
        default = defaults.get(name) or kind.partition("default ")[2]
        default = {"None": "", "False": "no", "True": "yes"}.get(default, default)
        words = re.findall(r'"([^"]+)"', kind)
        if not kind.startswith(("mapping", "tuple")):
            others = [word for word in words if word != default]
            yield (
                name,
                "|".join([default or name.upper(), *others] if default or not words else words),
            )


#: Exports of accounting that `convert` reads, by format.
EXPORTS = """
slurm: F=JobIDRaw,JobID,Cluster,Partition,QOS,Account,GID,UID,Submit,Eligible
       F=$F,Start,End,ElapsedRaw,Suspended,State,ExitCode,NNodes,AllocCPUS
       F=$F,ReqCPUS,ReqMem,ReqTRES,AllocTRES,NodeList,Constraints
       F=$F,TimelimitRaw,Reason,Flags,JobName
       TZ=UTC sacct -aXPD -S FROM -E TO --units=K -o $F > slurm.txt
       (without -X, and with TotalCPU,MaxRSS,NTasks before JobName, steps
       report CPU time and memory; without TZ=UTC, give the zone with --tz)
pbs:   server_priv/accounting/*, the files of the days
lsf:   lsb.acct and lsb.acct.* of LSB_SHAREDIR/CLUSTER/logdir
sge:   $SGE_ROOT/$SGE_CELL/common/accounting (or accounting.jsonl)
"""

#: Models of `generate` with their parameters, within 76 columns.
MODELS = """
lublin       Lublin and Feitelson 2003: rigid jobs with a daily cycle
             :types=one|two|batch|interactive
feitelson96  Feitelson 1996: rigid jobs, some of them run repeatedly
             :gap,size_order,power2,short,long,short_serial,short_drop,
             repeat_order
jann97       Jann and others 1997: classes of sizes; --like fits any log
downey97     Downey 1997: flexible jobs, by their average parallelism
             :gap,night,shortest,longest,sigma
cirne        Cirne and Berman 2001: requested times, their accuracy, and
             cancelled jobs
             :gap,serial,power2,shortest,longest,accuracy_shape,
             accuracy_scale,cancelled
tsafrir      Tsafrir and others 2005: users' estimates, for the jobs of
             lublin or of any log (--over)
             :max_estimate,estimates

The default machine has 128 processors, that of jann97 322. Gaps, run times
and estimates are in seconds.
"""

#: Models of `queueing`, within 76 columns.
QUEUEING = """
closed N Z S              the same N users, mean think time Z, mean
                          service S
mixed lam N Z S           closed users, and passing users with one job each;
                          with p= passing users stay by that probability
reopen lam p Z S          users who arrive, and submit again with
                          probability p after a response;
                          method=chain|mm1|mean|fluid|exact
mm1 lam S, md1 lam S      open arrivals, one server: exponential service,
mg1 lam S scv             constant, or with that squared coeff. of variation
mmc lam S servers, mminf lam S, mmck lam S servers K
                          many servers, as many as jobs, K places in all
mgc lam S scv servers, ggc lam S scv_arrivals scv servers
                          approximations for general service and arrivals
impatient lam S servers patience
                          waiting jobs leave after that mean time
batches lam S scv size scv_size
                          jobs that come in batches of this mean size
vacations lam S scv away scv_away
                          a server that goes away when there are no jobs
breakdowns lam S up down  one server that works and is repaired for these
                          mean times
bulk_service lam S size   a server that takes up to so many jobs at once
fork_join lam S tasks     jobs of tasks at servers of their own
ps lam S, srpt lam S, sjf lam S, fb lam S
                          processor sharing; shortest remaining time first,
                          shortest job first, least attained service; scv=1
priorities lam S          a list is one class each, the first has priority;
                          servers=, scv=, order=non-preemptive|preemptive
closed_priorities N Z S   the same for closed users; servers=, order=
dps lam S weight          classes that share a server by weights
network demands N         N users and stations of these demands; Z=0,
                          method=mva|bard-schweitzer|linearizer; and, or
                          instead, open jobs: open_demands lam; a list is
                          one class, a semicolon begins that of the next
closed, mixed and reopen take servers=, too.
"""

#: Models of `crosscheck`, within 76 columns.
CROSSCHECK = """
mm1 | poisson   lam S             open users, one server
mmc             lam S servers     open users, several servers
sites           lam S servers     the same, by a meta-scheduler and sites
                                  of one processor
mminf           lam S             open users, a server for each job
mmck            lam S servers K   open users, room for K jobs
md1             lam S             open users, constant service time S
mg1             lam S scv         open users, service with this squared
                                  coefficient of variation
mgc             lam S scv servers the same, several servers
ggc             lam S scv_arrivals scv servers
                                  general arrivals and service
ps | srpt | sjf | fb
                lam S             one server by size [scv]
priorities      lam S             classes: lam=0.3,0.2 S=0.5,2 [servers,
                                  scv, order=preemptive]
dps             lam S weight      classes that share a server by weights
impatient       lam S servers patience
breakdowns      lam S up down
batches         lam S scv size scv_size
vacations       lam S scv away scv_away
bulk_service    lam S size
fork_join       lam S tasks
closed_priorities
                N Z S             users of classes [servers, order]
closed | think  N Z S             closed users [servers, method]
mixed           lam N Z S         both [servers, method, p]
reopen          lam p Z S         users who submit again [servers, method]

parallel        lam p need S servers
                                  jobs of several servers, first come, first
                                  served: p=0.6,0.4 need=1,2 S=1,2

Networks, with arrays such as demands=0.6,1/0.3,2 N=3,2 Z=4,9 (a row for
each class), or without parameters at a point of their own:
network         demands N [Z], and open_demands lam: as of queueing
mva | convolution | bard_schweitzer | linearizer [visits, servers]
mixed_mva       demands N Z open_demands lam
open_network    demands lam [servers]
jackson | qna   lam S routing [servers], and scv [scv_arrivals] of qna:
                lam=0.5,0 S=1,1.2 routing=0,1/0.1,0
class_switching at a point of its own
"""

#: How values of queueing parameters are written, within 76 columns.
PARAMETERS = """
N=10  lam=0.1,0.5  N=1:100  lam=0.1:0.9:0.1
                      a number, several, a range, and one with its step
"demands=0.2,0.1;0.1,0.3" N=5,5
                      two classes of a network, by rows (; or /); N and Z by
                      class
p=0.5                 the probability of another job: a constant,
p=exp:THETA           e^(-THETA r), for a response r,
p=hyperbolic:A,B      A / (B r + 1),
p=table:R/P,R/P,...   straight lines between points,
p=shmueli  p=zakay    0.8 / (0.05 r + 1) for r in minutes and other times in
                      seconds, and where the unit of time is ten minutes
Z=breaks:SHORT,LONG,LIMIT
                      mean think time after a response of up to LIMIT, and
                      after a longer one
"""

_METHODS = """
arrival  an inter-arrival time above T begins a session (T 60 min)
last     a think time above T begins one, measured from the end of the
         previous job of the user (T 20 min)
max      likewise, measured from the latest end in the session (T 20 min)

With last and max, --cut C limits how long a job holds a session open: to C
after its submission.
"""

_WHERE = """
user=3 and run>2h
account in (physics, chem) and not state=COMPLETED
16 <= procs < 64 and submit>=2024-03-01
user in (3, 5..9) or eligible is unknown

--where takes the jobs for which an expression is true: tests of fields,
joined by and, or, not and parentheses. A test is FIELD =, !=, <, <=, > or >=
VALUE; a range; FIELD in (...), FIELD not in (...); FIELD is unknown, is not
unknown. A comparison with an unknown value is neither true nor false.

Fields: job, submit, wait, run, procs, user, group, executable, queue,
partition, status and the others of the format; start, end, hour; account,
qos, state, reason, eligible, nodes, gpus, energy and the others of
imported accounting.

Values: numbers; names, in quotes if they have blanks or begin with a digit;
times 90, 20min, 2h, 1d; sizes 4GB; dates 2024-03, 2024-03-01 and
2024-03-01T12:00 in the log's time zone. A date is a period: submit=2024-03
is all of March, submit<=2024-03-01 includes that day.

--since DATE takes the jobs submitted at or after DATE, --until DATE those
before it; the window of the log is narrowed to them.
"""

_FILTERS = """
user=374 and job>=14969 and job<=28552
(queue=0 or run<60) and not proc=1
hour>=8 and hour<18

A filter names the jobs to remove by an expression as for --where, see
`workloadkit help where`; only here an unknown value compares as -1, its code
in a file. Fields may have the archive's names: proc, app, subtime, runtime.
"""

_FORMATS = """
read     SWF, GWF and .wkt.parquet; by `workloadkit convert` the accounting of
         Slurm, PBS, LSF, Grid Engine, HTCondor, OAR and Flux, and jobs of
         ClusterCockpit, Batsim and AccaSim (--from names them), and tables by
         a mapping; plain, or compressed as .gz, .bz2, .xz or .zst
written  .swf, .gwf (both also compressed), .wkt.parquet; next to an SWF file,
         FILE.parquet has what SWF cannot hold. By `workloadkit convert` also
         .json for Batsim, and .csv with a mapping, FILE.toml
figures  .svg, .png, .pdf, or .html: values under the mouse, zoom, tables
times    90 or 90s, 20min, 1.5h, 2d, 1w
"-"      standard input, or standard output
"""

_EXPERIMENT_FILES = """
schedulers = ["easy", "conservative"]
runs = 20                        # each of weeks of the log, drawn at random
seed = 1
metrics = ["mean_wait", "utilization"]
warmup = "1w"

[logs]
site = "log.swf.gz"              # a path from the folder of this file

This is a complete file. With it, workloadkit experiment run FILE.toml --out
results --baseline easy shows the means, and by how much conservative differs
from easy, paired run by run, with 95 % intervals. It may also contain, above
the tables:

loads = [0.6, 0.8]               # offered loads; by default the log's own
load_by = "users"                # runs are logs resampled by their users, and
                                 # loads are factors of the number of users
users = ["open", "fluid"]        # fluid and others that react: load_by users
where = "procs>1"                # and since, until: which jobs take part
precision = "2%"                 # stop early: runs is the most

and the settings of simulate with _ for -, such as procs, estimates, overrun
and oversize. Lists may be tables that give names, and readings differ in
settings:

[schedulers]
plain = "easy"
shortest = "easy:backfill=sjf"

[readings.as-usual]
[readings.killed]
overrun = "kill"
"""

_CONFIG = """
Options may have defaults in config.toml in the user's configuration folder
(on Linux ~/.config/workloadkit), or in the file that --config names. The
working directory is never searched. A table for each command contains its
options without dashes; options before the first table are for all commands.

workers = 2

[simulate]
scheduler = "easy:backfill=sjf"
warmup = "1w"

[experiment.run]
strict = true

The command line overrides these defaults. The provenance in JSON, and the
header of a log that is written, record those that were used.
"""

_CUSTOM = """
--scheduler module:Class          a class that derives from Scheduler of
                                  workloadkit.schedulers, or a policy
--scheduler module:Class:depth=3  with a value for a parameter of Class
--users module:Class              a class that derives from BatchUser of
                                  workloadkit.users, or other users
--metric module:function          a function of a schedule that returns a
                                  number (sweep, and files of experiment)

simulate, sweep and site take them, and files of experiment with --trust. The
module is installed, or a .py file in the working directory; of such a file
only the source is read, no compiled code. The provenance records the digest
of the source. On a Dask cluster, modules must be installed.
"""

_EXIT = """
0    done
1    the input is at fault, or what was checked does not hold
2    wrong usage
130  interrupted
"""


def _studies() -> str:
    from workloadkit.analysis.studies import study_names

    return "\n".join(study_names())


class Topic(NamedTuple):
    """A topic: its heading, and what makes its text."""

    title: str
    text: Callable[[], str]


_PROTOCOL = """
An entry of the benchmark may be a process in any language. Each run
starts one of its own. It reads lines of words from its standard input; at
first

  benchmark 1
  machine PROCS

and then a state whenever jobs wait and one of them fits the free processors:

  now TIME FREE
  waiting JOB SUBMIT ESTIMATE PROCS USER QUEUE    in the order of arrival
  running JOB START ESTIMATE PROCS USER QUEUE     in the order of the starts
  decide

It answers each state with one line, the jobs that start now, in this order:

  start JOB JOB ...

"start" alone starts none; the next state comes when a job arrives or ends.
Times are in seconds. No run time is written before a job ends, and no job
before its submission. At the end of a run its standard input is closed.

With --meta it is a meta-scheduler; the first lines are

  benchmark 1
  metasystem N
  site NAME PROCS SPEED PRICE                     for each of the N sites

and then, for each job that is submitted,

  now TIME
  job JOB PROCS USER GROUP HOME
  to NAME ESTIMATE DELAY FREE WAITING WORK        for each site that admits it
  choose

with the estimate there, the time until it arrives, and what the site has
published, the work with that of jobs sent since. The answer is the site, or
several: then the job is cancelled at the others when the first one starts it.

  send NAME NAME ...

A process is refused if it starts a job that does not wait or does not fit,
leaves jobs waiting forever, sends a job to a site that does not admit it,
answers something else, or takes more than 60 s for a run. Flush each answer,
and read line by line, as mawk does with -W interactive.
"""

TOPICS = {
    "schedulers": Topic("Schedulers", _schedulers),
    "meta-schedulers": Topic(
        "Meta-schedulers (metasystem)", lambda: _list(META_SCHEDULERS, _META_SCHEDULERS)
    ),
    "processes": Topic("Processes as schedulers (benchmark)", lambda: _PROTOCOL),
    "predictors": Topic("Predictors of run times", lambda: _list(PREDICTORS, _PREDICTORS)),
    "users": Topic("Users", lambda: _list(USERS, _USERS)),
    "custom": Topic("Custom schedulers, users and metrics", lambda: _CUSTOM),
    "models": Topic("Models of workloads (generate)", lambda: MODELS),
    "queueing-models": Topic("Queueing models (queueing)", lambda: QUEUEING),
    "crosscheck-models": Topic("Queueing models (crosscheck)", lambda: CROSSCHECK),
    "parameters": Topic("Parameters of queueing models", lambda: PARAMETERS),
    "methods": Topic("Methods to delimit sessions", lambda: _METHODS),
    "where": Topic("Choosing jobs (--where, --since, --until)", lambda: _WHERE),
    "filters": Topic("Filters (clean, anomalies)", lambda: _FILTERS),
    "exports": Topic("Exports of accounting (convert)", lambda: EXPORTS),
    "formats": Topic("Formats of files, durations", lambda: _FORMATS),
    "studies": Topic("Studies", _studies),
    "experiment-files": Topic("Files of experiments (experiment run)", lambda: _EXPERIMENT_FILES),
    "config": Topic("Defaults in a configuration file", lambda: _CONFIG),
    "exit": Topic("Exit codes", lambda: _EXIT),
}
