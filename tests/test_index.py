import copy
import pickle

import numpy as np
import pytest
from selections import chosen

from tensorbuf import NdArray, RankError, Shape, ShapeError
from tensorbuf import index as ix


def vector(n):
    return NdArray._wrap(np.arange(n))


def cube():
    return NdArray._wrap(np.arange(60).reshape(3, 4, 5))


@pytest.mark.parametrize(
    ("n", "selector", "kept"),
    [
        (5, ix.at(-1), 4),
        (5, ix.at(0), 0),
        (5, ix.at(2, keep_dim=True), [2]),
        (3, ix.all(), [0, 1, 2]),
        (0, ix.all(), []),
        (5, ix.even(), [0, 2, 4]),
        (5, ix.odd(), [1, 3]),
        (0, ix.even(), []),
        (0, ix.odd(), []),
        (1, ix.odd(), []),
        (5, ix.step(-2), [4, 2, 0]),
        (4, ix.step(-2), [3, 1]),
        (5, ix.step(100), [0]),
        (5, ix.step(-100), [4]),
        (5, ix.step(2**80), [0]),
        (5, ix.step(-(2**80)), [4]),
        (0, ix.step(3), []),
        (3, ix.flip(), [2, 1, 0]),
        (0, ix.flip(), []),
        (6, ix.slice(4, None, -2), [4, 2, 0]),
        (6, ix.slice(-1, -6, -1), [5, 4, 3, 2, 1]),
        (6, ix.slice(-1, -6, -3), [5, 2]),
        (6, ix.slice(4, 1), []),
        (6, ix.slice(1, 4, -1), []),
        (6, ix.slice(6, None), []),
        (6, ix.slice(6, 6, -1), []),
        (6, ix.slice(None, None, 4), [0, 4]),
        (6, ix.slice(1, 5, 3), [1, 4]),
        (6, ix.range(1, 3), [1, 2]),
        (6, ix.range(-3, -1), [3, 4]),
        (6, ix.range(2, 2), []),
        (6, ix.slice_from(4), [4, 5]),
        (6, ix.slice_from(4, -2), [4, 2, 0]),
        (6, ix.slice_to(2), [0, 1]),
        (6, ix.slice_to(2, -1), [5, 4, 3]),
        (6, ix.slice_to(-4), [0, 1]),
        (5, ix.seq(2, 0, 2), [2, 0, 2]),
        (5, ix.seq(), []),
        (9, ix.hyperslab(1, 4, 2, 2), [1, 2, 5, 6]),
        (9, ix.hyperslab(1, 1, 3, 2), [1, 2, 2, 3, 3, 4]),
        (9, ix.hyperslab(9, 1, 0, 4), []),
        (9, ix.hyperslab(0, 3, 3, 1), [0, 3, 6]),
        (9, ix.hyperslab(1, 2, 4, 2), [1, 2, 3, 4, 5, 6, 7, 8]),
        (9, ix.hyperslab(3, 2**80, 1, 6), [3, 4, 5, 6, 7, 8]),
    ],
)
def test_what_each_selector_keeps(n, selector, kept):
    assert vector(n).slice(selector).tolist() == kept
    source = np.arange(3 * n).reshape(n, 3)
    assert NdArray._wrap(source).slice(selector).tolist() == chosen(source, [selector]).tolist()


@pytest.mark.parametrize(
    ("n", "selector"),
    [
        (5, ix.at(5)),
        (5, ix.at(-6)),
        (5, ix.at(2**80)),
        (0, ix.at(0)),
        (6, ix.slice(1, 7)),
        (6, ix.slice(-7, 3)),
        (6, ix.slice(9, 9)),
        (6, ix.slice(6, 0, -1)),
        (6, ix.slice(6, None, -1)),
        (6, ix.slice(2**80, None)),
        (6, ix.slice(None, -(2**80))),
        (6, ix.slice_from(7)),
        (6, ix.slice_to(-7)),
        (6, ix.range(3, 7)),
        (5, ix.seq(7)),
        (5, ix.seq(0, -1)),
        (5, ix.seq(2**80)),
        (5, ix.hyperslab(-1, 1, 1, 1)),
        (5, ix.hyperslab(6, 1, 0, 1)),
        (5, ix.hyperslab(0, 2, 3, 2)),
        (5, ix.hyperslab(0, 2**80, 2, 1)),
        (5, ix.hyperslab(0, 1, 2**80, 2**80)),
    ],
)
def test_coordinates_outside_the_axis_are_index_errors(n, selector):
    for array in (vector(n), vector(n).slice(ix.seq(*range(n)))):
        with pytest.raises(IndexError, match=rf"axis 0 of shape \({n},\)"):
            array.slice(selector)


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: ix.step(0), ValueError),
        (lambda: ix.slice(0, 1, 0), ValueError),
        (lambda: ix.slice_from(0, 0), ValueError),
        (lambda: ix.slice_to(0, 0), ValueError),
        (lambda: ix.hyperslab(0, 0, 1, 1), ValueError),
        (lambda: ix.hyperslab(0, 1, -1, 1), ValueError),
        (lambda: ix.hyperslab(0, 1, 1, -1), ValueError),
        (lambda: ix.hyperslab(0.0, 1, 1, 1), TypeError),
        (lambda: ix.at(1.0), TypeError),
        (lambda: ix.at(True), TypeError),
        (lambda: ix.at(None), TypeError),
        (lambda: ix.at("1"), TypeError),
        (lambda: ix.at(NdArray._wrap(np.array(1.0))), TypeError),
        (lambda: ix.at(NdArray._wrap(np.array(True))), TypeError),
        (lambda: ix.at(NdArray._wrap(np.array([1]))), RankError),
        (lambda: ix.step(1.0), TypeError),
        (lambda: ix.step(None), TypeError),
        (lambda: ix.slice(1.0, 2), TypeError),
        (lambda: ix.slice(0, True), TypeError),
        (lambda: ix.slice(0, 1, None), TypeError),
        (lambda: ix.seq(1.0), TypeError),
        (lambda: ix.seq(True), TypeError),
        (lambda: ix.seq(None), TypeError),
        (lambda: ix.seq("1"), TypeError),
        (lambda: ix.seq(np.array([1.0, 2.0])), TypeError),
        (lambda: ix.seq(np.array([True])), TypeError),
        (lambda: ix.seq(np.zeros((1, 2), int)), RankError),
        (lambda: ix.seq(NdArray._wrap(np.zeros((1, 2), int))), RankError),
    ],
)
def test_wrong_arguments(make, error):
    with pytest.raises(error):
        make()


def test_at_takes_a_scalar_array():
    assert cube().slice(ix.at(NdArray._wrap(np.array(-1)))).shape == (4, 5)
    assert cube().slice(ix.at(np.int8(1))).get_object(0, 0) == 20


@pytest.mark.parametrize("call", [ix.seq, Shape, Shape.of(2).append])
def test_what_is_too_long_is_refused_at_once(call):
    with pytest.raises((OverflowError, MemoryError)):
        call(range(2**62))


def test_seq_copies_its_coordinates():
    listed = np.array([2, 0])
    selector = ix.seq(listed)
    listed[:] = 77
    assert vector(3).slice(selector).tolist() == [2, 0]
    assert vector(3).slice(ix.seq(NdArray._wrap(np.array([2, 1], np.uint8)))).tolist() == [2, 1]
    assert vector(3).slice(ix.seq([1, 2])).tolist() == [1, 2]


def test_selectors_are_values():
    assert ix.slice(1, 2) == ix.slice(1, 2) != ix.slice(1, 3)
    assert ix.range(1, 2) != ix.slice(1, 2)
    assert len({ix.seq(1, 2), ix.seq(np.array([1, 2])), ix.seq(2, 1)}) == 2
    assert ix.even() != 2
    for selector in (ix.at(-1, True), ix.slice(None, 3, 2), ix.seq(3, 1), ix.hyperslab(0, 2, 2, 1), ix.newaxis()):
        for twin in (pickle.loads(pickle.dumps(selector)), copy.deepcopy(selector)):
            assert twin == selector
            assert cube().slice(ix.ellipsis(), twin) == cube().slice(ix.ellipsis(), selector)
        with pytest.raises(AttributeError):
            selector.name = "at"
    assert repr(ix.slice(1, None, -1)) == "slice(1, None, -1)"
    assert repr(ix.seq(3, 1)) == "seq(3, 1)"


@pytest.mark.parametrize(
    ("selectors", "shape"),
    [
        ((ix.at(1), ix.newaxis()), (1, 4, 5)),
        ((ix.ellipsis(), ix.newaxis(), ix.at(1)), (3, 4, 1)),
        ((ix.newaxis(), ix.at(1), ix.newaxis(), ix.at(2)), (1, 1, 5)),
        ((ix.at(0), ix.at(1), ix.at(2), ix.ellipsis()), ()),
        ((ix.seq(2, 0), ix.newaxis(), ix.seq(3, 1, 1)), (2, 1, 3, 5)),
        ((ix.ellipsis(),), (3, 4, 5)),
        ((), (3, 4, 5)),
    ],
)
def test_axes(selectors, shape):
    view = cube().slice(*selectors)
    assert view.shape == shape
    assert view.tolist() == chosen(np.arange(60).reshape(3, 4, 5), selectors).tolist()


def test_newaxis_on_a_scalar():
    scalar = NdArray._wrap(np.array(7))
    assert scalar.slice(ix.newaxis(), ix.ellipsis(), ix.newaxis()).tolist() == [[7]]


@pytest.mark.parametrize(
    ("selectors", "error"),
    [
        ((ix.all(),) * 4, RankError),
        ((ix.all(), ix.ellipsis(), ix.all(), ix.all(), ix.all()), RankError),
        ((ix.ellipsis(), ix.ellipsis()), ValueError),
        ((ix.newaxis(),) * 62, RankError),
        ((1,), TypeError),
        ((slice(1),), TypeError),
        ((None,), TypeError),
    ],
)
def test_selectors_that_do_not_suit_the_array(selectors, error):
    with pytest.raises(error):
        cube().slice(*selectors)


def test_an_error_names_the_axis():
    with pytest.raises(IndexError, match=r"seq\(0, 5\) is outside axis 2 of shape \(3, 4, 5\)"):
        cube().slice(ix.newaxis(), ix.ellipsis(), ix.newaxis(), ix.seq(0, 5))
    with pytest.raises(IndexError, match=r"at\(4\) is outside axis 1 of shape"):
        cube().slice(ix.newaxis(), ix.all(), ix.at(4))


def test_affine_selectors_stay_strided():
    for selectors in (
        (ix.even(), ix.odd(), ix.flip()),
        (ix.hyperslab(0, 2, 2, 1), ix.hyperslab(1, 9, 1, 3), ix.hyperslab(0, 2, 2, 2)),
        (ix.at(0, True), ix.slice(3, 0, -1), ix.newaxis()),
        (ix.seq(2, 0, 1), ix.all()),
    ):
        view = cube().slice(*selectors)
        if ix.seq(2, 0, 1) in selectors:
            view = view.slice(ix.at(1))
        assert view._tables is None
        assert memoryview(view).strides == view.to_numpy(copy=False).strides


def test_a_thousand_selectors_are_one():
    array = cube()
    view, table = array, array.slice(ix.seq(1, 0, 2))
    for _ in range(500):
        view = view.slice(ix.flip(), ix.flip()).slice(ix.ellipsis(), ix.slice(-5, 5))
        table = table.slice(ix.flip(), ix.seq(3, 2, 1, 0)).slice(ix.all(), ix.all(), ix.seq(*range(5)))
    assert view == array
    assert table == array.slice(ix.seq(1, 0, 2))
    assert view.to_numpy().base is array.to_numpy().base
    assert all(len(table._tables[axis]) == table.shape[axis] for axis in range(3))


def test_writes_through_repeats_keep_the_last():
    array = vector(5)
    array.slice(ix.seq(2, 0, 2)).set(np.array([10, 20, 30]))
    assert array.tolist() == [20, 1, 30, 3, 4]


def test_with_shape_and_newaxis_on_sliced_axes():
    assert vector(6).slice(ix.even()).with_shape((3, 1)).tolist() == [[0], [2], [4]]
    assert vector(6).slice(ix.flip()).with_shape((3, 2)).tolist() == [[5, 4], [3, 2], [1, 0]]
    assert vector(6).slice(ix.even()).slice(ix.newaxis(), ix.all()).tolist() == [[0, 2, 4]]
    with pytest.raises(ShapeError):
        cube().slice(ix.all(), ix.even()).with_shape((6, 5, 1)[::-1])
