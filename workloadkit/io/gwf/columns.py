"""The columns of the Grid Workloads Format, and the comments that tell of them."""

from workloadkit.fields import FIELDS

#: Names of the columns.
COLUMNS = (
    *("JobID", "SubmitTime", "WaitTime", "RunTime", "NProcs", "AverageCPUTimeUsed", "UsedMemory"),
    *("ReqNProcs", "ReqTime", "ReqMemory", "Status", "UserID", "GroupID", "ExecutableID"),
    *("QueueID", "PartitionID", "OrigSiteID", "LastRunSiteID", "JobStructure"),
    *("JobStructureParams", "UsedNetwork", "UsedLocalDiskSpace", "UsedResources", "ReqPlatform"),
    *("ReqNetwork", "ReqLocalDiskSpace", "ReqResources", "VOID", "ProjectID"),
)

#: The fields of a job that the format has a column for, in its order.
SHARED = FIELDS[:16]
#: Columns of quantities; behind them stand the status and names, which may be numbers too.
N_NUMBERS = 10

#: Columns of which SWF knows nothing.
BESIDE = COLUMNS[len(SHARED) :]

#: Submissions from here on are seconds since 1970, not of the log: no log is three years long
#: before its first job. [s]
SINCE_1970_FROM = 10**8


#: Comments that every file gets: how to read it.
SINCE_1970 = "# SubmitTime: in seconds since 1970"
OF_THE_LOG = "# SubmitTime: in seconds of the log"
LEGEND = "# " + "\t".join(COLUMNS)
