"""TensorBuffer: creation, arguments, properties, comparison, text."""

import math

import ml_dtypes
import numpy as np
import pytest

from tensorbuf import DataType, ShapeError, TensorBuffer

NUMERIC = [member for member in DataType if member is not DataType.STRING]
COMPLEX = [DataType.COMPLEX64, DataType.COMPLEX128]


def loaded(values, data_type, shape=None):
    """A dynamic buffer that holds `values`."""
    tensor = TensorBuffer.create_dynamic(data_type)
    tensor.load_array(values, (len(values),) if shape is None else shape)
    return tensor


def address(tensor):
    return tensor.to_numpy().ctypes.data


@pytest.mark.parametrize("data_type", NUMERIC)
@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 3), (3, 0), (2, 0, 5), (1, 1, 1, 1)])
def test_fixed_size_starts_as_zeros_of_its_shape(data_type, shape):
    tensor = TensorBuffer.create_fixed_size(shape, data_type)
    assert tensor.shape == shape
    assert type(tensor.shape) is tuple
    assert tensor.flat_size == len(tensor) == math.prod(shape)
    assert tensor.data_type is data_type
    assert tensor.dtype == data_type.numpy_dtype
    assert tensor.type_size == data_type.byte_size
    assert tensor.nbytes == math.prod(shape) * data_type.byte_size
    assert not tensor.is_dynamic
    assert bytes(tensor.buffer) == bytes(tensor.nbytes)
    assert address(tensor) % 64 == 0


@pytest.mark.parametrize("data_type", NUMERIC)
def test_dynamic_starts_empty(data_type):
    tensor = TensorBuffer.create_dynamic(data_type)
    assert tensor.shape == (0,)
    assert (tensor.flat_size, tensor.nbytes, tensor.is_dynamic) == (0, 0, True)
    tensor.load_array([])
    assert tensor.shape == (0,)
    with pytest.raises(ShapeError, match="1"):
        tensor.load_array([1])
    assert tensor.get_int_array().size == 0 if not data_type.is_complex else tensor.data_type in COMPLEX


@pytest.mark.parametrize(
    "name", ["float32", np.float32, np.dtype("f4"), np.dtype(">f4"), np.dtype("<f4"), DataType.FLOAT32]
)
def test_data_type_is_any_dtype_like(name):
    for tensor in (TensorBuffer.create_fixed_size((2,), name), TensorBuffer.create_dynamic(name)):
        assert tensor.data_type is DataType.FLOAT32
        assert tensor.dtype.isnative


def test_data_type_of_ml_dtypes_and_python():
    assert TensorBuffer.create_dynamic(ml_dtypes.bfloat16).data_type is DataType.BFLOAT16
    assert TensorBuffer.create_dynamic(int).data_type is DataType.INT64
    assert TensorBuffer.create_dynamic(bool).data_type is DataType.BOOL


@pytest.mark.parametrize("wrong", [DataType.STRING, None, "floaty", "str", object, "object", 3, "datetime64[s]"])
def test_wrong_data_types(wrong):
    other = TensorBuffer.create_fixed_size((1,), "uint8")
    for create in (
        lambda: TensorBuffer.create_fixed_size((1,), wrong),
        lambda: TensorBuffer.create_dynamic(wrong),
        lambda: TensorBuffer.create_from(other, wrong),
    ):
        with pytest.raises(TypeError):
            create()


@pytest.mark.parametrize(
    ("given", "shape"),
    [
        ([2, 3], (2, 3)),
        (np.array([2, 3]), (2, 3)),
        ((np.int64(2), np.uint8(3)), (2, 3)),
        (iter([2, 3]), (2, 3)),
        (range(2, 4), (2, 3)),
        (4, (4,)),
        (np.int32(4), (4,)),
        ([], ()),
    ],
)
def test_shape_is_any_iterable_of_ints_or_one_int(given, shape):
    tensor = TensorBuffer.create_fixed_size(given, "uint8")
    assert tensor.shape == shape
    assert all(type(size) is int for size in tensor.shape)


def test_shape_is_copied():
    shape = [2, 3]
    tensor = TensorBuffer.create_fixed_size(shape, "uint8")
    shape[0] = 9
    assert tensor.shape == (2, 3)


@pytest.mark.parametrize("shape", [None, "23", (2.0, 3), ("2",), (None,), 2.5, {"a": 1}, [[2, 3]], np.array([2.0])])
def test_what_is_no_shape(shape):
    dynamic = TensorBuffer.create_dynamic("uint8")
    for call in (
        lambda: TensorBuffer.create_fixed_size(shape, "uint8"),
        lambda: dynamic.load_array([1, 2, 3, 4, 5, 6], shape),
        lambda: dynamic.load_buffer(bytes(6), shape),
    ):
        with pytest.raises(TypeError):
            call()
    assert dynamic.shape == (0,)


@pytest.mark.parametrize("shape", [(-1,), (-2, -3), (6, -1), -6, (0, -1)])
def test_negative_dimensions(shape):
    dynamic = TensorBuffer.create_dynamic("uint8")
    for call in (
        lambda: TensorBuffer.create_fixed_size(shape, "uint8"),
        lambda: dynamic.load_array([1, 2, 3, 4, 5, 6], shape),
        lambda: dynamic.load_buffer(bytes(6), shape),
    ):
        with pytest.raises(ShapeError, match="-"):
            call()


@pytest.mark.parametrize("shape", [(65536, 65536), (2**32, 2**32), (2**31, 2**31, 4), (2**62, 4), (2**70,)])
def test_sizes_do_not_wrap_around(shape):
    dynamic = TensorBuffer.create_dynamic("uint8")
    for call in (lambda: dynamic.load_array([], shape), lambda: dynamic.load_buffer(b"", shape)):
        with pytest.raises(ShapeError):
            call()
    assert (dynamic.shape, dynamic.flat_size) == ((0,), 0)


@pytest.mark.parametrize("shape", [(2**62, 2**62, 0), (0, 2**63 - 1, 2)])
def test_empty_shapes_that_no_array_has(shape):
    dynamic = TensorBuffer.create_dynamic("uint8")
    for call in (
        lambda: TensorBuffer.create_fixed_size(shape, "uint8"),
        lambda: dynamic.load_array([], shape),
        lambda: dynamic.load_array(np.zeros(0), shape),
        lambda: dynamic.load_buffer(b"", shape),
    ):
        with pytest.raises(ShapeError):
            call()
    assert dynamic.shape == (0,)


@pytest.mark.parametrize("shape", [(2**32, 2**32), (2**62,), (2**70,), (2**61, 2), (2**40, 2**40)])
def test_what_cannot_be_allocated(shape):
    with pytest.raises((ShapeError, MemoryError)):
        TensorBuffer.create_fixed_size(shape, "float64")


def test_bytes_beyond_63_bits_are_a_shape_error():
    with pytest.raises(ShapeError):
        TensorBuffer.create_fixed_size((2**61,), "float64")


def test_more_elements_than_31_bits_count():
    size = 2**31 + 3
    tensor = TensorBuffer.create_fixed_size((size,), "uint8")
    tensor[size - 1] = 7
    tensor[-2] = 300
    assert (len(tensor), tensor.nbytes, tensor.buffer.nbytes) == (size, size, size)
    assert (tensor[size - 1], tensor.get_int_value(size - 2), tensor.get_float_value(2**31)) == (7, 255, 0.0)


def test_there_is_no_constructor():
    with pytest.raises(TypeError, match="create_fixed_size"):
        TensorBuffer()
    with pytest.raises(TypeError):
        TensorBuffer((2, 3), "float32")
    bare = TensorBuffer.__new__(TensorBuffer)
    assert (len(bare), bare.nbytes) == (0, 0)
    with pytest.raises(IndexError):
        bare[0]


@pytest.mark.parametrize(
    "name",
    ["data_type", "shape", "flat_size", "type_size", "is_dynamic", "dtype", "nbytes", "buffer", "anything"],
)
def test_properties_cannot_be_set(name):
    tensor = TensorBuffer.create_fixed_size((2,), "uint8")
    with pytest.raises(AttributeError):
        setattr(tensor, name, 1)


@pytest.mark.parametrize("dynamic", [False, True])
def test_create_from_converts_into_own_memory(dynamic):
    source = TensorBuffer.create_dynamic("float32") if dynamic else TensorBuffer.create_fixed_size((2, 2), "float32")
    source.load_buffer(np.float32([1.9, -1.9, 300, np.nan]), (2, 2))
    result = TensorBuffer.create_from(source, "uint8")
    assert (result.shape, result.data_type, result.is_dynamic) == ((2, 2), DataType.UINT8, dynamic)
    assert list(result) == [1, 0, 255, 0]
    assert address(result) % 64 == 0
    source[0] = 7
    assert result[0] == 1


@pytest.mark.parametrize("data_type", NUMERIC)
def test_create_from_the_same_type_copies_read_only_memory(data_type):
    raw = bytes(range(1, 1 + 4 * data_type.byte_size))
    if data_type is DataType.BOOL:
        raw = bytes([0, 1, 1, 0])
    source = TensorBuffer.create_fixed_size((4,), data_type)
    source.load_buffer(raw)
    result = TensorBuffer.create_from(source, data_type)
    assert bytes(result.buffer) == raw
    assert not result.buffer.readonly
    assert source.buffer.readonly
    assert address(result) != address(source)


@pytest.mark.parametrize(
    ("source", "target", "value", "expected"),
    [
        ("float32", "float64", 0.1, 0.10000000149011612),
        ("uint32", "int64", 2**32 - 1, 2**32 - 1),
        ("int64", "float64", 2**53 + 3, 2.0**53 + 4),
        ("int64", "uint64", 2**63 - 1, 2**63 - 1),
        ("uint64", "int64", 2**64 - 1, 2**63 - 1),
        ("int64", "float32", 2**62 + 2**38 + 1, 2.0**62 + 2.0**39),
        ("float64", "bfloat16", 1 + 2**-8 + 2**-30, 1.0078125),
        ("float32", "complex64", -1.5, -1.5 + 0j),
        ("complex64", "bool", 1j, True),
    ],
)
def test_create_from_takes_no_way_round(source, target, value, expected):
    assert TensorBuffer.create_from(loaded([value], source), target)[0] == expected


def test_create_from_keeps_nan():
    assert math.isnan(TensorBuffer.create_from(loaded([math.nan], "float32"), "float64")[0])


@pytest.mark.parametrize("wrong", [None, [1, 2], np.zeros(2), b"12", "text", 3])
def test_create_from_takes_tensor_buffers_only(wrong):
    with pytest.raises(TypeError):
        TensorBuffer.create_from(wrong, "uint8")


@pytest.mark.parametrize("data_type", COMPLEX)
def test_complex_reads_as_no_real_number(data_type):
    tensor = loaded([1 + 2j], data_type)
    for call in (
        tensor.get_float_array,
        tensor.get_int_array,
        lambda: tensor.get_float_value(0),
        lambda: tensor.get_int_value(0),
        lambda: TensorBuffer.create_from(tensor, "float32"),
        lambda: TensorBuffer.create_from(tensor, "int64"),
    ):
        with pytest.raises(TypeError):
            call()
    assert tensor[0] == 1 + 2j
    assert TensorBuffer.create_from(tensor, "bool")[0] is True


@pytest.mark.parametrize("data_type", COMPLEX)
def test_complex_getters_refuse_empty_buffers_too(data_type):
    tensor = TensorBuffer.create_dynamic(data_type)
    with pytest.raises(TypeError):
        tensor.get_float_array()
    with pytest.raises(TypeError):
        tensor.get_int_array()


def test_equality_looks_at_shape_type_and_numbers():
    fixed = TensorBuffer.create_fixed_size((2, 2), "float32")
    fixed.load_array([0.0, 1, 2, 3])
    assert fixed == fixed
    assert fixed == loaded([-0.0, 1, 2, 3], "float32", (2, 2))
    assert fixed != loaded([0.0, 1, 2, 3], "float32", (4,))
    assert fixed != loaded([0.0, 1, 2, 3], "float64", (2, 2))
    assert fixed != loaded([0.0, 1, 2, 4], "float32", (2, 2))
    assert loaded([1, math.nan], "float32") != loaded([1, math.nan], "float32")
    not_a_number = loaded([math.nan], "bfloat16")
    assert not_a_number != not_a_number  # NaN differs also from itself
    for other in (None, 0, [[0, 1], [2, 3]], fixed.to_numpy(), fixed.buffer, "text"):
        assert (fixed == other) is False
        assert (fixed != other) is True


def test_equality_of_empty_buffers_compares_shapes():
    assert TensorBuffer.create_fixed_size((0, 2), "int8") == TensorBuffer.create_fixed_size((0, 2), "int8")
    assert TensorBuffer.create_fixed_size((0, 2), "int8") != TensorBuffer.create_fixed_size((2, 0), "int8")


def test_every_true_byte_is_true():
    odd, plain = loaded([0] * 4, "bool"), loaded([False, True, True, True], "bool")
    odd.load_buffer(bytes([0, 1, 2, 255]))
    assert odd == plain
    assert list(odd) == [False, True, True, True]
    assert odd.get_int_array().tolist() == [0, 1, 1, 1]
    assert odd.get_float_array().tolist() == [0.0, 1.0, 1.0, 1.0]
    assert (odd.get_int_value(3), odd.get_float_value(2)) == (1, 1.0)
    assert bytes(TensorBuffer.create_from(odd, "uint8").buffer) == bytes([0, 1, 1, 1])


def test_buffers_are_unhashable():
    with pytest.raises(TypeError):
        hash(TensorBuffer.create_dynamic("uint8"))


def test_repr_is_short_and_says_what_it_is():
    text = repr(loaded([1.5, 2.5], "float32"))
    for part in ("TensorBuffer", "FLOAT32", "(2,)", "dynamic", "1.5", "2.5"):
        assert part in text
    fixed = TensorBuffer.create_fixed_size((100, 100), "uint8")
    assert "fixed" in repr(fixed)
    assert "(100, 100)" in repr(fixed)
    assert len(repr(fixed)) < 200
    assert len(repr(TensorBuffer.create_fixed_size((), "complex128"))) < 200
    for data_type in NUMERIC:
        assert data_type.name in repr(TensorBuffer.create_dynamic(data_type))
