"""Where a DataBuffer keeps its elements: in plain memory, or as bits."""

from __future__ import annotations

import abc
import copy
from typing import Any, Self

import numpy as np

from tensorbuf import index
from tensorbuf.errors import shown
from tensorbuf.memory import zeros
from tensorbuf.nd_array import NdArray

__all__ = ["BitStorage", "MemoryStorage", "Storage"]

Array = np.ndarray[Any, Any]


class Storage(abc.ABC):
    """A vector of elements, of which a part is again one. Positions and lengths are checked by the buffer."""

    __slots__ = ()

    @property
    @abc.abstractmethod
    def size(self) -> int:
        """The number of elements."""

    @property
    @abc.abstractmethod
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the elements."""

    @property
    @abc.abstractmethod
    def read_only(self) -> bool:
        """True if writing is refused."""

    @abc.abstractmethod
    def get(self, i: int) -> Any:
        """The value of an element."""

    @abc.abstractmethod
    def set(self, value: Any, i: int) -> None:
        """Assigns an element, or raises what `NdArray.set_object` raises."""

    @abc.abstractmethod
    def values(self) -> Array:
        """All elements, as an array that *shares* their memory or as a copy."""

    @abc.abstractmethod
    def store(self, values: Array) -> None:
        """Writes all elements, from an array of the same dtype and size that may overlap them."""

    @abc.abstractmethod
    def __copy__(self) -> Self:
        """The same elements in new memory."""

    @abc.abstractmethod
    def part(self, i: int, n: int) -> Self:
        """The `n` elements from `i` on, *sharing* them."""

    @property
    def element_type(self) -> type | None:
        """What objects have to be instances of; None for every other dtype."""
        return None

    def memory(self) -> Array | None:
        """The elements' own memory; None where they have to be computed."""
        return None


class MemoryStorage(Storage):
    """Elements in memory: a rank-1 NdArray."""

    __slots__ = ("vector",)

    def __init__(self, vector: NdArray) -> None:
        self.vector = vector

    @property
    def size(self) -> int:
        return self.vector.size

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.vector.dtype

    @property
    def read_only(self) -> bool:
        return self.vector.read_only

    @property
    def element_type(self) -> type | None:
        return self.vector._element_type

    def get(self, i: int) -> Any:
        return self.vector.get_object(i)

    def set(self, value: Any, i: int) -> None:
        self.vector.set_object(value, i)

    def values(self) -> Array:
        return self.vector._array

    def store(self, values: Array) -> None:
        self.vector.set(values)

    def part(self, i: int, n: int) -> Self:
        return type(self)(self.vector.slice(index.slice(i, i + n)))

    def __copy__(self) -> Self:
        return type(self)(copy.copy(self.vector))

    def memory(self) -> Array:
        return self.vector._array


class BitStorage(Storage):
    """Booleans, one bit each: a bit set.

    Parameters
    ----------
    bits : numpy.ndarray
        Bytes; bit ``i % 8`` of byte ``i // 8``, from the lowest, is element `i`.
    start, size : int
        The first element, and how many there are.
    """

    __slots__ = ("_bits", "_size", "_start")

    def __init__(self, bits: Array, start: int, size: int) -> None:
        self._bits = bits
        self._start = start
        self._size = size

    @classmethod
    def of_size(cls, size: int) -> Self:
        """New bits, all False."""
        return cls(zeros((-(-size // 8),), np.dtype(np.uint8)), 0, size)

    @property
    def size(self) -> int:
        return self._size

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.bool)

    @property
    def read_only(self) -> bool:
        return False

    def get(self, i: int) -> bool:
        byte, bit = divmod(self._start + i, 8)
        return bool(self._bits[byte] >> bit & 1)

    def set(self, value: Any, i: int) -> None:
        if not isinstance(value, (bool, np.bool)):
            raise TypeError(f"a bit takes a bool, got {shown(value)}")
        byte, bit = divmod(self._start + i, 8)
        mask = np.uint8(1 << bit)
        self._bits[byte] = self._bits[byte] | mask if value else self._bits[byte] & ~mask

    def values(self) -> Array:
        first, last = self._start // 8, -(-(self._start + self._size) // 8)
        skipped = self._start % 8
        bits = np.unpackbits(self._bits[first:last], bitorder="little")
        return bits[skipped : skipped + self._size].view(np.bool)

    def store(self, values: Array) -> None:
        first, last = self._start // 8, -(-(self._start + self._size) // 8)
        skipped = self._start % 8
        bits = np.unpackbits(self._bits[first:last], bitorder="little")
        bits[skipped : skipped + self._size] = values
        self._bits[first:last] = np.packbits(bits, bitorder="little")

    def part(self, i: int, n: int) -> Self:
        return type(self)(self._bits, self._start + i, n)

    def __copy__(self) -> Self:
        return copy.deepcopy(self)

    def __reduce__(self) -> tuple[Any, ...]:
        first, last = self._start // 8, -(-(self._start + self._size) // 8)
        return type(self), (self._bits[first:last], self._start % 8, self._size)
