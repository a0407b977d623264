"""Factories of `DataBuffer`, and the layouts.

References
----------
``org.tensorflow.ndarray.buffer.DataBuffers``.
"""

from __future__ import annotations

from typing import Any, SupportsIndex

import numpy as np

from tensorbuf.assignment import check_class
from tensorbuf.data_buffer import DataBuffer
from tensorbuf.errors import ShapeError
from tensorbuf.java_types import JAVA_TYPES
from tensorbuf.layouts import BFLOAT16, BOOL, FLOAT16, DataLayout, strings
from tensorbuf.memory import check_shape, zeros
from tensorbuf.nd_array import NdArray
from tensorbuf.shape import check_integer
from tensorbuf.source import array_of, memory_of
from tensorbuf.storage import BitStorage, MemoryStorage
from tensorbuf.visitor import DataStorageVisitor

__all__ = [
    "BFLOAT16",
    "BOOL",
    "FLOAT16",
    "DataLayout",
    "DataStorageVisitor",
    "of",
    "of_bits",
    "of_booleans",
    "of_bytes",
    "of_doubles",
    "of_floats",
    "of_ints",
    "of_longs",
    "of_objects",
    "of_shorts",
    "strings",
]


def of(values: Any, read_only: bool = False, copy: bool = False) -> DataBuffer:
    """A buffer over given values.

    Parameters
    ----------
    values : array-like or list
        A 1-D array of any stride and byte order, ``array.array`` or bytes-like object (by its format), *shared*,
        its read-only state kept; or a list, which is copied: bool, int64 (uint64 where only that fits), float64,
        complex128, or object for str.
    read_only : bool
        Protects the buffer; the caller's array stays as it is.
    copy : bool
        *Copies* arrays too; the copy is writable unless `read_only`.

    Raises
    ------
    ShapeError
        If `values` is not 1-D.
    TypeError
        If it is neither array nor list.

    Examples
    --------
    >>> from tensorbuf import databuffers
    >>> databuffers.of(b"abc")
    DataBuffer(size=3, dtype=uint8, values=[97, 98, 99])
    """
    try:
        array = memory_of(values)
    except TypeError:
        array = array_of(values)
    if array.ndim != 1:
        raise ShapeError(f"a buffer is made of values of rank 1, got shape {array.shape}")
    if copy:
        array = NdArray._wrap(array).__copy__()._array
    if read_only:
        array = array.view()
        array.flags.writeable = False
    return DataBuffer._over(MemoryStorage(NdArray._wrap(array)))


def of_bits(n: SupportsIndex) -> DataBuffer:
    """A buffer of `n` booleans in one bit each, all False. A negative `n`: ShapeError."""
    return DataBuffer._over(BitStorage.of_size(_size(n)))


def of_objects(type: type, n: SupportsIndex) -> DataBuffer:
    """A buffer of `n` elements that are None, as at first, or instances of `type`. A negative `n`: ShapeError."""
    return _zeros(np.dtype(object), n, check_class(type))


def of_bytes(n: SupportsIndex) -> DataBuffer:
    """A buffer of `n` int8 zeros. A negative `n`: ShapeError."""
    return _zeros(JAVA_TYPES["byte"], n)


def of_shorts(n: SupportsIndex) -> DataBuffer:
    """A buffer of `n` int16 zeros. A negative `n`: ShapeError."""
    return _zeros(JAVA_TYPES["short"], n)


def of_ints(n: SupportsIndex) -> DataBuffer:
    """A buffer of `n` int32 zeros. A negative `n`: ShapeError."""
    return _zeros(JAVA_TYPES["int"], n)


def of_longs(n: SupportsIndex) -> DataBuffer:
    """A buffer of `n` int64 zeros. A negative `n`: ShapeError."""
    return _zeros(JAVA_TYPES["long"], n)


def of_floats(n: SupportsIndex) -> DataBuffer:
    """A buffer of `n` float32 zeros. A negative `n`: ShapeError."""
    return _zeros(JAVA_TYPES["float"], n)


def of_doubles(n: SupportsIndex) -> DataBuffer:
    """A buffer of `n` float64 zeros. A negative `n`: ShapeError."""
    return _zeros(JAVA_TYPES["double"], n)


def of_booleans(n: SupportsIndex) -> DataBuffer:
    """A buffer of `n` booleans, all False. A negative `n`: ShapeError."""
    return _zeros(JAVA_TYPES["boolean"], n)


def _zeros(dtype: np.dtype[Any], n: SupportsIndex, element_type: type | None = None) -> DataBuffer:
    return DataBuffer._over(MemoryStorage(NdArray._wrap(zeros((_size(n),), dtype), element_type=element_type)))


def _size(n: SupportsIndex) -> int:
    return check_shape(check_integer(n, "a size"))[0]
