"""`tensorbuf.dask`: plans on Dask arrays, in this process and on a cluster of two worker processes."""

import os
import signal
import subprocess
import sys
from itertools import product

import dask
import dask.array as da
import numpy as np
import psutil
import pytest
from dask.base import tokenize
from distributed import Client, KilledWorker, LocalCluster

import tensorbuf.dask
from tensorbuf import ConversionError, Converter, ShapeError

FRAMES = np.random.default_rng(1).integers(0, 256, (5, 6, 7, 3), "uint8")
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
NORMALIZE = Converter.normalize(MEAN, STD, layout="NHWC->NCHW")


def same(array, expected):
    """Whether a Dask array is what it promises, in every block, and gives those bits."""
    blocks = [array.blocks[index].compute() for index in product(*map(range, array.numblocks))]
    sizes = list(product(*array.chunks))
    assert [block.shape for block in blocks] == sizes
    assert {block.dtype for block in blocks} | {array.dtype, array._meta.dtype} == {expected.dtype}
    assert {type(block) for block in blocks} == {np.ndarray}
    assert all(block.flags.c_contiguous for block in blocks)
    return np.array_equal(array.compute().view(np.uint8), np.ascontiguousarray(expected).view(np.uint8))


@pytest.fixture(autouse=True)
def _in_this_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.mark.parametrize(
    "chunks", [(5, 6, 7, 3), (2, 4, 3, 3), (1, 6, 7, 1), (2, 6, 7, (2, 1)), ((2, 0, 3), 5, 7, (1, 0, 2))]
)
@pytest.mark.parametrize(
    "plan",
    [
        Converter("int16"),
        Converter("float32", layout="NHWC->CWNH"),
        Converter("float32", scale=0.5, layout="NHWC->NCHW"),
        Converter("float64", scale=[1, 2, 3], offset=0.25),
        NORMALIZE,
        Converter.normalize(MEAN, STD, layout="NHWC->NHWC", dtype="bfloat16"),
        Converter.quantize([0.5, 2, 8], 3, axis=-1),
        Converter.quantize([1, 2, 3, 4, 5], [0, 1, 2, 3, 4], axis=0, dtype="uint8"),
        Converter.dequantize([1, 2, 3, 4, 5, 6], 7),
    ],
)
def test_chunks_give_what_the_whole_gives(plan, chunks):
    array = tensorbuf.dask.convert(da.from_array(FRAMES, chunks), plan)
    expected = plan(FRAMES)
    assert array.shape == expected.shape
    assert same(array, expected)


def test_chunks_follow_the_layout():
    frames = da.zeros((10, 1080, 1920, 3), dtype="uint8", chunks=(4, 540, 1920, 3))
    array = tensorbuf.dask.convert(frames, NORMALIZE)
    assert array.chunks == ((4, 4, 2), (3,), (540, 540), (1920,))
    split = tensorbuf.dask.convert(frames.rechunk((4, 540, 1920, 1)), NORMALIZE)
    assert split.chunks == ((4, 4, 2), (1, 1, 1), (540, 540), (1920,))


def test_nothing_is_computed_before_it_is_asked_for():
    asked = []

    def chunk(block_info):
        asked.append(block_info[None]["chunk-location"])
        return np.ones((2, 3), np.uint8)

    array = da.map_blocks(chunk, chunks=((2, 2), (3,)), dtype="uint8", meta=np.empty((0, 0), "uint8"))
    converted = tensorbuf.dask.convert(array, Converter("float32", scale=2))
    assert asked == []
    assert converted[2:].compute().tolist() == [[2.0] * 3] * 2
    assert asked == [(1, 0)]


def test_unknown_sizes():
    frames = da.from_array(FRAMES, (2, 6, 7, 2))
    kept = frames[frames[:, 0, 0, 0] > 100]
    array = tensorbuf.dask.convert(kept, NORMALIZE)
    assert np.isnan(array.shape[0])
    assert np.array_equal(array.compute(), NORMALIZE(FRAMES[FRAMES[:, 0, 0, 0] > 100]))


def test_rank_0_and_empty_arrays():
    total = tensorbuf.dask.convert(da.ones((4, 4), chunks=2).sum(), Converter("int16"))
    computed = total.compute()
    assert (type(computed), computed.shape, computed.dtype, int(computed)) == (np.ndarray, (), np.int16, 16)
    assert same(tensorbuf.dask.convert(da.zeros((0, 3), chunks=3), Converter("int8")), np.zeros((0, 3), "int8"))


def test_masked_elements_are_refused():
    values = da.from_array(np.arange(4.0), 2)
    plan = Converter("uint8")
    assert tensorbuf.dask.convert(da.ma.masked_array(values, [False] * 4), plan).compute().tolist() == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="masked"):
        tensorbuf.dask.convert(da.ma.masked_greater(values, 2), plan).compute()


def test_names_are_those_of_the_values():
    again = Converter.normalize(MEAN, STD, layout="NHWC->NCHW")
    before = tokenize(NORMALIZE, ensure_deterministic=True)
    NORMALIZE(np.zeros((1, 99, 99, 3), np.uint8))
    assert before == tokenize(NORMALIZE) == tokenize(again)
    assert before != tokenize(Converter.normalize(MEAN, MEAN, layout="NHWC->NCHW"))
    frames = da.from_array(FRAMES, 2)
    assert tensorbuf.dask.convert(frames, again).name == tensorbuf.dask.convert(frames, NORMALIZE).name


@pytest.mark.parametrize(
    ("array", "plan", "error", "sentence"),
    [
        (FRAMES, NORMALIZE, TypeError, r"dask.array.Array is needed, got ndarray; dask.array.from_array"),
        (da.zeros((2, 3)), np.float32, TypeError, "Converter is needed, got a type"),
        (da.zeros((2, 3)), NORMALIZE, ShapeError, "rank 4"),
        (da.zeros((2, 2, 2, 4), chunks=1), NORMALIZE, ShapeError, "has 4 channels, the parameters have 3 values"),
        (da.zeros((2, 3)), Converter.quantize([1, 2], axis=2), ShapeError, "axis 2"),
        (da.zeros((2, 3), dtype="complex64"), Converter("int8"), TypeError, "complex64"),
        (da.zeros((2, 3), dtype="datetime64[s]"), Converter("int8"), TypeError, "datetime64"),
    ],
)
def test_what_is_refused_at_once(array, plan, error, sentence):
    with pytest.raises(error, match=sentence):
        tensorbuf.dask.convert(array, plan)


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    folder = str(tmp_path_factory.mktemp("dask"))
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0, "temporary-directory": folder}),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs="CRITICAL") as cluster,
        Client(cluster) as client,
    ):
        yield client
        workers = client.run(os.getpid).values()
    assert not any(psutil.pid_exists(pid) for pid in workers)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float8_e4m3fn", "complex64", "bool"])
def test_two_worker_processes(client, dtype):
    array = tensorbuf.dask.convert(da.from_array(FRAMES, (1, 6, 7, 2)), Converter(dtype, layout="NHWC->NCHW"))
    computed = client.compute(array).result()
    assert computed.dtype == array.dtype
    assert np.array_equal(computed, Converter(dtype, layout="NHWC->NCHW")(FRAMES))
    pids = client.gather(client.map(lambda i: os.getpid(), range(8), pure=False))
    assert len({os.getpid(), *pids}) == 3


def test_a_wrong_shape_in_the_middle(client):
    wrong = da.from_delayed(dask.delayed(np.zeros)((1, 6, 7, 4), "uint8"), (1, 6, 7, 3), "uint8")
    frames = da.concatenate([da.from_array(FRAMES, (1, 6, 7, 3)), wrong, da.from_array(FRAMES, (1, 6, 7, 3))])
    array = tensorbuf.dask.convert(frames, NORMALIZE)
    with pytest.raises(ShapeError, match=r"axis 3 of shape \(1, 6, 7, 4\) has 4 channels"):
        client.compute(array).result()


def test_a_value_that_does_not_fit(client):
    array = tensorbuf.dask.convert(da.arange(200, chunks=100), Converter("int8", overflow="raise"))
    with pytest.raises(ConversionError, match=r"in a chunk of shape \(100,\): element 28 is 128"):
        client.compute(array).result()


def test_a_killed_worker(client):
    def kill(chunk):
        os.kill(os.getpid(), signal.SIGKILL)

    killing = da.zeros(4, chunks=2).map_blocks(kill, dtype=float, meta=np.empty(0))
    with pytest.raises(KilledWorker, match="died"):
        client.compute(tensorbuf.dask.convert(killing, Converter("int8"))).result()
    client.wait_for_workers(2, timeout=30)
    assert client.compute(tensorbuf.dask.convert(da.ones(4, chunks=2), Converter("int8"))).result().tolist() == [1] * 4


LARGER = """
import resource, sys
import dask, dask.array as da, numpy as np
import tensorbuf.dask
from tensorbuf import Converter

path, rows = sys.argv[1], int(sys.argv[2])
frames = da.from_array(np.load(path, mmap_mode="r"), chunks=(rows, -1, -1, -1))
plan = Converter("float32", offset=[1, 2, 3], layout="NHWC->NCHW")
with dask.config.set(scheduler="threads", num_workers=2):
    tensorbuf.dask.convert(frames[:2], plan).sum().compute()
    with open("/proc/self/status") as status:
        used = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmData"))
    resource.setrlimit(resource.RLIMIT_DATA, (used + {room}, used + {room}))
    print(tensorbuf.dask.convert(frames, plan).mean((0, 2, 3)).compute().tolist())
"""

if sys.platform == "linux":
    # The limit is on memory of its own, so that neither a mapped file nor what the libraries take counts.

    @pytest.mark.parametrize("rows", [8, 512])
    def test_arrays_larger_than_memory(tmp_path, rows):
        shape = (512, 256, 256, 3)
        np.lib.format.open_memmap(tmp_path / "frames.npy", "w+", np.uint8, shape)
        room = 64 * 2**20
        assert 4 * np.prod(shape) > 5 * room
        code = LARGER.format(room=room)
        command = [sys.executable, "-c", code, str(tmp_path / "frames.npy"), str(rows)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if rows == 8:
            assert (done.returncode, done.stdout) == (0, "[1.0, 2.0, 3.0]\n"), done.stderr
        else:
            assert "MemoryError" in done.stderr
