"""What goes in comes out: kinds of arrays, lists, scalars and bytes."""

import array as array_module
import collections

import ml_dtypes
import numpy as np
import pytest

from tensorbuf import (
    ConversionError,
    FloatNdArray,
    IntNdArray,
    NdArray,
    ShapedArray,
    ShapedArraySlice,
    TensorBuffer,
    cast,
    convert,
    saturate_cast,
)

FUNCTIONS = (convert, cast, saturate_cast)


def test_ndarray_gives_ndarray():
    for function in FUNCTIONS:
        for x in (np.arange(3.0), np.arange(6.0).reshape(2, 3), np.array(5.0), np.empty((0, 2))):
            got = function(x, "int32")
            assert type(got) is np.ndarray
            assert got.shape == x.shape
            assert got.tolist() == x.tolist()


def test_nd_array_gives_the_class_of_its_type():
    x = NdArray(np.arange(6, dtype=np.float32).reshape(2, 3))
    for function in FUNCTIONS:
        got = function(x, "int32")
        assert type(got) is IntNdArray
        assert got.shape == (2, 3)
        assert got.tolist() == [[0, 1, 2], [3, 4, 5]]
        assert type(function(x, "float32")) is FloatNdArray
        assert type(function(x, "uint8")) is NdArray
    same = convert(x, "float32")
    same.set_float(9.0, 0, 0)
    assert x.get_float(0, 0) == 0


def test_tensor_buffer_gives_tensor_buffer():
    x = TensorBuffer.create_fixed_size((2, 2), "float32")
    x.load_array([1.5, -2.5, 300, 4], (2, 2))
    for function in FUNCTIONS:
        got = function(x, "int16")
        assert type(got) is TensorBuffer
        assert got.dtype == np.int16
        assert got.shape == (2, 2)
        assert got.to_numpy().tolist() == [[1, -2], [300, 4]]
        assert not np.shares_memory(got.to_numpy(), x.to_numpy())


@pytest.mark.parametrize("kind", [ShapedArray, ShapedArraySlice])
def test_shaped_arrays_keep_their_class(kind):
    x = kind(shape=[2, 2], scalars=[1.5, -2.5, 300.0, 4.0])
    for function in FUNCTIONS:
        got = function(x, "int16")
        assert type(got) is kind
        assert got.dtype == np.int16
        assert got.shape == (2, 2)
        assert got.scalars.tolist() == [1, -2, 300, 4]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize(
    ("x", "want"),
    [
        ([1.9, -1.9, 2], [1, -1, 2]),
        ([[1, 2], [3, 4]], [[1, 2], [3, 4]]),
        ((1, 2.5), [1, 2]),
        ([], []),
        ([True, False], [1, 0]),
        (2.5, 2),
        (7, 7),
        (True, 1),
        (np.float32(2.5), 2),
        (ml_dtypes.bfloat16(3), 3),
        (b"\x01\xff", [1, 255]),
        (bytearray(b"\x02"), [2]),
        (memoryview(b"\x03"), [3]),
        (array_module.array("h", [-1, 5]), [-1, 5]),
        ([np.float32(1.5), 2], [1, 2]),
        (range(3), [0, 1, 2]),
    ],
)
def test_everything_else_gives_an_nd_array(function, x, want):
    got = function(x, "int16")
    assert isinstance(got, NdArray)
    assert got.dtype == np.int16
    assert got.tolist() == want


def test_an_object_with_an_array_door_gives_an_nd_array():
    class Door:
        def __array__(self, dtype=None, copy=None):
            return np.array([1.5, 2.5], dtype)

    for function in FUNCTIONS:
        got = function(Door(), "uint8")
        assert isinstance(got, NdArray)
        assert got.tolist() == [1, 2]


def test_lists_convert_from_their_exact_values():
    assert convert([10**40, -1], "uint8").tolist() == [255, 0]
    assert convert([10**40, -(10**40)], "int64").tolist() == [2**63 - 1, -(2**63)]
    assert convert([2**64 + 5, -1], "uint8", overflow="wrap").tolist() == [5, 255]
    assert convert([2**200 + 3], "int16", overflow="wrap").tolist() == [3]
    assert convert([2**53 + 1, 2**63 + 1], "uint64").tolist() == [2**53 + 1, 2**63 + 1]
    assert convert([2**62 + 2**38 + 1], "float32").tolist() == [2**62 + 2**39]
    assert convert([2**31 + 2**23 + 1], "bfloat16").tolist() == [2164260864]
    assert convert([2**53 + 1, 0.5], "int64").tolist() == [2**53 + 1, 0]
    assert convert([10**400, -(10**400)], "float64").tolist() == [np.inf, -np.inf]
    assert convert([10**400], "int32").tolist() == [2**31 - 1]
    assert convert([2**200], "float32").tolist() == [np.inf]
    assert np.isnan(convert([2**200], "float8_e4m3fn").to_numpy().astype(np.float32)).all()
    assert convert([[2**70, 1], [2, 3]], "complex64").tolist() == [[2**70, 1], [2, 3]]
    assert convert([10**400, 0, 2.5], "bool").tolist() == [True, False, True]
    assert cast([2**64 + 7], "uint8").tolist() == [7]
    assert saturate_cast([10**400, -(10**40)], "float16").tolist() == [65504, -65504]
    assert cast([1.0, 2.0, 3.0], "complex128").tolist() == [1, 2, 3]
    assert convert(10**40, "uint8").tolist() == 255
    for overflow in ("saturate", "wrap"):
        with pytest.raises(TypeError, match="real"):
            convert([1j, 2], "float32", overflow=overflow)
    assert cast([1.7 + 3j, 2], "int8").tolist() == [1, 2]


def test_lists_are_rounded_as_arrays_are():
    values = [2.5, -2.5, 1.4999999999999999, -0.5, 1e300, float("inf"), float("-inf"), float("nan")]
    for rounding in ("truncate", "nearest", "nearest_away", "floor", "ceil"):
        for overflow in ("saturate", "wrap"):
            for dtype in ("uint8", "int64"):
                want = convert(np.array(values), dtype, rounding=rounding, overflow=overflow, nan=7.5).tolist()
                assert convert(values, dtype, rounding=rounding, overflow=overflow, nan=7.5).tolist() == want


@pytest.mark.parametrize("x", [[[1, 2], [3]], [1, [2]], ["1"], [None], [1, "2"], [object()], [{}], [b"1"]])
def test_lists_that_are_no_arrays(x):
    for function in FUNCTIONS:
        with pytest.raises((TypeError, ValueError)):
            function(x, "int16")


def test_a_list_into_out():
    out = np.empty(3, np.uint8)
    assert convert([1, 300, -5], "uint8", out=out) is out
    assert out.tolist() == [1, 255, 0]
    with pytest.raises(ConversionError):
        convert([7, 8, 300], "uint8", out=out, overflow="raise")
    assert out.tolist() == [1, 255, 0]


def test_out_of_every_kind():
    x = np.array([[1.5, -2.5], [300, 4]])
    buffer = TensorBuffer.create_fixed_size((2, 2), "int16")
    dense = NdArray(np.zeros((2, 2), np.int16))
    for out in (buffer, dense):
        assert convert(x, "int16", out=out) is out
        assert out.to_numpy().tolist() == [[1, -2], [300, 4]]


def test_subclasses_and_memory_maps_are_arrays(tmp_path):
    mapped = np.memmap(tmp_path / "x", np.float32, "w+", shape=(4,))
    mapped[:] = [1.5, 2, 3, 400]
    assert convert(mapped, "uint8").tolist() == [1, 2, 3, 255]
    assert convert(mapped.view(np.ndarray), "uint8").tolist() == [1, 2, 3, 255]


def test_the_source_is_not_kept():
    import gc
    import weakref

    class Array(np.ndarray):
        pass

    x = np.arange(5.0).view(Array)
    gone = weakref.ref(x)
    got = convert(x, "float64")
    del x
    gc.collect()
    assert gone() is None
    assert got.tolist() == [0, 1, 2, 3, 4]


def test_other_sequences_are_lists():
    assert convert(collections.deque([1, 2]), "int8").tolist() == [1, 2]
