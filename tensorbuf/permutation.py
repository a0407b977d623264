"""The items of an array moved to other places of it, by way of little memory: axes reversed, and in another order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorbuf import places as _places
from tensorbuf._kernels import get as kernel
from tensorbuf.memory import empty
from tensorbuf.places import Places, Slabs, move

__all__ = ["reverse", "transpose"]

Array = np.ndarray[Any, Any]

_SHORT = 48  # bytes; runs that have fewer cost more cache lines than they fill


def reverse(places: Places, axes: Sequence[int]) -> None:
    """Let every item change places with the one that lies opposite on all of `axes`, given in rising order."""
    if axes:
        _reverse(places.array, axes, places.room)


def _reverse(array: Array, axes: Sequence[int], room: Array) -> None:
    before = (slice(None),) * axes[0]
    half, odd = divmod(array.shape[axes[0]], 2)
    opposite = array[tuple(slice(None, None, -1 if axis in axes else 1) for axis in range(array.ndim))]
    _exchange(array[(*before, slice(half))], opposite[(*before, slice(half))], room)
    if odd and len(axes) > 1:
        _reverse(array[(*before, slice(half, half + 1))], axes[1:], room)


def transpose(places: Places, shape: tuple[int, ...], order: Sequence[int]) -> None:
    """Rearrange items that lie as an array of `shape`, in row-major order, as those of its axes in another order."""
    sizes, order = _together(shape, order)
    lie = list(range(len(sizes)))
    for at, axis in enumerate(order):
        now = lie.index(axis)
        before, over, behind = (math.prod(sizes[i] for i in part) for part in (lie[:at], lie[at:now], lie[now + 1 :]))
        _swap(places, before, over, sizes[axis], behind)
        lie.insert(at, lie.pop(now))


def _together(shape: tuple[int, ...], order: Sequence[int]) -> tuple[list[int], list[int]]:
    """The same with axes that follow one another before and after as one."""
    groups: list[list[int]] = []
    for axis in order:
        if groups and groups[-1][-1] + 1 == axis:
            groups[-1].append(axis)
        else:
            groups.append([axis])
    lie = sorted(groups)
    return [math.prod(shape[axis] for axis in group) for group in lie], [lie.index(group) for group in groups]


def _swap(places: Places, count: int, rows: int, columns: int, run: int) -> None:
    """Transpose `count` matrices, which lie one behind the other and whose entries are runs of items."""
    size = rows * columns * run
    if rows == 1 or columns == 1:
        return
    square = places.shaped((count, rows, columns, run)) if rows == columns else None
    if size <= _most(places):
        _swap_small(places, 0, count, rows, columns, run)
    elif square is not None:
        for matrix in square:
            _swap_square(matrix, places.room)
    else:
        for start in range(0, count * size, size):
            _swap_large(places, start, rows, columns, run)


def _most(places: Places) -> int:
    """The items of a matrix that is small; where no one step leads through its places, it needs that memory twice."""
    return max(1, places.room.size // min(places.merged.ndim, 2))


def _swap_small(places: Places, start: int, count: int, rows: int, columns: int, run: int) -> None:
    """By way of other memory, as many at once as that holds."""
    if rows == 1 or columns == 1:
        return
    size = rows * columns * run
    together = _most(places) // size
    for first in range(0, count, together):
        matrices = places.room[: min(together, count - first) * size].reshape(-1, rows, columns, run)
        places.load(start + first * size, matrices)
        places.store(start + first * size, matrices.swapaxes(1, 2))


def _swap_square(matrix: Array, room: Array) -> None:
    """Square blocks change places with those beyond the diagonal."""
    size, _, run = matrix.shape
    side = max(1, math.isqrt(room.size // run))
    blocks = [slice(start, min(start + side, size)) for start in range(0, size, side)]
    for number, rows in enumerate(blocks):
        for columns in blocks[:number]:
            _exchange(matrix[rows, columns], matrix[columns, rows].swapaxes(0, 1), room)
        if side > 1:
            block = matrix[rows, rows]
            between = room[: block.size].reshape(block.shape)
            move(block, between)
            move(between.swapaxes(0, 1), block)


def _swap_large(places: Places, start: int, rows: int, columns: int, run: int) -> None:
    """By blocks that are small; the rows and the ends of rows that make up no whole block wait in other memory."""
    height, width = _block(rows, columns, _most(places) // run, run * places.array.itemsize)
    whole_rows, whole_columns = rows - rows % height, columns - columns % width
    last = empty((rows - whole_rows, whole_columns, run), places.array.dtype)
    ends = empty((rows, columns - whole_columns, run), places.array.dtype)
    for row in range(rows if ends.size else 0):
        places.load(start + (row * columns + whole_columns) * run, ends[row])
        places.shift(start + row * columns * run, start + row * whole_columns * run, whole_columns * run)
    places.load(start + whole_rows * whole_columns * run, last)
    _swap_blocks(places, start, (whole_rows // height, height, whole_columns // width, width), run)
    for column in reversed(range(whole_columns if last.size else 0)):
        places.shift(start + column * whole_rows * run, start + column * rows * run, whole_rows * run)
        places.store(start + (column * rows + whole_rows) * run, last[:, column])
    places.store(start + rows * whole_columns * run, ends.swapaxes(0, 1))


def _block(rows: int, columns: int, most: int, entry: int) -> tuple[int, int]:
    """The sides of a block of at most so many entries, of `entry` bytes: about equal, or one as long as the matrix."""
    side = math.isqrt(most)
    pairs = ((side, side), (most // columns, columns), (rows, most // rows))
    blocks = [
        (_cut(rows, min(height, rows), most // 2 // columns), _cut(columns, min(width, columns), most // 2 // rows))
        for height, width in pairs
    ]
    return min(blocks, key=lambda block: _cost(block, (rows, columns), entry))


def _cost(block: tuple[int, int], matrix: tuple[int, int], entry: int) -> tuple[int, int]:
    """In passes over memory: one for a rest on each side, about two for short runs. Then the largest block is best."""
    rests = sum(size % side > 0 for side, size in zip(block, matrix, strict=True))
    runs = [side * entry for side, size in zip(block, matrix, strict=True) if side < size]
    return rests + 2 * (min(runs) < _SHORT), -math.prod(block)


def _cut(size: int, most: int, rest: int) -> int:
    """The length of parts of `size`, `most` or less: so that no rest is left, or else one of no more than `rest`."""
    divisor = next((n for n in range(most, most // 2, -1) if size % n == 0), None)
    return divisor or next((n for n in range(most, 1, -1) if size % n <= rest), 1)


def _swap_blocks(places: Places, start: int, sizes: tuple[int, int, int, int], run: int) -> None:
    """By blocks of `height` rows and `width` columns, without a rest."""
    down, height, across, width = sizes
    for band in range(down):
        _swap_runs(places, start + band * height * across * width * run, height, across, width * run)
    _swap_small(places, start, down * across, height, width, run)
    _swap_runs(places, start, down, across * width, height * run)


def _swap_runs(places: Places, start: int, rows: int, columns: int, run: int) -> None:
    """Run by run, along the cycles in which they replace one another."""
    if rows == 1 or columns == 1:
        return
    merged = places.merged
    item = merged.itemsize
    inner = merged.shape[-1] if merged.strides[-1] == item else 1
    kept = empty((min(run, max(1, _places.ROOM // 16 // item)),), merged.dtype)
    for offset in range(0, run, kept.size):
        size = min(kept.size, run - offset)
        together = size if merged.ndim == 1 and inner > 1 else math.gcd(run, inner, start, offset, size)
        kernel.transpose_runs(merged, start + offset, rows, columns, run, size, together, places.room, kept)


def _exchange(one: Array, other: Array, room: Array) -> None:
    """Let two arrays of one type and shape, which share no memory, change their values by way of `room`."""
    for slab in Slabs(one.shape, room.size):
        first, second = one[slab], other[slab]
        between = room[: first.size].reshape(first.shape)
        move(first, between)
        move(second, first)
        move(between, second)
