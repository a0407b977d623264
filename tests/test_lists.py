"""Nested lists: their exact Python values, their shapes, and what they refuse."""

import math
import tracemalloc

import ml_dtypes
import numpy as np
import oracle
import pytest
from oracle import ELEMENTS
from twin import assert_same, dtype_of, name_of

from tensorbuf import ConversionError, NdArray
from tensorbuf.source import Source

NAMES = list(ELEMENTS)


def array_from(patterns, name):
    """An array of the elements with these bit patterns."""
    part = ELEMENTS[name].part
    if part:
        patterns = [half for pattern in patterns for half in oracle.parts(pattern, name)]
    bits = np.array(patterns, f"u{dtype_of(part or name).itemsize}")
    return bits.view(dtype_of(name))


def pattern_of(value, name, overflow="saturate", rounding="truncate"):
    """The exact rule, for a Python number of any size."""
    element = ELEMENTS[name]
    if isinstance(value, complex):
        if element.kind == "bool":
            return int(value != 0)
        if element.kind != "complex":
            raise TypeError
        real, imaginary = (pattern_of(part, element.part, overflow) for part in (value.real, value.imag))
        return real | imaginary << (element.bits // 2)
    return oracle.convert_number(oracle.number(value), name, overflow, rounding, None)


def converting(overflow="saturate", rounding="truncate"):
    """The rule of `convert`, array to array, by the oracle."""

    def convert(src, dst):
        name = name_of(dst)
        try:
            patterns = [pattern_of(value, name, overflow, rounding) for value in src.ravel().tolist()]
        except oracle.DoesNotFitError:
            raise ConversionError("does not fit") from None
        dst[...] = array_from(patterns, name).reshape(dst.shape)

    return convert


def loaded(nested, name, overflow="saturate", rounding="truncate"):
    source = Source(nested)
    target = np.zeros(source.shape, dtype_of(name))
    source.load(target, converting(overflow, rounding), overflow=overflow)
    return target


INTS = [
    0, 1, -1, 127, 128, 255, 256, -128, -129, 2**31, 2**53, 2**53 + 1, -(2**53) - 1, 2**62 + 2**38 + 1, 2**63 - 1,
    2**63, -(2**63), -(2**63) - 1, 2**64 - 1, 2**64, 2**64 + 1, 2**64 + 2**40, -(2**64), 10**40, -(10**40), 2**127,
    2**128 - 2**103, 2**128 - 2**103 - 1, 2**1023, 2**1024 - 2**970, 2**1024 - 2**970 - 1, 2**1024,
    -(2**2000), 3 * 2**200 + 1, 2**30 - 1, -(2**30), 2**30 + 5, 2**60 - 1, -(2**60) + 1, 2**60, -(2**60),
]  # fmt: skip
FLOATS = [
    0.0,
    -0.0,
    0.5,
    1.5,
    -2.5,
    255.9,
    1e300,
    -1e300,
    5e-324,
    1e-45,
    math.inf,
    -math.inf,
    math.nan,
    3.5e38,
    65520.0,
]
MIXED = [1, 2.5, True, 2**53 + 1, 0.1, 2**63, -1, 10**40, False, -0.0, 7, 2**64 - 1, 3, 1e10]


@pytest.mark.parametrize("values", [INTS, FLOATS, MIXED, [True, False]], ids=["ints", "floats", "mixed", "bools"])
@pytest.mark.parametrize("overflow", ["saturate", "wrap"])
@pytest.mark.parametrize("name", NAMES)
def test_exact_values(name, overflow, values):
    expected = array_from([pattern_of(value, name, overflow) for value in values], name)
    assert_same(loaded(values, name, overflow), expected)
    assert_same(loaded([values, tuple(values)], name, overflow), np.stack([expected, expected]))
    for value, element in zip(values, expected, strict=True):
        assert_same(loaded(value, name, overflow), np.asarray(element, dtype_of(name)))


@pytest.mark.parametrize("rounding", oracle.ROUNDINGS)
def test_roundings(rounding):
    values = [0.5, 1.5, 2.5, -2.5, 3, 127.5, 10**40]
    expected = array_from([pattern_of(value, "int8", "saturate", rounding) for value in values], "int8")
    assert_same(loaded(values, "int8", rounding=rounding), expected)


def test_complex_values():
    values = [1, 2.5, 3 - 4j, 2**63 + 1, True, 10**40, complex(math.nan, -0.0)]
    for name in ("complex64", "complex128", "bool"):
        assert_same(loaded(values, name), array_from([pattern_of(value, name) for value in values], name))
    target = np.full(5000, 9, "int32")
    with pytest.raises(TypeError):
        Source([1] * 4999 + [4j]).load(target, converting(), overflow="saturate")
    assert (target == 9).all()


@pytest.mark.parametrize("name", NAMES)
def test_raise_names_the_first_misfit(name):
    fitting = [True, 1, 0, 1.0]
    for value in INTS + FLOATS:
        try:
            pattern_of(value, name, "raise")
        except oracle.DoesNotFitError:
            target = np.ones((2, 3), dtype_of(name))
            with pytest.raises(ConversionError) as caught:
                Source([fitting[:3], [1, value, 10**400]]).load(target, converting("raise"), overflow="raise")
            assert "element 4" in str(caught.value)
            assert str(value) in str(caught.value)
            assert (target == 1).all()
        else:
            assert loaded([*fitting, value], name, "raise").shape == (5,)


@pytest.mark.parametrize("position", [0, 8191, 8192, 8999])
def test_misfits_in_later_blocks(position):
    values = [1] * 9000
    values[position] = 300
    target = np.zeros(9000, "uint8")
    with pytest.raises(ConversionError, match=f"element {position} is 300"):
        Source(values).load(target, converting("raise"), overflow="raise")
    assert not target.any()
    rows = np.ones((3, 3000), "int16")
    rows.flat[position] = 300
    for nested in (list(rows), [[rows]]):
        with pytest.raises(ConversionError, match=f"element {position} is 300"):
            Source(nested).load(target.reshape(Source(nested).shape), converting("raise"), overflow="raise")
    assert not target.any()


def test_long_lists_of_changing_types():
    values = [(1, 2.5, 2**63, 10**30, True, -5, 2**53 + 1)[(i * i) % 7] for i in range(5000)]
    for name in ("int64", "float32", "uint8"):
        assert_same(loaded(values, name), array_from([pattern_of(value, name) for value in values], name))


def test_numpy_scalars_and_rows():
    nested = [
        np.array([1, 2, 300], "int16"),
        [np.float32(1.5), np.int64(2**62), np.bool(True)],
        (np.array(5), 6, ml_dtypes.bfloat16(7)),
    ]
    assert_same(loaded(nested, "uint8"), np.array([[1, 2, 255], [1, 255, 1], [5, 6, 7]], "uint8"))
    rows = [np.arange(6.0).reshape(2, 3)[::-1], NdArray._wrap(np.arange(6).reshape(2, 3))]
    assert_same(loaded(rows, "float32"), np.stack([rows[0], np.arange(6).reshape(2, 3)]).astype("float32"))
    swapped = [np.array([1, 2], ">i4"), memoryview(b"\x03\x04")]
    assert_same(loaded(swapped, "int16"), np.array([[1, 2], [3, 4]], "int16"))


@pytest.mark.parametrize("layout", ["strided", "fortran", "backward", "swapped", "rank 0"])
def test_targets_of_every_layout(layout):
    values = [[i * 100 + j for j in range(50)] for i in range(30)]
    expected = np.array(values, "int32")
    whole = np.zeros((60, 100), "int32")
    target = {
        "strided": whole[::2, ::2],
        "fortran": np.zeros((30, 50), "int32", order="F"),
        "backward": whole[29::-1, 49::-1],
        "swapped": np.zeros((30, 50), np.dtype("int32").newbyteorder("S")),
        "rank 0": np.zeros((), "int32"),
    }[layout]
    if layout == "rank 0":
        values, expected = 7, np.array(7, "int32")
    Source(values).load(target, converting("raise"), overflow="raise")
    assert (target == expected).all()
    assert np.count_nonzero(whole) in (0, np.count_nonzero(expected))


def test_arrays_that_lie_in_the_target():
    target = np.arange(6, dtype="int32").reshape(2, 3)
    Source([target[1], target[0]]).load(target, converting(), overflow="saturate")
    assert target.tolist() == [[3, 4, 5], [0, 1, 2]]
    Source([target[1, ::-1], [7, 8, 9]]).load(target[:, ::-1], converting(), overflow="saturate")
    assert target.tolist() == [[0, 1, 2], [9, 8, 7]]


@pytest.mark.parametrize(
    "ragged",
    [
        [[1], [2, 3]], [[1, 2], [3]], [1, [2]], [[1], 2], [[], [1]], [[1], []], [[[1]], [[1, 2]]], [[[1]], [1]],
        [np.zeros(2), np.zeros(3)], [np.zeros(2), [1]], [1, np.zeros(2)], [np.zeros(2), 1],
        [np.zeros((2, 2)), [[1, 2], 3]],
        [[1, 2], range(3)], [1, range(1)],
    ],
    ids=repr,
)  # fmt: skip
def test_ragged_nesting(ragged):
    target = np.full(100, 7, "int32")
    source = Source(ragged)
    with pytest.raises(ValueError, match="ragged"):
        source.load(target[: source.size], converting("raise"), overflow="raise")
    with pytest.raises(ValueError, match="ragged"):
        _ = source.dtype
    assert (target == 7).all()


@pytest.mark.parametrize(
    "stranger",
    [None, "1", b"1", {}, {1: 2}, object(), np.array(["a"]), np.datetime64(1, "s"), np.array([None])],
    ids=lambda stranger: type(stranger).__name__,
)
@pytest.mark.parametrize("position", [0, 1, 1500])
def test_what_is_no_number(stranger, position):
    values = [1] * 2000
    values[position] = stranger
    target = np.full(2000, 7, "int32")
    with pytest.raises(TypeError):
        Source(values).load(target, converting("raise"), overflow="raise")
    assert (target == 7).all()


def test_depth():
    nested = 5
    for _ in range(64):
        nested = [nested]
    assert Source(nested).shape == (1,) * 64
    endless = []
    endless.append(endless)
    for deep in ([nested], endless):
        with pytest.raises(ValueError, match="64"):
            Source(deep)


def test_a_list_that_changes_while_it_is_read():
    class Change:
        def __init__(self, change):
            self.change = change

        def __array__(self, dtype=None, copy=None):
            self.change()
            return np.array(5)

    for nest in (lambda values: values, lambda values: [values, values]):
        for make in (lambda values: values.clear, lambda values: lambda: values.append(1)):
            values = [1, None, 2, 3]
            values[1] = Change(make(values))
            source = Source(nest(values))
            target = np.zeros(source.shape)
            with pytest.raises(ValueError, match="changed"):
                source.load(target, converting(), overflow="saturate", fresh=True)


def test_little_memory_is_needed():
    values = list(range(300_000))
    target = np.zeros(300_000, "int64")

    def convert(src, dst):
        dst[...] = src

    source = Source(values)
    tracemalloc.start()
    source.load(target, convert, overflow="raise")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000
    assert (target == np.arange(300_000)).all()
