"""Keys of a Batsim workload, and Batsim's limits."""

#: Key of a job for the fields of the Standard Workload Format that Batsim does not have.
KEY_OF_JOB = "swf"

#: Key of the workload for the log's header and the number of jobs left out.
KEY_OF_LOG = "workloadkit"

#: Keys of a job in Batsim.
JOB_KEYS = ("id", "subtime", "walltime", "res", "profile")

#: Types of profiles with a known duration, by Batsim's major version: earlier versions have the
#: names of 4.
DELAY = {4: "delay", 5: "DelayProfile"}
SEQUENCE = {4: "composed", 5: "SequentialCompositionProfile"}

#: Batsim does not accept a delay of 0; jobs of run time 0 get this one. [s]
SHORTEST_DELAY = 0.001

#: Batsim numbers resources with 32-bit integers.
MOST_RESOURCES = 2**31 - 1
