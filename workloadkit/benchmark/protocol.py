"""Schedulers and meta-schedulers that are processes: they read states and write decisions.

Each run starts a process of its own. The simulation writes lines of words, separated by spaces:

    benchmark 1
    machine PROCS

and then, whenever jobs wait and one of them fits the free processors, the state:

    now TIME FREE
    waiting JOB SUBMIT ESTIMATE PROCS USER QUEUE
    running JOB START ESTIMATE PROCS USER QUEUE
    decide

with one line for each waiting job, in the order of arrival, and for each running job, in the order
of the starts. The process answers with one line, the jobs that it starts now, in order:

    start JOB JOB ...

`start` alone starts none. At the end of the run its standard input is closed. Run times are never
written, and neither are jobs before their submission.

For a metasystem the first lines are

    benchmark 1
    metasystem N
    site NAME PROCS SPEED PRICE

with one line for each of the N sites, and then, for each job that is submitted,

    now TIME
    job JOB PROCS USER GROUP HOME
    to NAME ESTIMATE DELAY FREE WAITING WORK
    choose

with one line for each site that admits it: the estimate there, the time until it arrives, and what
the site has published, the remaining work with that of the jobs sent since. The answer is one line,

    send NAME NAME ...

With several sites, the job is cancelled at the others when the first one starts it.
"""

import hashlib
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Timer
from typing import Any, Self

from workloadkit.errors import ParameterError, WorkloadError, quoted
from workloadkit.io.files import is_file
from workloadkit.metasystem import MetaJob, MetaPolicy, Metasystem, SiteView
from workloadkit.simulation.engine import JobView, Scheduler
from workloadkit.simulation.supports import supporting

#: Version of the protocol.
PROTOCOL = 1

#: Longest time of a run. [s]
TIME_LIMIT = 60.0


class RefusedError(WorkloadError):
    """An entry violates a rule of the benchmark."""


class ProcessScheduler(Scheduler):
    """A scheduler whose decisions come from a process.

    Parameters
    ----------
    process : Popen
        With pipes of text.
    """

    name = "process"
    supports = supporting(without=("outages",))

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        self._begun = False

    def __deepcopy__(self, memo: object) -> Self:
        """Return itself: it is for one simulation, and a process has no copy."""
        return self

    def allocate(self) -> None:
        """Write the state and start the jobs of the answer."""
        queue = self.queue
        if not queue or self.free < min(job.procs for job in queue):
            return
        lines = [] if self._begun else [f"benchmark {PROTOCOL}", f"machine {self.machine_size}"]
        self._begun = True
        lines.append(f"now {self.now} {self.free}")
        lines += [f"waiting {_line(job, job.submit)}" for job in queue]
        lines += [f"running {_line(job, job.start)}" for job in self.running]
        answer = _answer(self.process, self.now, [*lines, "decide"], "start")
        waiting = {job.number: job for job in queue}
        for word in answer:
            job = waiting.pop(int(word), None) if word.isdecimal() else None
            if job is None:
                raise RefusedError(f"at {self.now} s it starts job {word}, which does not wait")
            if job.procs > self.free:
                raise RefusedError(
                    f"at {self.now} s it starts job {word} of {job.procs} processors, but "
                    f"{self.free} are free"
                )
            self.start(job)


class ProcessMetaPolicy(MetaPolicy):
    """A meta-scheduler whose decisions come from a process.

    Parameters
    ----------
    process : Popen
        With pipes of text.
    system : Metasystem
    """

    name = "process"
    needs = ("free", "queue", "work")

    def __init__(self, process: "subprocess.Popen[str]", system: Metasystem) -> None:
        self.process, self.system = process, system
        self._begun = False

    def __deepcopy__(self, memo: object) -> Self:
        """Return itself: it is for one simulation, and a process has no copy."""
        return self

    def choose(self, job: MetaJob, sites: Sequence[SiteView]) -> Sequence[SiteView]:
        """Write the job and the state of the sites; return those of the answer."""
        every, lines = self.system.sites, []
        if not self._begun:
            lines = [f"benchmark {PROTOCOL}", f"metasystem {len(every)}"]
            lines += [f"site {x.name} {x.procs} {x.speed:g} {x.price:g}" for x in every]
        self._begun = True
        now, home = sites[0].now, every[job.home].name if job.home >= 0 else "-"
        lines += [f"now {now}", f"job {job.number} {job.procs} {job.user} {job.group} {home}"]
        for site in sites:
            when = f"{site.estimate(job)} {job.delays[site.place]}"
            lines.append(f"to {site.name} {when} {site.free} {site.queue} {site.work}")
        answer = _answer(self.process, now, [*lines, "choose"], "send")
        admit = {site.name: site for site in sites}
        chosen = [admit.pop(name, None) for name in answer]
        if None in chosen or not chosen:
            where = answer[chosen.index(None)] if chosen else "no site"
            raise RefusedError(
                f"at {now} s it sends job {job.number} to {where}; the sites that admit it are "
                f"{', '.join(site.name for site in sites)}"
            )
        return [site for site in chosen if site is not None]


def _answer(process: Any, now: float, lines: Sequence[str], first: str) -> list[str]:
    """Return the words of the answer to some lines, without its first one."""
    answer = ""
    with suppress(OSError):  # it has ended: the answer is empty
        process.stdin.write("\n".join([*lines, ""]))
        process.stdin.flush()
        answer = process.stdout.readline()
    words = answer.split()
    if words[:1] != [first]:
        seen = f"answers {answer.strip()!r}" if answer else "gives no answer"
        raise RefusedError(f"at {now} s the process {seen}")
    return words[1:]


def _line(job: JobView, time: float) -> str:
    return f"{job.number} {time} {job.estimate} {job.procs} {job.user} {job.queue}"


@contextmanager
def started(command: str) -> Iterator["subprocess.Popen[str]"]:
    """Start a process and yield it, with pipes of text.

    The process ends with the context, and is killed after `TIME_LIMIT`.

    Parameters
    ----------
    command : str
        Split as by a shell, but run without one.

    Raises
    ------
    RefusedError
        If it cannot be started, or was killed; with the last line of its standard error, if its
        answers end.
    """
    with tempfile.TemporaryFile("w+", errors="replace") as errors:
        try:
            process = subprocess.Popen(
                shlex.split(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                errors="replace",
            )
        except (OSError, ValueError, IndexError) as error:
            raise RefusedError(f"{quoted(command)} cannot be started: {error}") from None
        late = False

        def stop() -> None:
            nonlocal late
            late = True
            process.kill()

        timer = Timer(TIME_LIMIT, stop)
        timer.daemon = True
        timer.start()
        try:
            yield process
        except WorkloadError as error:  # also of jobs that never start
            if late:
                raise RefusedError(f"the run takes more than {TIME_LIMIT:g} s") from None
            errors.seek(0)
            said = errors.read().strip().splitlines()
            raise RefusedError(f"{error}: {said[-1]}" if said else str(error)) from None
        finally:
            timer.cancel()
            with suppress(OSError):
                process.communicate(timeout=1)
            process.kill()
            process.wait()


def identity_of_command(command: str) -> dict[str, Any]:
    """Return a command, and the digests of its program and of the files among its words.

    Examples
    --------
    >>> sorted(identity_of_command("none --verbose"))
    ['command', 'files']
    """
    files = {}
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ParameterError(f"the command is {quoted(command)}: {error}") from None
    for place, word in enumerate(words):
        found = shutil.which(word) if not place else word
        if found and is_file(found):
            try:
                files[word] = hashlib.sha256(Path(found).read_bytes()).hexdigest()
            except OSError as error:
                raise WorkloadError(f"{found}: cannot be read: {error.strerror}") from None
    return {"command": command, "files": files}
