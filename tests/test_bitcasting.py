"""bitcast: the shape rule, the bits, and when memory is shared."""

import sys
import warnings

import ml_dtypes
import numpy as np
import pytest
from oracle import ELEMENTS
from patterns import sample

import tensorbuf
from tensorbuf import DataType, NdArray, ShapeError, TensorBuffer, bitcast
from tensorbuf.bitcasting import _in_byte_order

NAMES = [name for name in ELEMENTS if name != "bool"]


def dtype_of(name):
    return DataType(name).numpy_dtype


def little_endian_bytes(array):
    """The bytes as a little-endian machine has them."""
    return np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"))).tobytes()


@pytest.mark.parametrize("target", NAMES)
@pytest.mark.parametrize("source", NAMES)
def test_every_pair(source, target):
    given, wanted = dtype_of(source).itemsize, dtype_of(target).itemsize
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        values = sample(source)
    ratio = max(wanted // given, 1)
    values = values[: values.size // ratio * ratio].reshape(-1, ratio) if ratio > 1 else values
    result = bitcast(values, target)
    assert type(result) is np.ndarray
    assert result.dtype == dtype_of(target)
    assert result.shape == (
        values.shape if given == wanted else values.shape[:1] if given < wanted else (values.size, given // wanted)
    )
    assert little_endian_bytes(result) == little_endian_bytes(values)
    assert not result.flags.writeable
    if sys.byteorder == "little":
        assert np.shares_memory(result, values)
    back = bitcast(result, source)
    assert back.shape == values.shape
    assert back.tobytes() == values.tobytes()


@pytest.mark.parametrize(
    ("shape", "source", "target", "expected"),
    [
        ((), "float32", "uint8", (4,)),
        ((), "float32", "int32", ()),
        ((), "complex128", "int8", (16,)),
        ((3, 2), "float64", "int8", (3, 2, 8)),
        ((4, 4), "int8", "int32", (4,)),
        ((3, 4), "float32", "complex128", (3,)),
        ((4,), "int8", "int32", ()),
        ((0, 4), "int8", "int32", (0,)),
        ((0,), "int32", "int8", (0, 4)),
        ((0,), "int32", "float32", (0,)),
        ((5, 0, 4), "uint8", "float32", (5, 0)),
        ((2, 0), "uint16", "uint8", (2, 0, 2)),
        ((1,) * 63 + (4,), "int8", "int32", (1,) * 63),
        ((1,) * 63, "int32", "int8", (1,) * 63 + (4,)),
        ((1,) * 64, "int32", "float32", (1,) * 64),
    ],
)
def test_shapes(shape, source, target, expected):
    assert bitcast(np.zeros(shape, source), target).shape == expected


@pytest.mark.parametrize(
    ("shape", "source", "target"),
    [
        ((), "int8", "int32"),
        ((0,), "int8", "int32"),
        ((4, 0), "int8", "int32"),
        ((2, 8), "int8", "int32"),
        ((1, 1), "int8", "int32"),
        ((3,), "int8", "int32"),
        ((4, 1), "int8", "int32"),
        ((3,), "float32", "complex128"),
        ((2, 3), "float32", "complex64"),
        ((1,) * 64, "int32", "int8"),
    ],
)
def test_shapes_that_do_not_fit(shape, source, target):
    with pytest.raises(ShapeError) as caught:
        bitcast(np.zeros(shape, source), target)
    for number in (np.dtype(source).itemsize, np.dtype(target).itemsize, shape):
        assert str(number) in str(caught.value)
    with pytest.raises(ShapeError):
        bitcast(NdArray._wrap(np.zeros(shape, source)), target)


def test_lists_are_arrays_first():
    with pytest.raises(ShapeError, match=r"8.*16.*\(3,\)"):
        bitcast([1.0, 2.0, 3.0], "complex128")
    assert bitcast([1.0, -2.0], "complex128").tolist() == 1 - 2j
    assert bitcast([1, -1], "uint64").tolist() == [1, 2**64 - 1]
    assert bitcast(1.0, "int64").tolist() == 0x3FF0000000000000
    assert bitcast(b"\x00\x00\x80\x3f", "float32").tolist() == 1.0
    assert type(bitcast([1.0], "int64")) is tensorbuf.LongNdArray


@pytest.mark.parametrize(
    ("values", "dtype", "target", "expected"),
    [
        (0xFFFFFFFF, "uint32", "uint8", [255, 255, 255, 255]),
        ([0.0, 1.0, 1.0], "float32", "uint8", [[0, 0, 0, 0], [0, 0, 128, 63], [0, 0, 128, 63]]),
        ([[1, 2], [3, 4]], "float32", "complex64", [1 + 2j, 3 + 4j]),
        (0x7FA00001, "uint32", "float32", None),
        (1.0, "float32", "int32", 0x3F800000),
        (1.0, "float32", "uint16", [0, 0x3F80]),
        (1.0, "float32", "bfloat16", [0.0, 1.0]),
        (-1, "int16", "uint16", 65535),
        (0x01020304, "int32", "uint8", [4, 3, 2, 1]),
        (0x01020304, "int32", "uint16", [0x0304, 0x0102]),
        (1 + 2j, "complex64", "float32", [1, 2]),
        (1 + 2j, "complex64", "uint64", 0x400000003F800000),
    ],
)
def test_worked_examples(values, dtype, target, expected):
    given = np.array(values, dtype)
    result = bitcast(given, target)
    if expected is not None:
        assert result.tolist() == expected
    assert bitcast(result, dtype).tobytes() == given.tobytes()
    for kind in (NdArray._wrap, lambda array: array[()]):
        assert np.asarray(bitcast(kind(given), target)).tobytes() == result.tobytes()


def test_nan_bits_come_through():
    assert np.isnan(bitcast(np.int16(-1), "float16").to_numpy())
    assert bitcast(bitcast(np.array([-1], "int16"), "float16"), "uint16").tolist() == [0xFFFF]
    assert np.isnan(bitcast(np.array([-1], "int16"), "float8_e5m2").astype("float32")).all()
    signalling = np.array([0x7FA00001, 0xFF800001], "uint32")
    assert bitcast(bitcast(signalling, "float32"), "uint32").tolist() == signalling.tolist()


STRIDED = {
    "backward": lambda whole: whole[::-1],
    "columns": lambda whole: whole[:, ::2],
    "transposed": lambda whole: whole.T,
    "broadcast": lambda whole: np.broadcast_to(whole[0], (3, *whole[0].shape)),
    "misaligned": lambda whole: np.frombuffer(bytearray(whole.nbytes + 1), whole.dtype, offset=1).reshape(whole.shape),
}


@pytest.mark.parametrize("layout", STRIDED)
@pytest.mark.parametrize("target", ["uint64", "float32", "uint8", "bfloat16"])
def test_a_view_whatever_the_strides_where_the_item_does_not_grow(layout, target):
    whole = np.arange(48, dtype="int64").reshape(6, 8)
    given = STRIDED[layout](whole)
    result = bitcast(given, target)
    assert np.shares_memory(result, given)
    assert little_endian_bytes(result) == little_endian_bytes(given)
    assert result.flags.writeable == given.flags.writeable


def test_growing_items():
    whole = np.arange(240, dtype="uint8").reshape(5, 6, 8)
    for given in (whole[::-1, ::2, :4], whole[:, 1, 2:6], whole.transpose(1, 0, 2)[..., 3:7]):
        result = bitcast(given, "int32")
        assert np.shares_memory(result, given)
        assert little_endian_bytes(result) == given.tobytes()
    for given in (whole[..., ::2], whole[..., 7:3:-1], np.broadcast_to(whole[:, :, :1], (5, 6, 4))):
        result = bitcast(given, "int32")
        assert not np.shares_memory(result, given)
        assert little_endian_bytes(result) == given.tobytes()


def test_writes_reach_the_source():
    given = np.zeros(3, "float32")
    bitcast(given, "uint32")[1] = 0x3F800000
    bitcast(given, "uint8")[2, 3] = 0x40
    assert given.tolist() == [0.0, 1.0, 2.0]
    array = NdArray._wrap(given)
    bitcast(array, "uint32")[0] = 0x40400000
    assert given[0] == 3.0


def test_byte_swapped_input_is_copied():
    for given in (np.array([1], ">i4"), np.array([1], "<i4")):
        result = bitcast(given, "uint8")
        assert result.tolist() == [[1, 0, 0, 0]]
        assert np.shares_memory(result, given) == given.dtype.isnative
        assert bitcast(given, "uint32").dtype.isnative
    assert bitcast(np.array([[0x0304, 0x0102]], ">u2"), "int32").tolist() == [0x01020304]
    assert bitcast(np.array([1 + 2j], ">c8"), "float32").tolist() == [[1, 2]]


def test_the_other_byte_order_by_itself():
    assert _in_byte_order("<", np.array([0x01020304]).astype("int32"), np.dtype("uint8")).tolist() == [[4, 3, 2, 1]]
    assert _in_byte_order(">", np.array([0x01020304]).astype("int32"), np.dtype("uint8")).tolist() == [[1, 2, 3, 4]]
    assert _in_byte_order(">", np.array([1 + 2j], "complex64"), np.dtype("float32")).tolist() == [[1, 2]]
    assert _in_byte_order("<", np.array([1 + 2j], "complex64"), np.dtype("uint64")).tolist() == [0x400000003F800000]
    with pytest.raises(ShapeError):
        _in_byte_order("<", np.zeros(3, "int8"), np.dtype("int32"))


def test_kinds_come_back():
    buffer = TensorBuffer.create_fixed_size((2,), "float32")
    buffer.load_array([1.0, 2.0])
    result = bitcast(buffer, "int32")
    assert type(result) is TensorBuffer
    assert list(result) == [0x3F800000, 0x40000000]
    assert type(bitcast(NdArray._wrap(np.zeros(3, "int32")), "float32")) is tensorbuf.FloatNdArray
    assert type(bitcast(np.float32(1), "int32")) is tensorbuf.IntNdArray
    assert type(bitcast(np.zeros(()), "int64")) is np.ndarray


@pytest.mark.parametrize(
    "given",
    [
        None,
        "text",
        {},
        object(),
        np.zeros(3, bool),
        [True],
        True,
        np.array([None]),
        np.array(["a"]),
        ["a"],
        np.zeros(2, "M8[s]"),
        np.zeros(2, "i4,i4"),
    ],
)
def test_sources_that_are_refused(given):
    with pytest.raises(TypeError):
        bitcast(given, "uint8")


@pytest.mark.parametrize(
    "target", [None, "bool", bool, np.bool, object, "string", DataType.STRING, "text", "M8[s]", 3, [], {}]
)
def test_targets_that_are_refused(target):
    for given in (np.zeros(4, "uint8"), [1.0], np.zeros(4, bool)):
        with pytest.raises(TypeError):
            bitcast(given, target)
        with pytest.raises(TypeError):
            bitcast(given, target)


def test_dtype_likes():
    for target in ("int32", np.int32, np.dtype("int32"), DataType.INT32, ">i4", np.dtype(">i4")):
        result = bitcast(np.array([1.0], "float32"), target)
        assert result.dtype == np.dtype("int32")
        assert result.tolist() == [0x3F800000]
    assert bitcast(np.array([0x3F80], "uint16"), ml_dtypes.bfloat16).tolist() == [1.0]
