"""One conversion of each pair of types, in the cache: where a kernel is slower than its neighbours, look at it."""

import numpy as np
import pytest

from tensorbuf import DataType, convert

TYPES = [dtype for dtype in DataType if dtype is not DataType.STRING]
PAIRS = [(a, b) for a in TYPES for b in TYPES if not (a.is_complex and not b.is_complex and b is not DataType.BOOL)]


@pytest.mark.parametrize(("source", "target"), PAIRS, ids=lambda dtype: dtype.name.lower())
def test_pair(source, target, benchmark):
    x = np.random.default_rng(0).integers(0, 100, 4096).astype(source.numpy_dtype)
    out = np.empty(x.shape, target.numpy_dtype)
    benchmark(convert, x, target, out=out)
    assert np.count_nonzero(out) == np.count_nonzero(x)
