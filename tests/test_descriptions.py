"""Texts of scalars and of arrays, character for character."""

import math
from fractions import Fraction

import numpy as np
import pytest

from tensorbuf import DataType, ShapedArray, ShapedArraySlice, convert
from tensorbuf.descriptions import python_values

NARROW = ["float16", "bfloat16", "float32", "float8_e4m3fn", "float8_e5m2"]


def counting(*shape):
    return ShapedArray(shape=shape, scalars=range(math.prod(shape)))


EXACT = [
    (ShapedArray(1.0), "1.0"),
    (ShapedArray(True), "true"),
    (ShapedArray([1, 20, 300]), "[  1,  20, 300]"),
    (ShapedArray([1.0, 2.5, -10.25]), "[   1.0,    2.5, -10.25]"),
    (ShapedArray([True, False]), "[ true, false]"),
    (ShapedArray([math.nan, math.inf, -math.inf]), "[ nan,  inf, -inf]"),
    (ShapedArray([[1, 20], [300, 4]]), "[[  1,  20],\n [300,   4]]"),
    (counting(2, 2, 2), "[[[0, 1],\n  [2, 3]],\n\n [[4, 5],\n  [6, 7]]]"),
    (counting(2, 1, 2, 2), "[[[[0, 1],\n   [2, 3]]],\n\n\n [[[4, 5],\n   [6, 7]]]]"),
    (counting(0), "[]"),
    (counting(0, 3), "[]"),
    (counting(2, 0), "[[],\n []]"),
    (counting(1001), "[   0,    1,    2, ...,  998,  999, 1000]"),
]


@pytest.mark.parametrize(("array", "expected"), EXACT)
def test_str(array, expected):
    assert str(array) == expected
    assert str(ShapedArraySlice(array)) == expected


def test_a_thousand_scalars_are_shown_whole():
    lines = str(counting(1000)).split(",\n ")
    assert [line.count(",") + 1 for line in lines] == [26] * 38 + [12]
    assert lines[1].startswith(" 26,  27, ")


def test_above_a_thousand_every_axis_is_summarised():
    text = str(counting(40, 26))
    lines = text.split("\n")
    assert lines[0] == "[[   0,    1,    2, ...,   23,   24,   25],"
    assert lines[3] == " ...,"
    assert lines[-1] == " [1014, 1015, 1016, ..., 1037, 1038, 1039]]"
    assert len(lines) == 7


def test_describe():
    assert counting(7).describe(summarizing=True) == "[0, 1, 2, ..., 4, 5, 6]"
    assert counting(6).describe(summarizing=True) == "[0, 1, 2, 3, 4, 5]"
    narrow = ShapedArray([1, 2, 3]).describe(line_width=2, edge_element_count=1, summarizing=True)
    assert narrow == "[1, ...,\n 3]"
    assert counting(9, 4, 3).describe(edge_element_count=1, summarizing=True) == (
        "[[[  0, ...,   2],\n  ...,\n  [  9, ...,  11]],\n\n ...,\n\n [[ 96, ...,  98],\n  ...,\n  [105, ..., 107]]]"
    )
    assert counting(5).describe(edge_element_count=0, summarizing=True) == "[...]"
    assert counting(2, 2).describe(edge_element_count=0, summarizing=True) == "[...]"
    for line_width in (1, 0, -5):
        assert counting(2, 2).describe(line_width) == "[[0,\n  1],\n [2,\n  3]]"
    assert ShapedArray(5).describe(1, 0, True) == "5"
    assert counting(0).describe(1, 0, True) == "[]"
    with pytest.raises(ValueError, match="-1"):
        counting(3).describe(edge_element_count=-1)
    with pytest.raises(TypeError):
        counting(3).describe(line_width=2.0)


def test_slices_measure_themselves_only():
    array = ShapedArray([[1, 2], [300, 4]])
    assert str(array[0]) == "[1, 2]"
    assert str(array[1:]) == "[[300,   4]]"
    assert "..." not in str(counting(2000)[:1000])


def test_full_description():
    assert ShapedArray([[1, 20], [300, 4]]).full_description == "[[1, 20], [300, 4]]"
    assert counting(2, 0).full_description == "[[], []]"
    assert counting(0).full_description == "[]"
    assert counting(2, 2, 1).full_description == "[[[0], [1]], [[2], [3]]]"
    assert ShapedArray(-1.5).full_description == "-1.5"
    assert ShapedArray([[1j, -2], [0, 3.5]]).full_description == "[[1j, (-2+0j)], [0j, (3.5+0j)]]"
    assert counting(1500).full_description == str(list(range(1500)))


def test_repr_names_class_dtype_and_values():
    assert repr(ShapedArray([[1, 2], [3, 4]], dtype="int8")) == "ShapedArray([[1, 2], [3, 4]], dtype='int8')"
    assert repr(ShapedArray([0.1], dtype="float32")[0]) == "ShapedArraySlice(0.1, dtype='float32')"
    assert repr(counting(0, 3)) == "ShapedArray(shape=(0, 3), scalars=[], dtype='float64')"
    assert repr(counting(100, 100)) == (
        "ShapedArray(shape=(100, 100), scalars=[0, 1, 2, ..., 9997, 9998, 9999], dtype='int64')"
    )


# Scalars


def texts(values, dtype):
    array = ShapedArray(np.asarray(values, DataType.of(dtype).numpy_dtype))
    return array.full_description[1:-1].split(", ")


def test_integers():
    for dtype in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"):
        kind = DataType.of(dtype)
        assert texts([kind.min, kind.max, 0, 9, 10], dtype) == [str(kind.min), str(kind.max), "0", "9", "10"]


def test_doubles():
    values = [
        0.1,
        -0.0,
        1e-4,
        9.9e-5,
        2.0**53,
        2.0**53 + 2,
        1e16,
        9.1e15,
        9007199254741000.0,
        5e-324,
        1.7976931348623157e308,
    ]
    expected = (
        "0.1 -0.0 0.0001 9.9e-05 9007199254740992.0 9.007199254740994e+15 1e+16 9.1e+15 9.007199254741e+15 5e-324 "
        "1.7976931348623157e+308"
    )
    assert texts(values, "float64") == expected.split()
    assert texts([-value for value in values[2:]], "float64") == ["-" + text for text in expected.split()[2:]]


def test_narrower_floats():
    values = [0.1, -0.0, 1e-4, 9.9e-5, 2.0**24, 2.0**24 + 2, 1e20, 1e-45, 3.4028235e38, 123456.79, 1.0, 0.5]
    expected = "0.1 -0.0 0.0001 9.9e-05 16777216.0 1.6777218e+07 1e+20 1e-45 3.4028235e+38 123456.79 1.0 0.5"
    assert texts(values, "float32") == expected.split()
    assert texts([0.1, 1 / 3, 65504, 6e-8], "float16") == ["0.1", "0.3333", "65500.0", "6e-08"]
    assert texts([0.1, 1 / 3, 1.0078125, 3.3895e38], "bfloat16") == ["0.1", "0.334", "1.01", "3.39e+38"]


def test_complex_numbers_print_as_in_python():
    assert texts([1 + 2j, -0.5j, 0.1], "complex128") == [repr(value) for value in (1 + 2j, -0.5j, 0.1 + 0j)]
    assert texts([0.1 + 0.2j], "complex64") == ["(0.1+0.2j)"]


def every_pattern(dtype):
    kind = DataType.of(dtype).numpy_dtype
    return np.arange(2 ** (8 * kind.itemsize)).astype(f"u{kind.itemsize}").view(kind)


def some_patterns():
    rng = np.random.default_rng(7)
    bits = [rng.integers(0, 2**32, 4000), np.arange(1, 255) << 23, (np.arange(1, 255) << 23) - 1, np.arange(1, 300)]
    short = (rng.integers(0, 10**6, 2000) / 10.0 ** rng.integers(0, 6, 2000)).astype("float32")
    return np.concatenate([np.concatenate(bits).astype("uint32").view("float32"), short])


def digits_of(text):
    mantissa = text.lstrip("-").partition("e")[0].replace(".", "").lstrip("0")
    return len(mantissa.rstrip("0")) or 1


def neighbours(values):
    """The intervals of numbers that read back as each of the sorted positive values, as fractions."""
    exact = [Fraction(float(value)) for value in values]
    return {b: ((a + b) / 2, (b + c) / 2) for a, b, c in zip(exact, exact[1:], exact[2:], strict=False)}


def finite(values):
    return values[np.isfinite(convert(values, "float64"))]


@pytest.mark.parametrize("dtype", NARROW)
def test_texts_read_back(dtype):
    values = finite(some_patterns() if dtype == "float32" else every_pattern(dtype))
    read = np.array([float(text) for text in texts(values, dtype)]).astype(values.dtype)
    assert (read.view(f"u{read.itemsize}") == values.view(f"u{read.itemsize}")).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_no_text_of_fewer_digits_reads_back(dtype):
    values = finite(every_pattern(dtype)[: 2 ** (8 * DataType.of(dtype).byte_size - 1)])
    intervals = neighbours(values)
    for value, text in list(zip(values, texts(values, dtype), strict=True))[1:-1:19]:
        count = digits_of(text)
        exact = Fraction(float(value))
        scale = Fraction(10) ** (math.floor(math.log10(exact)) - count + 2)
        below = math.floor(exact / scale)
        low, high = intervals[exact]
        for candidate in (below * scale, (below + 1) * scale):
            assert count == 1 or not low < candidate < high, text


def doubles(rng, n):
    powers = 2.0 ** np.arange(-1074, 1024)
    tens = np.array([float(f"{digit}e{power}") for power in range(-323, 309) for digit in (1, 9)])
    edges = [np.nextafter(each, toward) for each in (powers, tens) for toward in (0, np.inf)]
    short = rng.integers(0, 10**6, n) / 10.0 ** rng.integers(0, 12, n)
    random = rng.integers(0, 2**63, n).view("float64")
    return finite(np.concatenate([powers, tens, *edges, short, random, np.arange(1, 300) * 5e-324, -random[:99]]))


def check_doubles(values):
    """Python's repr is the shortest too, and plain where this is, but from 2**53 to 1e16."""
    for value, text in zip(values.tolist(), texts(values, "float64"), strict=True):
        if not 2.0**53 < abs(value) < 1e16:
            assert text == repr(value)
        else:
            assert "e+15" in text
            assert Fraction(text) == Fraction(repr(value))


def test_doubles_are_those_of_python():
    check_doubles(doubles(np.random.default_rng(5), 20_000))


@pytest.mark.proof
@pytest.mark.parametrize("seed", range(10))
def test_millions_of_doubles_are_those_of_python(seed):
    check_doubles(doubles(np.random.default_rng(seed), 1_000_000))


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_digits_are_those_of_numpy(dtype):
    values = every_pattern("float16")[::3] if dtype == "float16" else some_patterns()
    values = finite(values)
    for value, text in zip(values, texts(values, dtype), strict=True):
        assert Fraction(text) == Fraction(np.format_float_scientific(value, unique=True))


@pytest.mark.parametrize("dtype", NARROW)
def test_every_nan_has_a_text_and_no_number(dtype):
    """Signalling ones too, of which numpy warns."""
    values = (
        every_pattern(dtype) if dtype != "float32" else np.array([0x7F800001, 0xFF800001], "uint32").view("float32")
    )
    array = ShapedArray(values)
    found = texts(values, dtype)
    nans = np.isnan(convert(values, "float64"))
    assert [text == "nan" for text in found] == nans.tolist()
    assert array != array[:]
    assert hash(array) == hash(array[:])
    assert array.bits_equal(array[:])
    assert "nan" in array.encode(non_finite="string")
    with pytest.raises(ValueError, match="no number"):
        array.to_dict()


@pytest.mark.parametrize("dtype", NARROW)
def test_python_values_are_what_the_digits_stand_for(dtype):
    array = np.array([0.1, 1.5, -2.0]).astype(DataType.of(dtype).numpy_dtype)
    assert python_values(array) == [float(text) for text in texts(array, dtype)]
    assert python_values(array[:0]) == []
