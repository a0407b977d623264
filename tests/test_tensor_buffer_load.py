"""TensorBuffer.load_array: every kind of source."""

import array
import mmap

import ml_dtypes
import numpy as np
import pytest

import tensorbuf
from tensorbuf import DataType, TensorBuffer

NUMERIC = [member for member in DataType if member is not DataType.STRING]


class OnlyArray:
    def __init__(self, values):
        self.values = np.array(values)

    def __array__(self, dtype=None, copy=None):
        return self.values


class OnlyDlpack:
    def __init__(self, values):
        self.values = np.array(values)

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


def address(tensor):
    return tensor.to_numpy().ctypes.data


def mapped(values):
    block = mmap.mmap(-1, len(values))
    block[:] = bytes(values)
    return block


def tensor_of(values):
    tensor = TensorBuffer.create_dynamic("int16")
    tensor.load_array(values, (2, 3))
    return tensor


def misaligned(values):
    raw = np.zeros(4 * len(values) + 1, np.uint8)
    view = raw[1:].view("i4")
    view[:] = values
    return view


def frozen(values):
    values.flags.writeable = False
    return values


SIX = [0, 1, 2, 3, 4, 255]
SOURCES = {
    "list": SIX,
    "tuple": tuple(SIX),
    "nested list": [[0, 1, 2], [3, 4, 255]],
    "nested tuple": ((0, 1), (2, 3), (4, 255)),
    "list of floats": [0.0, 1.5, 2, 3, 4.9, 255],
    "list of rows": [np.int64([0, 1, 2]), np.int64([3, 4, 255])],
    "list of numpy scalars": [np.uint8(value) for value in SIX],
    "bool among ints": [False, True, 2, 3, 4, 255],
    "array.array": array.array("h", SIX),
    "array of doubles": array.array("d", SIX),
    "bytes": bytes(SIX),
    "bytearray": bytearray(SIX),
    "memoryview": memoryview(bytes(SIX)),
    "typed memoryview": memoryview(np.float64(SIX)).cast("B").cast("d"),
    "strided memoryview": memoryview(bytes([0, 9, 1, 9, 2, 9, 3, 9, 4, 9, 255]))[::2],
    "mmap": mapped(SIX),
    "numpy": np.array(SIX),
    "other shape": np.array(SIX).reshape(3, 2),
    "strided": np.repeat(SIX, 2)[::2],
    "negative stride": np.array(SIX[::-1])[::-1],
    "Fortran": np.asfortranarray(np.array(SIX).reshape(2, 3)),
    "transposed": np.array([[0, 3], [1, 4], [2, 255]]).T,
    "big-endian": np.array(SIX, ">f4"),
    "little-endian": np.array(SIX, "<f4"),
    "misaligned": misaligned(SIX),
    "read-only": frozen(np.array(SIX)),
    "bfloat16": np.array([0, 1, 2, 3, 4, 256], ml_dtypes.bfloat16),
    "float16": np.float16(SIX),
    "__array__": OnlyArray(SIX),
    "__dlpack__": OnlyDlpack(SIX),
    "TensorBuffer": tensor_of(SIX),
    "NdArray": tensorbuf.NdArray(SIX),
    "NdArray, strided": tensorbuf.NdArray(np.repeat(SIX, 2))[::2],
    "NdArray, index table": tensorbuf.NdArray([9, *SIX[::-1]]).slice(tensorbuf.index.seq(6, 5, 4, 3, 2, 1)),
    "ShapedArray": tensorbuf.ShapedArray([[0, 1, 2], [3, 4, 255]]),
    "ShapedArraySlice": tensorbuf.ShapedArray([[9] * 6, SIX])[1],
}


@pytest.mark.parametrize("kind", SOURCES)
def test_every_kind_of_source_loads_in_row_major_order(kind):
    tensor = TensorBuffer.create_fixed_size((2, 3), "uint8")
    where = address(tensor)
    assert tensor.load_array(SOURCES[kind], (2, 3)) is None
    assert tensor.to_numpy().tolist() == [[0, 1, 2], [3, 4, 255]]
    assert address(tensor) == where
    dynamic = TensorBuffer.create_dynamic("float64")
    dynamic.load_array(SOURCES[kind], [6])
    assert dynamic.to_numpy()[:1].tolist() == [0.0]
    assert dynamic.shape == (6,)


def test_zero_strides():
    tensor = TensorBuffer.create_fixed_size((2, 2), "int8")
    tensor.load_array(np.broadcast_to(np.int64([7, 8]), (2, 2)))
    assert list(tensor) == [7, 8, 7, 8]


def test_scalars_load_into_scalars():
    tensor = TensorBuffer.create_fixed_size((), "uint8")
    for source in (np.array(300.5), np.float32(300.5), np.array([300.5]), [300.5], [[[300]]]):
        tensor[0] = 0
        tensor.load_array(source)
        assert tensor[0] == 255


@pytest.mark.parametrize(
    ("data_type", "values", "stored"),
    [
        ("uint64", [2**63 + 1, -1], [2**63 + 1, 0]),
        ("int64", [2**63 + 1, -(2**70)], [2**63 - 1, -(2**63)]),
        ("uint8", [10**40, -(10**40)], [255, 0]),
        ("int64", [2**62 + 1, 2**53 + 1], [2**62 + 1, 2**53 + 1]),
        ("float32", [2**62 + 2**38 + 1, 16777217], [2.0**62 + 2.0**39, 16777216.0]),
        ("bool", [10**40, 0], [True, False]),
        ("int8", [True, False], [1, 0]),
        ("uint8", [[400], [-23]], [255, 0]),
    ],
)
def test_lists_of_ints_are_exact_at_any_size(data_type, values, stored):
    tensor = TensorBuffer.create_dynamic(data_type)
    tensor.load_array(values, (2,))
    assert list(tensor) == stored


def test_complex_is_refused_also_where_nothing_is_converted():
    tensor = TensorBuffer.create_dynamic("float32")
    for source in (np.zeros(0, complex), np.zeros((3, 0), "c8")):
        with pytest.raises(TypeError):
            tensor.load_array(source)


def test_complex_loads_into_complex_and_bool():
    tensor = TensorBuffer.create_dynamic("complex64")
    tensor.load_array([1, 2.5, 3j], (3,))
    assert list(tensor) == [1, 2.5, 3j]
    flags = TensorBuffer.create_dynamic("bool")
    flags.load_array([0j, 1j, 2], (3,))
    assert list(flags) == [False, True, True]
