"""Arrays on the memory of a buffer: `frombuffer` and `from_memory`."""

from __future__ import annotations

import functools
import math
import sys
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

from tensorbuf._kernels import memory as _memory
from tensorbuf._kernels.view import wrapped
from tensorbuf.dtypes import DataType, DTypeLike, read_dtype
from tensorbuf.errors import ShapeError, shown
from tensorbuf.memory import ShapeLike, check_integer, check_layout, check_shape, let_go, releasing
from tensorbuf.shape import printable

if TYPE_CHECKING:
    from tensorbuf.nd_array import NdArray

__all__ = ["from_memory", "frombuffer"]

_BYTE = np.dtype(np.uint8)
_OBJECT = np.dtype(object)


def frombuffer(
    buffer: object,
    *,
    dtype: DTypeLike,
    count: SupportsIndex = -1,
    offset: SupportsIndex = 0,
    requires_grad: bool = False,
) -> NdArray:
    """An array of rank 1 on the memory of a buffer.

    Parameters
    ----------
    buffer : bytes-like
        Any object on the CPU that exports a C-contiguous buffer, or a numpy array of any dtype but objects. Its format
        plays no part: the bytes are read as `dtype`.
    dtype : dtype-like
        One of the seventeen numeric types. It may carry a byte order, in which the bytes are then read.
    count : int, default -1
        Elements to take; a negative count takes all behind `offset`, whose bytes must be a multiple of the item size.
    offset : int, default 0
        Bytes to skip, 0 to the length of the buffer; it need not be a multiple of the item size.
    requires_grad : bool, default False
        Kept as a property and passed on by ``to_torch()``; for floating and complex types only.

    Returns
    -------
    NdArray of shape (count,)
        *Shares* the memory; writes reach the owner. Read-only memory gives a read-only array. The exporter's buffer
        stays acquired until the last view of the array is gone: meanwhile a bytearray cannot be resized, a mmap not
        closed.

    Raises
    ------
    TypeError
        If `dtype` is not numeric, `buffer` exports no buffer or one of objects, `count` or `offset` is no int, or
        `requires_grad` is asked for integers.
    ValueError
        If the buffer is not C-contiguous or closed, declares the other byte order while `dtype` is native, or if
        `count` is 0, `offset` outside the buffer, or the elements do not fit behind it. Nothing stays acquired then.

    Notes
    -----
    The reference is ``torch.frombuffer``, which holds only a reference to the owner, returns writable tensors on
    read-only memory, and refuses an empty buffer. Here that gives shape (0,).

    Examples
    --------
    >>> import array
    >>> from tensorbuf import frombuffer
    >>> a = array.array("i", [1, 2, 3])
    >>> t = frombuffer(a, dtype="int32")
    >>> t
    IntNdArray(shape=(3,), dtype=int32, values=[1, 2, 3])
    >>> t[0] = -1
    >>> a
    array('i', [-1, 2, 3])
    >>> frombuffer(array.array("b", [-1, 0, 0, 0]), dtype=">i4")
    IntNdArray(shape=(1,), dtype=>i4, values=[-16777216])
    """
    try:
        read = _readable(dtype)
        array = _memory.vector(buffer, read, count, offset)
        if array is None:
            length, start = check_integer(count, "count"), check_integer(offset, "offset")
            _check_vector(_check_bytes(_memory.layout(buffer), read), read, length, start)
            array = _memory.vector(buffer, read, max(length, -1), start)
        if requires_grad:
            _check_differentiable(read)
    except BaseException as error:
        # What `releasing` does, but at no cost for the calls that succeed.
        array = buffer = None
        let_go(error)
        raise
    result: NdArray = wrapped(array)
    if requires_grad:
        result._requires_grad = True
    return result


@releasing
def from_memory(
    buffer: object,
    shape: ShapeLike,
    dtype: DTypeLike,
    *,
    offset: SupportsIndex = 0,
    row_stride: SupportsIndex | None = None,
) -> NdArray:
    """An array of any rank on the memory of a buffer, its rows some bytes apart: a camera's or decoder's frame.

    Parameters
    ----------
    buffer : bytes-like
        As for `frombuffer`.
    shape : int or iterable of ints
        (d0, ..., dk), in row-major order.
    dtype : dtype-like
        As for `frombuffer`.
    offset : int, default 0
        Bytes before the first element.
    row_stride : int, optional
        Bytes from one row (one coordinate on axis 0) to the next, at least those of a row. Left out, rows follow one
        another without padding. The padding behind the last row may be missing.

    Returns
    -------
    NdArray of shape (d0, ..., dk)
        *Shares* the memory, as the result of `frombuffer` does.

    Raises
    ------
    TypeError, ValueError
        As for `frombuffer`.
    ShapeError
        If `shape` cannot be, the buffer is too short for it, or `row_stride` is shorter than a row.

    Examples
    --------
    Three lines of five pixels, each padded to eight bytes:

    >>> from tensorbuf import from_memory
    >>> frame = bytes(range(24))
    >>> from_memory(frame, (3, 5), "uint8", row_stride=8).get(1).tolist()
    [8, 9, 10, 11, 12]
    """
    read = _readable(dtype)
    dims = check_shape(shape)
    start = check_integer(offset, "offset")
    stride = None if row_stride is None else check_integer(row_stride, "row_stride")
    nbytes = _check_bytes(_memory.layout(buffer), read)
    _check_offset(start, nbytes)
    strides = _check_rows(dims, read, start, stride, nbytes)
    pinned = _memory.vector(buffer, _BYTE, -1, 0)
    result: NdArray = wrapped(np.ndarray(dims, read, buffer=pinned, offset=start, strides=strides))
    return result


@functools.lru_cache(maxsize=512)
def _readable(dtype: DTypeLike) -> np.dtype[Any]:
    read = read_dtype(dtype)
    if read == _OBJECT:
        raise TypeError(f"{shown(dtype)} elements are Python objects, which cannot be read from bytes")
    return read


def _check_bytes(layout: tuple[Any, ...], dtype: np.dtype[Any]) -> int:
    nbytes, swapped = check_layout(layout)
    if swapped and dtype.isnative and dtype.itemsize > 1:
        swapped_name = dtype.newbyteorder("S").str
        fix = f'read it with dtype="{swapped_name}"' if swapped_name[1] != "V" else "swap its bytes first"
        raise ValueError(f"{layout[0]} declares the other byte order, so native {dtype} would be garbage: {fix}")
    return nbytes


def _check_offset(offset: int, nbytes: int) -> None:
    if not 0 <= offset <= nbytes:
        raise ValueError(f"offset {offset} lies outside the buffer; it must be between 0 and its {nbytes} bytes")


def _check_vector(nbytes: int, dtype: np.dtype[Any], count: int, offset: int) -> None:
    size = dtype.itemsize
    if count == 0:
        raise ValueError("count is 0; take a positive count, or -1 for all elements behind the offset")
    _check_offset(offset, nbytes)
    rest = nbytes - offset
    if count < 0 and rest % size != 0:
        raise ValueError(
            f"the {rest} bytes behind offset {offset} of {nbytes} are no multiple of the {size} bytes of {dtype}; "
            + (f"give a count of at most {rest // size} elements" if rest >= size else "not one element fits")
        )
    if count > rest // size:
        raise ValueError(
            f"count {count} of {dtype} ({size} bytes each) needs {printable(count * size)} bytes behind offset {offset}"
            f", but of the buffer's {nbytes} bytes {rest} are left: at most {rest // size} elements"
        )


def _check_rows(
    shape: tuple[int, ...], dtype: np.dtype[Any], offset: int, row_stride: int | None, nbytes: int
) -> tuple[int, ...] | None:
    """The strides for numpy; None where the rows follow one another."""
    row = math.prod(shape[1:]) * dtype.itemsize
    stride = row if row_stride is None else row_stride
    if stride < row:
        raise ShapeError(f"row_stride {stride} is shorter than a row of shape {shape[1:]}, {dtype}: {row} bytes")
    if math.prod(shape) == 0:
        if math.prod(size for size in shape if size) * dtype.itemsize > sys.maxsize:
            raise ShapeError(f"shape {shape} of {dtype} is beyond what strides can tell, although it holds nothing")
        return None
    rows = shape[0] if shape else 1
    needed = printable(offset + (rows - 1) * stride + row)
    if needed > nbytes:
        raise ShapeError(
            f"shape {shape} of {dtype}, rows {stride} bytes apart, needs {needed} bytes from the start of the buffer "
            f"(offset {offset}), got {nbytes}"
        )
    if rows == 1 or stride == row:
        return None
    strides = [dtype.itemsize]
    for size in reversed(shape[2:]):
        strides.insert(0, strides[0] * size)
    return (stride, *strides)[: len(shape)]


def _check_differentiable(dtype: np.dtype[Any]) -> None:
    kind = DataType.of(dtype)
    if not (kind.is_floating or kind.is_complex):
        raise TypeError(f"requires_grad is for floating and complex types, not for {dtype}")
