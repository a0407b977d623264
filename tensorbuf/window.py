"""DataBufferWindow: a part of a DataBuffer that slides along it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Self, SupportsIndex, TypeVar

from tensorbuf.shape import check_integer

if TYPE_CHECKING:
    from tensorbuf.data_buffer import DataBuffer

__all__ = ["DataBufferWindow"]

Buffer = TypeVar("Buffer", bound="DataBuffer")


class DataBufferWindow(Generic[Buffer]):
    """A part of a fixed size that slides along a buffer. Made by `DataBuffer.window`.

    References
    ----------
    ``org.tensorflow.ndarray.buffer.DataBufferWindow``.
    """

    __slots__ = ("_buffer", "_offset", "_source")

    def __init__(self, source: Buffer, front: Buffer) -> None:
        self._source = source
        self._buffer = front
        self._offset = 0

    def __repr__(self) -> str:
        return f"DataBufferWindow(offset={self.offset}, {self.buffer!r})"

    @property
    def offset(self) -> int:
        """The position in the source of the first element."""
        return self._offset

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._buffer.size

    @property
    def buffer(self) -> Buffer:
        """The elements in the window, *shared* with the source. It is one object, which slides with the window."""
        return self._buffer

    def slide_to(self, i: SupportsIndex) -> Self:
        """Moves the window to position `i`, and returns it. Where it does not fit: IndexError, and it stays."""
        offset = check_integer(i, "a position")
        last = self._source.size - self.size
        if not 0 <= offset <= last:
            raise IndexError(f"a window of {self.size} elements fits at the positions 0 to {last}, got {offset}")
        self._buffer._place(self._source._part(offset, self.size))
        self._offset = offset
        return self

    def slide(self, step: SupportsIndex) -> Self:
        """Moves the window by `step` elements, backward if negative, and returns it. Errors as `slide_to`."""
        return self.slide_to(self._offset + check_integer(step, "a step"))
