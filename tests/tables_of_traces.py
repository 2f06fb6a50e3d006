"""Small tables in the shapes that public traces are described with.

The jobs are the same in most tables. Job a: 4 processors, waits 60 s, runs an hour, completed.
Job b: 2 processors, waits 300 s, runs half an hour, failed. Job c: cancelled before it starts.
"""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

DAY = datetime(2024, 5, 1, 8)


def at(seconds: float, form: str = "%Y-%m-%d %H:%M:%S") -> str:
    return (DAY + timedelta(seconds=seconds)).strftime(form)


def local(*seconds: float | None) -> pa.Array:
    times = [None if s is None else DAY + timedelta(seconds=s) for s in seconds]
    return pa.array(times, pa.timestamp("us"))


def zoned(*seconds: float | None) -> pa.Array:
    return local(*seconds).cast(pa.timestamp("us", "UTC"))


EPOCH = int(DAY.replace(tzinfo=UTC).timestamp())

SUBMIT, START, END = (0, 100, 200), (60, 400, None), (3660, 2200, 900)

OF_NLR = {
    "id": [11, 12, 13],
    "job_id": [11, 12, 12],
    "array_pos": [None, 0, 1],
    "submit_time": zoned(*SUBMIT),
    "start_time": zoned(*START),
    "end_time": zoned(*END),
    "wallclock_req": pa.array([7200, 3600, 3600], pa.duration("s")),
    "processors_used": [4, 2, None],
    "processors_req": [4, 2, 2],
    "nodes_used": [1, 1, None],
    "nodes_req": [1, 1, 1],
    "gpus_requested": [2, 0, 1],
    "memory_req": ["256G", "4000M", "0"],
    "consumed_energy_raw_joules": [5, 0, None],
    "state_simple": ["COMPLETED", "FAILED", "CANCELLED"],
    "user_hash": ["u", "v", "v"],
    "account_hash": ["x", "x", "x"],
    "partition": ["p", "p", "p"],
    "qos": ["q", "q", "q"],
}

OF_CINECA = {
    "job_id": [1, 2, 3],
    "submit_time": zoned(*SUBMIT),
    "eligible_time": zoned(*SUBMIT),
    "start_time": zoned(*START),
    "end_time": zoned(*END),
    "run_time": [3600, 1800, 0],
    "time_limit": [120, 60, 60],
    "num_cores_alloc": [4, 2, None],
    "num_nodes_alloc": [1, 1, None],
    "num_gpus_alloc": [2, 0, None],
    "job_state": ["COMPLETED", "FAILED", "CANCELLED"],
    "user_id": [7, 8, 8],
    "partition": [1, 1, 1],
    "qos": [1, 1, 1],
}

OF_LANL = f"""user_ID,group_ID,submit_time,start_time,end_time,wallclock_limit,job_status,\
node_count,tasks_requested
1,1,{at(0)}-06:00,{at(60)}-06:00,{at(3660)}-06:00,1 days 16:00:00.000000000,COMPLETED,1,4
2,1,{at(100)}-06:00,{at(400)}-06:00,{at(2200)}-06:00,0 days 01:00:00.000000000,FAILED,1,2
2,1,{at(200)}-06:00,,{at(900)}-06:00,0 days 01:00:00.000000000,CANCELLED,1,2
"""

OF_AZURE = """va,s,d,0,300,9,2,9,Interactive,4,32
vb,s,d,300,3900,9,50,9,Unknown,4,32
vc,t,d,600,2400,9,50,9,Unknown,2,4
vd,t,d,900,2591700,9,50,9,Unknown,{cores},4
"""

GPUS = ("gpu_num", "cpu_num", "node_num")

TABLES: dict[str, dict[str, Any]] = {
    "kestrel": {"year=2024/month=5/a.parquet": OF_NLR},
    "draft-eagle-nlr": {
        "a.parquet": {
            (f"{name}_tz" if name.endswith("_time") else name): column
            for name, column in OF_NLR.items()
        }
    },
    "eagle": {
        "eagle.csv": f"""job_id,user,account,partition,qos,wallclock_req,nodes_req,processors_req,\
gpus_req,mem_req,submit_time,start_time,end_time,run_time,state,name
5,u,a,p,q,7200.0,1,4,2,0.0,{at(0)},{at(60)},{at(3660)},3600.0,COMPLETED,n
5,v,a,p,q,3600.0,1,2,0,0.0,{at(100)},{at(400)},{at(2200)},1800.0,FAILED,n
6,v,a,p,q,3600.0,1,2,1,0.0,{at(200)},,{at(900)},0.0,CANCELLED,n
"""
    },
    "in2p3": {
        "05.tsv": f"""jobid\tuser\taccount\tpartition\tsubmit\teligible\tstart\tend\ttimelimit\t\
elapsed\talloccpus\tallocgpus\tstate
1\tu\ta\tp\t{EPOCH}\t{EPOCH}\t{EPOCH + 60}\t{EPOCH + 3660}\t7200\t3600\t4\t2\tCOMPLETED
2\tv\ta\tp\t{EPOCH + 100}\t{EPOCH}\t{EPOCH + 400}\t{EPOCH + 2200}\t3600\t1800\t2\t0\tFAILED
3\tv\ta\tp\t{EPOCH + 200}\t{EPOCH}\t\t{EPOCH + 900}\t3600\t0\t2\t1\tCANCELLED by 7
"""
    },
    "pm100": {"job_table.parquet": OF_CINECA},
    "draft-m100": {
        "year_month=24-05/plugin=job_table/metric=job_info_marconi100/a_0.parquet": OF_CINECA
    },
    "draft-adastra": {
        "a.parquet": OF_CINECA
        | {name: local(*t) for name, t in zip(
            ("submit_time", "eligible_time", "start_time", "end_time"),
            (SUBMIT, SUBMIT, START, END), strict=True,
        )}
        | {"time_limit": [EPOCH + 60 + 7200, EPOCH + 400 + 3600, EPOCH]}
    },
    "alcf": {
        "djc.csv": f"""JOB_NAME,COBALT_JOBID,MACHINE_NAME,QUEUED_TIMESTAMP,START_TIMESTAMP,\
END_TIMESTAMP,USERNAME_GENID,PROJECT_NAME_GENID,QUEUE_NAME,WALLTIME_SECONDS,RUNTIME_SECONDS,\
NODES_USED,NODES_REQUESTED,CORES_USED,CORES_REQUESTED,LOCATION,EXIT_STATUS,ELIGIBLE_WAIT_SECONDS
"1","1","m","{at(0)}.000001","{at(60)}","{at(3660)}","u","a","q","7200.0","3600.0","1.0","1.0",\
"4.0","4.0","","0","30.0"
"2","2","m","{at(100)}","{at(400)}","{at(2200)}","v","a","q","3600.0","1800.0","1.0","1.0",\
"2.0","2.0","","-29","300.0"
"3","3","m","{at(200)}","{at(300)}","{at(200)}","v","a","q","3600.0","100.0","0.0","1.0",\
"0.0","2.0","","1","100.0"
"""
    },
    "lassen": {
        "final_csm_allocation_history_hashed.csv": f"""allocation_id,primary_job_id,num_nodes,\
num_processors,num_gpus,hashed_user_id,hashed_user_group_id,begin_time,end_time,exit_status,\
job_submit_time,queue,time_limit
1,1,1,4,0,u,g,{at(60)}.5,{at(3660)}.5,0,{at(0)}.5,pbatch,7200
2,2,1,2,0,v,g,{at(400)},{at(2200)},256,{at(100)},pbatch,2147483647
"""
    },
    "supercloud": {
        "slurm-log.csv": f"""id_job,id_array_job,id_array_task,id_user,nodes_alloc,nodelist,\
cpus_req,exit_code,mem_req,partition,state,timelimit,time_submit,time_eligible,time_start,\
time_end,tres_alloc
1,0,4294967294,7,1,['n1'],4,0,9,std,3,120,{EPOCH},{EPOCH},{EPOCH + 60},{EPOCH + 3660},\
"1=4,2=96000,4=1,1002=2"
2,0,4294967294,8,1,['n1'],2,256,9,std,5,60,{EPOCH + 100},{EPOCH},{EPOCH + 400},{EPOCH + 2200},\
"1=2,4=1"
3,0,4294967294,8,0,[],2,0,9,std,4,4294967295,{EPOCH + 200},0,0,{EPOCH + 900},
"""
    },
    "mustang": {"mustang.csv": OF_LANL},
    "draft-opentrinity": {"trinity.csv": OF_LANL},
    "draft-two-sigma": {
        "two-sigma.csv": """job-uuid,submit-time,start-time,end-time,user,cpu,memory,instance,\
status,simset
a,Fri Mar 03 12:00:00 UTC 2017,Fri Mar 03 12:00:10 UTC 2017,Fri Mar 03 12:00:20 UTC 2017,\
u,4,512,i,:instance.status/failed,s
a,Fri Mar 03 12:00:30 UTC 2017,Fri Mar 03 12:00:50 UTC 2017,Fri Mar 03 13:00:10 UTC 2017,\
u,4,512,i,:instance.status/success,s
b,Fri Mar 03 12:01:40 UTC 2017,Fri Mar 03 12:07:30 UTC 2017,Fri Mar 03 12:37:30 UTC 2017,\
v,2,512,i,:instance.status/failed,s
"""
    },
    "draft-fresco": {
        "may.csv": f"""Job Id,Submit Time,Wall Time,Requested Wall Time,Cores,Gpus,Nodes,Exit Status
J1,{at(0, "%Y-%m-%dT%H:%M:%S")} UTC,3600,7200,4,2,1,COMPLETED
J2,{at(100, "%Y-%m-%dT%H:%M:%S")} UTC,1800,3600,2,0,1,FAILED
"""
    },
    "draft-princeton": {
        "traverse.2023": f"""Cluster|Start|End|ElapsedRaw|TimelimitRaw|NCPUS|NNodes|CPUTimeRAW|\
AllocTRES|NodeList|AdminComment
t|{EPOCH + 60}|{EPOCH + 3660}|3600|120|4|1|14400|billing=4,cpu=4,gres/gpu=2,node=1|n1|
t|{EPOCH + 400}|{EPOCH + 2200}|1800|60|2|1|3600|cpu=2,node=1|n1|
t||{EPOCH + 900}|0|60|2|1|0||None assigned|
"""
    },
    "draft-fugaku": {
        "24_05.parquet": {
            "jid": ["j1", "j2"],
            "usr": ["u", "v"],
            "jnam": ["n", "n"],
            "cnumr": [4, 2],
            "cnumat": [4, 2],
            "nnumr": [1, 1],
            "nnuma": [1, 1],
            "adt": local(0, 100),
            "sdt": local(60, 400),
            "edt": local(3660, 2200),
            "elpl": [7200, 3600],
            "ec": [0, 1],
            "econ": [1.0, 2.0],
            "exit state": ["completed", "failed"],
        }
    },
    "helios": {
        "data/Venus/cluster_log.csv": f"""job_id,user,vc,gpu_num,cpu_num,node_num,state,\
submit_time,start_time,end_time,duration,queue
1,u,vc,2,4,1,COMPLETED,{at(0)},{at(60)},{at(3660)},3600,60
2,v,vc,0,2,1,FAILED,{at(100)},{at(400)},{at(2200)},1800,300
3,v,vc,1,2,1,CANCELLED,{at(200)},,{at(900)},0,700
""",
        "data/Venus/cluster_gpu_number.csv": "date,vc,total\n2020-09-01,4,4\n",
    },
    "acme": {
        "trace_kalos.csv": f"""job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,\
start_time,end_time,fail_time,duration,queue
1,u,1,2,4,Other,COMPLETED,{at(0)}+00:00,{at(60)}+00:00,{at(3660)}+00:00,,3660,60.0
2,v,1,0,2,Other,FAILED,{at(100)}+00:00,{at(400)}+00:00,{at(2200)}+00:00,,2100,300.0
3,v,1,1,2,Other,CANCELLED,{at(200)}+00:00,,{at(900)}+00:00,,700,700.0
"""
    },
    "philly": {
        "cluster_job_log": json.dumps(
            [
                {
                    "status": status,
                    "vc": "v",
                    "jobid": f"application_{job}",
                    "user": f"u{job}",
                    "submitted_time": at(SUBMIT[job]),
                    "attempts": attempts,
                }
                for job, (status, attempts) in enumerate(
                    (
                        (
                            "Pass",
                            [
                                {"start_time": at(60), "end_time": at(90), "detail": []},
                                {
                                    "start_time": at(120),
                                    "end_time": at(3660),
                                    "detail": [
                                        {"ip": "m1", "gpus": ["gpu0", "gpu1"]},
                                        {"ip": "m2", "gpus": ["gpu0"]},
                                    ],
                                },
                            ],
                        ),
                        (
                            "Failed",
                            [{"start_time": at(400), "end_time": "None", "detail": []}],
                        ),
                        ("Killed", []),
                    )
                )
            ]
        )
    },
    "pai2020": {
        "pai_job_table.csv": """a,i,u,Terminated,1000.0,4660.0
b,i,v,Failed,1100.0,3200.0
c,i,v,Waiting,1200.0,
""",
        "pai_task_table.csv": """a,worker,2,Terminated,1060.0,4660.0,100.0,1,100.0,V100
a,ps,1,Terminated,1070.0,4660.0,200.0,1,,V100
b,worker,1,Failed,1400.0,3200.0,200.0,1,0.0,V100
c,worker,1,Waiting,,,200.0,1,100.0,V100
""",
    },
    "gpu2023": {
        "openb_pod_list_default.csv": """name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,\
qos,pod_phase,creation_time,deletion_time,scheduled_time
a,4000,1,2,1000,,LS,Succeeded,0,3660,60
b,2000,1,1,500,,LS,Failed,100,2200,400
c,2000,1,1,500,,LS,Pending,200,900,
"""
    },
    "draft-gpu2025": {
        "disaggregated_DLRM_trace.csv": """instance_sn,role,app_name,cpu_request,gpu_request,\
memory_request,creation_time,scheduled_time,deletion_time
a,HN,x,4,2,120.0,100.0,160.0,3760.0
b,CN,x,2,0,120.0,200.0,500.0,2300.0
c,CN,x,2,0,120.0,,,
"""
    },
    "draft-spot2026": {
        "job_info_df.csv": """job_name,organization,gpu_model,cpu_request,gpu_request,worker_num,\
submit_time,duration,job_type
1,13,A10,2,1,2,0,3600,HP
2,14,A10,2,0,1,100,1800,Spot
"""
    },
    "draft-alibaba2018": {
        "batch_task.csv": """M1,2,a,1,Terminated,160,3760,100.0,0.1
R2_1,1,a,1,Terminated,200,3760,200.0,0.1
M1,1,b,1,Failed,500,2300,200.0,0.1
"""
    },
    "google2011": {
        "job_events/part-00000-of-00001.csv": f"""600000000,,1,0,u,0,n,l
660000000,,1,1,u,0,n,l
4260000000,,1,4,u,0,n,l
700000000,,2,0,v,0,n,l
1000000000,,2,1,v,0,n,l
2800000000,,2,3,v,0,n,l
800000000,,3,0,v,0,n,l
1500000000,,3,5,v,0,n,l
{0},,4,0,v,0,n,l
""",
        "task_events/part-00000-of-00001.csv": "\n".join(
            f"600000000,,{job},{task},,0,u,0,0,0.1,0.1,0.1,0"
            for job, tasks in ((1, 4), (2, 2), (3, 2), (4, 1))
            for task in range(tasks)
        ),
    },
    "draft-google2019": {
        "collection_events-000.json": "\n".join(
            json.dumps(
                {
                    "time": str(time * 1_000_000),
                    "type": kind,
                    "collection_id": str(job),
                    "collection_type": job // 9,
                    "user": f"u{job}",
                }
            )
            for job, time, kind in (
                (1, 600, 0), (1, 610, 2), (1, 660, 3), (1, 4260, 6), (2, 700, 0), (2, 1000, 3),
                (2, 2800, 5), (3, 800, 0), (3, 1500, 7), (9, 800, 0),
            )
        )
    },
    "azure2019": {"vmtable.csv": OF_AZURE.format(cores=">24")},
    "draft-azure2017": {"vmtable.csv": OF_AZURE.format(cores=16)},
    "wta": {
        "trace/tasks/schema-1.0/part.0.parquet": {
            "id": [1, 2, 3],
            "ts_submit": [0, 100_000, 200_000],
            "wait_time": [60_000, 300_000, -1],
            "runtime": [3_600_000, 1_800_000, -1],
            "resource_amount_requested": [4.0, 2.0, -1.0],
            "user_id": [7, 8, -1],
            "group_id": [-1, -1, -1],
            "workflow_id": [1, 1, 2],
        }
    },
    "opendc": {
        "tasks.parquet": {
            "id": ["1", "2"],
            "submission_time": [EPOCH * 1000, EPOCH * 1000 + 100_000],
            "duration": [3_600_000, 1_800_000],
            "cpu_count": pa.array([4, 2], pa.int32()),
            "cpu_capacity": [2400.0, 2400.0],
            "mem_capacity": [1024, 1024],
        }
    },
}  # fmt: skip


def write(folder: Path, tables: dict[str, Any]) -> Path:
    for place, content in tables.items():
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            path.write_text(content, encoding="utf-8")
        else:
            parquet.write_table(pa.table(content), path)
    return folder if is_folder(tables) else folder / next(iter(tables))


def is_folder(tables: dict[str, Any]) -> bool:
    """Whether a table is given as a folder."""
    return len(tables) > 1 or "/" in next(iter(tables))
