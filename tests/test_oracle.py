"""The oracle against everything that is right about it: struct, numpy, ml_dtypes and Python's own int and float."""

import math
import struct

import ml_dtypes
import numpy as np
import oracle
import pytest
from oracle import ELEMENTS, Number
from patterns import FLOATS, INTEGERS, NAMES, sample
from twin import dtype_of, is_nan, patterns_of

from tensorbuf import DataType


def as_float(x: Number) -> float:
    """A Number that a double holds."""
    sign = -1.0 if x.negative else 1.0
    if x.special:
        return sign * (math.nan if x.special == "nan" else math.inf)
    return sign * (x.grains / (1 << oracle.GRAIN))


def bits_of(value: float) -> int:
    return struct.unpack("<Q", struct.pack("<d", value))[0]


@pytest.mark.parametrize("name", [*FLOATS, *INTEGERS, "bool"])
def test_decoding_agrees_with_numpy_and_ml_dtypes(name):
    array = sample(name)
    for pattern, value in zip(patterns_of(array).tolist(), array.tolist(), strict=True):
        number = oracle.decode(pattern, name)
        if isinstance(value, int):
            assert number == oracle.number(int(value))
        else:
            assert as_float(number) == value or math.isnan(value)
            assert number.special == oracle.number(float(value)).special
            assert number.special == "nan" or number.negative == (math.copysign(1, value) < 0)


@pytest.mark.parametrize(("name", "code"), [("float16", "<e"), ("float32", "<f"), ("float64", "<d")])
def test_decoding_agrees_with_struct(name, code):
    array = sample(name)[:5000]
    for (value,), pattern in zip(
        struct.iter_unpack(code, array.astype(array.dtype.newbyteorder("<")).tobytes()),
        patterns_of(array).tolist(),
        strict=True,
    ):
        number = oracle.decode(pattern, name)
        assert as_float(number) == value or (math.isnan(value) and number.special == "nan")


@pytest.mark.parametrize("name", FLOATS)
def test_limits_are_those_of_the_type(name):
    info = ml_dtypes.finfo(dtype_of(name))
    element = ELEMENTS[name]
    assert as_float(oracle.decode(element.largest_pattern, name)) == float(info.max)
    assert as_float(oracle.decode(1, name)) == float(info.smallest_subnormal)
    assert as_float(oracle.decode(1 << element.fraction_bits, name)) == float(info.tiny)
    assert oracle.decode(element.nan_pattern, name).special == "nan"
    assert is_nan(np.array([element.nan_pattern], f"u{element.bits // 8}"), name).all()


@pytest.mark.parametrize("name", [name for name in FLOATS if name != "float64"])
def test_narrowing_agrees_where_the_libraries_round_once(name):
    source = "float64" if name in ("float32", "float16") else "float32"
    array = sample(source)
    with np.errstate(all="ignore"):
        expected = array.astype(dtype_of(name))
    nan = is_nan(patterns_of(expected), name)
    got = np.array([oracle.convert(p, source, name) for p in patterns_of(array).tolist()], f"u{expected.itemsize}")
    assert is_nan(got, name).tolist() == nan.tolist()
    assert got[~nan].tolist() == patterns_of(expected)[~nan].tolist()


@pytest.mark.parametrize("name", FLOATS)
def test_widening_is_exact(name):
    for pattern in patterns_of(sample(name)).tolist()[:: 1 if ELEMENTS[name].bits == 8 else 17]:
        value = as_float(oracle.decode(pattern, name))
        if not math.isnan(value):
            assert oracle.convert(pattern, name, "float64") == bits_of(value)


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_to_float64_agree_with_python(name):
    array = sample(name)[::7]
    for pattern, value in zip(patterns_of(array).tolist(), array.tolist(), strict=True):
        assert oracle.convert(pattern, name, "float64") == bits_of(float(value))


@pytest.mark.parametrize("to", INTEGERS)
@pytest.mark.parametrize("rounding", oracle.ROUNDINGS)
def test_floats_to_integers_agree_with_python(to, rounding):
    largest = np.iinfo(to).max
    smallest = np.iinfo(to).min
    away = {"nearest_away": lambda x: math.trunc(x) + (abs(x - math.trunc(x)) >= 0.5) * (1 if x > 0 else -1)}
    rule = {"truncate": math.trunc, "nearest": round, "floor": math.floor, "ceil": math.ceil, **away}[rounding]
    for value in sample("float64").tolist():
        if not math.isfinite(value):
            continue
        whole = rule(value)
        assert oracle.convert(bits_of(value), "float64", to, "wrap", rounding) == whole % (1 << ELEMENTS[to].bits)
        clamped = min(max(whole, smallest), largest)
        assert oracle.convert(bits_of(value), "float64", to, "saturate", rounding) == clamped % (1 << ELEMENTS[to].bits)
        fits = True
        try:
            oracle.convert(bits_of(value), "float64", to, "raise", rounding)
        except oracle.DoesNotFitError:
            fits = False
        assert fits == (smallest <= whole <= largest)


def test_a_nan_that_is_given_goes_through_the_rule():
    nan = ELEMENTS["float32"].nan_pattern
    assert oracle.convert(nan, "float32", "uint8", nan=300) == 255
    assert oracle.convert(nan, "float32", "uint8", nan=2.5) == 2
    assert oracle.convert(nan, "float32", "uint8", "wrap", nan=300) == 44
    with pytest.raises(oracle.DoesNotFitError):
        oracle.convert(nan, "float32", "uint8", "raise")


def test_complex_goes_part_by_part():
    one, two = bits_of(1.0), bits_of(-2.5)
    low, high = oracle.parts(oracle.convert(one | two << 64, "complex128", "complex64"), "complex64")
    assert (as_float(oracle.decode(low, "float32")), as_float(oracle.decode(high, "float32"))) == (1.0, -2.5)
    assert oracle.convert(two << 64, "complex128", "bool") == 1
    assert oracle.cast(two << 64, "complex128", "bool") == 0
    assert oracle.cast(two, "complex128", "int8") == 0xFE
    with pytest.raises(TypeError):
        oracle.convert(one, "complex128", "float32")


def test_every_type_is_known():
    assert set(NAMES) == {member.value for member in DataType} - {"string"}
