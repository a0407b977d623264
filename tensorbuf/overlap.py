"""Memory that source and target share, and the order in which a conversion may walk it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorbuf import permutation
from tensorbuf import places as _places
from tensorbuf.memory import empty
from tensorbuf.places import Places, Slabs

__all__ = ["blocks", "passes", "same_places", "share_memory"]

Array = np.ndarray[Any, Any]

# Candidate pairs that numpy may try before it gives up telling interleaved arrays apart. Any, since older stubs know -1
# and 0 only.
_MAX_WORK: Any = 1000

# Ways that a part of the source may go: to lower addresses, to higher ones, or to both sides.
_DOWN, _UP, _APART = range(3)


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


def passes(src: Array, dst: Array) -> Iterator[tuple[Array, Array]]:
    """A conversion between arrays that share memory, as conversions one after the other.

    Yields pairs of arrays of one shape, each to be converted, block by block in the order of its items, before the next
    one is asked for; and all have to be asked for. Items are converted in the order of their addresses, so that nothing
    is overwritten before it is read, and then moved to where they belong.
    """
    if same_places(src, dst) or src.size == 1:
        yield src, dst
        return
    distinct = _distinct(src)
    if _is_small(distinct):
        yield _copied(distinct, src.shape), dst
        return
    source, target = Places(src.squeeze()), Places(dst.squeeze())
    ordered = _ordered(source, target)
    if ordered is not None:
        yield from ordered
    elif (cut := _cut(source, target)) is not None:
        for slab, into in _by_blocks(source, target, *cut):
            yield source.array[slab], into
    else:
        yield _copied(distinct, src.shape), dst
        return
    _arrange(source, target)


def blocks(src: Array, dst: Array) -> Iterator[tuple[tuple[slice, ...], Array, Array]]:
    """`passes` whose parts are boxes of the source, each after the coordinates that it has there.

    No axis may have length 1.
    """
    whole = tuple(slice(0, size) for size in src.shape)
    distinct = _distinct(src)
    if _is_small(distinct):
        yield whole, _copied(distinct, src.shape), dst
        return
    source, target = Places(src), Places(dst)
    between = target.shaped(source.array.shape) if target.apart() else None
    if between is not None and same_places(source.array, between):
        yield whole, src, source.as_given(between)
    elif (cut := _cut(source, target)) is not None:
        for slab, into in _by_blocks(source, target, *cut):
            box = source.box(slab)
            yield box, src[box], source.as_given(into)
    else:
        yield whole, _copied(distinct, src.shape), dst
        return
    _arrange(source, target)


def _ordered(source: Places, target: Places) -> Iterator[tuple[Array, Array]] | None:
    """Pairs of views that can be converted without other memory; then the items lie in the order of the source's."""
    src, dst = source.array, target.shaped(source.array.shape) if target.apart() else None
    if dst is None:
        return None
    if same_places(src, dst):
        return iter([(src, dst)])
    if src.flags.c_contiguous and dst.flags.c_contiguous:
        return _walk(src.reshape(-1), dst.reshape(-1))
    if src.strides == dst.strides and src.itemsize == dst.itemsize:
        # All items move by one distance: those move first that lie foremost in its direction.
        step = -1 if dst.ctypes.data > src.ctypes.data else 1
        order = (slice(None, None, step),) * src.ndim
        return iter([(src[order], dst[order])])
    return None


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


def _cut(source: Places, target: Places) -> tuple[Slabs, bytearray] | None:
    """Parts of the source, and which way each goes; None where the source has to be copied, whatever its size.

    That is where items of the target overlap one another; and where those of the source do, otherwise than by being
    repeated (as in sliding windows), or are repeated more often than a part has items.

    A part that ends no higher than it was overwrites, beside itself, only parts before it that end no higher either. Of
    the others, one that begins no lower than it was overwrites only parts behind it, of its own kind or the first.
    Those left grow at both ends, and overwrite none of their kind. So the first go upward, then the second downward,
    then those left.
    """
    if not target.apart():
        return None
    parts = Slabs(source.array.shape, target.room.size)
    ways = bytearray(len(parts))
    behind = 0
    for number in range(len(parts)):
        read_from, read_to = source.span(*parts.extent(number))
        write_from, write_to = target.span(*parts.extent(number))
        if read_from < behind:
            return None
        behind = read_to
        ways[number] = _DOWN if write_to <= read_to else _UP if write_from >= read_from else _APART
    return parts, ways


def _by_blocks(
    source: Places, target: Places, parts: Slabs, ways: bytearray
) -> Iterator[tuple[tuple[slice, ...], Array]]:
    """Every part, with memory to convert it into, in an order in which none is overwritten before it is read."""
    for way, step in ((_DOWN, 1), (_UP, -1), (_APART, 1)):
        for number in range(len(parts))[::step]:
            if ways[number] == way:
                slab = parts[number]
                shape = [part.stop - part.start for part in slab]
                into = target.room[: math.prod(shape)].reshape(shape)
                yield slab, into
                target.store(parts.extent(number)[0], into)


def _arrange(source: Places, target: Places) -> None:
    """Move items, which lie in the order of the source's, to where they belong."""
    permutation.transpose(target, source.array.shape, [source.axes.index(axis) for axis in target.axes])
    against = source.backward ^ target.backward
    permutation.reverse(target, [place for place, axis in enumerate(target.axes) if axis in against])


def _distinct(src: Array) -> Array:
    """The items that are not repetitions."""
    return src[tuple(slice(None if stride else 1) for stride in src.strides)]


def _is_small(distinct: Array) -> bool:
    """Whether a copy takes little memory, and no longer than two passes."""
    return distinct.nbytes <= 2 * _places.ROOM


def _copied(distinct: Array, shape: tuple[int, ...]) -> Array:
    """A copy of the bits, in the same dtype and aligned, with the repetitions that make up `shape`."""
    copy = empty(distinct.shape, distinct.dtype)
    np.copyto(copy, distinct)
    return copy if copy.shape == shape else np.broadcast_to(copy, shape)
