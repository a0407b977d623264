"""Memory: allocate it, or hold that of others."""

from __future__ import annotations

import contextlib
import functools
import operator
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any, ParamSpec, SupportsIndex, TypeVar

import numpy as np

from tensorbuf._kernels import cache as _cache
from tensorbuf._kernels import memory as _memory
from tensorbuf.errors import ShapeError, shown
from tensorbuf.shape import check_integer

__all__ = [
    "ShapeLike",
    "check_integer",
    "check_layout",
    "check_shape",
    "clear_cache",
    "empty",
    "let_go",
    "native_copy",
    "obstacle",
    "pinned",
    "releasing",
    "zeros",
]

ShapeLike = SupportsIndex | Iterable[SupportsIndex]

P = ParamSpec("P")
R = TypeVar("R")

_MAX_RANK = 64
_BYTE = np.dtype(np.uint8)


def check_shape(shape: ShapeLike) -> tuple[int, ...]:
    """A shape argument as a tuple of ints.

    Parameters
    ----------
    shape : int or iterable of ints
        One int is the length of a single axis.

    Raises
    ------
    TypeError
        If `shape` is None, text, or holds anything but ints.
    ShapeError
        If a dimension is negative or beyond 2**63 - 1, or there are more than 64.
    """
    if shape is None or isinstance(shape, (str, bytes, bytearray, bool, np.bool)):
        raise TypeError(f"a shape is an int or an iterable of ints, got {shown(shape)}")
    try:
        dims: tuple[Any, ...] = (operator.index(shape),)  # type: ignore[arg-type]
    except TypeError:
        try:
            dims = tuple(shape)  # type: ignore[arg-type]
        except TypeError:
            raise TypeError(f"a shape is an int or an iterable of ints, got {shown(shape)}") from None
    sizes = tuple(check_integer(dim, "a dimension") for dim in dims)
    for size in sizes:
        if not 0 <= size <= sys.maxsize:
            raise ShapeError(f"shape {sizes} has a dimension of {size}; each must lie between 0 and {sys.maxsize}")
    if len(sizes) > _MAX_RANK:
        raise ShapeError(f"a shape has at most {_MAX_RANK} dimensions, got {len(sizes)}")
    return sizes


def empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """A new writable C-ordered array on a 64-byte boundary; its values are whatever lay there (None for objects).

    Raises
    ------
    ShapeError
        If the bytes do not fit 63 bits.
    MemoryError
        If they cannot be allocated.
    """
    return _allocate(shape, dtype, zeroed=False)


def zeros(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """`empty` with all bytes zero; pages of a large array are not touched. Objects are None."""
    return _allocate(shape, dtype, zeroed=True)


def _allocate(shape: tuple[int, ...], dtype: np.dtype[Any], *, zeroed: bool) -> np.ndarray[Any, Any]:
    if dtype.hasobject:
        # Only numpy's own blocks count references.
        return np.empty(shape, dtype)
    array = _memory.allocate(tuple(shape), dtype, zeroed)
    if array is None:
        raise ShapeError(f"shape {shape} of {dtype} needs more than {sys.maxsize} bytes")
    return array


def native_copy(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A new writable array of the same values: C order, native byte order, on a 64-byte boundary."""
    fresh = empty(array.shape, array.dtype.newbyteorder("="))
    fresh[...] = array
    return fresh


def obstacle(array: np.ndarray[Any, Any]) -> str:
    """What keeps this memory from libraries that know aligned native items at strides >= 0 only; "" where nothing."""
    # An axis of length 1 is never walked.
    walked = [stride for size, stride in zip(array.shape, array.strides, strict=True) if size > 1]
    if not array.flags.aligned:
        return f"is not aligned for {array.dtype}"
    if not array.dtype.isnative:
        return f"is byte-swapped ({array.dtype.str})"
    if any(stride < 0 for stride in walked):
        return f"has negative strides {array.strides}"
    if any(stride % array.itemsize for stride in walked):
        return f"has strides {array.strides} that are no multiples of {array.itemsize} bytes"
    return ""


def pinned(buffer: object) -> np.ndarray[Any, Any]:
    """The bytes of a C-contiguous bytes-like object, as a rank-1 uint8 array that *shares* them.

    The exporter's buffer stays acquired as long as the array or any view of it lives, so that its owner can neither be
    resized nor closed. Read-only memory gives a read-only array. A failed call leaves nothing acquired.

    Raises
    ------
    TypeError
        If `buffer` exports no buffer, or one of Python objects.
    ValueError
        If it is not C-contiguous, released or closed.
    """
    try:
        check_layout(_memory.layout(buffer))
        array: np.ndarray[Any, Any] = _memory.vector(buffer, _BYTE, -1, 0)
    except BaseException:
        # The traceback keeps this frame; a memoryview in it would keep its owner locked as long as the exception lives.
        del buffer
        raise
    return array


def check_layout(layout: tuple[str, int, tuple[int, ...] | None, bool, bool, bool]) -> tuple[int, bool]:
    """The bytes of a buffer's layout, and whether it declares the other byte order; the errors of `pinned`."""
    name, nbytes, strides, contiguous, swapped, objects = layout
    if objects:
        raise TypeError(f"the buffer of {name} holds Python objects, whose bytes mean nothing elsewhere")
    if not contiguous:
        raise ValueError(
            f"the buffer of {name} is not C-contiguous: strides {strides} for {nbytes} bytes; copy it first"
        )
    return nbytes, swapped


def releasing(call: Callable[P, R]) -> Callable[P, R]:
    """Let `call`, when it fails, hold on to nothing that it was given."""

    @functools.wraps(call)
    def guarded(*args: P.args, **options: P.kwargs) -> R:
        try:
            return call(*args, **options)
        except BaseException as error:
            del args, options
            let_go(error)
            raise

    return guarded


def let_go(error: BaseException) -> None:
    """Clear the frames of this package that `error` has passed; the one that calls this clears its own names.

    A traceback keeps those frames, and a view or memoryview in one of them would keep its owner locked as long as the
    error lives.
    """
    passed: BaseException | None = error
    while passed is not None:
        trace = passed.__traceback__
        while trace is not None:
            if str(trace.tb_frame.f_globals.get("__name__")).startswith("tensorbuf."):
                # A frame that still runs cannot be cleared.
                with contextlib.suppress(RuntimeError):
                    trace.tb_frame.clear()
            trace = trace.tb_next
        passed = passed.__context__


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_cache.forget)


def clear_cache() -> int:
    """Give the memory that is kept for recycling back to the system.

    Blocks of 1 MB and more whose last array has died are kept for new arrays of about the same size: eight at the most,
    of 256 MB together.

    Returns
    -------
    int
        The number of bytes that were kept.

    Examples
    --------
    >>> import tensorbuf
    >>> kept = tensorbuf.clear_cache()
    >>> tensorbuf.clear_cache()
    0
    """
    return _cache.clear()
