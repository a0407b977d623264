"""What a Converter refuses, and when: what can be known at construction there, the rest when it is called."""

import numpy as np
import pytest

from tensorbuf import ConversionError, Converter, ReadOnlyError, ShapeError


@pytest.mark.parametrize("dtype", [None, "float7", "string", object, 5])
def test_unknown_dtype(dtype):
    for make in (
        lambda: Converter(dtype),
        lambda: Converter.normalize(0, 1, dtype=dtype),
        lambda: Converter.quantize(1.0, dtype=dtype),
        lambda: Converter.dequantize(1.0, dtype=dtype),
    ):
        with pytest.raises(TypeError):
            make()


@pytest.mark.parametrize("value", ["", "up", "Nearest", None, [], np.zeros(2), np.array("nearest"), b"nearest"])
def test_unknown_modes(value):
    with pytest.raises(ValueError, match="rounding"):
        Converter("uint8", rounding=value)
    with pytest.raises(ValueError, match="rounding"):
        Converter.quantize(1.0, rounding=value)
    with pytest.raises(ValueError, match="overflow must be one of"):
        Converter("uint8", overflow=value)


@pytest.mark.parametrize(
    "layout",
    [
        "HWC->CH",
        "HHC->CHH",
        "HWC",
        "",
        "->",
        "HWC->",
        "->CHW",
        "HWC:CHW",
        "HWC->CHX",
        "HWC->CHW->HWC",
        "H W->W H",
        "HWC->CHWC",
    ],
)
def test_layouts_that_are_none(layout):
    for make in (lambda: Converter("uint8", layout=layout), lambda: Converter.normalize(0, 1, layout=layout)):
        with pytest.raises(ValueError, match="layout"):
            make()


@pytest.mark.parametrize("layout", [5, ("HWC", "CHW"), b"HWC->CHW"])
def test_layouts_that_are_no_text(layout):
    with pytest.raises(TypeError):
        Converter("uint8", layout=layout)


@pytest.mark.parametrize("nan", [float("nan"), np.float32("nan")])
def test_nan_is_no_replacement(nan):
    with pytest.raises(ValueError, match="nan"):
        Converter("uint8", nan=nan)


@pytest.mark.parametrize("nan", [None, "0", 1j])
def test_nan_of_another_kind(nan):
    with pytest.raises(TypeError, match="nan"):
        Converter("uint8", nan=nan)


@pytest.mark.parametrize("value", [[[1, 2]], np.ones((2, 2)), np.ones((1, 1)), [[1]]])
def test_parameters_have_one_axis_at_most(value):
    for make in (
        lambda: Converter("float32", scale=value),
        lambda: Converter("float32", offset=value),
        lambda: Converter.normalize(value, 1),
        lambda: Converter.normalize(0, value),
        lambda: Converter.quantize(value),
        lambda: Converter.quantize(1.0, value),
        lambda: Converter.dequantize(value),
    ):
        with pytest.raises(ShapeError):
            make()


def test_parameters_of_different_lengths():
    with pytest.raises(ShapeError, match=r"3.*4|4.*3"):
        Converter("float32", scale=[1, 2, 3], offset=[1, 2, 3, 4])
    with pytest.raises(ShapeError):
        Converter.normalize([1, 2], [1, 2, 3])
    with pytest.raises(ShapeError):
        Converter.quantize([1, 2], [0, 0, 0])
    with pytest.raises(ShapeError):
        Converter.dequantize([1, 2], [0, 0, 0])


@pytest.mark.parametrize("value", ["1", 1j, [1j], ["a"], object(), {}, np.array([None]), [[1], [2, 3]]])
def test_parameters_that_are_no_numbers(value):
    for make in (
        lambda: Converter("float32", scale=value),
        lambda: Converter("float32", offset=value),
        lambda: Converter.normalize(value, 1),
        lambda: Converter.quantize(value),
    ):
        with pytest.raises((TypeError, ValueError)):
            make()


def test_parameters_that_are_missing():
    for make in (
        lambda: Converter.normalize(None, 1),
        lambda: Converter.normalize(0, None),
        lambda: Converter.quantize(None),
        lambda: Converter.dequantize(None),
        lambda: Converter(),
        lambda: Converter("float32", 0.5),
    ):
        with pytest.raises(TypeError):
            make()


@pytest.mark.parametrize("value", [0, -0.0, [1, 0], np.float32([0.5, 0])])
def test_divisors_of_0(value):
    for name, make in (
        ("std", lambda: Converter.normalize(0, value)),
        ("divide_by", lambda: Converter.normalize(0, 1, divide_by=value)),
        ("scale", lambda: Converter.quantize(value)),
    ):
        with pytest.raises(ValueError, match=f"{name} must not be 0"):
            make()
    # A factor of 0 is one: channels that never fire are stored with it.
    assert (Converter.dequantize(value, axis=0)(np.int8([3, 3])) == np.multiply(3, value)).all()
    assert (Converter("float32", scale=value)(np.int8([3, 3])) == np.multiply(3, value)).all()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, [1, np.nan], 10**400])
def test_parameters_that_are_not_finite(value):
    for name, make in (
        ("mean", lambda: Converter.normalize(value, 1)),
        ("std", lambda: Converter.normalize(0, value)),
        ("divide_by", lambda: Converter.normalize(0, 1, divide_by=value)),
        ("scale", lambda: Converter.quantize(value)),
        ("scale", lambda: Converter.dequantize(value)),
        ("zero_point", lambda: Converter.quantize(1.0, value)),
        ("zero_point", lambda: Converter.dequantize(1.0, value)),
    ):
        with pytest.raises(ValueError, match=f"{name} must be finite"):
            make()


def test_plain_arithmetic_takes_any_numbers():
    got = Converter("float64", scale=[np.inf, np.nan], offset=-np.inf)(np.float64([1, 1]))
    assert np.isnan(got).all()


@pytest.mark.parametrize("value", [0.5, [1, 1.5], np.float32(-0.25)])
def test_zero_points_are_whole(value):
    for make in (Converter.quantize, Converter.dequantize):
        with pytest.raises(ValueError, match="whole"):
            make(1.0, value)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_zero_points_are_values_of_the_type(dtype):
    least, most = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    for value in (least, most, [0, most], float(least), np.array(most, dtype), np.array([least, 1], dtype)):
        Converter.quantize(1.0, value, dtype=dtype)
    for value in (least - 1, most + 1, [0, most + 1], -(10**30)):
        with pytest.raises(ValueError, match=f"{dtype}.*{most}"):
            Converter.quantize(1.0, value, dtype=dtype)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "bool", "complex64"])
def test_quantize_to_no_integer_type(dtype):
    with pytest.raises(TypeError, match="dtype|integer"):
        Converter.quantize(1.0, dtype=dtype)


@pytest.mark.parametrize("axis", ["C", 1.0, [1]])
def test_axis_is_an_int(axis):
    for make in (Converter.quantize, Converter.dequantize):
        with pytest.raises(TypeError, match="axis"):
            make([0.1, 0.2], axis=axis)


def test_complex_with_arithmetic():
    for dtype in ("complex64", "complex128"):
        with pytest.raises(TypeError, match="complex"):
            Converter(dtype, scale=2.0)
        with pytest.raises(TypeError):
            Converter.normalize(0, 1, dtype=dtype)
        with pytest.raises(TypeError):
            Converter.dequantize(1.0, dtype=dtype)
        with pytest.raises(TypeError, match="complex"):
            Converter("float32", scale=2.0)(np.ones(3, dtype))
        with pytest.raises(TypeError):
            Converter.quantize(1.0)(np.ones(3, dtype))
        with pytest.raises(TypeError):
            Converter("float32")(np.ones(3, dtype))
    assert Converter("complex64")(np.ones(2)).tolist() == [1, 1]


def test_the_channels_must_be_as_many_as_the_parameters():
    out = np.full((4, 5), 9, np.float32)
    for plan in (
        Converter("float32", scale=[1, 2, 3]),
        Converter.normalize([1, 2, 3], 1),
        Converter("float32", offset=[1, 2, 3], layout="HC->HC"),
        Converter.dequantize([1, 2, 3]),
        Converter.dequantize([1, 2, 3], axis=0),
    ):
        with pytest.raises(ShapeError, match="3"):
            plan(np.zeros((4, 5), np.uint8), out)
    assert (out == 9).all()


def test_an_axis_that_the_array_has_not():
    x = np.zeros(3, np.float32)
    for plan in (
        Converter.quantize([0.1, 0.2, 0.3]),
        Converter.quantize([0.1, 0.2, 0.3], axis=1),
        Converter.quantize([0.1, 0.2, 0.3], axis=-2),
        Converter.dequantize([0.1, 0.2, 0.3]),
    ):
        with pytest.raises(ShapeError, match="axis"):
            plan(x)
    with pytest.raises(ShapeError):
        Converter("float32", scale=[1, 2])(np.float32(1))


def test_the_rank_must_be_that_of_the_layout():
    plan = Converter("float32", layout="HWC->CHW")
    for shape in ((3,), (2, 3), (1, 2, 3, 4), ()):
        with pytest.raises(ShapeError, match=r"HWC|3"):
            plan(np.zeros(shape, np.uint8))


def test_a_layout_without_channels_and_parameters_of_several():
    with pytest.raises((ShapeError, ValueError)):
        Converter("float32", scale=[1, 2], layout="AB->BA")(np.zeros((2, 2), np.uint8))


def test_out_must_fit_the_result():
    plan = Converter("float32", scale=2.0, layout="HWC->CHW")
    x = np.zeros((2, 4, 3), np.uint8)
    with pytest.raises(ShapeError, match=r"\(3, 2, 4\)"):
        plan(x, np.empty((2, 4, 3), np.float32))
    with pytest.raises(TypeError, match="float64"):
        plan(x, out=np.empty((3, 2, 4)))
    out = np.full((3, 2, 4), 9, np.float32)
    out.flags.writeable = False
    with pytest.raises(ReadOnlyError):
        plan(x, out=out)
    assert (out == 9).all()
    for wrong in ([0.0] * 24, "text", 5):
        with pytest.raises(TypeError):
            plan(x, out=wrong)


@pytest.mark.parametrize("x", [None, "text", np.array(["a"]), np.array([None]), object()])
def test_sources_that_are_no_numbers(x):
    for plan in (Converter("float32"), Converter("float32", scale=2.0), Converter.quantize(1.0)):
        with pytest.raises(TypeError):
            plan(x)


@pytest.mark.parametrize(
    "plan", [Converter("uint8", overflow="raise"), Converter("uint8", scale=2.0, overflow="raise")]
)
def test_dicts_are_written_whole_or_not_at_all(plan):
    x = {"a": np.float32([1, 2]), "b": np.float32([3, 300])}
    first, read_only = np.full(2, 9, "uint8"), np.full(2, 9, "uint8")
    read_only.flags.writeable = False
    for second, error in (
        (np.full(2, 9, "uint8"), ConversionError),
        (np.full(3, 9, "uint8"), ValueError),
        (np.full(2, 9, "int8"), TypeError),
        (read_only, ValueError),
    ):
        with pytest.raises(error):
            plan(x if error is ConversionError else {**x, "b": x["a"]}, out={"a": first, "b": second})
        assert first.tolist() == [9, 9]
        assert (second == 9).all()
    for wrong in (first, {"a": first}, {"a": first, "c": first}):
        with pytest.raises(TypeError):
            plan(x, out=wrong)


def test_dicts_may_write_where_others_are_read():
    left, right = np.float32([1, 2]), np.float32([3, 4])
    out = {"a": right, "b": left}
    assert Converter("float32", scale=2.0)({"a": left, "b": right}, out=out) is out
    assert (left.tolist(), right.tolist()) == ([6, 8], [2, 4])
