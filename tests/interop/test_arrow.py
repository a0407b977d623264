"""Arrow through the PyCapsule interface, with pyarrow as the partner."""

import gc

import numpy as np
import pyarrow as pa
import pytest

from tensorbuf import (
    ConversionError,
    DataType,
    NdArray,
    ShapedArray,
    TensorBuffer,
    convert,
    from_arrow,
    frombuffer,
    index,
)

KNOWN = [
    "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64",
]  # fmt: skip
PRIMITIVE = [name for name in KNOWN if name != "bool"]


class OnlyStream:
    def __init__(self, x):
        self.x = x

    def __arrow_c_stream__(self, requested_schema=None):
        return self.x.__arrow_c_stream__(requested_schema)


def address(arrow):
    return arrow.buffers()[1].address + arrow.offset * arrow.type.bit_width // 8


@pytest.mark.parametrize("name", KNOWN)
def test_every_type_both_ways(name):
    values = np.array([0, 1, 1, 0, 1]).astype(name)
    facade = NdArray(values)
    arrow = pa.array(facade.to_arrow())
    assert arrow.type == pa.from_numpy_dtype(name)
    assert arrow.to_pylist() == values.tolist()
    assert arrow.null_count == 0
    arrow.validate(full=True)
    back = from_arrow(arrow)
    assert back.dtype == values.dtype
    assert back.tolist() == values.tolist()
    if name != "bool":
        assert address(arrow) == values.ctypes.data
        assert back.to_numpy().ctypes.data == values.ctypes.data
        assert back.read_only


@pytest.mark.parametrize("kind", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "complex64", "complex128"])
def test_types_that_arrow_has_not(kind):
    with pytest.raises(TypeError, match=kind):
        NdArray(np.zeros(2, DataType(kind).numpy_dtype)).to_arrow()
    with pytest.raises(TypeError):
        NdArray(["text"]).to_arrow()


def test_what_arrow_gets_as_a_copy():
    base = np.arange(8, dtype="int32")
    for array in (
        base[::2],
        base[::-1],
        base.astype(base.dtype.newbyteorder("S")),
        np.frombuffer(b"0" + base.tobytes(), "int32", offset=1),
    ):
        assert pa.array(NdArray(array).to_arrow()).to_pylist() == array.tolist()
    assert pa.array(NdArray(base).slice(index.seq(7, 0)).to_arrow()).to_pylist() == [7, 0]
    assert pa.array(NdArray(np.array(7)).to_arrow()).to_pylist() == [7]
    assert pa.array(NdArray(np.zeros(0)).to_arrow()).to_pylist() == []


@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.parametrize("shape", [(2, 3), (4, 1, 2), (0, 3), (2, 0, 3), (1, 1, 1, 1)])
def test_tensors_both_ways(name, shape):
    values = (np.arange(np.prod(shape)) % 2).astype(name).reshape(shape)
    arrow = NdArray(values).to_arrow()
    assert isinstance(arrow, pa.FixedShapeTensorArray)
    assert len(arrow) == shape[0]
    assert tuple(arrow.type.shape) == shape[1:]
    back = from_arrow(arrow)
    assert back.shape == shape
    assert back.to_numpy().tolist() == values.tolist()
    if name != "bool" and values.size:
        assert np.shares_memory(back.to_numpy(), values)
        assert np.array_equal(arrow.to_numpy_ndarray(), values)


def test_permutations_are_honoured():
    values = np.arange(24, dtype="int16").reshape(2, 3, 4)
    for axes in ((0, 2, 1), (0, 1, 2)):
        permuted = values.transpose(axes)
        arrow = pa.FixedShapeTensorArray.from_numpy_ndarray(permuted)
        for part, expected in ((arrow, permuted), (arrow[1:], permuted[1:])):
            back = from_arrow(part)
            assert back.tolist() == expected.tolist()
            assert np.shares_memory(back.to_numpy(), values)
    kind = pa.fixed_shape_tensor(pa.int32(), [2, 3, 4], permutation=[2, 0, 1])
    physical = np.arange(48, dtype="int32").reshape(2, 2, 3, 4)
    storage = pa.FixedSizeListArray.from_arrays(pa.array(physical.ravel()), 24)
    back = from_arrow(pa.ExtensionArray.from_storage(kind, storage))
    assert back.tolist() == physical.transpose(0, 3, 1, 2).tolist()


def test_fixed_size_lists_add_axes():
    flat = pa.array(range(24), pa.uint8())
    pairs = pa.FixedSizeListArray.from_arrays(flat, 2)
    nested = pa.FixedSizeListArray.from_arrays(pairs, 3)
    expected = np.arange(24, dtype="uint8").reshape(4, 3, 2)
    assert from_arrow(nested).tolist() == expected.tolist()
    assert from_arrow(nested[1:3]).tolist() == expected[1:3].tolist()
    assert from_arrow(pa.FixedSizeListArray.from_arrays(pairs[3:], 3)[1:]).tolist() == expected[2:].tolist()
    sliced = pa.FixedSizeListArray.from_arrays(flat[4:20], 4)
    assert from_arrow(sliced[1:]).tolist() == np.arange(8, 20, dtype="uint8").reshape(3, 4).tolist()


@pytest.mark.parametrize("start", [0, 1, 7, 8, 9, 15])
@pytest.mark.parametrize("length", [0, 1, 7, 8, 17])
def test_bits_and_offsets(start, length):
    values = (np.arange(40) % 3 == 0).tolist()
    arrow = pa.array(values)[start : start + length]
    back = from_arrow(arrow)
    assert back.tolist() == values[start : start + length]
    assert not back.read_only or length == 0
    numbers = pa.array(range(40), pa.int16())[start : start + length]
    assert from_arrow(numbers).tolist() == list(range(40))[start : start + length]


def test_nulls():
    arrow = pa.array([1, None, 3, None, 5], pa.int16())
    with pytest.raises(ValueError, match=r"2 of 5.*index 1"):
        from_arrow(arrow)
    filled = from_arrow(arrow, nulls="fill", fill_value=-1)
    assert filled.dtype == np.int16
    assert filled.tolist() == [1, -1, 3, -1, 5]
    assert not filled.read_only
    assert arrow.to_pylist() == [1, None, 3, None, 5]
    assert from_arrow(arrow[2:3]).tolist() == [3]
    assert from_arrow(arrow[4:], nulls="fill", fill_value=9).tolist() == [5]
    with pytest.raises(ConversionError):
        from_arrow(arrow, nulls="fill", fill_value=40000)
    for wrong in ("skip", None, "RAISE"):
        with pytest.raises(ValueError, match="nulls"):
            from_arrow(arrow, nulls=wrong)
    with pytest.raises(TypeError, match="fill_value"):
        from_arrow(arrow, nulls="fill")
    assert from_arrow(pa.array([True, None]), nulls="fill", fill_value=True).tolist() == [True, True]
    assert from_arrow(pa.array([1.5, None]), nulls="fill", fill_value=0).tolist() == [1.5, 0.0]


def test_nulls_in_lists():
    inner = pa.array([1, None, 3, 4, 5, 6])
    pairs = pa.FixedSizeListArray.from_arrays(inner, 2)
    assert from_arrow(pairs[1:]).tolist() == [[3, 4], [5, 6]]
    with pytest.raises(ValueError, match="null"):
        from_arrow(pairs)
    outer = pa.array([[1, 2], None, [5, None]], pa.list_(pa.int32(), 2))
    assert from_arrow(outer, nulls="fill", fill_value=0).tolist() == [[1, 2], [0, 0], [5, 0]]
    assert from_arrow(outer[:1]).tolist() == [[1, 2]]


@pytest.mark.parametrize(
    "x",
    [
        pa.array(["a"]), pa.array([b"a"]), pa.array([None]), pa.array([1]).dictionary_encode(), pa.array([[1], [2, 3]]),
        pa.array([{"a": 1}]), pa.array([1], pa.timestamp("s")), pa.array([1], pa.date32()),
        pa.array([1], pa.decimal128(3)),
        pa.table({"a": [1]}), pa.record_batch({"a": [1]}), [1], None, np.zeros(3), "text",
        pa.array([["a", "b"]], pa.list_(pa.string(), 2)), pa.chunked_array([], pa.string()),
    ],
)  # fmt: skip
def test_what_is_none_of_ours(x):
    with pytest.raises(TypeError):
        from_arrow(x)


def test_streams():
    for chunks in ([[1, 2], [3]], [[], [1]], [[7]], [[1, 2], [], [3, 4]]):
        chunked = pa.chunked_array(chunks, pa.int32())
        flat = [value for chunk in chunks for value in chunk]
        for x in (chunked, OnlyStream(chunked)):
            assert from_arrow(x).tolist() == flat
            assert from_arrow(x).dtype == np.int32
    empty = from_arrow(pa.chunked_array([], pa.float16()))
    assert (empty.shape, empty.dtype) == ((0,), np.float16)
    pairs = from_arrow(pa.chunked_array([], pa.list_(pa.int8(), 3)))
    assert (pairs.shape, pairs.dtype) == ((0, 3), np.int8)
    with pytest.raises(ValueError, match=r"index 2"):
        from_arrow(pa.chunked_array([[1, 2], [None]], pa.int32()))
    one = pa.chunked_array([[1, 2]], pa.int32())
    assert from_arrow(one).to_numpy().ctypes.data == address(one.chunk(0))


def test_memory_lives_as_long_as_it_is_used():
    owner = bytearray(16)
    arrow = pa.array(frombuffer(owner, dtype="int32").to_arrow())
    back = from_arrow(arrow[1:])
    del arrow
    gc.collect()
    with pytest.raises(BufferError):
        owner.append(1)
    assert back.tolist() == [0, 0, 0]
    del back
    gc.collect()
    owner.append(1)
    values = from_arrow(pa.array(range(1000)))
    gc.collect()
    assert values.tolist() == list(range(1000))


def test_read_only_memory_is_never_written():
    source = b"12345678"
    arrow = pa.array(frombuffer(source, dtype="int32").to_arrow())
    back = from_arrow(arrow)
    assert back.read_only
    with pytest.raises(ValueError, match="read-only"):
        back[0] = 1
    assert source == b"12345678"


def test_every_facade():
    buffer = TensorBuffer.create_fixed_size((2, 2), "float32")
    assert buffer.to_arrow().to_numpy_ndarray().tolist() == [[0, 0], [0, 0]]
    assert pa.array(ShapedArray([1, 2]).to_arrow()).to_pylist() == [1, 2]
    assert pa.array(ShapedArray([[1, 2], [3, 4]])[1].to_arrow()).to_pylist() == [3, 4]


def test_arrow_arrays_are_taken_as_arrays():
    assert convert(pa.array([1, 300]), "uint8").tolist() == [1, 255]
    assert convert(pa.array([True, False, True]), "int8").tolist() == [1, 0, 1]
    with pytest.raises(ValueError, match="null"):
        convert(pa.array([1, None]), "uint8")
    buffer = TensorBuffer.create_fixed_size((3,), "float32")
    buffer.load_array(pa.array([1, 2, 3]))
    assert list(buffer) == [1, 2, 3]
