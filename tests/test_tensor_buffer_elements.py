"""TensorBuffer's elements: getters, items, assignment, iteration."""

import math

import ml_dtypes
import numpy as np
import pytest

from tensorbuf import DataType, TensorBuffer

NUMERIC = [member for member in DataType if member is not DataType.STRING]
REAL = [member for member in NUMERIC if not member.is_complex]


def loaded(values, data_type, shape=None):
    """A dynamic buffer that holds `values`."""
    tensor = TensorBuffer.create_dynamic(data_type)
    tensor.load_array(values, (len(values),) if shape is None else shape)
    return tensor


@pytest.mark.parametrize("data_type", REAL)
def test_getters_are_new_aligned_vectors(data_type):
    tensor = loaded([[1, 0], [1, 1]], data_type, (2, 2))
    for values, dtype in ((tensor.get_float_array(), np.float32), (tensor.get_int_array(), np.int32)):
        assert values.shape == (4,)
        assert values.dtype == dtype
        assert values.tolist() == [1, 0, 1, 1]
        assert values.ctypes.data % 64 == 0
        assert values.flags.writeable
        assert not np.shares_memory(values, tensor.to_numpy())
    assert [tensor.get_float_value(i) for i in range(4)] == [1.0, 0.0, 1.0, 1.0]
    assert [tensor.get_int_value(i) for i in range(4)] == [1, 0, 1, 1]
    assert type(tensor.get_float_value(0)) is float
    assert type(tensor.get_int_value(0)) is int


@pytest.mark.parametrize(
    ("data_type", "value", "as_float", "as_int", "exact"),
    [
        ("float64", 0.1, 0.10000000149011612, 0, 0.1),
        ("float64", 1e300, math.inf, 2**31 - 1, 1e300),
        ("float64", -1e-320, -0.0, 0, -1e-320),
        ("float32", 400.32, float(np.float32(400.32)), 400, float(np.float32(400.32))),
        ("float32", -23.04, float(np.float32(-23.04)), -23, float(np.float32(-23.04))),
        ("int64", 2**62 + 2**38 + 1, 2.0**62 + 2.0**39, 2**31 - 1, 2**62 + 2**38 + 1),
        ("uint64", 2**64 - 1, 2.0**64, 2**31 - 1, 2**64 - 1),
        ("int64", -(2**63), -(2.0**63), -(2**31), -(2**63)),
        ("int32", 16777217, 16777216.0, 16777217, 16777217),
        ("uint32", 2**31, 2.0**31, 2**31 - 1, 2**31),
        ("bfloat16", 3.0, 3.0, 3, 3.0),
        ("bool", True, 1.0, 1, True),
    ],
)
def test_getters_read_directly_from_the_element(data_type, value, as_float, as_int, exact):
    tensor = loaded([value], data_type)
    assert tensor.get_float_value(0) == tensor.get_float_array()[0] == as_float
    assert math.copysign(1, tensor.get_float_value(0)) == math.copysign(1, as_float)
    assert tensor.get_int_value(0) == tensor.get_int_array()[0] == as_int
    assert tensor[0] == exact
    assert type(tensor[0]) is type(exact)


def test_getters_of_nan():
    tensor = loaded([math.nan], "float64")
    assert math.isnan(tensor.get_float_value(0))
    assert tensor.get_int_value(0) == 0


@pytest.mark.parametrize("index", [-1, 3, 2**30, 2**32, 2**62, 2**70, -(2**70)])
def test_getter_indices_are_checked(index):
    tensor = loaded([1, 2, 3], "float32")
    for get in (tensor.get_float_value, tensor.get_int_value):
        with pytest.raises(IndexError, match="3"):
            get(index)


@pytest.mark.parametrize("index", [1.0, "1", None, (1,), slice(0, 1), [1]])
def test_indices_are_ints(index):
    tensor = loaded([1, 2, 3], "float32")
    for call in (
        lambda: tensor.get_float_value(index),
        lambda: tensor.get_int_value(index),
        lambda: tensor[index],
        lambda: tensor.__setitem__(index, 1),
    ):
        with pytest.raises(TypeError):
            call()
    assert list(tensor) == [1, 2, 3]


def test_getter_indices_may_be_numpy_ints():
    tensor = loaded([1, 2, 3], "float32")
    assert tensor.get_float_value(np.uint8(2)) == 3.0
    assert tensor.get_int_value(np.int64(1)) == 2
    assert tensor[np.int16(-1)] == 3.0


@pytest.mark.parametrize("index", [3, -4, 2**63, 2**70, -(2**70)])
def test_item_indices_are_checked(index):
    tensor = loaded([1, 2, 3], "float32")
    with pytest.raises(IndexError, match="3"):
        tensor[index]
    with pytest.raises(IndexError, match="3"):
        tensor[index] = 1
    assert list(tensor) == [1, 2, 3]


def test_items_are_flat_with_negative_indices():
    tensor = loaded([[1, 2], [3, 4]], "int16", (2, 2))
    assert [tensor[i] for i in range(-4, 4)] == [1, 2, 3, 4] * 2
    tensor[-1] = 9
    tensor[np.int64(1)] = 8
    assert tensor.to_numpy().tolist() == [[1, 8], [3, 9]]
    scalar = TensorBuffer.create_fixed_size((), "int16")
    scalar[0] = 5
    assert (scalar[0], scalar[-1], len(scalar), list(scalar)) == (5, 5, 1, [5])


@pytest.mark.parametrize(
    ("data_type", "value", "stored"),
    [
        ("uint8", 400, 255),
        ("uint8", -23, 0),
        ("uint8", 254.99, 254),
        ("uint8", math.nan, 0),
        ("uint8", math.inf, 255),
        ("uint8", 10**40, 255),
        ("int64", 10**40, 2**63 - 1),
        ("uint64", 2**63 + 1, 2**63 + 1),
        ("uint64", -1, 0),
        ("int32", True, 1),
        ("bool", 0.5, True),
        ("bool", -0.0, False),
        ("bool", 1j, True),
        ("float32", 16777217, 16777216.0),
        ("float32", 1e-45, 1.401298464324817e-45),
        ("float32", 2**62 + 2**38 + 1, 2.0**62 + 2.0**39),
        ("float64", 2**53 + 3, 2.0**53 + 4),
        ("float64", 10**400, math.inf),
        ("float16", 65520, math.inf),
        ("bfloat16", 1 + 2**-8 + 2**-30, 1.0078125),
        ("float8_e4m3fn", 464, 448.0),
        ("complex64", 1.5, 1.5 + 0j),
        ("complex128", 1 - 2j, 1 - 2j),
        ("uint8", np.float32(7.9), 7),
        ("uint8", np.int64(300), 255),
        ("float32", np.float16(0.5), 0.5),
        ("float32", ml_dtypes.bfloat16(1.5), 1.5),
        ("int8", np.array(5), 5),
    ],
)
def test_assignment_converts(data_type, value, stored):
    tensor = loaded([1, 1, 1], data_type)
    tensor[1] = value
    assert tensor[1] == stored
    assert (tensor[0], tensor[2]) == (1, 1)
    other = loaded([1, 1, 1], data_type)
    other.load_array([1, value, 1])
    assert bytes(other.buffer) == bytes(tensor.buffer)


@pytest.mark.parametrize("data_type", [member for member in NUMERIC if member.is_integer])
def test_assigned_ints_saturate_at_the_limits(data_type):
    least, most = data_type.min, data_type.max
    tensor = TensorBuffer.create_fixed_size((), data_type)
    for value in (least, most, least + 1, most - 1, least - 1, most + 1, 0, -1, 2**63, -(2**63), 2**64, 10**30):
        tensor[0] = value
        assert tensor[0] == min(max(value, least), most)


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_assigned_floats_are_loaded_floats(name):
    largest = float(np.finfo(np.float32).max)
    least = float(np.finfo(np.float32).smallest_normal)
    numbers = [0.0, 0.1, 1 / 3, largest, largest * (1 + 2**-26), largest * 1.1, least, least / 3, 1e-46, math.inf]
    assigned, stored = (TensorBuffer.create_fixed_size((2 * len(numbers) + 1,), name) for _ in range(2))
    numbers += [-number for number in numbers] + [math.nan]
    stored.load_array(numbers)
    for index, number in enumerate(numbers):
        assigned[index] = number
    assert bytes(assigned.buffer) == bytes(stored.buffer)


class Shrinks:
    """An index that gives its buffer other memory while it is read."""

    def __init__(self, tensor, size):
        self.tensor, self.size = tensor, size

    def __index__(self):
        self.tensor.load_array(range(self.size), (self.size,))
        return 900


@pytest.mark.parametrize("size", [10, 1000])
def test_an_index_that_changes_the_buffer_reaches_no_other_memory(size):
    tensor = loaded([1, 2, 3], "int64")
    with pytest.raises(IndexError):
        tensor[Shrinks(tensor, size)]
    with pytest.raises(IndexError):
        loaded([1, 2, 3], "int64")[Shrinks(tensor, size)] = 5
    assert list(tensor) == list(range(size))


@pytest.mark.parametrize("value", [None, "1", b"1", {}, [1, 2], [], object(), 1j])
def test_what_cannot_be_assigned(value):
    tensor = loaded([1, 2, 3], "float32")
    with pytest.raises(TypeError):
        tensor[0] = value
    assert list(tensor) == [1, 2, 3]


@pytest.mark.parametrize("data_type", NUMERIC)
def test_iteration_gives_exact_python_values_and_repeats(data_type):
    tensor = loaded([0, 1, 1], data_type)
    kind = type(data_type.numpy_dtype.type(1).item())
    for _ in range(2):
        values = list(tensor)
        assert values == [0, 1, 1] == [tensor[i] for i in range(3)]
        assert all(type(value) is kind for value in values)


def test_iteration_of_empty_buffers():
    assert list(TensorBuffer.create_fixed_size((2, 0), "uint8")) == []
