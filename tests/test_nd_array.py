import copy
import pickle

import ml_dtypes
import numpy as np
import pytest

import tensorbuf
from tensorbuf import NdArray, RankError

CLASSES = {
    "ByteNdArray": np.int8,
    "ShortNdArray": np.int16,
    "IntNdArray": np.int32,
    "LongNdArray": np.int64,
    "FloatNdArray": np.float32,
    "DoubleNdArray": np.float64,
    "BooleanNdArray": np.bool,
}


@pytest.mark.parametrize(("name", "dtype"), CLASSES.items())
def test_subclass_follows_the_dtype(name, dtype):
    array = NdArray._wrap(np.zeros((2, 3), dtype))
    assert type(array) is getattr(tensorbuf, name)
    assert type(array[0]) is type(array)


@pytest.mark.parametrize("dtype", [np.uint8, np.float16, ml_dtypes.bfloat16, np.complex64, object])
def test_other_dtypes_are_plain(dtype):
    assert type(NdArray._wrap(np.zeros(3, dtype))) is NdArray


def test_byte_order_does_not_change_the_class():
    assert type(NdArray._wrap(np.zeros(3, ">f4"))) is tensorbuf.FloatNdArray


def test_properties():
    array = NdArray._wrap(np.zeros((2, 3), np.int16))
    assert (array.shape, array.rank, array.size, array.nbytes, array.dtype) == ((2, 3), 2, 6, 12, np.int16)
    assert type(array.shape) is tensorbuf.Shape
    assert not array.read_only


def test_get_object():
    array = NdArray._wrap(np.arange(6, dtype=np.float32).reshape(2, 3))
    assert array.get_object(1, 2) == 5.0
    assert type(array.get_object(0, 0)) is float
    for coords in ((1, 3), (1, -1), (2, 0)):
        with pytest.raises(IndexError):
            array.get_object(*coords)
    with pytest.raises(RankError):
        array.get_object(1)


@pytest.mark.parametrize("dtype", [np.float32, ">i4", ml_dtypes.bfloat16, object, np.bool])
@pytest.mark.parametrize("out_of_band", [False, True])
def test_pickle_carries_the_visible_elements(dtype, out_of_band):
    source = np.arange(20).astype(dtype)[2:18:3]
    array = NdArray._wrap(source)
    buffers = []
    data = pickle.dumps(array, 5, buffer_callback=buffers.append if out_of_band else None)
    back = pickle.loads(data, buffers=buffers)
    assert back == array
    assert back.dtype == array.dtype
    assert type(back) is type(array)
    assert bool(buffers) == (out_of_band and dtype is not object)
    assert sum(buffer.raw().nbytes for buffer in buffers) in (0, array.nbytes)


@pytest.mark.parametrize("protocol", range(6))
def test_pickle_keeps_read_only(protocol):
    source = np.arange(4.0)
    source.flags.writeable = False
    assert pickle.loads(pickle.dumps(NdArray._wrap(source), protocol)).read_only
    assert not pickle.loads(pickle.dumps(NdArray._wrap(np.arange(4.0)), protocol)).read_only


def test_numpy_door():
    source = np.arange(6.0).reshape(2, 3)
    array = NdArray._wrap(source)
    assert np.shares_memory(array.to_numpy(), source)
    assert np.shares_memory(array.to_numpy(copy=False), source)
    assert not np.shares_memory(array.to_numpy(copy=True), source)
    assert np.shares_memory(np.asarray(array), source)
    assert np.asarray(array, dtype=np.float32).dtype == np.float32
    with pytest.raises(ValueError):
        np.array(array, dtype=np.float32, copy=False)
    exported = array.to_numpy()
    exported.flags.writeable = False
    assert not array.read_only


def test_copies_are_independent():
    source = np.arange(6.0)
    source.flags.writeable = False
    for twin in (copy.copy(NdArray._wrap(source)), copy.deepcopy(NdArray._wrap(source))):
        assert twin == NdArray._wrap(source)
        assert not twin.read_only
        assert not np.shares_memory(twin.to_numpy(), source)


def test_equality():
    array = NdArray._wrap(np.array([1, 2], np.int32))
    assert array == NdArray._wrap(np.array([1, 2], ">i4"))
    assert array != NdArray._wrap(np.array([1, 2], np.int64))
    assert array != NdArray._wrap(np.array([1, 2], object))
    assert array != NdArray._wrap(np.array([[1, 2]], np.int32))
    assert NdArray._wrap(np.zeros((2, 0))) != NdArray._wrap(np.zeros((0, 2)))
    assert NdArray._wrap(np.zeros((2, 0))) == NdArray._wrap(np.zeros((2, 0)))
    assert NdArray._wrap(np.array([0.0])) == NdArray._wrap(np.array([-0.0]))
    nan = NdArray._wrap(np.array([np.nan]))
    assert nan != nan
    for other in (3, None, "12", [1, 2]):
        assert array != other
    with pytest.raises(TypeError):
        hash(array)


def test_repr_is_bounded():
    text = repr(NdArray._wrap(np.arange(10**6, dtype=np.float32)))
    assert text == "FloatNdArray(shape=(1000000,), dtype=float32, values=[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, ...])"
