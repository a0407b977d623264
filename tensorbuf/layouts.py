"""Layouts: values of one type, kept in a buffer of another."""

from __future__ import annotations

import abc
import codecs
import copy
from typing import Any, Final, Self

import ml_dtypes
import numpy as np

from tensorbuf.assignment import assigned_scalar
from tensorbuf.conversion import convert
from tensorbuf.data_buffer import DataBuffer
from tensorbuf.errors import shown
from tensorbuf.storage import Storage

__all__ = ["BFLOAT16", "BOOL", "FLOAT16", "DataLayout", "strings"]

Array = np.ndarray[Any, Any]

_SHORTS = (np.dtype(np.int16), np.dtype(np.uint16))
_BYTES = (np.dtype(np.int8), np.dtype(np.uint8))
_OBJECT = np.dtype(object)


class DataLayout(abc.ABC):
    """How values are kept in the elements of a storage buffer. Own layouts subclass it.

    Attributes
    ----------
    dtype : dtype
        That of the values.
    scale : int
        How many elements of the storage a value takes.
    storage_dtypes : tuple of dtype
        What the storage may hold; empty for anything.

    Examples
    --------
    >>> from tensorbuf import DataLayout, databuffers
    >>> class Thousandths(DataLayout):
    ...     dtype = "float64"
    ...     def read_object(self, buffer, index):
    ...         return buffer.get_object(index) / 1000
    ...     def write_object(self, buffer, value, index):
    ...         buffer.set_object(round(value * 1000), index)
    >>> storage = databuffers.of_ints(2)
    >>> _ = Thousandths().apply_to(storage).set_double(1.25, 1)
    >>> storage
    DataBuffer(size=2, dtype=int32, values=[0, 1250])

    References
    ----------
    ``org.tensorflow.ndarray.buffer.layout.DataLayout``.
    """

    dtype: Any
    scale: int = 1
    storage_dtypes: tuple[np.dtype[Any], ...] = ()

    @abc.abstractmethod
    def read_object(self, buffer: DataBuffer, index: int) -> Any:
        """The value that begins at element `index` of the storage, ``scale`` times the value's own position."""

    @abc.abstractmethod
    def write_object(self, buffer: DataBuffer, value: Any, index: int) -> None:
        """Stores a value from element `index` of the storage on. Numbers are Python scalars that fit `dtype`."""

    def apply_to(self, buffer: DataBuffer) -> DataBuffer:
        """A buffer of ``buffer.size // scale`` values over the same memory.

        Raises
        ------
        TypeError
            If `buffer` is no DataBuffer, or its dtype is not one of `storage_dtypes`.
        """
        if not isinstance(buffer, DataBuffer):
            raise TypeError(f"a layout is applied to a DataBuffer, got {shown(buffer)}")
        if self.storage_dtypes and buffer.dtype.newbyteorder("=") not in self.storage_dtypes:
            raise TypeError(f"this layout keeps its values as {self.storage_dtypes}, the buffer holds {buffer.dtype}")
        return DataBuffer._over(LayoutStorage(self, buffer))

    def decode(self, buffer: DataBuffer) -> Array:
        """The values of a whole storage, as a new array."""
        values = np.empty(buffer.size // self.scale, np.dtype(self.dtype))
        for position in range(values.size):
            values[position] = self.read_object(buffer, position * self.scale)
        return values

    def encode(self, buffer: DataBuffer, values: Array) -> None:
        """Stores values, as many as the storage holds."""
        for position, value in enumerate(values.tolist()):
            self.write_object(buffer, value, position * self.scale)


class LayoutStorage(Storage):
    """Values kept in a buffer by a layout."""

    __slots__ = ("_buffer", "_layout")

    def __init__(self, layout: DataLayout, buffer: DataBuffer) -> None:
        self._layout = layout
        self._buffer = buffer

    @property
    def size(self) -> int:
        return self._buffer.size // self._layout.scale

    @property
    def dtype(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = np.dtype(self._layout.dtype)
        return dtype

    @property
    def read_only(self) -> bool:
        return self._buffer.read_only

    def get(self, i: int) -> Any:
        return self._layout.read_object(self._buffer, i * self._layout.scale)

    def set(self, value: Any, i: int) -> None:
        if not self.dtype.hasobject:
            assigned_scalar(value, self.dtype)
        self._layout.write_object(self._buffer, value, i * self._layout.scale)

    def values(self) -> Array:
        return self._layout.decode(self._buffer)

    def store(self, values: Array) -> None:
        self._layout.encode(self._buffer, values)

    def part(self, i: int, n: int) -> Self:
        scale = self._layout.scale
        return type(self)(self._layout, self._buffer.slice(i * scale, n * scale))

    def __copy__(self) -> Self:
        return type(self)(self._layout, copy.copy(self._buffer))


class _HalfLayout(DataLayout):
    """float32 values, kept in 16 bits as values of a narrower type, rounded to nearest even."""

    dtype = np.dtype(np.float32)
    storage_dtypes = _SHORTS

    def __init__(self, kept: Any) -> None:
        self._kept = np.dtype(kept)

    def read_object(self, buffer: DataBuffer, index: int) -> float:
        return float(self._halves(buffer.slice(index, 1))[0])

    def write_object(self, buffer: DataBuffer, value: float, index: int) -> None:
        self._write(buffer.slice(index, 1), convert(np.array([value], np.float64), self._kept))

    def decode(self, buffer: DataBuffer) -> Array:
        values: Array = convert(self._halves(buffer), self.dtype)
        return values

    def encode(self, buffer: DataBuffer, values: Array) -> None:
        self._write(buffer, convert(values, self._kept))

    def _halves(self, buffer: DataBuffer) -> Array:
        # A copy in native byte order: its bytes can be read as another type whatever the strides were.
        shorts = buffer.to_numpy()
        return shorts.astype(shorts.dtype.newbyteorder("=")).view(self._kept)

    def _write(self, buffer: DataBuffer, halves: Array) -> None:
        buffer.write(halves.view(buffer.dtype.newbyteorder("=")))


class _BoolLayout(DataLayout):
    """Booleans, kept in bytes: every byte but 0 is True; True is written as 1."""

    dtype = np.dtype(np.bool)
    storage_dtypes = _BYTES

    def read_object(self, buffer: DataBuffer, index: int) -> bool:
        return bool(buffer.get_object(index) != 0)

    def write_object(self, buffer: DataBuffer, value: bool, index: int) -> None:
        buffer.set_object(int(value), index)

    def decode(self, buffer: DataBuffer) -> Array:
        values: Array = buffer.to_numpy() != 0
        return values

    def encode(self, buffer: DataBuffer, values: Array) -> None:
        buffer.write(values.astype(buffer.dtype))


class _StringLayout(DataLayout):
    """Text, kept as bytes objects in an encoding; None where nothing was stored."""

    dtype = _OBJECT
    storage_dtypes = (_OBJECT,)

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding

    def read_object(self, buffer: DataBuffer, index: int) -> str | None:
        data = buffer.get_object(index)
        return None if data is None else data.decode(self._encoding)

    def write_object(self, buffer: DataBuffer, value: str, index: int) -> None:
        buffer.set_object(self._encoded(value), index)

    def encode(self, buffer: DataBuffer, values: Array) -> None:
        # All are encoded before the first is stored.
        buffer.write([None if value is None else self._encoded(value) for value in values.tolist()])

    def _encoded(self, value: Any) -> bytes:
        if not isinstance(value, str):
            raise TypeError(f"a string layout takes str, got {shown(value)}")
        return value.encode(self._encoding)


FLOAT16: Final[DataLayout] = _HalfLayout(np.float16)
"""float32 values as IEEE half precision in an int16 or uint16 storage, rounded to nearest even."""

BFLOAT16: Final[DataLayout] = _HalfLayout(ml_dtypes.bfloat16)
"""float32 values as bfloat16 in an int16 or uint16 storage, rounded to nearest even."""

BOOL: Final[DataLayout] = _BoolLayout()
"""bool values in an int8 or uint8 storage: any nonzero byte is True, True is written as 1."""


def strings(encoding: str) -> DataLayout:
    """A layout of text in a storage of bytes objects.

    Parameters
    ----------
    encoding : str
        A text encoding of Python.

    Raises
    ------
    ValueError
        If Python has no text encoding of that name.
    TypeError
        If it is no str.

    Examples
    --------
    >>> from tensorbuf import databuffers
    >>> storage = databuffers.of_objects(bytes, 1)
    >>> _ = databuffers.strings("utf-8").apply_to(storage).set_object("hé", 0)
    >>> storage.get_object(0)
    b'h\\xc3\\xa9'
    """
    if not isinstance(encoding, str):
        raise TypeError(f"an encoding is a str, got {shown(encoding)}")
    try:
        "".encode(encoding)
    except (LookupError, ValueError):
        raise ValueError(f'Python has no text encoding {encoding!r}; take one such as "utf-8"') from None
    return _StringLayout(codecs.lookup(encoding).name)
