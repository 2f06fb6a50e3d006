"""The keys of a workload, and what a job of a log must be for Batsim to simulate it."""

#: Of a job: fields of the Standard Workload Format that Batsim's own keys do not tell.
KEY_OF_JOB = "swf"

#: Of the workload: the header of the log, and how many of its jobs were left out.
KEY_OF_LOG = "workloadkit"

#: Keys of a job that Batsim reads.
JOB_KEYS = ("id", "subtime", "walltime", "res", "profile")

#: Batsim takes no delay of 0: a job that ran so briefly gets this one. [s]
SHORTEST_DELAY = 0.001

#: Batsim's numbers of resources are integers of 32 bits.
MOST_RESOURCES = 2**31 - 1
