"""What an object is: typed memory, numbers, or neither; and back to its kind."""

import array
import collections
import ctypes
import mmap

import ml_dtypes
import numpy as np
import pytest

from tensorbuf import Converter, FloatNdArray, NdArray, ShapedArray, TensorBuffer, convert
from tensorbuf.source import Source, array_of, like, memory_of


class OnlyArray:
    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return np.array(self.array, dtype=dtype, copy=copy)


class OnlyDLPack:
    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **how):
        return self.array.__dlpack__(**how)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


BASE = np.arange(12, dtype="float32").reshape(3, 4)
MEMORY = {
    "numpy": BASE,
    "strided": BASE[::-1, ::2],
    "fortran": np.asfortranarray(BASE),
    "swapped": BASE.astype(">f4"),
    "bfloat16": BASE.astype(ml_dtypes.bfloat16),
    "rank 0": np.array(5, "uint8"),
    "NdArray": NdArray._wrap(BASE),
    "memoryview": memoryview(BASE)[::2],
    "array": array.array("h", [1, -2, 3]),
    "bytes": b"\x00\xff",
    "bytearray": bytearray(b"\x00\xff"),
    "ctypes": (ctypes.c_int32 * 3)(1, 2, 3),
    "bool": memoryview(np.array([True, False])),
    "half": memoryview(np.array([1.5], "float16")),
    "complex": memoryview(np.array([1j], "complex64")),
    "__array__": OnlyArray(BASE),
    "__dlpack__": OnlyDLPack(BASE),
}


@pytest.mark.parametrize("name", MEMORY)
def test_memory_is_found_and_shared(name):
    given = MEMORY[name]
    inner = getattr(given, "array", getattr(given, "_array", given))
    expected = np.asarray(inner) if not isinstance(inner, bytes | bytearray) else np.frombuffer(inner, "uint8")
    found = memory_of(given)
    assert type(found) is np.ndarray
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    assert found.strides == expected.strides or found.size == 0
    assert (found == expected).all()
    assert np.shares_memory(found, expected)
    assert found.flags.writeable <= expected.flags.writeable
    assert array_of(given) is found or np.shares_memory(array_of(given), expected)


def test_numpy_scalars():
    for scalar in (np.float32(1.5), np.int8(-3), np.bool(True), ml_dtypes.bfloat16(2), np.complex64(1j)):
        found = memory_of(scalar)
        assert (found.shape, found.dtype) == ((), scalar.dtype)
        assert found[()] == scalar


def test_a_buffer_stays_acquired():
    owner = bytearray(8)
    mapped = mmap.mmap(-1, 8)
    held = [memory_of(owner), memory_of(mapped)]
    with pytest.raises(BufferError):
        owner.append(1)
    with pytest.raises(BufferError):
        mapped.close()
    held.clear()
    owner.append(1)
    mapped.close()


@pytest.mark.parametrize(
    "given", [None, "text", {}, {1}, [1], (1, 2), 5, 1.5, object(), int, np.float32, iter([1]), range(3)]
)
def test_what_has_no_memory(given):
    with pytest.raises(TypeError):
        memory_of(given)


@pytest.mark.parametrize(
    "given",
    [
        np.zeros(2, "datetime64[s]"),
        np.array(["a"]),
        np.zeros(2, "i4,i4"),
        np.datetime64(1, "s"),
        np.longdouble(1),
        memoryview(b"ab").cast("c"),
        OnlyArray(np.array(["a"])),
    ],
)
def test_elements_of_no_type_of_the_package(given):
    with pytest.raises(TypeError):
        memory_of(given)


def test_released_buffers():
    view = memoryview(b"1234")
    view.release()
    with pytest.raises(ValueError, match="released"):
        memory_of(view)


@pytest.mark.parametrize("given", [None, "text", {}, {1}, object(), int, iter([1])])
def test_what_is_no_source(given):
    with pytest.raises(TypeError):
        Source(given)


@pytest.mark.parametrize(
    ("given", "shape"),
    [
        (5, ()),
        (True, ()),
        (1j, ()),
        ([], (0,)),
        ([[], []], (2, 0)),
        ([(1, 2), [3, 4], range(2)], (3, 2)),
        (collections.deque([1, 2]), (2,)),
        (range(4), (4,)),
        ([np.zeros((2, 3)), [[1, 2, 3], [4, 5, 6]]], (2, 2, 3)),
        ([NdArray._wrap(BASE)], (1, 3, 4)),
        ([np.float32(1), np.array(2)], (2,)),
        (BASE, (3, 4)),
    ],
)
def test_shapes(given, shape):
    source = Source(given)
    assert source.shape == shape
    assert source.size == np.prod(shape)


@pytest.mark.parametrize(
    ("given", "dtype"),
    [
        ([], "float64"),
        ([[], []], "float64"),
        ([True, False], "bool"),
        ([True, 2], "int64"),
        ([2**63 - 1, -(2**63)], "int64"),
        ([2**63], "uint64"),
        ([2**64 - 1, 0, True], "uint64"),
        ([2**63, -1], "int64"),
        ([10**40], "uint64"),
        ([-(10**40)], "int64"),
        ([1, 2.5], "float64"),
        ([2**70, 2.5], "float64"),
        ([1, 2.5, 1j], "complex128"),
        ([np.float32(1)], "float32"),
        ([np.float32(1), 1.5], "float64"),
        ([np.int8(1), np.uint8(1)], "int16"),
        ([np.uint64(2**63), 1], "uint64"),
        ([np.uint64(1), np.int8(-1)], "int64"),
        ([np.zeros(2, "float16"), [1, 2]], "float64"),
        ([np.zeros(2, ">f4")], "float32"),
        ([ml_dtypes.bfloat16(1)], ml_dtypes.bfloat16),
        ([ml_dtypes.bfloat16(1), 2], "float64"),
        ([np.zeros(1, ml_dtypes.bfloat16), [2j]], "complex128"),
        (range(3), "int64"),
        (7, "int64"),
        (0.5, "float64"),
        (False, "bool"),
    ],
)
def test_inferred_dtypes(given, dtype):
    assert Source(given).dtype == np.dtype(dtype)


def test_text_is_an_object_array():
    assert array_of("one").item() == "one"
    given = array_of([["a", "b"], ("c", "d")])
    assert given.dtype == object
    assert given.tolist() == [["a", "b"], ["c", "d"]]
    for mixed in (["a", 1], [1, "a"], ["a", None]):
        with pytest.raises(TypeError):
            array_of(mixed)
    with pytest.raises(ValueError, match="ragged"):
        array_of([["a"], ["b", "c"]])


def test_objects_on_request():
    leaf = {}
    given = array_of([[leaf, None], [1, "a"]], object)
    assert given[0, 0] is leaf
    assert given.tolist() == [[leaf, None], [1, "a"]]
    assert array_of(np.arange(3), object).tolist() == [0, 1, 2]
    for ragged in ([[1], [2, 3]], [1, [2]], [[1], 2]):
        with pytest.raises(ValueError, match="ragged"):
            array_of(ragged, object)


def test_kinds_come_back():
    values = np.arange(3, dtype="float32")
    assert like(BASE, values) is values
    for given in (NdArray._wrap(BASE), [1], 1.5, b"12", np.float32(1), OnlyArray(BASE), array.array("f")):
        back = like(given, values)
        assert type(back) is FloatNdArray
        assert np.shares_memory(np.asarray(back), values)


MASKED = np.ma.array([1, 2, 3], mask=[False, True, False])


@pytest.mark.parametrize(
    "call",
    [
        NdArray,
        ShapedArray,
        memory_of,
        array_of,
        lambda x: array_of([x, x]),
        lambda x: convert(x, "int8"),
        lambda x: convert(np.zeros(3), "int64", out=x),
        lambda x: Converter("int8")(x),
        lambda x: NdArray([1, 2, 3]).set(x),
        lambda x: TensorBuffer.create_fixed_size(3, "int8").load_array(x),
    ],
)
def test_masked_elements_have_no_values(call):
    for masked in (MASKED, MASKED[1]):
        with pytest.raises(ValueError, match="filled"):
            call(masked)


def test_masked_arrays_without_masked_elements():
    for given in (np.ma.array([1, 2, 3]), MASKED.filled(2), MASKED[::2]):
        assert memory_of(given).tolist() == np.asarray(given).tolist()
        assert type(memory_of(given)) is np.ndarray
        assert np.shares_memory(memory_of(given), given)
