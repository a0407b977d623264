"""Items moved within an array by way of little memory lie where numpy would put a copy of them."""

import itertools

import numpy as np
import pytest

from tensorbuf import permutation, places
from tensorbuf.places import Places

SHAPES = ((6, 10), (13, 7), (7, 13), (9, 9), (2, 40), (40, 2), (4, 5, 6), (5, 5, 3), (3, 7, 7), (2, 3, 4, 5))
DTYPES = ("u1", "i2", ">f4", "f8", "c16")


def arrays(size: int, dtype: str):
    """Arrays of `size` places: without gaps, with a gap behind each item, and with one behind each row."""
    buffer = (np.arange(16 * (3 * size + 8)) % 251).astype(np.uint8)
    item = np.dtype(dtype).itemsize
    yield buffer, np.ndarray(size, dtype, buffer, 1)
    yield buffer, np.ndarray(size, dtype, buffer, 3, 2 * item)
    for row in (2, 3, 10):
        if size % row == 0:
            yield buffer, np.ndarray((size // row, row), dtype, buffer, 0, (item * (row + 1), item))


@pytest.mark.parametrize("room", [16, 100, 700, 1 << 18])
@pytest.mark.parametrize("dtype", DTYPES)
def test_axes_in_any_order(dtype, room, monkeypatch):
    monkeypatch.setattr(places, "ROOM", room)
    for shape in SHAPES:
        for order in itertools.permutations(range(len(shape))):
            for buffer, array in arrays(int(np.prod(shape)), dtype):
                values = np.arange(array.size).astype(dtype).reshape(shape)
                array[...] = values.transpose(order).reshape(array.shape)
                want = buffer.copy()
                array[...] = values.reshape(array.shape)
                permutation.transpose(Places(array), shape, order)
                assert buffer.tobytes() == want.tobytes(), (shape, order, array.strides)


@pytest.mark.parametrize("room", [16, 100, 700])
def test_axes_reversed(room, monkeypatch):
    monkeypatch.setattr(places, "ROOM", room)
    for shape in SHAPES:
        for count in range(len(shape) + 1):
            for axes in itertools.combinations(range(len(shape)), count):
                frame = np.arange(np.prod(shape) * 2, dtype=np.int32).reshape(*shape, 2)
                array = frame[..., 0]
                want = frame.copy()
                want[..., 0] = np.flip(array, axes)
                permutation.reverse(Places(array), axes)
                assert frame.tobytes() == want.tobytes(), (shape, axes)


def test_many_windows_of_many_cycles(monkeypatch):
    """Neither side can be cut into bands, and one byte of bits is all that tells which runs have been moved."""
    monkeypatch.setattr(places, "ROOM", 1)
    values = np.arange(101 * 67).astype(np.int16)
    array = values.copy()
    permutation.transpose(Places(array), (101, 67), (1, 0))
    assert array.tobytes() == values.reshape(101, 67).T.tobytes()


@pytest.mark.parametrize("shape", [(1009, 613), (613, 1009), (99_991, 7), (7, 99_991), (800, 800), (3, 5, 30_011)])
def test_large_ones(shape):
    values = np.arange(np.prod(shape), dtype=np.float32)
    for order in itertools.permutations(range(len(shape))):
        array = values.copy()
        permutation.transpose(Places(array), shape, order)
        assert array.tobytes() == values.reshape(shape).transpose(order).tobytes(), order
