"""Plans and arrays in the worker processes of Python itself."""

import concurrent.futures
import multiprocessing
import os

import numpy as np
import pytest

from tensorbuf import Converter, NdArray, ShapeError

FRAMES = np.random.default_rng(3).integers(0, 256, (4, 5, 6, 3), "uint8")
NORMALIZE = Converter.normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225], layout="HWC->CHW")


@pytest.fixture(params=multiprocessing.get_all_start_methods())
def workers(request):
    context = multiprocessing.get_context(request.param)
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as executor:
        yield executor
    assert multiprocessing.active_children() == []


def test_a_plan_travels(workers):
    found = list(workers.map(NORMALIZE, FRAMES))
    assert np.array_equal(found, [NORMALIZE(frame) for frame in FRAMES])
    assert list(workers.map(NORMALIZE, map(NdArray, FRAMES))) == [NdArray(array) for array in found]
    with pytest.raises(ShapeError, match=r"axis 2 of shape \(5, 6, 2\) has 2 channels"):
        list(workers.map(NORMALIZE, [FRAMES[0], FRAMES[1][..., :2], FRAMES[2]]))
    with pytest.raises(concurrent.futures.BrokenExecutor, match="terminated abruptly"):
        workers.submit(os._exit, 1).result()
