"""Results of tasks as data, and the files in which they wait."""

import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloadkit as wk
from workloadkit.analysis.reproduction.study import between
from workloadkit.errors import WorkloadError
from workloadkit.experiments.kept_tasks import kept_tasks
from workloadkit.experiments.results_file import NotDataError, decoded, encoded

LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
KEYS = LEAVES | st.tuples(LEAVES, LEAVES)
VALUES = st.recursive(
    LEAVES | st.binary(),
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(KEYS, inner)
        | st.sets(st.text())
    ),
    max_leaves=9,
)


@given(VALUES)
def test_a_value_reads_back(value):
    found = decoded(encoded(value))
    assert (repr(found), type(found)) == (repr(value), type(value)) or found == value


TABLE = pd.DataFrame(
    {
        "whole": [1, 2],
        "word": ["x", None],
        "number": [0.1, np.nan],
        "category": pd.Categorical(["v", "u"], ["u", "v", "w"], ordered=True),
        "object": pd.Series([(1, 2), None], dtype=object),
        "text": pd.Series(["a", "b"], dtype=object),
        "truth": [True, False],
        "time": np.array([0, 1], "M8[s]"),
        "nullable": pd.array([1, None], "Int64"),
    },
    index=pd.Index([3, 3], name="row"),
)


@pytest.mark.parametrize(
    "table",
    [
        TABLE,
        TABLE.set_index(["whole", "word"]),
        TABLE[["whole"]].T,
        pd.DataFrame(),
        pd.DataFrame([[1.0, 2.0]], columns=pd.MultiIndex.from_tuples([("a", 1), ("b", 2)])),
    ],
    ids=range(5),
)
def test_a_table_reads_back(table):
    pd.testing.assert_frame_equal(decoded(encoded(table)), table, check_index_type="exact")


def test_columns_arrays_and_records_read_back():
    for name in TABLE:
        pd.testing.assert_series_equal(decoded(encoded(TABLE[name])), TABLE[name])
    for array in (np.arange(6).reshape(2, 3).T, np.zeros((0, 2)), np.array(["a", "bc"])):
        found = decoded(encoded(array))
        assert (found.dtype, found.tolist()) == (array.dtype, array.tolist())
        assert found.flags.f_contiguous == array.flags.f_contiguous
    number = decoded(encoded(np.float32(0.1)))
    assert (type(number), number) == (np.float32, np.float32(0.1))
    claim = between("wait", (0, 1), "Table 1")
    assert decoded(encoded([claim])) == [claim]


class Foreign:
    pass


@pytest.mark.parametrize("value", [Foreign(), len, pd.Timestamp(0), [lambda: 1], wk.simulate])
def test_what_is_no_data_is_not_written(value):
    with pytest.raises(NotDataError):
        encoded(value)


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "{}", '{"tuple": 1}', '{"tuple": [], "set": []}', '{"other": []}', "[" * 9999),
        *(
            '{"set": [[]]}',
            '{"array": ["O", [1], "C", ""]}',
            '{"array": ["<f8", [2], "C", "AA=="]}',
        ),
        '{"record": ["os:system", {"command": "true"}]}',
        '{"record": ["workloadkit.errors:os.system", {}]}',
        '{"record": ["workloadkit.errors:WorkloadError", {}]}',
        '{"record": ["workloadkit.analysis.nowhere:Thing", {}]}',
        '{"record": ["workloadkit.analysis.reproduction.study:Axis", {"name": 1}]}',
        '{"words": [{"array": ["<i8", [1], "C", "CQAAAAAAAAA="]}, ["a"], false]}',
        '{"column": ["Int64", ["x"]]}',
    ],
)
def test_another_text_is_no_value(text):
    with pytest.raises(NotDataError):
        decoded(text)


def half(value):
    return value / 2


def double(value):
    return Foreign() if value == 2 else 2 * value


def interrupted(file, made_by):
    """Leave a file of unfinished tasks."""
    with pytest.raises(KeyboardInterrupt), kept_tasks(file, made_by) as kept:
        kept.each(half, [(1,), (2,)])
        raise KeyboardInterrupt


def test_results_that_are_no_data_are_made_again(tmp_path):
    file = tmp_path / ".x.unfinished"
    with pytest.raises(KeyboardInterrupt), kept_tasks(file, {}) as kept:
        found = kept.each(double, [(1,), (2,)])
        assert (found[0], type(found[1])) == (2, Foreign)
        raise KeyboardInterrupt
    assert pq.read_table(file).column("result").to_pylist() == ["2"]


class Planted:
    """What runs code when it is unpickled."""

    def __init__(self, ran):
        self.ran = ran

    def __reduce__(self):
        return type(self.ran).touch, (self.ran,)


def test_a_planted_file_of_unfinished_tasks_runs_nothing(tmp_path):
    file, ran = tmp_path / ".x.unfinished", tmp_path / "ran"
    interrupted(file, {"seed": 1})
    table = pq.read_table(file)
    data = pickle.dumps(Planted(ran))
    columns = {
        "binary": pa.array([data] * 2),
        "text": pa.array([data.decode("latin-1")] * 2),
        "null": pa.array([None, "1"]),
    }
    for result in columns.values():
        pq.write_table(table.set_column(1, "result", result), file)
        file.chmod(0o600)
        with pytest.raises(WorkloadError, match="unfinished: not a file of unfinished tasks; re"):
            kept_tasks(file, {"seed": 1})
    assert not ran.exists()


@pytest.mark.parametrize("made_by", [b"1", b"{", b"[]", b'{"a": NaN}', None])
def test_a_file_of_unfinished_tasks_says_what_it_depends_on(tmp_path, made_by):
    file = tmp_path / ".x.unfinished"
    interrupted(file, {})
    metadata = {} if made_by is None else {"workloadkit": made_by}
    pq.write_table(pq.read_table(file).replace_schema_metadata(metadata), file)
    file.chmod(0o600)
    with pytest.raises(WorkloadError, match="not a file of unfinished tasks; remove it"):
        kept_tasks(file, {})
