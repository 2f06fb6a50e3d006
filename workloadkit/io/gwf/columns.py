"""The columns of the Grid Workloads Format, and the comments that describe them."""

from workloadkit.fields import FIELDS

#: Names of the columns.
COLUMNS = (
    *("JobID", "SubmitTime", "WaitTime", "RunTime", "NProcs", "AverageCPUTimeUsed", "UsedMemory"),
    *("ReqNProcs", "ReqTime", "ReqMemory", "Status", "UserID", "GroupID", "ExecutableID"),
    *("QueueID", "PartitionID", "OrigSiteID", "LastRunSiteID", "JobStructure"),
    *("JobStructureParams", "UsedNetwork", "UsedLocalDiskSpace", "UsedResources", "ReqPlatform"),
    *("ReqNetwork", "ReqLocalDiskSpace", "ReqResources", "VOID", "ProjectID"),
)

#: Job fields that the format has columns for, in order.
SHARED = FIELDS[:16]
#: Number of columns with quantities; the status and names follow.
N_NUMBERS = 10

#: Columns without a field in SWF.
BESIDE = COLUMNS[len(SHARED) :]

#: Submit times from here on are seconds since 1970, not seconds of the log: no log has its first
#: job after three years. [s]
SINCE_1970_FROM = 10**8


#: Comments written into every file.
SINCE_1970 = "# SubmitTime: in seconds since 1970"
OF_THE_LOG = "# SubmitTime: in seconds of the log"
LEGEND = "# " + "\t".join(COLUMNS)
