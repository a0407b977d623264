"""The value of a ShapedArray: made from what it is given, read as an array, matched with what is assigned."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn, Self

import numpy as np

from tensorbuf._kernels.storage import Holder
from tensorbuf.doors.exports import Exports
from tensorbuf.dtypes import DataType, DTypeLike, native_dtype, numeric_dtype
from tensorbuf.errors import ConversionError, RankError, ShapeError, shown
from tensorbuf.memory import ShapeLike, check_shape, empty, let_go, pinned
from tensorbuf.source import Source, array_of, memory_of

__all__ = ["UNSET", "Value", "restore"]

Array = np.ndarray[Any, Any]

UNSET: Any = object()


def _formats() -> dict[np.dtype[Any], tuple[bytes | None, bytes]]:
    """The buffer format of each dtype, None where it has none, and that of a pointer to its scalars."""
    found: dict[np.dtype[Any], tuple[bytes | None, bytes]] = {}
    for kind in DataType:
        if kind is not DataType.STRING:
            try:
                declared = np.empty(0, kind.numpy_dtype).data.format.encode()
                found[kind.numpy_dtype] = (declared, declared)
            except ValueError:
                found[kind.numpy_dtype] = (None, {1: b"B", 2: b"H"}[kind.byte_size])
    return found


_FORMATS = _formats()


class Value(Holder, Exports):
    """A holder that can be made from anything that means an array."""

    __slots__ = ()

    def __new__(
        cls,
        value: Any = UNSET,
        /,
        *,
        shape: ShapeLike = UNSET,
        scalars: Any = UNSET,
        repeating: Any = UNSET,
        dtype: DTypeLike = None,
    ) -> Self:
        try:
            wanted = None if dtype is None else numeric_dtype(dtype)
            given = [argument is not UNSET for argument in (value, shape, scalars, repeating)]
            if given == [True, False, False, False]:
                if isinstance(value, Holder) and wanted in (None, value.dtype):
                    return value._shared(cls)
                return cls._of(_one_value(value, wanted))
            if given == [False, True, True, False]:
                return cls._of(_scalars_in_shape(shape, scalars, wanted))
            if given == [False, True, False, True]:
                return cls._of(_repeated(repeating, shape, wanted))
            raise TypeError("give either one value, or shape= and scalars=, or repeating= and shape=")
        except BaseException as error:
            del value, scalars, repeating
            let_go(error)
            raise

    @classmethod
    def _of(cls, array: Array) -> Self:
        """A holder on the memory of `array`: read-only memory is *shared* till it is mutated, other is taken over."""
        if not (array.flags.c_contiguous and array.flags.aligned and array.dtype.isnative):
            array = _copied(array)
        value: Self = Holder.__new__(cls)
        value._adopt(array, tuple(array.shape), *_FORMATS[array.dtype], not array.flags.writeable)
        return value

    def _array(self) -> Array:
        """The scalars, read-only and *shared*; a user of the storage as long as it lives."""
        return np.ndarray(self.shape, self.dtype, self._pointer(False))

    def _exported(self) -> tuple[Array, bool]:
        return self._array(), False

    def _refuse_parts(self, parts: int) -> NoReturn:
        raise RankError(f"a key of {parts} parts is too long for rank {self.rank}")

    def _matching(self, value: object, shape: tuple[int, ...]) -> Value | Array:
        """`value` as what can be written into a part of `shape`: a holder, or a C-contiguous array of this dtype."""
        if isinstance(value, Value):
            _check_match(value.dtype, value.shape, self.dtype, shape)
            return value
        try:
            source = Source(value)
            found = source.dtype
        except ConversionError:
            raise
        except ValueError as error:
            raise ShapeError(str(error)) from None
        if source.array is not None:
            _check_match(found.newbyteorder("="), source.shape, self.dtype, shape)
            return np.ascontiguousarray(source.array, self.dtype).reshape(shape)
        if source.size and _has_fractions(found) and not _has_fractions(self.dtype):
            raise TypeError(f"the array is {self.dtype} and takes no {found} values; convert them first")
        _check_match(self.dtype, source.shape, self.dtype, shape)
        return array_of(value, self.dtype)


def _has_fractions(dtype: np.dtype[Any]) -> bool:
    kind = DataType.of(dtype)
    return kind.is_floating or kind.is_complex


def _check_match(dtype: np.dtype[Any], shape: tuple[int, ...], wanted: np.dtype[Any], place: tuple[int, ...]) -> None:
    if dtype != wanted:
        raise TypeError(f"the array is {wanted}, got {dtype}; convert it first")
    if tuple(shape) != place:
        raise ShapeError(f"the part that is set has shape {place}, got {tuple(shape)}")


def _copied(array: Array) -> Array:
    copied = empty(array.shape, array.dtype.newbyteorder("="))
    copied[...] = array
    return copied


def _own(x: Any, dtype: np.dtype[Any] | None) -> Array:
    """The values of any object in memory that nobody else has."""
    source = Source(x)
    if source.array is None:
        return array_of(x, dtype)
    native = numeric_dtype(source.array.dtype)
    return _copied(source.array) if dtype in (None, native) else array_of(x, dtype)


def _one_value(value: Any, dtype: np.dtype[Any] | None) -> Array:
    array = _own(value, dtype)
    if 0 in array.shape and isinstance(value, Sequence):
        raise ValueError(f"a literal has no empty level, got shape {array.shape}; take shape= and scalars=[]")
    return array


def _scalars_in_shape(shape: ShapeLike, scalars: Any, dtype: np.dtype[Any] | None) -> Array:
    dims = check_shape(shape)
    if not isinstance(scalars, (list, tuple)):
        try:
            memory_of(scalars)
        except TypeError:
            if isinstance(scalars, (str, Mapping)) or not isinstance(scalars, Iterable):
                raise TypeError(f"scalars is an iterable of numbers, got {shown(scalars)}") from None
            scalars = list(scalars)
    array = _own(scalars, dtype)
    if array.shape != (math.prod(dims),):
        raise ShapeError(f"shape {dims} needs a row of {math.prod(dims)} scalars, got shape {array.shape}")
    return array.reshape(dims)


def _repeated(repeating: Any, shape: ShapeLike, dtype: np.dtype[Any] | None) -> Array:
    scalar = _own(repeating, dtype)
    if scalar.ndim:
        raise TypeError(f"repeating is one scalar, got shape {scalar.shape}")
    array = empty(check_shape(shape), scalar.dtype)
    array[...] = scalar
    return array


def restore(cls: type[Value], name: str, shape: tuple[int, ...], byte_order: str, buffer: object) -> Value:
    """Unpickle. The memory of `buffer` is *shared*, and copied on the first mutation."""
    array = pinned(buffer).view(native_dtype(name)).reshape(shape)
    if byte_order != sys.byteorder:
        array = array.byteswap()
    array.flags.writeable = False
    return cls._of(array)
