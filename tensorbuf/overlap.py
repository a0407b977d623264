"""Memory that source and target share, and the order in which a conversion may walk it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

__all__ = ["passes", "same_places", "share_memory"]

Array = np.ndarray[Any, Any]

# Candidate pairs that numpy may try before it gives up telling interleaved arrays apart. Any, since older stubs know -1
# and 0 only.
_MAX_WORK: Any = 1000


def share_memory(a: Array, b: Array) -> bool:
    """Whether the arrays have a byte in common; True where that is too hard to tell."""
    if not np.may_share_memory(a, b):
        return False
    try:
        return np.shares_memory(a, b, max_work=_MAX_WORK)
    except np.exceptions.TooHardError:
        return True


def same_places(src: Array, dst: Array) -> bool:
    """Whether every element of one array lies just where the other's does, so that any order will do."""
    return src.ctypes.data == dst.ctypes.data and src.strides == dst.strides and src.itemsize == dst.itemsize


def passes(src: Array, dst: Array) -> Iterator[tuple[Array, Array]] | None:
    """An order in which two arrays that share memory can be converted with nothing overwritten before it is read.

    Pairs of views of one shape, to be converted one after the other, each block by block in the order of its items;
    None where there is no such order, so that `src` has to be copied first.
    """
    if same_places(src, dst) or src.size == 1:
        return iter([(src, dst)])
    src, dst = _as_it_lies(src, dst)
    if src.flags.c_contiguous and dst.flags.c_contiguous:
        return _walk(src.reshape(-1), dst.reshape(-1))
    if src.strides == dst.strides and src.itemsize == dst.itemsize and _rises(src):
        # All items move by one distance: those move first that lie foremost in its direction.
        step = -1 if dst.ctypes.data > src.ctypes.data else 1
        order = (slice(None, None, step),) * src.ndim
        return iter([(src[order], dst[order])])
    return None


def _as_it_lies(src: Array, dst: Array) -> tuple[Array, Array]:
    """The same pairs of items, in an order in which the source's addresses rise, where that can be."""
    src, dst = src.squeeze(), dst.squeeze()
    axes = sorted(range(src.ndim), key=lambda axis: -abs(src.strides[axis]))
    forward = tuple(slice(None, None, -1 if src.strides[axis] < 0 else 1) for axis in axes)
    return src.transpose(axes)[forward], dst.transpose(axes)[forward]


def _rises(array: Array) -> bool:
    """Whether each item lies wholly behind the one before."""
    extent = array.itemsize
    for size, stride in zip(reversed(array.shape), reversed(array.strides), strict=True):
        if stride < extent:
            return False
        extent = stride * size
    return True


def _walk(src: Array, dst: Array) -> Iterator[tuple[Array, Array]]:
    # Item i is written `ahead + i * drift` bytes behind the place where it is read. Where that is not positive, walking
    # forward overwrites only what has been read; where it is not negative, walking backward does. It changes sign once
    # at most, at item `turn`, and the front never reaches what the back still has to read.
    ahead = dst.ctypes.data - src.ctypes.data
    drift = dst.itemsize - src.itemsize
    if drift > 0:
        turn = -ahead // drift
    elif drift < 0:
        turn = -(-ahead // -drift)
    else:
        turn = src.size if ahead <= 0 else 0
    turn = min(max(turn, 0), src.size)
    forward = slice(None), slice(None, None, -1)
    front, back = forward if drift >= 0 else forward[::-1]
    yield src[:turn][front], dst[:turn][front]
    yield src[turn:][back], dst[turn:][back]
