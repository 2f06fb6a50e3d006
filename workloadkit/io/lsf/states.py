"""Job states of LSF (bits of jStatus) and its termination reasons."""

from workloadkit.fields import CANCELLED, FAILED

#: Bits of jStatus of jobs that have ended; DONE may occur with others.
EXIT, DONE = 32, 64

#: States of jobs that have not ended.
UNFINISHED = {1: "PEND", 2: "PSUSP", 4: "RUN", 8: "SSUSP", 16: "USUSP", 65536: "UNKWN"}

#: Termination reasons and the resulting status, by the number in exitInfo: cancelled if a user, an
#: administrator or a limit stopped the job.
REASONS = (
    ("", FAILED),  # 0: TERM_UNKNOWN, used for most jobs that failed by themselves
    ("TERM_PREEMPT", FAILED),
    ("TERM_WINDOW", CANCELLED),
    ("TERM_LOAD", FAILED),
    ("TERM_OTHER", FAILED),
    ("TERM_RUNLIMIT", CANCELLED),
    ("TERM_DEADLINE", CANCELLED),
    ("TERM_PROCESSLIMIT", CANCELLED),
    ("TERM_FORCE_OWNER", CANCELLED),
    ("TERM_FORCE_ADMIN", CANCELLED),
    ("TERM_REQUEUE_OWNER", CANCELLED),
    ("TERM_REQUEUE_ADMIN", CANCELLED),
    ("TERM_CPULIMIT", CANCELLED),
    ("TERM_CHKPNT", CANCELLED),
    ("TERM_OWNER", CANCELLED),
    ("TERM_ADMIN", CANCELLED),
    ("TERM_MEMLIMIT", CANCELLED),
    ("TERM_EXTERNAL_SIGNAL", FAILED),
    ("TERM_RMS", FAILED),
    ("TERM_ZOMBIE", FAILED),
    ("TERM_SWAP", CANCELLED),
    ("TERM_THREADLIMIT", CANCELLED),
    ("TERM_SLURM", FAILED),
    ("TERM_BUCKET_KILL", CANCELLED),
    ("TERM_CTRL_PID", FAILED),
    ("TERM_CWD_NOTEXIST", FAILED),
    ("TERM_REMOVE_HUNG_JOB", CANCELLED),
    ("TERM_ORPHAN_SYSTEM", FAILED),
    ("TERM_PRE_EXEC_FAIL", FAILED),
    ("TERM_DATA", FAILED),
    ("TERM_MC_RECALL", FAILED),
    ("TERM_RC_RECLAIM", FAILED),
    ("TERM_CSM_ALLOC", FAILED),
    ("TERM_KUBE", FAILED),
    ("TERM_RC", FAILED),
)
