"""Slices by index tables, converted part by part: no strides lead through them, so that a part has to be copied."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorbuf import source
from tensorbuf._kernels.get import gather, scatter
from tensorbuf.memory import empty
from tensorbuf.places import ROOM, Slabs
from tensorbuf.view import View

__all__ = ["Gathered", "Slab", "convert_parts", "gathered"]

Array = np.ndarray[Any, Any]
Slab = tuple[slice, ...]


class Gathered:
    """The elements of a slice by index tables, of which parts can be copied."""

    __slots__ = ("dtype", "memory", "read_only", "shape", "tables")

    def __init__(self, view: View) -> None:
        self.memory: Array = view._array
        self.tables: tuple[Array | None, ...] = view._tables or ()
        self.shape: tuple[int, ...] = tuple(view.shape)
        self.dtype: np.dtype[Any] = view.dtype
        self.read_only = view.read_only

    def load(self, slab: Slab) -> Array:
        """A new C-contiguous array of the elements there."""
        part = empty(tuple(axis.stop - axis.start for axis in slab), self.dtype)
        gather(*self._part(slab), part)
        return part

    def store(self, slab: Slab, values: Array) -> None:
        """Write the elements there, in row-major order: of a place that is listed several times, the last stays."""
        scatter(values, *self._part(slab))

    def _part(self, slab: Slab) -> tuple[Array, tuple[Array | None, ...]]:
        axes = [
            (None, axis) if table is None else (table[axis], slice(None))
            for table, axis in zip(self.tables, slab, strict=True)
        ]
        return self.memory[tuple(taken for _, taken in axes)], tuple(table for table, _ in axes)


def gathered(x: object, out: object) -> tuple[Array | Gathered, Array | Gathered | None] | None:
    """`x` and `out` as parts are taken of them, if one of them at least is a slice by index tables and large.

    None also where `x` has no typed memory, or `out` may share it.
    """
    if not (_is_large(x) or _is_large(out)):
        return None
    try:
        values = _parted(x)
    except TypeError:
        return None
    target = None if out is None else _parted(out)
    if target is not None and np.may_share_memory(_memory(values), _memory(target)):
        return None
    return values, target


def convert_parts(
    values: Array | Gathered,
    target: Array | Gathered,
    run: Callable[[Array, Array, Slab], None],
    refuse: Callable[[Array, Slab, int], None] | None = None,
    place: Callable[[Slab], Slab] = lambda slab: slab,
) -> None:
    """Convert all parts of `values` in row-major order, after none of them was refused.

    ``run(part, into, slab)`` gets memory for the part of the target at ``place(slab)``, with axes in its order;
    ``refuse(part, slab, start)`` the row-major position at which the part begins.
    """
    slabs = Slabs(values.shape, max(1, ROOM // max(values.dtype.itemsize, target.dtype.itemsize)))
    if refuse is not None:
        for number, slab in enumerate(slabs):
            refuse(_load(values, slab), slab, slabs.extent(number)[0])
    for slab in slabs:
        at = place(slab)
        if isinstance(target, Gathered):
            into = empty(tuple(axis.stop - axis.start for axis in at), target.dtype)
            run(_load(values, slab), into, slab)
            target.store(at, into)
        else:
            run(_load(values, slab), target[at], slab)


def _is_large(x: object) -> bool:
    """Whether it is a slice by index tables that takes more than little memory to copy."""
    return (
        isinstance(x, View)
        and x._array is not None
        and x._tables is not None
        and x.nbytes > ROOM
        and not x.dtype.hasobject
    )


def _parted(x: Any) -> Array | Gathered:
    return Gathered(x) if _is_large(x) else source.memory_of(x)


def _memory(values: Array | Gathered) -> Array:
    return values.memory if isinstance(values, Gathered) else values


def _load(values: Array | Gathered, slab: Slab) -> Array:
    return values.load(slab) if isinstance(values, Gathered) else values[slab]
