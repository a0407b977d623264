"""What is this object? Typed memory from everything that has or means some, and back to the kind that was given."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from tensorbuf import doors
from tensorbuf.dtypes import DTypeLike, read_dtype
from tensorbuf.errors import shown
from tensorbuf.lists import Convert, Nested, TextError, object_array
from tensorbuf.memory import empty
from tensorbuf.rule import UNSET, read_rule

__all__ = ["Source", "array_of", "like", "memory_of", "register"]

_OBJECT = np.dtype(object)

Array = np.ndarray[Any, Any]
ToMemory = Callable[[Any], Array]
FromMemory = Callable[[Array, Any], Any]


class _Kind(NamedTuple):
    to_memory: ToMemory
    from_memory: FromMemory


_KINDS: dict[type, _Kind] = {}


def register(kind: type, to_memory: ToMemory, from_memory: FromMemory) -> None:
    """Make a class, and its subclasses, known.

    Parameters
    ----------
    kind : type
        ``object`` stands for everything that is not registered; its `to_memory` is never called.
    to_memory : callable
        ``to_memory(x)`` is the array of an `x` of this kind; it *shares* the memory where that can be.
    from_memory : callable
        ``from_memory(array, x)`` is a new object of this kind that *shares* `array`, set up as `x` is.
    """
    _KINDS[kind] = _Kind(to_memory, from_memory)


def _plain(x: Array) -> Array:
    """An array of a subclass of numpy's as one of numpy's own, which *shares* its memory."""
    if isinstance(x, np.ma.MaskedArray) and np.ma.is_masked(x):
        raise ValueError("masked elements have no values; give them one by x.filled(value)")
    return x.view(np.ndarray)


register(np.ndarray, _plain, lambda array, x: array)
_TORCH = _Kind(lambda x: doors.torch.from_torch(x), lambda array, x: doors.torch.to_torch(array))


def _kind(x: object) -> _Kind | None:
    for base in type(x).__mro__[:-1]:
        if base in _KINDS:
            return _KINDS[base]
    torch = sys.modules.get("torch")  # not imported, no tensor
    return _TORCH if torch is not None and isinstance(x, torch.Tensor) else None


def like(x: object, array: Array) -> Any:
    """`array` as the kind that `x` is, *sharing* its memory; an NdArray where `x` is of no kind of its own."""
    return (_kind(x) or _KINDS[object]).from_memory(array, x)


def memory_of(x: object) -> Array:
    """The typed memory that an object has: *shared* wherever that can be.

    Parameters
    ----------
    x : object
        A numpy array or scalar, an array of this package, a torch CPU tensor, an object with ``__dlpack__``, the buffer
        protocol (read by its format; it stays acquired while the array lives) or ``__array__``.

    Raises
    ------
    TypeError
        If `x` has no typed memory (None, str, a list, a number), or elements of no type of this package.
    ValueError
        If it is a buffer that was released or closed, or a masked array with masked elements.
    """
    if type(x) is np.ndarray:
        array = x
    else:
        kind = _kind(x)
        array = kind.to_memory(x) if kind else _foreign_memory(x)
    read_dtype(array.dtype)
    return array


def _foreign_memory(x: Any) -> Array:
    cls = type(x)
    if isinstance(x, np.generic):
        return np.asarray(x)
    if hasattr(cls, "__dlpack__"):
        try:
            return doors.dlpack.memory_of(x)
        except (BufferError, TypeError, RuntimeError):
            # Not on the CPU, or of a type that DLPack has no code for: another door may be open.
            pass
    try:
        return np.asarray(memoryview(x))
    except (BufferError, TypeError):
        pass
    if hasattr(cls, "__arrow_c_array__"):
        try:
            values, missing = doors.arrow.read(x)
        except TypeError:
            # Of a type that is none of the package, or a table.
            pass
        else:
            doors.arrow.refuse_nulls(missing)
            return values
    if any(hasattr(cls, door) for door in ("__array__", "__array_interface__", "__array_struct__")):
        return np.asarray(x)
    raise TypeError(f"{_shown(x)} is no array and has no typed memory")


def _shown(x: object) -> str:
    return shown(x) if x is None or isinstance(x, (str, int, float, complex)) else f"a {type(x).__name__}"


class Source:
    """The values of any object: in memory, or as Python numbers that are read one by one when they are loaded.

    Parameters
    ----------
    x : object
        Whatever `memory_of` takes, a Python number, or a list, tuple or other sequence of all of these, nested to any
        depth.

    Attributes
    ----------
    shape : tuple of ints
    array : numpy.ndarray or None
        The memory of `x`; None for Python numbers and lists, which have none.

    Raises
    ------
    TypeError
        If `x` is none of these (None, str, dict).
    """

    __slots__ = ("_nested", "array", "shape")

    def __init__(self, x: object) -> None:
        self.array: Array | None = None
        if isinstance(x, (list, tuple)):
            self._nested = Nested(x, memory_of)
            self.shape = self._nested.shape
        elif isinstance(x, (int, float, complex)) and not isinstance(x, np.generic):
            self._nested = Nested([x], memory_of)
            self.shape = ()
        else:
            self._read_memory(x)

    def _read_memory(self, x: object) -> None:
        try:
            self.array = memory_of(x)
        except TypeError:
            if not isinstance(x, Sequence) or isinstance(x, (str, bytes, bytearray)):
                raise
            self._nested = Nested(list(x), memory_of)
            self.shape = self._nested.shape
        else:
            self.shape = self.array.shape

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the memory; of Python numbers bool, int64 (uint64 where only that fits), float64, complex128."""
        return self._nested.infer() if self.array is None else self.array.dtype

    def load(self, target: Array, convert: Convert, *, overflow: str, fresh: bool = False) -> None:
        """Convert every value into `target`, in row-major order.

        Parameters
        ----------
        target : numpy.ndarray
            Writable, of `size` elements; of this shape, or C-contiguous.
        convert : callable
            ``convert(src, dst)`` converts the values of one array into another of the same shape, with `overflow`.
        overflow : {"saturate", "wrap", "raise"}
        fresh : bool
            Whether nobody sees `target` if this fails. Otherwise all is judged before the first byte changes.

        Raises
        ------
        ConversionError
            With ``overflow="raise"``: names the flat index and the value of the first element that does not fit.
        """
        if self.array is None:
            self._nested.load(target, convert, overflow=overflow, fresh=fresh)
        else:
            convert(self.array, target.reshape(self.shape))


def array_of(
    x: object, dtype: DTypeLike = None, *, overflow: str = "raise", rounding: str = "truncate", nan: Any = UNSET
) -> Array:
    """The values of any object as an array: its own memory where it has that dtype, else *copied*.

    Parameters
    ----------
    x : object
        As for `Source`; also text and lists of text, which give object arrays.
    dtype : dtype-like, optional
        Left out: that of the memory; for Python numbers bool, int64 (uint64 where only that fits), float64, complex128.
    overflow, rounding, nan
        As for `convert`.

    Raises
    ------
    TypeError
        If `x` is no array, number or list.
    ValueError
        If the nesting is ragged.
    ConversionError
        If a value does not fit and `overflow` is "raise".
    """
    wanted = None if dtype is None else read_dtype(dtype)
    if wanted == _OBJECT:
        return _objects(x)
    if wanted is None and isinstance(x, str):
        return object_array(x, text_only=True)
    try:
        source = Source(x)
        wanted = source.dtype if wanted is None else wanted
    except TextError:
        if wanted is None:
            return object_array(x, text_only=True)
        raise
    if source.array is not None and source.array.dtype == wanted:
        return source.array
    # Not at the top: conversion asks this module what it is given.
    from tensorbuf.conversion import convert_array

    target = empty(source.shape, wanted)
    convert = partial(convert_array, rule=read_rule(overflow, rounding, nan))
    source.load(target, convert, overflow=overflow, fresh=True)
    return target


def _objects(x: object) -> Array:
    try:
        return memory_of(x).astype(object, copy=False)
    except TypeError:
        return object_array(x, text_only=False)
