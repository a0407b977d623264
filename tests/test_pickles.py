"""Pickles of every class: the visible elements only, out of band with protocol 5, read-only kept."""

import copy
import pickle

import ml_dtypes
import numpy as np
import pytest

from tensorbuf import NdArray, ShapedArray, SparseNdArray, TensorBuffer, databuffers, frombuffer, index

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


BUFFERS = {
    "numbers": databuffers.of(np.arange(10**6)).slice(5, 3),
    "strided": databuffers.of(np.arange(10**6)[::-1000]).narrow(3),
    "read-only": databuffers.of(b"abc"),
    "bits": databuffers.of_bits(10**6).slice(13, 21).set_object(True, 2).set_object(True, 20),
    "objects": databuffers.of(["a", "b"]),
    "half": databuffers.FLOAT16.apply_to(databuffers.of_shorts(10**6)).slice(7, 3).set_float(1.5, 1),
    "text": databuffers.strings("utf-8").apply_to(databuffers.of_objects(bytes, 2)).set_object("é", 1),
}


@pytest.mark.parametrize("name", BUFFERS)
def test_data_buffers(name):
    x = BUFFERS[name]
    texts = [pickle.dumps(x, protocol) for protocol in (2, 3, 4, 5)]
    assert max(map(len, texts)) < 1000
    for back in (*map(pickle.loads, texts), copy.copy(x), copy.deepcopy(x)):
        assert back == x
        assert back.dtype == x.dtype
    assert {pickle.loads(text).read_only for text in texts} == {x.read_only}


@pytest.mark.parametrize("name", ["numbers", "bits", "half"])
def test_copies_of_data_buffers_have_their_own_elements(name):
    x = BUFFERS[name]
    before = [*map(x.get_object, range(x.size))]
    for made in (pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy(x)):
        made.set_object(made.get_object(1), 0).set_object(made.get_object(2), 1)
        assert [*map(x.get_object, range(x.size))] == before
        assert made != x


def test_what_the_objects_of_a_data_buffer_may_be():
    back = pickle.loads(pickle.dumps(databuffers.of_objects(str, 1)))
    with pytest.raises(TypeError):
        back.set_object(1, 0)


def test_sparse_arrays():
    sparse = SparseNdArray.from_dense(NdArray([0, 1, 0, 2]))
    back = pickle.loads(pickle.dumps(sparse, 5))
    assert type(back) is type(sparse)
    assert back == sparse
