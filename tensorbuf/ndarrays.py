"""Factories of `NdArray`, and the copies between arrays and nested lists.

A shape is an int or an iterable of ints; a negative or unknown dimension is a ShapeError.

References
----------
``org.tensorflow.ndarray.NdArrays`` and ``StdArrays``.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from tensorbuf import memory
from tensorbuf.assignment import check_class
from tensorbuf.data_buffer import DataBuffer
from tensorbuf.dtypes import DTypeLike, native_dtype
from tensorbuf.errors import ShapeError, shown
from tensorbuf.java_types import JAVA_TYPES
from tensorbuf.memory import ShapeLike, check_shape
from tensorbuf.nd_array import NdArray
from tensorbuf.shape import UNKNOWN_SIZE, Shape
from tensorbuf.sparse import SparseNdArray
from tensorbuf.typed_arrays import (
    BooleanNdArray,
    ByteNdArray,
    DoubleNdArray,
    FloatNdArray,
    IntNdArray,
    LongNdArray,
    ShortNdArray,
)

__all__ = [
    "array_copy_of",
    "nd_copy_of",
    "of_booleans",
    "of_bytes",
    "of_doubles",
    "of_floats",
    "of_ints",
    "of_longs",
    "of_objects",
    "of_shorts",
    "scalar_of",
    "shape_of",
    "sparse_of",
    "vector_of",
    "wrap",
    "zeros",
]


def zeros(shape: ShapeLike, dtype: DTypeLike) -> NdArray:
    """A new array of zeros (False; None for objects).

    Examples
    --------
    >>> from tensorbuf import ndarrays
    >>> ndarrays.zeros((2, 2), "uint8")
    NdArray(shape=(2, 2), dtype=uint8, values=[0, 0, 0, 0])
    """
    return NdArray._wrap(memory.zeros(check_shape(shape), native_dtype(dtype)))


def of_objects(type: type, shape: ShapeLike) -> NdArray:
    """A new array of elements that are None, as at first, or instances of `type`."""
    return NdArray._wrap(memory.zeros(check_shape(shape), np.dtype(object)), element_type=check_class(type))


def scalar_of(v: Any, dtype: DTypeLike = None) -> NdArray:
    """A new array of rank 0.

    Parameters
    ----------
    v : scalar
        A bool, int, float or complex number; any other object, as str, gives an object array.
    dtype : dtype-like, optional
        By default bool, int64 (uint64 where only that fits), float64, complex128 or object.

    Raises
    ------
    TypeError
        If `v` is None, a list or an array.
    ConversionError
        If it does not fit `dtype`.
    """
    if dtype is None and (v is None or isinstance(v, (list, tuple, np.ndarray, NdArray))):
        raise TypeError(f"a scalar is needed, got {shown(v)}; vector_of and nd_copy_of take more")
    return NdArray._wrap(_leaves([v], dtype)._array.reshape(()))


def vector_of(*v: Any, dtype: DTypeLike = None) -> NdArray:
    """A new array of rank 1.

    Parameters
    ----------
    *v : scalars, or one list or 1-D array of them
        *Copied*. Objects other than numbers give an object array.
    dtype : dtype-like, optional
        By default bool, int64 (uint64 where only that fits), float64 (also without values), complex128 or object.

    Raises
    ------
    ShapeError
        If the values are not of rank 1.
    ConversionError
        If a value does not fit `dtype`.

    Examples
    --------
    >>> from tensorbuf import ndarrays
    >>> ndarrays.vector_of(1, 2, 3, dtype="int8")
    ByteNdArray(shape=(3,), dtype=int8, values=[1, 2, 3])
    """
    values = v[0] if len(v) == 1 and _is_listing(v[0]) else list(v)
    vector = _leaves(values, dtype)
    if vector.rank != 1:
        raise ShapeError(f"a vector is made of scalars, got values of shape {vector.shape}")
    return vector


def wrap(shape: ShapeLike, data_buffer: DataBuffer) -> NdArray:
    """An array over the first elements of a buffer, which it *shares*; further ones are left out of it.

    Raises
    ------
    ShapeError
        If the buffer has fewer elements than `shape`.
    TypeError
        If it is no DataBuffer, or one of bits or through a layout, whose elements lie nowhere in memory.
    """
    dims = check_shape(shape)
    if not isinstance(data_buffer, DataBuffer):
        raise TypeError(f"wrap takes a DataBuffer, got {shown(data_buffer)}")
    return data_buffer._shaped(dims)


def sparse_of(indices: Any, values: Any, shape: ShapeLike, default: Any = None) -> SparseNdArray:
    """A sparse array; parameters and errors as for `SparseNdArray`."""
    return SparseNdArray(indices, values, shape, default)


def shape_of(nested: Any) -> Shape:
    """The shape of nested lists; an axis along which the lengths differ is -1. A scalar has the scalar shape.

    Raises
    ------
    ValueError
        If scalars and lists lie side by side.

    Examples
    --------
    >>> from tensorbuf import ndarrays
    >>> ndarrays.shape_of([[1, 2, 3], [4]])
    (2, -1)
    """
    if hasattr(nested, "shape"):
        return Shape(nested.shape)
    dims: list[int] = []
    items = [nested]
    while items and any(isinstance(item, (list, tuple)) for item in items):
        if not all(isinstance(item, (list, tuple)) for item in items):
            raise ValueError(f"lists and scalars lie side by side at depth {len(dims)}; nest all of them equally deep")
        lengths = {len(item) for item in items}
        dims.append(lengths.pop() if len(lengths) == 1 else UNKNOWN_SIZE)
        items = [inner for item in items for inner in item]
    return Shape(dims)


def nd_copy_of(nested: Any) -> NdArray:
    """A new array of the values of nested lists or tuples, of a scalar or of an array, whose dtype stays; always
    *copied*.

    Raises
    ------
    ValueError
        If the nesting is ragged.

    Examples
    --------
    >>> from tensorbuf import ndarrays
    >>> ndarrays.nd_copy_of([[1, 2.5], [3, 4]])
    DoubleNdArray(shape=(2, 2), dtype=float64, values=[1.0, 2.5, 3.0, 4.0])
    """
    return NdArray(nested, copy=True)


def array_copy_of(nd: NdArray) -> Any:
    """New nested lists of the values of an array; of a scalar, the value."""
    return NdArray(nd).tolist()


def of_bytes(shape: ShapeLike) -> ByteNdArray:
    """A new array of int8 zeros."""
    return cast(ByteNdArray, zeros(shape, JAVA_TYPES["byte"]))


def of_shorts(shape: ShapeLike) -> ShortNdArray:
    """A new array of int16 zeros."""
    return cast(ShortNdArray, zeros(shape, JAVA_TYPES["short"]))


def of_ints(shape: ShapeLike) -> IntNdArray:
    """A new array of int32 zeros."""
    return cast(IntNdArray, zeros(shape, JAVA_TYPES["int"]))


def of_longs(shape: ShapeLike) -> LongNdArray:
    """A new array of int64 zeros."""
    return cast(LongNdArray, zeros(shape, JAVA_TYPES["long"]))


def of_floats(shape: ShapeLike) -> FloatNdArray:
    """A new array of float32 zeros."""
    return cast(FloatNdArray, zeros(shape, JAVA_TYPES["float"]))


def of_doubles(shape: ShapeLike) -> DoubleNdArray:
    """A new array of float64 zeros."""
    return cast(DoubleNdArray, zeros(shape, JAVA_TYPES["double"]))


def of_booleans(shape: ShapeLike) -> BooleanNdArray:
    """A new array of booleans, all False."""
    return cast(BooleanNdArray, zeros(shape, JAVA_TYPES["boolean"]))


def _leaves(values: Any, dtype: DTypeLike) -> NdArray:
    """A new array of a list of scalars, or of an array; of objects where none of them is a number."""
    others = (bool, int, float, complex, np.generic, list, tuple)
    if dtype is None and isinstance(values, list) and values and not any(isinstance(item, others) for item in values):
        objects = memory.empty((len(values),), np.dtype(object))
        for position, value in enumerate(values):
            objects[position] = value
        return NdArray._wrap(objects)
    return NdArray(values, dtype, copy=True)


def _is_listing(value: Any) -> bool:
    return isinstance(value, (list, tuple)) or getattr(value, "shape", ()) != ()
