"""`tensorbuf.torch` in a DataLoader, in this process and with worker processes."""

import gc
import itertools
import multiprocessing
import os
import signal
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, default_collate

from tensorbuf import (
    Converter,
    NdArray,
    ShapedArray,
    ShapeError,
    SparseNdArray,
    TensorBuffer,
    convert,
    from_memory,
    index,
)
from tensorbuf.torch import collate_fn


class Pair(NamedTuple):
    first: Any
    second: Any


METHODS = multiprocessing.get_all_start_methods()
NORMALIZE = Converter.normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225], layout="HWC->CHW")


def buffer_of(array):
    buffer = TensorBuffer.create_fixed_size(array.shape, array.dtype)
    buffer.load_array(array)
    return buffer


@pytest.fixture(autouse=True)
def _no_worker_stays():
    yield
    # An error that was caught has held the loader, whose end ends the workers.
    gc.collect()
    assert multiprocessing.active_children() == []


FACADES = {
    "NdArray": NdArray,
    "reversed": lambda array: NdArray(array[::-1].copy()).slice(index.flip()),
    "table": lambda array: NdArray(array).slice(index.seq(*range(len(array)))),
    "read-only": lambda array: from_memory(array.tobytes(), array.shape, array.dtype),
    "sparse": lambda array: SparseNdArray.from_dense(NdArray(array)),
    "TensorBuffer": buffer_of,
    "ShapedArray": ShapedArray,
    "ShapedArraySlice": lambda array: ShapedArray(array[np.newaxis])[0],
}


def nested(i, make):
    """An element of a dataset, with `make` in every place that may hold an array."""
    array = np.arange(6, dtype="float32").reshape(2, 3) + i
    pair = Pair(make(array), [make(array + 1), i])
    return {"array": make(array), "tuple": (make(array.astype("int16")), i / 2), "pair": pair, "name": f"number {i}"}


def leaves(x):
    if isinstance(x, dict):
        return [leaf for key in x for leaf in leaves(x[key])]
    return [leaf for part in x for leaf in leaves(part)] if isinstance(x, (list, tuple)) else [x]


def agree(found, expected):
    """Whether two batches are the same in structure, types and values."""
    assert [type(x) for x in leaves(found)] == [type(x) for x in leaves(expected)]
    for x, y in zip(leaves(found), leaves(expected), strict=True):
        same = x.dtype == y.dtype and torch.equal(x, y) if isinstance(x, torch.Tensor) else x == y
        assert same, (x, y)
    assert repr(found) == repr(expected)


@pytest.mark.parametrize("name", FACADES)
def test_arrays_are_taken_as_tensors(name):
    batch = [nested(i, FACADES[name]) for i in range(3)]
    agree(collate_fn(batch), default_collate([nested(i, torch.from_numpy) for i in range(3)]))


def test_whatever_torch_takes():
    for make in (torch.from_numpy, np.asarray):
        batch = [nested(i, make) for i in range(3)]
        agree(collate_fn(batch), default_collate(batch))
    mixed = [NdArray([1]), torch.tensor([2]), np.array([3])]
    for batch in itertools.permutations(mixed):
        assert collate_fn(batch).tolist() == [x.tolist() for x in batch]


@pytest.mark.parametrize("dtype", ["bool", "uint8", "uint64", "bfloat16", "float8_e5m2", "complex64"])
def test_types(dtype):
    array = convert(NdArray([[0, 1], [1, 1]]), dtype)
    batch = collate_fn([array[0], array[1]])
    assert batch.dtype == array.to_torch().dtype
    assert batch.to(torch.complex64).real.tolist() == [[0, 1], [1, 1]]


def test_a_batch_is_a_copy():
    array = NdArray(np.zeros(3))
    batch = collate_fn([array])
    batch[...] = 1
    assert array.tolist() == [0, 0, 0]


@pytest.mark.parametrize("method", METHODS)
def test_worker_processes(method):
    # A class of this file is not found by a process that did not start from this one.
    keys = nested(0, NdArray).keys() - ({"pair"} if method != "fork" else set())

    def element(i, make):
        return {key: value for key, value in nested(i, make).items() if key in keys}

    data = [element(i, make) for i, make in enumerate(FACADES.values())]
    loader = DataLoader(data, 4, num_workers=2, multiprocessing_context=method, collate_fn=collate_fn)
    batches = list(loader)
    assert len(batches) == 2
    for k, batch in enumerate(batches):
        agree(batch, default_collate([element(i, torch.from_numpy) for i in range(4 * k, 4 * k + 4)]))


class Frames:
    """A dataset that carries a plan."""

    def __init__(self, plan):
        self.plan = plan

    def __len__(self):
        return 4

    def __getitem__(self, i):
        if i >= len(self):
            raise IndexError(i)
        return self.plan(np.full((4, 5, 3), i, np.uint8)), i


def test_a_plan_as_the_transform_and_as_the_collate():
    frames = np.stack([np.full((4, 5, 3), i, np.uint8) for i in range(4)])
    expected = torch.stack([torch.from_numpy(NORMALIZE(frame)) for frame in frames])
    loader = DataLoader(Frames(NORMALIZE), 4, num_workers=1, multiprocessing_context="fork", collate_fn=collate_fn)
    ((images, labels),) = loader
    assert torch.equal(images, expected)
    assert labels.tolist() == [0, 1, 2, 3]
    batched = Converter.normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225], layout="NHWC->NCHW")
    (images,) = DataLoader(list(frames), 4, num_workers=1, multiprocessing_context="fork", collate_fn=batched)
    assert torch.equal(images.to_torch(), expected)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_wrong_shape_in_the_middle(workers):
    data = [NdArray(np.zeros((2, 3)))] * 5 + [NdArray(np.zeros((2, 5)))] + [NdArray(np.zeros((2, 3)))] * 2
    how = {"multiprocessing_context": "fork"} if workers else {}
    loader = DataLoader(data, 2, num_workers=workers, collate_fn=collate_fn, **how)
    batches = iter(loader)
    assert [next(batches).shape for _ in range(2)] == [(2, 2, 3)] * 2
    with pytest.raises(ShapeError, match=r"element 1 of the batch has shape \(2, 5\), element 0 has \(2, 3\)"):
        next(batches)
    assert [batch.shape for batch in batches] == [(2, 2, 3)]


def test_a_killed_worker():
    data = Frames(lambda frame: os.kill(os.getpid(), signal.SIGKILL))
    loader = DataLoader(data, 2, num_workers=2, multiprocessing_context="fork", collate_fn=collate_fn)
    with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid.*\) (is killed by signal|exited unexpectedly)"):
        list(loader)


def test_what_is_refused():
    with pytest.raises(TypeError, match="torch has no tensors of objects"):
        collate_fn([NdArray(["a"])])
    with pytest.raises(TypeError, match="default_collate"):
        collate_fn([object()])
