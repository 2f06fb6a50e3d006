"""What LSF says of the end of a job: bits of its state, and why it was terminated."""

from workloadkit.fields import CANCELLED, FAILED

#: Bits of jStatus of jobs that have ended; a job that is done may have others beside.
EXIT, DONE = 32, 64

#: States of jobs that have not.
UNFINISHED = {1: "PEND", 2: "PSUSP", 4: "RUN", 8: "SSUSP", 16: "USUSP", 65536: "UNKWN"}

#: Why a job was terminated and its status in the log, by the number in exitInfo: cancelled where
#: a user, an administrator or a limit stopped it.
REASONS = (
    ("", FAILED),  # 0: TERM_UNKNOWN, which is of most jobs that failed by themselves
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
