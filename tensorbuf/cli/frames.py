"""Reading: every input is frames of one shape and type, that come in blocks of a few at a time."""

from __future__ import annotations

import io
import mmap
from collections.abc import Iterator
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt

from tensorbuf.cli.streams import read_some
from tensorbuf.doors.whole_file import naming
from tensorbuf.memory import empty

__all__ = ["ArrayFrames", "Frames", "RawFrames", "cut_off"]

# A block is a few frames and about as long as this: long enough that a call costs little beside its loop, and short
# enough that input and output stay in the processor's cache.
_BLOCK_BYTES = 1 << 18

# How much of a mapped file is kept before it is let go.
_MAPPED_BYTES = 1 << 24


class Frames(Protocol):
    """Frames of one shape and type.

    Attributes
    ----------
    given : tuple of int
        The shape that the user knows: of the whole array, or of one raw frame.
    shape : tuple of int
        The shape of one frame.
    dtype : numpy.dtype
        The element type, in the byte order of the input.
    nbytes : int or None
        The bytes of all frames, None where the end is not known.
    stacked : bool
        True if the frames are the elements of one array on its first axis, so that the result has that axis too. False
        if each stands alone: then several give a result with a new first axis, and one alone keeps its shape.
    left_over : int
        After the last block: the bytes of a last frame that was cut off.
    """

    given: tuple[int, ...]
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    nbytes: int | None
    stacked: bool
    left_over: int

    def name(self, i: int) -> str:
        """What to call frame `i` in an error."""
        ...

    def blocks(self) -> Iterator[npt.NDArray[Any]]:
        """The frames in order, as arrays of shape ``(n, *shape)``. The next block may use the memory of the last."""
        ...


class RawFrames:
    """Frames that follow each other in a file or a pipe, without anything between them, up to its end.

    Frames are handed on as soon as they are there, so a slow source never waits for a full block.
    """

    stacked = False

    def __init__(
        self, file: io.FileIO, name: str, shape: tuple[int, ...], dtype: np.dtype[Any], nbytes: int | None
    ) -> None:
        self.given = self.shape = shape
        self.dtype = dtype
        self.nbytes = nbytes
        self.left_over = 0
        self._file = file
        self._file_name = name

    def name(self, i: int) -> str:
        return f"frame {i}"

    def blocks(self) -> Iterator[npt.NDArray[Any]]:
        one = int(np.prod(self.shape, dtype=object)) * self.dtype.itemsize
        memory = empty((one * max(1, _BLOCK_BYTES // one),), np.dtype(np.uint8))
        filled = 0
        while count := self._read(memory[filled:]):
            filled += count
            whole = filled - filled % one
            if whole:
                yield memory[:whole].view(self.dtype).reshape(-1, *self.shape)
                filled -= whole
                memory[:filled] = memory[whole : whole + filled]
        self.left_over = filled

    def _read(self, memory: npt.NDArray[np.uint8]) -> int:
        with naming(self._file_name):
            return read_some(self._file, memory)


class ArrayFrames:
    """An array as a stack of its elements on axis 0, or as a single frame.

    The pages of the `mapping` that it lies in, if it does, count as this process's memory once they have been read; so
    they are let go on the way.
    """

    left_over = 0

    def __init__(self, array: npt.NDArray[Any], *, stacked: bool, mapping: mmap.mmap | None = None) -> None:
        self.given: tuple[int, ...] = array.shape
        self.shape = cast("tuple[int, ...]", array.shape[1:] if stacked else array.shape)
        self.dtype = array.dtype
        self.nbytes: int | None = array.nbytes
        self.stacked = stacked
        self._array = array if stacked else array[np.newaxis]
        self._mapping = mapping

    def name(self, i: int) -> str:
        return f"array[{i}]" if self.stacked else "array"

    def blocks(self) -> Iterator[npt.NDArray[Any]]:
        one = max(1, self._array[:1].nbytes)
        step = max(1, _BLOCK_BYTES // one)
        since = 0
        for start in range(0, len(self._array), step):
            yield self._array[start : start + step]
            since += step * one
            if since >= _MAPPED_BYTES and self._mapping is not None and hasattr(mmap, "MADV_DONTNEED"):
                self._mapping.madvise(mmap.MADV_DONTNEED)
                since = 0


def cut_off(frames: Frames, count: int) -> str:
    """The sentence about an input that ended within a frame, after `count` whole ones."""
    one = int(np.prod(frames.shape, dtype=object)) * frames.dtype.itemsize
    return (
        f"the input ends within a frame: {count} whole frame{'s' * (count != 1)} of {one} bytes, "
        f"{frames.left_over} bytes left over"
    )
