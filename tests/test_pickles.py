"""Pickles of every class: the visible elements only, out of band with protocol 5, read-only kept."""

import pickle

import ml_dtypes
import numpy as np
import pytest

from tensorbuf import NdArray, ShapedArray, SparseNdArray, TensorBuffer, frombuffer, index

BIG = NdArray(np.arange(10**6, dtype="float32").reshape(1000, 1000))
CASES = {
    "slice": BIG[3, :10],
    "strided": BIG[::100, ::-100],
    "table": BIG.slice(index.seq(5, 1), index.seq(0, 2, 2)),
    "bfloat16": NdArray(np.arange(8).astype(ml_dtypes.bfloat16)),
    "float8": NdArray(np.ones((2, 3), ml_dtypes.float8_e4m3fn)[:, ::2]),
    "read-only": frombuffer(bytes(range(16)), dtype="bfloat16"),
    "Fortran": NdArray(np.asfortranarray(np.arange(6).reshape(2, 3))),
    "swapped": NdArray(np.arange(3, dtype="int32").astype(np.dtype("int32").newbyteorder("S"))),
    "complex": NdArray([1j, 2]),
    "rank 0": NdArray(5),
    "empty": NdArray(np.zeros((0, 3))),
    "TensorBuffer": TensorBuffer.create_fixed_size((3,), "bfloat16"),
    "ShapedArray": ShapedArray([[1, 2], [3, 4]]),
    "ShapedArraySlice": ShapedArray(np.zeros((1000, 1000)))[1, :3],
}


def array_of(x):
    return np.asarray(x)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("name", CASES)
def test_round_trip(name, protocol):
    x = CASES[name]
    text = pickle.dumps(x, protocol)
    assert len(text) < 1000
    back = pickle.loads(text)
    assert type(back) is type(x)
    assert back.dtype == x.dtype
    assert back.shape == x.shape
    assert array_of(back).tobytes() == array_of(x).tobytes()
    assert getattr(back, "read_only", None) == getattr(x, "read_only", None) or name == "table"


@pytest.mark.parametrize("name", CASES)
def test_out_of_band(name):
    x = CASES[name]
    buffers = []
    text = pickle.dumps(x, 5, buffer_callback=buffers.append)
    assert len(buffers) == 1 or array_of(x).size == 0
    assert sum(buffer.raw().nbytes for buffer in buffers) == x.dtype.itemsize * array_of(x).size
    back = pickle.loads(text, buffers=buffers)
    assert array_of(back).tobytes() == array_of(x).tobytes()
    if array_of(x).flags.c_contiguous and array_of(x).size and name != "table":
        assert np.shares_memory(array_of(back), array_of(x))
    frozen = pickle.loads(text, buffers=[bytes(buffer.raw()) for buffer in buffers])
    assert not array_of(frozen).flags.writeable or array_of(x).size == 0


def test_large_memory_is_not_copied():
    buffers = []
    pickle.dumps(BIG, 5, buffer_callback=buffers.append)
    assert np.shares_memory(np.frombuffer(buffers[0], "uint8"), BIG.to_numpy())


def test_sparse_arrays():
    sparse = SparseNdArray.from_dense(NdArray([0, 1, 0, 2]))
    back = pickle.loads(pickle.dumps(sparse, 5))
    assert type(back) is type(sparse)
    assert back == sparse
