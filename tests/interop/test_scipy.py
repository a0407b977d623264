"""Sparse arrays to and from scipy.sparse."""

import numpy as np
import pytest
import scipy.sparse

from tensorbuf import NdArray, ShapeError, SparseNdArray, ndarrays


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.complex128, np.bool])
@pytest.mark.parametrize("kind", ["coo", "csr", "csc", "lil"])
def test_round_trip(dtype, kind):
    dense = (np.arange(12).reshape(3, 4) % 5 == 1).astype(dtype)
    sparse = SparseNdArray.from_scipy(scipy.sparse.coo_array(dense).asformat(kind))
    assert sparse == NdArray(dense)
    assert sparse.dtype == dtype
    back = sparse.to_scipy()
    assert back.dtype == dtype
    assert (back.toarray() == dense).all()
    back.data[:] = 0
    assert sparse == NdArray(dense)


def test_duplicates_are_summed():
    twice = scipy.sparse.coo_array((np.array([1.0, 2.0, 4.0]), (np.array([0, 0, 1]), np.array([1, 1, 0]))), (2, 2))
    assert SparseNdArray.from_scipy(twice).tolist() == [[0.0, 3.0], [4.0, 0.0]]
    assert twice.nnz == 3
    assert SparseNdArray.from_scipy(scipy.sparse.coo_array(np.array([0, 5, 0]))).tolist() == [0, 5, 0]
    assert SparseNdArray.from_scipy(scipy.sparse.csr_matrix(np.eye(2))).tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_what_scipy_does_not_take():
    with pytest.raises(ShapeError):
        ndarrays.sparse_of([[0]], [1.0], 2).to_scipy()
    with pytest.raises(ValueError, match="default"):
        ndarrays.sparse_of([[0, 0]], [1.0], (2, 2), default=2.0).to_scipy()
