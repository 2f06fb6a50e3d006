"""A benchmark of schedulers and meta-schedulers, whose entries are checked.

The suite is a fixed set of workloads, systems and users. See `run_benchmark`.
"""

from workloadkit.benchmark.certificate import canonical, certificate, read_certificate
from workloadkit.benchmark.comparing import differences, entries_of, not_verified
from workloadkit.benchmark.entries import Entry, built_in
from workloadkit.benchmark.nearest import nearest_cases
from workloadkit.benchmark.protocol import RefusedError
from workloadkit.benchmark.results import BenchmarkResults
from workloadkit.benchmark.running import run_benchmark
from workloadkit.benchmark.suite import Case, cases

__all__ = [
    "BenchmarkResults",
    "Case",
    "Entry",
    "RefusedError",
    "built_in",
    "canonical",
    "cases",
    "certificate",
    "differences",
    "entries_of",
    "nearest_cases",
    "not_verified",
    "read_certificate",
    "run_benchmark",
]
