"""TensorBuffer: the table of stored values, through every door that stores."""

import math

import numpy as np
import pytest

from tensorbuf import TensorBuffer

INTEGERS = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
TO_INTEGERS = [
    (math.nan, (True, 0, 0, 0, 0, 0, 0, 0, 0)),
    (-math.nan, (True, 0, 0, 0, 0, 0, 0, 0, 0)),
    (math.inf, (True, 127, 255, 32767, 65535, 2**31 - 1, 2**32 - 1, 2**63 - 1, 2**64 - 1)),
    (-math.inf, (True, -128, 0, -32768, 0, -(2**31), 0, -(2**63), 0)),
    (-0.0, (False, 0, 0, 0, 0, 0, 0, 0, 0)),
    (0.5, (True, 0, 0, 0, 0, 0, 0, 0, 0)),
    (-0.9, (True, 0, 0, 0, 0, 0, 0, 0, 0)),
    (-2.5, (True, -2, 0, -2, 0, -2, 0, -2, 0)),
    (127.9, (True, 127, 127, 127, 127, 127, 127, 127, 127)),
    (-128.9, (True, -128, 0, -128, 0, -128, 0, -128, 0)),
    (255.99, (True, 127, 255, 255, 255, 255, 255, 255, 255)),
    (400.32, (True, 127, 255, 400, 400, 400, 400, 400, 400)),
    (-23.04, (True, -23, 0, -23, 0, -23, 0, -23, 0)),
    (2147483646.9, (True, 127, 255, 32767, 65535, 2147483646, 2147483646, 2147483646, 2147483646)),
    (-2147483649.0, (True, -128, 0, -32768, 0, -(2**31), 0, -2147483649, 0)),
    (4294967296.0, (True, 127, 255, 32767, 65535, 2**31 - 1, 2**32 - 1, 4294967296, 4294967296)),
    (2.0**63, (True, 127, 255, 32767, 65535, 2**31 - 1, 2**32 - 1, 2**63 - 1, 2**63)),
    (2.0**64, (True, 127, 255, 32767, 65535, 2**31 - 1, 2**32 - 1, 2**63 - 1, 2**64 - 1)),
    (1e300, (True, 127, 255, 32767, 65535, 2**31 - 1, 2**32 - 1, 2**63 - 1, 2**64 - 1)),
]

FLOATS = ("float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2")
TO_FLOATS = [
    (math.nan, (math.nan,) * 6),
    (math.inf, (math.inf, math.inf, math.inf, math.inf, math.nan, math.inf)),
    (-0.0, (-0.0,) * 6),
    (0.1, (0.0999755859375, 0.10009765625, 0.10000000149011612, 0.1, 0.1015625, 0.09375)),
    (1e-45, (0.0, 0.0, 1.401298464324817e-45, 1e-45, 0.0, 0.0)),
    (2.0**-25, (0.0, 2.0**-25, 2.0**-25, 2.0**-25, 0.0, 0.0)),
    (464, (464.0, 464.0, 464.0, 464.0, 448.0, 448.0)),
    (465, (465.0, 464.0, 465.0, 465.0, math.nan, 448.0)),
    (65519, (65504.0, 65536.0, 65519.0, 65519.0, math.nan, math.inf)),
    (65520, (math.inf, 65536.0, 65520.0, 65520.0, math.nan, math.inf)),
    (61439, (61440.0, 61440.0, 61439.0, 61439.0, math.nan, 57344.0)),
    (61440, (61440.0, 61440.0, 61440.0, 61440.0, math.nan, math.inf)),
    (16777217, (math.inf, 16777216.0, 16777216.0, 16777217.0, math.nan, math.inf)),
    (3.5e38, (math.inf, math.inf, math.inf, 3.5e38, math.nan, math.inf)),
    (1 + 2**-8 + 2**-30, (1.00390625, 1.0078125, 1.00390625, 1 + 2**-8 + 2**-30, 1.0, 1.0)),
    (1 + 2**-11 + 2**-40, (1.0009765625, 1.0, 1.00048828125, 1 + 2**-11 + 2**-40, 1.0, 1.0)),
    (
        2**62 + 2**38 + 1,
        (math.inf, 2.0**62, 2.0**62 + 2.0**39, 2.0**62 + 2.0**38, math.nan, math.inf),
    ),
]
CASES = [
    (value, target, expected)
    for targets, rows in ((INTEGERS, TO_INTEGERS), (FLOATS, TO_FLOATS))
    for value, row in rows
    for target, expected in zip(targets, row, strict=True)
]


def same(got, expected):
    """Equal, of one type and sign, where NaN equals NaN."""
    if isinstance(expected, float) and isinstance(got, float):
        if math.isnan(expected):
            return math.isnan(got)
        return got == expected and math.copysign(1, got) == math.copysign(1, expected)
    return type(got) is type(expected) and got == expected


def through_array(value, target):
    tensor = TensorBuffer.create_dynamic(target)
    tensor.load_array(np.array([value]), (1,))
    return tensor[0]


def through_many(value, target):
    """A place in the middle of a long array: the kernels' main loops and their tails must agree."""
    tensor = TensorBuffer.create_fixed_size((131,), target)
    tensor.load_array(np.full(131, value))
    first = tensor[0]
    assert all(same(other, first) for other in tensor)
    return first


def through_list(value, target):
    tensor = TensorBuffer.create_dynamic(target)
    tensor.load_array([value], (1,))
    return tensor[0]


def through_item(value, target):
    tensor = TensorBuffer.create_fixed_size((), target)
    tensor[0] = value
    return tensor[0]


def through_create_from(value, target):
    source = TensorBuffer.create_fixed_size((1,), np.array(value).dtype)
    source.load_array([value])
    return TensorBuffer.create_from(source, target)[0]


def through_strides(value, target):
    tensor = TensorBuffer.create_fixed_size((3, 2), target)
    tensor.load_array(np.full((4, 6), value, np.array(value).dtype.newbyteorder())[::2, ::-2].T)
    return tensor[5]


@pytest.mark.parametrize(
    "door", [through_array, through_many, through_list, through_item, through_create_from, through_strides]
)
def test_stored_values(door):
    wrong = [(value, target) for value, target, expected in CASES if not same(door(value, target), expected)]
    assert wrong == []


@pytest.mark.parametrize("value", [0.1, math.nan, -0.0, 3.5e38, 1e-45, 2**62 + 2**38 + 1])
@pytest.mark.parametrize(("complex_type", "part"), [("complex64", "float32"), ("complex128", "float64")])
def test_complex_from_real_has_imaginary_zero(value, complex_type, part):
    stored = through_list(value, complex_type)
    assert same(stored.real, through_list(value, part))
    assert same(stored.imag, 0.0)


def test_bool_reads_as_zero_and_one_everywhere():
    for target in (*INTEGERS[1:], *FLOATS, "complex64", "complex128"):
        tensor = TensorBuffer.create_dynamic(target)
        tensor.load_array(np.frombuffer(bytes([0, 1, 2, 255]), bool), (4,))
        assert list(tensor) == [0, 1, 1, 1]
    flags = TensorBuffer.create_dynamic("bool")
    flags.load_array(np.frombuffer(bytes([0, 1, 2, 255]), bool), (4,))
    assert list(flags) == [False, True, True, True]


def test_a_nan_keeps_its_payload_within_one_type():
    for pattern, unsigned, target in (
        (0x7F800001, "u4", "float32"),
        (0xFFF0000000000001, "u8", "float64"),
        (0x7D01, "u2", "float16"),
        (0xFF81, "u2", "bfloat16"),
    ):
        source = TensorBuffer.create_dynamic(target)
        source.load_buffer(np.full(70, pattern, unsigned), (70,))
        tensor = TensorBuffer.create_dynamic(target)
        tensor.load_array(source, (70,))
        assert bytes(tensor.buffer) == bytes(source.buffer) == bytes(TensorBuffer.create_from(source, target).buffer)
