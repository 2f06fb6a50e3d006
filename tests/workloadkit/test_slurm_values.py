"""Values as sacct prints them: durations, memory, counts, resources, ids, states and times."""

from datetime import datetime
from math import inf, isnan, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloadkit.io.cells import Cells
from workloadkit.io.slurm import values
from workloadkit.io.slurm.times import WallClock, read_times


def times_of(texts):
    """Read a column of times."""
    cells = Cells.none().with_texts([[text] for text in texts], ["end"], np.arange(len(texts)))
    return read_times(cells, "end")


def test_durations():
    for text, seconds in (
        ("451-06:00:24", 451 * 86400 + 6 * 3600 + 24),
        ("00:00.034", 0.034),
        ("06:57.815", 417.815),
        ("16:01.272", 961.272),
        ("03:43:27", 13407),
        ("100:00:00", 360000),
        ("86400", 86400),
        ("UNLIMITED", nan),
        ("Partition_Limit", nan),
        ("INVALID", nan),
        ("", nan),
        ("-16", inf),
        ("1:2:3:4", inf),
        ("nan", inf),
        ("1e300", inf),
    ):
        assert values.duration(text) == pytest.approx(seconds, nan_ok=True), text


@given(st.integers(0, 9999), st.integers(0, 23), st.integers(0, 59), st.integers(0, 59))
def test_a_duration_reads_back(days, hours, minutes, seconds):
    text = f"{days}-{hours:02}:{minutes:02}:{seconds:02}"
    assert values.duration(text) == ((days * 24 + hours) * 60 + minutes) * 60 + seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 5400), ("01:30:00", 5400), ("UNLIMITED", nan), ("0", nan), ("00:00:00", nan)],
)
def test_a_time_limit_without_a_colon_is_in_minutes(text, seconds):
    assert values.time_limit(text) == pytest.approx(seconds, nan_ok=True)


def test_used_memory():
    for text, kb in (
        ("3228K", 3228),
        ("438.50M", 449024),
        ("1.40G", 1.4 * 2**20),
        ("2T", 2**31),
        ("0", 0),
        ("4096", 4),
        ("", nan),
        ("20H", inf),
        ("-5K", inf),
        ("4Gn", inf),
    ):
        assert values.used_memory(text) == pytest.approx(kb, nan_ok=True), text


def test_requested_memory():
    for text, kb, per in (
        ("3000Mc", 3000 * 1024, "cpu"),
        ("48000Mn", 48000 * 1024, "node"),
        ("312.50G", 320000 * 1024, "job"),
        ("8G", 8 * 2**20, "job"),
        ("500", 500 * 1024, "job"),
        ("2147486648Mn", 3000 * 1024, "cpu"),  # 2^31 + 3,000: the bit says per processor
        ("2199026327552Kc", 3000 * 1024, "cpu"),  # the same in KB
        ("9223372036854778808Mc", 3000 * 1024, "cpu"),  # 2^63 + 3,000, exactly
        ("2147483648Mn", nan, ""),  # the bit and nothing else
        ("0n", nan, ""),
        ("", nan, ""),
        ("many", inf, ""),
        ("9999999999Mn", inf, ""),  # between the two bits: no machine has it
    ):
        amount, by = values.requested_memory(text)
        assert amount == pytest.approx(kb, nan_ok=True)
        assert by == per


def test_gpus_are_counted_once():
    for text, n_gpus in (
        ("billing=12,cpu=12,gres/gpu=2,mem=31000M,node=1", 2),
        ("cpu=1,gres/gpu:a100=2,gres/gpu=2", 2),
        ("gres/gpu:a100=2,gres/gpu:v100=1", 3),
        ("gres/gpumem=0,gres/gpuutil=0,cpu=4", 0),
        ("gpu:2080ti:4(S:0-1)", 4),
        ("gpu:2", 2),
        ("craynetwork:1,gpu:tesla:1,gpu:k80:2", 3),
        ("gpu:2,gpu:1", 3),
        ("cpu=4", 0),
        ("", nan),
    ):
        assert values.gpus(text) == pytest.approx(n_gpus, nan_ok=True), text


@pytest.mark.parametrize(
    ("text", "n"), [("4", 4), ("2K", 2048), ("", nan), ("x", inf), ("-1", inf)]
)
def test_counts(text, n):
    assert values.count(text) == pytest.approx(n, nan_ok=True)


def test_an_absurd_count_cannot_be_read():
    assert values.count("999999999999") == values.count("1000000001") == inf
    assert values.count("1000000000") == 1e9


def test_states():
    for text, state, status in (
        ("CANCELLED by 129276", "CANCELLED", 5),
        ("CANCELLED+", "CANCELLED", 5),
        ("OUT_OF_ME+", "OUT_OF_MEMORY", 0),
        ("COMPLETED", "COMPLETED", 1),
        ("NODE_FAIL", "NODE_FAIL", 0),
        ("COMPLET+", "COMPLET+", -1),  # COMPLETED or COMPLETING
        ("BOOT_+", "BOOT_FAIL", 0),
        ("BOOT+", "BOOT+", -1),  # too little is left
        ("FOO", "FOO", -1),
    ):
        assert values.state(text) == state
        assert values.status(state) == status


def test_ids():
    for text, job, parent, n_tasks, step in (
        ("7", "7", "", 1, ""),
        ("7.batch", "7", "", 1, "batch"),
        ("7_4", "7_4", "7", 1, ""),
        ("7_4.0", "7_4", "7", 1, "0"),
        ("7+1", "7+1", "7", 1, ""),
        ("7+1.extern", "7+1", "7", 1, "extern"),
        ("7_[1-3,9%2]", "7_[1-3,9%2]", "7", 4, ""),
        ("7_[0-100:50]", "7_[0-100:50]", "7", 3, ""),
        ("7_[1-3:0]", "7_[1-3:0]", "7", 3, ""),  # steps of none are no steps
        ("7_[1-3,...]", "7_[1-3,...]", "7", 3, ""),
        ("7_[1-3", "7_[1-3", "7", 3, ""),  # cut to a width
    ):
        known = values.job_id(text)
        assert (known.job, known.parent) == (job, parent)
        assert (known.n_tasks, known.step) == (n_tasks, step)


def test_what_is_no_id():
    for text in ("", "JobID", "7 8", "x7", "7_", "-7", "7|8"):
        assert values.job_id(text) is None
        assert not values.is_id(text)


def test_times():
    for text, seconds, absolute in (
        ("2015-06-26T13:57:00", 1435327020, False),
        ("2015-06-26 13:57:00", 1435327020, False),
        ("2015-06-26T13:57:00+02:00", 1435319820, True),
        ("2015-06-26T13:57:00+0200", 1435319820, True),
        ("2015-06-26T13:57:00Z", 1435327020, True),
        ("2015-06-26T13:57:00.250", 1435327020.25, False),
        ("2015-06-26T13:57", 1435327020, False),  # to the minute
        ("2015-06-26T13", inf, False),
        ("2016-12-31T23:59:60", 1483228800, False),  # a leap second: as if it were the next
        ("1435327020", 1435327020, True),
        ("0", nan, True),
        ("Unknown", nan, False),
        ("None", nan, False),
        ("", nan, False),
        ("N/A", nan, False),
        ("2015-02-29T13:57:00", inf, False),
        ("2015-13-01T00:00:00", inf, False),
        ("2015-06-26T24:57:00", inf, False),
        ("1015-06-26T13:57:00", inf, False),
        ("now", inf, False),
        ("2015-06-26", inf, False),
        ("２０15-06-26T13:57:00", inf, False),
    ):
        found = times_of(["2016-02-29T00:00:00", text])
        assert found.seconds[0] == 1456704000
        assert found.seconds[1] == pytest.approx(seconds, nan_ok=True)
        assert found.absolute[1] == absolute or not np.isfinite(seconds)


@given(st.datetimes(datetime(1970, 1, 2), datetime(9998, 12, 31)))
def test_any_time_reads_back(date):
    date = date.replace(microsecond=0)
    expected = np.datetime64(date, "s").astype(int)
    assert times_of([date.isoformat()]).seconds.tolist() == [expected]


def test_a_clock_set_back_shows_an_hour_twice():
    wall = np.array(["2021-10-31T01:30", "2021-10-31T02:30", "nat"], "M8[s]")
    wall = np.where(np.isnat(wall), np.nan, wall.astype(np.float64))
    first, second, missing = WallClock("Europe/Stockholm").utc(wall)
    assert (second - first)[:2].tolist() == [0, 3600]
    assert isnan(first[2])
    assert not missing.any()


def test_a_clock_set_forward_never_shows_an_hour():
    wall = np.array(["2021-03-28T02:30"], "M8[s]").astype(np.float64)
    first, second, missing = WallClock("Europe/Stockholm").utc(wall)
    assert missing.all()
    assert first == second == np.datetime64("2021-03-28T01:30").astype("M8[s]").astype(int)


def test_only_the_times_that_never_were_are_marked_among_others():
    never = float(np.datetime64("2021-03-28T02:30", "s").astype(int))
    first, second, missing = WallClock("Europe/Stockholm").utc(np.array([nan, never, 0.25]))
    assert missing.tolist() == [False, True, False]
    assert first[2] == second[2] == 0.25 - 3600  # parts of seconds stay


@pytest.mark.parametrize(
    ("text", "kb"),
    [("1K", 1), ("1M", 2**10), ("1G", 2**20), ("1T", 2**30), ("1P", 2**40), ("1E", 2**50)],
)
def test_units_of_memory(text, kb):
    assert values.used_memory(text) == kb
    assert values.requested_memory("2G") == (2**21, "job")


def test_units_of_counts_are_of_1024():
    assert [values.count(text) for text in ("3K", "2M", "1.5K", "0.5G")] == [
        *(3072, 2**21, 1536, 2**29),
    ]


def test_minutes_and_seconds_are_a_time_limit_with_a_colon():
    assert values.time_limit("00:30") == 30
    assert values.time_limit("01:00") == 60
    assert values.time_limit("1.5") == 90


@pytest.mark.parametrize(
    ("status", "states"),
    [
        (1, "COMPLETED"),
        (5, "CANCELLED"),
        (
            0,
            "FAILED TIMEOUT OUT_OF_MEMORY NODE_FAIL BOOT_FAIL DEADLINE PREEMPTED REVOKED "
            "LAUNCH_FAILED",
        ),
        (
            -1,
            "PENDING RUNNING REQUEUED RESIZING SUSPENDED CONFIGURING COMPLETING REQUEUE_HOLD "
            "REQUEUE_FED RESV_DEL_HOLD SIGNALING SPECIAL_EXIT STAGE_OUT STOPPED POWER_UP_NODE "
            "EXPEDITING RECONFIG_FAIL",
        ),
    ],
)
def test_the_status_of_each_state(status, states):
    assert {values.status(state) for state in states.split()} == {status}
    assert {values.state(state) for state in states.split()} == set(states.split())
    assert len(values.STATES) == 28
