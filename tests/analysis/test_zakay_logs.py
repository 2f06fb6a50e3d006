"""The published facts about logs, beside logs made here."""

import pytest

import workloadkit as wk
from workloadkit.analysis import reproduction, studies


def test_facts_of_a_small_log(tmp_path):
    header = wk.Header(
        ("; MaxProcs: 100", "; UnixStartTime: 843480031", "; TimeZoneString: Europe/Stockholm")
    )
    log = {"submit": [0, 60, 40 * 86400], "run": [120, -1, 240], "procs": [1, 1, 2]}
    trace = wk.Trace.from_columns(log | {"user": [1, -1, 2]}, header=header)
    wk.write_swf(trace, tmp_path / "KTH-SP2-1996-2.swf")
    study = studies.load_study("zakay-logs")
    with pytest.warns(wk.WorkloadWarning, match="left out"):
        logs = reproduction.find_logs(study.logs, tmp_path)
    results = reproduction.run_study(study, logs).results
    kth = {r.claim.quantity: r for r in results if r.log.name == "KTH-SP2"}
    months = kth["months of recording, the first and the last counted"]
    assert (months.ours, months.claim.published) == (3, 12)  # 23 September to 2 November 1996
    assert months.note == "published 1996-09 to 1997-08, here 1996-09 to 1996-11"
    assert [kth[x].ours for x in ("processors", "users", "jobs")] == [100, 2, 3]
    assert kth["processors"].verdict == "reproduced"
    run = kth["mean run time (min)"]
    assert (run.ours, run.verdict, run.note) == (3, "reproduced", "the median is 3.0 min")
    together = {r.claim.quantity: r for r in results if r.log is reproduction.ALL_LOGS}
    assert together["jobs of the smallest log: tens of thousands"].verdict == "contradicted"
    assert together["share of the logs that are shorter than two years"].ours == 1
    assert {r.verdict for r in results if r.log.name == "HPC2N"} == {"input missing"}
