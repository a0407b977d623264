"""DataBuffer: a vector of elements in any kind of storage."""

from __future__ import annotations

import copy
import math
from typing import Any, Self, SupportsIndex

import numpy as np

from tensorbuf._kernels.exporter import Exporter
from tensorbuf.assignment import assigned, assigned_objects
from tensorbuf.equality import all_equal, same_dtype
from tensorbuf.errors import ReadOnlyError, ShapeError, shown
from tensorbuf.nd_array import NdArray
from tensorbuf.shape import check_integer
from tensorbuf.source import memory_of
from tensorbuf.storage import MemoryStorage, Storage
from tensorbuf.typed_access import TypedAccess
from tensorbuf.view import shown_values
from tensorbuf.visitor import DataStorageVisitor
from tensorbuf.window import DataBufferWindow

__all__ = ["DataBuffer"]

Array = np.ndarray[Any, Any]

_BYTES = {np.dtype(np.int8), np.dtype(np.uint8)}


class DataBuffer(TypedAccess, Exporter):
    """A vector of elements of one dtype: in memory, as bits, or through a layout.

    Made by the functions of `tensorbuf.databuffers`, and by its own methods, which *share* the elements. Positions are
    0 to ``size - 1``; negative ones are an IndexError.

    Examples
    --------
    >>> from tensorbuf import databuffers
    >>> buffer = databuffers.of_ints(5).write([1, 2, 3])
    >>> buffer.offset(2).set_int(-7, 0).size
    3
    >>> buffer
    DataBuffer(size=5, dtype=int32, values=[1, 2, -7, 0, 0])

    References
    ----------
    ``org.tensorflow.ndarray.buffer.DataBuffer``.
    """

    __slots__ = ("_storage",)
    __hash__ = None  # type: ignore[assignment]

    _storage: Storage

    def __init__(self, *args: object, **options: object) -> None:
        raise TypeError("make a DataBuffer by the functions of tensorbuf.databuffers, as of_floats or of")

    @classmethod
    def _over(cls, storage: Storage) -> Self:
        buffer = cls.__new__(cls)
        buffer._place(storage)
        return buffer

    def _place(self, storage: Storage) -> None:
        self._storage = storage
        memory = storage.memory()
        self._array = None if memory is None or memory.dtype.hasobject else memory

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._storage.size

    @property
    def dtype(self) -> np.dtype[Any]:
        """The numpy dtype of the elements."""
        return self._storage.dtype

    @property
    def read_only(self) -> bool:
        """True if writing is refused."""
        return self._storage.read_only

    def get_object(self, i: SupportsIndex) -> Any:
        """The value of element `i`. Outside ``0 <= i < size``: IndexError."""
        return self._storage.get(self._position(i))

    def set_object(self, value: Any, i: SupportsIndex) -> Self:
        """Assigns element `i`; returns the buffer.

        Raises
        ------
        IndexError
            If `i` is outside ``0 <= i < size``.
        TypeError
            If the value is not of the buffer's kind: a float for an integer, anything but a bool for a bool.
        ConversionError
            If it does not fit the dtype.
        ReadOnlyError
            If the buffer is read-only.
        """
        self._check_writable()
        self._storage.set(value, self._position(i))
        return self

    def read(self, dst: Any, offset: SupportsIndex = 0, length: SupportsIndex | None = None) -> Self:
        """Copies the front of the buffer to ``dst[offset : offset + length]``, and returns the buffer.

        Parameters
        ----------
        dst : list or 1-D array-like
            Writable memory of the buffer's dtype, or a list, which gets Python values.
        offset : int
            Where in `dst` to begin, ``0 <= offset <= len(dst)``.
        length : int, optional
            How many elements; by default all that `dst` has room for.

        Raises
        ------
        IndexError
            If `offset` is outside `dst`.
        ShapeError
            If `length` is negative, more than `dst` has room for, or more than `size`; or `dst` is not 1-D.
        TypeError
            If `dst` is of another dtype.
        ReadOnlyError
            If `dst` is read-only.
        """
        if isinstance(dst, list):
            start, count = self._extent(len(dst), offset, length)
            dst[start : start + count] = self._part(0, count).values().tolist()
            return self
        array = self._matching(memory_of(dst))
        start, count = self._extent(len(array), offset, length)
        target = MemoryStorage(NdArray._wrap(array[start : start + count]))
        if target.read_only:
            raise ReadOnlyError("the memory to read into is read-only")
        target.store(self._part(0, count).values())
        return self

    def write(self, src: Any, offset: SupportsIndex = 0, length: SupportsIndex | None = None) -> Self:
        """Copies ``src[offset : offset + length]`` to the front of the buffer, and returns the buffer.

        Parameters
        ----------
        src : list or 1-D array-like
            An array of the buffer's dtype, or a list, whose values are converted with ``overflow="raise"``.
        offset : int
            Where in `src` to begin, ``0 <= offset <= len(src)``.
        length : int, optional
            How many elements; by default all to the end of `src`.

        Raises
        ------
        IndexError
            If `offset` is outside `src`.
        ShapeError
            If `length` is negative, more than `src` has, or more than `size`; or `src` is not 1-D.
        TypeError
            If `src` is of another dtype.
        ConversionError
            If a listed value does not fit.
        ReadOnlyError
            If the buffer is read-only.
        """
        self._check_writable()
        source = list(src) if isinstance(src, (list, tuple, range)) else self._matching(memory_of(src))
        start, count = self._extent(len(source), offset, length)
        values = source[start : start + count]
        if self.dtype.hasobject:
            values = assigned_objects(values, 1, self._storage.element_type or object)
        else:
            values = self._matching(assigned(values, self.dtype))
        self._part(0, count).store(values)
        return self

    def copy_to(self, dst: DataBuffer, size: SupportsIndex) -> Self:
        """Copies the first `size` elements to the front of another buffer, and returns this one.

        The storages may differ (bits, layouts), the dtypes may not. Buffers may overlap: it is as if the source were
        read first.

        Raises
        ------
        TypeError
            If the dtypes differ.
        ShapeError
            If `size` is negative or more than either buffer has.
        ValueError
            If `dst` is this buffer.
        ReadOnlyError
            If `dst` is read-only.
        """
        if not isinstance(dst, DataBuffer):
            raise TypeError(f"copy_to takes a DataBuffer, got {shown(dst)}")
        if dst is self:
            raise ValueError("a buffer cannot be copied to itself")
        dst._check_dtype(self.dtype)
        count = check_integer(size, "a size")
        least = min(self.size, dst.size)
        if not 0 <= count <= least:
            raise ShapeError(f"{count} elements cannot be copied; the buffers have {self.size} and {dst.size}")
        dst._check_writable()
        dst._part(0, count).store(self._part(0, count).values())
        return self

    def offset(self, i: SupportsIndex) -> Self:
        """The elements from `i` on, ``0 <= i <= size`` (else IndexError); *shares* them."""
        start = self._start(i)
        return self._over(self._part(start, self.size - start))

    def narrow(self, n: SupportsIndex) -> Self:
        """The first `n` elements, ``0 <= n <= size`` (else ShapeError); *shares* them."""
        return self.slice(0, n)

    def slice(self, i: SupportsIndex, n: SupportsIndex) -> Self:
        """The `n` elements from `i` on; *shares* them.

        Raises
        ------
        IndexError
            If `i` is outside ``0 <= i <= size``.
        ShapeError
            If `n` is negative or more than the buffer has from `i` on.
        """
        start = self._start(i)
        count = check_integer(n, "a size")
        if not 0 <= count <= self.size - start:
            raise ShapeError(f"{count} elements from {start} on do not lie within a buffer of size {self.size}")
        return self._over(self._part(start, count))

    def window(self, n: SupportsIndex) -> DataBufferWindow[Self]:
        """A window of `n` elements that can slide along the buffer; it starts at 0. Unless ``0 <= n <= size``:
        ShapeError.

        Examples
        --------
        >>> from tensorbuf import databuffers
        >>> window = databuffers.of([0, 1, 2, 3, 4]).window(2)
        >>> window.slide_to(2).slide(1).buffer
        DataBuffer(size=2, dtype=int64, values=[3, 4])
        """
        return DataBufferWindow(self, self.narrow(n))

    def accept(self, visitor: DataStorageVisitor) -> Any:
        """Shows the storage to a visitor, and returns what the visitor returns.

        Memory is shown by ``visit``, as a 1-D numpy array that *shares* it; bits and layouts by ``fallback``.

        Raises
        ------
        TypeError
            If `visitor` has no ``visit`` and ``fallback``.
        """
        if not (hasattr(visitor, "visit") and hasattr(visitor, "fallback")):
            raise TypeError(f"a DataStorageVisitor is needed, got {type(visitor).__name__}")
        memory = self._storage.memory()
        return visitor.fallback() if memory is None else visitor.visit(memory.view())

    def to_numpy(self, copy: bool | None = None) -> Array:
        """The elements as a 1-D numpy array; it *shares* plain memory unless `copy`. Others are copied (False:
        ValueError)."""
        return self.__array__(copy=copy)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        memory = self._storage.memory()
        if memory is None and copy is False:
            raise ValueError("bits and layouts have no memory to share; leave copy out")
        return np.array(self._storage.values().view(), dtype=dtype, copy=copy)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DataBuffer) or self.size != other.size or not same_dtype(self.dtype, other.dtype):
            return False
        return all_equal(self._storage.values(), other._storage.values())

    def __repr__(self) -> str:
        values = shown_values(map(self.get_object, range(self.size)), self.size)
        return f"DataBuffer(size={self.size}, dtype={self.dtype}, values={values})"

    def __reduce__(self) -> tuple[Any, ...]:
        return self._over, (self._storage,)

    def __copy__(self) -> Self:
        return self._over(copy.copy(self._storage))

    def _part(self, start: int, count: int) -> Storage:
        return self._storage.part(start, count)

    def _position(self, i: SupportsIndex) -> int:
        position = check_integer(i, "a position")
        if not 0 <= position < self.size:
            raise IndexError(f"position {position} is outside a buffer of size {self.size}")
        return position

    def _start(self, i: SupportsIndex) -> int:
        start = check_integer(i, "a position")
        if not 0 <= start <= self.size:
            raise IndexError(f"position {start} is outside 0 to {self.size}, the size of the buffer")
        return start

    def _extent(self, room: int, offset: SupportsIndex, length: SupportsIndex | None) -> tuple[int, int]:
        """The checked start and number of elements within an array of length `room`."""
        start = check_integer(offset, "an offset")
        if not 0 <= start <= room:
            raise IndexError(f"offset {start} is outside an array of length {room}")
        count = room - start if length is None else check_integer(length, "a length")
        if not 0 <= count <= min(room - start, self.size):
            raise ShapeError(
                f"{count} elements: the array has {room - start} from {start} on, the buffer has {self.size}"
            )
        return start, count

    def _matching(self, array: Array) -> Array:
        self._check_dtype(array.dtype)
        if array.ndim != 1:
            raise ShapeError(f"a buffer reads and writes arrays of rank 1, got shape {array.shape}")
        return array

    def _check_dtype(self, dtype: np.dtype[Any]) -> None:
        if not same_dtype(self.dtype, dtype):
            raise TypeError(f"the buffer holds {self.dtype}, not {dtype}")

    def _check_writable(self) -> None:
        if self.read_only:
            raise ReadOnlyError("the buffer is read-only; write to a copy of it")

    def _reinterpreted(self, dtype: np.dtype[Any]) -> Self:
        memory = self._storage.memory()
        if memory is None or memory.dtype not in _BYTES:
            raise TypeError(f"only the memory of 8-bit buffers is read as {dtype}, this one holds {self.dtype}")
        if not memory.flags.c_contiguous or memory.nbytes % dtype.itemsize:
            raise ShapeError(
                f"{memory.nbytes} bytes, {memory.strides[0]} apart, are no whole number of {dtype} elements"
            )
        return self._over(MemoryStorage(NdArray._wrap(memory.view(dtype))))

    def _receive(self, source: NdArray) -> None:
        """The other side of `NdArray.copy_to`."""
        self._check_dtype(source.dtype)
        self._check_writable()
        if self._storage.memory() is None:
            self._front(source.shape).store(source._read().reshape(-1))
        else:
            self._shaped(source.shape).set(source)

    def _give(self, target: NdArray) -> None:
        """The other side of `NdArray.copy_from`."""
        self._check_dtype(target.dtype)
        target.set(self._front(target.shape).values().reshape(target.shape))

    def _front(self, shape: tuple[int, ...]) -> Storage:
        """The first elements, as many as the shape needs."""
        if math.prod(shape) > self.size:
            raise ShapeError(f"shape {shape} needs {math.prod(shape)} elements, the buffer has {self.size}")
        return self._part(0, math.prod(shape))

    def _shaped(self, shape: tuple[int, ...]) -> NdArray:
        """An array of the first elements, which it *shares*; TypeError where they do not lie in memory."""
        front = self._front(shape)
        if not isinstance(front, MemoryStorage):
            raise TypeError("bits and layouts have no memory that an array could share; copy the elements out")
        return front.vector.with_shape(shape)
