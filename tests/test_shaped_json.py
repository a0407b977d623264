"""Arrays as JSON, there and back."""

import json
import math

import numpy as np
import pytest

from tensorbuf import ConversionError, DataType, ShapedArray, ShapedArraySlice


def test_json():
    array = ShapedArray([[1, 2], [3, 4]])
    assert array.encode() == '{"shape": [2, 2], "scalars": [1, 2, 3, 4]}'
    assert array.to_dict() == {"shape": [2, 2], "scalars": [1, 2, 3, 4]}
    assert ShapedArray(1.5).encode() == '{"shape": [], "scalars": [1.5]}'
    assert ShapedArray([True, False]).encode() == '{"shape": [2], "scalars": [true, false]}'
    assert ShapedArray(shape=[0, 3], scalars=[]).encode() == '{"shape": [0, 3], "scalars": []}'


@pytest.mark.parametrize("kind", [ShapedArray, ShapedArraySlice])
@pytest.mark.parametrize(
    "dtype", [kind.value for kind in DataType if kind.value not in ("string", "complex64", "complex128")]
)
def test_json_there_and_back(kind, dtype):
    values = [0, 1] if dtype == "bool" else [DataType.of(dtype).max, DataType.of(dtype).min, 1, 0]
    array = kind(values, dtype=dtype)
    decoded = kind.decode(array.encode(), dtype)
    assert type(decoded) is kind
    assert decoded.bits_equal(array)
    assert decoded == kind.from_dict(array.to_dict(), dtype) == kind.decode(array.encode().encode(), dtype=dtype)
    assert json.loads(array.encode()) == array.to_dict()
    plain = kind.decode(array.encode())
    expected = "float64" if DataType.of(dtype).is_floating else {"bool": "bool", "uint64": "uint64"}.get(dtype, "int64")
    assert plain.dtype == expected


def test_exact_doubles():
    rng = np.random.default_rng(3)
    values = rng.integers(0, 2**63, 3000).view("float64")
    array = ShapedArray(values[np.isfinite(values)])
    assert ShapedArray.decode(array.encode()).bits_equal(array)


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_json_has_no_non_finite_numbers(dtype):
    array = ShapedArray([1.5, math.nan, math.inf, -math.inf], dtype=dtype)
    for call in (array.encode, array.to_dict):
        with pytest.raises(ValueError, match="scalar 1 is nan"):
            call()
        with pytest.raises(ValueError, match="maybe"):
            call(non_finite="maybe")
    assert array.encode(non_finite="string") == '{"shape": [4], "scalars": [1.5, "nan", "inf", "-inf"]}'
    assert array.to_dict(non_finite="string") == {"shape": [4], "scalars": [1.5, "nan", "inf", "-inf"]}
    decoded = ShapedArray.decode(array.encode(non_finite="string"), dtype, "string")
    assert str(decoded) == str(array)
    with pytest.raises(ValueError, match="scalar 1 is 'nan'"):
        ShapedArray.decode(array.encode(non_finite="string"))
    with pytest.raises(ValueError, match="scalar 0 is nan"):
        ShapedArray.from_dict({"shape": [1], "scalars": [math.nan]})


def test_json_has_no_complex_numbers():
    for call in (ShapedArray(1j).encode, ShapedArray([1j]).to_dict):
        with pytest.raises(TypeError, match="complex128"):
            call()


def test_order_and_other_keys_do_not_matter():
    assert ShapedArray.decode(' {"x": null, "scalars": [1,2 ], "shape":[2]}\n') == ShapedArray([1, 2])
    assert ShapedArray.decode('{"shape": [2], "scalars": [1, 2.5], "y": [3]}') == ShapedArray([1, 2.5])
    assert ShapedArray.decode('{"shape": [2], "scalars": [true, false]}') == ShapedArray([True, False])
    assert ShapedArray.decode('{"shape": [], "scalars": [18446744073709551615]}').scalar == 2**64 - 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[1, 2]",
        "5",
        '{"shape": [1]}',
        '{"scalars": [1]}',
        '{"shape": [2], "scalars": [1]}',
        '{"shape": [-1], "scalars": []}',
        '{"shape": [1], "scalars": [1]} x',
        '{"shape": [1], "scalars": [1]',
        *[
            f'{{"shape": [1], "scalars": [{scalars}]}}'
            for scalars in (
                *("NaN", "Infinity", "-Infinity", "1e999", '"a"', "01", "1.", ".5", "+1", "1 2", "1,", ",1", "[1]"),
                *("1e", "-", "0x1", "1_0", "1e+", "--1", "1.5.2", "1e5e5", "\u0661", "1;"),
            )
        ],
        "[" * 100_000,
        b"\xff\xfe{",
    ],
)
def test_text_that_is_no_array(text):
    with pytest.raises(ValueError, match="."):
        ShapedArray.decode(text)


def test_objects_that_are_no_array():
    for text in (None, 5, ["{}"]):
        with pytest.raises(TypeError):
            ShapedArray.decode(text)
    for decoded in (
        [1],
        None,
        {"shape": [1], "scalars": 5},
        {"shape": [1], "scalars": [None]},
        {"shape": "1", "scalars": [1]},
    ):
        with pytest.raises(TypeError):
            ShapedArray.from_dict(decoded)
    with pytest.raises(ValueError, match="maybe"):
        ShapedArray.from_dict({"shape": [1], "scalars": [1]}, None, "maybe")
    with pytest.raises(OverflowError):
        ShapedArray.decode('{"shape": [1], "scalars": [300]}', "uint8")


TOKENS = [
    *("0", "-0", "1", "-1", "12345678901234567", "123456789012345678", "-999999999999999999", "9223372036854775807"),
    *("9223372036854775808", "18446744073709551615", "-9223372036854775808", "9007199254740993", "1000000000000001"),
    *("0.0", "-0.0", "0.1", "1.5e3", "1E5", "1e+22", "1e22", "1e-22", "1e23", "123456789012345e22", "5e-324", "2e-324"),
    *("1.7976931348623157e308", "0.30000000000000004", "9007199254740993.0", "1e-400", "0e5", "123456789.12345678"),
    *("179769313486231580793728971405301e276", "2.2250738585072011e-308", "1e00", "1e0000000000000000000001"),
]


@pytest.mark.parametrize("token", TOKENS)
@pytest.mark.parametrize("others", [[], ["7"], ["0.5"], ["0.5", "7", "-3e2"]])
def test_numbers_are_those_of_the_standard_library(token, others):
    for tokens in ([token, *others], [*others, token]):
        text = f'{{"shape": [{len(tokens)}], "scalars": [{", ".join(tokens)}]}}'
        listed = json.loads(text)
        spaced = text.replace("[", "[\n\t").replace(",", " ,\r\n ").replace("]", " ]").replace("}", "\n }\n")
        reordered = json.dumps({"more": 1, **listed})
        try:
            expected = ShapedArray.from_dict(listed)
        except ConversionError:
            for each in (text, spaced, reordered):
                with pytest.raises(ConversionError):
                    ShapedArray.decode(each)
            continue
        for each in (text, spaced, reordered, text.encode(), text.encode("utf-16"), bytearray(text, "ascii")):
            assert ShapedArray.decode(each).bits_equal(expected)


def test_random_numbers_are_those_of_the_standard_library():
    rng = np.random.default_rng(11)
    doubles = rng.integers(0, 2**63, 3000).view("float64")
    formats = ["{:.17g}", "{:.5f}", "{:.3e}", "{}", "{:.15g}", "{:.25e}"]
    tokens = [formats[i % 6].format(value if abs(value) < 1e200 else 1.5) for i, value in enumerate(doubles.tolist())]
    tokens = [token for token in tokens if "n" not in token]
    found = ShapedArray.decode(f'{{"shape": [{len(tokens)}], "scalars": [{", ".join(tokens)}]}}')
    assert found.bits_equal(ShapedArray([float(token) for token in tokens]))


@pytest.mark.parametrize(
    "shape", ["[01]", "[1.0]", "[true]", '["1"]', "[-1]", "[1,]", "[2]", "[]", "[1, 2]", "null", "1.5"]
)
def test_shapes_that_do_not_fit(shape):
    with pytest.raises((ValueError, TypeError)):
        ShapedArray.decode(f'{{"shape": {shape}, "scalars": [1, 2, 3]}}')
