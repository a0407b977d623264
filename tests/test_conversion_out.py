"""`out`, and what bad arguments get: the right error, a sentence with the values, and nothing written."""

import array as array_module
import gc
import weakref
from decimal import Decimal

import numpy as np
import pytest

from tensorbuf import (
    ConversionError,
    Converter,
    DataType,
    NdArray,
    ReadOnlyError,
    ShapeError,
    cast,
    convert,
    index,
    ndarrays,
    saturate_cast,
)


@pytest.fixture
def source():
    return np.arange(12, dtype=np.float32).reshape(3, 4)


def marked(shape, dtype):
    out = np.empty(shape, dtype)
    out[...] = 99
    return out


@pytest.mark.parametrize(
    "dtype",
    ["int16", np.int16, np.dtype("int16"), np.dtype(">i2"), DataType.INT16],
    ids=["name", "type", "<", ">", "member"],
)
def test_out_is_written_and_returned(source, dtype):
    for out in (np.empty((3, 4), "<i2"), np.empty((3, 4), ">i2"), np.empty((4, 3), np.int16).T):
        assert convert(source, dtype, out=out) is out
        assert out.tolist() == source.tolist()
    assert convert(source, dtype).dtype == np.int16
    assert convert(source, dtype).dtype.isnative


def test_out_may_be_any_writable_memory(source):
    whole = np.arange(6, dtype=np.float32)
    memory = bytearray(6)
    assert convert(whole, "uint8", out=memory) is memory
    assert memory == bytes(range(6))
    typed = array_module.array("h", [0] * 6)
    assert convert(whole, "int16", out=typed) is typed
    assert typed.tolist() == [0, 1, 2, 3, 4, 5]
    view = memoryview(bytearray(24)).cast("f", (2, 3))
    assert convert(whole.reshape(2, 3), "float32", out=view) is view
    assert view.tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize("other", [np.int32, np.float32, np.uint16, np.bool, object, np.complex64])
def test_out_of_another_type(source, other):
    out = np.zeros((3, 4), other)
    with pytest.raises(TypeError, match=rf"int16.*{np.dtype(other)}|{np.dtype(other)}.*int16"):
        convert(source, "int16", out=out)
    assert not out.any()


@pytest.mark.parametrize("shape", [(4, 3), (12,), (3, 4, 1), (1, 3, 4), (3, 5), (), (0, 4)])
def test_out_of_another_shape(source, shape):
    out = marked(shape, np.int16)
    with pytest.raises(ShapeError, match=r"\(3, 4\)") as caught:
        convert(source, "int16", out=out)
    assert str(shape) in str(caught.value)
    assert (out == 99).all()


def test_a_scalar_is_not_broadcast_into_out():
    out = marked((3,), np.int16)
    for small in (np.float32(1), np.ones(1, np.float32)):
        with pytest.raises(ShapeError):
            convert(small, "int16", out=out)
    assert (out == 99).all()


def test_out_that_is_read_only(source):
    out = marked((3, 4), np.int16)
    out.flags.writeable = False
    with pytest.raises(ReadOnlyError, match="read-only"):
        convert(source, "int16", out=out)
    assert (out == 99).all()
    with pytest.raises(ReadOnlyError):
        convert(source[0], "uint8", out=bytes(4))


def test_out_that_is_no_array(source):
    for out in ([0] * 12, "text", 5, {}, object()):
        with pytest.raises(TypeError):
            convert(source, "int16", out=out)


@pytest.mark.parametrize("name", ["overflow", "rounding"])
@pytest.mark.parametrize("value", ["", "clip", "Nearest", "SATURATE", "half_up"])
def test_unknown_modes(source, name, value):
    out = marked((3, 4), np.int16)
    for target in ("int16", "float64", "bool", "complex64"):
        with pytest.raises(ValueError, match=rf"{name}.*{value!r}"):
            convert(source, target, **{name: value})
    with pytest.raises(ValueError, match=name):
        convert(source, "int16", out=out, **{name: value})
    with pytest.raises(ValueError, match=name):
        convert(np.empty(0, np.float32), "int16", **{name: value})
    assert (out == 99).all()


@pytest.mark.parametrize("value", [None, 1, True, b"wrap", ["wrap"], {}, np.zeros(2), np.array("wrap")])
def test_modes_that_are_no_text(source, value):
    for name in ("overflow", "rounding"):
        with pytest.raises(ValueError, match=f"{name} must be one of"):
            convert(source, "int16", **{name: value})


def test_a_mode_may_be_any_equal_text(source):
    saturate, truncate = "".join(["satur", "ate"]), np.str_("truncate")
    got = convert(source, "int16", overflow=saturate, rounding=truncate)
    assert np.array_equal(got, convert(source, "int16"))


@pytest.mark.parametrize("nan", [np.nan, np.float32("nan"), -np.nan])
def test_nan_must_be_a_number(source, nan):
    out = marked((3, 4), np.int16)
    for how in ({}, {"out": out}, {"overflow": "raise"}, {"overflow": "wrap"}):
        with pytest.raises(ValueError, match="nan"):
            convert(source, "int16", nan=nan, **how)
    assert (out == 99).all()


@pytest.mark.parametrize("nan", [None, "0", 1j, [0], object()])
def test_nan_of_another_kind(source, nan):
    with pytest.raises(TypeError, match="nan"):
        convert(source, "int16", nan=nan)


@pytest.mark.parametrize("nan", [Decimal(2), 2 + 0j, np.complex64(2)])
def test_nan_of_another_kind_that_is_equal_to_one_seen_before(source, nan):
    assert convert(source, "int16", nan=2).shape == source.shape
    with pytest.raises(TypeError, match="nan"):
        convert(source, "int16", nan=nan)


@pytest.mark.parametrize("nan", [np.float32(2.5), np.int8(2), np.float64(2.9), True, np.uint64(2)])
def test_nan_may_be_a_numpy_scalar(nan):
    source = np.array([np.nan, 5.0])
    assert convert(source, "int16", nan=nan).tolist() == [int(nan), 5]


@pytest.mark.parametrize(
    "dtype", [None, "float7", "string", object, DataType.STRING, str, "datetime64[s]", 5, "U3", [("a", int)]]
)
def test_unknown_targets(source, dtype):
    for function in (convert, cast, saturate_cast):
        with pytest.raises(TypeError, match=r"dtype of this package|not numeric") as caught:
            function(source, dtype)
        assert repr(dtype) in str(caught.value)


@pytest.mark.parametrize(
    "x",
    [
        None,
        "text",
        {1: 2},
        {1, 2},
        object(),
        np.array(["a"]),
        np.array([None]),
        np.array(["2020"], "datetime64[D]"),
        np.zeros(2, [("a", int)]),
    ],
    ids=lambda x: type(x).__name__ + getattr(getattr(x, "dtype", None), "str", ""),
)
def test_sources_that_are_no_numbers(x):
    for function in (convert, cast, saturate_cast):
        with pytest.raises(TypeError):
            function(x, "float32")


@pytest.mark.parametrize("of", ["complex64", "complex128"])
@pytest.mark.parametrize("to", ["uint8", "int64", "float16", "bfloat16", "float64", "float8_e5m2"])
def test_complex_to_real_is_refused(of, to):
    for size in (0, 1, 5000):
        with pytest.raises(TypeError, match=rf"{of}.*real"):
            convert(np.zeros(size, of), to)
    out = marked(5, DataType.of(to).numpy_dtype)
    with pytest.raises(TypeError):
        convert(np.zeros(5, of), to, out=out)
    assert (out == 99).all()


@pytest.mark.parametrize("size", [3, 10_000])
def test_a_refusal_writes_nothing(size):
    source = np.arange(size, dtype=np.float64) % 100
    source[size - 1] = 300
    for out in (marked(size, np.uint8), marked(2 * size, np.uint8)[::2], marked(size, np.uint8)[::-1]):
        with pytest.raises(ConversionError, match=rf"\b{size - 1}\b.*\b300\b"):
            convert(source, "uint8", overflow="raise", out=out)
        assert (out == 99).all()


def test_arguments_are_checked_before_values(source):
    source[0, 0] = 1e9
    out = marked((3, 5), np.int16)
    with pytest.raises(ShapeError):
        convert(source, "int16", overflow="raise", out=out)
    with pytest.raises(ValueError, match="rounding"):
        convert(source, "int16", overflow="raise", rounding="up")


def test_the_modes_are_keywords_only(source):
    with pytest.raises(TypeError):
        convert(source, "int16", None, "wrap")


def test_a_conversion_error_is_an_overflow_error_and_a_value_error(source):
    for error in (OverflowError, ValueError):
        with pytest.raises(error):
            convert(source + 1e9, "int16", overflow="raise")


@pytest.mark.parametrize("dtype", ["<i2", ">i2"])
def test_out_with_index_tables(source, dtype):
    memory = np.full((5, 6), 99, dtype)
    out = NdArray(memory).slice(index.seq(4, 0, 2), index.seq(1, 0, 5, 3))
    wanted = np.full((5, 6), 99)
    wanted[np.ix_([4, 0, 2], [1, 0, 5, 3])] = source
    with pytest.raises(ConversionError):
        convert(source * 1e9, "int16", out=out, overflow="raise")
    assert (memory == 99).all()
    assert convert(source, "int16", out=out) is out
    assert memory.tolist() == wanted.tolist()
    assert convert(out, "int16", out=out) is out
    assert memory.tolist() == wanted.tolist()
    wanted[np.ix_([4, 0, 2], [1, 0, 5, 3])] = source * 2
    plan = Converter("int16", scale=2, layout="AB->BA")
    assert plan(np.ascontiguousarray(source.T), out=out) is out
    assert memory.tolist() == wanted.tolist()
    outs = {"a": out}
    assert Converter("int16", scale=3)({"a": source}, out=outs) is outs
    assert out.tolist() == (source * 3).tolist()
    memory.flags.writeable = False
    with pytest.raises(ReadOnlyError):
        convert(source, "int16", out=NdArray(memory).slice(index.seq(4, 0, 2), index.seq(1, 0, 5, 3)))


def test_of_writes_to_one_place_the_last_stays():
    memory = np.zeros(3, np.int16)
    convert([1, 2, 3], "int16", out=NdArray(memory).slice(index.seq(0, 2, 0)))
    assert memory.tolist() == [3, 0, 2]


def test_sparse_arrays_are_read_only():
    out = ndarrays.sparse_of([[0]], NdArray(np.int16([5])), [3])
    with pytest.raises(ReadOnlyError, match="read-only"):
        convert([1, 2, 3], "int16", out=out)
    assert out.to_dense().tolist() == [5, 0, 0]


# Equal to int64 or float64, but not the dtype that a name gives.
OTHER_DTYPES = [np.dtype("q" if np.dtype("l").itemsize == 8 else "l"), np.dtype("f8", metadata={"unit": "m"})]


@pytest.mark.parametrize("dtype", OTHER_DTYPES)
def test_results_have_the_usual_dtype_whatever_the_out_before_had(source, dtype):
    plan = Converter(dtype.name, scale=2)
    out = np.empty(source.shape, dtype)
    convert(source, dtype.name, out=out, rounding="floor")
    plan(source, out=out)
    for got in (convert(source, dtype.name, rounding="floor"), plan(source)):
        assert got.dtype.char == np.dtype(dtype.name).char
        assert got.dtype.metadata is None


@pytest.mark.parametrize("dtype", OTHER_DTYPES)
def test_results_have_the_usual_dtype_however_it_was_named(source, dtype):
    for named in (dtype, np.dtype(dtype.name), dtype.newbyteorder()):
        got = convert(source, named)
        assert got.dtype.isnative
        assert got.dtype.char == np.dtype(dtype.name).char
        assert got.dtype.metadata is None


class Anything:
    pass


@pytest.mark.parametrize("name", ["dtype", "overflow", "rounding", "nan"])
def test_a_wrong_argument_is_not_kept_alive(source, name):
    wrong = Anything()
    gone = weakref.ref(wrong)
    with pytest.raises((TypeError, ValueError)):
        convert(source, **{"dtype": "int16", name: wrong})
    del wrong
    gc.collect()
    assert gone() is None
