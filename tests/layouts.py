"""Arrays of every memory layout, placed in a buffer whose other bytes can be watched."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Layout(NamedTuple):
    """How the elements of an array lie in a buffer.

    `order` lists the axes from the slowest to the fastest ("C", "F", or "M": the first two exchanged); `gap` is the
    count of bytes between two neighbours, `padding` that after each row, `offset` where the array begins.
    """

    order: str = "C"
    gap: int = 0
    padding: int = 0
    backward: bool = False
    offset: int = 0
    swapped: bool = False

    def place(self, shape: tuple[int, ...], dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
        """A new buffer, with a mark in every byte, and the array in it."""
        nbytes = self.extent(shape, dtype.itemsize)
        buffer = (np.arange(nbytes + 64) % 251).astype(np.uint8)
        return buffer, self.within(buffer, shape, dtype)

    def within(self, buffer: np.ndarray, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """The array in a buffer that is large enough."""
        strides, offset, _ = self._geometry(shape, dtype.itemsize)
        if self.swapped and has_byte_order(dtype):
            dtype = dtype.newbyteorder()
        return np.ndarray(shape, dtype, buffer, offset, strides)

    def extent(self, shape: tuple[int, ...], itemsize: int) -> int:
        """The byte where the array ends."""
        return self._geometry(shape, itemsize)[2]

    def _geometry(self, shape: tuple[int, ...], itemsize: int) -> tuple[tuple[int, ...], int, int]:
        axes = list(range(len(shape)))
        if self.order == "F":
            axes.reverse()
        elif self.order == "M":
            axes[:2] = axes[:2][::-1]
        strides = [0] * len(shape)
        step, padding = itemsize + self.gap, self.padding
        for axis in reversed(axes):
            strides[axis] = step
            step = step * shape[axis] + padding
            padding = 0
        offset = self.offset
        if self.backward and 0 not in shape:
            offset += sum((n - 1) * stride for n, stride in zip(shape, strides, strict=True))
            strides = [-stride for stride in strides]
        return tuple(strides), offset, self.offset + step


def has_byte_order(dtype: np.dtype) -> bool:
    """Whether numpy can swap the type's bytes; it cannot those of bfloat16."""
    return dtype.newbyteorder(">") != dtype.newbyteorder("<")


LAYOUTS = (
    Layout(),
    Layout(order="F"),
    Layout(order="M"),
    Layout(backward=True),
    Layout(offset=1),
    Layout(gap=3),
    Layout(gap=8),
    Layout(padding=5, offset=3),
    Layout(swapped=True),
    Layout(swapped=True, order="F", offset=7, gap=1),
    Layout(backward=True, order="M", padding=16),
    Layout(swapped=True, backward=True, offset=2),
)


def placed(values: np.ndarray, layout: Layout) -> np.ndarray:
    """The values in another layout, bit for bit."""
    array = layout.place(values.shape, values.dtype)[1]
    copy_bits(array, values)
    return array


def copy_bits(target: np.ndarray, source: np.ndarray) -> None:
    """Copy between two arrays of one type; the bytes of a bool stay as they are."""
    if source.dtype == bool:
        target, source = target.view(np.uint8), source.view(np.uint8)
    target[...] = source
