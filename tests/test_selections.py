"""Views against numpy: random compositions of selectors, dense and sparse, read and written through."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selections import chosen

from tensorbuf import NdArray, ReadOnlyError, SparseNdArray, databuffers
from tensorbuf import index as ix

DTYPES = [np.uint8, np.int16, np.float32, np.float64, np.complex128, np.bool, object, ml_dtypes.bfloat16, ">i4", ">f8"]


@st.composite
def selectors(draw, length):
    """A selector that fits an axis."""
    if length:
        coordinate = st.integers(-length, length - 1)
        listed = st.lists(st.integers(0, length - 1), max_size=5).map(lambda coords: ix.seq(*coords))
        backward = st.builds(ix.slice, coordinate, st.none() | st.integers(-length, length), st.integers(-3, -1))
        points = [st.builds(ix.at, coordinate), st.builds(ix.at, coordinate, st.just(True)), listed, backward]
    else:
        points = [st.just(ix.seq())]
    bound = st.none() | st.integers(-length, length)
    forward = st.integers(1, 3)
    kinds = [
        st.sampled_from([ix.all(), ix.even(), ix.odd(), ix.flip()]),
        st.integers(-3, 3).filter(bool).map(ix.step),
        st.builds(ix.slice, bound, bound, forward),
        st.builds(ix.slice, st.none(), bound, forward.map(lambda k: -k)),
        st.builds(ix.range, bound, bound),
        st.builds(ix.slice_from, bound, forward),
        st.builds(ix.slice_to, bound, forward),
        slabs(length),
        *points,
    ]
    return draw(st.one_of(kinds))


@st.composite
def slabs(draw, length):
    start = draw(st.integers(0, length))
    block = draw(st.integers(0, length - start))
    stride = draw(st.integers(1, 3))
    count = draw(st.integers(0, (length - start - block) // stride + 1))
    return ix.hyperslab(start, stride, count, block)


@st.composite
def slices(draw, shape):
    """The selectors of one slice: some for the first axes, an ellipsis and new axes among them."""
    kept = [draw(selectors(length)) for length in shape[: draw(st.integers(0, len(shape)))]]
    if draw(st.booleans()):
        place = draw(st.integers(0, len(kept)))
        behind = (
            [draw(selectors(length)) for length in shape[len(shape) - (len(kept) - place) :]] if kept[place:] else []
        )
        kept = [*kept[:place], ix.ellipsis(), *behind]
    for _ in range(draw(st.integers(0, 2))):
        kept.insert(draw(st.integers(0, len(kept))), ix.newaxis())
    return tuple(kept)


@st.composite
def arrays(draw, dtypes=tuple(DTYPES)):
    """A numpy array of consecutive values, of any layout: contiguous, Fortran, reversed, misaligned."""
    shape = tuple(draw(st.lists(st.integers(0, 5), max_size=4)))
    dtype = np.dtype(draw(st.sampled_from(dtypes)))
    values = np.arange(int(np.prod(shape))).reshape(shape).astype(dtype)
    layout = draw(st.sampled_from(["contiguous", "fortran", "reversed", "misaligned", "spread"]))
    if layout == "fortran":
        return np.asfortranarray(values)
    if layout == "reversed":
        return values[::-1].copy()[::-1] if shape else values
    if layout == "misaligned" and not dtype.hasobject:
        memory = np.zeros(values.nbytes + 1, np.uint8)[1:]
        memory[:] = np.frombuffer(values.tobytes(), np.uint8)
        return np.ndarray(shape, dtype, memory)
    if layout == "spread" and shape:
        spread = np.zeros((*shape[:-1], 2 * shape[-1]), dtype)
        spread[..., ::2] = values
        return spread[..., ::2]
    return values


def composed(data, array, depth):
    """A view of `array` through that many slices, and what numpy reads there."""
    view, expected = NdArray._wrap(array), array
    for _ in range(depth):
        kept = data.draw(slices(expected.shape))
        view, expected = view.slice(*kept), chosen(expected, kept)
    return view, expected


def marked(array):
    """Where each element of an array lies, as an array of its shape."""
    return np.arange(array.size).reshape(array.shape)


@settings(deadline=None, max_examples=120)
@given(data=st.data(), array=arrays(), depth=st.integers(1, 4))
def test_reading(data, array, depth):
    view, expected = composed(data, array, depth)
    assert view.shape == expected.shape
    assert view.dtype == array.dtype
    assert view.tolist() == expected.tolist()
    assert view.to_numpy(copy=True).tolist() == expected.tolist()
    assert [view.get_object(*coords) for coords in np.ndindex(expected.shape)] == expected.ravel().tolist()
    assert list(view.stream_of_objects()) == expected.ravel().tolist()
    assert (view._tables is None) or not view.to_numpy().flags.owndata or view.to_numpy().flags.c_contiguous


@settings(deadline=None, max_examples=60)
@given(data=st.data(), array=arrays(), depth=st.integers(1, 3))
def test_writing_through(data, array, depth):
    places = marked(array)
    view, _ = composed(data, array, 0)
    for _ in range(depth):
        kept = data.draw(slices(places.shape))
        view, places = view.slice(*kept), chosen(places, kept)
    written = np.arange(50, 50 + places.size).reshape(places.shape).astype(array.dtype)
    expected = array.ravel().copy()
    for place, value in zip(places.ravel().tolist(), written.ravel().tolist(), strict=True):
        expected[place] = value
    assert view.set(written) is view
    assert array.ravel().tolist() == expected.tolist()


@settings(deadline=None, max_examples=60)
@given(data=st.data(), length=st.integers(1, 6), dtype=st.sampled_from([np.uint8, np.float32, object, ">i2"]))
def test_overlapping_copies_are_as_if_read_first(data, length, dtype):
    array = np.arange(3 * length).reshape(3, length).astype(dtype)
    count = data.draw(st.integers(0, length))
    listed = st.lists(st.integers(0, length - 1), min_size=count, max_size=count)
    runs = st.integers(0, length - count).map(lambda start: ix.range(start, start + count))
    kept = [(ix.flip(), data.draw(runs | listed.map(lambda coords: ix.seq(*coords)))) for _ in range(2)]
    kept[1] = (data.draw(st.sampled_from([ix.all(), ix.flip(), ix.seq(1, 0, 2), ix.seq(1, 1, 0)])), kept[1][1])
    source, target = (chosen(marked(array), selectors).ravel() for selectors in kept)
    expected = array.ravel().copy()
    for place, value in zip(target.tolist(), array.ravel()[source].tolist(), strict=True):
        expected[place] = value
    whole = NdArray._wrap(array)
    whole.slice(*kept[0]).copy_to(whole.slice(*kept[1]))
    assert array.ravel().tolist() == expected.tolist()


@settings(deadline=None, max_examples=60)
@given(data=st.data(), shape=st.lists(st.integers(0, 4), max_size=3), depth=st.integers(1, 4))
def test_sparse_slices_read_as_dense_ones(data, shape, depth):
    dense = np.asarray(np.arange(int(np.prod(shape))).reshape(shape) % 3)
    sparse, expected = SparseNdArray.from_dense(dense, default=data.draw(st.integers(0, 2))), dense
    for _ in range(depth):
        kept = data.draw(slices(expected.shape))
        sparse, expected = sparse.slice(*kept), np.asarray(chosen(expected, kept))
    assert type(sparse).__name__ == "SparseLongNdArray"
    assert sparse.shape == expected.shape
    assert sparse.tolist() == expected.tolist()
    assert [sparse.get_object(*coords) for coords in np.ndindex(expected.shape)] == expected.ravel().tolist()
    assert sparse == NdArray._wrap(expected)
    assert NdArray._wrap(expected) == sparse
    with pytest.raises(ReadOnlyError):
        sparse.set(expected)


@settings(deadline=None, max_examples=60)
@given(data=st.data(), array=arrays(dtypes=(np.int16, np.float32, object)), depth=st.integers(0, 3))
def test_elements_walk_in_row_major_order(data, array, depth):
    view, expected = composed(data, array, depth)
    for dim in range(expected.ndim):
        coords = list(np.ndindex(expected.shape[: dim + 1]))
        elements = view.elements(dim)
        assert len(elements) == len(coords)
        assert [element.tolist() for element in elements] == [expected[(*place, ...)].tolist() for place in coords]
        walked = []
        elements.for_each_indexed(lambda place, element: walked.append((place, element.tolist())))  # noqa: B023
        assert walked == [(place, expected[(*place, ...)].tolist()) for place in coords]
        assert [(place, element.tolist()) for place, element in elements.indexed()] == walked


@settings(deadline=None, max_examples=60)
@given(data=st.data(), array=arrays(dtypes=(np.uint8, np.float64, object, ">i4")), depth=st.integers(0, 3))
def test_buffers_take_and_give_the_elements(data, array, depth):
    view, expected = composed(data, array, depth)
    buffer = databuffers.of(np.full(expected.size + 2, 77).astype(array.dtype))
    view.copy_to(buffer)
    assert buffer.to_numpy().tolist() == [*expected.ravel().tolist(), 77, 77]
    places = marked(array)
    twin = NdArray._wrap(np.zeros(array.shape, array.dtype))
    twin.copy_from(databuffers.of(np.append(array.ravel(), array.ravel()[:1])))
    assert twin == NdArray._wrap(array)
    assert places.size == twin.size


@settings(deadline=None, max_examples=60)
@given(data=st.data(), array=arrays(dtypes=(np.float32, np.int64)))
def test_square_brackets_are_pythons(data, array):
    key = []
    for length in array.shape[: data.draw(st.integers(0, array.ndim))]:
        number = st.none() | st.integers(-7, 7)
        kinds = [st.builds(slice, number, number, st.sampled_from([None, 1, 2, -1, -3]))]
        if length:
            kinds.append(st.integers(-length, length - 1))
            kinds.append(st.lists(st.integers(-length, length - 1), min_size=1, max_size=4))
        key.append(data.draw(st.one_of(kinds)))
    expected = array
    for axis in reversed(range(len(key))):
        part = key[axis]
        expected = expected[(slice(None),) * axis + ((np.array(part),) if isinstance(part, list) else (part,))]
    found = NdArray._wrap(array)[tuple(key)]
    if array.ndim == len(key) and all(isinstance(part, int) for part in key):
        assert found == expected
        assert isinstance(found, (int, float))
    else:
        assert found.tolist() == expected.tolist()
