import copy
import pickle

import ml_dtypes
import numpy as np
import pytest

from tensorbuf import (
    ConversionError,
    FloatNdArray,
    LongNdArray,
    NdArray,
    RankError,
    ReadOnlyError,
    ShapeError,
    SparseNdArray,
    databuffers,
    ndarrays,
)
from tensorbuf import index as ix


def example(default=None):
    return ndarrays.sparse_of([[1, 2], [0, 0]], [2, 1], (3, 4), default)


DENSE = [[1, 0, 0, 0], [0, 0, 2, 0], [0, 0, 0, 0]]


def test_reads_as_dense():
    sparse = example()
    assert isinstance(sparse, (SparseNdArray, LongNdArray))
    assert (sparse.shape, sparse.rank, sparse.size, sparse.dtype, sparse.read_only) == ((3, 4), 2, 12, np.int64, True)
    assert sparse.tolist() == DENSE
    assert (sparse.get_object(1, 2), sparse.get_long(2, 0)) == (2, 0)
    assert sparse.get(1).tolist() == [0, 0, 2, 0]
    assert sparse.get() is sparse
    assert [row.tolist() for row in sparse.elements(0)] == DENSE
    assert [(coords, scalar.get_object()) for coords, scalar in sparse.scalars().indexed()][6] == ((1, 2), 2)
    assert len(sparse.scalars()) == 12
    assert list(sparse.stream_of_longs()) == np.ravel(DENSE).tolist()
    assert sparse[1, 2] == sparse[-2, -2] == 2
    assert sparse[[1, 1], ::-1].tolist() == [[0, 2, 0, 0]] * 2
    assert sparse[..., None, 2].tolist() == [[0], [2], [0]]
    for coords, error in [((3, 0), IndexError), ((-1, 0), IndexError), ((0,), RankError), ((0, 0, 0), RankError)]:
        with pytest.raises(error):
            sparse.get_object(*coords)
    for coords, error in [((3,), IndexError), ((0, -1), IndexError), ((0, 0, 0), RankError)]:
        with pytest.raises(error):
            sparse.get(*coords)
    walked = []
    sparse.elements(0).for_each(lambda row: walked.append(row.tolist()))
    assert walked == DENSE


def test_keeps_the_order_given():
    sparse = example()
    assert type(sparse.indices) is LongNdArray
    assert sparse.indices.tolist() == [[1, 2], [0, 0]]
    assert sparse.values.tolist() == [2, 1]
    assert sparse.default == 0
    ordered = sparse.sort_indices_and_values()
    assert ordered.indices.tolist() == [[0, 0], [1, 2]]
    assert ordered.values.tolist() == [1, 2]
    assert ordered == sparse


def test_inputs_are_copied():
    indices, values = np.array([[0], [2]]), np.array([1.0, 2.0])
    sparse = ndarrays.sparse_of(indices, values, 3)
    indices[:] = 1
    values[:] = 9
    assert sparse.tolist() == [1.0, 0.0, 2.0]
    assert sparse.indices.read_only
    assert sparse.values.read_only
    assert ndarrays.sparse_of(NdArray([[1]]), NdArray([5.0]), 3).tolist() == [0, 5, 0]


@pytest.mark.parametrize(
    ("indices", "values", "shape", "default", "error"),
    [
        ([[0, 0]], [1, 2], (2, 2), None, ShapeError),
        ([[0, 0]], [[1]], (2, 2), None, ShapeError),
        ([[0]], [1], (2, 2), None, ShapeError),
        ([0], [1], 2, None, ShapeError),
        ([[0.0]], [1], 2, None, TypeError),
        ([[True]], [1], 2, None, TypeError),
        ([[2]], [1], 2, None, IndexError),
        ([[-1]], [1], 2, None, IndexError),
        (np.array([[2**64 - 1]], np.uint64), [1], 2, None, IndexError),
        ([[1], [0], [1]], [1, 2, 3], 2, None, ValueError),
        ([[1]], [1], 2, 0.5, TypeError),
        ([[1]], np.array([1], np.int8), 2, 300, ConversionError),
        ([[1]], [1], -2, None, ShapeError),
        ([[1]], [1], None, None, TypeError),
    ],
)
def test_arguments_that_do_not_agree(indices, values, shape, default, error):
    with pytest.raises(error):
        ndarrays.sparse_of(indices, values, shape, default)


def test_sparse_slices_compose():
    sparse = example()
    part = sparse.slice(ix.all(), ix.slice_from(2))
    assert isinstance(part, SparseNdArray)
    assert part.tolist() == [[0, 0], [2, 0], [0, 0]]
    assert part.values.size == 1
    repeated = part.slice(ix.seq(1, 1, 0))
    assert repeated.values.size == 2
    assert repeated.slice(ix.ellipsis(), ix.flip(), ix.newaxis()).tolist() == [[[0], [2]], [[0], [2]], [[0], [0]]]
    for selectors, error in [
        ((ix.all(),) * 3, RankError),
        ((ix.ellipsis(),) * 2, ValueError),
        ((ix.at(3),), IndexError),
        ((ix.slice(0, 9),), IndexError),
        ((1,), TypeError),
    ]:
        with pytest.raises(error):
            sparse.slice(*selectors)


def test_writes_are_refused():
    sparse = example()
    dense = NdArray(DENSE)
    for write in (
        lambda: sparse.set(dense),
        lambda: sparse.set_object(1, 0, 0),
        lambda: sparse.set_long(1, 0, 0),
        lambda: sparse.get(0).set([1, 2, 3, 4]),
        lambda: sparse.copy_from(databuffers.of_longs(12)),
        lambda: sparse.__setitem__((0, 0), 1),
        lambda: sparse.__setitem__(0, [1, 2, 3, 4]),
        lambda: dense.copy_to(sparse),
        lambda: next(iter(sparse.scalars())).set_object(1),
    ):
        with pytest.raises(ReadOnlyError):
            write()
    assert sparse.tolist() == DENSE


def test_copies_hold_all_elements():
    sparse = example(default=7)
    dense = sparse.to_dense()
    assert type(dense) is LongNdArray
    assert dense.tolist() == [[1, 7, 7, 7], [7, 7, 2, 7], [7, 7, 7, 7]]
    assert not dense.read_only
    dense.set_object(0, 0, 0)
    assert sparse.get_object(0, 0) == 1
    assert np.asarray(sparse).tolist() == sparse.to_numpy().tolist() == sparse.tolist()
    with pytest.raises(ValueError, match="copy"):
        sparse.to_numpy(copy=False)
    with pytest.raises(BufferError):
        memoryview(sparse)
    buffer = databuffers.of(np.full(14, 5))
    assert sparse.slice(ix.all(), ix.all()).copy_to(buffer)
    assert buffer.to_numpy().tolist() == [*np.ravel(sparse.tolist()), 5, 5]
    assert ndarrays.of_longs((3, 4)).set(sparse) == sparse
    target = ndarrays.of_longs((3, 4))
    sparse.copy_to(target)
    assert target == sparse
    assert NdArray(sparse) == sparse
    assert sparse.get(1).to_dense().tolist() == [7, 7, 2, 7]


def test_equality_is_about_elements():
    sparse = example()
    assert sparse == sparse.to_dense()
    assert sparse.to_dense() == sparse
    assert sparse == ndarrays.sparse_of([[0, 0], [0, 1], [1, 2]], [1, 0, 2], (3, 4))
    assert example() != example(default=1)
    every = [[0], [1]]
    assert ndarrays.sparse_of(every, [1, 2], 2, 5) == ndarrays.sparse_of(every, [1, 2], 2, 6)
    assert sparse != ndarrays.sparse_of([[0, 0], [1, 2]], np.array([1, 2], np.int32), (3, 4))
    assert sparse != ndarrays.sparse_of([[0, 0], [1, 2]], [1, 2], (4, 3))
    nan = ndarrays.sparse_of([[0]], [float("nan")], 2)
    assert nan != nan
    assert sparse != 3
    with pytest.raises(TypeError):
        hash(sparse)


def test_only_what_is_asked_for_is_computed():
    sparse = ndarrays.sparse_of([[5, 7], [2**30 - 1, 2**31 - 1]], np.array([1.5, 2.5], np.float32), (2**30, 2**31))
    assert isinstance(sparse, FloatNdArray)
    assert sparse.size == 2**61
    assert sparse.get_float(2**30 - 1, 2**31 - 1) == 2.5
    assert sparse.get_float(6, 7) == 0.0
    corner = sparse.slice(ix.slice_from(-2), ix.slice_from(-2))
    assert corner.tolist() == [[0, 0], [0, 2.5]]
    assert sparse.slice(ix.flip(), ix.flip()).get_float(0, 0) == 2.5
    assert sparse == pickle.loads(pickle.dumps(sparse))
    assert sparse != ndarrays.sparse_of(sparse.indices, sparse.values, sparse.shape, default=1)
    assert len(repr(sparse)) < 200
    assert next(iter(sparse.scalars())).get_float() == 0.0
    huge = ndarrays.sparse_of(np.array([[2**62, 3]]), [1], (2**63 - 1, 2**63 - 1))
    assert huge.get_object(2**62, 3) == 1
    assert huge.slice(ix.at(2**62), ix.range(0, 5)).tolist() == [0, 0, 0, 1, 0]


def test_from_dense_keeps_every_bit():
    values = np.array([0.0, -0.0, 1.0, np.nan, -np.nan])
    sparse = SparseNdArray.from_dense(values)
    assert sparse.indices.tolist() == [[1], [2], [3], [4]]
    assert sparse.to_dense().to_numpy().tobytes() == values.tobytes()
    assert SparseNdArray.from_dense(values, default=float("nan")).indices.tolist() == [[0], [1], [2]]
    assert SparseNdArray.from_dense(values, default=-0.0).indices.tolist() == [[0], [2], [3], [4]]
    halves = np.array([0x7F81, 0, 0x8000], np.uint16).view(ml_dtypes.bfloat16)
    kept = SparseNdArray.from_dense(halves)
    assert kept.indices.tolist() == [[0], [2]]
    assert kept.to_dense().to_numpy().view(np.uint16).tolist() == [0x7F81, 0, 0x8000]
    assert kept != kept.to_dense()
    assert SparseNdArray.from_dense(np.array([0j, complex(0, -0.0), 1j])).indices.tolist() == [[1], [2]]
    assert SparseNdArray.from_dense(np.array(["a", None, "b"], object)).indices.tolist() == [[0], [2]]
    assert SparseNdArray.from_dense([[True, False]]).default is False


def test_from_dense_takes_scalars():
    assert SparseNdArray.from_dense(7).tolist() == 7
    assert SparseNdArray.from_dense(0).indices.shape == (0, 0)
    text = SparseNdArray.from_dense("text")
    assert (text.shape, text.get_object()) == ((), "text")


def test_from_scipy_takes_sparse_arrays_only():
    for stranger in (None, [[1]], np.eye(2)):
        with pytest.raises(TypeError, match="sparse array or matrix of scipy"):
            SparseNdArray.from_scipy(stranger)
    source = np.array([1, 0])
    shared = SparseNdArray.from_dense(source)
    source[0] = 9
    assert shared.tolist() == [1, 0]
    assert source.flags.writeable


@pytest.mark.parametrize("values", [np.zeros((2, 0)), np.zeros(()), np.ones(()), np.zeros((0,), object)])
def test_empty_and_scalar_arrays(values):
    sparse = SparseNdArray.from_dense(values)
    assert sparse.shape == values.shape
    assert sparse == NdArray(values)
    assert sparse == sparse.slice(ix.ellipsis())
    assert sparse.tolist() == values.tolist()
    assert ndarrays.sparse_of([], np.zeros(0), (2, 3)).tolist() == [[0, 0, 0], [0, 0, 0]]
    assert ndarrays.sparse_of(np.zeros((1, 0), int), [4], ()).get_object() == 4
    with pytest.raises(ValueError, match="more than one"):
        ndarrays.sparse_of(np.zeros((2, 0), int), [4, 5], ())


def test_objects_default_to_none():
    sparse = ndarrays.sparse_of([[1]], ["x"], 3)
    assert type(sparse) is SparseNdArray
    assert sparse.default is None
    assert sparse.tolist() == [None, "x", None]
    assert ndarrays.sparse_of([[1]], ["x"], 3, "-").tolist() == ["-", "x", "-"]
    assert copy.deepcopy(sparse) == sparse


def test_shape_is_kept():
    sparse = example()
    assert sparse.with_shape((3, 4)) == sparse
    for shape, error in [((4, 3), ShapeError), ((2, 4), ShapeError), (None, TypeError)]:
        with pytest.raises(error):
            sparse.with_shape(shape)


def test_pickle_and_copy_stay_sparse():
    part = example(default=3).slice(ix.range(1, 3))
    for twin in (pickle.loads(pickle.dumps(part)), copy.copy(part), copy.deepcopy(part)):
        assert twin == part
        assert isinstance(twin, SparseNdArray)
        assert twin.default == 3
        assert twin.read_only
        assert twin.values.size == 1


def test_conversion_gives_a_dense_array():
    assert type(example().astype("float32")) is FloatNdArray
    assert example().astype("float32").tolist() == DENSE
