"""Where the items of an array lie in memory: its places, counted in the order of their addresses."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorbuf._kernels import pipeline
from tensorbuf.dtypes import CODES
from tensorbuf.memory import empty

__all__ = ["ROOM", "Places", "Slabs", "move"]

Array = np.ndarray[Any, Any]

# Bytes of what is moved at once by way of other memory: as small as the caches like it, with calls that pay.
ROOM = 1 << 18

# Types that stand for all of an item size, and their codes; two of the largest make the largest complex number.
_WORDS = {dtype.itemsize: (dtype, code) for dtype, code in CODES.items() if dtype.kind == "u"}


class Places:
    """The places of the items of an array, none of whose axes has length 1.

    `axes` are its axes, the one with the longest steps first, and `backward` those on which addresses fall. `array` has
    its axes in that order, all forward, so that its items in row-major order are in the order of their places.
    """

    __slots__ = ("_address", "_forward", "_merged", "_room", "array", "axes", "backward")

    def __init__(self, array: Array) -> None:
        self.axes = tuple(sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis])))
        self.backward = frozenset(axis for axis in self.axes if array.strides[axis] < 0)
        self._forward = tuple(slice(None, None, -1 if axis in self.backward else 1) for axis in self.axes)
        self.array: Array = array.transpose(self.axes)[self._forward]
        self._address = self.array.ctypes.data
        self._merged: Array | None = None
        self._room: Array | None = None

    @property
    def merged(self) -> Array:
        """The same places as an array of as few axes as can be."""
        if self._merged is None:
            self._merged = _merged(self.array)
        return self._merged

    @property
    def room(self) -> Array:
        """Other memory, for as many items as are moved at once."""
        if self._room is None:
            self._room = empty((min(self.array.size, max(1, ROOM // self.array.itemsize)),), self.array.dtype)
        return self._room

    def apart(self) -> bool:
        """Whether each item lies wholly behind the one before."""
        extent = self.array.itemsize
        for size, stride in zip(reversed(self.array.shape), reversed(self.array.strides), strict=True):
            if stride < extent:
                return False
            extent = stride * size
        return True

    def shaped(self, shape: tuple[int, ...]) -> Array | None:
        """The places as an array of that shape, in row-major order; None where no strides describe that."""
        if self.merged.ndim == 1 or self.array.shape == tuple(size for size in shape if size != 1):
            return self.array.reshape(shape)
        return None

    def box(self, slab: tuple[slice, ...]) -> tuple[slice, ...]:
        """The slices of the given array that a slab of `array` is."""
        lies = dict(zip(self.axes, zip(slab, self.array.shape, strict=True), strict=True))
        return tuple(
            slice(size - part.stop, size - part.start) if axis in self.backward else part
            for axis, (part, size) in sorted(lies.items())
        )

    def as_given(self, values: Array) -> Array:
        """An array of items in the order of places, with axes and directions as in the given array."""
        return values[self._forward].transpose(np.argsort(self.axes))

    def span(self, start: int, stop: int) -> tuple[int, int]:
        """The addresses between which the places from `start` on, before `stop`, lie."""
        return self._address_of(start), self._address_of(stop - 1) + self.array.itemsize

    def _address_of(self, place: int) -> int:
        address = self._address
        for size, stride in zip(reversed(self.merged.shape), reversed(self.merged.strides), strict=True):
            place, coordinate = divmod(place, size)
            address += coordinate * stride
        return address

    def store(self, start: int, values: Array) -> None:
        """Put values, taken in row-major order, into the places from `start` on."""
        if self.merged.ndim == 1:
            move(values, self.merged[start : start + values.size].reshape(values.shape))
            return
        flat = values.reshape(-1)
        for part, among in self._boxes(start, values.size):
            move(flat[among].reshape(part.shape), part)

    def load(self, start: int, into: Array) -> None:
        """Fetch the items at the places from `start` on, into contiguous memory."""
        flat = into.reshape(-1)
        if self.merged.ndim == 1:
            move(self.merged[start : start + flat.size], flat)
            return
        for part, among in self._boxes(start, flat.size):
            move(part, flat[among].reshape(part.shape))

    def shift(self, start: int, to: int, size: int) -> None:
        """Move the items at `size` places from `start` on to those from `to` on."""
        for done in range(0, size, self.room.size):
            part = self.room[: min(self.room.size, size - done)]
            at = done if to < start else size - done - part.size
            self.load(start + at, part)
            self.store(to + at, part)

    def _boxes(self, start: int, size: int) -> Iterator[tuple[Array, slice]]:
        """Parts of the array that hold the places from `start` on, each with where it is among these."""
        done = 0
        for box in _boxes(self.merged.shape, start, start + size):
            part = self.merged[box]
            yield part, slice(done, done + part.size)
            done += part.size


def move(src: Array, dst: Array) -> None:
    """Copy bits between arrays of one item size and shape that share no memory."""
    word, code = _WORDS[min(src.itemsize, 8)]
    src, dst = src[..., np.newaxis].view(word), dst[..., np.newaxis].view(word)
    pipeline.convert(src, code, dst, code, 0, 0, 0, False)


class Slabs:
    """The parts of an array of `most` items at the most that lie behind one another in row-major order."""

    __slots__ = ("_across", "_axis", "_inner", "_shape", "_step")

    def __init__(self, shape: tuple[int, ...], most: int) -> None:
        self._shape = shape
        self._axis = next(axis for axis in range(len(shape)) if math.prod(shape[axis + 1 :]) <= most)
        self._inner = math.prod(shape[self._axis + 1 :])
        self._step = most // max(1, self._inner)
        self._across = -(-shape[self._axis] // self._step)

    def __len__(self) -> int:
        return math.prod(self._shape[: self._axis]) * self._across

    def __getitem__(self, number: int) -> tuple[slice, ...]:
        row, part = divmod(number, self._across)
        outer = (slice(i, i + 1) for i in map(int, np.unravel_index(row, self._shape[: self._axis])))
        start = part * self._step
        stop = min(start + self._step, self._shape[self._axis])
        return (*outer, slice(start, stop), *(slice(0, size) for size in self._shape[self._axis + 1 :]))

    def __iter__(self) -> Iterator[tuple[slice, ...]]:
        return (self[number] for number in range(len(self)))

    def extent(self, number: int) -> tuple[int, int]:
        """The row-major positions at which a part begins, and at which the next one does."""
        row, part = divmod(number, self._across)
        size = self._shape[self._axis]
        start, stop = part * self._step, min((part + 1) * self._step, size)
        return (row * size + start) * self._inner, (row * size + stop) * self._inner


def _merged(array: Array) -> Array:
    shape = [array.shape[0]]
    stride = array.strides[0]
    for size, step in zip(array.shape[1:], array.strides[1:], strict=True):
        if stride == size * step:
            shape[-1] *= size
        else:
            shape.append(size)
        stride = step
    return array.reshape(shape)


def _boxes(shape: tuple[int, ...], start: int, stop: int) -> Iterator[tuple[slice, ...]]:
    """The row-major positions from `start` on, before `stop`, as boxes of coordinates."""
    if len(shape) == 1:
        yield (slice(start, stop),)
        return
    inner = math.prod(shape[1:])
    first, last = -(-start // inner), stop // inner  # the rows that are there as a whole
    if start < first * inner:
        yield from _in_row(shape, start, min(stop, first * inner))
    if first < last:
        yield (slice(first, last), *(slice(None) for _ in shape[1:]))
    if first <= last and last * inner < stop:
        yield from _in_row(shape, last * inner, stop)


def _in_row(shape: tuple[int, ...], start: int, stop: int) -> Iterator[tuple[slice, ...]]:
    """`_boxes` of positions that lie in one row."""
    row, start_in_row = divmod(start, math.prod(shape[1:]))
    for box in _boxes(shape[1:], start_in_row, start_in_row + stop - start):
        yield (slice(row, row + 1), *box)
