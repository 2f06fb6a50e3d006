"""The Grid Workloads Format: 29 columns parted by blanks, comments behind a hash sign."""

_NAMES = """
    JobID SubmitTime WaitTime RunTime NProcs AverageCPUTimeUsed UsedMemory ReqNProcs ReqTime
    ReqMemory Status UserID GroupID ExecutableID QueueID PartitionID OrigSiteID
    LastRunSiteID JobStructure JobStructureParams UsedNetwork UsedLocalDiskSpace
    UsedResources ReqPlatform ReqNetwork ReqLocalDiskSpace ReqResources VOID ProjectID
"""
NAMES = _NAMES.split()

#: The columns that are measured or requested, by their names in the Standard Workload Format.
SHARED = {
    "submit": "SubmitTime",
    "wait": "WaitTime",
    "run": "RunTime",
    "procs": "NProcs",
    "cpu": "AverageCPUTimeUsed",
    "memory": "UsedMemory",
    "requested_procs": "ReqNProcs",
    "requested_time": "ReqTime",
    "requested_memory": "ReqMemory",
    "status": "Status",
}


def jobs(text):
    """The words of each line by the name of their column, in order of submission."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    found = [dict(zip(NAMES, line.split(), strict=True)) for line in lines]
    return sorted(found, key=lambda job: float(job["SubmitTime"]))
