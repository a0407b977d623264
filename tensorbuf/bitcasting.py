"""The same memory under another dtype: `bitcast`."""

from __future__ import annotations

import sys
from typing import Any, Literal

import numpy as np

from tensorbuf._kernels.memory import reinterpreted, reinterpreted_at_once, remember
from tensorbuf.dtypes import DataType, DTypeLike, numeric_dtype
from tensorbuf.errors import ShapeError
from tensorbuf.memory import empty, let_go
from tensorbuf.source import array_of, like

__all__ = ["bitcast"]

Array = np.ndarray[Any, Any]


def bitcast(x: Any, dtype: DTypeLike) -> Any:
    """The bits of `x` read as another element type.

    Parameters
    ----------
    x : array-like of shape (d0, ..., dk)
        Any array object, list, scalar or bytes-like object, of a numeric type but bool. A list counts as the array that
        `NdArray` makes of it: float64, int64.
    dtype : dtype-like
        One of the seventeen numeric types but bool.

    Returns
    -------
    array
        Of the kind that `x` is. With items of s bytes in `x` and d bytes in `dtype`: shape (d0, ..., dk) where s = d,
        (d0, ..., dk, s/d) where s > d, and (d0, ..., dk-1) where s < d, which needs dk = d/s. It *shares* the memory
        and is as writable as it; it *copies* only where s < d and the last axis is not contiguous, or `x` is
        byte-swapped, since bits are always those of native byte order. The parts of an element come lowest byte first,
        those of a complex number real part first, on every machine.

    Raises
    ------
    TypeError
        If `x` is no array, or one of the two types is bool or not numeric.
    ShapeError
        If s < d and the last axis is not exactly d/s long.

    Notes
    -----
    The reference is ``tf.bitcast``, which takes no float8 types.

    Examples
    --------
    >>> import numpy as np
    >>> from tensorbuf import bitcast
    >>> bitcast(np.array([0.0, 1.0, 1.0], dtype="float32"), "uint8")
    array([[  0,   0,   0,   0],
           [  0,   0, 128,  63],
           [  0,   0, 128,  63]], dtype=uint8)
    >>> bitcast(np.uint32(0xFFFFFFFF), "uint8").tolist()
    [255, 255, 255, 255]
    >>> bitcast(np.array([1.0, 2.0, 3.0], dtype="float32"), "complex128")
    Traceback (most recent call last):
    ...
    tensorbuf.errors.ShapeError: float32 (4 bytes) to complex128 (16 bytes) needs a last axis of 4, got shape (3,)
    """
    try:
        view = reinterpreted_at_once(x, dtype)
        return _reinterpreted(x, dtype) if view is None else view
    except BaseException as error:
        # What `releasing` does, but at no cost to a view.
        del x
        let_go(error)
        raise


def _reinterpreted(x: Any, dtype: DTypeLike) -> Any:
    memory = array_of(x)
    source, target = _checked(memory.dtype), _checked(dtype)
    if not memory.dtype.isnative:
        memory = memory.astype(source)
    if sys.byteorder == "little" or (source.itemsize == target.itemsize and "c" not in (source.kind, target.kind)):
        view = _view(memory, target)
    else:
        view = _in_byte_order("<", memory, target)
    if sys.byteorder == "little":
        remember(source, dtype, target)
    return like(x, view)


def _checked(dtype: DTypeLike) -> np.dtype[Any]:
    native = numeric_dtype(dtype)
    if DataType.of(native) is DataType.BOOL:
        raise TypeError("bitcast takes no bool, whose bits are not all values; read its bytes as uint8 instead")
    return native


def _view(memory: Array, target: np.dtype[Any]) -> Array:
    """`memory` as `target`, or a copy of it where its last axis is not contiguous."""
    view = reinterpreted(memory, target)
    if view is not None:
        return view
    given, wanted = memory.dtype.itemsize, target.itemsize
    names = f"{memory.dtype} ({given} bytes) to {target} ({wanted} bytes)"
    if given >= wanted:
        raise ShapeError(f"{names} appends an axis, and shape {memory.shape} has as many as there can be")
    if memory.shape[-1:] != (wanted // given,):
        raise ShapeError(f"{names} needs a last axis of {wanted // given}, got shape {memory.shape}")
    fresh = empty(memory.shape, memory.dtype)
    fresh[...] = memory
    return _view(fresh, target)


def _in_byte_order(order: Literal["<", ">"], memory: Array, target: np.dtype[Any]) -> Array:
    """What a machine of the byte order `order` makes of the same values, in native order: a copy."""
    there = memory.astype(memory.dtype.newbyteorder(order), order="C")
    return _view(there, target.newbyteorder(order)).astype(target)
