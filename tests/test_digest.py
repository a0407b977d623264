"""Equality and hashes follow the value."""

import ml_dtypes
import numpy as np
import pytest

from tensorbuf import DataType, ShapedArray, ShapedArraySlice
from tensorbuf._kernels.digest import digest

NUMERIC = [kind for kind in DataType if kind is not DataType.STRING]


@pytest.mark.parametrize("kind", NUMERIC)
def test_equal_across_classes_and_places(kind):
    array = ShapedArray([[1, 0], [1, 1], [1, 0]], dtype=kind)
    same = [ShapedArraySlice(array), ShapedArray(np.asarray(array)), ShapedArray([array[2], array[1], array[0]])]
    for each in same:
        assert array == each
        assert (array != each) is False
        assert hash(array) == hash(each)
        assert array.bits_equal(each)
    assert array[0] == array[2]
    assert hash(array[0]) == hash(array[2])
    assert array[0] != array[1]
    assert len({array, *same}) == 1


def test_shape_dtype_and_kind_matter():
    array = ShapedArray([1, 2])
    for other in (
        ShapedArray([[1, 2]]),
        ShapedArray([1.0, 2.0]),
        ShapedArray([1, 2], dtype="int32"),
        ShapedArray([1, 3]),
    ):
        assert array != other
        assert hash(array) != hash(other)
        assert not array.bits_equal(other)
    for other in ([1, 2], np.array([1, 2]), 1, None, "[1, 2]"):
        assert (array == other) is False
        assert (array != other) is True
        with pytest.raises(TypeError):
            array.bits_equal(other)
    assert ShapedArray(shape=[0, 3], scalars=[]) != ShapedArray(shape=[3, 0], scalars=[])


@pytest.mark.parametrize("kind", [kind for kind in NUMERIC if kind.is_floating or kind.is_complex])
def test_zeros_are_equal_and_nans_are_not(kind):
    for size in (1, 5, 31, 64, 257):
        positive, negative = (ShapedArray(repeating=zero, shape=[size], dtype=kind) for zero in (0.0, -0.0))
        assert positive == negative
        assert hash(positive) == hash(negative)
        assert not positive.bits_equal(negative)
    nan = ShapedArray([float("nan"), 1.0], dtype=kind)
    assert (nan == nan) is False
    assert nan.bits_equal(nan)


def test_complex_zeros_have_two_signs():
    values = [complex(a, b) for a in (0.0, -0.0) for b in (0.0, -0.0)]
    for dtype in ("complex64", "complex128"):
        assert len({hash(ShapedArray(np.array([value], dtype))) for value in values}) == 1


def test_a_bool_is_true_whatever_its_byte():
    odd, plain = (ShapedArray(np.array(bits, np.uint8).view(np.bool)) for bits in ([0, 2, 255], [0, 1, 1]))
    assert odd == plain
    assert hash(odd) == hash(plain)


SIGNS = {0: 0, 1: 0x80 * 0x0101010101010101, 2: 0x8000 * 0x0001000100010001, 4: 0x8000000080000000, 8: 1 << 63}


@pytest.mark.parametrize("size", SIGNS)
def test_every_bit_counts(size):
    """Each single bit of up to three stripes gives a digest of its own, but the sign of a zero."""
    for length in (8, 64, 72, 192):
        seen = {digest(np.zeros(length, np.uint8), SIGNS[size])}
        for bit in range(8 * length):
            data = np.zeros(length, np.uint8)
            data[bit // 8] = 1 << bit % 8
            seen.add(digest(data, SIGNS[size]))
        signs = length // size if size and np.little_endian else 0
        assert len(seen) == 1 + 8 * length - signs


def test_order_and_length_count():
    words = np.arange(1, 65, dtype=np.uint64)
    seen = {digest(np.roll(words, shift), 0) for shift in range(64)}
    seen |= {digest(words[:length], 0) for length in range(64)}
    seen |= {digest(np.zeros(length, np.uint8), 0) for length in range(130)}
    assert len(seen) == 64 + 64 + 130 - 1


def test_a_sign_of_other_numbers_counts():
    for dtype in ("float16", "float32", "float64", ml_dtypes.bfloat16, ml_dtypes.float8_e5m2):
        arrays = [ShapedArray(np.array(values).astype(dtype)) for values in ([1, 2], [-1, 2], [1, -2], [-1, -2])]
        assert len({hash(array) for array in arrays}) == 4


def test_hashes_follow_the_value():
    array = ShapedArray([1, 2])
    before = hash(array)
    array[0] = 5
    assert hash(array) == hash(ShapedArray([5, 2])) != before
    array[0] = 1
    assert hash(array) == before
