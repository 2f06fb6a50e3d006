"""Accounting files of PBS, Grid Engine and LSF, as long as a benchmark needs them."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

_AT_A_TIME = 10_000
_BEGIN = 1_700_000_000  # [s since 1970]


def write_pbs(path: Path, n_rows: int) -> int:
    """Write so many E records; give their number."""
    with path.open("w") as file:
        for first, jobs in _jobs(n_rows):
            dates = np.datetime_as_string(jobs[:, 2].astype("M8[s]")).tolist()
            file.writelines(
                _pbs_line(i, date, *job)
                for i, (date, job) in enumerate(zip(dates, jobs.tolist(), strict=True), first)
            )
    return n_rows


def write_sge(path: Path, n_rows: int) -> int:
    """Write so many lines of jobs; give their number."""
    with path.open("w") as file:
        for first, jobs in _jobs(n_rows):
            file.writelines(_sge_line(i, *job) for i, job in enumerate(jobs.tolist(), first))
    return n_rows


def write_sge_with_tasks(path: Path, n_rows: int) -> int:
    """Write so many lines, three quarters of them of parallel tasks; give the jobs."""
    with path.open("w") as file:
        for first, jobs in _jobs(n_rows // 4):
            for i, job in enumerate(jobs.tolist(), first):
                tasks = (f"{task}.n{task:03}" for task in (1, 2, 3))
                file.writelines(_sge_line(i, *job, task=task) for task in (*tasks, "NONE"))
    return n_rows // 4


def write_lsf(path: Path, n_rows: int) -> int:
    """Write so many JOB_FINISH records; give their number."""
    with path.open("w") as file:
        for first, jobs in _jobs(n_rows):
            file.writelines(_lsf_line(i, *job) for i, job in enumerate(jobs.tolist(), first))
    return n_rows


def _jobs(n_jobs: int) -> Iterator[tuple[int, np.ndarray]]:
    """Yield first numbers, and submit, start, end, user and nodes of some jobs at a time."""
    rng = np.random.default_rng(1)
    now = _BEGIN
    for first in range(0, n_jobs, _AT_A_TIME):
        n = min(_AT_A_TIME, n_jobs - first)
        submit = now + np.cumsum(rng.integers(0, 60, n))
        now = int(submit[-1])
        start = submit + rng.exponential(3600, n).astype(np.int64)
        end = start + 60 + rng.lognormal(7, 2, n).astype(np.int64) % 300_000
        users, nodes = rng.zipf(1.5, n) % 500, rng.choice([1, 1, 2, 4], n)
        yield first + 1, np.stack([submit, start, end, users, nodes], axis=1)


def _pbs_line(i: int, date: str, submit: int, start: int, end: int, user: int, nodes: int) -> str:
    run = end - start
    used = f"{run // 3600:02}:{run // 60 % 60:02}:{run % 60:02}"
    hosts = "+".join(f"n{(i + node) % 500:03}/{core}" for node in range(nodes) for core in range(8))
    return (
        f"{date[5:7]}/{date[8:10]}/{date[:4]} {date[11:]};E;{i}.srv;user=u{user} "
        f'group=g{user % 20} account="a{user % 60}" jobname=job{user}_{i % 97} queue=q{user % 5} '
        f"ctime={submit} qtime={submit} etime={submit} start={start} owner=u{user}@login "
        f"exec_host={hosts} Resource_List.mem={nodes}gb Resource_List.ncpus=1 "
        f"Resource_List.neednodes={nodes}:ppn=8 Resource_List.nodect={nodes} "
        f"Resource_List.nodes={nodes}:ppn=8 Resource_List.walltime={24 * (1 + user % 4)}:00:00 "
        f"session={i} end={end} Exit_status={(0, 0, 0, 1, 271)[i % 5]} resources_used.cput={used} "
        f"resources_used.mem={i % 9_999_991}kb resources_used.vmem=622552kb "
        f"resources_used.walltime={used}\n"
    )


def _sge_line(
    i: int, submit: int, start: int, end: int, user: int, nodes: int, task: str = "NONE"
) -> str:
    run = end - start
    serial = nodes == 1 and task == "NONE"
    parallel, request = ("NONE", "") if serial else ("mpi", f" -pe mpi {8 * nodes}")
    return (
        f"q{user % 5}:n{i % 500:03}:g{user % 20}:u{user}:job{user}_{i % 97}:{i}:sge:0:{submit}:"
        f"{start}:{end}:{(0, 0, 0, 100)[i % 4]}:{(0, 1, 0, 137)[i % 4]}:{run}:{run}.050000:"
        f"0.080000:{i % 999_983}.000000:0:0:0:0:28001:0:0:0.000000:24:0:0:0:41:549:p{user % 60}:"
        f"defaultdepartment:{parallel}:{1 if serial else 8 * nodes}:{(0, 0, i % 50)[i % 3]}:"
        f"{run}.130000:7.335452:0.000044:-U a -u u{user} -l h_rt={3600 * (1 + user % 24)},mem_free="
        f"{nodes}.000G,qname=q{user % 5}{request}:0.000000:{task}:{i % 999_983}000.000000:0:0\n"
    )


def _lsf_line(i: int, submit: int, start: int, end: int, user: int, nodes: int) -> str:
    run = end - start
    hosts = " ".join(f'"8*n{(i + node) % 500:03}"' for node in range(nodes))
    return (
        f'"JOB_FINISH" "10.108" {end} {i} {1000 + user} 33554434 {8 * nodes} {submit} 0 0 {start} '
        f'"u{user}" "q{user % 5}" "span[ptile=8]" "" "" "login" "/home/u{user}" "" "%J.out" "" '
        f'"{submit}.{i}" 0 {nodes} {hosts} {(64, 64, 32)[i % 3]} 100.0 "job{user}_{i % 97}" '
        f'"mpirun /home/u{user}/a.out input" {run}.130000 7.335452 3748 0 -1 0 0 436 4 0 928 0 -1 '
        f'0 0 0 19 2 -1 "" "p{user % 60}" {(0, 0, 256)[i % 3]} {8 * nodes} "" "" 0 {i % 999_983} 0 '
        f'"" "" "" "" 0 "" {(0, 0, 14)[i % 3]} "" -1 "" "" "" "" -1 "" "" 5136 "" {start} "" "" 2 '
        f'1110 "default" 1033 "0" 0 {3600 * (1 + user % 24)} 4194304 1024 "select[type == any]" "" '
        f'-1 "" -1 0 "" 0 0 "" {run} "/home/u{user}" 0 "" 0.000000 0.00 0.00 0.00 0.00 {nodes} '
        f'{hosts} 0 0 0 0 0 1 "schedulingOverhead" "0.00"\n'
    )
