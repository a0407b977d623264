"""What may be assigned to elements of an array: arrays as they are, lists and scalars by their exact values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorbuf.dtypes import DataType
from tensorbuf.equality import same_dtype
from tensorbuf.errors import ConversionError, ShapeError, shown
from tensorbuf.source import Source, array_of, memory_of

__all__ = ["assigned", "assigned_objects", "assigned_scalar", "check_class", "check_object"]

Array = np.ndarray[Any, Any]


def assigned(source: Any, dtype: np.dtype[Any]) -> Array:
    """The values of `source` as an array that can be copied into elements of the numeric `dtype`.

    An array *shares* its memory and has to be of that dtype, byte order apart. Lists and scalars are converted from
    their exact values.

    Raises
    ------
    TypeError
        If `source` is an array of another dtype, None, text, or holds a float for an integer or bool element, a number
        for a bool one, or a complex number for a real one.
    ShapeError
        If it is a ragged list.
    ConversionError
        If a value does not fit.
    """
    array = _memory(source)
    if array is not None:
        if not same_dtype(array.dtype, dtype):
            raise TypeError(f"elements of {dtype} take an array of the same dtype, got {array.dtype}; convert it first")
        return array
    try:
        values = Source(source)
        found, empty = values.dtype, 0 in values.shape
    except ConversionError:
        raise
    except ValueError as error:
        raise ShapeError(str(error)) from None
    if not empty and not _suits(DataType.of(found), DataType.of(dtype)):
        raise TypeError(f"elements of {dtype} do not take values of {found}; convert them first")
    return array_of(source, dtype.newbyteorder("="), overflow="raise")


def _memory(source: Any) -> Array | None:
    """The memory of an array; None of a scalar, and of a list or another sequence (text is refused later)."""
    if isinstance(source, (list, tuple, bool, int, float, complex, np.generic)):
        return None
    try:
        return memory_of(source)
    except TypeError:
        if isinstance(source, Sequence):
            return None
        raise


def assigned_scalar(value: Any, dtype: np.dtype[Any]) -> Any:
    """A Python or numpy scalar as a numpy one of the numeric `dtype`; errors as `assigned`."""
    if not isinstance(value, (bool, int, float, complex, np.generic)):
        raise TypeError(f"an element of {dtype} takes a number, got {shown(value)}")
    return assigned(value, dtype)[()]


def assigned_objects(source: Any, rank: int, kind: type) -> Array:
    """The values of `source` as an object array; of nested lists, exactly `rank` levels count as axes.

    Raises
    ------
    TypeError
        If `source` is an array of another dtype, or an object is neither None nor a `kind`.
    ShapeError
        If the levels are ragged.
    """
    if source is None:
        raise TypeError("None is no array; set_object assigns it to one element")
    if isinstance(source, (list, tuple)) or (rank == 0 and not hasattr(source, "__array__")):
        array = _object_levels(source, rank)
    else:
        array = _object_memory(source)
    for item in array.flat:
        check_object(item, kind)
    return array


def _object_memory(source: Any) -> Array:
    try:
        array = memory_of(source)
    except TypeError:
        return _object_levels(source, 0)
    if not array.dtype.hasobject:
        raise TypeError(f"elements that are objects take an object array, got {array.dtype}")
    return array


def check_class(kind: Any) -> type:
    """`kind`, if it is a class; else TypeError."""
    if not isinstance(kind, type):
        raise TypeError(f"the type of an array's objects is a class, got {shown(kind)}")
    return kind


def check_object(value: Any, kind: type) -> Any:
    """`value`, if it is None or a `kind`; else TypeError."""
    if value is not None and not isinstance(value, kind):
        raise TypeError(f"an element is None or a {kind.__name__}, got {shown(value)}")
    return value


def _object_levels(nested: Any, rank: int) -> Array:
    shape: list[int] = []
    items = [nested]
    for _ in range(rank):
        lengths = {len(item) if isinstance(item, (list, tuple)) else -1 for item in items} or {0}
        if len(lengths) > 1 or -1 in lengths:
            raise ShapeError(f"{rank} levels of lists are needed, all of one length on each; got {shown(nested)}")
        shape += lengths
        items = [inner for item in items for inner in item]
    array = np.empty(len(items), object)
    for position, item in enumerate(items):
        array[position] = item
    return array.reshape(shape)


def _suits(found: DataType, wanted: DataType) -> bool:
    if found is DataType.BOOL or wanted.is_complex:
        return True
    if wanted.is_integer:
        return found.is_integer
    return wanted.is_floating and not found.is_complex
