"""Selectors: what `NdArray.slice` keeps of each axis.

Use it as ``from tensorbuf import index as ix``. A selector is an immutable value: it knows no array, compares and
hashes by what it selects, pickles, and can be used again on any array. It is resolved against the axis *of the view
that it is applied to*, at once: errors about the axis are raised by `NdArray.slice`, and nothing changes then.

In the errors below, ``n`` is the length of the axis. Integers are what has ``__index__``, but no ``bool``; anything
else is a TypeError.

References
----------
``org.tensorflow.ndarray.index.Indices``.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterable
from typing import Any, SupportsIndex

import numpy as np

from tensorbuf._kernels import select as kernel
from tensorbuf._kernels.select import Selector
from tensorbuf.errors import RankError
from tensorbuf.shape import check_integer, printable

__all__ = [
    "Selector",
    "all",
    "at",
    "ellipsis",
    "even",
    "flip",
    "hyperslab",
    "newaxis",
    "odd",
    "range",
    "seq",
    "slice",
    "slice_from",
    "slice_to",
    "step",
]


def at(i: SupportsIndex, keep_dim: bool = False) -> Selector:
    """One coordinate.

    Parameters
    ----------
    i : int, or an NdArray of rank 0
        The coordinate, from the end if negative. Outside ``-n <= i < n`` the slice is an IndexError.
    keep_dim : bool
        True keeps the axis, with length 1; else it is dropped.

    Raises
    ------
    TypeError
        If `i` is no integer.
    RankError
        If `i` is an array of rank 1 or more.

    Examples
    --------
    >>> from tensorbuf import NdArray, index as ix
    >>> matrix = NdArray([[1, 2, 3], [4, 5, 6]])
    >>> matrix.slice(ix.at(-1)).tolist(), matrix.slice(ix.at(-1, keep_dim=True)).tolist()
    ([4, 5, 6], [[4, 5, 6]])
    """
    if type(i) is int:
        return _at(printable(i), bool(keep_dim))
    shape = getattr(i, "shape", ())
    if shape != ():
        raise RankError(f"at takes one coordinate, got an array of shape {tuple(shape)}")
    return _at(check_integer(i, "a coordinate"), bool(keep_dim))


def all() -> Selector:
    """The whole axis."""
    return _ALL


def even() -> Selector:
    """The coordinates 0, 2, 4, ...; never an error."""
    return _EVEN


def odd() -> Selector:
    """The coordinates 1, 3, 5, ...; never an error, and empty on an axis of length 0 or 1."""
    return _ODD


def flip() -> Selector:
    """The axis backward; never an error."""
    return _FLIP


def step(stride: SupportsIndex) -> Selector:
    """Every `stride`-th coordinate, backward from the last if negative. 0 is a ValueError.

    Examples
    --------
    >>> from tensorbuf import index as ix, ndarrays
    >>> ndarrays.vector_of(0, 1, 2, 3, 4).slice(ix.step(-2)).tolist()
    [4, 2, 0]
    """
    apart = _stride(stride)
    return Selector("step", (apart,), kernel.CLIPPED, step=apart)


def slice(start: SupportsIndex | None = None, end: SupportsIndex | None = None, stride: SupportsIndex = 1) -> Selector:
    """The coordinates from `start` up to `end`, which is left out, `stride` apart.

    As Python's slice, with None for an open end and negative bounds from the end, but never clipped. The wrong
    direction gives length 0.

    Parameters
    ----------
    start, end : int or None
        Bounds. Outside ``-n <= bound <= n``, or backward from a start of ``n``, the slice is an IndexError.
    stride : int
        Backward if negative. 0 is a ValueError.

    Examples
    --------
    >>> from tensorbuf import index as ix, ndarrays
    >>> vector = ndarrays.vector_of(0, 1, 2, 3, 4, 5)
    >>> vector.slice(ix.slice(4, None, -2)).tolist(), vector.slice(ix.slice(4, 1)).tolist()
    ([4, 2, 0], [])
    >>> vector.slice(ix.slice(1, 7))
    Traceback (most recent call last):
    IndexError: slice(1, 7) has a bound outside axis 0 of shape (6,); bounds are -6 to 6
    """
    return _bounded("slice", start, end, stride)


def range(start: SupportsIndex | None, end: SupportsIndex | None) -> Selector:
    """`slice` of stride 1."""
    return _bounded("range", start, end, 1)


def slice_from(start: SupportsIndex | None, stride: SupportsIndex = 1) -> Selector:
    """`slice` with an open end."""
    return _bounded("slice_from", start, None, stride)


def slice_to(end: SupportsIndex | None, stride: SupportsIndex = 1) -> Selector:
    """`slice` with an open start."""
    return _bounded("slice_to", None, end, stride)


def seq(*coords: Any) -> Selector:
    """The listed coordinates, in that order; they may repeat.

    Parameters
    ----------
    *coords : int, or one vector of integers
        The coordinates, which are copied. Outside ``0 <= c < n`` the slice is an IndexError: negative ones do not count
        from the end here.

    Raises
    ------
    TypeError
        If a coordinate is no integer.
    RankError
        If the one array given is not of rank 1.

    Examples
    --------
    >>> from tensorbuf import index as ix, ndarrays
    >>> vector = ndarrays.vector_of(0, 1, 2, 3, 4)
    >>> view = vector.slice(ix.seq(2, 0, 2))
    >>> view.tolist()
    [2, 0, 2]
    >>> _ = view.set([10, 20, 30])
    >>> vector.tolist()
    [20, 1, 30, 3, 4]
    """
    listed = coords[0] if len(coords) == 1 and not _is_scalar(coords[0]) else coords
    coordinates = _coordinates(listed)
    return Selector("seq", None, kernel.LISTED, coordinates=coordinates)


def hyperslab(start: SupportsIndex, stride: SupportsIndex, count: SupportsIndex, block: SupportsIndex) -> Selector:
    """Blocks of coordinates, as HDF5's hyperslab: ``start + stride * i + j`` for ``i < count`` and ``j < block``.

    Blocks may overlap, ``stride < block``; they repeat coordinates then. A `count` or `block` of 0 is empty. A `start`
    outside ``0 <= start <= n``, or a last coordinate beyond the axis, is an IndexError of the slice.

    Raises
    ------
    ValueError
        If `stride` is below 1, or `count` or `block` below 0.

    Examples
    --------
    >>> from tensorbuf import index as ix, ndarrays
    >>> ndarrays.vector_of(*"abcdefghi").slice(ix.hyperslab(1, 4, 2, 2)).tolist()
    ['b', 'c', 'f', 'g']
    """
    names = ("start", "stride", "count", "block")
    arguments = [check_integer(value, name) for name, value in zip(names, (start, stride, count, block), strict=True)]
    for name, value, least in zip(names[1:], arguments[1:], (1, 0, 0), strict=True):
        if value < least:
            raise ValueError(f"the {name} of a hyperslab is at least {least}, got {value}")
    first, apart, blocks, length = arguments
    return Selector("hyperslab", tuple(arguments), kernel.BLOCKS, first, None, apart, blocks, length)


def newaxis() -> Selector:
    """A new axis of length 1. It takes none of the array's axes."""
    return _NEW_AXIS


def ellipsis() -> Selector:
    """The axes that the other selectors leave over, perhaps none. A second one is a ValueError of the slice."""
    return _ELLIPSIS


_ALL = Selector("all", (), kernel.CLIPPED)
_EVEN = Selector("even", (), kernel.CLIPPED, step=2)
_ODD = Selector("odd", (), kernel.CLIPPED, start=1, step=2)
_FLIP = Selector("flip", (), kernel.CLIPPED, step=-1)
_NEW_AXIS = Selector("newaxis", (), kernel.NEW_AXIS)
_ELLIPSIS = Selector("ellipsis", (), kernel.ELLIPSIS)


# Selectors are values, so that those of a loop can be made once.
@functools.lru_cache(256)
def _at(coordinate: int, keep_dim: bool) -> Selector:
    if keep_dim:
        return Selector("at", (coordinate, True), kernel.KEPT, coordinate)
    return Selector("at", (coordinate,), kernel.POINT, coordinate)


def listed(item: Any) -> Selector:
    """The selector of an index list in square brackets, whose negative coordinates count from the end."""
    coordinates = _coordinates(item)
    return Selector("listed", None, kernel.WRAPPED, coordinates=coordinates)


def _bounded(name: str, start: SupportsIndex | None, end: SupportsIndex | None, stride: SupportsIndex) -> Selector:
    first, last = (None if bound is None else check_integer(bound, "a bound") for bound in (start, end))
    apart = _stride(stride)
    bounds = {"slice_from": (first,), "slice_to": (last,)}.get(name, (first, last))
    return Selector(name, bounds if apart == 1 else (*bounds, apart), kernel.BOUNDED, first, last, apart)


def _stride(stride: SupportsIndex) -> int:
    value = check_integer(stride, "a stride")
    if value == 0:
        raise ValueError(
            "a stride of 0 never leaves its coordinate; take 1 or more, or a negative one to walk backward"
        )
    return value


def _is_scalar(value: Any) -> bool:
    return getattr(value, "shape", None) == () or not (hasattr(value, "__array__") or isinstance(value, Iterable))


def _coordinates(listed: Any) -> np.ndarray[Any, Any]:
    """A vector of coordinates, for the selector to copy; those beyond 64 bits become a limit, which no axis reaches."""
    if hasattr(listed, "__array__"):
        array = np.asarray(listed)
        if array.ndim != 1:
            raise RankError(f"coordinates are a vector, got an array of shape {array.shape}")
        if array.dtype.kind == "i":
            return array
        listed = array.tolist()
    most = sys.maxsize
    # list() refuses at once what is too long to be kept, as range(2**62).
    return np.array([max(-most, min(check_integer(c, "a coordinate"), most)) for c in list(listed)], np.int64)
