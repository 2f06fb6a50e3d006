"""Schedulers that are processes: states on their standard input, decisions on their output.

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
"""

import hashlib
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Timer
from typing import Any, Self

from workloadkit.errors import WorkloadError
from workloadkit.simulation.engine import JobView, Scheduler

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
    bears_outages = False

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
        answer = self._ask("\n".join([*lines, "decide", ""]))
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

    def _ask(self, state: str) -> list[str]:
        """Return the words of the answer to a state."""
        process: Any = self.process
        answer = ""
        with suppress(OSError):  # it has ended: the answer is empty
            process.stdin.write(state)
            process.stdin.flush()
            answer = process.stdout.readline()
        words = answer.split()
        if words[:1] != ["start"]:
            seen = f"answers {answer.strip()!r}" if answer else "gives no answer"
            raise RefusedError(f"at {self.now} s the process {seen}")
        return words[1:]


def _line(job: JobView, time: Any) -> str:
    return f"{job.number} {time} {job.estimate} {job.procs} {job.user} {job.queue}"


@contextmanager
def scheduler_of(command: str) -> Iterator[ProcessScheduler]:
    """Start a process and yield its scheduler.

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
            raise RefusedError(f"{command!r} cannot be started: {error}") from None
        late = False

        def stop() -> None:
            nonlocal late
            late = True
            process.kill()

        timer = Timer(TIME_LIMIT, stop)
        timer.daemon = True
        timer.start()
        try:
            yield ProcessScheduler(process)
        except RefusedError as error:
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
    words = shlex.split(command)
    for place, word in enumerate(words):
        found = shutil.which(word) if not place else word
        if found and Path(found).is_file():
            files[word] = hashlib.sha256(Path(found).read_bytes()).hexdigest()
    return {"command": command, "files": files}
