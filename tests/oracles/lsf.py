"""JOB_FINISH records of lsb.acct, word by word, in the order of IBM's page on the file."""

import csv

_HEAD = """
    event version event_time id user_id options num_procs submit begin term start user queue
    res_req depend_cond pre_exec from_host cwd in_file out_file err_file job_file
"""
HEAD = _HEAD.split()
_TAIL = """
    mail_user project exit_status max_procs login_shell time_event idx max_rmem
"""
TAIL = _TAIL.split()


def words(line):
    """Words parted by blanks; a quoted one may hold blanks, and quotes written twice."""
    return next(csv.reader([line], delimiter=" ", quotechar='"', doublequote=True))


def processors(hosts):
    """Slots of a list of hosts: `16*host` is sixteen, a name alone one."""
    total = 0
    for host in hosts:
        count, star, _ = host.partition("*")
        total += int(count) if star else 1
    return total


def jobs(text):
    """The fields of each JOB_FINISH record, and the number of other records."""
    found, others = [], 0
    for line in text.splitlines():
        cells = words(line)
        if cells[0] != "JOB_FINISH":
            others += 1
            continue
        values = dict(zip(HEAD, cells, strict=False))
        rest = cells[len(HEAD) :]

        def take(n, rest=rest):
            taken, rest[:] = rest[:n], rest[n:]
            return taken

        take(int(take(1)[0]))  # hosts asked for
        hosts = take(int(take(1)[0]))
        state, _, name, _ = take(4)
        usage = [float(word) for word in take(19)]
        values.update(zip(TAIL, take(len(TAIL)), strict=True))
        submit, start, end = (int(values[k]) for k in ("submit", "start", "event_time"))
        procs = processors(hosts)
        if not hosts and int(state) != 64 and not usage[0] + usage[1]:
            start = 0  # it was never dispatched to a host, whatever its start time says
        found.append(
            {
                "id": values["id"],
                "submit": submit,
                "start": start or None,
                "end": end,
                "wait": (start or end) - submit,
                "run": end - start if start else None,
                "hosts": procs,
                "num_procs": int(values["num_procs"]),
                "max_procs": int(values["max_procs"]),
                "cpu_total": usage[0] + usage[1],
                "done": int(state) == 64,
                "user": values["user"],
                "queue": values["queue"],
                "executable": name,
                "account": values["project"],
                "idx": int(values["idx"]),
                "max_rmem": int(values["max_rmem"]),
            }
        )
    return found, others
