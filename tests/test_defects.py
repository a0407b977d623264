"""The defects of the Java library, one by one: none of them is here."""

import numpy as np
import pytest

from tensorbuf import (
    NdArray,
    RankError,
    ReadOnlyError,
    Shape,
    ShapeError,
    databuffers,
    ndarrays,
)
from tensorbuf import index as ix


def vector(n):
    return NdArray(np.arange(n))


def test_01_every_coordinate_is_checked():
    matrix = ndarrays.of_ints((2, 3))
    for coords in ((1, -1), (0, 3), (-1, 2)):
        with pytest.raises(IndexError):
            matrix.get_int(*coords)
        with pytest.raises(IndexError):
            matrix.set_int(99, *coords)
        with pytest.raises(IndexError):
            matrix.get(*coords)
    assert matrix.tolist() == [[0] * 3] * 2


def test_02_slices_past_the_end_are_refused_at_once():
    for selector in (ix.slice(1, 100), ix.slice(-9, 3)):
        with pytest.raises(IndexError):
            vector(5).slice(selector)


def test_03_the_wrong_direction_is_empty():
    assert vector(5).slice(ix.slice(3, 1)).shape == (0,)
    assert vector(5).slice(ix.slice(0, 4, -1)).shape == (0,)
    with pytest.raises(IndexError):
        vector(5).slice(ix.slice_from(7))


def test_04_odd_of_an_empty_axis_is_empty():
    assert vector(0).slice(ix.odd()).shape == (0,)


def test_05_at_keeps_any_axis():
    matrix = NdArray(np.arange(12).reshape(3, 4))
    assert matrix.slice(ix.at(1, True)).tolist() == [[4, 5, 6, 7]]
    assert vector(5).slice(ix.flip()).slice(ix.at(2, True)).tolist() == [2]


def test_06_new_axes_go_before_sliced_ones():
    assert vector(6).slice(ix.even()).slice(ix.newaxis(), ix.all()).tolist() == [[0, 2, 4]]
    assert ndarrays.scalar_of(7).slice(ix.newaxis()).tolist() == [7]


def test_07_with_shape_sees_the_slice():
    assert vector(6).slice(ix.even()).with_shape((3, 1)).tolist() == [[0], [2], [4]]


def test_08_empty_slices_can_be_walked():
    empty = vector(5).slice(ix.range(2, 2))
    assert len(empty.scalars()) == 0
    assert list(empty.scalars()) == []
    empty.scalars().for_each(pytest.fail)


def test_09_a_larger_buffer_fills_a_slice():
    array = vector(6)
    array.slice(ix.odd()).copy_from(databuffers.of([10, 11, 12, 13, 14]))
    assert array.tolist() == [0, 10, 2, 11, 4, 12]


def test_10_overlapping_copies():
    array = vector(6)
    array.slice(ix.range(0, 5)).copy_to(array.slice(ix.range(1, 6)))
    assert array.tolist() == [0, 0, 1, 2, 3, 4]
    array.copy_to(array)
    assert array.tolist() == [0, 0, 1, 2, 3, 4]


def test_11_nan_and_zero_compare_alike_everywhere():
    numbers = NdArray(np.array([np.nan, 0.0, 5.0]))
    for selector in (ix.all(), ix.flip(), ix.seq(2, 0, 1)):
        view = numbers.slice(selector)
        assert view != view
    zeros = NdArray(np.array([0.0, 1.0, 0.0]))
    for selector in (ix.even(), ix.seq(0, 2)):
        assert zeros.slice(selector) == NdArray(np.array([-0.0, -0.0]))
    wrapped = ndarrays.wrap(2, databuffers.of([1, 2, 3]))
    assert wrapped == ndarrays.nd_copy_of(wrapped)


def test_12_windows_fit_their_buffer():
    buffer = databuffers.of_ints(3)
    for n in (4, -1):
        with pytest.raises(ShapeError):
            buffer.window(n)
    assert databuffers.FLOAT16.apply_to(databuffers.of_shorts(3)).window(2).slide(1).offset == 1


def test_13_offsets_have_64_bits():
    far = np.lib.stride_tricks.as_strided(np.arange(3, dtype=np.int8), (3, 2**33), (1, 0))
    array = NdArray(far)
    assert array.size == 3 * 2**33
    assert array.get_byte(2, 2**33 - 1) == 2
    assert array.slice(ix.all(), ix.slice_from(-2)).tolist() == [[0, 0], [1, 1], [2, 2]]
    assert array.slice(ix.flip(), ix.seq(2**32 + 1)).tolist() == [[2], [1], [0]]
    for make in (databuffers.of_booleans, databuffers.of_bits):
        with pytest.raises(ShapeError):
            make(4).write([True] * 5)
        with pytest.raises(IndexError):
            make(4).read([True] * 5, 6)


def test_14_sparse_arrays_check_and_compare_elements():
    sparse = ndarrays.sparse_of([[1, 2], [0, 0]], [2, 1], (3, 4))
    with pytest.raises(IndexError):
        sparse.get_object(3, 0)
    assert sparse.get_object(1, 2) == 2
    with pytest.raises(ValueError, match="more than one"):
        ndarrays.sparse_of([[0], [0]], [1, 2], 2)
    assert sparse != ndarrays.sparse_of([[1, 2], [0, 0]], [2, 1], (3, 4), default=5)
    assert sparse == ndarrays.sparse_of([[0, 0], [1, 2], [2, 2]], [1, 2, 0], (3, 4))
    with pytest.raises(ReadOnlyError):
        sparse.copy_from(databuffers.of_longs(12))


def test_15_vectors_do_not_alias_the_callers_array():
    source = np.array([1, 2])
    ndarrays.vector_of(source).set_long(9, 0)
    assert source.tolist() == [1, 2]
    databuffers.of(source).set_long(9, 0)
    assert source.tolist() == [9, 2]


def test_16_listed_coordinates_are_refused_at_once():
    for selector in (ix.seq(7), ix.hyperslab(0, 2, 4, 1)):
        with pytest.raises(IndexError):
            vector(5).slice(selector)
    with pytest.raises(RankError):
        vector(5).get(1, 1)


def test_17_shapes_are_exact():
    with pytest.raises(ShapeError):
        Shape.of(-2)
    assert Shape.of(2**40, 2**40).size == 2**80
    with pytest.raises(IndexError):
        Shape.of(1).take(-1)
    with pytest.raises(IndexError):
        Shape.of(1, 2).sub_shape(1, 0)
