"""Frames read by a mapping: those of each library, and one clear line for each that cannot be."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import workloadkit as wk

FIELDS = {"submit": {"sql": "t", "unit": "s"}, "user": "u"}
FRAME = pd.DataFrame({"t": [0, 60], "u": ["a", "b"]})


def from_frame(frame, mapping=None):
    return wk.Trace.from_frame(frame, mapping or {"fields": FIELDS})


@pytest.mark.parametrize(
    ("frame", "why"),
    [
        (None, "^frame is None; it is a frame of pandas or Polars"),
        ([1, 2], "^frame has the type list; it is a frame"),
        ("jobs.csv", "^frame has the type str; it is a frame"),
        (np.zeros((2, 2)), "^frame has the type ndarray; it is a frame"),
        (FRAME["t"], "^frame has the type Series; it is a frame"),
        (pl.from_pandas(FRAME).lazy(), r"^frame is a LazyFrame; collect\(\) it first$"),
        (FRAME[["t", "u", "u"]], "two columns have one name .*: 'u, u'"),
        (FRAME.assign(U=1), "two columns have one name .*: 'u, U'"),
        (pa.table([[0], ["a"], ["b"]], names=["t", "u", "u"]), "two columns have one name"),
        (FRAME.assign(t=[0, "x"]), "field t: has values that cannot be read: Could not convert"),
        (FRAME.assign(t=[0, 2**70]), "field t: has values that cannot be read"),
        (FRAME.assign(t=[0j, 1j]), "field t: has values that cannot be read"),
        (FRAME.assign(u=[object(), 1]), "field u: has values that cannot be read"),
        (FRAME.assign(t=pd.period_range("2024", periods=2)), "field t: has a type .* not known"),
        (FRAME[["t"]], "field fields.user: the frame has no such column"),
        (pd.DataFrame(), "field fields.submit: the frame has no such column; known: none"),
        (FRAME[:0], "^the frame: contains no job$"),
    ],
)
def test_what_is_no_frame_or_has_odd_columns_is_one_line(frame, why):
    with pytest.raises(wk.WorkloadError, match=why) as error:
        from_frame(frame)
    assert len(str(error.value)) <= 400


@pytest.mark.parametrize("mapping", [[1], 5, {1}])
def test_what_is_no_mapping(mapping):
    with pytest.raises(wk.ParameterError, match=r"^mapping is .*; it is the name of a mapping"):
        from_frame(FRAME, mapping)


def test_columns_that_are_not_used_may_have_any_values():
    frame = FRAME.assign(z=[object(), {1}], p=pd.period_range("2024", periods=2))
    trace = from_frame(frame)
    assert trace.column("submit").tolist() == [0, 60]
    assert trace.sidecar["user"].tolist() == ["a", "b"]


def test_frames_of_each_library():
    frame = FRAME.astype({"u": "category"})
    for made in (frame, pl.from_pandas(frame), pa.table(frame), pa.RecordBatch.from_pandas(frame)):
        assert from_frame(made).sidecar["user"].tolist() == ["a", "b"]
