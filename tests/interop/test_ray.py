"""`tensorbuf.ray`: plans on columns of a Ray dataset, on a local Ray of two worker processes."""

import logging
import os
import signal
import tempfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import ray.data
from ray.data.expressions import col
from ray.exceptions import RayTaskError, WorkerCrashedError

import tensorbuf.ray
from tensorbuf import Converter

FRAMES = np.random.default_rng(2).integers(0, 256, (6, 4, 5, 3), "uint8")
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
NORMALIZE = Converter.normalize(MEAN, STD, layout="HWC->CHW")
HALF = Converter("float32", scale=0.5)


@pytest.fixture(autouse=True, scope="module")
def _ray(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory(prefix="ray") as folder:
        # The workers import what is in the folder of their driver, which must not be the sources.
        patch.chdir(tmp_path_factory.mktemp("driver"))
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        how = {"num_cpus": 2, "include_dashboard": False, "log_to_driver": False, "object_store_memory": 100 * 2**20}
        with ray.init(**how, logging_level=logging.CRITICAL, _temp_dir=folder):
            ray.data.DataContext.get_current().enable_progress_bars = False
            logging.getLogger("ray.data").setLevel(logging.CRITICAL)
            yield


def rows_of(dataset, column):
    return [row[column] for row in dataset.take_all()]


@pytest.mark.parametrize(
    ("plan", "whole"),
    [
        (Converter("int16"), None),
        (HALF, None),
        (Converter.normalize(MEAN, STD, layout="NHWC->NCHW"), None),
        (Converter.normalize(MEAN, STD, layout="HWC->CHW"), Converter.normalize(MEAN, STD, layout="NHWC->NCHW")),
        (Converter("bool", layout="NWH->HWN"), Converter("bool", layout="CNWH->CHWN")),
        (Converter.quantize([1, 2, 3], 5, axis=3), None),
        (Converter.quantize([1, 2, 3, 4], axis=1, dtype="uint8"), None),
    ],
)
def test_arrays_in_rows(plan, whole):
    dataset = tensorbuf.ray.convert(ray.data.from_numpy(np.split(FRAMES, 3)), plan)
    expected = (whole or plan)(FRAMES)
    found = rows_of(dataset, "data")
    assert {row.dtype for row in found} == {expected.dtype}
    assert np.array_equal(np.stack(found), expected)


def test_numbers_in_rows():
    table = pa.table({"x": [1, 2, 300], "y": [0.5, None, -3.5], "z": [True, False, True]})
    found = tensorbuf.ray.convert(ray.data.from_arrow([table, table]), Converter("int8")).take_all()
    assert found == [{"x": 1, "y": 0, "z": 1}, {"x": 2, "y": 0, "z": 0}, {"x": 127, "y": -3, "z": 1}] * 2


def test_shapes_that_differ():
    arrays = [FRAMES[0], FRAMES[1, :2], FRAMES[2, :, :3]]
    dataset = ray.data.from_items([{"image": array} for array in arrays], override_num_blocks=1)
    for layout in ("HWC->CHW", "NHWC->NCHW"):
        plan = Converter.normalize(MEAN, STD, layout=layout)
        found = rows_of(tensorbuf.ray.convert(dataset, plan), "image")
        assert [row.tolist() for row in found] == [NORMALIZE(array).tolist() for array in arrays]
    lists = ray.data.from_items([{"x": [1, 2]}, {"x": [3]}], override_num_blocks=1)
    assert [row.tolist() for row in rows_of(tensorbuf.ray.convert(lists, HALF), "x")] == [[0.5, 1], [1.5]]


OTHERS = pa.table(
    {
        "text": ["a", None, "c"],
        "count": pa.array([1, None, 3], pa.uint16()),
        "time": pa.array([0, 1, None], pa.timestamp("s", "UTC")),
        "nested": [{"k": [1]}, None, {"k": []}],
        "bytes": [b"1", b"", None],
        "image": [[1.0, 2.0]] * 3,
    }
)


def test_other_columns_stay():
    dataset = tensorbuf.ray.convert(ray.data.from_arrow([OTHERS, OTHERS]), Converter("int8"), ["image"])
    (found,) = {ref.schema for ref in ray.get(dataset.to_arrow_refs())}
    assert found.names == OTHERS.column_names
    tables = ray.get(dataset.to_arrow_refs())
    assert all(table.drop_columns("image").equals(OTHERS.drop_columns("image")) for table in tables)
    assert [row.tolist() for row in rows_of(dataset, "image")] == [[1, 2]] * 6


def test_columns_of_numbers_are_found():
    table = OTHERS.drop_columns("count").append_column("nothing", pa.nulls(3))
    dataset = tensorbuf.ray.convert(ray.data.from_arrow(table), Converter("int8"))
    (found,) = ray.get(dataset.to_arrow_refs())
    assert found.drop_columns("image").equals(table.drop_columns("image"))
    assert [row.tolist() for row in rows_of(dataset, "image")] == [[1, 2]] * 3


@pytest.mark.parametrize("columns", [None, "x"])
def test_a_block_of_nulls_is_of_its_column_s_kind(columns):
    blocks = [
        pa.table({"x": pa.array([None, value], pa.float32())}).slice(0, length) for value, length in ((1, 1), (2, 2))
    ]
    dataset = tensorbuf.ray.convert(ray.data.from_arrow(blocks), Converter("uint8", nan=7), columns)
    assert [table["x"].to_pylist() for table in ray.get(dataset.to_arrow_refs())] == [[7], [7, 2]]
    nulls = ray.data.from_arrow(pa.table({"x": pa.array([None, None], pa.int64())}))
    with pytest.raises(RayTaskError, match="ValueError: column 'x': 2 of 2 values are null"):
        tensorbuf.ray.convert(nulls, HALF, columns).take_all()


@pytest.mark.parametrize("columns", ["x", ["x"], ("x", "x"), {"x": 0}])
def test_one_column(columns):
    dataset = ray.data.from_items([{"x": 1, "label": 1}])
    assert tensorbuf.ray.convert(dataset, HALF, columns).take_all() == [{"x": 0.5, "label": 1}]


def test_no_columns_and_no_rows():
    dataset = ray.data.from_items([{"x": 1}, {"x": 2}])
    assert rows_of(tensorbuf.ray.convert(dataset, HALF, []), "x") == [1, 2]
    none = dataset.filter(expr=col("x") > 2)
    assert tensorbuf.ray.convert(none, HALF).take_all() == []
    assert rows_of(tensorbuf.ray.convert(dataset.filter(expr=col("x") > 1), HALF, "x"), "x") == [1]


def test_pandas():
    frame = pd.DataFrame({"x": [1.0, np.nan, 3.0], "name": ["a", "b", "c"]})
    found = tensorbuf.ray.convert(ray.data.from_pandas(frame), Converter("float32", offset=1)).take_all()
    assert [row["name"] for row in found] == ["a", "b", "c"]
    assert np.array_equal([row["x"] for row in found], [2, np.nan, 4], equal_nan=True)


def test_a_plan_by_itself():
    plan = Converter.normalize(MEAN, STD, layout="NHWC->NCHW")
    found = rows_of(ray.data.from_numpy(np.split(FRAMES, 2)).map_batches(plan), "data")
    assert np.array_equal(np.stack(found), plan(FRAMES))


def test_nothing_runs_before_it_is_asked_for(tmp_path):
    def leave_a_trace(batch):
        (tmp_path / "trace").touch()
        return batch

    dataset = tensorbuf.ray.convert(ray.data.range(2).map_batches(leave_a_trace), HALF, "id")
    assert not (tmp_path / "trace").exists()
    assert rows_of(dataset, "id") == [0, 0.5]
    assert (tmp_path / "trace").exists()


def test_what_is_refused_at_once():
    dataset = ray.data.from_items([{"x": 1, "y": 2}])
    with pytest.raises(TypeError, match=r"ray.data.Dataset is needed, got a ndarray; ray.data.from_numpy"):
        tensorbuf.ray.convert(FRAMES, HALF)
    with pytest.raises(TypeError, match="Converter is needed, got a str"):
        tensorbuf.ray.convert(dataset, "float32")
    with pytest.raises(KeyError, match="there is no column 'z', only 'x', 'y'"):
        tensorbuf.ray.convert(dataset, HALF, ["x", "z"])
    for dtype in ("bfloat16", "float8_e5m2", "complex64"):
        with pytest.raises(TypeError, match=f"no type for {dtype}"):
            tensorbuf.ray.convert(dataset, Converter(dtype))


@pytest.mark.parametrize(
    ("rows", "plan", "columns", "sentence"),
    [
        ([{"x": 1}], HALF, "y", "KeyError: \"there is no column 'y', only 'x'\""),
        ([{"x": 1}, {"x": None}], HALF, None, "ValueError: column 'x': 1 of 2 values are null"),
        ([{"x": True}, {"x": None}], HALF, None, "ValueError: column 'x': 1 of 2 values are null"),
        ([{"x": [1, 2]}, {"x": None}], HALF, None, "ValueError: column 'x': 1 of 2 values are null"),
        ([{"x": "a"}], HALF, "x", "TypeError: column 'x' of type string holds neither numbers nor arrays of numbers"),
        (
            [{"x": 100}, {"x": 300}],
            Converter("int8", overflow="raise"),
            None,
            "ConversionError: column 'x': element 1 is 300",
        ),
        (
            [{"x": FRAMES[0]}, {"x": FRAMES[0, ..., :2]}],
            NORMALIZE,
            None,
            "ShapeError: column 'x': axis 3 of shape (1, 4, 5, 2)",
        ),
        (
            [{"x": 1}] * 3,
            Converter("int8", scale=[1, 2, 3]),
            None,
            "ShapeError: column 'x': the channels are on axis 0",
        ),
        ([{"x": [1, 2]}], NORMALIZE, None, "ShapeError: column 'x': layout HWC->CHW needs rank 3"),
    ],
)
def test_what_fails_when_it_runs(rows, plan, columns, sentence):
    dataset = ray.data.from_items(rows, override_num_blocks=1).map_batches(lambda batch: batch, batch_format="pyarrow")
    with pytest.raises(RayTaskError) as caught:
        tensorbuf.ray.convert(dataset, plan, columns).take_all()
    assert sentence in str(caught.value)


def test_a_wrong_shape_in_the_middle():
    blocks = [np.zeros((2, 4, 5, 3), np.uint8), np.zeros((2, 4, 5, 4), np.uint8), np.zeros((2, 4, 5, 3), np.uint8)]
    with pytest.raises(RayTaskError, match=r"column 'data': axis 3 of shape \(2, 4, 5, 4\) has 4 channels"):
        tensorbuf.ray.convert(ray.data.from_numpy(blocks), NORMALIZE).take_all()


def test_a_worker_that_is_killed_once(tmp_path):
    def kill_once(batch):
        try:
            (tmp_path / "killed").touch(exist_ok=False)
        except FileExistsError:
            return batch
        return os.kill(os.getpid(), signal.SIGKILL)

    assert rows_of(tensorbuf.ray.convert(ray.data.range(3).map_batches(kill_once), HALF), "id") == [0, 0.5, 1]
    assert (tmp_path / "killed").exists()


@pytest.mark.filterwarnings("ignore:`ray_remote_args` is deprecated")
def test_a_worker_that_is_killed_again_and_again():
    def kill(batch):
        os.kill(os.getpid(), signal.SIGKILL)

    dataset = ray.data.range(1).map_batches(kill, max_retries=0)
    with pytest.raises(WorkerCrashedError, match="The worker died unexpectedly"):
        tensorbuf.ray.convert(dataset, HALF).take_all()
