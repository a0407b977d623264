"""The tables of the conversion rule, against literal values."""

import ml_dtypes
import numpy as np
import pytest

from tensorbuf import ConversionError, cast, convert, saturate_cast

pytestmark = pytest.mark.levels

ROUNDINGS = ("truncate", "nearest", "nearest_away", "floor", "ceil")
NAN, INF = float("nan"), float("inf")


def bits(array):
    return array.view(f"u{array.itemsize}")


def of_bits(pattern, name):
    return np.array([pattern], f"u{np.dtype(name).itemsize}").view(name)


# value, target, then for each rounding: saturated, wrapped; "!" marks what overflow="raise" refuses.
TIES = [
    (255.4, "uint8", "255/255", "255/255", "255/255", "255/255", "255!/0"),
    (255.5, "uint8", "255/255", "255!/0", "255!/0", "255/255", "255!/0"),
    (-0.4, "uint8", "0/0", "0/0", "0/0", "0!/255", "0/0"),
    (-0.5, "uint8", "0/0", "0/0", "0!/255", "0!/255", "0/0"),
    (-1.0, "uint8", "0!/255", "0!/255", "0!/255", "0!/255", "0!/255"),
    (0.5, "int8", "0/0", "0/0", "1/1", "0/0", "1/1"),
    (1.5, "int8", "1/1", "2/2", "2/2", "1/1", "2/2"),
    (2.5, "int8", "2/2", "2/2", "3/3", "2/2", "3/3"),
    (-2.5, "int8", "-2/-2", "-2/-2", "-3/-3", "-3/-3", "-2/-2"),
    (127.5, "int8", "127/127", "127!/-128", "127!/-128", "127/127", "127!/-128"),
    (-128.5, "int8", "-128/-128", "-128/-128", "-128!/127", "-128!/127", "-128/-128"),
    (0.49999997, "int8", "0/0", "0/0", "0/0", "0/0", "1/1"),
    (8388609.0, "int32", *["8388609/8388609"] * 5),
]


@pytest.mark.parametrize(("value", "target", "cells"), [(row[0], row[1], row[2:]) for row in TIES])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_ties_and_neighbours(value, target, cells, dtype):
    array = np.full(37, value, np.float32).astype(dtype)
    for rounding, cell in zip(ROUNDINGS, cells, strict=True):
        saturated, wrapped = cell.split("/")
        assert convert(array, target, rounding=rounding).tolist() == [int(saturated.strip("!"))] * 37
        assert convert(array, target, rounding=rounding, overflow="wrap").tolist() == [int(wrapped)] * 37
        if "!" in saturated:
            with pytest.raises(ConversionError):
                convert(array, target, rounding=rounding, overflow="raise")
        else:
            got = convert(array, target, rounding=rounding, overflow="raise")
            assert got.tolist() == [int(saturated)] * 37


I64, U64, I32 = 2**63 - 1, 2**64 - 1, 2**31 - 1
# float64: int64 saturated, wrapped; uint64 saturated, wrapped; int32 saturated, wrapped; uint32 wrapped.
BOUNDS = [
    (2.0**63 - 1024, 2**63 - 1024, 2**63 - 1024, 2**63 - 1024, 2**63 - 1024, I32, -1024, 4294966272),
    (2.0**63, I64, -(2**63), 2**63, 2**63, I32, 0, 0),
    (2.0**64 - 2048, I64, -2048, 2**64 - 2048, 2**64 - 2048, I32, -2048, 4294965248),
    (2.0**64, I64, 0, U64, 0, I32, 0, 0),
    (-(2.0**63), -(2**63), -(2**63), 0, 2**63, -(2**31), 0, 0),
    (-(2.0**63) - 2048, -(2**63), 9223372036854773760, 0, 9223372036854773760, -(2**31), -2048, 4294965248),
    (2147483647.5, I32, I32, I32, I32, I32, I32, I32),
    (-1.0, -1, -1, 0, U64, -1, -1, 4294967295),
    (INF, I64, 0, U64, 0, I32, 0, 0),
    (-INF, -(2**63), 0, 0, 0, -(2**31), 0, 0),
    (NAN, 0, 0, 0, 0, 0, 0, 0),
    (1e300, I64, 0, U64, 0, I32, 0, 0),
]


@pytest.mark.parametrize("row", BOUNDS)
def test_the_64_bit_bounds_are_not_floats(row):
    array = np.full(19, row[0])
    columns = [(t, overflow) for t in ("int64", "uint64", "int32") for overflow in ("saturate", "wrap")]
    for (target, overflow), want in zip([*columns, ("uint32", "wrap")], row[1:], strict=True):
        got = convert(array, target, overflow=overflow)
        assert got.tolist() == [want] * 19, (target, overflow)


def test_the_32_bit_bounds():
    assert convert(np.array([2147483648.5, 4294967295.5]), "uint32").tolist() == [2147483648, 4294967295]
    with pytest.raises(ConversionError):
        convert(np.array([4294967295.5]), "uint32", rounding="nearest", overflow="raise")
    assert convert(np.array([4294967295.5]), "uint32", overflow="raise").tolist() == [4294967295]
    assert convert(np.array([2147483648.0], np.float32), "int32").tolist() == [2147483647]
    top = np.array([2.0**63 - 2.0**39, 2.0**63, 2.0**64 - 2.0**40, 2.0**64], np.float32)
    assert convert(top, "int64").tolist() == [2**63 - 2**39, I64, I64, I64]
    assert convert(top, "uint64").tolist() == [2**63 - 2**39, 2**63, 2**64 - 2**40, U64]


@pytest.mark.parametrize(
    ("of", "to", "value", "saturated", "wrapped"),
    [
        ("int32", "uint8", -23, 0, 233),
        ("int32", "uint8", 400, 255, 144),
        ("uint64", "int64", U64, I64, -1),
        ("int64", "uint64", -1, 0, U64),
        ("uint8", "int8", 200, 127, -56),
        ("int64", "int32", -(2**31) - 1, -(2**31), I32),
        ("uint32", "int16", 2**32 - 1, 32767, -1),
    ],
)
def test_integers_to_integers(of, to, value, saturated, wrapped):
    array = np.full(70, value, of)
    assert convert(array, to).tolist() == [saturated] * 70
    assert convert(array, to, overflow="wrap").tolist() == [wrapped] * 70
    with pytest.raises(ConversionError, match=str(value)):
        convert(array, to, overflow="raise")


# Source bits (a float) or values (an integer), and the bits of the result.
ROUNDED_ONCE = [
    ("float32", "bfloat16", 0x3F808000, 0x3F80),
    ("float32", "bfloat16", 0x3F818000, 0x3F82),
    ("float32", "bfloat16", 0x3F808001, 0x3F81),
    ("float32", "bfloat16", 0x3F817FFF, 0x3F81),
    ("float32", "bfloat16", 0x7F7F7FFF, 0x7F7F),
    ("float32", "bfloat16", 0x7F7F8000, 0x7F80),
    ("float32", "bfloat16", 0x00008000, 0x0000),
    ("float32", "bfloat16", 0x00008001, 0x0001),
    ("float32", "bfloat16", 0x00018000, 0x0002),
    ("float32", "bfloat16", 0x007F8000, 0x0080),
    ("float32", "float16", 0x33000000, 0x0000),
    ("float32", "float16", 0x33000001, 0x0001),
    ("float32", "float16", 0x387FF000, 0x0400),
    ("float32", "float16", 0x477FEFFF, 0x7BFF),
    ("float32", "float16", 0x477FF000, 0x7C00),
    ("float64", "float16", 1 + 2**-11 + 2**-40, 0x3C01),
    ("float64", "float16", 0x3E77FFFFFFFFFFFF, 0x0001),
    ("float64", "bfloat16", 1 + 2**-8 + 2**-40, 0x3F81),
    ("float64", "float8_e4m3fn", 1 + 2**-4 + 2**-40, 0x39),
    ("float64", "float8_e5m2", 1 + 2**-3 + 2**-40, 0x3D),
    ("float64", "float32", 0x47EFFFFFEFFFFFFF, 0x7F7FFFFF),
    ("float64", "float32", 0x47EFFFFFF0000000, 0x7F800000),
    ("float64", "float32", 2.0**-150, 0),
    ("float64", "float32", float(np.nextafter(2.0**-150, 1)), 1),
    ("int64", "float32", 2**24 + 1, 0x4B800000),
    ("int64", "float32", 2**24 + 3, 0x4B800002),
    ("int64", "float32", 2**62 + 2**38, 0x5E800000),
    ("int64", "float32", 2**62 + 2**38 + 1, 0x5E800001),
    ("int64", "float32", 2**63 - 2**38, 0x5F000000),
    ("int64", "float32", 2**63 - 2**38 - 1, 0x5EFFFFFF),
    ("int64", "bfloat16", 2**31 + 2**23, 0x4F00),
    ("int64", "bfloat16", 2**31 + 2**23 + 1, 0x4F01),
    ("int32", "bfloat16", 2**30 + 2**22 + 1, 0x4E81),
    ("int64", "float64", 2**53 + 1, 0x4340000000000000),
    ("int64", "float64", 2**53 + 3, 0x4340000000000002),
    ("uint64", "float64", U64, 0x43F0000000000000),
    ("uint64", "float32", U64, 0x5F800000),
    ("uint64", "bfloat16", U64, 0x5F80),
    ("uint64", "float64", 2**64 - 1025, 0x43EFFFFFFFFFFFFF),
    ("uint64", "float32", 2**63 + 2**39 + 1, 0x5F000001),
    ("uint64", "float16", U64, 0x7C00),
    ("uint64", "float16", 65520, 0x7C00),
    ("uint64", "float16", 65519, 0x7BFF),
    ("float32", "float8_e4m3fn", 464.0, 0x7E),
    ("float32", "float8_e4m3fn", float(np.float32(464.00003)), 0x7F),
    ("float32", "float8_e4m3fn", 480.0, 0x7F),
    ("float32", "float8_e4m3fn", INF, 0x7F),
    ("float32", "float8_e4m3fn", 2.0**-10, 0x00),
    ("float32", "float8_e4m3fn", float(np.nextafter(np.float32(2.0**-10), np.float32(1))), 0x01),
    ("float32", "float8_e4m3fn", 1.5 * 2.0**-9, 0x02),
    ("int8", "float8_e4m3fn", 17, 0x58),
    ("int8", "float8_e4m3fn", 19, 0x5A),
    ("int16", "float8_e4m3fn", 465, 0x7F),
    ("float32", "float8_e5m2", 61439.0, 0x7B),
    ("float32", "float8_e5m2", 61440.0, 0x7C),
    ("float32", "float8_e5m2", 2.0**-17, 0x00),
    ("float32", "float8_e5m2", float(np.nextafter(np.float32(2.0**-17), np.float32(1))), 0x01),
]


@pytest.mark.parametrize(("of", "to", "source", "want"), ROUNDED_ONCE)
def test_to_a_float_type_with_one_rounding(of, to, source, want):
    one = of_bits(source, of) if of.startswith("float") and isinstance(source, int) else np.array([source], of)
    for count in (1, 35):
        array = np.resize(one, count)
        for overflow in ("saturate", "wrap"):
            assert bits(convert(array, to, overflow=overflow)).tolist() == [want] * count
    if of.startswith(("float", "int")):
        sign = 1 << (8 * np.dtype(getattr(ml_dtypes, to, to)).itemsize - 1)
        negative = 0x7F if want == 0x7F and to == "float8_e4m3fn" else want | sign
        assert bits(convert(-array, to)).tolist() == [negative] * 35


def test_nan_stays_nan_when_its_payload_is_cut_off():
    nan = of_bits(0x7F800001, "float32")
    for to in ("bfloat16", "float16", "float8_e5m2", "float8_e4m3fn", "float64"):
        assert np.isnan(convert(np.resize(nan, 33), to).astype(np.float64)).all()


@pytest.mark.parametrize(
    ("to", "value", "fits"),
    [
        ("float16", 65519.0, True),
        ("float16", 65520.0, False),
        ("float16", INF, True),
        ("float16", NAN, True),
        ("float8_e4m3fn", 464.0, True),
        ("float8_e4m3fn", 465.0, False),
        ("float8_e4m3fn", INF, False),
        ("float8_e4m3fn", -INF, False),
        ("float8_e4m3fn", NAN, True),
        ("float32", 3.5e38, False),
        ("float32", -INF, True),
        ("complex64", 3.5e38, False),
        ("bool", NAN, True),
        ("bool", INF, True),
        ("uint8", NAN, False),
        ("uint8", INF, False),
    ],
)
def test_what_raise_refuses(to, value, fits):
    array = np.array([1.0, value, 1.0])
    if fits:
        assert convert(array, to, overflow="raise").shape == (3,)
    else:
        with pytest.raises(ConversionError, match=r"\b1\b.*(nan|inf|\d)"):
            convert(array, to, overflow="raise")


def test_worked_examples():
    x = np.float32([1.9, -1.9, 300, -5, NAN])
    assert convert(x, "uint8").tolist() == [1, 0, 255, 0, 0]
    assert convert(x, "int8", nan=7).tolist() == [1, -1, 127, -5, 7]
    assert convert(x, "uint8", overflow="wrap").tolist() == [1, 255, 44, 251, 0]
    assert convert(np.int32([-23, 400]), "uint8").tolist() == [0, 255]
    assert convert(np.array([0.0, -0.0, NAN, 1e-320]), "bool").tolist() == [False, False, True, True]
    assert bits(convert(np.array([True, False]), "bfloat16")).tolist() == [0x3F80, 0]
    assert convert(np.array([2**62 + 2**38 + 1]), "complex64").tolist() == [2**62 + 2**39 + 0j]
    assert cast(np.array([2.7 - 3j]), "int32").tolist() == [2]
    assert cast(np.array([1j]), bool).tolist() == [False]
    assert convert(np.array([1j, 0j]), bool).tolist() == [True, False]
    assert saturate_cast(np.array([INF, 7e4, -7e4, 65519.0]), "float16").tolist() == [65504, 65504, -65504, 65504]


def test_saturate_cast_ends_at_the_finite_limits():
    x = np.array([INF, -INF, 1e300, -1e300, NAN, 464.5, 2.0])
    assert saturate_cast(x, "float8_e4m3fn").tolist()[:4] == [448, -448, 448, -448]
    assert saturate_cast(x, "float8_e4m3fn").tolist()[5:] == [448, 2]
    limit = float(np.finfo(np.float64).max)
    assert saturate_cast(x, "float64").tolist()[:4] == [limit, -limit, 1e300, -1e300]
    assert np.isnan(saturate_cast(x, "float64")[4])
    assert saturate_cast(x, "int64").tolist() == [I64, -(2**63), I64, -(2**63), 0, 464, 2]
    assert saturate_cast(np.int64([-1, 5, I64]), "uint64").tolist() == [0, 5, I64]
    assert saturate_cast(np.float32([1e10]), "int32").tolist() == [2147483647]
    both = saturate_cast(np.array([complex(INF, -INF)]), "complex64")[0]
    assert both == complex(np.finfo(np.float32).max, np.finfo(np.float32).min)
    assert saturate_cast(np.array([complex(-INF, 3)]), "float16").tolist() == [-65504]
    assert saturate_cast(np.array([3j, 2 + 3j]), bool).tolist() == [False, True]


def test_cast_is_the_same_at_every_position():
    assert cast(np.full(19, -1.0), "uint8").tolist() == [255] * 19
    assert cast(np.full(19, 255.5), "int8").tolist() == [-1] * 19
    assert cast(np.full(19, NAN), "int8").tolist() == [0] * 19
