"""Read and write the workloads of Batsim, a simulator of job schedulers.

A workload is a JSON object of jobs, which state requests, and of profiles, which state what runs.
Fields of a log that Batsim does not have are stored under keys that Batsim ignores: `KEY_OF_JOB`
of each job and `KEY_OF_LOG` of the workload.
"""

from workloadkit.io.batsim.reading import looks_like, read_batsim
from workloadkit.io.batsim.writing import write_batsim

__all__ = ["looks_like", "read_batsim", "write_batsim"]
